// SPDX-License-Identifier: Apache-2.0
/*
 * A library to preload: the wall clock of a program is CLOCK_SHIFT_S seconds ahead of this
 * machine's, also for timers that are set to a time of day. Other clocks stay as they are.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void)
{
    const char *text = getenv("CLOCK_SHIFT_S");
    return text == NULL ? 0 : atol(text);
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int r = (int)syscall(SYS_clock_gettime, id, ret_time);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        ret_time->tv_sec += shift();
    }
    return r;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret_time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time != NULL) {
        *ret_time = now.tv_sec;
    }
    return now.tv_sec;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *ret_old)
{
    struct itimerspec shifted = *when;
    if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0 && shifted.it_value.tv_sec > shift()) {
        shifted.it_value.tv_sec -= shift();
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, &shifted, ret_old);
}
