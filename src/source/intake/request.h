// SPDX-License-Identifier: Apache-2.0
/*
 * A start request: what a source submits, and what waits in the store until it has become a run or
 * a refusal. The id of a request is the id of the run that it becomes, chosen when the request is
 * accepted; so a request that is started again after a crash finds its run.
 *
 * Documents: collection "start-request", key = the id. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "store/store.h"

#define START_REQUEST_COLLECTION "start-request"

/** Bytes of a source's id, the NUL included. */
#define SOURCE_ID_SIZE 192

/** How the agent of a request works. */
enum start_mode {
    START_SINGLE = 0,   /**< one answer */
    START_AUTONOMOUS,   /**< iterations until the agent has finished */
    START_CONVERSATION, /**< one answer that continues a conversation */
};

/** "single", "autonomous", "conversation". Static. */
const char *start_mode_name(enum start_mode mode);

/** A request as the store has it. Texts are owned. */
struct start_request {
    char id[ID_SIZE];
    char source[SOURCE_ID_SIZE];       /**< id of the source */
    char role[LIMIT_AGENT_ID_LEN + 1]; /**< agent that gets the prompt */
    char owner[STORE_OWNER_SIZE];      /**< process that accepted it, and starts it */
    enum start_mode mode;
    int64_t received_ns; /**< unique and rising within a process: the order of the queue */
    uint64_t version;    /**< of the document */
    char *kind;          /**< what woke the agent: "cron", "webhook", ... */
    char *prompt;
    char *key;          /**< what makes it unique within its source; NULL = nothing */
    char *group;        /**< requests of one source and group may be coalesced */
    char *context;      /**< JSON object about the event, for the journal */
    char *conversation; /**< START_CONVERSATION: which one of the source ("4711"); else NULL */
    int64_t idle_s;     /**< it begins anew if it was quiet for longer; 0 = never */
};

void start_request_fini(struct start_request *request);

/** Append it as JSON, without id and version. */
void start_request_encode(const struct start_request *request, struct buf *ret_json);

/** Called with a request, or NULL for a document that cannot be read. @return false to end */
typedef bool start_request_fn(const struct start_request *request, const char *id, void *context);

/** Read the requests that wait, in the order of their ids. @param id only this one; NULL = all */
int start_requests_read(struct store *store, const char *id, start_request_fn *fn, void *context,
                        struct rondo_error *err);

/** Read one request. @param ret_request start_request_fini(). @return 1, 0 when there is none, or a
 *  code: RONDO_ERR_CORRUPT when it cannot be read */
int start_request_find(struct store *store, const char *id, struct start_request *ret_request,
                       struct rondo_error *err);
