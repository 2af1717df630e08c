// SPDX-License-Identifier: Apache-2.0
/* Stopping a run that this process may not execute itself. */
#pragma once

#include "loop/driver/driver.h"

/** How a stop was passed on. */
enum loop_stopped {
    LOOP_STOP_ENDED = 0, /**< nobody executed the run: it is ended now, with status cancelled */
    LOOP_STOP_POSTED,    /**< its living owner was asked and will end it at its next boundary */
};

/** Whether a living process executes the run, as far as its row tells. Any thread. */
bool loop_is_executed(struct runtime *runtime, const struct store_run *run);

/**
 * Ask a run to stop; end it here and now when nobody living executes it.
 * @param run_id full id
 * @param by     who asks, for the journal ("ann@build7 812")
 * @return enum loop_stopped, or a negative code: RONDO_ERR_STATE when the run has ended already,
 *         RONDO_ERR_NOT_FOUND. Any thread; blocks for some transactions only.
 */
int loop_stop_run(const struct loop_parts *parts, const char *run_id, const char *by,
                  struct rondo_error *err);
