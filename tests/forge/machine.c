// SPDX-License-Identifier: Apache-2.0
/*
 * A library to preload: the process is on a machine of its own, as far as its name and its clock
 * tell. MACHINE_NAME is what gethostname() gives, MACHINE_OFFSET_S how far the wall clock is ahead.
 * The monotonic clock and the clock of files stay the kernel's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static char name[65];
static long long offset_s;

/** Read before other threads are there: the program may change its environment later. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("MACHINE_NAME");
    snprintf(name, sizeof(name), "%s", text == NULL ? "machine" : text);
    text = getenv("MACHINE_OFFSET_S");
    offset_s = text == NULL ? 0 : atoll(text);
}

/** As the C library has it; its own is this one now. */
EXPORTED int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int r = (int)syscall(SYS_clock_gettime, id, ret_time);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        ret_time->tv_sec += offset_s;
    }
    return r;
}

EXPORTED int gethostname(char *ret_name, size_t size)
{
    snprintf(ret_name, size, "%s", name);
    return 0;
}
