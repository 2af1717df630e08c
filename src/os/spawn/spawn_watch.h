// SPDX-License-Identifier: Apache-2.0
/* Waiting for a child that was started: output, deadlines, cancellation, the end of its group. */
#pragma once

#include "os/spawn/spawn_output.h"

#include <stdint.h>
#include <sys/types.h>

struct rondo_error;
struct sandbox_plan;
struct spawn_request;
struct spawn_result;

/** A running child. Borrowed by spawn_watch, descriptors included. */
struct watch_child {
    pid_t pid;
    int pidfd;
    int output_fd;             /**< non-blocking */
    int error_fd;              /**< non-blocking; -1 when stderr goes where stdout does */
    int lifeline_fd;           /**< to the supervisor; -1 without one */
    struct sandbox_plan *plan; /**< NULL without a sandbox */
};

/**
 * Watch a child to its end, then end and reap its group. Fills end, exit_code, signal and reason of
 * `result` as far as they are known from outside; `tail` gets the output.
 * @return 0, or RONDO_ERR_SYSTEM when somebody else reaped the child
 */
int spawn_watch(const struct spawn_request *request, const struct watch_child *child,
                struct output_tail *tail, struct spawn_result *result, struct rondo_error *err);
