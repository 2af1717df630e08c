// SPDX-License-Identifier: Apache-2.0
/*
 * Cancel tokens over eventfd. Waiters never read the descriptor, so it stays readable: every
 * waiter, present or future, sees the cancellation.
 */
#include "base/cancel.h"

#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

int cancel_init(struct cancel *cancel, struct rondo_error *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot create a cancel token");
    }
    atomic_init(&cancel->level, CANCEL_NONE);
    cancel->event_fd = fd;
    return 0;
}

void cancel_fini(struct cancel *cancel)
{
    if (cancel->event_fd > 0) {
        close(cancel->event_fd);
        cancel->event_fd = -1;
    }
}

void cancel_set(struct cancel *cancel, enum cancel_level level)
{
    int present = atomic_load(&cancel->level);
    while (present < (int)level && !atomic_compare_exchange_weak(&cancel->level, &present, level)) {
    }
    int saved_errno = errno;
    uint64_t one = 1;
    ssize_t written = write(cancel->event_fd, &one, sizeof(one));
    (void)written; /* EAGAIN: the counter is full, so the descriptor is readable already. */
    errno = saved_errno;
}

enum cancel_level cancel_level(const struct cancel *cancel)
{
    return cancel == NULL ? CANCEL_NONE : (enum cancel_level)atomic_load(&cancel->level);
}

/* Not by base/clock.h, whose sleep waits for tokens. */
static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

bool cancel_wait(struct cancel *cancel, int64_t duration_ns)
{
    int64_t deadline = monotonic_ns() + duration_ns;
    struct pollfd poll_fd = {.fd = cancel->event_fd, .events = POLLIN};
    while (!cancel_is_set(cancel)) {
        int64_t left = deadline - monotonic_ns();
        if (left <= 0) {
            return false;
        }
        struct timespec timeout = {.tv_sec = left / SECOND_NS, .tv_nsec = left % SECOND_NS};
        ppoll(&poll_fd, 1, &timeout, NULL);
    }
    return true;
}
