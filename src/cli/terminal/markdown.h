// SPDX-License-Identifier: Apache-2.0
/*
 * Markdown (CommonMark with tables, task lists and struck text) as people read it at a terminal.
 * What a model writes is made safe first: no escape sequence or control character of it comes
 * through, whatever it is wrapped in. Time and memory are bounded by the input's length. Pure but
 * for the locale, as cli/terminal/text.h; any thread.
 */
#pragma once

#include "cli/terminal/style.h"

#include <stddef.h>

/** Narrowest layout: for fewer columns the lines are made for so many. */
#define MARKDOWN_COLUMNS_MIN 10

/**
 * Append the text as lines of at most `columns`, each with a line end; nothing for an empty text.
 * Where there is no terminal the source is passed through, made safe; so are, wrapped, texts above
 * LIMIT_MARKDOWN_BYTES and those that nest or repeat beyond reason.
 */
void markdown_render(const char *text, size_t len, const struct style *style, size_t columns,
                     struct buf *ret_buf);

/**
 * Append a text of several lines made safe: as text_clean, but line ends and tabs stay, and marks
 * that turn the direction of writing are dropped, since they can make a text look like another.
 */
void markdown_clean(const char *text, size_t len, struct buf *ret_buf);

/** Append a text that is no Markdown: made safe, its lines wrapped at words. */
void markdown_wrap(const char *text, size_t len, const struct style *style, size_t columns,
                   struct buf *ret_buf);
