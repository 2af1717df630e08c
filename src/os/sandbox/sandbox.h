// SPDX-License-Identifier: Apache-2.0
/*
 * Sandbox tiers for verifiers (and for workers that ask for one).
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

#include "os/sandbox/policy.h"

/**
 * Find out by trying whether a tier works here. Takes some milliseconds; any thread.
 * @param ret_reason why not, for people; "" when it works
 */
bool sandbox_is_available(enum sandbox_tier tier, char ret_reason[256]);
