// SPDX-License-Identifier: Apache-2.0
/*
 * inotify(7) on the file that every change of the store is written to. It reports the write, and
 * the change can be read only when its commit has ended, which nothing reports. So the thread has
 * two states: after a write, readers look for changes at their usual pace until nothing was
 * written for QUIET_AFTER_NS; then they rest, and the thread sleeps until the next write.
 *
 * That the kernel reports writes is not taken for granted (some sandboxes do not, and the file can
 * be replaced): every 30 s the file's time is compared, and if it changed without a report, readers
 * never rest again.
 *
 * all opens: the store's log, which no sandbox shows and no tool writes.
 */
#include "store/quiet.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREAD_STACK ((size_t)64 * 1024)
/** How often the file's time is compared while readers rest, in times of `after_ns`. */
#define COMPARE_TIMES 6

/** What changes with each write. */
struct log_mark {
    ino_t inode;
    off_t size;
    struct timespec time;
};

struct quiet_watch {
    struct writer *writer;
    const char *path;
    int64_t after_ns;
    int fd;
    struct cancel cancel;
    pthread_t thread;
};

/** @return whether the file is there */
static bool read_mark(const struct quiet_watch *watch, struct log_mark *ret_mark)
{
    struct stat status;
    if (stat(watch->path, &status) != 0) {
        return false;
    }
    *ret_mark =
        (struct log_mark){.inode = status.st_ino, .size = status.st_size, .time = status.st_mtim};
    return true;
}

static bool is_same(const struct log_mark *a, const struct log_mark *b)
{
    return a->inode == b->inode && a->size == b->size && a->time.tv_sec == b->time.tv_sec &&
           a->time.tv_nsec == b->time.tv_nsec;
}

/** Take all reports. @return whether there were any */
static bool drain(const struct quiet_watch *watch)
{
    char reports[4096];
    bool was_any = false;
    while (read(watch->fd, reports, sizeof(reports)) > 0) {
        was_any = true;
    }
    return was_any;
}

/** Wait for a report. @return whether there is one */
static bool wait_for_write(struct quiet_watch *watch, int64_t duration_ns)
{
    struct pollfd fds[] = {
        {.fd = watch->fd, .events = POLLIN},
        {.fd = watch->cancel.event_fd, .events = POLLIN},
    };
    return poll(fds, 2, (int)(duration_ns / NS_PER_MS)) > 0 && (fds[0].revents & POLLIN) != 0;
}

/** Wait until nothing is written any more. @return whether the file is watched */
static bool wait_for_quiet(struct quiet_watch *watch, struct log_mark *ret_mark)
{
    bool is_watched = false;
    do {
        /* The file may be new, or another one: to add it again is to watch it. */
        is_watched = inotify_add_watch(watch->fd, watch->path, IN_MODIFY | IN_DELETE_SELF) >= 0;
        (void)drain(watch);
        is_watched = read_mark(watch, ret_mark) && is_watched;
        if (cancel_wait(&watch->cancel, watch->after_ns)) {
            return false;
        }
    } while (drain(watch));
    return is_watched;
}

/** Readers rest until something is written. @return whether that was reported, if it was */
static bool rest(struct quiet_watch *watch, const struct log_mark *mark)
{
    struct log_mark now = {0};
    bool is_reported = false;
    bool is_changed = false;
    writer_set_quiet(watch->writer, true);
    while (!is_reported && !is_changed && !cancel_is_set(&watch->cancel)) {
        is_reported = wait_for_write(watch, COMPARE_TIMES * watch->after_ns);
        is_changed = !read_mark(watch, &now) || !is_same(mark, &now);
    }
    /* The file's time changes a moment before a write is reported. */
    is_reported = is_reported || (is_changed && wait_for_write(watch, NS_PER_S));
    writer_set_quiet(watch->writer, false);
    return is_reported || !is_changed;
}

static void *watch_main(void *context)
{
    struct quiet_watch *watch = context;
    bool is_trusted = true;
    while (is_trusted && !cancel_is_set(&watch->cancel)) {
        struct log_mark mark = {0};
        if (wait_for_quiet(watch, &mark)) {
            is_trusted = rest(watch, &mark);
        }
    }
    return NULL;
}

static void release(struct quiet_watch *watch)
{
    cancel_fini(&watch->cancel);
    if (watch->fd >= 0) {
        close(watch->fd);
    }
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
    int fd = store->ops->change_file == NULL ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0) {
        *ret_watch = NULL; /* Readers look for changes. */
        return 0;
    }
    struct quiet_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->writer = writer;
    watch->path = store->ops->change_file(store);
    watch->after_ns = after_ns == 0 ? QUIET_AFTER_NS : after_ns;
    watch->fd = fd;
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
