// SPDX-License-Identifier: Apache-2.0
/*
 * librondo: make a loop of your own durable, limited and verifiable.
 *
 *     struct rondo_error err;
 *     struct rondo *r = rondo_open(&(struct rondo_options){0}, &err);
 *     struct rondo_loop *loop = rondo_loop_start(r, &(struct rondo_loop_options){
 *             .agent_id = "fixer", .exit_conditions = conditions }, &err);
 *     while (rondo_loop_next(loop) == RONDO_CONTINUE) {
 *         work();
 *     }
 *     printf("%s\n", rondo_loop_status_name(loop));
 *     rondo_loop_free(loop);
 *     rondo_close(r);
 *
 * Every call of rondo_loop_next commits what the previous iteration left (events, a checkpoint
 * when one is due), evaluates the exit conditions, checks the limits, and commits its beginning,
 * before it returns. After a crash rondo_loop_resume continues there: at most the iteration that
 * was under way runs again.
 *
 * Ownership: what a function takes is copied unless its comment says otherwise; what it returns is
 * borrowed from the object unless its comment says that you must free it.
 *
 * Threads: `struct rondo` may be used from any thread. A loop or a subscription belongs to one
 * thread at a time; rondo_loop_stop is the exception and may be called from any thread and from a
 * signal handler. Any number of loops may run on as many threads. librondo starts one thread of its
 * own when the first loop starts (it renews leases), and short-lived ones while several exit
 * conditions are verified side by side.
 *
 * Strings are UTF-8. Durations and times are int64 nanoseconds, money is int64 millionths.
 * A field that is zero has its default, so `{0}` is always a valid start.
 */
#pragma once

#include "rondo/error.h"
#include "rondo/export.h"
#include "rondo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rondo;
struct rondo_loop;
struct rondo_subscription;

/** Version of the library, "major.minor.patch". Static. */
RONDO_API const char *rondo_version(void);

/* ---- The store ------------------------------------------------------------------------------ */

struct rondo_options {
    /**
     * File of the store, or the address of a PostgreSQL database (postgresql://...). NULL:
     * $RONDO_STORE, else that of the project, the nearest folder from the working directory up that
     * has one, else a new one for the working directory. Stores of projects are in the user's state
     * folder ($XDG_STATE_HOME/rondo, ~/.local/state/rondo). One that this user did not make here is
     * RONDO_ERR_DENIED until `rondo trust` confirms it.
     */
    const char *store;
    /** How long a frozen or unreachable process keeps its runs; 0 = 30 s, at least 500 ms. */
    int64_t lease_ns;
    /** Path of the rondo binary, which then guards verifiers' processes; NULL = without. */
    const char *supervisor;
    /**
     * Cedar policies for loops that name none: a file or folder. NULL: rondo.cedar next to the
     * store where there is one, else everything is permitted up to the limits in the loops'
     * options.
     */
    const char *policy;
};

/**
 * Open a store, creating it where needed (mode 0600).
 * @return NULL on failure, with `err` filled
 */
RONDO_API struct rondo *rondo_open(const struct rondo_options *options, struct rondo_error *err);

/** Close; all loops and subscriptions of it must have been freed. NULL is allowed. */
RONDO_API void rondo_close(struct rondo *rondo);

/** File of the store in use; of a database, its address without the password. */
RONDO_API const char *rondo_store_path(const struct rondo *rondo);

/* ---- Loops ---------------------------------------------------------------------------------- */

/** An exit condition: met when its command exits with code 0. */
struct rondo_condition {
    const char *name;    /**< all_tests_pass, build_succeeds, linting_clean, security_scan_clean, or
                              a name of your own; NULL ends a list */
    const char *command; /**< for `sh -c` in the workspace; NULL for a standard name: found from the
                              project's files */
    int64_t timeout_ns;  /**< 0 = 30 s */
};

enum rondo_durability {
    RONDO_STRICT = 0,  /**< a store that keeps failing ends the loop */
    RONDO_BEST_EFFORT, /**< the loop continues without checkpoints and journals it */
};

enum rondo_on_corrupt {
    RONDO_USE_PREVIOUS = 0, /**< resume from the newest checkpoint that is intact */
    RONDO_START_FRESH,      /**< resume with an empty agent state; the iteration count continues */
    RONDO_REFUSE,           /**< do not resume: RONDO_ERR_CORRUPT */
};

/** Sandbox of the verifiers. */
enum rondo_sandbox {
    RONDO_SANDBOX_NAMESPACE = 0, /**< bubblewrap, seccomp, limits; see docs/sandbox.md */
    RONDO_SANDBOX_LANDLOCK,
    RONDO_SANDBOX_NONE,
};

struct rondo_loop_options {
    const char *agent_id; /**< stable name of your agent; required */
    /** List that ends with a NULL name; NULL = none: the loop ends by limits or rondo_loop_finish.
     */
    const struct rondo_condition *exit_conditions;
    const char *workspace;        /**< folder where verifiers run; NULL = the working directory */
    uint64_t max_iterations;      /**< 0 = what policies say; 10 when they do not */
    int64_t max_tokens;           /**< 0 = no limit */
    int64_t max_cost_micro;       /**< 0 = no limit */
    int64_t time_limit_ns;        /**< 0 = no limit; active time, counted across crashes */
    int64_t delay_ns;             /**< pause between iterations */
    uint64_t checkpoint_interval; /**< iterations; 0 = 1, every iteration */
    uint64_t max_failures;        /**< consecutive failed iterations; 0 = 3 */
    enum rondo_durability durability;
    enum rondo_on_corrupt on_corrupt;
    enum rondo_sandbox sandbox;
    bool allow_network; /**< for verifiers */
    bool is_exclusive;  /**< no other run of this agent may execute at the same time */
    const char *policy; /**< Cedar policies of this loop: a file or folder; NULL = the store's */
};

/**
 * Start a new run.
 * @return NULL on failure. RONDO_ERR_BUSY: the agent is exclusive and executes already; the message
 *         says where. RONDO_ERR_NOT_FOUND: no command could be found for a standard condition.
 */
RONDO_API struct rondo_loop *rondo_loop_start(struct rondo *rondo,
                                              const struct rondo_loop_options *options,
                                              struct rondo_error *err);

/**
 * Resume a run: newest valid checkpoint plus the journal's tail.
 * @param run_id  id, a unique prefix of one, or "last" (of the agent in `options`, if given)
 * @param options NULL = as recorded; else limits that are not zero replace the recorded ones, and
 *                exit_conditions, when given, too (they are part of the agent's code)
 * @return NULL on failure. RONDO_ERR_BUSY: a living process executes it. RONDO_ERR_STATE: it is
 *         completed. RONDO_ERR_CORRUPT: as on_corrupt says.
 */
RONDO_API struct rondo_loop *rondo_loop_resume(struct rondo *rondo, const char *run_id,
                                               const struct rondo_loop_options *options,
                                               struct rondo_error *err);

/** Answer of rondo_loop_next. */
enum rondo_turn {
    RONDO_DONE = 0,            /**< the run has its final status */
    RONDO_CONTINUE = 1,        /**< do the work of iteration rondo_loop_iteration() */
    RONDO_POLICY_VIOLATED = 2, /**< ended: the next iteration was denied; rondo_loop_violation() */
    RONDO_BROKEN = -1, /**< this process cannot continue: rondo_loop_error(); resume later */
};

/**
 * End the iteration before, decide, and begin the next one. Blocks while verifiers run, and while
 * the run is paused.
 */
RONDO_API enum rondo_turn rondo_loop_next(struct rondo_loop *loop);

/**
 * Release a loop. One that has not ended is stopped first, as by rondo_loop_stop: it saves a final
 * checkpoint and gets the status cancelled, and can be resumed. NULL is allowed.
 */
RONDO_API void rondo_loop_free(struct rondo_loop *loop);

/* ---- Inside an iteration -------------------------------------------------------------------- */

/** The iteration failed; counts towards max_failures. @param message for people */
RONDO_API void rondo_loop_fail(struct rondo_loop *loop, const char *message);

/** The body met an error that it cannot recover from: the run will end with status error. */
RONDO_API void rondo_loop_abort(struct rondo_loop *loop, const char *message);

/** Add to the tokens and money that this iteration has used. */
RONDO_API void rondo_loop_use(struct rondo_loop *loop, int64_t tokens, int64_t cost_micro);

/**
 * Ask to finish. RONDO_COMPLETED is accepted only if all exit conditions are met at the next
 * rondo_loop_next; otherwise the loop continues. RONDO_BLOCKED and RONDO_FAILED end it.
 * @return 0 or RONDO_ERR_INVALID for another status
 */
RONDO_API int rondo_loop_finish(struct rondo_loop *loop, enum rondo_status status,
                                const char *summary, struct rondo_error *err);

/** Write something into the journal. @param attributes_json JSON object up to 64 KiB, or NULL */
RONDO_API int rondo_loop_note(struct rondo_loop *loop, const char *name,
                              const char *attributes_json, struct rondo_error *err);

/** Whether the loop was asked to stop: a long body should return soon. */
RONDO_API bool rondo_loop_should_stop(const struct rondo_loop *loop);

/** Ask the loop to stop at its next boundary. Any thread; async-signal-safe. */
RONDO_API void rondo_loop_stop(struct rondo_loop *loop);

/* ---- Actions that people decide about -------------------------------------------------------- */

/** An action that a body is about to make. */
struct rondo_action {
    const char *tool;           /**< its name, for policies and people; required */
    const char *arguments_json; /**< JSON object; NULL = {} */
    bool needs_person;          /**< a person must decide, also if the policies ask nobody */
    bool is_idempotent;         /**< it may be made again when it is not known whether it was */
};

enum rondo_permission {
    RONDO_REFUSED = 0, /**< do not make it */
    RONDO_PERMITTED,   /**< make it now, once, and then call rondo_loop_acted */
    RONDO_UNDECIDED,   /**< nobody has decided yet: ask again, also after a resume */
    RONDO_DONE_BEFORE, /**< this iteration has made it, before it was cut off */
};

struct rondo_answer {
    enum rondo_permission permission;
    char request_id[37]; /**< of the request to people; "" = nobody was asked */
    char message[512];   /**< why it is refused: the policy, or the person's comment */
};

/**
 * Ask before an action. The policies decide (`call_tool`); where they ask a person, the action is
 * put into the inbox of the store, and this waits for a decision, which `rondo approve`, the
 * dashboard or rondo_decide makes. An approval permits the very action, once. The same action of a
 * run is the same request, also after a crash; an action that was begun and has no result is put
 * before people again, as one in doubt, unless it is idempotent. What was refused is not asked
 * again in the run. The wait counts against no limit of the run, and ends when the loop is to stop.
 * @param wait_ns how long to wait; 0 = not
 * @return 0 with *ret_answer; RONDO_ERR_STATE outside of a body; RONDO_ERR_INVALID for arguments
 *         that are no JSON object; RONDO_ERR_LIMIT when too many actions wait
 */
RONDO_API int rondo_loop_ask(struct rondo_loop *loop, const struct rondo_action *action,
                             int64_t wait_ns, struct rondo_answer *ret_answer,
                             struct rondo_error *err);
/**
 * The permitted action has a result. Without this it is shown as in doubt.
 * @param result kept as a digest; NULL = ""
 */
RONDO_API int rondo_loop_acted(struct rondo_loop *loop, const struct rondo_answer *answer,
                               const char *result, struct rondo_error *err);

/**
 * Leave an unfinished run to a later process: it is not cancelled, and its actions keep waiting.
 * The iteration that is under way runs again. Afterwards only rondo_loop_free is left to be called.
 */
RONDO_API int rondo_loop_park(struct rondo_loop *loop, struct rondo_error *err);

/** An action that waits for a person. Texts are borrowed for the call. */
struct rondo_request {
    const char *id;
    const char *run_id; /**< of an agent that Rondo does not run: the lane that it named, no run */
    const char *agent_id;
    const char *tool;
    const char *why;      /**< cut off where it is long */
    const char *desk;     /**< who has it; "" = nobody yet */
    const char *state;    /**< "routed", "escalated", "needs_info", ... */
    const char *risk;     /**< "low", "medium", "high", "critical" */
    int64_t requested_ns; /**< wall clock */
    int64_t due_ns;       /**< when nobody can decide any more */
};

/** @return whether to continue */
typedef bool rondo_request_fn(const struct rondo_request *request, void *context);

/** List the actions that wait, in order of their ids. The store may be used meanwhile. */
RONDO_API int rondo_read_requests(struct rondo *rondo, rondo_request_fn *fn, void *context,
                                  struct rondo_error *err);
/**
 * An action with all that is known of it, as `rondo inbox show --json` prints it.
 * @return JSON, for free(); NULL on failure
 */
RONDO_API char *rondo_show_request(struct rondo *rondo, const char *request_id,
                                   struct rondo_error *err);

/** A person's decision. */
struct rondo_decision {
    const char *request_id;
    bool is_approved;
    const char *comment; /**< a rejection needs one */
    const char
        *action_digest; /**< of the action that was seen, from rondo_show_request; required */
};

/**
 * Decide, as the user of this process. The desk file says who may.
 * @return 0: decided; RONDO_ERR_STATE: not, the message says why (somebody was faster, another
 *         person must approve it too, the action is another one); RONDO_ERR_DENIED: this process
 *         executes the run that asks
 */
RONDO_API int rondo_decide(struct rondo *rondo, const struct rondo_decision *decision,
                           struct rondo_error *err);

/* ---- Exit conditions ------------------------------------------------------------------------ */

/** A condition as evaluated last. Texts are borrowed until it is evaluated again. */
struct rondo_condition_state {
    const char *name;
    const char *command;
    enum rondo_condition_status status;
    enum rondo_condition_reason reason;
    int exit_code; /**< -1 when there is none */
    int64_t duration_ns;
    const char *output; /**< end of the verifier's output; "" when not evaluated in this process */
};

/** Add a condition before the first rondo_loop_next. RONDO_ERR_STATE afterwards. */
RONDO_API int rondo_loop_add_condition(struct rondo_loop *loop,
                                       const struct rondo_condition *condition,
                                       struct rondo_error *err);
RONDO_API size_t rondo_loop_condition_count(const struct rondo_loop *loop);
/** @param index below rondo_loop_condition_count(); @return 0 or RONDO_ERR_NOT_FOUND */
RONDO_API int rondo_loop_condition(const struct rondo_loop *loop, size_t index,
                                   struct rondo_condition_state *ret_state);
/** Evaluate one condition now by running its verifier. Blocks. */
RONDO_API int rondo_loop_evaluate(struct rondo_loop *loop, const char *name,
                                  struct rondo_condition_state *ret_state, struct rondo_error *err);
/** Evaluate all conditions now. @param ret_all_met false also when there are none */
RONDO_API int rondo_loop_evaluate_all(struct rondo_loop *loop, bool *ret_all_met,
                                      struct rondo_error *err);
/** Whether all conditions were met when they were last evaluated; false when there are none. */
RONDO_API bool rondo_loop_all_met(const struct rondo_loop *loop);

/* ---- Checkpoints ---------------------------------------------------------------------------- */

struct rondo_checkpoint {
    uint64_t number;
    uint64_t iteration;
    int64_t time_ns;
    const void *state; /**< the agent's opaque state */
    size_t state_len;
    const char *custom_data; /**< JSON or NULL */
    const char *conditions;  /**< JSON object: name to "met" or "not_met" */
    char sha256[65];
};

/** Replace the agent's state (up to 64 MiB); the next checkpoint stores it. */
RONDO_API int rondo_loop_set_state(struct rondo_loop *loop, const void *state, size_t len,
                                   struct rondo_error *err);
/** The agent's state: what was set last, or what the resumed checkpoint held. */
RONDO_API const void *rondo_loop_state(const struct rondo_loop *loop, size_t *ret_len);

/**
 * Save a checkpoint now, durable on return. RONDO_ERR_DENIED when policies deny it.
 * @param custom_data_json JSON object or NULL
 */
RONDO_API int rondo_loop_save_checkpoint(struct rondo_loop *loop, const char *custom_data_json,
                                         struct rondo_error *err);
/**
 * Load a checkpoint of the loop's run, verified by its digest.
 * @param number 0 = the newest
 * @return NULL with RONDO_ERR_NOT_FOUND or RONDO_ERR_CORRUPT; else rondo_checkpoint_free() it
 */
RONDO_API struct rondo_checkpoint *rondo_loop_load_checkpoint(struct rondo_loop *loop,
                                                              uint64_t number,
                                                              struct rondo_error *err);
/** The same for any run of a store. @param run_id id, unique prefix, or "last" */
RONDO_API struct rondo_checkpoint *rondo_load_checkpoint(struct rondo *rondo, const char *run_id,
                                                         uint64_t number, struct rondo_error *err);
RONDO_API void rondo_checkpoint_free(struct rondo_checkpoint *checkpoint);

/* ---- Status --------------------------------------------------------------------------------- */

RONDO_API const char *rondo_loop_run_id(const struct rondo_loop *loop);
/** Number of the present iteration, from 1; 0 before the first. */
RONDO_API uint64_t rondo_loop_iteration(const struct rondo_loop *loop);
RONDO_API enum rondo_status rondo_loop_status(const struct rondo_loop *loop);
/** rondo_status_name of it. */
RONDO_API const char *rondo_loop_status_name(const struct rondo_loop *loop);
/** Why the last rondo_loop_next returned RONDO_BROKEN. Borrowed; message "" when all is well. */
RONDO_API const struct rondo_error *rondo_loop_error(const struct rondo_loop *loop);

/** What denied the next iteration. */
struct rondo_violation {
    const char *policy_id;  /**< "limit.iterations", ...; "" when no policy permits it */
    const char *limit_name; /**< "iterations", "tokens", "cost", "time"; "" when it is no limit */
    int64_t limit;          /**< iterations, tokens, millionths, nanoseconds */
    int64_t value;          /**< what was measured against it */
    uint64_t iteration;     /**< the iteration that was denied */
    const char *message;    /**< for people */
    const char *reason;     /**< the policy's own @reason, or "" */
    const char *code;       /**< "forbidden", "not_permitted", "approval_needed", "policy_error",
                                 "invalid_context", "policy_unavailable" */
    const char *policy_sha256; /**< digest of the policies that decided, or "" */
    bool needs_approval;       /**< denied until a person approves */
};

/** Details after RONDO_POLICY_VIOLATED; false otherwise. */
RONDO_API bool rondo_loop_violation(const struct rondo_loop *loop,
                                    struct rondo_violation *ret_violation);

/* ---- Runs and events ------------------------------------------------------------------------ */

/**
 * Request that a run stop, whichever process executes it. A run that no process executes is ended
 * immediately.
 * @param run_id id, unique prefix, or "last"
 */
RONDO_API int rondo_stop_run(struct rondo *rondo, const char *run_id, struct rondo_error *err);

/**
 * Pause a run, whichever process executes it: the current iteration ends, and no other begins. The
 * loop's rondo_loop_next waits meanwhile. RONDO_ERR_STATE when the run has ended. Any thread.
 * @param run_id as for rondo_stop_run
 */
RONDO_API int rondo_pause_run(struct rondo *rondo, const char *run_id, struct rondo_error *err);

/** Continue a paused run. If no process executes it, the pause is lifted: resume it. */
RONDO_API int rondo_continue_run(struct rondo *rondo, const char *run_id, struct rondo_error *err);

/** One committed event. Borrowed until the next call on the subscription. */
struct rondo_event {
    const char *run_id;
    uint64_t position; /**< place among the events of all runs */
    uint64_t seq;      /**< place in the run: 1, 2, 3, ... without gap */
    int64_t time_ns;
    const char *type;     /**< see docs/events.md */
    const char *data;     /**< JSON object */
    const char *category; /**< "run", "policy", "iteration", ...: see docs/events.md */
    const char *level;    /**< "info", "success", "notice", "failure" or "warning" */
    const char *text;     /**< what happened, in one sentence for people */
};

/**
 * Follow events, first those that are there already, then live.
 * @param run_id a full run id, or NULL for all runs
 * @param after  last seq (one run) or position (all runs) that you have seen; 0 = from the start
 * @return never NULL; rondo_subscription_free()
 */
RONDO_API struct rondo_subscription *rondo_subscribe(struct rondo *rondo, const char *run_id,
                                                     uint64_t after);

/**
 * The next event.
 * @param timeout_ns how long to wait for one; 0 = do not wait
 * @return 1 with `*ret_event`, 0 when none came in time, or a negative code
 */
RONDO_API int rondo_subscription_next(struct rondo_subscription *subscription, int64_t timeout_ns,
                                      struct rondo_event *ret_event, struct rondo_error *err);
RONDO_API void rondo_subscription_free(struct rondo_subscription *subscription);

#ifdef __cplusplus
}
#endif
