// SPDX-License-Identifier: Apache-2.0
/*
 * What people read of an HTML page, as Markdown: headings, paragraphs, lists, links, code, tables
 * as lines. Scripts, styles, forms and markup are left out. It takes any bytes: what is not valid
 * is read as browsers roughly do, and the result is valid UTF-8. Pure.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Append the text of a page.
 * @param max_bytes  of `ret_text`; more is left out
 */
void html_to_markdown(const char *html, size_t len, size_t max_bytes, struct buf *ret_text);

/**
 * Find an element whose attribute `class` has a word.
 * @param from  where to begin
 * @param ret_tag its start tag, between < and >; borrowed
 * @param ret_content what follows, up to its end tag or `len`; borrowed
 * @return position after the start tag, or `len` when there is no other
 */
struct html_part {
    const char *data;
    size_t len;
};
size_t html_find_class(const char *html, size_t len, size_t from, const char *word,
                       struct html_part *ret_tag, struct html_part *ret_content);

/** Append the value of an attribute of a start tag, entities replaced. @return whether it is there
 */
bool html_attribute(struct html_part tag, const char *name, struct buf *ret_value);
