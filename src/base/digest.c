// SPDX-License-Identifier: Apache-2.0
/*
 * SHA-256 through OpenSSL's own functions instead of EVP: fetching an algorithm loads the provider,
 * its tables and the configuration file, which costs 2 MiB and a third of a millisecond in every
 * process, and nothing here needs an algorithm that can be exchanged.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/digest.h"

#include "base/memory.h"

#include <openssl/sha.h>
#include <stdlib.h>

struct digest digest_begin(void)
{
    SHA256_CTX *context = memory_new(sizeof(*context));
    SHA256_Init(context);
    return (struct digest){.context = context};
}

void digest_add(struct digest *digest, const void *bytes, size_t len)
{
    if (len > 0) {
        SHA256_Update(digest->context, bytes, len);
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
    SHA256_Final(ret_digest, digest->context);
    free(digest->context);
    digest->context = NULL;
}

void digest_hex(const unsigned char *digest, char *ret_hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 0xF];
    }
    ret_hex[DIGEST_HEX_SIZE - 1] = '\0';
}
