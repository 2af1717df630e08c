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
 * person can still change it: handoff/summary.h), `handoff-count` and `handoff-action`
 * (handoff/storage/change.h), `handoff-body` (by request id and revision: what the agent sent),
 * `handoff-thread` (by request id and number of the entry: what people and the agent said),
 * `handoff-outbox` (by agent and number of the entry), `handoff-once` (by key: the entry of a fact
 * that is recorded once), `audit` (by number), `audit-head`.
 */
#pragma once

#include "handoff/step.h"
#include "handoff/storage/count.h"
#include "handoff/summary.h"
#include "rondo/error.h"
#include "store/store.h"

#define HANDOFF_COLLECTION        "handoff"
#define HANDOFF_OPEN_COLLECTION   "handoff-open"
#define HANDOFF_BODY_COLLECTION   "handoff-body"
#define HANDOFF_THREAD_COLLECTION "handoff-thread"
#define HANDOFF_OUTBOX_COLLECTION "handoff-outbox"
#define HANDOFF_ONCE_COLLECTION   "handoff-once"
#define AUDIT_COLLECTION          "audit"
#define AUDIT_HEAD_COLLECTION     "audit-head"

struct desks;
struct handoff_clock;

/** The desk of requests that nothing routes elsewhere. */
#define HANDOFF_DESK "operators"
/** Who makes room for a request when there is none (ON_FULL_SHED). */
#define HANDOFF_SHEDDER "system:lanes"

/** Where handoffs are, and their rules. Constant; any thread. */
struct handoff_store {
    struct store *store;
    const struct handoff_rules *rules;
    const struct handoff_bounds *bounds; /**< NULL = none */
    struct handoff_clock
        *clock; /**< the time of handoffs (storage/clock.h); NULL = read from store */
    const struct desks *desks; /**< who decides; NULL = all on one desk (handoff/inbox/inbox.h) */
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
    uint64_t entry;         /**< the last entry of the audit chain that it made; 0 = none */
    char entry_hash[HANDOFF_DIGEST_SIZE];
};

/**
 * Accept a request, once: the same one again is HANDOFF_REPEATED, another body under its id
 * HANDOFF_OTHER_ACTION, and that of another agent HANDOFF_NOT_YOURS. When the same action waits in
 * its lane, that is HANDOFF_JOINED. When as many wait as may, older ones of low priority are
 * expired if the desk file says so; else it is HANDOFF_FULL, and nothing is accepted.
 * @param body what the agent sent, a JSON object of at most LIMIT_HANDOFF_BODY_BYTES
 * @param ret_result its handoff is set unless it is HANDOFF_TOO_LATE, HANDOFF_FULL or
 * HANDOFF_NOT_YOURS
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

/** @return whether to continue */
typedef bool handoff_summary_fn(const struct handoff_summary *summary, void *context);

/** The same as handoff_read_open with what lists show of them; reads neither records nor requests.
 */
int handoff_read_summaries(const struct handoff_store *handoffs, handoff_summary_fn *fn,
                           void *context, struct rondo_error *err);

/** What lists show of one. RONDO_ERR_NOT_FOUND when nothing can change it any more. */
int handoff_read_summary(const struct handoff_store *handoffs, const char *request_id,
                         struct handoff_summary *ret_summary, struct rondo_error *err);

/** Append what the agent sent with a revision, JSON. RONDO_ERR_NOT_FOUND. */
int handoff_read_body(const struct handoff_store *handoffs, const char *request_id,
                      uint32_t revision, struct buf *ret_json, struct rondo_error *err);

/** Something that was said, with what was done. Texts are borrowed for the call. */
struct handoff_remark {
    const char *kind; /**< "handoff.rejected", ...: handoff_fact_name() */
    const char *actor;
    const char *role;        /**< "" = none */
    const char *decision_id; /**< "" = none */
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

struct audit_fact;

/**
 * Append a fact that changes no handoff to the audit chain.
 * @param ret_number of its entry
 * @param ret_hash HANDOFF_DIGEST_SIZE bytes
 * @return 0; RONDO_ERR_INVALID as audit_append; RONDO_ERR_BUSY
 */
int handoff_add_fact(const struct handoff_store *handoffs, const struct audit_fact *fact,
                     uint64_t *ret_number, char *ret_hash, struct rondo_error *err);

/** What makes a fact the same one again. */
struct handoff_once {
    const char *key;    /**< a name of at most STORE_KEY_LEN bytes */
    const char *digest; /**< of what was said under it, HANDOFF_DIGEST_SIZE */
};

/**
 * The same, once: again under its key it is HANDOFF_REPEATED with the entry that there is, or
 * HANDOFF_OTHER_ACTION when something else was said under the key.
 */
int handoff_add_fact_once(const struct handoff_store *handoffs, const struct audit_fact *fact,
                          const struct handoff_once *once, enum handoff_outcome *ret_outcome,
                          uint64_t *ret_number, char *ret_hash, struct rondo_error *err);

/** Entries of the audit chain now. */
int handoff_read_position(const struct handoff_store *handoffs, uint64_t *ret_position,
                          struct rondo_error *err);
