// SPDX-License-Identifier: Apache-2.0
/* The seccomp filter of sandboxed commands. */
#pragma once

#include "os/sandbox/policy.h"

struct rondo_error;

/**
 * Write the filter of the namespace tier as a BPF program (what `bwrap --seccomp` reads). It is
 * the same for all commands.
 * @param fd a file at its beginning, also readable; left at its end. Any thread
 */
int sandbox_filter_write(int fd, struct rondo_error *err);

/**
 * Put the calling thread, and what it starts, under the filter for good.
 * @param ret_listener_fd where changes of attributes are handed over (sandbox_attributes.h), owned;
 *                        NULL = they are denied. For SANDBOX_LANDLOCK only
 */
int sandbox_filter_load(const struct sandbox_policy *policy, int *ret_listener_fd,
                        struct rondo_error *err);
