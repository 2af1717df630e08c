// SPDX-License-Identifier: Apache-2.0
/*
 * What a Telegram source remembers: which updates it has taken, and which messages wait for their
 * answer. It is the source's mark. What was said in a chat is a conversation
 * (source/conversation). One thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum turn_state {
    TURN_WAITING = 0, /**< for its run */
    TURN_SENDING,     /**< a part of the answer is being sent; in doubt after a restart */
};

/** A message that has no answer yet. */
struct chat_turn {
    int64_t update;
    int64_t chat;
    enum turn_state state;
    unsigned part; /**< of the answer: the next one to send */
};

struct telegram_chats {
    int64_t offset;                           /**< the next update */
    struct chat_turn turns[LIMIT_CHAT_TURNS]; /**< oldest first */
    size_t count;
};

/** Add a message. @return false: there is no room */
bool telegram_chats_add(struct telegram_chats *chats, int64_t chat, int64_t update);
/** A message has its answer. */
void telegram_chats_remove(struct telegram_chats *chats, size_t index);

/** Append as a JSON object, at most LIMIT_SOURCE_MARK_BYTES. */
void telegram_chats_encode(const struct telegram_chats *chats, struct buf *ret_json);
/** @return 0 or RONDO_ERR_CORRUPT */
int telegram_chats_decode(const char *mark, struct telegram_chats *ret_chats,
                          struct rondo_error *err);
