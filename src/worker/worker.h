// SPDX-License-Identifier: Apache-2.0
/*
 * Worker commands: a body that is a process. Each iteration runs the command once, with its state,
 * the feedback of the last verification and a place for its result handed over in files; see
 * docs/workers.md for the contract with the command.
 */
#pragma once

#include "loop/driver/driver.h"

struct worker;

struct worker_options {
    const char *folder; /**< for hand-over files of all runs; a folder per run is made in it */
    /** Live output, on the loop's thread; NULL = none. */
    void (*on_output)(void *context, const char *bytes, size_t len);
    void *on_output_context;
    const char *const
        *variables;            /**< further "NAME=value" for the command; NULL-terminated or NULL */
    const char *config_folder; /**< where a user's rondo.yaml may be, for roles that work on tasks;
                                  or NULL */
    const char *prices_file;   /**< for the same; or NULL */
};

/**
 * Prepare to run a loop's command.
 * @param loop must outlive the worker; its spec has a command
 */
int worker_new(struct loop *loop, const struct worker_options *options, struct worker **ret_worker,
               struct rondo_error *err);

/** Remove the hand-over folder and release. NULL is allowed. */
void worker_free(struct worker *worker);

/**
 * Run one iteration's body: hand over, run, read back, and report to the loop (loop_report,
 * loop_set_agent_state). Whatever the command does is an outcome, not an error.
 * @return 0, or a negative code when the hand-over files cannot be written
 */
int worker_run(struct worker *worker, struct rondo_error *err);
