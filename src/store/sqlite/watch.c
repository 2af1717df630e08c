// SPDX-License-Identifier: Apache-2.0
/*
 * inotify(7) on the write-ahead log, to which each process writes when it changes the store. It
 * reports the write; the change can be read only when its commit has ended, which nothing reports.
 *
 * That the kernel reports writes is not taken for granted (some sandboxes do not, and the file can
 * be replaced): the file's time is compared, and if it changed without a report, writes count as
 * unnoticed for good.
 *
 * all opens: the store's log, which no sandbox shows and no tool writes.
 */
#include "store/watch.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "store/sqlite/internal.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/** How often the file's time is compared. */
#define COMPARE_NS (30 * NS_PER_S)

/** What changes with each write. */
struct log_mark {
    ino_t inode;
    off_t size;
    struct timespec time;
};

struct sqlite_watch {
    struct store_watch base;
    const char *path;
    struct log_mark mark;
    bool is_untrusted; /**< a write was not reported */
};

/** @return whether the file is there */
static bool read_mark(const struct sqlite_watch *watch, struct log_mark *ret_mark)
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

static bool take(struct store_watch *base)
{
    char reports[4096];
    bool was_any = false;
    while (read(base->fd, reports, sizeof(reports)) > 0) {
        was_any = true;
    }
    return was_any;
}

static bool arm(struct store_watch *base, struct cancel *cancel)
{
    (void)cancel;
    struct sqlite_watch *watch = (struct sqlite_watch *)base;
    /* The file may be new, or another one: to add it again is to watch it. */
    bool is_watched = inotify_add_watch(base->fd, watch->path, IN_MODIFY | IN_DELETE_SELF) >= 0;
    (void)take(base);
    return read_mark(watch, &watch->mark) && is_watched && !watch->is_untrusted;
}

/** Wait for a report. @return whether there is one */
static bool wait_for_write(const struct sqlite_watch *watch, const struct cancel *cancel)
{
    struct pollfd fds[] = {
        {.fd = watch->base.fd, .events = POLLIN},
        {.fd = cancel->event_fd, .events = POLLIN},
    };
    return poll(fds, 2, 1000) > 0 && (fds[0].revents & POLLIN) != 0;
}

static bool is_changed(struct store_watch *base, struct cancel *cancel)
{
    struct sqlite_watch *watch = (struct sqlite_watch *)base;
    struct log_mark now = {0};
    if (read_mark(watch, &now) && is_same(&watch->mark, &now)) {
        return false;
    }
    /* The file's time changes a moment before a write is reported. */
    watch->is_untrusted = !wait_for_write(watch, cancel);
    return true;
}

static void free_watch(struct store_watch *base)
{
    if (base != NULL) {
        close(base->fd);
        free(base);
    }
}

static const struct store_watch_ops watch_ops = {
    .arm = arm,
    .take = take,
    .is_changed = is_changed,
    .free = free_watch,
};

struct store_watch *sqlite_watch(struct store *base)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    struct sqlite_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->base = (struct store_watch){.ops = &watch_ops, .fd = fd, .compare_ns = COMPARE_NS};
    watch->path = ((struct sqlite_store *)base)->log_path;
    return &watch->base;
}
