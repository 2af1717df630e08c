// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of Markdown with their places. A parser of lines, not of Markdown: what a PRD says by its
 * form (headings, labels, boxes to tick) is in single lines, a parser of Markdown (md4c) gives no
 * places, and places are what findings need. Internal to src/prd. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prd_line {
    const char *text; /**< without indentation and line end; not terminated */
    size_t len;
    const char *raw; /**< with indentation */
    size_t raw_len;
    uint32_t number; /**< from 1 */
    uint32_t column; /**< of `text`, from 1 */
    unsigned indent; /**< columns; a tab goes to the next multiple of four */
    bool is_code;    /**< in a fenced block, its fences included, or in an HTML comment */
};

struct prd_lines {
    const char *at;
    const char *end;
    uint32_t number;
    char fence; /* that ends the block; 0 = in none */
    size_t fence_len;
    bool is_comment;
};

/** Begin; a byte order mark and a YAML header are skipped. */
struct prd_lines prd_lines(const char *text, size_t len);
/** @return whether there is another line */
bool prd_line_next(struct prd_lines *lines, struct prd_line *ret_line);

/** Level of an ATX heading, 1 to 6; 0 = none. @param ret_text its text, without closing marks */
unsigned prd_line_heading(const struct prd_line *line, const char **ret_text, size_t *ret_len);

enum prd_box { PRD_BOX_NONE, PRD_BOX_OPEN, PRD_BOX_TICKED };

/** An item of a list: -, *, +, 1. or 1). */
struct prd_item {
    const char *text;
    size_t len;
    enum prd_box box; /**< [ ], [x] or [X] right after the mark; "[2026-01-01]" is none */
};
bool prd_line_item(const struct prd_line *line, struct prd_item *ret_item);

/** Take a box off the beginning of a text. */
enum prd_box prd_take_box(const char **text, size_t *len);

/** Take white space, and `*`, `_` around it, off both ends. */
void prd_trim(const char **text, size_t *len);
