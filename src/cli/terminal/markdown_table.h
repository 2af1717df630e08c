// SPDX-License-Identifier: Apache-2.0
/* Tables of Markdown: gathered cell by cell, laid out when they are complete. */
#pragma once

#include "cli/terminal/markdown_text.h"

/** Columns of one table; a document with a wider one is shown as source. */
#define MARKDOWN_TABLE_COLUMNS 64
/** Cells of one table, likewise. */
#define MARKDOWN_TABLE_CELLS 8192

enum markdown_align { MARKDOWN_LEFT = 0, MARKDOWN_CENTRE, MARKDOWN_RIGHT };

/** Zeroed = empty. The cells are stored row by row; the first row is the head. */
struct markdown_table {
    size_t column_count;
    size_t cell_count;
    size_t cell_room;
    struct markdown_text *cells;
    enum markdown_align aligns[MARKDOWN_TABLE_COLUMNS];
};

/** Begin a table. @return false when it has too many columns */
bool markdown_table_begin(struct markdown_table *table, size_t column_count);

/** Begin the next cell. @return where its words go, or NULL when there are too many */
struct markdown_text *markdown_table_cell(struct markdown_table *table, enum markdown_align align);

/**
 * Append the lines of the table, each with a line end, within `columns`: columns side by side and
 * cells wrapped; where not even that fits, each row as a list of "head: cell".
 */
void markdown_table_write(const struct markdown_table *table, size_t columns,
                          const struct style *style, struct buf *ret_buf);

/** Release the cells; the table is empty and can be used again. */
void markdown_table_fini(struct markdown_table *table);
