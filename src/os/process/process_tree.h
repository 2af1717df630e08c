// SPDX-License-Identifier: Apache-2.0
/* The descendants of a process, as /proc shows them at one moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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
