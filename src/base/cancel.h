// SPDX-License-Identifier: Apache-2.0
/*
 * A cancel token: one-way, level-triggered, shared between threads, usable in poll() and from a
 * signal handler. Code that blocks for long takes one and returns soon after it is set.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rondo_error;

/** How urgently to stop. */
enum cancel_level {
    CANCEL_NONE = 0,
    CANCEL_GRACEFUL = 1, /**< end the children politely, save, return */
    CANCEL_NOW = 2,      /**< kill the children and return */
};

struct cancel {
    _Atomic int level;
    int event_fd; /**< readable as soon as the level is not CANCEL_NONE */
};

/** @return 0, or RONDO_ERR_SYSTEM when the process has no descriptor left. */
int cancel_init(struct cancel *cancel, struct rondo_error *err);

/** Release the token. Nobody may use it any more. A zeroed or failed token is allowed. */
void cancel_fini(struct cancel *cancel);

/** Raise the level; it never falls. Async-signal-safe; any thread. */
void cancel_set(struct cancel *cancel, enum cancel_level level);

/** The present level; NULL counts as CANCEL_NONE. Any thread. */
enum cancel_level cancel_level(const struct cancel *cancel);

static inline bool cancel_is_set(const struct cancel *cancel)
{
    return cancel_level(cancel) != CANCEL_NONE;
}

/** Wait until the token is set or `duration_ns` has passed. @return whether it is set. Any thread.
 */
bool cancel_wait(struct cancel *cancel, int64_t duration_ns);
