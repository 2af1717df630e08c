// SPDX-License-Identifier: Apache-2.0
/*
 * A year on duty, in simulated time: a few roles with schedules, webhooks, watched folders,
 * heartbeats, conversations, memories and follow-ups over one store, with a process that is killed
 * between any two calls of the store, failing stores, full queues, clocks that are set, roles that
 * come and go. One thread, one seed.
 *
 * `model` knows which events there were, what their senders were told, which runs exist and what
 * was recorded; it never looks at how the sources or the intake work. `daemon` is the process,
 * `journal` keeps those of its runs that remember something or are turns of conversations,
 * `outside` is the world around it, `roles` says what the roles are like.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/random.h"
#include "loop/runtime.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SOAK_ROLES = 50,
    SOAK_SOURCES = 6, /* of a role */
    SOAK_ASKS = 2,    /* follow-ups of a run */
    SOAK_TALKS = 3,   /* conversations of a role */
    SOAK_PROMPT = 48,
};

#define SOAK_MINUTE_NS (60 * NS_PER_S)
#define SOAK_HOUR_NS   (60 * SOAK_MINUTE_NS)
#define SOAK_DAY_NS    (24 * SOAK_HOUR_NS)
/** The Monday with which the year begins: 2027-01-04. */
#define SOAK_BEGIN_S INT64_C(1799020800)

/** A conversation that was quiet for longer begins anew. */
#define SOAK_IDLE_S (2 * 86400)

/** A schedule, as the model understands it: local times on each day. */
struct soak_times {
    int minute;
    uint32_t hours; /* bit 0 to 23 */
    int zone;       /* of soak_zone_name */
};

/** A checklist as it was from some moment on. */
struct soak_list {
    int64_t from_ns; /* by a clock that nobody sets */
    int number;
    bool is_open;
};

/** A heartbeat, and what the model saw of it. */
struct soak_beat {
    int64_t interval_s;
    int zone;
    bool has_hours;
    int from_hour, until_hour;
    int64_t from_s;          /* when it was seen for the first time; 0 = not yet */
    struct soak_list *lists; /* the last is the present one */
    size_t list_count;
    int64_t seen; /* the last interval that was looked at */
    int64_t *due; /* intervals in which the agent had to be woken, unless it was busy */
    size_t due_count;
};

struct soak_role {
    char name[16];
    struct queue_options queue;
    bool is_present;
    bool is_loaded; /* the daemon has opened its sources */
    bool has_hook;
    bool has_watch;
    bool has_cron;
    bool has_talk;
    bool has_beat;
    bool has_memory;
    struct soak_beat beat;
    bool may_overlap;
    char catch_up[8];
    struct soak_times times;
    int64_t cron_from_s; /* the model's: when the schedule was first seen */
    struct source_host hosts[SOAK_SOURCES];
    char ids[SOAK_SOURCES][SOURCE_ID_SIZE];
    struct json_object *configs[SOAK_SOURCES];
    struct source *sources[SOAK_SOURCES];
    int64_t retry_ns[SOAK_SOURCES]; /* monotonic, as the next one */
    int64_t next_ns[SOAK_SOURCES];  /* when it is to be called */
    bool is_touched;                /* something happened: ask again when */
    size_t source_count;
};

/** A run that was created. It outlives the process. */
struct soak_run {
    char id[ID_SIZE];
    char source[SOURCE_ID_SIZE];
    size_t role;
    char *prompt;
    char *context;
    int64_t accepted_ns;  /* when the process took the event in, wall clock */
    int talk;             /* of which conversation it is a turn; -1 = of none */
    char before[ID_SIZE]; /* the turn before, as the process says; "" = it is the first */
    bool is_stored;       /* it has a journal in the store */
    int episodes;         /* that it remembers */
    int64_t ended_ns;     /* by a clock that nobody sets; 0 = it executes */
    int64_t created_ns;   /* by a clock that nobody sets */
    int64_t ends_ns;
    bool is_ended;
    int64_t depth;
    int asks; /* follow-ups that it still has to ask for */
};

enum soak_event_kind { SOAK_HOOK, SOAK_TURN, SOAK_FILE, SOAK_FOLLOW_UP };

/** Something that happened outside, and that has to end as one run or one refusal. */
struct soak_event {
    char prompt[SOAK_PROMPT]; /* no two have the same */
    enum soak_event_kind kind;
    int talk; /* of SOAK_TURN: which conversation */
    size_t role;
    int64_t due_ns; /* by a clock that nobody sets: not to start before; of a hook: next attempt */
    bool is_told;   /* of a hook: the sender has an answer */
    bool is_told_twice;
    bool is_refused;
    int64_t first_ns;     /* of a hook: when somebody got it for the first time */
    bool is_given_up;     /* nobody knows what became of it */
    char run_id[ID_SIZE]; /* that the sender was told */
};

struct soak_counters {
    uint64_t seeds, runs, kills, failures, duplicates, refused, dropped, coalesced, full, late;
    uint64_t events, reloads, clocks_set, lost_answers, beats, turns, episodes, facts;
};

struct records;

struct soak {
    struct records *records; /* of the model; NULL = none yet */
    uint64_t seed;
    bool is_verbose;
    struct random random; /* of the world */
    struct random ids;    /* of the process */
    struct clock clock;
    int64_t mono_ns;   /* a clock that nobody sets; begins at the year's begin */
    int64_t offset_ns; /* of the wall clock */
    bool has_jumps;
    bool is_calm; /* the year is over: nothing new, no faults */
    int64_t begin_ns, end_ns;

    struct store *memory;
    struct store *store; /* the decorator; of one process */
    uint64_t calls;
    uint64_t dies_at; /* 0 = not now */
    bool dies_after;
    bool is_dead;
    uint64_t fails_from, fails_until;

    char owner[STORE_OWNER_SIZE];
    struct intake *intake;   /* NULL: no process */
    struct runtime *runtime; /* of the process, for consolidation */
    char *spec;              /* of runs that are stored */
    bool is_consolidation_due;
    int64_t consolidate_ns; /* wall clock; 0 = when a run ends */
    uint64_t max_running;
    int64_t upkeep_ns, restart_ns;
    int64_t next_outside_ns;
    char *folder;
    int folder_fd;

    struct soak_role roles[SOAK_ROLES];
    size_t role_count;
    struct soak_run *runs;
    size_t run_count;
    size_t first_open_run;
    struct soak_event *events;
    size_t event_count;
    size_t first_open_event;
    struct soak_counters *counters;
};

/** Ends the program: says what is wrong and how to replay it. */
void soak_violation(const struct soak *soak, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void soak_say(const struct soak *soak, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool soak_chance(struct soak *soak, uint64_t percent);
uint64_t soak_below(struct soak *soak, uint64_t n);
int64_t soak_wall(const struct soak *soak);

/* ---- roles.c ---- */
void soak_roles_make(struct soak *soak, size_t count);
void soak_roles_free(struct soak *soak);
const char *soak_zone_name(int zone);
/** Open the sources of a role; those that cannot be opened now are opened later. */
void soak_role_open(struct soak *soak, struct soak_role *role);
void soak_role_close(struct soak_role *role);
/** Replace the checklist of a role. */
void soak_list_write(struct soak *soak, struct soak_role *role, bool is_open);

/* ---- daemon.c ---- */
/** Start the process, unless its store fails. */
void soak_daemon_start(struct soak *soak);
/** It is gone, with all that it had in memory. */
void soak_daemon_kill(struct soak *soak);
/** Do all that can be done now. */
void soak_daemon_turn(struct soak *soak);
/** When it has something to do next, by the clock that nobody sets. */
int64_t soak_daemon_next(struct soak *soak);
/** Set when a call of the store fails or kills, some calls from now. */
void soak_plan_fault(struct soak *soak);

/* ---- journal.c ---- */
/** What the journals of a seed's runs begin with: the options of a role with memory. */
char *soak_spec_new(const struct soak *soak);
/** Create the journal of a run. */
void soak_journal_create(struct soak *soak, const struct soak_run *run);
/** Let a run remember what it still has to. @return whether it has */
bool soak_journal_remember(struct soak *soak, const struct soak_run *run);
/** A run has ended. @return whether that is recorded */
bool soak_journal_end(struct soak *soak, const struct soak_run *run);
/** When that was, by a clock that nobody sets: it may have been in the store before its answer
 * came. */
int64_t soak_journal_ended_ns(const struct soak *soak, const struct soak_run *run);
/** Derive facts from what runs remember, if that is due. */
void soak_consolidate(struct soak *soak);

/* ---- outside.c ---- */
/** Let the world do what it does at its next moment. */
void soak_outside_turn(struct soak *soak);
int64_t soak_outside_next(const struct soak *soak);
/** Whether it is a request that somebody sends until it is answered. */
bool soak_event_is_sent(const struct soak_event *event);
struct soak_event *soak_event_add(struct soak *soak, enum soak_event_kind kind, size_t role);

/* ---- model.c ---- */
/** A run was created. */
void soak_model_run(struct soak *soak, const struct soak_run *run);
/** The process had its turn, and nothing failed in it. */
void soak_model_turn(struct soak *soak);
/** Something failed, or the process died. */
void soak_model_trouble(struct soak *soak);
/** Whether a moment is in the active hours of a heartbeat. */
bool soak_model_is_active(const struct soak_beat *beat, int64_t unix_s);
/** How far the clocks of a zone are ahead of UTC. */
int64_t soak_model_offset(int zone, int64_t unix_s);
/** Heartbeats, conversations and memories, at the end. */
void soak_model_check_beats(struct soak *soak);
void soak_model_check_memories(struct soak *soak);
/** A turn of a conversation was created. */
void soak_model_talk(struct soak *soak, const struct soak_run *run);
/** Everything is done: does it add up? */
void soak_model_check(struct soak *soak);
/** Around upkeep, which deletes records that the model still needs. */
void soak_model_before_upkeep(struct soak *soak);
void soak_model_after_upkeep(struct soak *soak);
void soak_model_fini(struct soak *soak);

/** What to simulate. */
struct soak_options {
    uint64_t seed;
    size_t roles;
    int64_t days;
    bool is_verbose;
};

void soak_run_seed(const struct soak_options *options, struct soak_counters *counters);
