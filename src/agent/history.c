// SPDX-License-Identifier: Apache-2.0
/* The window of a conversation. */
#include "agent/history.h"

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

/** First message of the tail that is kept. */
static size_t begin_of_tail(const struct history *history, size_t room)
{
    size_t from = history->count - room;
    size_t user = find_kind(history, from, MODEL_USER);
    return user < history->count ? user : find_kind(history, from, MODEL_ASSISTANT);
}

size_t history_droppable(const struct history *history, int64_t max)
{
    if (history->count <= 1 || (max > 0 && history->count <= (size_t)max)) {
        return 0;
    }
    return begin_of_tail(history, max > 1 ? (size_t)max - 1 : 0) - 1;
}

size_t history_trim(struct history *history, int64_t max)
{
    size_t dropped = history_droppable(history, max);
    if (dropped == 0) {
        return 0;
    }
    size_t begin = dropped + 1;
    for (size_t i = 1; i < begin; i++) {
        free(history->messages[i].bytes);
    }
    size_t kept = history->count - begin;
    memmove(&history->messages[1], &history->messages[begin], kept * sizeof(*history->messages));
    memmove(&history->seqs[1], &history->seqs[begin], kept * sizeof(*history->seqs));
    history->count = kept + 1;
    return dropped;
}
