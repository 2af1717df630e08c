// SPDX-License-Identifier: Apache-2.0
/*
 * The state of a run: the fold of its events. It is what a checkpoint stores and what every
 * decision of the loop is made from. Folding has no clock, no I/O and no randomness, so that
 * replaying a journal always gives the same state.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "journal/event.h"

#include <stdbool.h>
#include <stdint.h>

/** Where in its cycle a run is. */
enum run_phase {
    PHASE_READY = 0,    /**< at a boundary: the next iteration, or the end, must be decided */
    PHASE_IN_BODY,      /**< an iteration's body was begun and has no result */
    PHASE_BODY_DONE,    /**< the body has a result; conditions must be evaluated */
    PHASE_IN_VERIFYING, /**< conditions are being evaluated */
    PHASE_ENDED,        /**< the run has a final status */
};

/** What the worker asked for in the iteration that ended last. */
enum run_finish {
    FINISH_NONE = 0,
    FINISH_COMPLETED,
    FINISH_BLOCKED,
    FINISH_FAILED,
};

/** One exit condition as last evaluated. */
struct run_condition {
    char name[LIMIT_CONDITION_NAME_LEN + 1];
    enum rondo_condition_status status;
    enum rondo_condition_reason reason;
};

/** Reason of iteration.finished where iterations without a tool call ended the run. */
#define RUN_GUARD_SPIN "spin_guard"

/** Limits that warnings are given for. */
enum run_limit {
    RUN_LIMIT_ITERATIONS,
    RUN_LIMIT_TOKENS,
    RUN_LIMIT_COST,
    RUN_LIMIT_TIME,
    RUN_LIMIT_COUNT,
};

/** "iterations", "tokens", "cost", "time". Static. */
const char *run_limit_name(enum run_limit limit);

/** Bytes of a digest in the state, the NUL included. */
#define RUN_DIGEST_SIZE 65

struct run_state {
    uint64_t seq; /**< last event folded */
    enum run_phase phase;
    enum rondo_status status;
    uint64_t epoch;
    uint64_t iteration; /**< last one started */
    uint64_t finished;  /**< iterations with a result; the next one is finished + 1 */
    uint64_t attempt;   /**< of `iteration` */
    uint64_t limit;     /**< iteration limit in force at the last gate; 0 = none */
    uint64_t consecutive_failures;
    int64_t tokens;
    int64_t cost_micro;       /**< as far as it is known; see run_cost */
    int64_t body_tokens;      /**< those of the iteration in flight, counted already */
    int64_t body_cost_micro;  /**< likewise */
    uint64_t turn;            /**< last model request */
    int64_t active_ns;        /**< time that owners spent on the run, up to last_event_ns */
    int64_t last_event_ns;    /**< time of the last event */
    int64_t last_finished_ns; /**< when the last iteration's body ended */
    int64_t waits_until_ns;   /**< Unix time before which no iteration begins; 0 = none */
    uint64_t checkpoint_number;
    uint64_t checkpoint_iteration; /**< `finished` at the last checkpoint */
    uint64_t spec_seq;             /**< event that holds the options in force */
    uint64_t round_seq;            /**< last verification.started; 0 = none */
    uint64_t verified;             /**< `finished` when all conditions were last evaluated */
    enum run_finish finish;
    bool is_guarded; /**< it was not the worker that asked for it, but a guard of the loop */
    enum rondo_status denied;  /**< status that a gate or an unrecoverable error demands; else
                                    RONDO_RUNNING */
    bool is_cost_unknown;      /**< something was used that has no known cost */
    bool is_body_cost_unknown; /**< likewise in the iteration in flight */
    bool is_stop_requested;
    bool is_paused;         /**< no iteration begins until the run is continued */
    bool is_waiting;        /**< it is paused because calls wait for people, and by nobody */
    bool is_body_verified;  /**< all conditions were evaluated as the last thing in the body */
    uint64_t finish_denied; /**< `finished` when policies last denied the finish */
    int64_t warned[RUN_LIMIT_COUNT];     /**< values of limits that were warned about */
    uint64_t warnings;                   /**< limit.warning events so far */
    char policy_sha256[RUN_DIGEST_SIZE]; /**< policies in force; "" = built in */
    uint32_t condition_count;
    struct run_condition conditions[LIMIT_CONDITIONS];
};

/** Apply one event. Events must come in order of seq; an out-of-order one is RONDO_ERR_CORRUPT. */
int run_fold(struct run_state *state, const struct journal_event *event, struct rondo_error *err);

/** Whether the run is paused at its boundary: the time that passes is not active time. */
bool run_stands_still(const struct run_state *state);

/**
 * From when on the time after the last event is active time: from that event, or from the end of a
 * wait for what a coding agent's session ran into (a quota, an overloaded service).
 */
int64_t run_active_from_ns(const struct run_state *state);

/** The iteration that is being worked on; between iterations, the last one with a result. */
uint64_t run_current_iteration(const struct run_state *state);

/** What the run has cost, in millionths, or COST_UNKNOWN. */
int64_t run_cost(const struct run_state *state);

/** Number of conditions that are met now. */
uint32_t run_conditions_met(const struct run_state *state);

/** Append the state as a JSON object. */
void run_state_encode(const struct run_state *state, struct buf *ret_buf);

/** Append the exit-condition statuses alone: {"all_tests_pass":"met",...}. */
void run_conditions_encode(const struct run_state *state, struct buf *ret_buf);

/** Read what run_state_encode wrote. RONDO_ERR_CORRUPT for anything else. */
int run_state_decode(const char *json, size_t len, struct run_state *ret_state,
                     struct rondo_error *err);

/** "completed", "blocked", "failed", or NULL for FINISH_NONE. Static. */
const char *run_finish_name(enum run_finish finish);
/** @return whether `name` is one of them; only then `*ret_finish` is set. */
bool run_finish_from_name(const char *name, enum run_finish *ret_finish);
