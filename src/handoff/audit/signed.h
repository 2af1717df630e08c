// SPDX-License-Identifier: Apache-2.0
/*
 * Signed heads of an audit chain: how long it was at a moment, and the root of the Merkle tree over
 * its entries. One that is kept where the owner of the store cannot change it proves later that no
 * entry up to it was changed, removed, added, moved or cut off. Pure functions; any thread.
 *
 * The signature is that of "rondo-audit-head-v1\n" and the canonical form of the head's JSON
 * without its member `signature`.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "handoff/audit/entry.h"
#include "handoff/audit/keys.h"

struct signed_head {
    uint64_t size;
    char hash[HANDOFF_DIGEST_SIZE]; /**< of the last entry; "" = there is none */
    char root[HANDOFF_DIGEST_SIZE];
    char time[CLOCK_UTC_SIZE];
    unsigned char key[ED25519_PUBLIC_SIZE];
    unsigned char signature[ED25519_SIGNATURE_SIZE];
};

/** Sign how far a chain is. */
void signed_head_make(const struct audit_head *head, int64_t now_ns, const unsigned char *secret,
                      struct signed_head *ret_head);

/** Append a head as JSON, of format 1. */
void signed_head_encode(const struct signed_head *head, struct buf *ret_json);

/** @return RONDO_ERR_INVALID when it is none; its signature is not checked */
int signed_head_decode(const char *json, size_t len, struct signed_head *ret_head,
                       struct rondo_error *err);

/** Check the signature. @return RONDO_ERR_CORRUPT when none of the keys has made it */
int signed_head_check(const struct signed_head *head, const struct audit_keys *keys,
                      struct rondo_error *err);
