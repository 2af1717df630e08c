// SPDX-License-Identifier: Apache-2.0
#include "source/webhook/hook_signature.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/hmac.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/base64.h"
#include "base/text/signing.h"
#include "tool/builtin/http_call.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STANDARD_PREFIX     "whsec_"
#define STANDARD_PREFIX_LEN (sizeof(STANDARD_PREFIX) - 1)
/** What the loader writes for a secret that the role leaves out. */
#define NO_SECRET "<generated>"

/* ---- The key --------------------------------------------------------------------------------- */

static enum hook_scheme scheme_of(struct json_object *trigger, const char *secret)
{
    const char *name = json_get_string(trigger, "signature", "");
    if (strcmp(name, "bearer") == 0) {
        return HOOK_BEARER;
    }
    if (strcmp(name, "standard") == 0) {
        return HOOK_STANDARD;
    }
    bool is_standard = strncmp(secret, STANDARD_PREFIX, STANDARD_PREFIX_LEN) == 0;
    return name[0] == '\0' && is_standard ? HOOK_STANDARD : HOOK_GITHUB;
}

/** Keep the bytes after "whsec_". */
static int keep_standard(const char *text, struct hook_key *key, struct rondo_error *err)
{
    size_t room = strlen(text);
    size_t len = 0;
    char *bytes = memory_new(room + 1);
    if (strncmp(text, STANDARD_PREFIX, STANDARD_PREFIX_LEN) != 0 ||
        !base64_decode(text + STANDARD_PREFIX_LEN, (unsigned char *)bytes, room, &len) ||
        len == 0) {
        explicit_bzero(bytes, room);
        free(bytes);
        return error_set(err, RONDO_ERR_INVALID,
                         "the secret of a webhook with the signature `standard` is whsec_ and "
                         "base64");
    }
    bytes[len] = '\0';
    key->secret = (struct secret){.bytes = bytes, .len = len};
    return 0;
}

static int keep_secret(struct json_object *trigger, const char *text, struct hook_key *key,
                       struct rondo_error *err)
{
    if (text[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "the webhook's secret is empty");
    }
    if (strlen(text) > LIMIT_HOOK_SECRET_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "the webhook's secret is longer than %ld bytes",
                         LIMIT_HOOK_SECRET_BYTES);
    }
    key->scheme = scheme_of(trigger, text);
    if (key->scheme == HOOK_STANDARD) {
        return keep_standard(text, key, err);
    }
    key->secret = (struct secret){.bytes = memory_dup_string(text), .len = strlen(text)};
    return 0;
}

static int open_secret(struct json_object *trigger, const char *written,
                       const struct dotenv *dotenv, struct hook_key *key, struct rondo_error *err)
{
    auto_free char *missing = NULL;
    char *text = tool_expand(dotenv, written, &missing);
    int r = missing == NULL
                ? keep_secret(trigger, text, key, err)
                : error_set(err, RONDO_ERR_INVALID,
                            "the webhook's secret needs the environment variable %.64s, which is "
                            "not set",
                            missing);
    secret_free_string(text);
    return r;
}

bool hook_key_is_left_out(struct json_object *trigger)
{
    return strcmp(json_get_string(trigger, "secret", NO_SECRET), NO_SECRET) == 0 &&
           !json_get_bool(trigger, "unsigned", false);
}

int hook_key_take(struct json_object *trigger, const char *secret, struct hook_key *ret_key,
                  struct rondo_error *err)
{
    struct hook_key key = {0};
    int r = keep_secret(trigger, secret, &key, err);
    if (r == 0) {
        *ret_key = key;
    }
    return r;
}

int hook_key_open(struct json_object *trigger, const struct dotenv *dotenv,
                  struct hook_key *ret_key, struct rondo_error *err)
{
    const char *written = json_get_string(trigger, "secret", NO_SECRET);
    bool has_secret = strcmp(written, NO_SECRET) != 0;
    bool is_unsigned = json_get_bool(trigger, "unsigned", false);
    struct hook_key key = {0};
    if (hook_key_is_left_out(trigger)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the webhook has no secret; give it a `secret`, or let anybody start the "
                         "agent with `unsigned: true`");
    }
    if (has_secret && is_unsigned) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the webhook has a `secret` and `unsigned: true`; remove one of them");
    }
    int r = has_secret ? open_secret(trigger, written, dotenv, &key, err) : 0;
    if (r == 0) {
        *ret_key = key;
    }
    return r;
}

void hook_key_fini(struct hook_key *key)
{
    secret_fini(&key->secret);
    *key = (struct hook_key){0};
}

/* ---- Requests -------------------------------------------------------------------------------- */

/** Read 64 hexadecimal digits and nothing after them. */
static bool read_hex(const char *text, unsigned char ret_code[DIGEST_SIZE])
{
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int byte = ascii_hex_byte(text + 2 * i);
        if (byte < 0) {
            return false;
        }
        ret_code[i] = (unsigned char)byte;
    }
    return text[2 * DIGEST_SIZE] == '\0';
}

static enum hook_verdict verify_github(const struct hook_key *key,
                                       const struct hook_message *message)
{
    static const char prefix[] = "sha256=";
    unsigned char given[DIGEST_SIZE];
    unsigned char expected[DIGEST_SIZE];
    const char *text = message->hub_signature;
    if (text == NULL || strncmp(text, prefix, sizeof(prefix) - 1) != 0 ||
        !read_hex(text + sizeof(prefix) - 1, given)) {
        return HOOK_MISSING;
    }
    struct hmac hmac = hmac_begin(key->secret.bytes, key->secret.len);
    hmac_add(&hmac, message->body, message->len);
    hmac_finish(&hmac, expected);
    return hmac_equal(given, expected, sizeof(expected)) ? HOOK_GENUINE : HOOK_FORGED;
}

static enum hook_verdict verify_standard(const struct hook_key *key,
                                         const struct hook_message *message)
{
    struct signed_message sent = {
        .id = message->webhook_id,
        .timestamp = message->webhook_timestamp,
        .signature = message->webhook_signature,
        .body = message->body,
        .len = message->len,
    };
    switch (signing_verify_shared(key->secret.bytes, key->secret.len, &sent, message->now_s)) {
    case SIGNING_GENUINE:
        return HOOK_GENUINE;
    case SIGNING_MISSING:
        return HOOK_MISSING;
    case SIGNING_FORGED:
        return HOOK_FORGED;
    case SIGNING_STALE:
        return HOOK_STALE;
    }
    return HOOK_FORGED;
}

/** Digests are compared, so that neither content nor length shows in the time. */
static void digest_text(const char *text, size_t len, unsigned char *ret_digest)
{
    struct digest digest = digest_begin();
    digest_add(&digest, text, len);
    digest_finish(&digest, ret_digest);
}

static enum hook_verdict verify_bearer(const struct hook_key *key,
                                       const struct hook_message *message)
{
    static const char scheme[] = "Bearer ";
    unsigned char given[DIGEST_SIZE];
    unsigned char expected[DIGEST_SIZE];
    const char *text = message->authorization;
    if (text == NULL || strncasecmp(text, scheme, sizeof(scheme) - 1) != 0) {
        return HOOK_MISSING;
    }
    text += sizeof(scheme) - 1;
    digest_text(text, strlen(text), given);
    digest_text(key->secret.bytes, key->secret.len, expected);
    return hmac_equal(given, expected, sizeof(expected)) ? HOOK_GENUINE : HOOK_FORGED;
}

enum hook_verdict hook_verify(const struct hook_key *key, const struct hook_message *message)
{
    switch (key->scheme) {
    case HOOK_UNSIGNED:
        return HOOK_GENUINE;
    case HOOK_GITHUB:
        return verify_github(key, message);
    case HOOK_STANDARD:
        return verify_standard(key, message);
    case HOOK_BEARER:
        return verify_bearer(key, message);
    }
    return HOOK_FORGED;
}

const char *hook_verdict_text(enum hook_verdict verdict)
{
    switch (verdict) {
    case HOOK_GENUINE:
        return "genuine";
    case HOOK_MISSING:
        return "no signature";
    case HOOK_FORGED:
        return "invalid signature";
    case HOOK_STALE:
        return "the signature is too old, or from the future";
    }
    return "invalid signature";
}
