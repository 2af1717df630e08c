// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandboxed command may see and do: verifiers, and workers that ask for it.
 *
 * SANDBOX_NAMESPACE: bubblewrap with user, mount, pid, ipc, uts and network namespaces, a seccomp
 * filter and resource limits. System folders and /proc read-only, the workspace writable (its
 * .git/hooks and .git/config read-only, hidden paths empty), private /tmp and HOME, no other
 * process in sight, loopback only unless the network is allowed, an environment reduced to an allow
 * list. A command that a signal ended is reported as a shell does it, by the exit code 128 +
 * signal. SANDBOX_LANDLOCK: Landlock, seccomp and resource limits without namespaces, for machines
 * that forbid those; it needs a supervisor. Other processes are visible in /proc (signals to them
 * are stopped from Landlock 6 on), /tmp is closed but for a folder of its own (TMPDIR, HOME), there
 * are no sockets but socketpair, and directly in a folder that holds something hidden or protected
 * (.git, for instance) nothing new can be made.
 * Both: files that belong to another user than ours are not writable, even for root; where the
 * network is allowed so is the machine's loopback, and with a supervisor abstract sockets are not,
 * from Landlock 6 on. Paths of the policy below a writable folder must not lead through links.
 * Git folders that the command leaves are disarmed (os/sandbox/git.h).
 * docs/sandbox.md has what each tier holds and what it does not.
 * A tier that is not available is never replaced by a weaker one: the command is not run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sandbox_tier { SANDBOX_NONE = 0, SANDBOX_LANDLOCK, SANDBOX_NAMESPACE, SANDBOX_TIER_COUNT };

/** Resource limits; 0 = the default in limits.c. */
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
