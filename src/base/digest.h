// SPDX-License-Identifier: Apache-2.0
/* SHA-256 (FIPS 180-4) over several pieces, through OpenSSL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE     32
#define DIGEST_HEX_SIZE 65

struct digest {
    void *context; /**< the library's */
};

/** Begin a digest; must be ended with digest_finish. */
struct digest digest_begin(void);
/** Add bytes. */
void digest_add(struct digest *digest, const void *bytes, size_t len);
/** Add a 64-bit number, big-endian, so that neighbouring fields cannot run into each other. */
void digest_add_u64(struct digest *digest, uint64_t number);
/** Write the result (DIGEST_SIZE bytes) and release. */
void digest_finish(struct digest *digest, unsigned char *ret_digest);
/** Lower-case hexadecimal form, DIGEST_HEX_SIZE bytes with the NUL. */
void digest_hex(const unsigned char *digest, char *ret_hex);
