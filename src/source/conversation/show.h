// SPDX-License-Identifier: Apache-2.0
/* What lists show of conversations, for the command line and the API. Any thread. */
#pragma once

#include "source/conversation/conversation.h"

/** Turns that are shown with what was said. */
#define CONVERSATION_TURNS_SHOWN 20

/** One turn. */
struct conversation_turn {
    char run_id[ID_SIZE];
    char status[24];   /**< of the run; "deleted" when it is gone */
    struct buf prompt; /**< its beginning, as people read it */
    struct buf answer; /**< empty while the run has not ended */
};

/** Read one. @param ret_turn conversation_turn_fini(), always. @return 0 or a store's code */
int conversation_turn_read(struct store *store, const char *run_id,
                           struct conversation_turn *ret_turn, struct rondo_error *err);
void conversation_turn_fini(struct conversation_turn *turn);

/**
 * Append one as a JSON object.
 * @param store to read the last turns from; NULL = without them
 * @return 0 or a store's code
 */
int conversation_write(const struct conversation *conversation, struct store *store,
                       struct buf *ret_json, struct rondo_error *err);
