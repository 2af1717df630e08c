// SPDX-License-Identifier: Apache-2.0
/*
 * The vocabulary that the public API and every layer of Rondo share: final statuses, condition
 * statuses and their reasons. Names in text form (journal, JSON, terminal) are the
 * strings that the *_name functions give; they never change once released.
 */
#pragma once

#include "rondo/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Status of a run. Everything but RONDO_RUNNING is final; see docs/exit-codes.md. */
enum rondo_status {
    RONDO_RUNNING = 0,
    RONDO_COMPLETED,        /**< exit conditions met, or an accepted finish */
    RONDO_BLOCKED,          /**< the agent reports that it needs help */
    RONDO_FAILED,           /**< the agent gave up, or too many consecutive iterations failed */
    RONDO_MAX_ITERATIONS,   /**< the iteration limit denied the next iteration */
    RONDO_POLICY_VIOLATION, /**< another policy denied a step */
    RONDO_BUDGET_EXCEEDED,  /**< the token or cost limit denied the next iteration */
    RONDO_TIMEOUT,          /**< the run's time limit is used up */
    RONDO_CANCELLED,        /**< stopped by a signal or `rondo stop`; can be resumed */
    RONDO_ERROR,            /**< an unrecoverable fault of the body, the store or the machine */
    RONDO_STATUS_COUNT
};

/** Status of an exit condition. There is no third value: what could not be checked is not met. */
enum rondo_condition_status {
    RONDO_NOT_MET = 0,
    RONDO_MET = 1,
};

/** Why a condition has its status. */
enum rondo_condition_reason {
    RONDO_REASON_NOT_EVALUATED = 0, /**< nobody asked yet */
    RONDO_REASON_PASSED,            /**< the verifier exited with code 0 */
    RONDO_REASON_FAILED,            /**< the verifier exited with another code */
    RONDO_REASON_TIMED_OUT,         /**< the verifier was killed at its deadline */
    RONDO_REASON_CRASHED,           /**< a signal ended the verifier */
    RONDO_REASON_NOT_RUN,           /**< it could not be started: no such program, no sandbox */
    RONDO_REASON_CANCELLED,         /**< the run was stopped while the verifier ran */
    RONDO_REASON_DENIED,            /**< policies denied running the verifier */
    RONDO_REASON_COUNT
};

/** Text form of a status ("max_iterations"); "unknown" for other values. Static; any thread. */
RONDO_API const char *rondo_status_name(enum rondo_status status);

/** Process exit code that the command line uses for a final status. Any thread. */
RONDO_API int rondo_status_exit_code(enum rondo_status status);

/** Text form of a condition status: "met" or "not_met". Static; any thread. */
RONDO_API const char *rondo_condition_status_name(enum rondo_condition_status status);

/** Text form of a reason ("timed_out"); "unknown" for other values. Static; any thread. */
RONDO_API const char *rondo_condition_reason_name(enum rondo_condition_reason reason);

#ifdef __cplusplus
}
#endif
