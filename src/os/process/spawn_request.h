// SPDX-License-Identifier: Apache-2.0
/* What spawn_run() runs, and how it went. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct sandbox_policy;

/** What to run. All pointers are borrowed for the time of the call. */
struct spawn_request {
    const char *const *argv; /**< NULL-terminated; argv[0] is searched in the PATH of `envp` */
    const char *const *envp; /**< NULL-terminated, the whole environment of the child */
    const char *directory;   /**< working directory; NULL = ours, in a sandbox the workspace */
    int64_t first_output_ns; /**< deadline for the first byte of output; 0 = none */
    int64_t silence_ns;      /**< longest time without output after the first byte; 0 = none */
    int64_t total_ns;        /**< longest time over all; 0 = none */
    int64_t grace_ns;        /**< from TERM to KILL; 0 = SPAWN_GRACE_NS */
    size_t output_keep;      /**< bytes of the output's end to keep */
    /** Live output as it comes, on the calling thread; NULL = none. */
    void (*on_output)(void *context, const char *bytes, size_t len);
    /** The same for stderr, which then has a pipe of its own; NULL = both streams in one. What is
     *  kept of the output holds both in any case. */
    void (*on_errors)(void *context, const char *bytes, size_t len);
    void *on_output_context; /**< of both */
    const char *input;       /**< what the child reads on stdin; NULL = /dev/null */
    size_t input_len;
    struct cancel *cancel; /**< CANCEL_GRACEFUL: TERM, grace, KILL. CANCEL_NOW: KILL. May be NULL */
    const struct sandbox_policy *sandbox; /**< NULL = run as the user */
    const char *supervisor; /**< program that runs supervise_main when its first argument is
                                 SUPERVISE_ARGUMENT; NULL = process group only */
    const char *lock_path;  /**< with a supervisor: a file that it locks (flock, exclusive) for as
                                 long as anything of the child lives; waits for a former one up to
                                 `lock_wait_ns`. The child's processes inherit a descriptor of
                                 it (SPAWN_MARK_FD), by which the next holder of the lock finds and
                                 kills them when their supervisor was killed. NULL = none */
    int64_t lock_wait_ns;   /**< 0 = SPAWN_LOCK_WAIT_NS */
    const char *lock_mark;  /**< entry of `envp` that only commands under this lock have: finds
                                 those that closed the descriptor. NULL = none */
    bool takes_lock_over;   /**< a former supervisor may have been killed: look for such processes
                                 even if none has the descriptor */
};

/** Default grace between TERM and KILL. */
#define SPAWN_GRACE_NS INT64_C(5000000000)
/** The descriptor that processes of a child with a lock inherit; scripts use lower numbers. */
#define SPAWN_MARK_FD 63
/** How long a new child waits for the remains of a former one on the same lock, which may use up
   their grace on a busy machine. */
#define SPAWN_LOCK_WAIT_NS INT64_C(60000000000)

enum spawn_end {
    SPAWN_EXITED = 0,  /**< exit_code is valid */
    SPAWN_SIGNALLED,   /**< ended by a signal that we did not send; `signal` is valid */
    SPAWN_TIMED_OUT,   /**< killed at a deadline; `reason` names it */
    SPAWN_CANCELLED,   /**< killed because of `cancel` */
    SPAWN_NOT_STARTED, /**< no such program, not executable, sandbox not available, lock held */
};

/** How it went. */
struct spawn_result {
    enum spawn_end end;
    int exit_code;
    int signal;
    int64_t duration_ns;
    char *output;          /**< end of the output, NUL-terminated; owned, spawn_result_fini() */
    size_t output_len;     /**< bytes in `output` */
    uint64_t output_total; /**< bytes that the child wrote over all */
    bool lost_supervisor;  /**< it was killed: something of the child may live on */
    char reason[256];      /**< for people; "" when it simply exited */
};
