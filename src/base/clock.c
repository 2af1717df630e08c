// SPDX-License-Identifier: Apache-2.0
/* The machine's clock as a `struct clock`. No state; any thread. */
#include "base/clock.h"

#include "base/cancel.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t system_now(const struct clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_monotonic(const struct clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_MONOTONIC);
}

static void system_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    (void)clock;
    if (cancel != NULL) {
        cancel_wait(cancel, duration_ns);
        return;
    }
    struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

const struct clock *clock_system(void)
{
    static const struct clock system = {
        .now_ns = system_now,
        .monotonic_ns = system_monotonic,
        .sleep = system_sleep,
    };
    return &system;
}

void clock_format_utc(int64_t time_ns, char *ret_text)
{
    time_t seconds = time_ns / NS_PER_S;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    char date[24];
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(ret_text, CLOCK_UTC_SIZE, "%s.%03dZ", date, (int)(time_ns % NS_PER_S / NS_PER_MS));
}
