// SPDX-License-Identifier: Apache-2.0
/*
 * Control of a run, whichever process executes it. People, the API and servers make requests here;
 * nothing else changes a run that the process at hand does not hold.
 *
 * Requests: stop, pause, continue, new limits, and a fork. A server may also
 * close a run whose process died, park it, or take it over.
 *
 * Execution: where a living process executes the run (loop/owner.h), the request is a
 * letter in the run's mailbox, and that process acts on it at its next boundary, never in the
 * middle of a body. Where none does, this process claims the run just long enough to do it here and
 * now, and gives it back. The process that posts a letter looks at the run once more: an owner that
 * released the run meanwhile has not read it, so it is done here then.
 *
 * What comes of it: enum loop_controlled, and an event in the run's journal that names the
 * requester. A request that changes nothing leaves no event.
 *
 * Any thread; each call blocks for some transactions only. `by` is the requester, for the journal
 * ("ann@build7 812"); run ids are full ones. Codes beside those of the store: RONDO_ERR_STATE when
 * the run has ended already, RONDO_ERR_NOT_FOUND.
 */
#pragma once

#include "loop/driver/driver.h"
#include "loop/limits.h"

/** What came of a request. */
enum loop_controlled {
    LOOP_CONTROL_DONE = 0, /**< nobody executed the run: it is journalled already */
    LOOP_CONTROL_POSTED,   /**< its living owner does it at its next boundary */
    LOOP_CONTROL_NOTHING,  /**< there is nothing to do: it was so already, or the run has ended */
    LOOP_CONTROL_HELD,     /**< a living process executes it, so it was left alone */
};

/* ---- What anybody may ask: LOOP_CONTROL_HELD does not come of these ---- */

/** Ask a run to stop; where nobody executes it, end it now with status cancelled. */
int loop_stop_run(const struct loop_parts *parts, const char *run_id, const char *by,
                  struct rondo_error *err);

/**
 * Pause: no further iteration begins until the run is continued (event run.paused). Its owner
 * either waits (a terminal) or parks it (a server): loop_next returns LOOP_PAUSED.
 */
int loop_pause_run(const struct loop_parts *parts, const char *run_id, const char *by,
                   struct rondo_error *err);

/**
 * Continue a paused run (event run.continued). LOOP_CONTROL_DONE means that the run is not paused
 * any more but nobody executes it: resume it.
 */
int loop_continue_run(const struct loop_parts *parts, const char *run_id, const char *by,
                      struct rondo_error *err);

/** Change limits in the options of a run (event run.options with `by`). RONDO_ERR_INVALID. */
int loop_change_limits(const struct loop_parts *parts, const char *run_id,
                       const struct loop_limits *limits, const char *by, struct rondo_error *err);

/**
 * Start a new run from a checkpoint of another: its journal is a copy of the other's up to that
 * checkpoint (event run.forked follows, and run.created says from where), so it continues through
 * the code of every resume. Counts and usage continue too, except consecutive failures. No process
 * holds the new run. Files in the workspace are as they are now, not as they were then.
 * @param checkpoint its number, 0 = the newest
 * @param change     may change limits; NULL = as recorded
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_CORRUPT
 */
int loop_fork(const struct loop_parts *parts, const char *run_id, uint64_t checkpoint,
              const struct loop_limits *change, const char *by, char ret_run_id[ID_SIZE],
              struct rondo_error *err);

struct journal_event;

/**
 * Record an event of a run that nobody executes: what was done about it afterwards. It must not be
 * one that is folded (journal/state.c).
 * @param event its seq and time are ignored
 * @return 1; 0 when somebody executes the run or it is gone: then nothing was recorded; or a code
 */
int loop_record_after(struct runtime *runtime, const char *run_id,
                      const struct journal_event *event, struct rondo_error *err);

/* ---- What a server does with runs whose process died: LOOP_CONTROL_POSTED does not come of these
 */

/**
 * Claim a run and end it with status error, in its journal (run.finished), without verifying or
 * asking policies. It can be resumed as any run that ended with error.
 * @param message why, for people
 */
int loop_close_run(const struct loop_parts *parts, const char *run_id, const char *message,
                   struct rondo_error *err);

/**
 * Claim a run that was parked and end it with status cancelled, as loop_close_run does. One that is
 * paused, or whose process died, is left as it was: LOOP_CONTROL_NOTHING.
 */
int loop_cancel_parked(const struct loop_parts *parts, const char *run_id, const char *message,
                       struct rondo_error *err);

/** Claim a run and park it, so that it is nobody's and not one of a process that died any more. */
int loop_park_run(const struct loop_parts *parts, const char *run_id, struct rondo_error *err);

/**
 * End a loop that this process holds, at a boundary, as loop_close_run does. It is over then;
 * loop_free() is the caller's.
 */
int loop_close(struct loop *loop, const char *message, struct rondo_error *err);

/**
 * Claim a run as it is, to take it over from a process that died, or to continue it after
 * a restart: a pause stays, a stop that nobody has read yet counts, and one that has ended is
 * RONDO_ERR_STATE. Nothing is committed before the first loop_next.
 * @param how for the journal: "takeover" where its owner died; NULL = as the run's row looks
 */
int loop_take_over(const struct loop_parts *parts, const char *run_id, const char *how,
                   struct loop **ret_loop, struct loop_opening *ret_opening,
                   struct rondo_error *err);
