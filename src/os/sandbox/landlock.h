// SPDX-License-Identifier: Apache-2.0
/* Landlock (landlock(7)): restricting this thread and what it starts, without any privilege. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rondo_error;

/** What is allowed below a path. */
enum landlock_access {
    LANDLOCK_READ,   /**< read, list and execute */
    LANDLOCK_WRITE,  /**< everything */
    LANDLOCK_LIST,   /**< list folders only */
    LANDLOCK_DEVICE, /**< read and write a device file */
};

/**
 * Version of the kernel's Landlock; 0 = none. Any thread.
 * What counts here: 3 guards truncation, 4 TCP, 5 device ioctls, 6 signals and abstract sockets.
 */
int landlock_version(void);

/** The least version that guards file contents fully. */
#define LANDLOCK_VERSION_NEEDED 3

/**
 * Begin a set of rules; everything that none of them allows will be denied.
 * @param denies_network whether TCP is denied too (the kernel does it from version 4 on)
 * @param ret_fd         owned
 */
int landlock_begin(bool denies_network, int *ret_fd, struct rondo_error *err);

/** What a rule is about. */
struct landlock_target {
    const char *path;
    uint64_t device; /**< 0 with inode 0: whatever is at the path */
    uint64_t inode;
};

/** Allow something. A path that does not exist, or leads to another file, is left out. */
int landlock_allow(int ruleset_fd, const struct landlock_target *target,
                   enum landlock_access access, struct rondo_error *err);

/**
 * Keep the calling thread, and what it starts, from abstract sockets of others for good. Forbids
 * nothing else, mounts among it.
 * @return 0 also where the kernel cannot do it (before version 6)
 */
int landlock_scope_sockets(struct rondo_error *err);

/** Put the calling thread under the rules for good (also sets no_new_privs). */
int landlock_enforce(int ruleset_fd, struct rondo_error *err);
