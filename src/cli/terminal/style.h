// SPDX-License-Identifier: Apache-2.0
/* Colours and marks: decided once for a stream, from the terminal, the locale and NO_COLOR. */
#pragma once

#include "base/buf.h"
#include "rondo/types.h"

#include <stdbool.h>
#include <stdio.h>

enum colour {
    COLOUR_PLAIN = 0,
    COLOUR_BOLD,
    COLOUR_DIM,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_BLUE,
};

enum mark {
    MARK_MET = 0,
    MARK_NOT_MET,
    MARK_UNKNOWN,
    MARK_WARNING,
    MARK_BAR_FULL,
    MARK_BAR_EMPTY,
    MARK_SEPARATOR,
    MARK_COUNT
};

struct style {
    bool is_terminal; /**< cursor movement is possible */
    bool has_colour;
    bool is_unicode;
};

/**
 * Style for a stream.
 * @param no_colour whether --no-color was given; NO_COLOR (set and not empty) and TERM=dumb mean
 *                  the same
 */
struct style style_for(FILE *stream, bool no_colour);

/** Sequence that switches a colour on; "" without colours. Static. */
const char *style_begin(const struct style *style, enum colour colour);
/** Sequence that ends it. Static. */
const char *style_end(const struct style *style);
const char *style_mark(const struct style *style, enum mark mark);
/** Frame of the spinner. @param tick counts up; any number */
const char *style_spinner(const struct style *style, unsigned tick);

/** Append a coloured text. */
void style_append(const struct style *style, enum colour colour, const char *text,
                  struct buf *ret_buf);

/** Colour of a final status. */
enum colour style_of_status(enum rondo_status status);

/** Columns of a stream's terminal; `otherwise` when it is none. Asks each time. */
size_t style_columns(FILE *stream, size_t otherwise);
/** Rows of it. */
size_t style_rows(FILE *stream, size_t otherwise);
