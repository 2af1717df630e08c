// SPDX-License-Identifier: Apache-2.0
/*
 * Conversations that sources hold: which runs are the turns of a chat, of an issue, or of whatever
 * else a trigger names. Each turn is a run of its own, and gets what was said before from the run
 * of the turn before (agent/spec/carry.h); here is only which one that is.
 *
 * Documents: collection "conversation", key = the conversation's id, "AGENT:" and a digest of its
 * source and key. A turn is entered before its run is created. Entering it again changes nothing,
 * so a start that a crash has cut off is repeated. Of an agent, LIMIT_CONVERSATIONS are kept: those
 * that were used last. Any thread.
 */
#pragma once

#include "source/intake/request.h"

#define CONVERSATION_COLLECTION "conversation"
/** Digits of the digest in an id. */
#define CONVERSATION_DIGITS 16
/** Bytes of an id, the NUL included. */
#define CONVERSATION_ID_SIZE (LIMIT_AGENT_ID_LEN + 1 + CONVERSATION_DIGITS + 1)

struct conversation {
    char id[CONVERSATION_ID_SIZE];
    char agent[LIMIT_AGENT_ID_LEN + 1];
    char source[SOURCE_ID_SIZE]; /**< id of the source */
    char *kind;                  /**< its type */
    char *key;                   /**< which one of the source */
    int64_t begun_ns;            /**< when its first turn came */
    int64_t last_ns;             /**< when its last turn came */
    uint64_t turns;              /**< in all */
    char (*runs)[ID_SIZE];       /**< of the last turns, oldest first */
    size_t run_count;            /**< at most LIMIT_CONVERSATION_RUNS */
    uint64_t version;            /**< of the document; 0 = there is none */
};

void conversation_fini(struct conversation *conversation);

/** The id of the conversation that a request is a turn of. */
void conversation_id(const char *agent, const char *source, const char *key,
                     char ret_id[CONVERSATION_ID_SIZE]);

/** Whether a run, or the request for it, is not settled anywhere: 1, 0, or a code. */
typedef int conversation_pending_fn(void *context, const char *run_id, struct rondo_error *err);

/**
 * Enter a turn.
 * @param request    of the mode START_CONVERSATION
 * @param is_pending whether the turn before waits or executes, perhaps on another server: then this
 * one is early; or NULL
 * @param context    for is_pending
 * @param ret_before run of the turn before, or "": the conversation begins, or begins anew because
 *                   it was quiet for longer than the request allows, or its runs were deleted
 * @return 0; RONDO_ERR_BUSY when it is early, or another process changes the conversation at the
 * same time; or a store's code
 */
int conversation_enter(struct store *store, const struct start_request *request,
                       conversation_pending_fn *is_pending, void *context, char ret_before[ID_SIZE],
                       struct rondo_error *err);

/** Called with each; borrowed. Must not use the store. @return false to end */
typedef bool conversation_fn(const struct conversation *conversation, void *context);

/** Read them, by agents. What cannot be read is left out. @param agent or NULL: of all */
int conversations_read(struct store *store, const char *agent, conversation_fn *fn, void *context,
                       struct rondo_error *err);

/** Read one. @param ret_conversation conversation_fini(). @return 1, 0 when there is none, a code
 */
int conversation_find(struct store *store, const char *id, struct conversation *ret_conversation,
                      struct rondo_error *err);

/** Forget one: its next turn is the first. Its runs stay. @return 1, 0 when there is none, a code
 */
int conversation_forget(struct store *store, const char *id, struct rondo_error *err);
