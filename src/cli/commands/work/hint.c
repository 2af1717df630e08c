// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/work/hint.h"

#include "base/hmac.h"
#include "source/source.h"

#include <string.h>

/** Headers with a signature, and what stands before its hexadecimal digits. */
static const struct {
    const char *header, *prefix;
} signatures[] = {
    {"x-hub-signature-256", "sha256="},
    {"x-gitea-signature", ""},
    {"x-forgejo-signature", ""},
};

/** The digits of a signature that a request has, or NULL. */
static const char *find_digits(const struct source_delivery *delivery, size_t place)
{
    const char *text = delivery->header(delivery, signatures[place].header);
    size_t len = strlen(signatures[place].prefix);
    bool is_one = text != NULL && strncmp(text, signatures[place].prefix, len) == 0 &&
                  strlen(text) == len + DIGEST_HEX_SIZE - 1;
    return is_one ? text + len : NULL;
}

/** @param ret_code DIGEST_HEX_SIZE bytes */
static void sign(const struct source_delivery *delivery, const char *secret, char *ret_code)
{
    unsigned char code[DIGEST_SIZE];
    struct hmac hmac = hmac_begin(secret, strlen(secret));
    hmac_add(&hmac, delivery->body, delivery->body_len);
    hmac_finish(&hmac, code);
    digest_hex(code, ret_code);
}

/** Digests are compared, so that the time tells nothing of the secret's length either. */
static bool is_secret(const char *text, const char *secret)
{
    unsigned char one[DIGEST_SIZE];
    unsigned char other[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, text, strlen(text));
    digest_finish(&digest, one);
    digest = digest_begin();
    digest_add(&digest, secret, strlen(secret));
    digest_finish(&digest, other);
    return hmac_equal(one, other, DIGEST_SIZE);
}

static bool is_genuine(const struct source_delivery *delivery, const char *secret)
{
    char expected[DIGEST_HEX_SIZE] = "";
    const char *token = delivery->header(delivery, "x-gitlab-token");
    bool is_one = token != NULL && is_secret(token, secret);
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        const char *digits = find_digits(delivery, i);
        if (digits != NULL && expected[0] == '\0') {
            sign(delivery, secret, expected);
        }
        is_one = (digits != NULL && hmac_equal(digits, expected, DIGEST_HEX_SIZE - 1)) || is_one;
    }
    return is_one;
}

bool work_hint_is_genuine(struct work_hint *hint, const char *secret)
{
    if (secret == NULL || secret[0] == '\0') {
        return false;
    }
    if (hint->secret == NULL || strcmp(hint->secret, secret) != 0) {
        hint->was_genuine = is_genuine(hint->delivery, secret);
        hint->secret = secret;
    }
    return hint->was_genuine;
}
