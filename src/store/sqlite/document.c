// SPDX-License-Identifier: Apache-2.0
/*
 * Documents. Versions are compared in the transaction that changes them, so that of several
 * processes that try to change the same version exactly one does.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until the end of the transaction,
 * sqlite_read_begin that of the reader, callbacks included.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <string.h>

int sqlite_document_version(struct sqlite_connection *writer, const char *collection,
                            const char *key, uint64_t *ret_version, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_DOCUMENT_VERSION, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, collection);
    sqlite_bind_string(statement, 2, key);
    r = sqlite_step_row(writer, statement, "read a document", err);
    *ret_version = 0;
    if (r == 1) {
        r = row_numbers(sqlite_row(writer, statement), sqlite3_column_count(statement),
                        "a document", err);
        *ret_version = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return r < 0 ? r : 0;
}

static enum sqlite_sql statement_of(enum store_change_kind kind)
{
    switch (kind) {
    case STORE_PUT:
        return SQL_DOCUMENT_PUT;
    case STORE_DELETE:
        return SQL_DOCUMENT_DELETE;
    case STORE_DELETE_UP_TO:
        return SQL_DOCUMENT_DELETE_UP_TO;
    }
    return SQL_DOCUMENT_PUT;
}

static int apply_change(struct sqlite_connection *writer, const struct store_change *change,
                        int64_t now_ns, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, statement_of(change->kind), &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, change->collection);
    sqlite_bind_string(statement, 2, change->key);
    if (change->kind == STORE_PUT) {
        sqlite_bind_string_len(statement, 3, change->data, change->data_len);
        sqlite_bind_number(statement, 4, now_ns);
    }
    r = sqlite_run(writer, statement, "change a document", err);
    /* The caller's memory must not stay bound after the call. */
    sqlite3_clear_bindings(statement);
    return r;
}

/** Ask an update for the new data of its document. @return 1 it changes, 0, or a negative code */
static int ask_update(struct sqlite_connection *writer, const struct store_update *update,
                      struct buf *ret_data, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct store_document document = {0};
    int r = sqlite_statement(writer, SQL_DOCUMENT_GET, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, update->collection);
    sqlite_bind_string(statement, 2, update->key);
    r = sqlite_step_row(writer, statement, "read a document", err);
    if (r == 1) {
        r = row_document(sqlite_row(writer, statement), &document, err);
    }
    if (r == 0) {
        r = update->change(update->context, document.data, document.data_len, ret_data) ? 1 : 0;
    }
    sqlite3_reset(statement);
    return r;
}

int sqlite_update_document(struct sqlite_store *store, const struct store_update *update,
                           struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    int r = ask_update(&store->writer, update, &data, err);
    if (r <= 0) {
        return r;
    }
    struct store_change change = rules_change_of(update, &data);
    r = rules_check_change(&change, err);
    return r < 0 ? r : apply_change(&store->writer, &change, clock_now(store->clock), err);
}

int sqlite_apply_changes(struct sqlite_store *store, const struct store_change *changes,
                         size_t count, struct rondo_error *err)
{
    int64_t now_ns = clock_now(store->clock);
    for (size_t i = 0; i < count; i++) {
        uint64_t version = 0;
        bool has_condition = changes[i].if_version != STORE_ANY_VERSION;
        int r = has_condition ? sqlite_document_version(&store->writer, changes[i].collection,
                                                        changes[i].key, &version, err)
                              : 0;
        if (r == 0 && !rules_fits_version(&changes[i], version)) {
            return 0;
        }
        if (r == 0) {
            r = apply_change(&store->writer, &changes[i], now_ns, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return 1;
}

int sqlite_change_documents(struct store *base, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = rules_check_change(&changes[i], err);
    }
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    int64_t changed_before = sqlite3_total_changes64(store->writer.db);
    r = sqlite_apply_changes(store, changes, count, err);
    bool is_applied = r == 1;
    if (r == 0) {
        r = sqlite_write_cancel(store, err);
    } else {
        /* When nothing was left to do, an earlier try may have done it without its answer. */
        bool is_empty = sqlite3_total_changes64(store->writer.db) == changed_before;
        r = sqlite_write_end(store, r < 0 ? r : 0, is_empty, err);
    }
    if (r == 0) {
        *ret_is_applied = is_applied;
    }
    return r;
}

int sqlite_next_collection(struct store *base, const char *after,
                           char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_DOCUMENT_COLLECTION, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, after);
    r = sqlite_step_row(reader, statement, "list collections", err);
    const char *name = r == 1 ? sqlite_column_string(statement, 0) : "";
    if (r == 1 && strlen(name) > STORE_COLLECTION_LEN) {
        r = error_set(err, RONDO_ERR_CORRUPT, "%s is damaged: a collection has no valid name",
                      store->path);
    }
    if (r >= 0) {
        memcpy(ret_name, name, strlen(name) + 1);
    }
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

static enum sqlite_sql reading_of(const struct store_document_query *query)
{
    if (query->key != NULL) {
        return SQL_DOCUMENT_GET;
    }
    return query->is_descending ? SQL_DOCUMENT_LIST_BACK : SQL_DOCUMENT_LIST;
}

int sqlite_read_documents(struct store *base, const struct store_document_query *query,
                          store_document_fn *fn, void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    const struct rules_key_range range = rules_key_range(query);
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, reading_of(query), &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, query->collection);
    if (query->key != NULL) {
        sqlite_bind_string(statement, 2, query->key);
    } else {
        sqlite_bind_string(statement, 2, range.low);
        sqlite_bind_string(statement, 3, range.end);
        sqlite_bind_number(statement, 4, query->limit == 0 ? -1 : (int64_t)query->limit);
    }
    while ((r = sqlite_step_row(reader, statement, "read documents", err)) == 1) {
        struct store_document document;
        r = row_document(sqlite_row(reader, statement), &document, err);
        if (r < 0 || !fn(&document, context)) {
            break;
        }
    }
    sqlite_read_end(reader, statement);
    return r;
}
