// SPDX-License-Identifier: Apache-2.0
/*
 * Mail and the health check: what happens beside the loops. Threads: a transaction holds the
 * writer's mutex.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int sqlite_post(struct store *base, const char *run_id, const char *kind, const char *data,
                struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_letter(kind, data, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    sqlite3_stmt *statement;
    r = sqlite_statement(&store->writer, SQL_LETTER_INSERT, &statement, err);
    if (r == 0) {
        sqlite_bind_string(statement, 1, run_id);
        sqlite_bind_number(statement, 2, clock_now(store->clock));
        sqlite_bind_string(statement, 3, kind);
        sqlite_bind_string(statement, 4, data);
        r = sqlite_run(&store->writer, statement, "post a letter", err);
    }
    if (r == 0 && sqlite3_changes64(store->writer.db) == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    return sqlite_write_end(store, r, false, err);
}

static uint64_t size_of_file(const char *path, const char *suffix)
{
    char name[4096];
    struct stat status;
    int len = snprintf(name, sizeof(name), "%s%s", path, suffix);
    if (len < 0 || (size_t)len >= sizeof(name) || stat(name, &status) != 0) {
        return 0;
    }
    return (uint64_t)status.st_size;
}

static int read_counts(struct sqlite_store *store, struct store_health *health,
                       struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_HEALTH_COUNTS, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(reader, statement, "count the rows", err);
    if (r == 1) {
        health->run_count = (uint64_t)sqlite3_column_int64(statement, 0);
        health->event_count = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

static int read_schema(struct sqlite_store *store, struct store_health *health,
                       struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_HEALTH_SCHEMA, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(reader, statement, "read the schema version", err);
    if (r == 1) {
        health->schema = (uint32_t)sqlite3_column_int64(statement, 0);
    }
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

static int check_integrity(struct sqlite_store *store, struct store_health *health,
                           struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_HEALTH_CHECK, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(reader, statement, "check the store", err);
    if (r == 1) {
        const char *finding = sqlite_column_string(statement, 0);
        health->is_intact = strcmp(finding, "ok") == 0;
        if (!health->is_intact) {
            snprintf(health->problem, sizeof(health->problem), "%s", finding);
        }
    }
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

int sqlite_health(struct store *base, struct store_health *ret_health, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct store_health health = {
        .size_bytes = size_of_file(store->path, "") + size_of_file(store->path, "-wal"),
    };
    snprintf(health.location, sizeof(health.location), "%s", store->path);
    snprintf(health.version, sizeof(health.version), "SQLite %s", sqlite3_libversion());
    struct rondo_error found = {0};
    int r = read_schema(store, &health, &found);
    if (r == 0) {
        r = check_integrity(store, &health, &found);
    }
    if (r == 0) {
        r = read_counts(store, &health, &found);
    }
    if (r == RONDO_ERR_CORRUPT) {
        /* Damage is what the caller asked about, not a failure of the question. */
        health.is_intact = false;
        snprintf(health.problem, sizeof(health.problem), "%.*s", (int)sizeof(health.problem) - 1,
                 found.message);
        r = 0;
    }
    if (r < 0) {
        return error_set(err, r, "%s", found.message);
    }
    *ret_health = health;
    return 0;
}
