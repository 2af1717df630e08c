// SPDX-License-Identifier: Apache-2.0
/*
 * Executing the run that works on a task. This layer knows no body: the port is implemented by
 * `worker` (worker/child.h). Called on the threads of attempts, several at once.
 */
#pragma once

#include "loop/spec.h"
#include "rondo/types.h"

struct cancel;

/** What to execute. Borrowed. */
struct work_order {
    const struct loop_spec *spec; /**< of the run; its run_id is set. Used when there is no such run
                                     yet, else that is continued as it was recorded */
    const char *const *variables; /**< "NAME=value" for a command's environment; NULL-terminated */
    struct cancel *stop; /**< CANCEL_GRACEFUL: park the run at its next boundary; CANCEL_NOW: now */
};

/** How it went. */
struct work_worked {
    bool is_ended;      /**< false: it was parked, and can be continued */
    bool was_over;      /**< the run had ended before it was to be executed */
    bool is_closed;     /**< somebody ended the run, because its process was gone */
    bool has_failed;    /**< the worker itself said or showed that it failed */
    bool is_denied;     /**< policies ended it */
    bool is_locked_out; /**< its service refused the key: a person has to log in */
    bool is_limited;    /**< a limit of tokens or cost ended it, its own or the parent's */
    int64_t tokens;
    int64_t cost_micro; /**< COST_UNKNOWN = nobody knows */
    char *message;      /**< why it failed; or NULL. Owned, as the next ones */
    char *output;       /**< end of the worker's output; or NULL */
    char *summary;      /**< the worker's own words; or NULL */
};
void work_worked_fini(struct work_worked *worked);

struct work_port {
    /** Start or continue the run, and execute it to its end or until it must be parked.
     *  @param ret_worked work_worked_fini()
     *  @return 0, or a negative code when it can be neither */
    int (*execute)(void *context, const struct work_order *order, struct work_worked *ret_worked,
                   struct rondo_error *err);
    /** Whether there is such a run, at whatever it is. */
    bool (*exists)(void *context, const char *run_id);
    /** The usage of a run that has ended was recorded in its parent. */
    void (*settle)(void *context, const struct work_worked *worked);
    /** Enter and leave the time during which the parent's thread waits, and runs may ask its
     *  policies. */
    void (*begin_wait)(void *context);
    void (*end_wait)(void *context);
    void *context;
};
