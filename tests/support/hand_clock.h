// SPDX-License-Identifier: Apache-2.0
/* A clock that only a test moves, so that it does not matter how long anything takes. */
#pragma once

#include "base/clock.h"

#include <stdatomic.h>

struct hand_clock {
    struct clock clock;
    _Atomic int64_t at_ns;
};

static inline int64_t hand_clock_read(const struct clock *clock)
{
    return atomic_load(&((struct hand_clock *)clock->context)->at_ns);
}

/** Let time pass. Any thread. */
static inline void hand_clock_pass(struct hand_clock *hand, int64_t duration_ns)
{
    atomic_fetch_add(&hand->at_ns, duration_ns);
}

/** Who sleeps has slept. */
static inline void hand_clock_sleep(const struct clock *clock, int64_t duration_ns,
                                    struct cancel *cancel)
{
    (void)cancel;
    hand_clock_pass(clock->context, duration_ns);
}

/** It stands at the time of the machine. The place must stay. */
static inline void hand_clock_init(struct hand_clock *hand)
{
    hand->clock = (struct clock){.now_ns = hand_clock_read,
                                 .monotonic_ns = hand_clock_read,
                                 .sleep = hand_clock_sleep,
                                 .context = hand};
    atomic_store(&hand->at_ns, clock_monotonic(clock_system()));
}
