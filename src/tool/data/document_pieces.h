// SPDX-License-Identifier: Apache-2.0
/* Texts in pieces, as `ingest.chunking` says. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct document_chunking {
    size_t size;    /**< most bytes of a piece */
    size_t overlap; /**< bytes at the end of a piece that the next one begins with; below `size` */
    bool is_by_paragraph; /**< whole paragraphs, as many as fit, instead of pieces of one size */
};

/** Called for each piece, in order; without blanks at its ends, never empty. */
typedef void document_piece_fn(void *context, const char *text, size_t len);

/** Cut a text; no character is cut in two. */
void document_pieces(const struct document_chunking *chunking, const char *text, size_t len,
                     document_piece_fn *fn, void *context);

/**
 * Append a piece to an answer. A line that looks like the head of another piece is marked as a
 * quotation: what a page says must not pass for a document of the role.
 */
void document_piece_write(const char *text, struct buf *ret_text);
