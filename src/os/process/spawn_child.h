// SPDX-License-Identifier: Apache-2.0
/* One posix_spawn call with everything that a child of ours needs. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct rondo_error;

/** First descriptor in a child that is carried over; the others follow it. */
#define CHILD_FIRST_CARRIED 3

/** How to start a child. Borrowed pointers. */
struct child_setup {
    const char *program; /**< path, not searched */
    const char *const *argv;
    const char *const *envp;
    const char *directory; /**< NULL = where we are */
    pid_t group;           /**< process group to join; 0 = one of its own */
    int output_fd;         /**< becomes stdout and stderr; at least CHILD_LOWEST_FD */
    int error_fd;          /**< becomes stderr, at least CHILD_LOWEST_FD; 0 = `output_fd` does */
    int input_fd;          /**< becomes stdin, at least CHILD_LOWEST_FD; 0 = /dev/null does */
    const int *carried;    /**< become CHILD_FIRST_CARRIED and on; at least CHILD_LOWEST_FD each */
    size_t carried_count;
    int mark_fd; /**< becomes SPAWN_MARK_FD; below 1 = none */
};

/** Descriptors below are targets in the child and would be overwritten before they are copied. */
#define CHILD_LOWEST_FD 16

/**
 * Move a descriptor to CHILD_LOWEST_FD or above, close-on-exec.
 * @param fd in: any descriptor, owned; out: the new one, or still the old one on failure
 */
int child_raise_fd(int *fd, struct rondo_error *err);

/**
 * Start a child: default signals, no other descriptors.
 * Any thread.
 * @param ret_pid set on success; the caller must reap it
 * @return 0, or the errno of posix_spawn
 */
int child_start(const struct child_setup *setup, pid_t *ret_pid);

/** Kill a child that cannot be watched, with its group, and reap it. Any thread. */
void child_abandon(pid_t pid);
