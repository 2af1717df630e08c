// SPDX-License-Identifier: Apache-2.0
/* SHA-256 through OpenSSL's EVP. It can fail only for want of memory, which aborts. */
#include "base/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

static void require(int success)
{
    if (success != 1) {
        abort();
    }
}

struct digest digest_begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    require(context != NULL);
    require(EVP_DigestInit_ex(context, EVP_sha256(), NULL));
    return (struct digest){.context = context};
}

void digest_add(struct digest *digest, const void *bytes, size_t len)
{
    if (len > 0) {
        require(EVP_DigestUpdate(digest->context, bytes, len));
    }
}

void digest_add_u64(struct digest *digest, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> (56 - 8 * i));
    }
    digest_add(digest, bytes, sizeof(bytes));
}

void digest_finish(struct digest *digest, unsigned char *ret_digest)
{
    unsigned int len = 0;
    require(EVP_DigestFinal_ex(digest->context, ret_digest, &len));
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
}

void digest_hex(const unsigned char *digest, char *ret_hex)
{
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
    }
}
