// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of the Standard Webhooks specification 1.0, "Signature scheme", symmetric: HMAC-SHA256
 * (RFC 2104) over "ID.TIMESTAMP.BODY" with the bytes after "whsec_".
 */
#include "alert/sink_sign.h"

#include "base/base64.h"
#include "base/digest.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX      "whsec_"
#define PREFIX_LEN  (sizeof(PREFIX) - 1)
#define BLOCK_BYTES 64

/** Room for the longest key, and for what its padding decodes to. */
#define KEY_ROOM (SINK_KEY_MAX + 2)

static bool read_secret(const char *secret, unsigned char ret_key[KEY_ROOM], size_t *ret_len)
{
    return secret != NULL && strncmp(secret, PREFIX, PREFIX_LEN) == 0 &&
           base64_decode(secret + PREFIX_LEN, ret_key, KEY_ROOM, ret_len) &&
           *ret_len >= SINK_KEY_MIN && *ret_len <= SINK_KEY_MAX;
}

bool sink_secret_is_valid(const char *secret)
{
    unsigned char key[KEY_ROOM];
    size_t len = 0;
    bool is_valid = read_secret(secret, key, &len);
    explicit_bzero(key, sizeof(key));
    return is_valid;
}

void sink_secret_new(struct random *random, char ret_secret[SINK_SECRET_SIZE])
{
    unsigned char key[SINK_KEY_MIN];
    auto_buf struct buf text = {0};
    random->fill(random, key, sizeof(key));
    buf_append_string(&text, PREFIX);
    base64_encode(key, sizeof(key), &text);
    snprintf(ret_secret, SINK_SECRET_SIZE, "%s", buf_string(&text));
    explicit_bzero(key, sizeof(key));
    explicit_bzero(text.data, text.len);
}

/** The key of a block, XORed with a byte, at the head of a digest. */
static struct digest begin_keyed(const unsigned char *key, size_t len, unsigned char pad)
{
    unsigned char block[BLOCK_BYTES] = {0};
    memcpy(block, key, len);
    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] ^= pad;
    }
    struct digest digest = digest_begin();
    digest_add(&digest, block, sizeof(block));
    explicit_bzero(block, sizeof(block));
    return digest;
}

_Static_assert(SINK_KEY_MAX <= BLOCK_BYTES, "a longer key would have to be digested first");

int sink_sign(const char *secret, const char *id, int64_t time_s, const char *body, size_t len,
              struct buf *ret_value, struct rondo_error *err)
{
    unsigned char key[KEY_ROOM];
    unsigned char mac[DIGEST_SIZE];
    char head[32];
    size_t key_len = 0;
    if (!read_secret(secret, key, &key_len)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "secret: expected whsec_ and base64 of %d to %d bytes", SINK_KEY_MIN,
                         SINK_KEY_MAX);
    }
    snprintf(head, sizeof(head), ".%" PRId64 ".", time_s);
    struct digest inner = begin_keyed(key, key_len, 0x36);
    digest_add(&inner, id, strlen(id));
    digest_add(&inner, head, strlen(head));
    digest_add(&inner, body, len);
    digest_finish(&inner, mac);
    struct digest outer = begin_keyed(key, key_len, 0x5c);
    digest_add(&outer, mac, sizeof(mac));
    digest_finish(&outer, mac);
    explicit_bzero(key, sizeof(key));
    buf_append_string(ret_value, "v1,");
    base64_encode(mac, sizeof(mac), ret_value);
    return 0;
}
