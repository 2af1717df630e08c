// SPDX-License-Identifier: Apache-2.0
/*
 * How many issues of a repository this machine works on at the same time, over all processes: each
 * issue at work has a place, a file that is locked by flock(2). A process that dies leaves no lock.
 *
 * all opens: the folder of tasks is the user's, and out of the reach of sandboxed workers.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "loop/owner.h"
#include "os/file_folder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int open_place(const struct issue_queue *queue, int64_t number)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/place-%" PRId64 ".lock", queue->options.folder, number);
    return open(buf_string(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/** For people: who has it. Should it fail, nobody is named. */
static void sign(const struct issue_queue *queue, int fd)
{
    const char *owner = queue->options.owner;
    if (ftruncate(fd, 0) == 0 && pwrite(fd, owner, strlen(owner), 0) < 0) {
        return;
    }
}

/** Somebody has all places: say who has the first one. */
static void tell_full(struct issue_queue *queue)
{
    char owner[STORE_OWNER_SIZE] = "";
    char name[OWNER_DESCRIPTION_SIZE] = "another process of this machine";
    int fd = open_place(queue, 0);
    ssize_t len = fd < 0 ? -1 : pread(fd, owner, sizeof(owner) - 1, 0);
    if (len > 0) {
        owner_name(owner, name);
    }
    if (fd >= 0) {
        close(fd);
    }
    queue_trouble(queue, QUEUE_TROUBLE_PLACE,
                  "%s already works on issues of %s, as many as --max-concurrent allows (%" PRId64
                  "): this one waits",
                  name, queue->repository, queue->options.most_running);
}

/** @return a descriptor that holds a place; 0 = there is none */
static int take_place(struct issue_queue *queue)
{
    for (int64_t i = 0; i < queue->options.most_running; i++) {
        int fd = open_place(queue, i);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            sign(queue, fd);
            queue_untrouble(queue, QUEUE_TROUBLE_PLACE);
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    tell_full(queue);
    return 0;
}

bool queue_reserve(struct issue_queue *queue)
{
    if (queue->place_fd == 0) {
        /* Without the folder nothing could be written for a run, either: that is told there. */
        file_folder_make_path(NULL, queue->options.folder, NULL);
        queue->place_fd = take_place(queue);
    }
    return queue->place_fd != 0;
}

void queue_unreserve(struct issue_queue *queue)
{
    if (queue->place_fd != 0) {
        close(queue->place_fd);
        queue->place_fd = 0;
    }
}

bool queue_hold(struct issue_queue *queue, struct queue_slot *slot)
{
    enum item_state state = slot->item.state;
    bool is_working = state == ITEM_ASSIGNED || state == ITEM_IN_PROGRESS;
    if (!is_working) {
        queue_let_go(slot);
        return true;
    }
    if (slot->place_fd == 0 && queue_reserve(queue)) {
        slot->place_fd = queue->place_fd;
        queue->place_fd = 0;
    }
    return slot->place_fd != 0;
}

void queue_let_go(struct queue_slot *slot)
{
    if (slot->place_fd != 0) {
        close(slot->place_fd);
        slot->place_fd = 0;
    }
}
