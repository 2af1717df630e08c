// SPDX-License-Identifier: Apache-2.0
/* HMAC-SHA256 (RFC 2104) over several pieces. Pure functions; any thread. */
#pragma once

#include "base/digest.h"

#include <stdbool.h>

#define HMAC_BLOCK_BYTES 64

struct hmac {
    struct digest inner;
    unsigned char block[HMAC_BLOCK_BYTES]; /**< the key; zeroed by hmac_finish */
};

/** Begin a code; must be ended with hmac_finish. @param key of any length */
struct hmac hmac_begin(const void *key, size_t len);
/** Add bytes. */
void hmac_add(struct hmac *hmac, const void *bytes, size_t len);
/** Write the result (DIGEST_SIZE bytes) and release. */
void hmac_finish(struct hmac *hmac, unsigned char *ret_code);

/** Compare `len` bytes in a time that does not depend on where they differ. */
bool hmac_equal(const void *one, const void *other, size_t len);
