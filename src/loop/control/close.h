// SPDX-License-Identifier: Apache-2.0
/* Ending a run that nobody will go on with, because the process that executed it is gone. */
#pragma once

#include "loop/driver/driver.h"

/** What became of it. */
enum loop_closed {
    LOOP_CLOSED = 0,      /**< ended now, with status error */
    LOOP_CLOSED_NOTHING,  /**< it had ended already */
    LOOP_CLOSED_NOT_DEAD, /**< a living process executes it */
};

/**
 * Claim a run and end it with status error, in its journal (run.finished), without verifying or
 * asking policies. It can be resumed as any run that ended with error.
 * @param message why, for people
 * @return enum loop_closed, or a negative code. Any thread; blocks for some transactions only.
 */
int loop_close_run(const struct loop_parts *parts, const char *run_id, const char *message,
                   struct rondo_error *err);

/**
 * End a loop that this process holds, at a boundary, in the same way. It is over then; loop_free()
 * is the caller's.
 */
int loop_close(struct loop *loop, const char *message, struct rondo_error *err);

/**
 * Claim a run and give it up in good order, so that it is nobody's and not one of a process that
 * died any more. @return as loop_close_run, with LOOP_CLOSED for "done"
 */
int loop_park_run(const struct loop_parts *parts, const char *run_id, struct rondo_error *err);

/**
 * Claim a run as it is, for whoever takes it over from a process that died or goes on with it after
 * a restart: a pause stays, a stop that nobody has read yet counts, and one that has ended is
 * RONDO_ERR_STATE. Nothing is committed before the first loop_next.
 * @param how for the journal: "takeover" where somebody died; NULL = as the run's row looks
 */
int loop_take_over(const struct loop_parts *parts, const char *run_id, const char *how,
                   struct loop **ret_loop, struct loop_opening *ret_opening,
                   struct rondo_error *err);
