// SPDX-License-Identifier: Apache-2.0
/*
 * The thread has two states: after a write, readers look for changes at their usual pace until
 * nothing was written for QUIET_AFTER_NS; then they rest, and the thread sleeps until the next
 * write is noticed, or is found by a comparison.
 */
#include "store/quiet.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/watch.h"
#include "store/writer.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#define THREAD_STACK ((size_t)256 * 1024)

struct quiet_watch {
    struct writer *writer;
    struct store_watch *source;
    int64_t after_ns;
    int64_t compare_ns;
    struct cancel cancel;
    pthread_t thread;
};

/** Wait until something is noticed. @return whether it was a write */
static bool wait_for_write(struct quiet_watch *watch)
{
    struct pollfd fds[] = {
        {.fd = watch->source->fd, .events = POLLIN},
        {.fd = watch->cancel.event_fd, .events = POLLIN},
    };
    return poll(fds, 2, (int)(watch->compare_ns / NS_PER_MS)) > 0 && fds[0].revents != 0 &&
           watch->source->ops->take(watch->source);
}

/** Wait until nothing is written any more. @return whether the next write will be noticed */
static bool wait_for_quiet(struct quiet_watch *watch)
{
    struct store_watch *source = watch->source;
    bool is_noticed = false;
    do {
        is_noticed = source->ops->arm(source, &watch->cancel);
        if (cancel_wait(&watch->cancel, watch->after_ns)) {
            return false;
        }
    } while (source->ops->take(source));
    return is_noticed;
}

/** Readers rest until something is written. */
static void rest(struct quiet_watch *watch)
{
    struct store_watch *source = watch->source;
    bool is_written = false;
    writer_set_quiet(watch->writer, true);
    while (!is_written && !cancel_is_set(&watch->cancel)) {
        is_written = wait_for_write(watch) || source->ops->is_changed(source, &watch->cancel);
    }
    writer_set_quiet(watch->writer, false);
}

static void *watch_main(void *context)
{
    struct quiet_watch *watch = context;
    while (!cancel_is_set(&watch->cancel)) {
        if (wait_for_quiet(watch)) {
            rest(watch);
        }
    }
    return NULL;
}

static void release(struct quiet_watch *watch)
{
    cancel_fini(&watch->cancel);
    watch->source->ops->free(watch->source);
    free(watch);
}

static int start_thread(struct quiet_watch *watch, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    int failure = pthread_create(&watch->thread, &attributes, watch_main, watch);
    pthread_attr_destroy(&attributes);
    return failure == 0 ? 0
                        : error_set_errno(err, RONDO_ERR_SYSTEM, failure,
                                          "cannot start the thread that watches the store");
}

int quiet_watch_start(struct writer *writer, int64_t after_ns, struct quiet_watch **ret_watch,
                      struct rondo_error *err)
{
    struct store *store = writer_store(writer);
    struct store_watch *source = store->ops->watch == NULL ? NULL : store->ops->watch(store);
    if (source == NULL) {
        *ret_watch = NULL; /* Readers look for changes. */
        return 0;
    }
    struct quiet_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->writer = writer;
    watch->source = source;
    watch->after_ns = after_ns == 0 ? QUIET_AFTER_NS : after_ns;
    watch->compare_ns = source->compare_ns / (QUIET_AFTER_NS / watch->after_ns);
    int r = cancel_init(&watch->cancel, err);
    r = r < 0 ? r : start_thread(watch, err);
    if (r < 0) {
        release(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}

void quiet_watch_stop(struct quiet_watch *watch)
{
    if (watch != NULL) {
        cancel_set(&watch->cancel, CANCEL_NOW);
        pthread_join(watch->thread, NULL);
        release(watch);
    }
}
