// SPDX-License-Identifier: Apache-2.0
/* What a sandboxed command sees of the file system, as one sorted list that each tier carries out
 * in its own way. */
#pragma once

#include "os/sandbox/named.h"
#include "os/sandbox/policy.h"

#include <stddef.h>

/** In the order in which they override each other at the same path. */
enum path_access {
    PATH_SYSTEM,    /**< a system folder, read-only */
    PATH_PRIVATE,   /**< a fresh, writable folder instead of the machine's */
    PATH_PARENT,    /**< writable, on the way to something guarded: must not be moved or removed */
    PATH_READ,      /**< read-only */
    PATH_WRITE,     /**< writable */
    PATH_PROTECTED, /**< read-only below something writable */
    PATH_EMPTY,     /**< shown empty, read-only */
};

struct path_rule {
    char *path; /**< canonical, owned */
    enum path_access access;
    bool is_folder;
    int fd; /**< what was found there (O_PATH), owned; -1 for the system's own paths */
};

struct path_list {
    struct path_rule *rules; /**< owned; parents before what is below them, one for each path */
    size_t count;
    size_t room;
    struct named_roots roots; /**< folders that commands can write */
    char *alias;              /**< the workspace's path where it is not canonical; owned; or NULL */
};

/**
 * Collect what a policy lets a command see. A path that does not exist is left out; one that leads
 * through a link in a folder that commands can write is refused. Where a git folder has no `hooks`,
 * they are made, so that they can be guarded.
 * @param ret_list   owned; sandbox_paths_fini()
 * @param ret_reason why the policy cannot be carried out
 * @return whether it can. Any thread
 */
bool sandbox_paths_collect(const struct sandbox_policy *policy, struct path_list *ret_list,
                           char ret_reason[256]);

void sandbox_paths_fini(struct path_list *list);
