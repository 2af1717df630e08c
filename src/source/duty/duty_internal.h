// SPDX-License-Identifier: Apache-2.0
/*
 * The inside of duty, shared by its files only. Everything belongs to duty's thread (before it
 * begins, to the one that starts it), but for: `hooks_lock`, which requests to webhooks hold for
 * reading and which is held for writing while the lists of roles and sources change; `peers`; and
 * `wake_fd`.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "source/duty/duty.h"
#include "source/duty/duty_role.h"

#include <pthread.h>
#include <stdatomic.h>

/** Before a source or a start that failed is tried again. */
#define DUTY_RETRY_NS (5 * NS_PER_S)
/** A change of files is looked at when nothing has changed for so long, where no role says else. */
#define DUTY_DEBOUNCE_NS NS_PER_S
/** Keys and refusals that are too old are forgotten, and requests of dead daemons adopted. */
#define DUTY_UPKEEP_NS (600 * NS_PER_S)
/** A budget that is used up is looked at again after so long: another process may reset it. */
#define DUTY_BUDGET_NS (60 * NS_PER_S)
/** How often other daemons are looked at; on a shared store the own document changes as often. */
#define DUTY_PEERS_NS (5 * NS_PER_S)
/** A daemon on another machine whose document did not change for so long is gone. */
#define DUTY_LEASE_NS (20 * NS_PER_S)
/** On a store of one machine, one that is asked says so in this time: it may rest for a third of
 * it. */
#define DUTY_ASK_NS (90 * NS_PER_S)
/** It is asked again. */
#define DUTY_ASK_AGAIN_NS (120 * NS_PER_S)
/** Bytes of why something does not work, the NUL included. */
#define DUTY_PROBLEM_SIZE 300

/** A trigger of a role. */
struct duty_source {
    struct duty_source *next; /**< of the role */
    char id[SOURCE_ID_SIZE];
    char role[LIMIT_AGENT_ID_LEN + 1];
    char *folder; /**< of the role's file */
    struct source_host host;
    const struct source_type *type;      /**< NULL: no such type */
    struct json_object *config;          /**< its settings, until it is opened; then NULL */
    char *conversation;                  /**< of the settings: for its host; NULL = none */
    unsigned char settings[DIGEST_SIZE]; /**< of the same */
    char *type_name;
    char *summary;         /**< of the settings */
    struct source *source; /**< NULL: it does not work */
    char problem[DUTY_PROBLEM_SIZE];
    int64_t retry_ns;                 /**< monotonic: not called again before; 0 = at once */
    bool is_failing;                  /**< it was logged */
    unsigned char shown[DIGEST_SIZE]; /**< of its document; zeros = none yet */
};

/** A role file. */
struct duty_role {
    struct duty_role *next;
    char *path;
    bool is_found; /**< by the last look at the paths */
    bool is_named; /**< at the start, itself or its folder, which was not known before */
    bool is_used;  /**< `plan` can be used */
    struct duty_plan plan;
    char **places; /**< files of its skills, and folders where they are looked for; or NULL */
    struct duty_source *sources;
    char problem[DUTY_PROBLEM_SIZE]; /**< of the last reading; "" = none */
    bool is_held;                    /**< a budget is used up: its events wait */
    int64_t held_until_ns;           /**< wall clock */
};

struct duty {
    struct duty_options options; /**< constant; its texts are owned */
    char **paths;
    struct store *store;
    const struct clock *clock;
    struct intake *intake;
    struct hook_ports *ports;

    pthread_mutex_t peers_lock; /**< guards the next */
    struct duty_peer *peers;    /**< by the name of the process */
    int64_t peers_at_ns;        /**< monotonic: look at them then */

    struct duty_role *roles;
    size_t role_count;
    int highest_watch;     /* of watch_fd so far */
    bool is_started;       /**< what is read from now on is a change */
    bool has_new_role;     /**< requests that a dead daemon has left for it are to be adopted */
    int64_t read_at_ns;    /**< monotonic: look at the files then; 0 = nothing changed */
    int64_t upkeep_at_ns;  /**< monotonic */
    int64_t restart_at_ns; /**< monotonic: starts failed, try again then; 0 = none */
    bool is_start_failing; /**< it was logged */
    int watch_fd;          /**< inotify */
    int *skill_watches;    /**< in it: folders of skills */
    size_t skill_watch_count;
    int trust_watch; /**< in it: the folder of confirmations */
    int timer_fd;    /**< CLOCK_REALTIME: what is due next */

    pthread_rwlock_t hooks_lock;
    int wake_fd;
    atomic_bool is_ending;
    bool has_thread;
    pthread_t thread;
};

/** Tell people; one line. */
void duty_log(const struct duty *duty, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** The same for what is not wrong. */
void duty_tell(const struct duty *duty, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- duty_sources.c ---- */

/**
 * Open the sources of a role's plan; those that are the same stay open.
 * @param is_fresh none stays. A webhook is there all the time for those who call it
 */
void duty_open_sources(struct duty *duty, struct duty_role *role, bool is_fresh);
/** Close them all. */
void duty_close_sources(struct duty *duty, struct duty_role *role);
/** Fire what is due. @return when the next one is due, wall clock; SOURCE_NEVER */
int64_t duty_fire_due(struct duty *duty);
/** A source's descriptor is readable. */
void duty_call_ready(struct duty *duty, struct duty_source *source);
/** Write the documents of sources that have changed. */
void duty_show_sources(struct duty *duty);
/** Delete the documents of sources that no living daemon keeps. At the start. */
void duty_forget_sources(struct duty *duty);

/** Write all documents of sources again: one may be missing, or of a daemon that is gone. */
void duty_show_again(struct duty *duty);

/* ---- duty_peers.c ---- */

/** Let other daemons know of this one. Before it accepts requests. */
int duty_join_peers(struct duty *duty, struct rondo_error *err);
/** Look which daemons are gone, and adopt their requests. */
void duty_look_at_peers(struct duty *duty);
/** At the end, when nothing else of duty is left. */
void duty_leave_peers(struct duty *duty);
/** Whether a process is gone, as far as is known. Any thread. @param context the duty */
bool duty_owner_is_dead(void *context, const char *owner);

/* ---- duty_reload.c ---- */

/** Look at all paths: read new and changed files, remove those that are gone. */
int duty_read_roles(struct duty *duty, struct rondo_error *err);
/** Record the folders that were named for the first time, when their roles are on duty. */
void duty_note_folders(struct duty *duty);
/** Begin to watch the folders that the roles depend on. Once. */
int duty_watch(struct duty *duty, struct rondo_error *err);
/** Watch those that have come since, too. */
void duty_watch_folders(struct duty *duty);
/** Something in them changed. */
void duty_note_changes(struct duty *duty);
void duty_free_roles(struct duty *duty);

/* ---- duty_budget.c ---- */

/** Whether the role's budgets let a request become a run now. If not yet, its events wait. */
int duty_ask_budget(struct duty *duty, struct duty_role *role, struct budget_reply *ret_reply,
                    struct rondo_error *err);
/** Let the events of roles whose budgets have something left again be started. */
void duty_release_held(struct duty *duty);
/**
 * Whether events wait for a budget.
 * @param due_ns when something is due, wall clock; made earlier by the end of a period
 */
bool duty_is_holding(const struct duty *duty, int64_t *due_ns);
/** Let lists show the role's budgets before it has used anything. */
void duty_note_budgets(struct duty *duty, const struct duty_role *role);

/* ---- duty_talk.c ---- */

/** Make the run of a request a turn of its conversation, after the run of the turn before.
 *  RONDO_ERR_BUSY while that has no answer. */
int duty_continue(struct duty *duty, const struct start_request *request, struct loop_spec *spec,
                  struct rondo_error *err);

/* ---- duty_start.c ---- */

/** Count the runs of this server's roles that execute already. */
int duty_count_running(struct duty *duty, struct rondo_error *err);
/** Note which runs have ended, and start what may be started. */
void duty_start_requests(struct duty *duty);
