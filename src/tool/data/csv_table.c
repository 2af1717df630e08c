// SPDX-License-Identifier: Apache-2.0
/* Splitting a CSV file. Cells are unquoted where they are, so a table is two blocks of memory. */
#include "tool/data/csv_table.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct csv_reading {
    struct csv_table *table;
    size_t room;
    size_t count;  /* of cells */
    size_t column; /* of the next cell */
    char delimiter;
    char *at; /* next byte to read */
    char *end;
};

/** Keep a cell of the present row. @return false when there are too many */
static bool add_cell(struct csv_reading *self, char *cell)
{
    struct csv_table *table = self->table;
    bool is_header = table->rows == 0 && table->columns == 0;
    self->column++;
    if (!is_header && self->column > table->columns) {
        return true; /* the rest of a row that is too long */
    }
    if (self->count == CSV_MAX_CELLS || (is_header && self->column > CSV_MAX_COLUMNS)) {
        return false;
    }
    if (self->count == self->room) {
        self->room = self->room == 0 ? 1024 : self->room * 2;
        table->cells = memory_resize(table->cells, self->room, sizeof(char *));
    }
    table->cells[self->count++] = cell;
    return true;
}

/** A cell in quotes, two of which are one. @return whether it ends */
static bool unquote(struct csv_reading *self, char **ret_to)
{
    char *to = self->at;
    self->at++;
    while (self->at < self->end) {
        if (*self->at != '"') {
            *to++ = *self->at++;
        } else if (self->at + 1 < self->end && self->at[1] == '"') {
            *to++ = '"';
            self->at += 2;
        } else {
            self->at++;
            *ret_to = to;
            return true;
        }
    }
    return false;
}

static bool is_end_of_cell(const struct csv_reading *self)
{
    return self->at == self->end || *self->at == self->delimiter || *self->at == '\n' ||
           (*self->at == '\r' && self->at + 1 < self->end && self->at[1] == '\n');
}

/** @param ret_after the byte that ended the cell; '\n' at the end of the file */
static const char *read_cell(struct csv_reading *self, char *ret_after)
{
    char *cell = self->at;
    char *to = self->at;
    if (self->at < self->end && *self->at == '"' && !unquote(self, &to)) {
        return "a quote is not closed";
    }
    while (!is_end_of_cell(self)) {
        *to++ = *self->at++;
    }
    *ret_after = self->at == self->end ? '\n' : *self->at;
    if (self->at < self->end && *self->at == '\r') {
        self->at++;
        *ret_after = '\n';
    }
    self->at += self->at < self->end;
    *to = '\0';
    return add_cell(self, cell) ? NULL : "it has too many cells";
}

static const char *end_row(struct csv_reading *self)
{
    static char empty[1];
    struct csv_table *table = self->table;
    if (table->columns == 0) {
        table->columns = self->column;
        self->column = 0;
        return NULL;
    }
    while (self->column < table->columns) {
        if (!add_cell(self, empty)) {
            return "it has too many cells";
        }
    }
    table->rows++;
    self->column = 0;
    return NULL;
}

/** An empty line is no row, unless rows have one column. */
static bool skip_empty_line(struct csv_reading *self)
{
    size_t len = self->at < self->end && *self->at == '\r' ? 1 : 0;
    bool is_empty =
        self->table->columns != 1 && self->at + len < self->end && self->at[len] == '\n';
    self->at += is_empty ? len + 1 : 0;
    return is_empty;
}

const char *csv_table_read(const char *bytes, size_t len, char delimiter,
                           struct csv_table *ret_table)
{
    static const char mark[] = "\xef\xbb\xbf";
    bool is_marked = len >= 3 && memcmp(bytes, mark, 3) == 0;
    *ret_table = (struct csv_table){0};
    if (memchr(bytes, '\0', len) != NULL) {
        return "it is not text";
    }
    ret_table->bytes = memory_dup_bytes(bytes, len);
    struct csv_reading self = {
        .table = ret_table,
        .delimiter = delimiter,
        .at = ret_table->bytes + (is_marked ? 3 : 0),
        .end = ret_table->bytes + len,
    };
    const char *problem = NULL;
    while (problem == NULL && self.at < self.end) {
        char after = '\0';
        if (self.column == 0 && skip_empty_line(&self)) {
            continue;
        }
        do {
            problem = read_cell(&self, &after);
        } while (problem == NULL && after != '\n');
        problem = problem == NULL ? end_row(&self) : problem;
    }
    return problem != NULL ? problem : ret_table->columns == 0 ? "it is empty" : NULL;
}

void csv_table_fini(struct csv_table *table)
{
    free(table->bytes);
    free(table->cells);
    *table = (struct csv_table){0};
}

const char *csv_name(const struct csv_table *table, size_t column)
{
    return table->cells[column];
}

const char *csv_cell(const struct csv_table *table, size_t row, size_t column)
{
    return table->cells[(row + 1) * table->columns + column];
}

size_t csv_find(const struct csv_table *table, const char *name, size_t len)
{
    size_t column = 0;
    while (column < table->columns && (strlen(csv_name(table, column)) != len ||
                                       memcmp(csv_name(table, column), name, len) != 0)) {
        column++;
    }
    return column;
}

bool csv_number(const char *cell, double *ret_number)
{
    char *end = NULL;
    const char *start = cell + strspn(cell, " \t");
    if (strchr("+-.0123456789", *start) == NULL || *start == '\0' || strpbrk(start, "xX") != NULL) {
        return false; /* neither words (inf, nan) nor other bases */
    }
    double number = strtod(start, &end);
    if (end == start || end[strspn(end, " \t\r")] != '\0' || !isfinite(number)) {
        return false;
    }
    *ret_number = number;
    return true;
}
