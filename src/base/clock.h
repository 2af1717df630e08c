// SPDX-License-Identifier: Apache-2.0
/*
 * The one source of time. Times are int64 nanoseconds since the Unix epoch, durations int64
 * nanoseconds. Code that needs time takes a `struct clock`, so that tests and the simulator can
 * replace it.
 */
#pragma once

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  1000000000LL

struct cancel;

struct clock {
    /** Wall clock, ns since the Unix epoch. Any thread. */
    int64_t (*now_ns)(const struct clock *clock);
    /** Clock for measuring durations and deadlines; never jumps back. Any thread. */
    int64_t (*monotonic_ns)(const struct clock *clock);
    /**
     * Wait for `duration_ns` or until `cancel` (may be NULL) is set, whichever is first.
     * Any thread.
     */
    void (*sleep)(const struct clock *clock, int64_t duration_ns, struct cancel *cancel);
    void *context; /**< for the implementation */
};

/** The machine's clock. Static. */
const struct clock *clock_system(void);

static inline int64_t clock_now(const struct clock *clock)
{
    return clock->now_ns(clock);
}

static inline int64_t clock_monotonic(const struct clock *clock)
{
    return clock->monotonic_ns(clock);
}

static inline void clock_sleep(const struct clock *clock, int64_t duration_ns,
                               struct cancel *cancel)
{
    clock->sleep(clock, duration_ns, cancel);
}

/** Bytes that clock_format_utc writes, the NUL included. */
#define CLOCK_UTC_SIZE 32

/**
 * Format a time as RFC 3339 in UTC with milliseconds ("2026-11-21T04:00:00.123Z").
 * @param ret_text at least CLOCK_UTC_SIZE bytes
 */
void clock_format_utc(int64_t time_ns, char *ret_text);
