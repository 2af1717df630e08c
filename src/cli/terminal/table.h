// SPDX-License-Identifier: Apache-2.0
/* Tables of text, aligned by display width, fitted into the terminal. One thread. */
#pragma once

#include "base/buf.h"
#include "cli/terminal/style.h"

#include <stddef.h>

#define TABLE_COLUMNS_MAX 10

struct table_column {
    const char *title;
    bool is_right;   /**< numbers */
    bool is_elastic; /**< gives way where the terminal is narrow */
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    char **cells; /**< owned, row by row */
    size_t cell_count;
};

/** Add the next cell; text is copied and may hold colour sequences. */
void table_add(struct table *table, const char *text);

/** Append the table. Elastic columns are cut until a line fits into `columns`. */
void table_draw(const struct table *table, const struct style *style, size_t columns,
                struct buf *ret_buf);

void table_fini(struct table *table);
