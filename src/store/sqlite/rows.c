// SPDX-License-Identifier: Apache-2.0
/*
 * How SQLite gives the columns of a row to what checks them. A file's columns have the types of
 * their values, whatever their tables declare. Threads: those of the statement.
 */
#include "store/row.h"
#include "store/sqlite/internal.h"

static int type_of(const struct checked_row *row, int column)
{
    return sqlite3_column_type(row->answer, column);
}

static bool is_null(const struct checked_row *row, int column)
{
    return type_of(row, column) == SQLITE_NULL;
}

static bool get_number(const struct checked_row *row, int column, int64_t *ret_number)
{
    *ret_number = sqlite3_column_int64(row->answer, column);
    return type_of(row, column) == SQLITE_INTEGER;
}

static bool get_flag(const struct checked_row *row, int column, bool *ret_flag)
{
    int64_t value = -1;
    bool is_number = get_number(row, column, &value);
    *ret_flag = value == 1;
    return is_number && (value == 0 || value == 1);
}

static bool get_real(const struct checked_row *row, int column, double *ret_real)
{
    *ret_real = sqlite3_column_double(row->answer, column);
    return true;
}

static bool get_bytes(const struct checked_row *row, int column, bool is_text,
                      const char **ret_bytes, size_t *ret_len)
{
    if (type_of(row, column) != (is_text ? SQLITE_TEXT : SQLITE_BLOB)) {
        return false;
    }
    *ret_bytes = is_text ? (const char *)sqlite3_column_text(row->answer, column)
                         : sqlite3_column_blob(row->answer, column);
    *ret_len = (size_t)sqlite3_column_bytes(row->answer, column);
    return true;
}

static const char *get_name(const struct checked_row *row, int column)
{
    return sqlite3_column_name(row->answer, column);
}

static const struct checked_row_ops ops = {is_null,  get_number, get_flag,
                                           get_real, get_bytes,  get_name};

struct checked_row sqlite_row(const struct sqlite_connection *connection, sqlite3_stmt *statement)
{
    return (struct checked_row){
        .ops = &ops, .place = connection->store->path, .answer = statement, .bad_column = -1};
}
