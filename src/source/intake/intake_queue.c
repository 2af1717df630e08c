// SPDX-License-Identifier: Apache-2.0
/* The index of the intake: what waits and what executes, by role. The caller holds the lock. */
#include "base/memory.h"
#include "source/intake/intake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct role_queue *intake_queue_of(struct intake *intake, const char *role)
{
    struct role_queue *queue = NULL;
    HASH_FIND_STR(intake->queues, role, queue);
    if (queue == NULL) {
        queue = memory_new_zero(1, sizeof(*queue));
        snprintf(queue->role, sizeof(queue->role), "%s", role);
        HASH_ADD_STR(intake->queues, role, queue);
        DL_APPEND(intake->turns, queue);
    }
    return queue;
}

struct intake_entry *intake_entry_add(struct intake *intake, struct role_queue *queue,
                                      const char *id)
{
    struct intake_entry *entry = memory_new_zero(1, sizeof(*entry));
    snprintf(entry->id, sizeof(entry->id), "%s", id);
    entry->queue = queue;
    HASH_ADD_STR(intake->entries, id, entry);
    return entry;
}

void intake_entry_set_conversation(struct intake_entry *entry, const char *source,
                                   const char *conversation)
{
    entry->is_turn = conversation != NULL;
    if (entry->is_turn) {
        group_digest(source, conversation, entry->conversation);
    }
}

void intake_entry_wait(struct intake *intake, struct intake_entry *entry)
{
    struct role_queue *queue = entry->queue;
    struct intake_entry *before = queue->waiting == NULL ? NULL : queue->waiting->prev;
    /* Nearly always it is the newest. The list's first has the last one as `prev`. */
    while (before != NULL && before->received_ns > entry->received_ns) {
        before = before == queue->waiting ? NULL : before->prev;
    }
    if (before == NULL) {
        DL_PREPEND(queue->waiting, entry);
    } else {
        DL_APPEND_ELEM(queue->waiting, before, entry);
    }
    queue->waiting_count++;
    intake->counts.waiting++;
}

void intake_entry_take(struct intake *intake, struct intake_entry *entry)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow utlist's links */
    DL_DELETE(entry->queue->waiting, entry);
    entry->queue->waiting_count--;
    intake->counts.waiting--;
}

void intake_entry_free(struct intake *intake, struct intake_entry *entry)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links of uthash */
    HASH_DEL(intake->entries, entry);
    free(entry->source);
    free(entry);
}

void intake_entry_count_running(struct intake *intake, struct intake_entry *entry)
{
    if (entry->is_turn) {
        HASH_ADD(talk_hh, intake->talking, conversation, DIGEST_SIZE, entry);
    }
    entry->is_counted = true;
    entry->queue->running++;
    intake->running++;
}

void intake_entry_count_ended(struct intake *intake, struct intake_entry *entry)
{
    if (entry->is_turn) {
        HASH_DELETE(talk_hh, intake->talking, entry);
    }
    entry->is_counted = false;
    entry->queue->running--;
    intake->running--;
}

struct intake_entry *intake_entry_find_id(struct intake *intake, const char *id)
{
    struct intake_entry *entry = NULL;
    HASH_FIND_STR(intake->entries, id, entry);
    return entry;
}

struct intake_entry *intake_entry_find_group(struct role_queue *queue, const unsigned char *group)
{
    struct intake_entry *entry = queue->waiting;
    while (entry != NULL && memcmp(entry->group, group, DIGEST_SIZE) != 0) {
        entry = entry->next;
    }
    return entry;
}

/** Whether the turn before has no answer yet. */
static bool is_early(const struct intake *intake, const struct intake_entry *entry)
{
    struct intake_entry *other = NULL;
    if (entry->is_turn) {
        HASH_FIND(talk_hh, intake->talking, entry->conversation, DIGEST_SIZE, other);
    }
    return other != NULL;
}

/** The first of a queue that may start. @param now_ns monotonic */
static struct intake_entry *first_ready(const struct intake *intake, const struct role_queue *queue,
                                        int64_t now_ns)
{
    struct intake_entry *entry = queue->waiting;
    while (entry != NULL && (entry->retry_ns > now_ns || is_early(intake, entry))) {
        entry = entry->next;
    }
    return entry;
}

struct intake_entry *intake_entry_next(struct intake *intake)
{
    struct role_queue *queue;
    int64_t now_ns = clock_monotonic(intake->clock);
    if (intake->running >= intake->max_running) {
        return NULL;
    }
    DL_FOREACH(intake->turns, queue)
    {
        bool may_start = queue->is_open && !queue->is_held && queue->retry_ns <= now_ns &&
                         queue->running < queue->options.max_running;
        struct intake_entry *entry = may_start ? first_ready(intake, queue, now_ns) : NULL;
        if (entry != NULL) {
            DL_DELETE(intake->turns, queue); /* its next turn comes after all others */
            DL_APPEND(intake->turns, queue);
            return entry;
        }
    }
    return NULL;
}

void intake_index_free(struct intake *intake)
{
    struct intake_entry *entry;
    struct intake_entry *next_entry;
    struct role_queue *queue;
    struct role_queue *next_queue;
    HASH_CLEAR(talk_hh, intake->talking);
    HASH_ITER(hh, intake->entries, entry, next_entry)
    {
        intake_entry_free(intake, entry);
    }
    HASH_ITER(hh, intake->queues, queue, next_queue)
    {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_DEL(intake->queues, queue);
        free(queue);
    }
}
