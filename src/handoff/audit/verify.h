// SPDX-License-Identifier: Apache-2.0
/*
 * A verification of an audit chain against signed heads: add the heads, then the entries in their
 * order, then finish. One thread at a time.
 */
#pragma once

#include "handoff/audit/signed.h"

struct audit_verifier {
    struct audit_head head;    /**< of the entries so far */
    struct signed_head *heads; /**< owned; by size once entries are added */
    size_t head_count;
    size_t head_room;
    size_t passed;     /**< heads that entries have reached */
    uint64_t redacted; /**< entries of which only the place is known */
    bool has_begun;
};

/** Release what it holds. */
void audit_verifier_fini(struct audit_verifier *verifier);

/**
 * Add a head that the chain must pass through, before the first entry.
 * @return RONDO_ERR_CORRUPT when its signature is not one of `keys`
 */
int audit_verifier_expect(struct audit_verifier *verifier, const struct signed_head *head,
                          const struct audit_keys *keys, struct rondo_error *err);

/**
 * Check the next entry.
 * @param may_be_redacted whether an entry may say that its content is hidden: of such a one the
 *        hash is believed, and linked to the others
 * @return RONDO_ERR_CORRUPT with its number and what is wrong; do not continue then
 */
int audit_verifier_add(struct audit_verifier *verifier, const char *entry, size_t len,
                       bool may_be_redacted, struct rondo_error *err);

/** Check a head against the entries so far, its signature too. */
int audit_verifier_compare(const struct audit_verifier *verifier, const struct signed_head *head,
                           const struct audit_keys *keys, struct rondo_error *err);

/** The chain ends here. @return RONDO_ERR_CORRUPT when a head names more entries */
int audit_verifier_finish(struct audit_verifier *verifier, struct rondo_error *err);
