// SPDX-License-Identifier: Apache-2.0
/*
 * The conversation of an agent: messages in their serialised form, in the order in which the model
 * reads them. Messages are added at the end and dropped after the first; none is ever changed.
 * One thread.
 */
#pragma once

#include "model/model.h"

struct history {
    struct model_message *messages; /**< side by side, as a request takes them */
    uint64_t *seqs;                 /**< of the event that each message begins with */
    size_t count;
    size_t room;
    size_t head; /**< messages that are always kept, where a summary is the last of them; 0 = none
                      is there: the first message is kept */
};

void history_fini(struct history *history);

/** Add a message; takes `message->bytes` over. */
void history_add(struct history *history, const struct model_message *message, uint64_t seq);

/** How many messages history_trim would drop. */
size_t history_droppable(const struct history *history, int64_t max);

/** Where the tail begins that is kept with `room` messages: no result in it is without its call. */
size_t history_tail(const struct history *history, size_t room);

/** How many messages history_trim may keep so that they have at most so many bytes. */
int64_t history_window(const struct history *history, size_t max_bytes);

/**
 * Put a summary in the place of messages: it follows the first `head`, and is kept from now on.
 * @param summary its `bytes` are taken over
 * @param replaced messages after `head`; no more than there are
 */
void history_compact(struct history *history, size_t head, size_t replaced,
                     const struct model_message *summary, uint64_t seq);

/**
 * Keep the first message, a summary after it, and of the last ones as many as make `max` with them.
 * What is kept after the first begins with words of the user, so that no result is without its
 * call; where an iteration is longer than the window, with the first complete reply in it.
 * @return messages dropped
 */
size_t history_trim(struct history *history, int64_t max);
