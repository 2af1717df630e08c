// SPDX-License-Identifier: Apache-2.0
/* The descendants of a process, as /proc shows them at one moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * Whether a process has a thread that has not ended. A process whose first thread has ended looks
 * like one that only waits to be reaped. Any thread.
 * @param proc_fd descriptor of /proc
 */
bool process_tree_is_alive(int proc_fd, pid_t pid);

/**
 * Send a signal to every living descendant of `root`, not to `root` itself. Any thread.
 * @return how many got it
 */
size_t process_tree_signal(pid_t root, int signal_number);

/**
 * Kill every descendant of `root`: they are stopped until no new ones appear, so that none can
 * start another while it is being looked for, and then killed. Does not wait. Any thread.
 */
void process_tree_kill(pid_t root);
