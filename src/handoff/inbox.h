// SPDX-License-Identifier: Apache-2.0
/*
 * What people do with handoffs: find one by the beginning of its id, and decide. Until desks can be
 * configured there is one, and everybody who may use the store is on it. Any thread.
 */
#pragma once

#include "handoff/store.h"

/** The desk of requests that nothing routes elsewhere. */
#define INBOX_DESK "operators"

/** Bytes of a comment. */
#define INBOX_MOST_COMMENT 4096

/**
 * Let time do what is due, and put a request that is on no desk on INBOX_DESK.
 * @return 0; RONDO_ERR_NOT_FOUND
 */
int inbox_route(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                struct handoff *ret_handoff, struct rondo_error *err);

/**
 * Find a handoff by its id, or an open one by the beginning of its id.
 * @return RONDO_ERR_NOT_FOUND; RONDO_ERR_INVALID when several begin so
 */
int inbox_find(const struct handoff_store *handoffs, const char *beginning,
               struct handoff *ret_handoff, struct rondo_error *err);

/** Whether the run of a request, which is its lane, can still use a decision. */
bool inbox_has_run(const struct handoff_store *handoffs, const struct handoff *handoff);

/** Cancel the requests of runs that have ended. What fails is left as it is. */
void inbox_cancel_ended(const struct handoff_store *handoffs, int64_t now_ns);

/** A decision that a person makes. Texts are borrowed. */
struct inbox_decision {
    enum handoff_command_kind kind; /**< HANDOFF_APPROVE or HANDOFF_REJECT */
    const char *by;                 /**< "user:ann" */
    const char *comment;            /**< NULL = none; a rejection needs one */
    /** What the person has seen; decisions about anything else are refused. */
    uint32_t revision;
    const char *action_digest;
};

/**
 * Decide. The caller has made sure that the person may.
 * @return 0 with what became of it; RONDO_ERR_LIMIT for the comment
 */
int inbox_decide(const struct handoff_store *handoffs, const char *request_id,
                 const struct inbox_decision *decision, int64_t now_ns,
                 struct handoff_result *ret_result, struct rondo_error *err);

/** Append what to tell a person of an outcome, a sentence; nothing when it was done. */
void inbox_explain(const struct handoff_result *result, struct buf *ret_text);
