// SPDX-License-Identifier: Apache-2.0
/* Laying a table out: natural widths, then the widest columns give way. */
#include "cli/terminal/markdown_table.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

/** Columns between two columns of a table: " | ". */
#define GAP_COLUMNS 3
/** A column is never narrower, or one could not read it. */
#define NARROWEST 4

bool markdown_table_begin(struct markdown_table *table, size_t column_count)
{
    markdown_table_fini(table);
    table->column_count = column_count;
    return column_count > 0 && column_count <= MARKDOWN_TABLE_COLUMNS;
}

struct markdown_text *markdown_table_cell(struct markdown_table *table, enum markdown_align align)
{
    if (table->cell_count == MARKDOWN_TABLE_CELLS || table->column_count == 0) {
        return NULL;
    }
    if (table->cell_count == table->cell_room) {
        table->cell_room = table->cell_room == 0 ? 32 : table->cell_room * 2;
        table->cells = memory_resize(table->cells, table->cell_room, sizeof(*table->cells));
    }
    if (table->cell_count < table->column_count) {
        table->aligns[table->cell_count] = align;
    }
    struct markdown_text *cell = &table->cells[table->cell_count++];
    *cell = (struct markdown_text){0};
    return cell;
}

void markdown_table_fini(struct markdown_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        markdown_text_fini(&table->cells[i]);
    }
    free(table->cells);
    *table = (struct markdown_table){0};
}

/** The widest column gives a part of its surplus until the sum fits. @return whether it does */
static bool shrink(size_t *widths, size_t count, size_t columns)
{
    for (;;) {
        size_t sum = (count - 1) * GAP_COLUMNS;
        size_t widest = 0;
        for (size_t i = 0; i < count; i++) {
            sum += widths[i];
            widest = widths[i] > widths[widest] ? i : widest;
        }
        if (sum <= columns) {
            return true;
        }
        if (widths[widest] <= NARROWEST) {
            return false;
        }
        widths[widest]--;
    }
}

static bool find_widths(const struct markdown_table *table, size_t columns, size_t *ret_widths)
{
    for (size_t i = 0; i < table->column_count; i++) {
        ret_widths[i] = 2;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t line, word;
        size_t *width = &ret_widths[i % table->column_count];
        markdown_text_measure(&table->cells[i], columns, &line, &word);
        *width = line > *width ? line : *width;
    }
    return shrink(ret_widths, table->column_count, columns);
}

static void add_spaces(size_t count, struct buf *ret_buf)
{
    for (size_t i = 0; i < count; i++) {
        buf_append(ret_buf, " ", 1);
    }
}

/** One line of a cell, filled up to the width; the last column is not filled at its right. */
static void add_cell_line(const struct markdown_text *cell, const struct markdown_line *line,
                          size_t width, enum markdown_align align, bool is_last, unsigned marks,
                          const struct style *style, struct buf *ret_buf)
{
    size_t own = markdown_text_width(cell, line);
    size_t free_columns = width > own ? width - own : 0;
    size_t before = align == MARKDOWN_LEFT    ? 0
                    : align == MARKDOWN_RIGHT ? free_columns
                                              : free_columns / 2;
    if (own > 0) {
        add_spaces(before, ret_buf);
        markdown_text_write(cell, line, marks, style, ret_buf);
    }
    if (!is_last) {
        add_spaces(own > 0 ? free_columns - before : width, ret_buf);
    }
}

static void add_row(const struct markdown_table *table, size_t first, const size_t *widths,
                    const struct style *style, struct buf *ret_buf)
{
    size_t places[MARKDOWN_TABLE_COLUMNS] = {0};
    unsigned marks = first == 0 ? MARKDOWN_STRONG : 0;
    bool has_more = true;
    for (size_t number = 0; has_more; number++) {
        struct buf row = {0};
        has_more = false;
        bool is_any = false;
        for (size_t i = 0; i < table->column_count; i++) {
            const struct markdown_text *cell = &table->cells[first + i];
            struct markdown_line line = {.begin = cell->text.len, .end = cell->text.len};
            if (markdown_text_line(cell, places[i], widths[i], false, &line)) {
                places[i] = line.next;
                is_any = true;
            }
            has_more = has_more || places[i] < cell->text.len;
            if (i > 0) {
                markdown_mark(style, MARKDOWN_FAINT, style->is_unicode ? " \u2502 " : " | ", &row);
            }
            add_cell_line(cell, &line, widths[i], table->aligns[i], i + 1 == table->column_count,
                          marks, style, &row);
        }
        if (is_any || number == 0) {
            buf_append(ret_buf, row.data, row.len);
            buf_append(ret_buf, "\n", 1);
        }
        buf_fini(&row);
    }
}

static void add_rule(const struct markdown_table *table, const size_t *widths,
                     const struct style *style, struct buf *ret_buf)
{
    auto_buf struct buf rule = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        if (i > 0) {
            buf_append_string(&rule, style->is_unicode ? "\u2500\u253c\u2500" : "-+-");
        }
        for (size_t k = 0; k < widths[i]; k++) {
            buf_append_string(&rule, style->is_unicode ? "\u2500" : "-");
        }
    }
    markdown_mark(style, MARKDOWN_FAINT, buf_string(&rule), ret_buf);
    buf_append(ret_buf, "\n", 1);
}

/** "head: cell", wrapped. */
static void add_pair(const struct markdown_text *head, const struct markdown_text *cell,
                     size_t columns, const struct style *style, struct buf *ret_buf)
{
    struct markdown_text pair = {0};
    markdown_text_add(&pair, buf_string(&head->text), head->text.len, MARKDOWN_STRONG);
    markdown_text_add(&pair, ": ", 2, MARKDOWN_STRONG);
    for (size_t at = 0; at < cell->text.len;) {
        size_t end = at + 1;
        while (end < cell->text.len && cell->marks.data[end] == cell->marks.data[at]) {
            end++;
        }
        markdown_text_add(&pair, cell->text.data + at, end - at,
                          (unsigned char)cell->marks.data[at]);
        at = end;
    }
    struct markdown_line line = {0};
    while (markdown_text_line(&pair, line.next, columns, false, &line)) {
        markdown_text_write(&pair, &line, 0, style, ret_buf);
        buf_append(ret_buf, "\n", 1);
    }
    markdown_text_fini(&pair);
}

static void write_list(const struct markdown_table *table, size_t columns,
                       const struct style *style, struct buf *ret_buf)
{
    size_t count = table->column_count;
    const struct markdown_text nothing = {0};
    for (size_t i = 0; i < count && table->cell_count == count; i++) {
        add_pair(&table->cells[i], &nothing, columns, style, ret_buf);
    }
    for (size_t first = count; first + count <= table->cell_count; first += count) {
        if (first > count) {
            buf_append(ret_buf, "\n", 1);
        }
        for (size_t i = 0; i < count; i++) {
            add_pair(&table->cells[i], &table->cells[first + i], columns, style, ret_buf);
        }
    }
}

void markdown_table_write(const struct markdown_table *table, size_t columns,
                          const struct style *style, struct buf *ret_buf)
{
    size_t widths[MARKDOWN_TABLE_COLUMNS];
    size_t count = table->column_count;
    assert(count <= MARKDOWN_TABLE_COLUMNS);
    if (count == 0) {
        return;
    }
    if (!find_widths(table, columns, widths)) {
        write_list(table, columns, style, ret_buf);
        return;
    }
    for (size_t first = 0; first + count <= table->cell_count; first += count) {
        add_row(table, first, widths, style, ret_buf);
        if (first == 0) {
            add_rule(table, widths, style, ret_buf);
        }
    }
}
