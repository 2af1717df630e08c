// SPDX-License-Identifier: Apache-2.0
/*
 * What a reader sees of one request, by the rules of the desk file: of what the agent has sent in
 * any revision, of what was said about it, and of its entries in the audit chain. One thread at a
 * time.
 */
#pragma once

#include "handoff/storage/store.h"
#include "handoff/view/redact.h"

struct json_object;

/** Zeroed, it hides nothing. */
struct inbox_redaction {
    struct redact_view view;
    struct json_object *texts; /**< that are hidden; NULL = nothing is hidden */
    bool is_blind;             /**< a revision was deleted: what its texts were is not known */
};

/**
 * @param handoff outlives it, as do the desks of `handoffs`
 * @param viewer "user:ann"; NULL = a reader who is no person
 * @param ret_redaction inbox_redaction_fini()
 * @return 0; why a revision could not be read
 */
int inbox_redaction_begin(const struct handoff_store *handoffs, const struct handoff *handoff,
                          const char *viewer, struct inbox_redaction *ret_redaction,
                          struct rondo_error *err);
void inbox_redaction_fini(struct inbox_redaction *redaction);

/** Hide in what the agent has sent. @param paths pointers of what was hidden are added; NULL */
void inbox_redaction_body(const struct inbox_redaction *redaction, struct json_object *body,
                          struct json_object *paths);

/**
 * Append what was said, JSON. When the texts of a deleted revision are not known, none of it is
 * shown.
 * @return whether it was changed
 */
bool inbox_redaction_words(const struct inbox_redaction *redaction, const char *json,
                           struct buf *ret_json);

/* ---- The audit chain ------------------------------------------------------------------------ */

/** Entries of a chain as a reader sees them. Zeroed but for the first two at the start. */
struct inbox_audit {
    const struct handoff_store *handoffs;
    const char *viewer;
    struct handoff handoff; /**< of the last entry; another has another id */
    bool is_known;          /**< its request could be read */
    struct inbox_redaction redaction;
};

/**
 * Append an entry, without what its reader may not see: then it says so in AUDIT_REDACTED. What an
 * agent has said is hidden where its request is not known.
 */
void inbox_audit_entry(struct inbox_audit *audit, const char *entry, size_t len,
                       struct buf *ret_entry);
void inbox_audit_fini(struct inbox_audit *audit);

/* ---- Revealing ------------------------------------------------------------------------------ */

/**
 * Show a person on a desk of a request one value that is hidden from people. Who has seen what is
 * in the audit chain before.
 * @param person who was verified
 * @param pointer into what the agent has sent last
 * @param ret_json the value is appended; only with REDACT_REVEALED
 * @return 0 with what became of it; RONDO_ERR_NOT_FOUND; why the entry could not be written
 */
int inbox_reveal(const struct handoff_store *handoffs, const char *request_id, const char *person,
                 const char *pointer, int64_t now_ns, enum redact_verdict *ret_verdict,
                 struct buf *ret_json, struct rondo_error *err);

/** Append what to tell a person of a verdict; nothing when it was revealed. */
void inbox_explain_reveal(enum redact_verdict verdict, struct buf *ret_text);
