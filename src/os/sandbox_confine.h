// SPDX-License-Identifier: Apache-2.0
/* The last step before a command under Landlock: this process restricts itself and becomes it. */
#pragma once

#include "os/spawn_child.h"

/** What the process reads its orders from, and where it reports a failure. */
#define CONFINE_ORDERS_FD (CHILD_FIRST_CARRIED)
#define CONFINE_REPORT_FD (CHILD_FIRST_CARRIED + 1)

/*
 * Orders are strings, each with its NUL; the first letter says what they are.
 */
#define CONFINE_READ        'r' /**< path: LANDLOCK_READ */
#define CONFINE_WRITE       'w' /**< path: LANDLOCK_WRITE */
#define CONFINE_LIST        'l' /**< path: LANDLOCK_LIST */
#define CONFINE_DEVICE      'd' /**< path: LANDLOCK_DEVICE */
#define CONFINE_NETWORK     'n' /**< the network is allowed */
#define CONFINE_GROUP       'g' /**< control group to join: its folder */
#define CONFINE_ENVIRONMENT 'e' /**< variable of the command: NAME=VALUE */
#define CONFINE_LIMITS      'x' /**< processes, file size, open files: decimal, a blank between */

/**
 * Restrict this process as ordered and execute the command: PROGRAM ARGV... from the fourth
 * argument on. A failure is written to CONFINE_REPORT_FD. Only os/supervise calls it, in a process
 * of its own.
 * @return only on failure: exit code for main()
 */
int sandbox_confine(int argc, char **argv);
