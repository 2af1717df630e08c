// SPDX-License-Identifier: Apache-2.0
/* Base64 (RFC 4648, section 4). Pure; any thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/** Append the encoded bytes, padded. */
void base64_encode(const void *bytes, size_t len, struct buf *ret_buf);

/**
 * Decode a text with its padding and nothing else.
 * @param size room in `ret_bytes`: 3 bytes for every 4 characters, the padding included
 * @return whether it is valid and fits
 */
bool base64_decode(const char *text, unsigned char *ret_bytes, size_t size, size_t *ret_len);
