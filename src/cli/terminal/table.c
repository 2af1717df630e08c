// SPDX-License-Identifier: Apache-2.0
/* Laying out tables. */
#include "cli/terminal/table.h"

#include "base/memory.h"
#include "cli/terminal/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/** Spaces between columns. */
#define GAP 2
/** An elastic column keeps at least this much. */
#define ELASTIC_MIN 6

void table_add(struct table *table, const char *text)
{
    table->cells = memory_resize(table->cells, table->cell_count + 1, sizeof(*table->cells));
    table->cells[table->cell_count++] = memory_dup_string(text);
}

void table_fini(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    table->cells = NULL;
    table->cell_count = 0;
}

/** Columns without any content have the width 0 and are left out. */
static size_t total_width(const struct table *table, const size_t *widths)
{
    size_t total = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        total += widths[i] > 0 ? widths[i] + (total > 0 ? GAP : 0) : 0;
    }
    return total;
}

static void shrink(const struct table *table, size_t columns, size_t *widths)
{
    for (size_t i = 0; i < table->column_count; i++) {
        size_t total = total_width(table, widths);
        if (!table->columns[i].is_elastic || total <= columns || widths[i] <= ELASTIC_MIN) {
            continue;
        }
        size_t room = widths[i] - ELASTIC_MIN;
        size_t excess = total - columns;
        widths[i] -= excess < room ? excess : room;
    }
}

static void measure(const struct table *table, size_t columns, size_t *widths)
{
    memset(widths, 0, table->column_count * sizeof(*widths));
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = text_width(table->cells[i]);
        size_t *column = &widths[i % table->column_count];
        *column = width > *column ? width : *column;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        size_t width = text_width(table->columns[i].title);
        widths[i] = widths[i] > 0 && widths[i] < width ? width : widths[i];
    }
    shrink(table, columns, widths);
}

static void draw_cell(const char *text, const struct table_column *column, size_t width,
                      bool is_last, struct buf *line)
{
    auto_buf struct buf fitted = {0};
    text_fit(text, width, &fitted);
    if (column->is_right) {
        for (size_t i = text_width(buf_string(&fitted)); i < width; i++) {
            buf_append(line, " ", 1);
        }
        buf_append_string(line, buf_string(&fitted));
    } else if (is_last) {
        buf_append_string(line, buf_string(&fitted));
    } else {
        text_pad(buf_string(&fitted), width, line);
    }
}

static void draw_row(const struct table *table, const char *const *cells, const size_t *widths,
                     size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        if (widths[i] == 0) {
            continue;
        }
        if (line.len > 0) {
            buf_append(&line, "  ", GAP);
        }
        draw_cell(cells[i], &table->columns[i], widths[i], i + 1 == table->column_count, &line);
    }
    text_fit(buf_string(&line), columns, ret_buf);
}

void table_draw(const struct table *table, const struct style *style, size_t columns,
                struct buf *ret_buf)
{
    assert(table->column_count > 0 && table->column_count <= TABLE_COLUMNS_MAX);
    assert(table->cell_count % table->column_count == 0);
    size_t widths[TABLE_COLUMNS_MAX];
    measure(table, columns, widths);
    const char *titles[TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++) {
        titles[i] = table->columns[i].title;
    }
    buf_append_string(ret_buf, style_begin(style, COLOUR_DIM));
    draw_row(table, titles, widths, columns, ret_buf);
    buf_append_string(ret_buf, style_end(style));
    buf_append_string(ret_buf, "\n");
    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        draw_row(table, (const char *const *)&table->cells[i], widths, columns, ret_buf);
        buf_append_string(ret_buf, "\n");
    }
}
