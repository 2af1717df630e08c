// SPDX-License-Identifier: Apache-2.0
/* Resource limits of a sandboxed command: per process by rlimits, per sandbox by control groups. */
#pragma once

#include "os/sandbox/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Put the defaults in place of zeros. Any thread. */
struct sandbox_limits sandbox_limits_resolve(const struct sandbox_limits *wanted);

/**
 * Limit a process; what it starts later inherits the limits. Never raises a limit.
 * @param pid               0 for this process
 * @param counts_all_of_user the process shares its user's count with processes outside of the
 *                           sandbox, so that the limit has to start from their number
 * @return 0, or -1 with errno
 */
int sandbox_limits_apply(const struct sandbox_limits *limits, pid_t pid, bool counts_all_of_user);

#define SANDBOX_GROUPS_MAX 2

/** Control groups made for one sandbox. None where the user may not make any. */
struct sandbox_group {
    char *folders[SANDBOX_GROUPS_MAX + 1]; /**< owned, NULL-terminated */
    size_t count;
};

/** Make control groups that hold the limits, as far as that is allowed here. Any thread. */
void sandbox_group_make(const struct sandbox_limits *limits, struct sandbox_group *ret_group);

/**
 * Move a process (0 = this one) into the group at `folder`. Where a group can be made but not be
 * entered, nothing happens: groups are an addition to the limits that always hold.
 */
void sandbox_group_join(const char *folder, pid_t pid);

/** Let nothing in the group at `folder` start a process any more, and kill what is in it. */
void sandbox_group_kill(const char *folder);

/** Remove the groups, whose processes have ended, and forget them. */
void sandbox_group_remove(struct sandbox_group *group);
