// SPDX-License-Identifier: Apache-2.0
/*
 * Steering a run from outside, whoever executes it: a letter in its mailbox where somebody does,
 * else the change is made here and now and the run is given up again. (Stopping:
 * loop/control/stop.h.)
 *
 * All of it takes effect at a boundary: never in the middle of a body. Any thread; each call blocks
 * for some transactions only.
 */
#pragma once

#include "loop/driver/driver.h"

/** How a wish was passed on. */
enum loop_controlled {
    LOOP_CONTROL_DONE = 0, /**< nobody executed the run: it is journalled already */
    LOOP_CONTROL_POSTED,   /**< its living owner does it at its next boundary */
    LOOP_CONTROL_NOTHING,  /**< it was so already */
};

/**
 * Pause: no further iteration begins until somebody says to go on (event run.paused). Whoever
 * executes the run either waits (a terminal) or gives it up (a server): loop_next returns
 * LOOP_PAUSED.
 * @param by who asks, for the journal
 * @return enum loop_controlled, or RONDO_ERR_STATE when it has ended, RONDO_ERR_NOT_FOUND
 */
int loop_pause_run(const struct loop_parts *parts, const char *run_id, const char *by,
                   struct rondo_error *err);

/**
 * Let a paused run go on (event run.continued). LOOP_CONTROL_DONE means that the run is not paused
 * any more but nobody executes it: resume it.
 */
int loop_continue_run(const struct loop_parts *parts, const char *run_id, const char *by,
                      struct rondo_error *err);

/** Limits to be changed; 0 = as it is, -1 = no limit (of the run's options; policies stay). */
struct loop_limits {
    int64_t max_iterations;
    int64_t max_tokens;
    int64_t max_cost_micro;
    int64_t time_limit_ns;
};

/** Change the limits in options. */
void loop_limits_apply(const struct loop_limits *limits, struct loop_spec *spec);

/** Whether there is a change, and one that a run can have: 0 or RONDO_ERR_INVALID. */
int loop_limits_check(const struct loop_limits *limits, struct rondo_error *err);

/**
 * Change limits in the options of a run (event run.options with `by`).
 * @return enum loop_controlled, or RONDO_ERR_STATE when it has ended, RONDO_ERR_INVALID
 */
int loop_change_limits(const struct loop_parts *parts, const char *run_id,
                       const struct loop_limits *limits, const char *by, struct rondo_error *err);

/**
 * Begin a new run where a checkpoint of another stands: its journal is a copy of the other's up to
 * that checkpoint (event run.forked follows, and run.created says from where), so it goes on by
 * the code that every resume goes through. Counts and usage go on too, but for failures in a row.
 * Nobody holds the new run. Files in the workspace are as they are now, not as they were then.
 * @param checkpoint its number, 0 = the newest
 * @param change     may change limits; NULL = as recorded
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_CORRUPT
 */
int loop_fork(const struct loop_parts *parts, const char *run_id, uint64_t checkpoint,
              const struct loop_limits *change, const char *by, char ret_run_id[ID_SIZE],
              struct rondo_error *err);
