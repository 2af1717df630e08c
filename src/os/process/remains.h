// SPDX-License-Identifier: Apache-2.0
/*
 * What is left of a command whose supervisor was killed. Each process of a command inherits two
 * marks: a descriptor of the lock file, which also holds a lock that can be asked for, and an entry
 * of the environment. A process that wants to be found out by neither has to close the one and to
 * clear the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Make the descriptor that a command's processes inherit.
 * @param lock_path the file that their supervisor locks
 * @return descriptor, or -1 with errno
 */
int remains_mark(const char *lock_path);

/** Whether a process has a descriptor that remains_mark made. `lock_fd`: that file, for writing. */
bool remains_hold(int lock_fd);

/**
 * Kill all processes that have the lock's file open, or the entry in their environment, with all
 * that descends from them; but neither this process nor any that it descends from. Does not wait.
 * @param entry "NAME=VALUE" or NULL
 * @return how many had a mark
 */
size_t remains_kill(int lock_fd, const char *entry);

/**
 * The same for all processes whose hard limit RLIMIT_LOCKS is this number (os/sandbox/record.h).
 * @return how many had it
 */
size_t remains_kill_marked(uint64_t number);
