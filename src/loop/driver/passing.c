// SPDX-License-Identifier: Apache-2.0
/* A thread that waits for a cancel, and passes it on. */
#include "loop/driver/passing.h"

#include "base/error.h"

#include <poll.h>

/** Until a higher level of a cancel that was passed on is noticed. */
#define LEVEL_PAUSE_MS 200
/** The thread only waits. */
#define STACK_BYTES ((size_t)64 * 1024)

static void pass(const struct loop_passing *passing, enum cancel_level level)
{
    if (!passing->parks) {
        loop_stop(passing->to, level);
        return;
    }
    loop_request_park(passing->to, true);
    if (level > CANCEL_GRACEFUL) {
        cancel_set(loop_cancel(passing->to), level);
    }
}

static void *pass_on(void *context)
{
    struct loop_passing *passing = context;
    enum cancel_level passed = CANCEL_NONE;
    while (!cancel_is_set(&passing->done)) {
        bool is_passed = passed != CANCEL_NONE;
        struct pollfd fds[] = {{.fd = passing->done.event_fd, .events = POLLIN},
                               {.fd = passing->from->event_fd, .events = POLLIN}};
        poll(fds, is_passed ? 1 : 2, is_passed ? LEVEL_PAUSE_MS : -1);
        enum cancel_level level = cancel_level(passing->from);
        if (level > passed) {
            pass(passing, level);
            passed = level;
        }
    }
    return NULL;
}

int loop_passing_begin(struct loop_passing *passing, struct rondo_error *err)
{
    pthread_attr_t attributes;
    if (passing->from == NULL) {
        return 0;
    }
    int r = cancel_init(&passing->done, err);
    if (r < 0) {
        return r;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    passing->is_started = pthread_create(&passing->thread, &attributes, pass_on, passing) == 0;
    pthread_attr_destroy(&attributes);
    if (!passing->is_started) {
        cancel_fini(&passing->done);
        return error_set(err, RONDO_ERR_SYSTEM, "a thread cannot be started");
    }
    return 0;
}

void loop_passing_end(struct loop_passing *passing)
{
    if (passing->is_started) {
        cancel_set(&passing->done, CANCEL_NOW);
        pthread_join(passing->thread, NULL);
        cancel_fini(&passing->done);
        passing->is_started = false;
    }
}
