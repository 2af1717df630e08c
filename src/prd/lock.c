// SPDX-License-Identifier: Apache-2.0
/* flock(2) with a deadline. */
#include "prd/lock.h"

#include "base/error.h"
#include "base/limits.h"

#include <errno.h>
#include <stddef.h>
#include <sys/file.h>

#define POLL_NS (10 * NS_PER_MS)

int prd_lock_wait(const struct clock *clock, int fd, const char *path, struct rondo_error *err)
{
    int64_t until = clock_monotonic(clock) + LIMIT_PRD_LOCK_NS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", path);
        }
        if (clock_monotonic(clock) >= until) {
            return error_set(err, RONDO_ERR_BUSY,
                             "%s is being changed by another process; try again", path);
        }
        clock_sleep(clock, POLL_NS, NULL);
    }
    return 0;
}
