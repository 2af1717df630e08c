// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a webhook's request comes from somebody who knows the secret. Three schemes, of which a
 * webhook has one, so that no request can choose a weaker one:
 *
 *   github    X-Hub-Signature-256: sha256=HEX, HMAC-SHA256 over the body ("Validating webhook
 *             deliveries" in GitHub's documentation)
 *   standard  webhook-id, webhook-timestamp, webhook-signature of Standard Webhooks 1.0:
 * HMAC-SHA256 over "ID.TIMESTAMP.BODY" with the bytes after "whsec_"; several signatures, of which
 *             one suffices; a timestamp that is SIGNING_TOLERANCE_S off is stale
 *   bearer    Authorization: Bearer SECRET
 *
 * Pure but for memory; any thread. Secrets never appear in messages.
 */
#pragma once

#include "model/key/secret.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dotenv;
struct json_object;

enum hook_scheme {
    HOOK_UNSIGNED = 0, /**< `unsigned: true`: anybody may call */
    HOOK_GITHUB,
    HOOK_STANDARD,
    HOOK_BEARER,
};

struct hook_key {
    enum hook_scheme scheme;
    struct secret secret; /**< the bytes that sign; of `bearer` the text itself */
};

/**
 * Read the key of a webhook.
 * @param trigger the trigger in normal form: `secret`, `signature`, `unsigned`. Without `signature`
 *        a secret that begins with "whsec_" is of the scheme `standard`, another one of `github`
 * @param dotenv variables for ${NAME} in the secret; NULL = none
 * @param ret_key hook_key_fini()
 * @return RONDO_ERR_INVALID: no secret and not unsigned (hook_key_is_left_out()), a variable that
 * is not set, an empty secret, one that is no key of its scheme, or longer than
 * LIMIT_HOOK_SECRET_BYTES
 */
int hook_key_open(struct json_object *trigger, const struct dotenv *dotenv,
                  struct hook_key *ret_key, struct rondo_error *err);
/** Whether a trigger has neither a secret nor `unsigned: true`. */
bool hook_key_is_left_out(struct json_object *trigger);
/** The same for such a trigger, with a secret that was made for it; `$` in it is no variable. */
int hook_key_take(struct json_object *trigger, const char *secret, struct hook_key *ret_key,
                  struct rondo_error *err);
/** Zero and release. A zeroed one is allowed. */
void hook_key_fini(struct hook_key *key);

/** What a request brought. Headers are NULL where they are absent. */
struct hook_message {
    const char *hub_signature;     /**< X-Hub-Signature-256 */
    const char *webhook_id;        /**< webhook-id */
    const char *webhook_timestamp; /**< webhook-timestamp */
    const char *webhook_signature; /**< webhook-signature */
    const char *authorization;     /**< Authorization */
    const char *body;
    size_t len;
    int64_t now_s; /**< seconds since 1970 */
};

enum hook_verdict {
    HOOK_GENUINE = 0,
    HOOK_MISSING, /**< what the scheme needs is not there, or not in its form */
    HOOK_FORGED,  /**< the signature or the secret is wrong */
    HOOK_STALE,   /**< genuine, but too old, or too far in the future */
};

/** Check a request. Takes the same time wherever a signature is wrong. */
enum hook_verdict hook_verify(const struct hook_key *key, const struct hook_message *message);

/** The verdict in words, for the answer: "invalid signature". */
const char *hook_verdict_text(enum hook_verdict verdict);
