// SPDX-License-Identifier: Apache-2.0
/*
 * Text for terminals: measured and cut by display width, wrapped. Pure but for the locale (LC_CTYPE
 * must be a UTF-8 one for widths above 1).
 */
#pragma once

#include "base/buf.h"
#include "base/text/plain.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Length of the piece at the beginning of a text: one character, or a whole colour sequence.
 * @param len       at least 1
 * @param ret_width columns that it takes
 */
size_t text_piece(const char *text, size_t len, size_t *ret_width);

/** Columns that a text takes; our own colour sequences take none. */
size_t text_width(const char *text);

/**
 * Append as much of a text as fits into `columns`; what is cut off is marked by an ellipsis.
 * Colour sequences are kept whole.
 */
void text_fit(const char *text, size_t columns, struct buf *ret_buf);

/** Append a text and spaces up to `columns`; a longer text is not cut. */
void text_pad(const char *text, size_t columns, struct buf *ret_buf);

/**
 * Append a text wrapped at spaces, each line indented. Its own line ends are kept.
 * @param columns width of a line, indentation included
 * @param first   columns that the first line has used already; it is not indented
 */
void text_wrap(const char *text, size_t indent, size_t columns, size_t first, struct buf *ret_buf);

/** Append a time in the user's time zone ("2026-11-21 06:22:28.604"). */
void text_time(int64_t time_ns, struct buf *ret_buf);

/** Append the time since then for a list ("3 min ago"). */
void text_age(int64_t ns, struct buf *ret_buf);

/**
 * Append how far a time of JSON ("2026-11-21T06:22:28.604Z") is from now ("3 min ago", "in 2 h").
 * Anything else is appended as it is.
 */
void text_moment(const char *utc, int64_t now_ns, struct buf *ret_buf);
