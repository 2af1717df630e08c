// SPDX-License-Identifier: Apache-2.0
/*
 * The simulator: several owner processes that execute a few runs over one store, in one thread,
 * with a clock and a store that misbehave as one seed says. It never looks at how the driver works:
 * `model` knows what a journal may contain, `audit_store` shows it every commit, and `world` knows
 * which bodies ran and which checkpoints were damaged.
 */
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "journal/state.h"
#include "loop/driver/driver.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_OWNERS = 3,
    SIM_RUNS = 3,
    SIM_MAX_ITERATIONS = 64,
    SIM_MAX_CHECKPOINTS = 512,
    SIM_CONDITIONS = 3,
    SIM_STATE_SIZE = 64,
    SIM_MAX_ERAS = 1000, /* an era ends when the clock is set; its number is in the wall time */
    SIM_MAX_FREEZES = 200,
    SIM_PATH_SIZE = 128,
};

struct sim_world;

/** What the model knows of one run, from its committed events only. */
struct sim_run {
    struct sim_world *world;
    char id[ID_SIZE];
    bool is_created;
    struct run_state fold; /* by run_fold, for comparison */

    /* Followed independently of run_fold. */
    uint64_t seq;
    uint64_t epoch;
    uint64_t finished;
    uint64_t started; /* last iteration started */
    bool is_in_body;
    bool is_ended;
    bool is_denied;
    bool is_stopping;
    bool is_paused;
    int64_t event_ns; /* of the last event, by a clock that nobody sets */
    uint64_t event_era;
    int64_t active_least_ns; /* up to then; what a dead owner did after its last event is unknown */
    int64_t active_most_ns;
    int64_t held_until_ns; /* the end of the owner's lease */
    const struct sim_owner *executor;
    unsigned former_freezes; /* of executors before it */
    uint64_t finished_era;
    uint64_t warnings;
    bool is_broken_by_body;
    bool has_failed_store; /* an end that the store's failure explains */
    enum rondo_status status;
    uint64_t attempts[SIM_MAX_ITERATIONS + 1];      /* iteration.started */
    uint64_t interruptions[SIM_MAX_ITERATIONS + 1]; /* iteration.interrupted, or the run's end */
    uint64_t failures_in_a_row;
    enum run_finish finish;
    int64_t tokens;
    uint64_t degraded_count;
    bool is_round_open;
    bool is_round_met; /* the last round found everything met, and nothing happened since */
    uint64_t round_seq;
    uint32_t round_met, round_total;
    struct loop_spec spec;        /* in force */
    int64_t finished_ns;          /* time of the last iteration.finished */
    uint64_t checkpoint_finished; /* iterations that the last checkpoint covers */
    uint64_t checkpoints;
    char *states[SIM_MAX_CHECKPOINTS + 1]; /* agent state in each checkpoint */
    bool is_damaged[SIM_MAX_CHECKPOINTS + 1];
    char state[SIM_STATE_SIZE]; /* that the next body has to find: of the last finished one */
    char saved[SIM_STATE_SIZE]; /* that the store holds */
    bool is_state_lost; /* the store's was damaged, and an owner continued with an older one */
    bool has_interim;
    bool is_interim_damaged;

    /* Followed in the world, where effects happen. */
    uint64_t bodies[SIM_MAX_ITERATIONS + 1]; /* how often each body was begun */
    uint64_t lossy;             /* bodies begun without a durable intent, in best-effort mode */
    char policy[SIM_PATH_SIZE]; /* of its policy file, if it has one */
    int64_t warned[RUN_LIMIT_COUNT];
    bool has_policy;
    char *feedback; /* as the last body saw it */
    uint64_t feedback_round;
    unsigned luck; /* chance in percent that a condition is met */
};

/** Write the policies of a run: iterations up to a random limit, which a person may lift or not. */
void world_write_policy(struct sim_run *run, unsigned most);

/** A process. */
struct sim_owner {
    struct sim_world *world;
    unsigned index;
    struct store *store; /* the fault decorator */
    struct random random;
    struct runtime *runtime;
    struct loop *loops[SIM_RUNS];
    bool is_in_body[SIM_RUNS];
    char states[SIM_RUNS][SIM_MAX_ITERATIONS + 1][SIM_STATE_SIZE]; /* left by its bodies */
    bool is_crashed;
    bool is_frozen;
    int64_t frozen_ns[SIM_MAX_FREEZES][2]; /* from, to */
    unsigned freeze_count;
    unsigned crash_in; /* store calls until it dies; 0 = not planned */
    int64_t trouble_until_ns;
    unsigned trouble_calls;
    int trouble_code;
    bool met_trouble; /* since the last look */
};

/** What a million seeds went through, to see that they go everywhere. */
struct sim_counters {
    uint64_t statuses[RONDO_STATUS_COUNT];
    uint64_t bodies;
    uint64_t bodies_again;
    uint64_t crashes;
    uint64_t fenced;
    uint64_t takeovers;
    uint64_t reopens;
    uint64_t degraded;
    uint64_t damaged;
    uint64_t interims; /* states that a resume found in one */
    uint64_t refused_corrupt;
    uint64_t rejected_finishes;
    uint64_t pauses;
    uint64_t limits_changed;
    uint64_t clocks_set;
    uint64_t times_skipped;
    uint64_t freezes;
    uint64_t controlled;
    uint64_t store_faults;
    uint64_t broken;
    uint64_t events;
};

struct sim_world {
    uint64_t seed;
    bool is_verbose;
    struct random random;
    struct clock clock;
    int64_t now_ns;                 /* a clock that nobody sets, in whole microseconds */
    int64_t skews_ns[SIM_MAX_ERAS]; /* what the wall clock differs by, in each era */
    unsigned era;
    int64_t lease_ns;
    bool is_calm; /* no more faults */
    struct store *memory;
    struct store *audit;
    const struct sim_owner *acting; /* whose call the store is in */
    struct sim_owner owners[SIM_OWNERS];
    struct sim_run runs[SIM_RUNS];
    unsigned run_count;
    struct sim_counters *counters;
};

/** Opens an empty store whose times are the world's; NULL = one in memory. */
typedef struct store *sim_open_fn(const struct clock *clock);

/** Simulate one seed; a violation ends the process with the seed in its message. */
void sim_run_seed(uint64_t seed, bool is_verbose, sim_open_fn *open, struct sim_counters *counters);

/** Report a violation and exit. */
void sim_fail(const struct sim_world *world, const struct sim_run *run, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
#define sim_require(condition, world, run, ...)    \
    do {                                           \
        if (!(condition)) {                        \
            sim_fail((world), (run), __VA_ARGS__); \
        }                                          \
    } while (0)
void sim_trace(const struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Draws. */
bool sim_chance(struct sim_world *world, unsigned percent);
uint64_t sim_below(struct sim_world *world, uint64_t bound);

struct sim_run *sim_find_run(struct sim_world *world, const char *run_id);

/* model.c: called for everything that was committed. */
void model_created(struct sim_world *world, const struct store_run *row,
                   const struct store_event *events, size_t count);
void model_claimed(struct sim_world *world, const char *run_id,
                   const struct store_claim_result *claim);
void model_committed(struct sim_world *world, const struct store_batch *batch,
                     const struct store_run *before, const struct store_run *after);
/** The journal and checkpoints in the store are those that were seen being committed. */
void model_check_store(struct sim_run *run);
/** The lease of a run's owner begins anew. */
void model_held(struct sim_run *run, int64_t lease_ns);
/** A loop that has nothing pending has the state of its journal. */
void model_check_loop(struct sim_run *run, const struct loop *loop);
void model_fini(struct sim_run *run);

/** audit_store.c: shows every commit to the model, and damages checkpoints on reading. */
struct store *audit_store_new(struct sim_world *world, struct store *inner);

/* world.c */
void world_init(struct sim_world *world, uint64_t seed, bool is_verbose, sim_open_fn *open,
                struct sim_counters *counters);
void world_fini(struct sim_world *world);
void world_boot(struct sim_owner *owner);
void world_crash(struct sim_owner *owner);
/** Let time pass; processes that are not frozen continue meanwhile. */
void world_pass(struct sim_world *world, int64_t duration_ns);
/** Set the wall clock. */
void world_set_clock(struct sim_world *world, int64_t by_ns);
/** The time at which the wall clock showed `wall_ns`, and its era. */
int64_t world_true_time(const struct sim_world *world, int64_t wall_ns, uint64_t *ret_era);
/** SIGSTOP and SIGCONT. */
void world_freeze(struct sim_owner *owner, bool is_frozen);
/** How long the owner was frozen between two points in time. */
int64_t world_frozen_ns(const struct sim_owner *owner, int64_t from_ns, int64_t to_ns);
/** Let the owner's loop take its next turn, ending the body that it is in. */
void world_advance(struct sim_owner *owner, unsigned run_index);
void world_start_run(struct sim_owner *owner);
void world_resume(struct sim_owner *owner, unsigned run_index);
/** An owner's users pause, continue or limit a run, whichever process executes it. */
void world_control(struct sim_owner *owner, unsigned run_index);
void world_park(struct sim_owner *owner, unsigned run_index);
