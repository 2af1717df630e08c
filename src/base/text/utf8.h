// SPDX-License-Identifier: Apache-2.0
/* UTF-8 (RFC 3629): shortest form only, no surrogates. */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Length of the well-formed sequence at `text`.
 * @param len bytes available, at least 1
 * @return 1 to 4, or 0 when the bytes there are not UTF-8
 */
size_t utf8_sequence_len(const char *text, size_t len);

/** Append a code point, at most 0x10ffff; its meaning is the caller's concern. */
void utf8_append(struct buf *buf, uint32_t point);
