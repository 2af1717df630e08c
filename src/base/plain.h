// SPDX-License-Identifier: Apache-2.0
/* Text from outside made safe to show anywhere, and money in text form. Pure; any thread. */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Append one line made safe: escape sequences and control characters are dropped, tabs become a
 * space, line ends a space, bytes that are not UTF-8 become U+FFFD.
 */
void text_clean(const char *text, size_t len, struct buf *ret_buf);

/** Length of the escape sequence (ECMA-48) at `text`, which begins with ESC. */
size_t text_escape_len(const char *text, size_t len);

/** Append money ("0.25"): a JSON number, too. @param micro millionths */
void text_money(int64_t micro, struct buf *ret_buf);

/** A cost that nobody knows: a model without a price, or tokens that were not told. */
#define COST_UNKNOWN INT64_C(-1)

/** Append a cost for people: as money, or "unknown" below 0. */
void text_cost(int64_t micro, struct buf *ret_buf);

/** Append a cost for programs: as money, or "null" below 0. */
void text_cost_json(int64_t micro, struct buf *ret_buf);
