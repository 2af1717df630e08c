// SPDX-License-Identifier: Apache-2.0
/*
 * Words with marks (bold, code, ...): gathered, broken into lines by display width, and written
 * with colour sequences. The text itself holds no control characters but line ends, so whatever a
 * model says, only our own sequences reach the terminal. Pure but for the locale, as
 * cli/terminal/text.h.
 */
#pragma once

#include "base/buf.h"
#include "cli/terminal/style.h"

#include <stdbool.h>
#include <stddef.h>

/** Marks of a character; they can be combined. */
enum markdown_mark {
    MARKDOWN_STRONG = 1,
    MARKDOWN_EMPHASIS = 2,
    MARKDOWN_CODE = 4,
    MARKDOWN_STRUCK = 8,
    MARKDOWN_UNDERLINED = 16,
    MARKDOWN_FAINT = 32,
    MARKDOWN_DONE = 64, /**< green */
};

/** Zeroed = empty. */
struct markdown_text {
    struct buf text;
    struct buf marks; /**< one byte for each byte of the text */
};

void markdown_text_fini(struct markdown_text *text);
void markdown_text_clear(struct markdown_text *text);

/**
 * Append words; runs of white space become one space.
 * @param bytes cleaned of control characters but tabs and line ends
 * @param marks of enum markdown_mark
 */
void markdown_text_add(struct markdown_text *text, const char *bytes, size_t len, unsigned marks);

/** Append a text as it is, but for tabs (spaces up to the next multiple of four). */
void markdown_text_add_verbatim(struct markdown_text *text, const char *bytes, size_t len,
                                unsigned marks);

/** Append a line end that stays. */
void markdown_text_break(struct markdown_text *text);

/** A line: bytes from begin to end; the next one begins at `next`. */
struct markdown_line {
    size_t begin;
    size_t end;
    size_t next;
};

/**
 * Find the line that begins at `at`: as many words as fit; a longer word is broken.
 * @param columns     at least 2
 * @param is_verbatim break anywhere, keep all spaces
 * @return false at the end of the text
 */
bool markdown_text_line(const struct markdown_text *text, size_t at, size_t columns,
                        bool is_verbatim, struct markdown_line *ret_line);

/** Columns of a line. */
size_t markdown_text_width(const struct markdown_text *text, const struct markdown_line *line);

/** Append a line with its colours, which end with it. @param marks added to those of the text */
void markdown_text_write(const struct markdown_text *text, const struct markdown_line *line,
                         unsigned marks, const struct style *style, struct buf *ret_buf);

/** Columns of the longest line, and of the longest word, each at most `limit`. */
void markdown_text_measure(const struct markdown_text *text, size_t limit, size_t *ret_line,
                           size_t *ret_word);

/** Append words with marks. */
void markdown_mark(const struct style *style, unsigned marks, const char *words,
                   struct buf *ret_buf);
