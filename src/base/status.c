// SPDX-License-Identifier: Apache-2.0
/*
 * Names and exit codes of statuses: one table, from which the journal, the command line and the
 * documentation take them.
 */
#include "base/status.h"

#include <string.h>

static const struct {
    const char *name;
    int exit_code;
    const char *meaning;
} statuses[RONDO_STATUS_COUNT] = {
    [RONDO_RUNNING] = {"running", 1, "the run has not ended"},
    [RONDO_COMPLETED] = {"completed", 0,
                         "every exit condition is met, or the worker's finish was accepted"},
    [RONDO_BLOCKED] = {"blocked", 4, "the agent reports that it cannot continue without help"},
    [RONDO_FAILED] = {"failed", 3,
                      "the worker reported failure, too many iterations in a row failed, or an "
                      "agent's single answer is empty, cut off, filtered or refused"},
    [RONDO_MAX_ITERATIONS] = {"max_iterations", 5, "the iteration limit denied the next iteration"},
    [RONDO_POLICY_VIOLATION] = {"policy_violation", 6, "a policy denied the next step"},
    [RONDO_BUDGET_EXCEEDED] = {"budget_exceeded", 7,
                               "the token or cost limit denied the next iteration"},
    [RONDO_TIMEOUT] = {"timeout", 8, "the time limit of the run is used up"},
    [RONDO_CANCELLED] = {"cancelled", 130,
                         "stopped by a signal or by `rondo stop`; can be resumed"},
    [RONDO_ERROR] = {"error", 1,
                     "an unrecoverable failure of the worker, the store or the machine"},
};

static const char *const reasons[RONDO_REASON_COUNT] = {
    [RONDO_REASON_NOT_EVALUATED] = "not_evaluated",
    [RONDO_REASON_PASSED] = "passed",
    [RONDO_REASON_FAILED] = "failed",
    [RONDO_REASON_TIMED_OUT] = "timed_out",
    [RONDO_REASON_CRASHED] = "crashed",
    [RONDO_REASON_NOT_RUN] = "not_run",
    [RONDO_REASON_CANCELLED] = "cancelled",
    [RONDO_REASON_DENIED] = "denied",
};

static bool is_status(enum rondo_status status)
{
    return (unsigned)status < RONDO_STATUS_COUNT;
}

const char *rondo_status_name(enum rondo_status status)
{
    return is_status(status) ? statuses[status].name : "unknown";
}

int rondo_status_exit_code(enum rondo_status status)
{
    return is_status(status) ? statuses[status].exit_code : 1;
}

const char *status_meaning(enum rondo_status status)
{
    return is_status(status) ? statuses[status].meaning : "";
}

bool status_from_name(const char *name, enum rondo_status *ret_status)
{
    for (unsigned i = 0; i < RONDO_STATUS_COUNT; i++) {
        if (strcmp(statuses[i].name, name) == 0) {
            *ret_status = (enum rondo_status)i;
            return true;
        }
    }
    return false;
}

const char *rondo_condition_status_name(enum rondo_condition_status status)
{
    return status == RONDO_MET ? "met" : "not_met";
}

const char *rondo_condition_reason_name(enum rondo_condition_reason reason)
{
    return (unsigned)reason < RONDO_REASON_COUNT ? reasons[reason] : "unknown";
}

bool condition_reason_from_name(const char *name, enum rondo_condition_reason *ret_reason)
{
    for (unsigned i = 0; i < RONDO_REASON_COUNT; i++) {
        if (strcmp(reasons[i], name) == 0) {
            *ret_reason = (enum rondo_condition_reason)i;
            return true;
        }
    }
    return false;
}
