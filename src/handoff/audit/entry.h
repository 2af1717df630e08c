// SPDX-License-Identifier: Apache-2.0
/*
 * The audit chain: who requested, saw, decided and did what. Each entry holds the hash of the one
 * before it, and its own hash is the SHA-256 of its canonical JSON without that member. So an entry
 * that was edited, removed, added or moved is found by reading the chain; what was cut off at the
 * end is found with a head that was kept elsewhere.
 */
#pragma once

#include "base/buf.h"
#include "handoff/audit/merkle.h"
#include "handoff/handoff.h"
#include "rondo/error.h"

/** The hash before the first entry. */
#define AUDIT_FIRST_HASH "sha256:0000000000000000000000000000000000000000000000000000000000000000"

/** Something that happened. Texts that are NULL are left out. */
struct audit_fact {
    const char *kind; /**< "handoff.approved", ...: handoff_fact_name() */
    int64_t time_ns;
    const char *request_id;
    const char *decision_id;
    const char *actor; /**< who did it */
    const char *role;  /**< as what */
    const char *action_digest;
    const char *executed_digest;
    const char *result_digest;
    const char *details; /**< a JSON object */
};

/** How far a chain is. Zeroed, it is empty. */
struct audit_head {
    uint64_t size;                  /**< entries; their numbers are 1, 2, 3, ... */
    char hash[HANDOFF_DIGEST_SIZE]; /**< of the last one; "" of an empty chain */
    struct merkle merkle;           /**< over the hashes, as text */
};

/**
 * Append a fact to a chain.
 * @param ret_entry its JSON; left as it was on failure, as is the head
 * @return RONDO_ERR_INVALID when the details are no JSON object or have no canonical form
 */
int audit_append(struct audit_head *head, const struct audit_fact *fact, struct buf *ret_entry,
                 struct rondo_error *err);

/**
 * Check the next entry of a chain, and take it in. Stop at the first failure.
 * @return RONDO_ERR_CORRUPT with the number of the entry and what is wrong
 */
int audit_check(struct audit_head *head, const char *entry, size_t len, struct rondo_error *err);

/** Member of an exported entry that lists what was hidden in it, as JSON pointers. */
#define AUDIT_REDACTED "redacted"

/**
 * The same for an entry of an exported file, in which values may be hidden: it says so itself. Then
 * its hash cannot be that of its content; that it is in its place is checked as always.
 */
int audit_check_redacted(struct audit_head *head, const char *entry, size_t len,
                         bool *ret_is_redacted, struct rondo_error *err);

/** The root over all entries, in the text form of a digest. @param ret_root HANDOFF_DIGEST_SIZE */
void audit_root(const struct audit_head *head, char *ret_root);

/** A head as a document, of format 1. */
void audit_head_encode(const struct audit_head *head, struct buf *ret_json);
/** @return RONDO_ERR_CORRUPT when it is none; then nothing must be appended to its chain */
int audit_head_decode(const char *data, size_t len, struct audit_head *ret_head,
                      struct rondo_error *err);
