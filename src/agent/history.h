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
};

void history_fini(struct history *history);

/** Add a message; takes `message->bytes` over. */
void history_add(struct history *history, const struct model_message *message, uint64_t seq);

/** How many messages history_trim would drop. */
size_t history_droppable(const struct history *history, int64_t max);

/**
 * Keep the first message and at most `max` - 1 of the last ones. What is kept after the first
 * begins with words of the user, so that no result is without its call; where an iteration is
 * longer than the window, with the first complete reply in it.
 * @return messages dropped
 */
size_t history_trim(struct history *history, int64_t max);
