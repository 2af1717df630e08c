// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of messages by Standard Webhooks 1.0, "Signature scheme", in both directions: over
 * "ID.TIMESTAMP.BODY", `v1` with HMAC-SHA256 and `v1a` with Ed25519. A message has a list of
 * signatures, one for each key that is in use, so that keys can be replaced without a gap. Pure
 * functions; any thread. Keys never appear in messages.
 */
#pragma once

#include "base/buf.h"
#include "base/random.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a key of `v1`, by the specification. */
#define SIGNING_KEY_MIN 24
#define SIGNING_KEY_MAX 64
/** Of a key as text, the NUL included. */
#define SIGNING_TEXT_SIZE 96
/** Seconds that the clocks of sender and receiver may differ. */
#define SIGNING_TOLERANCE_S 300

enum signing_kind {
    SIGNING_SHARED = 0, /**< "whsec_": `v1`, signs and verifies */
    SIGNING_PUBLIC,     /**< "whpk_": `v1a`, verifies */
    SIGNING_SECRET,     /**< "whsk_": `v1a`, signs */
};

struct signing_key {
    enum signing_kind kind;
    unsigned char bytes[SIGNING_KEY_MAX];
    size_t len;
};

/** Read a key: its prefix and base64. @return RONDO_ERR_INVALID, without the key */
int signing_key_read(const char *text, struct signing_key *ret_key, struct rondo_error *err);
/** Write a key as text. @param ret_text SIGNING_TEXT_SIZE bytes */
void signing_key_write(const struct signing_key *key, char *ret_text);
/** Make a shared key. */
void signing_key_new(struct random *random, struct signing_key *ret_key);

/** A message and its headers; NULL = absent. */
struct signed_message {
    const char *id;        /**< webhook-id */
    const char *timestamp; /**< webhook-timestamp */
    const char *signature; /**< webhook-signature: a list with blanks */
    const char *body;
    size_t len;
};

enum signing_verdict {
    SIGNING_GENUINE = 0,
    SIGNING_MISSING, /**< a header is absent, or not in its form */
    SIGNING_FORGED,  /**< no signature is of one of the keys */
    SIGNING_STALE,   /**< genuine, but too old, or from the future */
};

/** Verify with any of several keys; it takes the same time wherever a signature is wrong. */
enum signing_verdict signing_verify(const struct signing_key *keys, size_t count,
                                    const struct signed_message *message, int64_t now_s);
/** The same with the bytes of one shared key of any length. */
enum signing_verdict signing_verify_shared(const void *key, size_t len,
                                           const struct signed_message *message, int64_t now_s);

/** Append a signature to a list, "v1,BASE64". @param key no SIGNING_PUBLIC @param id without "." */
void signing_sign(const struct signing_key *key, const char *id, int64_t time_s, const char *body,
                  size_t len, struct buf *ret_list);
