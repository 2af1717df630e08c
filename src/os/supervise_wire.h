// SPDX-License-Identifier: Apache-2.0
/*
 * What spawn_run and the supervisor say to each other. Both are always the same binary, so nothing
 * here is a stable format. They share one stream socket, the lifeline: the caller sends single
 * letters, its end (also by death) means "kill everything"; the supervisor says which process it
 * started, and last how that ended.
 */
#pragma once

#include <stdint.h>

/** Second argument: which job the supervisor's binary does. */
#define SUPERVISE_JOB_WATCH   "watch"
#define SUPERVISE_JOB_CONFINE "confine"

/** Orders of the caller. */
#define SUPERVISE_TERMINATE 'T' /**< TERM to the command's process group */
#define SUPERVISE_KILL      'K' /**< kill every descendant */

/** Longest time that the supervisor tries to kill what is left while its caller waits. */
#define SUPERVISE_KILL_WAIT_NS INT64_C(10000000000)

enum supervise_outcome {
    SUPERVISE_STARTED = 1, /**< not an end yet: `value` is the command's process and group */
    SUPERVISE_EXITED,
    SUPERVISE_SIGNALLED,
    SUPERVISE_NOT_STARTED,
};

/** What the supervisor says. */
struct supervise_status {
    int32_t outcome;   /**< enum supervise_outcome */
    int32_t value;     /**< exit code or signal */
    int32_t survivors; /**< whether descendants could not be killed */
    char reason[244];  /**< for SUPERVISE_NOT_STARTED */
};
