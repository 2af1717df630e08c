// SPDX-License-Identifier: Apache-2.0
/*
 * A child that stays: a server with which its owner talks over the child's stdin and stdout, with
 * stderr in a pipe of its own. It leads a process group, has no descriptor of ours, and with a
 * supervisor (os/spawn/supervise.h) nothing of it survives its owner, however that one ends. The
 * owner does the reading and writing; one thread at a time uses a child.
 */
#pragma once

#include "os/sandbox/policy.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pipe_child;

/** What to start. Borrowed for as long as the child lives. */
struct pipe_child_request {
    const char *const *argv; /**< NULL-terminated; argv[0] is searched in the PATH of `envp` */
    const char *const *envp; /**< NULL-terminated, the whole environment */
    const char *directory;   /**< working directory; NULL = ours */
    const char *supervisor;  /**< as in struct spawn_request; NULL = process group only */
    const struct sandbox_policy *sandbox; /**< NULL = run as the user */
};

/**
 * Start. RONDO_ERR_NOT_FOUND when there is no such program or folder, RONDO_ERR_UNSUPPORTED when
 * the sandbox cannot be had: then nothing runs.
 * @param ret_child pipe_child_free()
 */
int pipe_child_start(const struct pipe_child_request *request, struct pipe_child **ret_child,
                     struct rondo_error *err);

/** Our ends of its pipes, non-blocking. The input is -1 once it is closed. */
int pipe_child_input(const struct pipe_child *child);
int pipe_child_output(const struct pipe_child *child);
int pipe_child_errors(const struct pipe_child *child);

/** Close its stdin, by which servers know that they should end. */
void pipe_child_close_input(struct pipe_child *child);

/** Wait until it has ended. Blocks up to `wait_ns`. @return whether it has */
bool pipe_child_wait(struct pipe_child *child, int64_t wait_ns);

/**
 * End it: close its stdin, wait, TERM to its group, wait, KILL; reap it. Each wait is as long as
 * `grace_ns`. Whatever it still writes is lost.
 */
void pipe_child_stop(struct pipe_child *child, int64_t grace_ns);

/** Room for what pipe_child_describe_end writes. */
#define PIPE_CHILD_END_SIZE 256

/** How it ended, for people: "exit code 3"; "" while it lives. */
void pipe_child_describe_end(struct pipe_child *child, char ret_text[PIPE_CHILD_END_SIZE]);

/** Kills what is left, then releases. NULL is allowed. */
void pipe_child_free(struct pipe_child *child);
