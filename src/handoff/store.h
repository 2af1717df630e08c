// SPDX-License-Identifier: Apache-2.0
/*
 * Handoffs in the store. Whatever changes one is a single transaction: its record, an entry of the
 * audit chain for each fact, and a message to the agent where it concerns the agent. There is one
 * chain for a store, so transactions of all handoffs are in one order, and the chain tells a reader
 * what has changed since it looked.
 *
 * Several threads and processes may work on one store: each transaction is on condition that the
 * record and the chain are as they were read, and is made again when they are not.
 *
 * Documents: `handoff` (by request id: the record), `handoff-open` (by request id, while time or a
 * person can still change it), `handoff-body` (by request id and revision: what the agent sent),
 * `handoff-thread` (by request id and number of the entry: what people and the agent said),
 * `handoff-outbox` (by agent and number of the entry), `audit` (by number), `audit-head`.
 */
#pragma once

#include "handoff/step.h"
#include "rondo/error.h"
#include "store/store.h"

#define HANDOFF_COLLECTION        "handoff"
#define HANDOFF_OPEN_COLLECTION   "handoff-open"
#define HANDOFF_BODY_COLLECTION   "handoff-body"
#define HANDOFF_THREAD_COLLECTION "handoff-thread"
#define HANDOFF_OUTBOX_COLLECTION "handoff-outbox"
#define AUDIT_COLLECTION          "audit"
#define AUDIT_HEAD_COLLECTION     "audit-head"

/** Where handoffs are, and their rules. Constant; any thread. */
struct handoff_store {
    struct store *store;
    const struct handoff_rules *rules;
};

/** Beside a command: what is recorded of it. */
struct handoff_note {
    const char *role;        /**< of the actor; NULL = none */
    const char *decision_id; /**< NULL = none */
    const char *details;     /**< a JSON object, for the audit chain: comment, questions; NULL */
    const char *body;        /**< resubmission: what the agent sent, JSON; NULL otherwise */
};

/** A handoff, and what became of the command. */
struct handoff_result {
    enum handoff_outcome outcome;
    struct handoff handoff; /**< as it is now */
};

/**
 * Accept a request, once: the same one again is HANDOFF_REPEATED, another body under its id
 * HANDOFF_OTHER_ACTION, and that of another agent HANDOFF_NOT_YOURS.
 * @param body what the agent sent, a JSON object of at most LIMIT_HANDOFF_BODY_BYTES
 * @param ret_result its handoff is set unless it is HANDOFF_TOO_LATE or HANDOFF_NOT_YOURS
 * @return 0; RONDO_ERR_LIMIT; else why it is not known whether it was accepted: submit it again
 */
int handoff_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                   const char *body, int64_t now_ns, struct handoff_result *ret_result,
                   struct rondo_error *err);

/**
 * Carry out a command.
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_BUSY when others are always faster
 */
int handoff_act(const struct handoff_store *handoffs, const char *request_id,
                const struct handoff_command *command, const struct handoff_note *note,
                int64_t now_ns, struct handoff_result *ret_result, struct rondo_error *err);

/** Let time do what is due with a handoff. As handoff_act; HANDOFF_REPEATED = nothing was due. */
int handoff_wake(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                 struct handoff_result *ret_result, struct rondo_error *err);

/** Read a handoff. RONDO_ERR_NOT_FOUND. */
int handoff_read(const struct handoff_store *handoffs, const char *request_id,
                 struct handoff *ret_handoff, struct rondo_error *err);

/** @return whether to continue */
typedef bool handoff_fn(const struct handoff *handoff, void *context);

/**
 * Read the handoffs that time or a person can still change, in order of their ids. The store may be
 * used while they are given.
 * @return RONDO_ERR_CORRUPT when a record is damaged; all others were given
 */
int handoff_read_open(const struct handoff_store *handoffs, handoff_fn *fn, void *context,
                      struct rondo_error *err);

/** Append what the agent sent with a revision, JSON. RONDO_ERR_NOT_FOUND. */
int handoff_read_body(const struct handoff_store *handoffs, const char *request_id,
                      uint32_t revision, struct buf *ret_json, struct rondo_error *err);

/** Something that was said, with what was done. Texts are borrowed for the call. */
struct handoff_remark {
    const char *kind; /**< "handoff.rejected", ...: handoff_fact_name() */
    const char *actor;
    int64_t time_ns;
    const char *details; /**< as given: struct handoff_note */
};

/** @return whether to continue */
typedef bool handoff_remark_fn(const struct handoff_remark *remark, void *context);

/** Read what people and the agent said of a handoff, in its order. */
int handoff_read_thread(const struct handoff_store *handoffs, const char *request_id,
                        handoff_remark_fn *fn, void *context, struct rondo_error *err);

/** @param number of the entry @return whether to continue */
typedef bool audit_entry_fn(uint64_t number, const char *kind, const char *request_id,
                            void *context);

/**
 * Read what has changed, in its order: the entries of the audit chain after a number. The store may
 * be used while they are given.
 * @return RONDO_ERR_CORRUPT when one cannot be read
 */
int handoff_read_changes(const struct handoff_store *handoffs, uint64_t after, audit_entry_fn *fn,
                         void *context, struct rondo_error *err);

/** Entries of the audit chain now. */
int handoff_read_position(const struct handoff_store *handoffs, uint64_t *ret_position,
                          struct rondo_error *err);

/**
 * Check the whole audit chain of a store, to its head.
 * @param ret_size entries that are in order
 * @return RONDO_ERR_CORRUPT with the number of the first entry that is wrong
 */
int handoff_verify_audit(const struct handoff_store *handoffs, uint64_t *ret_size,
                         struct rondo_error *err);
