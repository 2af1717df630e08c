// SPDX-License-Identifier: Apache-2.0
/*
 * The simulator of the work queue: a few workers, each with a store of its own, work on the issues
 * of one forge and the claims of one git server, in one thread, with a clock, a network, processes
 * and people that misbehave as one seed says. A worker looks at an item, asks item_next(), and does
 * what it says one effect after the other; between any two of them others have their turn, the
 * process may die or freeze, and answers may be lost or come late.
 *
 *   sim_forge   the model of the forge and the git server: what is true, and what may not happen
 *   sim_people  what people do to it
 *   sim_worker  a process: its items, what it sees and does
 *   sim_poll    how it finds work, and what others have left
 */
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "issues/claim.h"
#include "issues/filter.h"
#include "issues/step.h"
#include "issues/text.h"

enum { SIM_WORKERS = 3, SIM_ISSUES = 3, SIM_PULLS = 64, SIM_LATE = 64, SIM_COMMITS = 4096 };

#define SIM_MINUTE (60 * NS_PER_S)
#define SIM_HOUR   (60 * SIM_MINUTE)
/** So old may an observation be when an effect follows. */
#define SIM_PROOF_NS SIM_MINUTE
/** A label without a claim is left alone for so long. */
#define SIM_LABEL_NS CLAIM_ENDURES_NS
#define SIM_RETRY_NS (3 * SIM_HOUR)

struct sim_pull {
    int64_t number;
    enum pull_fact state; /* PULL_OPEN, PULL_WANTS_CHANGES, PULL_MERGED or PULL_CLOSED */
};

/** An issue, its claim, branch and pull requests, as they are. */
struct sim_issue {
    int64_t number;
    bool is_gone, is_open, is_labelled, is_away;
    int content;
    unsigned labels; /* one bit for each state */
    int64_t comment_id;
    enum item_state comment;
    enum item_command command;
    int64_t command_id;
    char *claim; /* or NULL */
    char claim_id[GIT_ID_SIZE];
    int64_t released_until_ns; /* nobody may have the claim before then */
    int64_t deleted_ns;        /* a person has deleted the claim */
    int64_t unwanted_ns;       /* since when nobody may begin anything; 0 = it is wanted */
    int branch;                /* commit; 0 = none */
    struct sim_pull pulls[SIM_PULLS];
    size_t pull_count;
    unsigned comments; /* status comments */
    unsigned asked;    /* times that people gave a reason to begin anew */
    unsigned closed;   /* pull requests that people closed */
    unsigned runs;     /* begun since then */
};

/** An effect whose request is still on its way. */
struct sim_late {
    int64_t due_ns; /* 0 = free */
    struct sim_issue *issue;
    char old_id[GIT_ID_SIZE];
    char *claim;
};

/** The run of an item: as durable as the item. */
struct sim_attempt {
    char id[ID_SIZE];
    bool is_executing;
    enum run_fact fact; /* NONE, IDLE or how it ended */
    int64_t began_ns, ends_ns;
    int64_t before_ns; /* time at work before it */
    int parent, commit;
};

struct sim_slot {
    bool is_loaded, is_ended;
    struct item item;
    struct item_facts facts;
    struct sim_attempt run;
    /* What was seen of the claim and labels of others, and since when. */
    char seen_id[GIT_ID_SIZE];
    unsigned seen_labels;
    bool has_seen_open; /* pull request */
    int64_t seen_ns;
    /* Kills at one step in a row, counted by the model. */
    enum item_step killed_step;
    unsigned kills;
};

/** What a worker is about to do: the next stage of an action. */
struct sim_doing {
    struct sim_issue *issue; /* NULL = nothing */
    struct item_action action;
    int stage;
    int64_t seen_ns;
    char expected_id[GIT_ID_SIZE]; /* of a claim that is taken over */
};

struct sim_worker {
    unsigned number, generation;
    bool is_up, is_gone; /* gone = for good */
    bool has_lost;       /* the present step's answer was lost */
    int64_t frozen_ns;   /* until then */
    int64_t poll_ns;
    uint64_t idle;
    struct store *store;
    struct sim_slot slots[SIM_ISSUES];
    struct sim_doing doing;
    size_t turn;
    bool is_changed; /* something was done since it was asked last */
};

/** How often what happened: a seed that shows nothing proves nothing. */
struct sim_seen {
    uint64_t effects, kills, stops, freezes, lost, late, takeovers, fenced, cancelled, blocked,
        released, reviews, merged, retries, crashed_twice, sweeps, people, follow_ups;
};

struct sim {
    struct random random;
    uint64_t seed;
    bool is_verbose, is_quiet;
    unsigned calm; /* so many times rarer are faults */
    int64_t now_ns;
    struct item_options options;
    struct sim_issue issues[SIM_ISSUES];
    struct sim_worker workers[SIM_WORKERS];
    struct sim_late late[SIM_LATE];
    int parents[SIM_COMMITS];
    int commits;
    int64_t next_id;
    struct sim_seen *seen;
};

/** End the program: a promise was broken. */
_Noreturn void sim_fail(const struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_say(const struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define SIM_CHECK(sim, condition, ...)  \
    do {                                \
        if (!(condition)) {             \
            sim_fail(sim, __VA_ARGS__); \
        }                               \
    } while (0)

static inline unsigned sim_below(struct sim *sim, unsigned bound)
{
    return (unsigned)random_below(&sim->random, bound);
}
/** Whether something happens that has a chance of one in `chances`; never in the quiet. */
static inline bool sim_strikes(struct sim *sim, unsigned chances)
{
    return !sim->is_quiet && sim_below(sim, chances * sim->calm) == 0;
}

/* sim_forge */
enum sim_answer { SIM_DONE = 0, SIM_REFUSED, SIM_NETWORK };
/** Change a claim by compare and swap, perhaps with a branch. @param text NULL = delete */
enum sim_answer sim_change_claim(struct sim *sim, struct sim_issue *issue, const char *old_id,
                                 const char *text, int commit);
/** Another effect on the forge. @return whether it happens now; its answer may be lost then */
enum sim_answer sim_send(struct sim *sim, bool *ret_happens);
void sim_deliver_late(struct sim *sim);
/** Whether the claim has this nonce. */
enum claim_fact sim_judge_claim(const struct sim_issue *issue, const char *nonce);
/** Nobody but the owner of the claim may write to the issue. */
void sim_check_owner(const struct sim *sim, const struct sim_issue *issue, const char *nonce);
struct sim_pull *sim_find_pull(struct sim_issue *issue, int64_t number);
struct sim_pull *sim_open_pull(struct sim_issue *issue);
/** No pull request follows after a person has ended the work: once a look was due. */
void sim_check_wanted(const struct sim *sim, const struct sim_issue *issue);
/** Label of a state; 0 = it has none. */
unsigned sim_label(enum item_state state);

/* sim_people */
/** One deed of somebody, about an issue or its pull request. */
void sim_people_act(struct sim *sim);

/* sim_worker */
void sim_worker_tick(struct sim *sim, struct sim_worker *worker);
void sim_worker_start(struct sim *sim, struct sim_worker *worker);
void sim_worker_kill(struct sim *sim, struct sim_worker *worker);
void sim_worker_leave(struct sim *sim, struct sim_worker *worker);
void sim_worker_fini(struct sim_worker *worker);
struct sim_slot *sim_slot_of(const struct sim *sim, struct sim_worker *worker,
                             const struct sim_issue *issue);
void sim_save(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot);
void sim_new_nonce(struct sim *sim, char *ret_nonce);

/* sim_poll */
void sim_poll(struct sim *sim, struct sim_worker *worker);
