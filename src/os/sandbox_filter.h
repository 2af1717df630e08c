// SPDX-License-Identifier: Apache-2.0
/* The seccomp filter of sandboxed commands. */
#pragma once

#include "os/sandbox.h"

struct rondo_error;

/**
 * Write the filter of a policy's tier as a BPF program (what `bwrap --seccomp` reads).
 * @param fd a file at its beginning; left at its end. Any thread
 */
int sandbox_filter_write(const struct sandbox_policy *policy, int fd, struct rondo_error *err);

/** Put the calling thread, and what it starts, under the filter for good. */
int sandbox_filter_load(const struct sandbox_policy *policy, struct rondo_error *err);
