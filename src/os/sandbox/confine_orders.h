// SPDX-License-Identifier: Apache-2.0
/* What the last step before a command under Landlock reads: descriptors and orders. */
#pragma once

#include "os/process/spawn_child.h"

#include <inttypes.h>

/** What the process reads its orders from, and where it reports a failure. */
#define CONFINE_ORDERS_FD (CHILD_FIRST_CARRIED)
#define CONFINE_REPORT_FD (CHILD_FIRST_CARRIED + 1)
/** A socket to the supervisor, which keeps its other end (SUPERVISE_HELPS). */
#define CONFINE_HELPER_FD (CHILD_FIRST_CARRIED + 2)

/*
 * Orders are strings, each with its NUL; the first letter says what they are.
 */
#define CONFINE_READ        'r' /**< rule: LANDLOCK_READ */
#define CONFINE_WRITE       'w' /**< rule: LANDLOCK_WRITE */
#define CONFINE_LIST        'l' /**< rule: LANDLOCK_LIST */
#define CONFINE_DEVICE      'd' /**< rule: LANDLOCK_DEVICE */
#define CONFINE_NETWORK     'n' /**< the network is allowed */
#define CONFINE_GROUP       'g' /**< control group to join: its folder */
#define CONFINE_ENVIRONMENT 'e' /**< variable of the command: NAME=VALUE */
#define CONFINE_LIMITS      'x' /**< processes, file size, open files: decimal, a blank between */

/**
 * A rule: device and inode of what must be at the path (0 and 0: whatever is there), the path. So
 * what was replaced since the rules were made is never allowed.
 */
#define CONFINE_RULE_FORMAT "%" PRIx64 " %" PRIx64 " %s"
#define CONFINE_RULE_SCAN   "%" SCNx64 " %" SCNx64 " %n"
