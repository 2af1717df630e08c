// SPDX-License-Identifier: Apache-2.0
/*
 * What spawn_run and the supervisor say to each other. Both are always the same binary, so nothing
 * here is a stable format. They share one stream socket, the lifeline. The caller's letter, or the
 * end of its side (also by death), means "kill everything"; the supervisor answers once, last.
 *
 * The supervisor leads the process group that the command is in. So the caller can send TERM to the
 * group, which the supervisor ignores, and can kill the group of a supervisor that was killed.
 */
#pragma once

#include <stdint.h>

/** First argument that makes a program call supervise_main before anything else. */
#define SUPERVISE_ARGUMENT "__supervise"

/** Second argument: which job the supervisor's binary does. */
#define SUPERVISE_JOB_WATCH   "watch"
#define SUPERVISE_JOB_CONFINE "confine"

/** Whether a former holder of the lock may have been killed; else "". */
#define SUPERVISE_TAKES_OVER "takes-over"

/** Whether the supervisor makes changes of attributes for the command; else "". */
#define SUPERVISE_HELPS "helps"

/** Whether it and the command are kept from abstract sockets of others; else "". */
#define SUPERVISE_SCOPES "scopes"

/** The caller's order: kill every descendant. */
#define SUPERVISE_KILL 'K'

/** Longest time that the supervisor tries to kill what is left while its caller waits. */
#define SUPERVISE_KILL_WAIT_NS INT64_C(10000000000)

enum supervise_outcome {
    SUPERVISE_EXITED = 1,
    SUPERVISE_SIGNALLED,
    SUPERVISE_NOT_STARTED,
};

/** The supervisor's answer. */
struct supervise_status {
    int32_t outcome;   /**< enum supervise_outcome */
    int32_t value;     /**< exit code or signal */
    int32_t survivors; /**< whether descendants could not be killed */
    char reason[244];  /**< for SUPERVISE_NOT_STARTED */
};
