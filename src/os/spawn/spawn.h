// SPDX-License-Identifier: Apache-2.0
/*
 * Running a child command to its end: the only way in which Rondo starts a process.
 *
 * The child gets its own process group, stdin from /dev/null or from given bytes, stdout and stderr
 * in one pipe or in two, no descriptor of ours, and three deadlines. When it ends, or must end, the
 * whole group goes: TERM, a grace period, KILL, and everything is reaped. With a supervisor
 * (os/spawn/supervise.h) descendants that left the group are found and killed too, also when this
 * process itself is killed.
 */
#pragma once

#include "os/process/spawn_request.h"
#include "rondo/error.h"

/**
 * Run a command to its end. Blocks; one call a thread, any number of threads.
 * @return 0 with `ret_result` filled, whatever became of the child; a negative code only when this
 *         process lacks a resource (descriptors, memory for a pipe)
 */
int spawn_run(const struct spawn_request *request, struct spawn_result *ret_result,
              struct rondo_error *err);

/** Release what a result owns. */
void spawn_result_fini(struct spawn_result *result);
