// SPDX-License-Identifier: Apache-2.0
#include "base/hmac.h"

#include <openssl/crypto.h>
#include <string.h>

/** A digest that begins with the block XORed with a byte. */
static struct digest begin_keyed(const unsigned char *block, unsigned char pad)
{
    unsigned char padded[HMAC_BLOCK_BYTES];
    for (size_t i = 0; i < sizeof(padded); i++) {
        padded[i] = block[i] ^ pad;
    }
    struct digest digest = digest_begin();
    digest_add(&digest, padded, sizeof(padded));
    explicit_bzero(padded, sizeof(padded));
    return digest;
}

struct hmac hmac_begin(const void *key, size_t len)
{
    struct hmac hmac = {0};
    if (len > sizeof(hmac.block)) {
        struct digest digest = digest_begin();
        digest_add(&digest, key, len);
        digest_finish(&digest, hmac.block);
    } else if (len > 0) {
        memcpy(hmac.block, key, len);
    }
    hmac.inner = begin_keyed(hmac.block, 0x36);
    return hmac;
}

void hmac_add(struct hmac *hmac, const void *bytes, size_t len)
{
    digest_add(&hmac->inner, bytes, len);
}

void hmac_finish(struct hmac *hmac, unsigned char *ret_code)
{
    digest_finish(&hmac->inner, ret_code);
    struct digest outer = begin_keyed(hmac->block, 0x5c);
    digest_add(&outer, ret_code, DIGEST_SIZE);
    digest_finish(&outer, ret_code);
    explicit_bzero(hmac->block, sizeof(hmac->block));
}

bool hmac_equal(const void *one, const void *other, size_t len)
{
    return CRYPTO_memcmp(one, other, len) == 0;
}
