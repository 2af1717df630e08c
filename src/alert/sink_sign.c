// SPDX-License-Identifier: Apache-2.0
/* Secrets of sinks, and what they sign. */
#include "alert/sink_sign.h"

#include "base/error.h"
#include "base/text/signing.h"

#include <string.h>

static bool read_secret(const char *secret, struct signing_key *ret_key)
{
    return secret != NULL && signing_key_read(secret, ret_key, NULL) == 0 &&
           ret_key->kind == SIGNING_SHARED;
}

bool sink_secret_is_valid(const char *secret)
{
    struct signing_key key;
    bool is_valid = read_secret(secret, &key);
    explicit_bzero(&key, sizeof(key));
    return is_valid;
}

void sink_secret_new(struct random *random, char ret_secret[SINK_SECRET_SIZE])
{
    struct signing_key key;
    signing_key_new(random, &key);
    signing_key_write(&key, ret_secret);
    explicit_bzero(&key, sizeof(key));
}

int sink_sign(const char *secret, const char *id, int64_t time_s, const char *body, size_t len,
              struct buf *ret_value, struct rondo_error *err)
{
    struct signing_key key;
    if (!read_secret(secret, &key)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "secret: expected whsec_ and base64 of %d to %d bytes", SIGNING_KEY_MIN,
                         SIGNING_KEY_MAX);
    }
    signing_sign(&key, id, time_s, body, len, ret_value);
    explicit_bzero(&key, sizeof(key));
    return 0;
}
