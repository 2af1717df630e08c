// SPDX-License-Identifier: Apache-2.0
/* The window of a conversation. */
#include "agent/history/history.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void history_fini(struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        free(history->messages[i].bytes);
    }
    free(history->messages);
    free(history->seqs);
    *history = (struct history){0};
}

void history_add(struct history *history, const struct model_message *message, uint64_t seq)
{
    if (history->count == history->room) {
        history->room = history->room == 0 ? 8 : 2 * history->room;
        history->messages =
            memory_resize(history->messages, history->room, sizeof(*history->messages));
        history->seqs = memory_resize(history->seqs, history->room, sizeof(*history->seqs));
    }
    history->messages[history->count] = *message;
    history->seqs[history->count] = seq;
    history->count++;
}

/** First message of a kind from `from` on; `count` when there is none. */
static size_t find_kind(const struct history *history, size_t from, enum model_message_kind kind)
{
    while (from < history->count && history->messages[from].kind != kind) {
        from++;
    }
    return from;
}

size_t history_tail(const struct history *history, size_t room)
{
    size_t from = room < history->count ? history->count - room : 0;
    size_t user = find_kind(history, from, MODEL_USER);
    return user < history->count ? user : find_kind(history, from, MODEL_ASSISTANT);
}

/** Messages at the beginning that are kept. */
static size_t head_of(const struct history *history)
{
    return history->head == 0 ? 1 : history->head;
}

size_t history_droppable(const struct history *history, int64_t max)
{
    size_t head = head_of(history);
    if (history->count <= head || (max > 0 && history->count <= (size_t)max)) {
        return 0;
    }
    size_t room = max > 0 && (size_t)max > head ? (size_t)max - head : 0;
    size_t begin = history_tail(history, room);
    return begin > head ? begin - head : 0;
}

static size_t bytes_of(const struct history *history, size_t from, size_t to)
{
    size_t bytes = 0;
    for (size_t i = from; i < to; i++) {
        bytes += history->messages[i].len;
    }
    return bytes;
}

int64_t history_window(const struct history *history, size_t max_bytes)
{
    size_t head = head_of(history);
    if (history->count <= head) {
        return (int64_t)history->count;
    }
    size_t kept = bytes_of(history, 0, history->count);
    size_t dropped = 0;
    size_t max = history->count;
    while (kept > max_bytes && max > head) {
        max--;
        size_t now = history_droppable(history, (int64_t)max);
        kept -= bytes_of(history, head + dropped, head + now);
        dropped = now;
    }
    return (int64_t)max;
}

/** Drop messages from a place on. */
static void drop(struct history *history, size_t from, size_t dropped)
{
    for (size_t i = from; i < from + dropped; i++) {
        free(history->messages[i].bytes);
    }
    size_t rest = from + dropped;
    size_t kept = history->count - rest;
    memmove(&history->messages[from], &history->messages[rest], kept * sizeof(*history->messages));
    memmove(&history->seqs[from], &history->seqs[rest], kept * sizeof(*history->seqs));
    history->count -= dropped;
}

void history_compact(struct history *history, size_t head, size_t replaced,
                     const struct model_message *summary, uint64_t seq)
{
    drop(history, head, replaced - 1); /* The last of them makes room. */
    free(history->messages[head].bytes);
    history->messages[head] = *summary;
    history->seqs[head] = seq;
    history->head = head + 1;
}

size_t history_trim(struct history *history, int64_t max)
{
    size_t dropped = history_droppable(history, max);
    if (dropped > 0) {
        drop(history, head_of(history), dropped);
    }
    return dropped;
}
