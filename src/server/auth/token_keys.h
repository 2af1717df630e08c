// SPDX-License-Identifier: Apache-2.0
/* Keys with which requests of agents are signed, as the document of a token has them: members
 * `signing` and `keys`. Pure; any thread. */
#pragma once

#include "base/json/json.h"
#include "base/text/signing.h"

/** Keys of one token that count at once: while one is replaced, two do. */
#define TOKEN_KEYS 3

/** Whether requests with a token of scope `agent` are signed (base/text/signing.h). */
enum token_signing {
    SIGNING_NONE = 0, /**< it has no key */
    SIGNING_OPTIONAL, /**< what is signed must be right */
    SIGNING_REQUIRED, /**< what changes something must be signed */
    SIGNING_COUNT
};

/** Keys of a token that count. */
struct token_keys {
    struct signing_key keys[TOKEN_KEYS];
    size_t count;
    bool are_required; /**< what changes something must be signed */
};

/**
 * Write the members of a new token.
 * @param public_key "whpk_..."; NULL = a secret is made
 * @param ret_secret as token_create
 */
void token_keys_write(struct json_writer *writer, enum token_signing signing,
                      const char *public_key, char *ret_secret);

/** Read the keys that count now. */
void token_keys_read(struct json_object *token, int64_t now_ns, struct token_keys *ret_keys);

/** Add a new secret to the document of a token; the former ones end. As token_rotate. */
int token_keys_rotate(struct json_object *token, int64_t now_ns, int64_t overlap_ns,
                      char *ret_secret, struct rondo_error *err);
