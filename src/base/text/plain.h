// SPDX-License-Identifier: Apache-2.0
/* Text from outside made safe to show anywhere; money, sizes and counts in text form. Pure; any
 * thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Append one line made safe: escape sequences, control characters and hidden ones are dropped;
 * tabs, line ends and blanks that are none of ASCII become a space, bytes that are not UTF-8
 * U+FFFD. Everything from outside goes through this, or text_clean_lines, before a terminal shows
 * it.
 */
void text_clean(const char *text, size_t len, struct buf *ret_buf);

/** The same of several lines: line ends and tabs stay. */
void text_clean_lines(const char *text, size_t len, struct buf *ret_buf);

/** The code point of a well-formed sequence of that length. */
uint32_t text_point(const char *text, size_t sequence);

/**
 * Whether a character is not seen, looks like a blank, or turns the direction of writing: C1
 * controls, zero-width and format characters, bidirectional overrides, tags, variation selectors.
 */
bool text_is_hidden(uint32_t point);

/**
 * Append JSON with every hidden character written as an escape, which means the same. What is no
 * JSON stays text, in which nothing is hidden.
 */
void text_escape_hidden(const char *json, size_t len, struct buf *ret_buf);

/** Length of the escape sequence (ECMA-48) at `text`, which begins with ESC. */
size_t text_escape_len(const char *text, size_t len);

/** Append money ("0.25"): a JSON number, too. @param micro millionths */
void text_money(int64_t micro, struct buf *ret_buf);

/** A cost that nobody knows: a model without a price, or tokens that were not reported. */
#define COST_UNKNOWN INT64_C(-1)

/** Append a cost for people: as money, or "unknown" below 0. */
void text_cost(int64_t micro, struct buf *ret_buf);

/** Append a cost for programs: as money, or "null" below 0. */
void text_cost_json(int64_t micro, struct buf *ret_buf);

/** Append bytes as "1.2 KiB". */
void text_bytes(uint64_t bytes, struct buf *ret_buf);

/** The first digits of a digest, which people compare. */
#define TEXT_DIGEST_LEN 12

/** Append a count with separators ("12,345"). */
void text_count(int64_t number, struct buf *ret_buf);
