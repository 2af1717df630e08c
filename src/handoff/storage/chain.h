// SPDX-License-Identifier: Apache-2.0
/*
 * The audit chain of a store as auditors use it: reading, verifying, signing, exporting. Signed
 * heads are documents of the collection `audit-signed-head`, by the number of their last entry.
 * Any thread.
 */
#pragma once

#include "base/json/json.h"
#include "handoff/audit/verify.h"
#include "handoff/storage/store.h"

#define AUDIT_SIGNED_COLLECTION "audit-signed-head"

/** What a verification has found in order. */
struct audit_report {
    uint64_t size;     /**< entries */
    uint64_t heads;    /**< signed heads that the chain passes through */
    uint64_t redacted; /**< entries whose content is hidden, and was not verified */
    char root[HANDOFF_DIGEST_SIZE];
};

/** Write the members of a report. @param message what is wrong, when it is not valid */
void audit_report_write(const struct audit_report *report, bool is_valid, const char *message,
                        struct json_writer *writer);

/**
 * Verify the whole chain of a store: its entries, its head, and all signed heads that it keeps.
 * @param keys keys that are trusted
 * @param kept a head that was kept elsewhere; NULL = none
 * @param ret_report what is in order, also on failure
 * @return RONDO_ERR_CORRUPT with the first thing that is wrong
 */
int audit_chain_verify(struct store *store, const struct audit_keys *keys,
                       const struct signed_head *kept, struct audit_report *ret_report,
                       struct rondo_error *err);

/**
 * Append an entry about something that is no change of a handoff. It is durable on return.
 * @return RONDO_ERR_BUSY when others are always faster; RONDO_ERR_INVALID for the details
 */
int audit_chain_append(struct store *store, const struct audit_fact *fact, struct rondo_error *err);

/**
 * Sign how far the chain is, and keep the head. The entries since the last signed head are verified
 * first: what was tampered with is not signed.
 */
int audit_chain_sign(struct store *store, int64_t now_ns, struct signed_head *ret_head,
                     struct rondo_error *err);

/**
 * The same if it is due: LIMIT_AUDIT_HEAD_ENTRIES entries were added since the last signed head, or
 * one, and it is a day old.
 * @param ret_is_signed whether it was
 */
int audit_chain_sign_due(struct store *store, int64_t now_ns, bool *ret_is_signed,
                         struct rondo_error *err);

/** @param entry JSON @return whether to continue */
typedef bool audit_text_fn(const char *entry, size_t len, void *context);

/** Read entries after a number, in their order. The store may be used while they are given.
 * @param limit 0 = all */
int audit_chain_read(struct store *store, uint64_t after, uint32_t limit, audit_text_fn *fn,
                     void *context, struct rondo_error *err);
