// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "csv_analysis": what is in CSV files below one folder. Files are opened as those of
 * "filesystem" are, below the root and without links.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file.h"
#include "tool/builtin/filesystem_path.h"
#include "tool/canonical.h"
#include "tool/data/csv_table.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL_ROWS    1000
#define MOST_ROWS     10000
#define USUAL_FILE_MB 10.0
#define MOST_FILE_MB  50.0
#define BYTES_PER_MB  (1024.0 * 1024.0)
/** Rows that inspect_csv shows, and common values that summarize_csv does. */
#define PREVIEW_ROWS 5
#define TOP_VALUES   5

struct csv_tool {
    struct path_root root;
    char *folder; /* the root, absolute */
    size_t most_rows;
    size_t most_bytes;
    char delimiter;
};

/* ---- Reading -------------------------------------------------------------------------------- */

static bool read_file(const struct csv_tool *self, const char *path, struct buf *bytes,
                      struct tool_result *ret_result)
{
    const struct path_question question = {&self->root, path, "read"};
    struct rondo_error err = {0};
    struct stat status;
    auto_close int fd = path_open(&question, O_RDONLY | O_NONBLOCK | O_NOCTTY, ret_result);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        tool_fail(ret_result, "Error: '%s' is not a regular file", path);
        return false;
    }
    int r = file_read_all(fd, path, self->most_bytes, bytes, &err);
    if (r == RONDO_ERR_LIMIT) {
        tool_fail(ret_result, "Error: '%s' is larger than max_file_size_mb (%g)", path,
                  (double)self->most_bytes / BYTES_PER_MB);
    } else if (r < 0) {
        tool_fail(ret_result, "Error: %s", err.message);
    }
    return !ret_result->is_error;
}

static bool read_table(const struct csv_tool *self, const struct tool_call *call,
                       struct csv_table *ret_table, struct tool_result *ret_result)
{
    const char *path = json_get_string(call->arguments, "path", "");
    auto_buf struct buf bytes = {0};
    *ret_table = (struct csv_table){0};
    if (!read_file(self, path, &bytes, ret_result)) {
        return false;
    }
    const char *problem = csv_table_read(buf_string(&bytes), bytes.len, self->delimiter, ret_table);
    if (problem != NULL) {
        tool_fail(ret_result, "Error: '%s' cannot be read as CSV: %s", path, problem);
    }
    return problem == NULL;
}

/** @return the column, or `columns` after having said that there is none */
static size_t find_column(const struct csv_table *table, const char *name, size_t len,
                          struct tool_result *ret_result)
{
    size_t column = csv_find(table, name, len);
    if (column == table->columns) {
        tool_fail(ret_result, "Error: there is no column '%.*s'; there are: ", (int)len, name);
        for (size_t i = 0; i < table->columns; i++) {
            buf_printf(&ret_result->text, "%s%s", i > 0 ? ", " : "", csv_name(table, i));
        }
    }
    return column;
}

/* ---- inspect_csv ---------------------------------------------------------------------------- */

/** What a column holds. */
static const char *type_of(const struct csv_table *table, size_t column)
{
    bool is_whole = true;
    bool is_empty = true;
    for (size_t row = 0; row < table->rows; row++) {
        const char *cell = csv_cell(table, row, column);
        double number = 0;
        if (cell[0] == '\0') {
            continue;
        }
        if (!csv_number(cell, &number)) {
            return "text";
        }
        is_empty = false;
        is_whole = is_whole && number == floor(number) && strpbrk(cell, ".eE") == NULL;
    }
    return is_empty ? "empty" : is_whole ? "integer" : "number";
}

static void write_row(const struct csv_table *table, const size_t *columns, size_t count,
                      size_t row, bool is_header, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s", i > 0 ? " | " : "",
                   is_header ? csv_name(table, columns[i]) : csv_cell(table, row, columns[i]));
    }
    buf_append_string(out, "\n");
}

static size_t *all_columns(const struct csv_table *table)
{
    size_t *columns = memory_new_zero(table->columns, sizeof(*columns));
    for (size_t i = 0; i < table->columns; i++) {
        columns[i] = i;
    }
    return columns;
}

static void run_inspect(const struct tool *tool, const struct tool_call *call,
                        struct tool_result *ret_result)
{
    struct csv_table table;
    struct buf *out = &ret_result->text;
    if (read_table(tool->context, call, &table, ret_result)) {
        auto_free size_t *columns = all_columns(&table);
        buf_printf(out, "Rows: %zu\nColumns: %zu\n", table.rows, table.columns);
        for (size_t i = 0; i < table.columns; i++) {
            buf_printf(out, "- %s (%s)\n", csv_name(&table, i), type_of(&table, i));
        }
        buf_append_string(out, "\nFirst rows:\n");
        write_row(&table, columns, table.columns, 0, true, out);
        for (size_t row = 0; row < table.rows && row < PREVIEW_ROWS; row++) {
            write_row(&table, columns, table.columns, row, false, out);
        }
    }
    csv_table_fini(&table);
}

/* ---- summarize_csv -------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void write_numbers(double *numbers, size_t count, struct buf *out)
{
    double sum = 0;
    double squares = 0;
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    for (size_t i = 0; i < count; i++) {
        sum += numbers[i];
    }
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    }
    double middle = (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
    double deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    buf_printf(out, "  min %.10g, max %.10g, mean %.10g, median %.10g, sum %.10g, stddev %.10g\n",
               numbers[0], numbers[count - 1], mean, middle, sum, deviation);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct value_count {
    const char *value;
    size_t count;
};

/** Keep the most frequent ones; of equal ones the first. */
static void keep_top(struct value_count *top, struct value_count one)
{
    for (size_t i = 0; i < TOP_VALUES; i++) {
        if (one.count > top[i].count) {
            struct value_count other = top[i];
            top[i] = one;
            one = other;
        }
    }
}

static void write_texts(const char **texts, size_t count, struct buf *out)
{
    struct value_count top[TOP_VALUES] = {0};
    size_t different = 0;
    qsort(texts, count, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < count;) {
        size_t next = i + 1;
        while (next < count && strcmp(texts[next], texts[i]) == 0) {
            next++;
        }
        keep_top(top, (struct value_count){texts[i], next - i});
        different++;
        i = next;
    }
    buf_printf(out, "  %zu different; most common: ", different);
    for (size_t i = 0; i < TOP_VALUES && top[i].count > 0; i++) {
        buf_printf(out, "%s%s (%zu)", i > 0 ? ", " : "", top[i].value, top[i].count);
    }
    buf_append_string(out, "\n");
}

static void summarize(const struct csv_table *table, size_t column, struct buf *out)
{
    bool is_text = strcmp(type_of(table, column), "text") == 0;
    auto_free double *numbers = memory_new_zero(table->rows + 1, sizeof(*numbers));
    auto_free const char **texts = memory_new_zero(table->rows + 1, sizeof(*texts));
    size_t count = 0;
    for (size_t row = 0; row < table->rows; row++) {
        const char *cell = csv_cell(table, row, column);
        if (cell[0] != '\0') {
            texts[count] = cell;
            csv_number(cell, &numbers[count]);
            count++;
        }
    }
    buf_printf(out, "%s (%s): %zu values, %zu empty\n", csv_name(table, column),
               type_of(table, column), count, table->rows - count);
    if (count > 0 && is_text) {
        write_texts(texts, count, out);
    } else if (count > 0) {
        write_numbers(numbers, count, out);
    }
}

static void run_summarize(const struct tool *tool, const struct tool_call *call,
                          struct tool_result *ret_result)
{
    struct csv_table table;
    const char *name = json_get_string(call->arguments, "column", "");
    if (read_table(tool->context, call, &table, ret_result)) {
        size_t first = 0;
        size_t last = table.columns;
        if (name[0] != '\0') {
            first = find_column(&table, name, strlen(name), ret_result);
            last = first < table.columns ? first + 1 : first;
        }
        for (size_t i = first; i < last; i++) {
            summarize(&table, i, &ret_result->text);
        }
    }
    csv_table_fini(&table);
}

/* ---- query_csv ------------------------------------------------------------------------------ */

struct csv_query {
    const struct csv_table *table;
    size_t filter; /* column; `columns` of the table = none */
    const char *operator;
    const char *value;
    double number;
    bool is_number;
    size_t *shown;
    size_t shown_count;
};

static int compare_with(const struct csv_query *query, const char *cell)
{
    double number = 0;
    if (query->is_number && csv_number(cell, &number)) {
        return (number > query->number) - (number < query->number);
    }
    return strcmp(cell, query->value);
}

static bool is_wanted(const struct csv_query *query, size_t row)
{
    if (query->filter == query->table->columns) {
        return true;
    }
    const char *cell = csv_cell(query->table, row, query->filter);
    if (strcmp(query->operator, "contains") == 0) {
        return strcasestr(cell, query->value) != NULL;
    }
    int order = compare_with(query, cell);
    switch (query->operator[0]) {
    case '!':
        return order != 0;
    case '>':
        return order > 0 || (query->operator[1] == '=' && order == 0);
    case '<':
        return order < 0 || (query->operator[1] == '=' && order == 0);
    default:
        return order == 0;
    }
}

/** The columns that are asked for, by names with commas between; none = all. */
static bool choose_columns(const char *names, struct csv_query *query,
                           struct tool_result *ret_result)
{
    if (names[0] == '\0') {
        query->shown = all_columns(query->table);
        query->shown_count = query->table->columns;
        return true;
    }
    query->shown = memory_new_zero(strlen(names) + 1, sizeof(*query->shown));
    for (const char *at = names; at != NULL;) {
        at += strspn(at, " ");
        const char *comma = strchr(at, ',');
        size_t len = comma == NULL ? strlen(at) : (size_t)(comma - at);
        while (len > 0 && at[len - 1] == ' ') {
            len--;
        }
        size_t column = find_column(query->table, at, len, ret_result);
        if (column == query->table->columns) {
            return false;
        }
        query->shown[query->shown_count++] = column;
        at = comma == NULL ? NULL : comma + 1;
    }
    return true;
}

static void write_matches(const struct csv_query *query, size_t limit, struct buf *out)
{
    size_t matches = 0;
    auto_buf struct buf rows = {0};
    for (size_t row = 0; row < query->table->rows; row++) {
        if (is_wanted(query, row)) {
            matches++;
            if (matches <= limit) {
                write_row(query->table, query->shown, query->shown_count, row, false, &rows);
            }
        }
    }
    if (matches == 0) {
        buf_append_string(out, "No results");
        return;
    }
    write_row(query->table, query->shown, query->shown_count, 0, true, out);
    buf_append(out, rows.data, rows.len);
    buf_printf(out, "(%zu of %zu rows)", matches < limit ? matches : limit, matches);
}

static void run_query(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    const struct csv_tool *self = tool->context;
    struct csv_table table;
    const char *filter = json_get_string(call->arguments, "filter_column", "");
    int64_t limit = json_get_int(call->arguments, "limit", 100);
    struct csv_query query = {
        .table = &table,
        .operator= json_get_string(call->arguments, "operator", "="),
        .value = json_get_string(call->arguments, "filter_value", ""),
    };
    bool is_right = read_table(self, call, &table, ret_result);
    query.filter = table.columns;
    query.is_number = csv_number(query.value, &query.number);
    if (is_right && filter[0] != '\0') {
        query.filter = find_column(&table, filter, strlen(filter), ret_result);
        is_right = query.filter < table.columns;
    }
    if (is_right &&
        choose_columns(json_get_string(call->arguments, "columns", ""), &query, ret_result)) {
        size_t most = limit < 1 ? 1 : (size_t)limit;
        write_matches(&query, most < self->most_rows ? most : self->most_rows, &ret_result->text);
    }
    free(query.shown);
    csv_table_fini(&table);
}

/* ---- The tools ------------------------------------------------------------------------------ */

#define PATH_PROPERTY "\"path\":{\"type\":\"string\",\"description\":\"Path of the CSV file\"}"
#define READS_FILES \
    .arguments = path_arguments, .is_idempotent = true, .is_concurrent = true, .is_read_only = true

static const struct tool_argument path_arguments[] = {{"path", ARGUMENT_PATH}, {0}};

static const struct tool_function csv_functions[] = {
    {
        .name = "inspect_csv",
        .description = "Show the columns of a CSV file with their types, and its first rows.",
        .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY
                  "},\"required\":[\"path\"],\"additionalProperties\":false}",
        .run = run_inspect,
        READS_FILES,
    },
    {
        .name = "summarize_csv",
        .description = "Statistics of one column of a CSV file, or of all.",
        .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY
                  ",\"column\":{\"type\":\"string\",\"default\":\"\","
                  "\"description\":\"Name of a column; empty: all\"}},"
                  "\"required\":[\"path\"],\"additionalProperties\":false}",
        .run = run_summarize,
        READS_FILES,
    },
    {
        .name = "query_csv",
        .description = "Rows of a CSV file that match a filter.",
        .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY
                  ",\"filter_column\":{\"type\":\"string\",\"default\":\"\","
                  "\"description\":\"Column to filter by; empty: all rows\"},"
                  "\"filter_value\":{\"type\":\"string\",\"default\":\"\","
                  "\"description\":\"Value to compare with\"},"
                  "\"operator\":{\"type\":\"string\",\"default\":\"=\","
                  "\"enum\":[\"=\",\"!=\",\">\",\">=\",\"<\",\"<=\",\"contains\"]},"
                  "\"columns\":{\"type\":\"string\",\"default\":\"\","
                  "\"description\":\"Columns to show, with commas between; empty: all\"},"
                  "\"limit\":{\"type\":\"integer\",\"default\":100,\"description\":\"Most rows\"}},"
                  "\"required\":[\"path\"],\"additionalProperties\":false}",
        .run = run_query,
        READS_FILES,
    },
};

static void free_csv_tool(void *owned)
{
    struct csv_tool *self = owned;
    free(self->folder);
    free(self);
}

static void read_limits(struct csv_tool *self, struct json_object *config)
{
    int64_t rows = json_get_int(config, "max_rows", USUAL_ROWS);
    struct json_object *size = json_member(config, "max_file_size_mb");
    double mb = size == NULL ? USUAL_FILE_MB : json_object_get_double(size);
    const char *delimiter = json_get_string(config, "delimiter", ",");
    self->most_rows = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : (size_t)rows;
    mb = !(mb > 0) ? USUAL_FILE_MB : mb > MOST_FILE_MB ? MOST_FILE_MB : mb;
    self->most_bytes = (size_t)(mb * BYTES_PER_MB);
    self->delimiter = strcmp(delimiter, "\\t") == 0 ? '\t' : delimiter[0];
}

static int open_csv_analysis(struct toolbox *toolbox, struct json_object *config,
                             struct rondo_error *err)
{
    struct csv_tool *self = memory_new_zero(1, sizeof(*self));
    auto_buf struct buf folder = {0};
    toolbox_own(toolbox, self, free_csv_tool);
    self->root.around = toolbox_surroundings(toolbox);
    self->root.path = json_get_string(config, "root_path", ".");
    buf_append_string(&folder, "/");
    canonical_path(self->root.around->workspace, "/", self->root.path, &folder);
    self->folder = buf_steal(&folder);
    read_limits(self, config);
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(csv_functions) / sizeof(csv_functions[0]); i++) {
        struct tool tool = toolbox_tool(csv_analysis_tool_type.name, &csv_functions[i], self);
        tool.folder = self->folder;
        r = toolbox_add(toolbox, &tool, err);
    }
    return r;
}

const struct tool_type csv_analysis_tool_type = {.name = "csv_analysis", .open = open_csv_analysis};
