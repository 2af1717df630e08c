// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of the Standard Webhooks specification 1.0, "Signature scheme", symmetric: HMAC-SHA256
 * over "ID.TIMESTAMP.BODY" with the bytes after "whsec_".
 */
#include "alert/sink_sign.h"

#include "base/error.h"
#include "base/hmac.h"
#include "base/text/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX     "whsec_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

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
    struct hmac hmac = hmac_begin(key, key_len);
    hmac_add(&hmac, id, strlen(id));
    hmac_add(&hmac, head, strlen(head));
    hmac_add(&hmac, body, len);
    hmac_finish(&hmac, mac);
    explicit_bzero(key, sizeof(key));
    buf_append_string(ret_value, "v1,");
    base64_encode(mac, sizeof(mac), ret_value);
    return 0;
}
