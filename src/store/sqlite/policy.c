// SPDX-License-Identifier: Apache-2.0
/*
 * The history of policies. Whether a change is new is decided in the transaction that appends it,
 * so that of several processes that find the same policies exactly one records them.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until sqlite_write_end, sqlite_read_begin
 * that of the reader, callbacks included.
 */
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <string.h>

/** @return 1 when the newest change of the source has this digest, 0 when not, or a negative code
 */
static int find_newest(struct sqlite_connection *writer, const struct store_policy_change *change,
                       uint64_t *ret_number, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_POLICY_NEWEST, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, change->source);
    r = sqlite_step_row(writer, statement, "read the newest policies", err);
    if (r == 1 && strcmp(sqlite_column_string(statement, 1), change->digest) == 0) {
        *ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
    } else if (r == 1) {
        r = 0;
    }
    sqlite3_reset(statement);
    return r;
}

static int keep_text(struct sqlite_connection *writer, const struct store_policy_change *change,
                     struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_POLICY_KEEP_TEXT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, change->digest);
    sqlite_bind_string_len(statement, 2, change->text, change->text_len);
    return sqlite_run(writer, statement, "keep the text of policies", err);
}

static int insert_change(struct sqlite_connection *writer, const struct store_policy_change *change,
                         uint64_t *ret_number, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_POLICY_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, change->time_ns);
    sqlite_bind_string(statement, 2, change->source);
    sqlite_bind_string(statement, 3, change->digest);
    sqlite_bind_string(statement, 4, change->how);
    sqlite_bind_string(statement, 5, change->by);
    r = sqlite_run(writer, statement, "record policies", err);
    if (r == 0) {
        *ret_number = (uint64_t)sqlite3_last_insert_rowid(writer->db);
    }
    return r;
}

int sqlite_record_policy(struct store *base, const struct store_policy_change *change,
                         uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_policy(change, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    uint64_t number = 0;
    r = find_newest(&store->writer, change, &number, err);
    bool is_old = r == 1;
    if (r == 0) {
        r = keep_text(&store->writer, change, err);
        if (r == 0) {
            r = insert_change(&store->writer, change, &number, err);
        }
    }
    r = sqlite_write_end(store, r < 0 ? r : 0, is_old, err);
    if (r == 0) {
        *ret_number = number;
        *ret_is_new = !is_old;
    }
    return r;
}

/** Give one row. @return 1 to continue, 0 when the callback has enough, or a negative code */
static int give_change(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                       store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct store_policy_change change;
    int r = row_policy(sqlite_row(connection, statement), &change, err);
    if (r < 0) {
        return r;
    }
    return fn(&change, context);
}

int sqlite_read_policies(struct store *base, const char *source, uint64_t before,
                         store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    enum sqlite_sql which = source != NULL ? SQL_POLICY_READ_SOURCE : SQL_POLICY_READ_ALL;
    int r = sqlite_read_begin(store, which, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_unsigned(statement, 1, before == 0 ? UINT64_MAX : before);
    if (source != NULL) {
        sqlite_bind_string(statement, 2, source);
    }
    while ((r = sqlite_step_row(reader, statement, "read policies", err)) == 1) {
        r = give_change(reader, statement, fn, context, err);
        if (r <= 0) {
            break;
        }
    }
    sqlite_read_end(reader, statement);
    return r;
}
