// SPDX-License-Identifier: Apache-2.0
/*
 * Mail, garbage collection and the health check: what happens beside the loops.
 *
 * Threads: each transaction holds the writer's mutex. Garbage collection uses one transaction for
 * each run, so that loops commit in between.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite_store.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int sqlite_post(struct store *base, const char *run_id, const char *kind, const char *data,
                struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int rc = rules_check_letter(kind, data, err);
    if (rc == 0) {
        rc = sqlite_write_begin(store, err);
    }
    if (rc < 0) {
        return rc;
    }
    sqlite3_stmt *statement;
    rc = sqlite_statement(&store->writer, SQL_LETTER_INSERT, &statement, err);
    if (rc == 0) {
        sqlite_bind_string(statement, 1, run_id);
        sqlite_bind_number(statement, 2, clock_now(store->clock));
        sqlite_bind_string(statement, 3, kind);
        sqlite_bind_string(statement, 4, data);
        rc = sqlite_run(&store->writer, statement, "post a letter", err);
    }
    if (rc == 0 && sqlite3_changes64(store->writer.db) == 0) {
        rc = error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    return sqlite_write_end(store, rc, false, err);
}

static int count_garbage(struct sqlite_store *store, const struct store_gc_request *request,
                         struct store_gc_result *ret_result, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int rc = sqlite_read_begin(store, SQL_GC_COUNT, &reader, &statement, err);
    if (rc < 0) {
        return rc;
    }
    sqlite_bind_number(statement, 1, request->ended_before_ns);
    sqlite_bind_number(statement, 2, clock_now(store->clock));
    rc = sqlite_step_row(reader, statement, "count old runs", err);
    if (rc == 1) {
        *ret_result = (struct store_gc_result){
            .runs = (uint64_t)sqlite3_column_int64(statement, 0),
            .events = (uint64_t)sqlite3_column_int64(statement, 1),
            .checkpoints = (uint64_t)sqlite3_column_int64(statement, 2),
        };
    }
    sqlite_read_end(reader, statement);
    return rc < 0 ? rc : 0;
}

/** Find the next run to delete. @return 1 found, 0 none left, or a negative code */
static int next_garbage(struct sqlite_store *store, const struct store_gc_request *request,
                        int64_t after_key, int64_t *ret_key, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int rc = sqlite_statement(&store->writer, SQL_GC_NEXT, &statement, err);
    if (rc < 0) {
        return rc;
    }
    sqlite_bind_number(statement, 1, request->ended_before_ns);
    sqlite_bind_number(statement, 2, clock_now(store->clock));
    sqlite_bind_number(statement, 3, after_key);
    rc = sqlite_step_row(&store->writer, statement, "find old runs", err);
    if (rc == 1) {
        *ret_key = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return rc;
}

/** Run a statement with at most one number as its parameter. */
static int delete_rows(struct sqlite_store *store, enum sqlite_sql which, int64_t number,
                       uint64_t *ret_count, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int rc = sqlite_statement(&store->writer, which, &statement, err);
    if (rc < 0) {
        return rc;
    }
    if (sqlite3_bind_parameter_count(statement) > 0) {
        sqlite_bind_number(statement, 1, number);
    }
    rc = sqlite_run(&store->writer, statement, "delete an old run", err);
    *ret_count = (uint64_t)sqlite3_changes64(store->writer.db);
    return rc;
}

static int highest_position(struct sqlite_store *store, int64_t *ret_position,
                            struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int rc = sqlite_statement(&store->writer, SQL_EVENT_LAST_POSITION, &statement, err);
    if (rc < 0) {
        return rc;
    }
    rc = sqlite_step_row(&store->writer, statement, "read the last position", err);
    if (rc == 1) {
        *ret_position = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return rc < 0 ? rc : 0;
}

/** Delete a run. The highest position is kept by an empty row, so that it is never given again. */
static int delete_run(struct sqlite_store *store, int64_t key, struct store_gc_result *result,
                      struct rondo_error *err)
{
    uint64_t events = 0;
    uint64_t checkpoints = 0;
    uint64_t ignored;
    int64_t highest = 0;
    int rc = highest_position(store, &highest, err);
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_EVENTS, key, &events, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_MARKS, key, &ignored, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_CHECKPOINTS, key, &checkpoints, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_INTERIM_DELETE, key, &ignored, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_LETTERS, key, &ignored, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_RUN, key, &ignored, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_KEEP_POSITION, highest, &ignored, err);
    }
    if (rc == 0) {
        rc = delete_rows(store, SQL_GC_DROP_POSITION, 0, &ignored, err);
    }
    result->runs++;
    result->events += events;
    result->checkpoints += checkpoints;
    return rc;
}

/** @return 1 when a run was deleted, 0 when none is left, or a negative code */
static int delete_next(struct sqlite_store *store, const struct store_gc_request *request,
                       int64_t *key, struct store_gc_result *result, struct rondo_error *err)
{
    int rc = sqlite_write_begin(store, err);
    if (rc < 0) {
        return rc;
    }
    rc = next_garbage(store, request, *key, key, err);
    bool is_found = rc == 1;
    if (is_found) {
        rc = delete_run(store, *key, result, err);
    }
    rc = sqlite_write_end(store, rc, false, err);
    return rc < 0 ? rc : is_found;
}

int sqlite_gc(struct store *base, const struct store_gc_request *request,
              struct store_gc_result *ret_result, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (request->is_dry_run) {
        return count_garbage(store, request, ret_result, err);
    }
    struct store_gc_result result = {0};
    int64_t key = 0;
    int rc = 1;
    while (rc == 1) {
        rc = delete_next(store, request, &key, &result, err);
    }
    if (rc == 0) {
        *ret_result = result;
    }
    return rc;
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
    int rc = sqlite_read_begin(store, SQL_HEALTH_COUNTS, &reader, &statement, err);
    if (rc < 0) {
        return rc;
    }
    rc = sqlite_step_row(reader, statement, "count the rows", err);
    if (rc == 1) {
        health->run_count = (uint64_t)sqlite3_column_int64(statement, 0);
        health->event_count = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    sqlite_read_end(reader, statement);
    return rc < 0 ? rc : 0;
}

static int read_schema(struct sqlite_store *store, struct store_health *health,
                       struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int rc = sqlite_read_begin(store, SQL_HEALTH_SCHEMA, &reader, &statement, err);
    if (rc < 0) {
        return rc;
    }
    rc = sqlite_step_row(reader, statement, "read the schema version", err);
    if (rc == 1) {
        health->schema = (uint32_t)sqlite3_column_int64(statement, 0);
    }
    sqlite_read_end(reader, statement);
    return rc < 0 ? rc : 0;
}

static int check_integrity(struct sqlite_store *store, struct store_health *health,
                           struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int rc = sqlite_read_begin(store, SQL_HEALTH_CHECK, &reader, &statement, err);
    if (rc < 0) {
        return rc;
    }
    rc = sqlite_step_row(reader, statement, "check the store", err);
    if (rc == 1) {
        const char *finding = sqlite_column_string(statement, 0);
        health->is_intact = strcmp(finding, "ok") == 0;
        if (!health->is_intact) {
            snprintf(health->problem, sizeof(health->problem), "%s", finding);
        }
    }
    sqlite_read_end(reader, statement);
    return rc < 0 ? rc : 0;
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
    int rc = read_schema(store, &health, &found);
    if (rc == 0) {
        rc = check_integrity(store, &health, &found);
    }
    if (rc == 0) {
        rc = read_counts(store, &health, &found);
    }
    if (rc == RONDO_ERR_CORRUPT) {
        /* Damage is what the caller asked about, not a failure of the question. */
        health.is_intact = false;
        snprintf(health.problem, sizeof(health.problem), "%.*s", (int)sizeof(health.problem) - 1,
                 found.message);
        rc = 0;
    }
    if (rc < 0) {
        return error_set(err, rc, "%s", found.message);
    }
    *ret_health = health;
    return 0;
}
