// SPDX-License-Identifier: Apache-2.0
/*
 * SQLite stores of InitRunner. Such a file may come from anywhere, so it is read as a whole and
 * opened in memory, read-only: nothing beside it is read or made, and nobody can change it
 * meanwhile. Triggers and views are off, a table must be a table, and the computing time is
 * bounded.
 */
#include "memory/import.h"

#include "base/error.h"

#include <sqlite3.h>
#include <string.h>

/** Instructions of SQLite's machine between two looks at the bound, and how many looks. */
#define INSTRUCTIONS_STEP  100000
#define INSTRUCTIONS_STEPS 5000

static const char magic[] = "SQLite format 3";

static const char columns_sql[] =
    "SELECT count(*) FROM sqlite_schema WHERE name = 'memories' AND type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%'";

/* Of 1.0; each column is checked for its type. */
static const char rows_sql[] =
    "SELECT memory_type, content, category, created_at, metadata_json, consolidated_at"
    " FROM memories ORDER BY id LIMIT ?1";

bool import_is_sqlite(const char *bytes, size_t len)
{
    return len >= 100 && memcmp(bytes, magic, sizeof(magic)) == 0;
}

static int count_step(void *context)
{
    int *steps = context;
    return ++*steps > INSTRUCTIONS_STEPS;
}

static int fail(sqlite3 *db, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID, "it is not a memory store of InitRunner: %s",
                     sqlite3_errmsg(db));
}

static int open_bytes(struct buf *bytes, sqlite3 **ret_db, struct rondo_error *err)
{
    sqlite3 *db = NULL;
    /* A file with a write-ahead log says so in these bytes; in memory there is none. */
    bytes->data[18] = 1;
    bytes->data[19] = 1;
    /* opens: no file */
    int r = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (r == SQLITE_OK) {
        r = sqlite3_deserialize(db, "main", (unsigned char *)bytes->data, (sqlite3_int64)bytes->len,
                                (sqlite3_int64)bytes->len, SQLITE_DESERIALIZE_READONLY);
    }
    if (r != SQLITE_OK) {
        r = fail(db, err);
        sqlite3_close(db);
        return r;
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)LIMIT_MIB);
    *ret_db = db;
    return 0;
}

/** A column that is a text without NUL bytes, else NULL. */
static const char *text_of(sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) != SQLITE_TEXT) {
        return NULL;
    }
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t len = (size_t)sqlite3_column_bytes(row, column);
    return text != NULL && memchr(text, '\0', len) == NULL ? text : NULL;
}

static bool read_row(sqlite3_stmt *row, struct store_memory *ret_memory)
{
    const char *kind = text_of(row, 0);
    const char *created = text_of(row, 3);
    const char *consolidated = text_of(row, 5);
    *ret_memory = (struct store_memory){
        .kind = STORE_SEMANTIC,
        .content = text_of(row, 1),
        .category = text_of(row, 2),
        .created_ns = created != NULL ? import_time(created) : 0,
        .metadata = text_of(row, 4),
        .consolidated_ns = consolidated != NULL ? import_time(consolidated) : 0,
        .source = "initrunner",
    };
    return ret_memory->content != NULL && kind != NULL &&
           memories_kind_from_name(kind, &ret_memory->kind);
}

static int read_rows(sqlite3 *db, import_fn *fn, void *context, uint64_t *refused,
                     struct rondo_error *err)
{
    sqlite3_stmt *row = NULL;
    int r = sqlite3_prepare_v2(db, rows_sql, -1, &row, NULL);
    if (r != SQLITE_OK) {
        return fail(db, err);
    }
    sqlite3_bind_int64(row, 1, LIMIT_MEMORY_IMPORT_ROWS + 1);
    int64_t rows = 0;
    int result = 0;
    while (result == 0 && (r = sqlite3_step(row)) == SQLITE_ROW) {
        struct store_memory memory;
        if (++rows > LIMIT_MEMORY_IMPORT_ROWS) {
            result = error_set(err, RONDO_ERR_LIMIT, "the file has more than %ld memories",
                               LIMIT_MEMORY_IMPORT_ROWS);
        } else if (read_row(row, &memory)) {
            result = fn(&memory, context, err);
        } else {
            ++*refused;
        }
    }
    if (result == 0 && r != SQLITE_DONE) {
        result = fail(db, err);
    }
    sqlite3_finalize(row);
    return result;
}

/** Whether `memories` is a table, and not a view or somebody's virtual table. */
static int check_table(sqlite3 *db, struct rondo_error *err)
{
    sqlite3_stmt *row = NULL;
    int r = sqlite3_prepare_v2(db, columns_sql, -1, &row, NULL);
    if (r == SQLITE_OK) {
        r = sqlite3_step(row);
    }
    bool is_table = r == SQLITE_ROW && sqlite3_column_int(row, 0) == 1;
    sqlite3_finalize(row);
    if (r != SQLITE_ROW) {
        return fail(db, err);
    }
    return is_table ? 0
                    : error_set(err, RONDO_ERR_INVALID,
                                "it is not a memory store of InitRunner: it has no table "
                                "`memories`");
}

int import_read_initrunner(struct buf *bytes, import_fn *fn, void *context, uint64_t *ret_refused,
                           struct rondo_error *err)
{
    sqlite3 *db = NULL;
    int steps = 0;
    int r = open_bytes(bytes, &db, err);
    if (r < 0) {
        return r;
    }
    sqlite3_progress_handler(db, INSTRUCTIONS_STEP, count_step, &steps);
    r = check_table(db, err);
    if (r == 0) {
        r = read_rows(db, fn, context, ret_refused, err);
    }
    sqlite3_close(db);
    return r;
}
