// SPDX-License-Identifier: Apache-2.0
/* What a sandboxed command may see and do; os/sandbox/sandbox.h says how each tier holds it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sandbox_tier { SANDBOX_NONE = 0, SANDBOX_LANDLOCK, SANDBOX_NAMESPACE, SANDBOX_TIER_COUNT };

/** Resource limits; 0 = the default of the table in sandbox.c. */
struct sandbox_limits {
    uint64_t processes;
    uint64_t file_size_bytes;
    uint64_t open_files;
    uint64_t memory_bytes; /**< enforced through a cgroup where one is writable */
};

/** What a sandboxed command may see and do. Borrowed pointers; absolute paths. */
struct sandbox_policy {
    enum sandbox_tier tier;
    const char *workspace; /**< writable, at its own path; NULL = none */
    /** There were no links in `workspace`, `read_paths` and `write_paths` when they were recorded,
     *  so that one that is there now was planted, and is refused. */
    bool is_canonical;
    bool allow_network;
    const char *const *read_paths;  /**< further readable paths; NULL-terminated or NULL */
    const char *const *write_paths; /**< further writable paths; NULL-terminated or NULL */
    const char *const *hide_paths;  /**< shown empty even inside the workspace; or NULL */
    /** Shown read-only inside what is writable; or NULL. In the Landlock tier they are not: there
     *  nothing new could be made in their folders. */
    const char *const *protect_paths;
    const char *const *env_names; /**< variables to pass besides the allow list; or NULL */
    const char *home;             /**< HOME, one of `write_paths`; NULL = a private one */
    struct sandbox_limits limits;
};

/** "none", "landlock", "namespace". Static; any thread. */
const char *sandbox_tier_name(enum sandbox_tier tier);
/** @return whether `name` is a tier; only then `*ret_tier` is set. */
bool sandbox_tier_from_name(const char *name, enum sandbox_tier *ret_tier);
