// SPDX-License-Identifier: Apache-2.0
/*
 * What a Telegram source remembers: which updates it has taken, which messages wait for their
 * answer, and the last turns of each chat. It is the source's mark. One thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Turns of a chat that a prompt repeats. */
#define CHAT_HISTORY 10
/** A chat that was quiet for so long begins anew. */
#define CHAT_LIFE_S 3600

enum turn_state {
    TURN_WAITING = 0, /**< for its run */
    TURN_SENDING,     /**< a part of the answer is being sent; in doubt after a restart */
    TURN_DONE,
};

/** A message and its answer. */
struct chat_turn {
    int64_t update;
    int64_t chat;
    int64_t time_s;
    enum turn_state state;
    unsigned part; /**< of the answer: the next one to send */
    char *text;    /**< of the user, cut to LIMIT_CHAT_TEXT_BYTES; owned, as the next one */
    char *answer;  /**< likewise; NULL while there is none */
};

struct telegram_chats {
    int64_t offset;                           /**< the next update */
    struct chat_turn turns[LIMIT_CHAT_TURNS]; /**< oldest first */
    size_t count;
};

void telegram_chats_fini(struct telegram_chats *chats);

/** Add a message. The oldest turn that is done makes room. @return NULL: all wait */
struct chat_turn *telegram_chats_add(struct telegram_chats *chats, int64_t chat, int64_t update,
                                     int64_t time_s, const char *text);
/** Give a turn its answer. */
void chat_turn_answer(struct chat_turn *turn, const char *answer);
/** Whether a turn waits for its run, or for being sent. */
bool telegram_chats_are_waiting(const struct telegram_chats *chats);

/** Append the last turns of a chat that are not older than CHAT_LIFE_S; nothing when none is. */
void telegram_chats_history(const struct telegram_chats *chats, int64_t chat, int64_t now_s,
                            struct buf *ret_text);

/** Append as a JSON object, at most LIMIT_SOURCE_MARK_BYTES. */
void telegram_chats_encode(const struct telegram_chats *chats, struct buf *ret_json);
/** @param ret_chats telegram_chats_fini(), always. @return 0 or RONDO_ERR_CORRUPT */
int telegram_chats_decode(const char *mark, struct telegram_chats *ret_chats,
                          struct rondo_error *err);
