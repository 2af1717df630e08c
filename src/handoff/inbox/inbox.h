// SPDX-License-Identifier: Apache-2.0
/*
 * What people do with handoffs, for the command line, the API and the page alike: find one, see it
 * as JSON, and decide. Who may decide is what the desk file says (handoff/desks/desks.h); without
 * one there is one desk, and everybody who may use the store is on it. Any thread.
 */
#pragma once

#include "handoff/storage/store.h"

struct json_object;

#define INBOX_DESK HANDOFF_DESK

/** The user of this process as a person, "user:ann": never the name of an agent. */
void inbox_user(char ret_name[HANDOFF_NAME_SIZE]);

/**
 * Let time do what is due, and put a request that is on no desk on one.
 * @return 0; RONDO_ERR_NOT_FOUND
 */
int inbox_route(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                struct handoff *ret_handoff, struct rondo_error *err);

/**
 * Make a request, or find it: when too many wait, those of runs that have ended make room for one
 * of Rondo's own agents. Time has then done what is due, and the request is on a desk if one is
 * found.
 * @param ret_result its handoff is set unless it is HANDOFF_TOO_LATE, HANDOFF_FULL or
 *        HANDOFF_NOT_YOURS
 * @return as handoff_submit and inbox_route
 */
int inbox_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                 const char *body, int64_t now_ns, struct handoff_result *ret_result,
                 struct rondo_error *err);

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

/* ---- Deciding ------------------------------------------------------------------------------- */

/** Something that a person does with a request. Texts are borrowed. */
struct inbox_decision {
    enum handoff_command_kind kind; /**< HANDOFF_CLAIM to HANDOFF_REPLAY, HANDOFF_CANCEL */
    const char *by;                 /**< "user:ann", shorter than HANDOFF_NAME_SIZE */
    bool is_admin;       /**< may administer the store: release, cancel, de-escalate, replay what is
                              others' */
    bool is_requester;   /**< acts for the agent, or has its token: never decides */
    const char *comment; /**< NULL = none; a rejection and a de-escalation need one */
    const char *const *questions; /**< HANDOFF_ASK: at least one */
    size_t question_count;
    const char *target;      /**< HANDOFF_REROUTE: a desk, a role or a person */
    const char *constraints; /**< HANDOFF_APPROVE: a JSON array; NULL = none */
    /** What the person has seen; decisions about anything else are refused. */
    uint32_t revision;
    const char *action_digest;
    uint64_t if_version; /**< only if nothing happened to it since; 0 = any */
    /**
     * The same decision of the same person under the same key is carried out once: again it is
     * HANDOFF_REPEATED. NULL = none.
     */
    const char *key;
};

/** What became of a decision. */
struct inbox_result {
    struct handoff_result result;
    char decision_id[ID_SIZE]; /**< as in the audit chain and the thread */
    bool is_returned;          /**< rerouted to what nothing resolves: it is back, and escalated */
};

/** "approved", "needs_info", ...: the status of a kind of decision on the wire; NULL = none. */
const char *inbox_status(enum handoff_command_kind kind);
/** The kind of a status. @return whether there is one */
bool inbox_kind_of(const char *status, enum handoff_command_kind *ret_kind);

/**
 * Decide. Whether the person may is found here; that it is this person the caller has verified.
 * @return 0 with what became of it; RONDO_ERR_NOT_FOUND; RONDO_ERR_LIMIT and RONDO_ERR_INVALID for
 *         the decision, also when its key was used for another one
 */
int inbox_decide(const struct handoff_store *handoffs, const char *request_id,
                 const struct inbox_decision *decision, int64_t now_ns,
                 struct inbox_result *ret_result, struct rondo_error *err);

/** Append what to tell a person of an outcome, a sentence or two; nothing when it was done. */
void inbox_explain(const struct handoff_result *result, struct buf *ret_text);

/* ---- Seeing --------------------------------------------------------------------------------- */

struct inbox_view_options {
    bool has_thread;    /**< with what people and the agent said */
    const char *viewer; /**< "user:ann"; NULL = no person, from whom all rules hide */
};

/**
 * The action of a request, with what its digest covers and nothing else: `tool`, `args`,
 * `resource`, `operand_digests` (path and digest each). What an agent has put beside it is not
 * shown as part of what is approved.
 * @return owned by the caller
 */
struct json_object *inbox_action(struct json_object *body);

/**
 * Append a handoff as a JSON object: its state, custody, times, what was approved, the action as it
 * would be made, the request as the agent sent it, and what was said, all without what
 * the viewer may not see (handoff/inbox/redaction.h): `redacted` lists pointers into the request,
 * unless nothing is hidden. A request whose documents
 * were deleted has `request` null.
 */
int inbox_view(const struct handoff_store *handoffs, const struct handoff *handoff,
               const struct inbox_view_options *options, struct buf *ret_json,
               struct rondo_error *err);
