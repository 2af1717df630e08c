// SPDX-License-Identifier: Apache-2.0
/*
 * The time of handoffs. Their times are stored as wall time, and driven by a clock that never
 * jumps: the wall time when a server began with its store, and what has passed since, suspended
 * time included. So neither a clock that is set, nor one that was wrong, lets requests expire or
 * wait for ever. All processes of a boot agree about it; a server that starts anew takes the wall
 * clock as it is then. Any thread.
 *
 * Document: `handoff-clock`, key "clock".
 */
#pragma once

#include "base/clock.h"
#include "handoff/storage/store.h"
#include "os/host.h"

#include <stdatomic.h>

#define HANDOFF_CLOCK_COLLECTION "handoff-clock"

struct handoff_clock {
    struct store *store;
    const struct clock *clock;
    char boot[HOST_BOOT_SIZE];
    _Atomic bool is_known;
    _Atomic int64_t offset_ns; /**< from the clock that never jumps to the time of handoffs */
};

void handoff_clock_init(struct handoff_clock *clock, struct store *store,
                        const struct clock *machine);

/** A server begins: the wall clock counts as it is now. */
int handoff_clock_begin(struct handoff_clock *clock, struct rondo_error *err);

/** The time now. */
int64_t handoff_now(const struct handoff_store *handoffs);
