// SPDX-License-Identifier: Apache-2.0
/*
 * The body of a PRD's run. Each iteration of the loop is one attempt that ended; with several jobs
 * the other attempts run on over the boundary. This thread alone records events and moves the
 * branch; attempts (work/attempt.h) have threads of their own.
 *
 * The journal is the truth. What is outside of it (prd.json, progress.txt, the branch, working
 * trees) is brought in line with it when the body is opened and whenever something has happened,
 * so the process may be killed at any point. One thread: that of the loop.
 */
#pragma once

#include "loop/driver/driver.h"
#include "work/port.h"

struct work_executor;

/**
 * Open the body.
 * @param loop of a spec with work_is_parent(); outlives the executor
 * @param port copied; its context outlives the executor
 * @return RONDO_ERR_NOT_FOUND without the repository, and others with a message for people
 */
int work_executor_new(struct loop *loop, const struct work_port *port,
                      struct work_executor **ret_executor, struct rondo_error *err);

/** Run the body of one iteration, and report it to the loop. @return 0, or what broke the loop */
int work_executor_run(struct work_executor *executor, struct rondo_error *err);

/** Park what runs, wait for it, and release. Before loop_park and loop_free. NULL is allowed. */
void work_executor_free(struct work_executor *executor);
