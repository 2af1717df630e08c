// SPDX-License-Identifier: Apache-2.0
/*
 * The keys that heads of audit chains are signed with: of this user, for all stores. They are a
 * file in `audit` of the user's state folder, which no sandbox shows and no tool writes. Of former
 * keys the public half is kept, so that what they have signed can still be verified.
 *
 * Functions may be called from any thread and any process; changes exclude each other.
 */
#pragma once

#include "base/ed25519.h"
#include "base/limits.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/** Public keys that a verifier trusts. Zeroed, it trusts none. */
struct audit_keys {
    size_t count;
    unsigned char keys[LIMIT_AUDIT_KEYS][ED25519_PUBLIC_SIZE];
};

/** Whether a public key is one of them. */
bool audit_keys_have(const struct audit_keys *keys, const unsigned char *public_key);

/**
 * Trust one more, as Base64 of its 32 bytes.
 * @return RONDO_ERR_INVALID; RONDO_ERR_LIMIT
 */
int audit_keys_add(struct audit_keys *keys, const char *base64, struct rondo_error *err);

/** The public keys of this user; none is no error. */
int audit_keys_load(struct audit_keys *ret_keys, struct rondo_error *err);

/**
 * The secret key of this user, made when there is none. Zero it after use.
 * @param ret_secret ED25519_SECRET_SIZE bytes
 */
int audit_keys_secret(unsigned char *ret_secret, struct rondo_error *err);

/** Sign with a new key from now on. @return RONDO_ERR_LIMIT when LIMIT_AUDIT_KEYS are kept */
int audit_keys_rotate(struct rondo_error *err);
