// SPDX-License-Identifier: Apache-2.0
/*
 * The driver: one running loop. It calls the step for what comes next, performs it, and records the
 * result; everything that is handed back to the caller has been committed before.
 *
 * The caller's own `while` is the loop:
 *
 *     while ((turn = loop_next(loop, &err)) == LOOP_BODY) {
 *         ... the body; it may call loop_report, loop_evaluate, loop_save_checkpoint ...
 *     }
 *
 * Threads: a loop belongs to one thread at a time. Only loop_stop may be called from any thread
 * (and from a signal handler).
 */
#pragma once

#include "base/buf.h"
#include "journal/checkpoint.h"
#include "journal/state.h"
#include "loop/runtime.h"
#include "loop/spec.h"
#include "loop/verify.h"
#include "policy/verdict.h"

struct loop;
struct ruleset;

/** What became of a body. */
enum loop_outcome {
    LOOP_OK = 0,
    LOOP_FAILED,        /**< a failed iteration; the loop continues, up to max_failures */
    LOOP_TIMED_OUT,     /**< likewise, killed at a deadline */
    LOOP_CRASHED,       /**< likewise, ended by a signal */
    LOOP_UNRECOVERABLE, /**< nothing can continue: the run ends with status error */
    LOOP_INTERRUPTED,   /**< cut off because the run was asked to stop: no result, runs again */
};

/** Result of a body; texts are borrowed for the time of the call. Zeroed = it went well. */
struct loop_body_result {
    enum loop_outcome outcome;
    int exit_code;
    int signal;
    int64_t duration_ns; /**< 0 = measured by the driver */
    int64_t tokens;
    int64_t cost_micro; /**< COST_UNKNOWN (base/text/plain.h) = nobody knows */
    enum run_finish finish;
    bool is_guarded; /**< a guard of the loop requests `finish`, and not the worker */
    const char *summary;
    const char *message;
    const char *output;
    size_t output_len;
    uint64_t output_total;
    const char *custom_data; /**< JSON, kept for the next checkpoint; NULL = unchanged */
};

/** Answer of loop_next. */
enum loop_turn {
    LOOP_ENDED = 0,   /**< final status reached and committed */
    LOOP_BODY = 1,    /**< run the body of iteration loop_state()->iteration */
    LOOP_PAUSED = 2,  /**< paused, and committed: wait (loop_wait_continued) or park (loop_park) */
    LOOP_PARKING = 3, /**< parking was requested (loop_request_park): loop_park */
    /* negative codes: this process cannot continue; the run can be resumed */
};

/** Ingredients of a loop. Everything must outlive the loop; the spec is copied. */
struct loop_parts {
    struct runtime *runtime;
    const struct verifier *verifier; /**< NULL = commands in the sandbox */
    const char *by;                  /**< the requester, for the journal; copied; NULL = unknown */
    const char *parent; /**< run for which a new one works on a part; NULL = for none */
    /** Checks that the body can honour changed limits; NULL = it can honour all. */
    int (*check_limits)(const struct loop_spec *spec, struct rondo_error *err);
};

/** How starting or resuming went. */
struct loop_opening {
    bool is_held;             /**< somebody living executes it: no loop was made */
    struct store_run holder;  /**< then: the run in the way */
    uint64_t from_checkpoint; /**< resume: number of the checkpoint used, 0 = none */
    uint32_t corrupt_count;   /**< resume: damaged checkpoints that were passed over */
    char how[16];             /**< "start", "resume", "takeover" or "reopen" */
};

/**
 * Create a run and claim it.
 * @param ret_loop set when !ret_opening->is_held; loop_free()
 */
int loop_start(const struct loop_parts *parts, const struct loop_spec *spec, struct loop **ret_loop,
               struct loop_opening *ret_opening, struct rondo_error *err);

/** Changes that a resume makes to the recorded options. */
typedef void loop_change_fn(struct loop_spec *spec, void *context);

/**
 * Claim an existing run and continue where it was: newest valid checkpoint plus the journal's tail.
 * @param change  may change limits in the spec before it is used; NULL = as recorded
 * @param on_corrupt -1 = as recorded, else an enum loop_on_corrupt
 * A paused run is continued by it.
 * RONDO_ERR_STATE when the run is completed; RONDO_ERR_CORRUPT as on_corrupt says.
 */
int loop_resume(const struct loop_parts *parts, const char *run_id, loop_change_fn *change,
                void *change_context, int on_corrupt, struct loop **ret_loop,
                struct loop_opening *ret_opening, struct rondo_error *err);

/**
 * Advance to the next body or the end, or to a requested pause. While the run is paused
 * each further call reads the mail and gives LOOP_PAUSED again.
 * @return enum loop_turn, or a negative code
 */
int loop_next(struct loop *loop, struct rondo_error *err);

/**
 * Wait until a paused run is continued, or must stop; loop_next then returns which. The run
 * stays held.
 * @return 0 also when it is not paused; RONDO_ERR_STATE after its end, or what broke the loop
 */
int loop_wait_continued(struct loop *loop, struct rondo_error *err);

/** loop_next for callers that wait through pauses: never LOOP_PAUSED. */
int loop_next_unpaused(struct loop *loop, struct rondo_error *err);

/** Say how the body went, before the next loop_next; not saying anything means LOOP_OK. */
void loop_report(struct loop *loop, const struct loop_body_result *result);

/**
 * Record something in the journal (event "note"); committed with the next boundary at the latest.
 * @param attributes JSON object or NULL
 */
int loop_note(struct loop *loop, const char *name, const char *attributes, struct rondo_error *err);

/**
 * Evaluate one condition now, inside a body. RONDO_ERR_NOT_FOUND for an unknown name.
 * @param ret_result borrowed, as from loop_result
 */
int loop_evaluate(struct loop *loop, const char *name, const struct verify_result **ret_result,
                  struct rondo_error *err);

/** Evaluate all conditions now, one after the other, inside a body. */
int loop_evaluate_all(struct loop *loop, struct rondo_error *err);

/**
 * The last result of a condition in this process; reason RONDO_REASON_NOT_EVALUATED when there is
 * none. Borrowed until the condition is evaluated again.
 */
const struct verify_result *loop_result(const struct loop *loop, size_t index);

/** Add a condition before the first loop_next, RONDO_ERR_STATE afterwards. Texts are copied. */
int loop_add_condition(struct loop *loop, const char *name, const char *command, const char *origin,
                       int64_t timeout_ns, struct rondo_error *err);

/**
 * Save a checkpoint now; durable when 0 is returned. While the run continues in spite of a failing
 * store the result is RONDO_ERR_IO.
 * @param custom_data JSON or NULL (keeps the former)
 */
int loop_save_checkpoint(struct loop *loop, const char *custom_data, struct rondo_error *err);

/** The agent's opaque state, as the next checkpoint will store it. Borrowed. */
const struct buf *loop_agent_state(const struct loop *loop);
/** Replace it. RONDO_ERR_LIMIT above LIMIT_STATE_BYTES. */
int loop_set_agent_state(struct loop *loop, const void *bytes, size_t len, struct rondo_error *err);
/** Custom data of the latest checkpoint or result, JSON, or NULL. Borrowed. */
const char *loop_custom_data(const struct loop *loop);

/** Ask the loop to stop. Any thread; async-signal-safe. */
void loop_stop(struct loop *loop, enum cancel_level level);

/**
 * Ask the loop to park at its next boundary, so that the run can be resumed: loop_next
 * then answers LOOP_PARKING instead of beginning an iteration or a delay. Ends that are due come
 * first, and so does a requested stop.
 * @param is_now the body or verification under way is interrupted as well, and will be repeated by
 * the resume. Any thread.
 */
void loop_request_park(struct loop *loop, bool is_now);

/** The loop's cancel token, for bodies that block. */
struct cancel *loop_cancel(struct loop *loop);
const struct run_state *loop_state(const struct loop *loop);
/**
 * The time to measure the run's active time with (loop_step_active_ns): the wall clock of the last
 * event, and what has passed since by a clock that cannot be set and that stops while the process
 * does.
 */
int64_t loop_now(const struct loop *loop);
const struct loop_spec *loop_spec(const struct loop *loop);
const char *loop_run_id(const struct loop *loop);
struct runtime *loop_runtime(struct loop *loop);

/** The verdict that ends or ended the run, or NULL. Borrowed. */
const struct policy_verdict *loop_violation(const struct loop *loop);

/** The rules that the run is under. Borrowed. */
const struct ruleset *loop_ruleset(const struct loop *loop);

/** Results of the last verification as JSON for the worker (RONDO_FEEDBACK_FILE). */
const char *loop_feedback(struct loop *loop);

/** Whether the store fails at present and the run continues without checkpoints. */
bool loop_is_degraded(const struct loop *loop);

/**
 * Record that the store failed for the run while nobody had it (event storage.degraded), so that
 * people hear of it. Committed with the next boundary.
 * @param since_ns wall clock
 */
void loop_record_trouble(struct loop *loop, uint64_t failures, int64_t since_ns,
                         const char *message);

/** Storage failures met so far. */
uint64_t loop_storage_failures(const struct loop *loop);

/**
 * The options that a run was created with.
 * @param ret_spec loop_spec_fini()
 */
int loop_recorded_spec(struct store *store, const char *run_id, struct loop_spec *ret_spec,
                       struct rondo_error *err);

/**
 * Release the loop without writing to its run. One that has not ended stays claimed until the
 * runtime's keeper has given it up, its lease ends, or another process sees that this one is dead:
 * call loop_park first where that matters. NULL is allowed.
 */
void loop_free(struct loop *loop);

/**
 * Find the limit of iterations that lists show of the run from its next commit on, where no gate
 * has found it yet: for a run that is parked to wait.
 */
void loop_look_ahead(struct loop *loop);

/**
 * Give an unfinished run up, so that anybody can resume it at once. Letters that come while it does
 * so are heeded: afterwards loop_state says whether the run is still paused, or has ended.
 */
int loop_park(struct loop *loop, struct rondo_error *err);
