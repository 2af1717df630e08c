// SPDX-License-Identifier: Apache-2.0
/*
 * Finding and making of the schema. Who makes it holds an advisory lock, and looks again under it.
 */
#include "store/postgres/schema.h"

#include "base/auto.h"
#include "base/error.h"

#include <string.h>

/** Tables that PG_FIND_STORE looks for; a "meta" alone is often that of another program. */
#define STORE_TABLES 2

/** What is in the schema. */
struct found_store {
    bool has_objects; /**< something is in it */
    bool has_store;
};

char *postgres_schema_fill(const struct postgres_store *store, const char *sql)
{
    struct buf filled = {0};
    const char *next;
    while ((next = strstr(sql, "{s}")) != NULL) {
        buf_append(&filled, sql, (size_t)(next - sql));
        buf_append_string(&filled, store->schema);
        sql = next + strlen("{s}");
    }
    buf_append_string(&filled, sql);
    return buf_steal(&filled);
}

static int find_store(struct postgres_connection *connection, struct found_store *ret_found,
                      struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_FIND_STORE};
    postgres_add_text(&query, store->address.schema);
    int r = postgres_transact(connection, &query, 1, &result, "look for the store", err);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    r = postgres_check_answer(&row, "nn", "look for the store", err);
    *ret_found = (struct found_store){.has_objects = postgres_number(&row, 0) > 0,
                                      .has_store = postgres_number(&row, 1) == STORE_TABLES};
    store->pq.clear(result);
    return r;
}

/** Whether what was found can be used or made into a store. */
static int check_found(const struct postgres_store *store, const struct found_store *found,
                       bool may_create, struct rondo_error *err)
{
    if (found->has_store) {
        return 0;
    }
    if (found->has_objects) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the schema %s of %s belongs to another program; name another one with "
                         "rondo_schema",
                         store->address.schema, store->address.shown);
    }
    if (!may_create) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%s has no store in its schema %s",
                         store->address.shown, store->address.schema);
    }
    return 0;
}

/** The tables, the functions and what is in them from the beginning. */
static int make_parts(struct postgres_connection *connection, struct rondo_error *err)
{
    const char *const parts[] = {postgres_schema_tables, postgres_schema_functions,
                                 postgres_schema_content};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        auto_free char *sql = postgres_schema_fill(connection->store, parts[i]);
        r = postgres_script(connection, sql, NULL, "make the store", err);
    }
    return r;
}

/** Under the lock: make the schema unless another process has done so. */
static int make_locked(struct postgres_connection *connection, struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    auto_buf struct buf script = {0};
    buf_printf(&script,
               "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
               "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('%s', 7));"
               "CREATE SCHEMA IF NOT EXISTS %s;",
               store->address.schema, store->schema);
    int r = postgres_script(connection, buf_string(&script), NULL, "make the store", err);
    PGresult *result = NULL;
    if (r == 0) {
        buf_clear(&script);
        buf_printf(&script, "SELECT pg_catalog.to_regclass('%s.meta') IS NULL", store->schema);
        r = postgres_script(connection, buf_string(&script), &result, "make the store", err);
    }
    bool is_missing = r == 0 && strcmp(store->pq.getvalue(result, 0, 0), "t") == 0;
    store->pq.clear(result);
    if (is_missing) {
        r = make_parts(connection, err);
    }
    if (r == 0) {
        r = postgres_script(connection, "COMMIT", NULL, "make the store", err);
        connection->store->is_new = is_missing;
    }
    if (r < 0) {
        connection->is_broken = true; /* With the connection the transaction ends. */
    }
    return r;
}

int postgres_schema_prepare(struct postgres_store *store, bool may_create, bool may_migrate,
                            struct rondo_error *err)
{
    struct postgres_connection *connection = NULL;
    struct found_store found = {0};
    int64_t before = 0;
    int r = postgres_begin(store, true, &connection, err);
    if (r < 0) {
        return r;
    }
    r = find_store(connection, &found, err);
    if (r == 0) {
        r = check_found(store, &found, may_create, err);
    }
    if (r == 0 && !found.has_store) {
        connection->patience_ns = POSTGRES_LONG_PATIENCE_NS;
        r = make_locked(connection, err);
    } else if (r == 0 && may_migrate) {
        connection->patience_ns = POSTGRES_LONG_PATIENCE_NS;
        r = postgres_migrate(connection, &before, err);
    }
    postgres_end(connection);
    if (r == 0) {
        store->is_prepared = true;
        r = postgres_begin(store, true, &connection, err); /* Looks at its version. */
        if (r == 0) {
            store->found = store->is_new ? 0 : before > 0 ? before : connection->version;
            store->present = connection->version;
            postgres_end(connection);
        }
    }
    return r;
}
