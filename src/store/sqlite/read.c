// SPDX-License-Identifier: Apache-2.0
/*
 * Reading. Each operation but the reading of events is one statement on a reading connection, thus
 * one consistent snapshot.
 *
 * Threads: sqlite_read_begin holds the reader's mutex until sqlite_read_end, callbacks included.
 */
#include "base/error.h"
#include "store/sqlite/internal.h"

#include <stdio.h>
#include <string.h>

/** SQLite's LIMIT for "no limit" is negative. */
static int64_t row_limit(uint32_t limit)
{
    return limit == 0 ? -1 : (int64_t)limit;
}

int sqlite_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    int r = sqlite_read_begin(store, SQL_RUN_BY_ID, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    r = sqlite_step_row(connection, statement, "read a run", err);
    if (r == 1) {
        int64_t key;
        int damage = row_run(sqlite_row(connection, statement), 0, ret_run, &key, err);
        r = damage < 0 ? damage : 1;
    }
    sqlite_read_end(connection, statement);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    return r < 0 ? r : 0;
}

/** The position of a reader. */
struct event_reader {
    struct sqlite_store *store;
    store_event_fn *fn;
    void *context;
    uint64_t after;  /**< seq, or position, of the last event that was given */
    int64_t left;    /**< events that may still be given; negative = any number */
    int64_t skipped; /**< damaged rows that were passed since the statement began */
    bool is_stopped;
};

/**
 * Whether to pass a damaged row. The readers of its run report it; those of all runs must not stop
 * there for ever.
 */
static bool skip_damaged(struct event_reader *reader, const struct store_event *event)
{
    if (event->position <= reader->after) {
        return false; /* Not even its place can be read. */
    }
    reader->after = event->position;
    reader->skipped++;
    return true;
}

/** Give all rows of a statement. @return the number of them, or a negative code */
static int64_t give_rows(struct event_reader *reader, struct sqlite_connection *connection,
                         sqlite3_stmt *statement, bool is_one_run, struct rondo_error *err)
{
    int64_t given = 0;
    int r = 0;
    while (!reader->is_stopped &&
           (r = sqlite_step_row(connection, statement, "read events", err)) == 1) {
        struct store_event event;
        r = row_event(sqlite_row(connection, statement), &event, err);
        if (r < 0 && !is_one_run && skip_damaged(reader, &event)) {
            continue;
        }
        if (r < 0) {
            break;
        }
        if (is_one_run && event.seq != reader->after + 1) {
            return error_set(err, RONDO_ERR_CORRUPT,
                             "%s is damaged: event %llu of a run is missing", reader->store->path,
                             (unsigned long long)reader->after + 1);
        }
        reader->after = is_one_run ? event.seq : event.position;
        reader->is_stopped = !reader->fn(&event, reader->context);
        given++;
    }
    return r < 0 ? r : given;
}

/** Read the run's events up to the next mark. @return as give_rows */
static int64_t read_stretch(struct event_reader *reader, const char *run_id,
                            struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    int r = sqlite_read_begin(reader->store, SQL_EVENT_READ_RUN, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    sqlite_bind_unsigned(statement, 2, reader->after);
    sqlite_bind_number(statement, 3, reader->left);
    int64_t given = give_rows(reader, connection, statement, true, err);
    sqlite_read_end(connection, statement);
    return given;
}

/** Events are never changed, so that reading in several snapshots gives a consistent journal. */
static int64_t read_one_run(struct event_reader *reader, const char *run_id,
                            struct rondo_error *err)
{
    int64_t given = 1;
    while (given > 0 && !reader->is_stopped && reader->left != 0 && reader->after < INT64_MAX) {
        given = read_stretch(reader, run_id, err);
        if (reader->left > 0 && given > 0) {
            reader->left -= given;
        }
    }
    return given;
}

/** One statement of read_all_runs(). @return as give_rows */
static int64_t read_page(struct event_reader *reader, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    int r = sqlite_read_begin(reader->store, SQL_EVENT_READ_ALL, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_unsigned(statement, 1, reader->after);
    sqlite_bind_number(statement, 2, reader->left);
    int64_t given = give_rows(reader, connection, statement, false, err);
    sqlite_read_end(connection, statement);
    return given;
}

/** Damaged rows do not count for the limit, so that a page of them does not look like the end. */
static int64_t read_all_runs(struct event_reader *reader, struct rondo_error *err)
{
    int64_t given;
    bool is_full;
    do {
        reader->skipped = 0;
        given = read_page(reader, err);
        is_full = reader->left > 0 && given >= 0 && given + reader->skipped == reader->left;
        reader->left -= is_full ? given : 0;
    } while (is_full && reader->skipped > 0 && !reader->is_stopped);
    return given;
}

int sqlite_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err)
{
    struct event_reader reader = {
        .store = (struct sqlite_store *)base,
        .fn = fn,
        .context = context,
        .after = after,
        .left = row_limit(limit),
    };
    int64_t given =
        run_id != NULL ? read_one_run(&reader, run_id, err) : read_all_runs(&reader, err);
    return given < 0 ? (int)given : 0;
}

int sqlite_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                            void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    int r = sqlite_read_begin(store, SQL_CHECKPOINT_LIST, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    while ((r = sqlite_step_row(connection, statement, "list checkpoints", err)) == 1) {
        struct store_checkpoint checkpoint;
        r = row_checkpoint(sqlite_row(connection, statement), false, &checkpoint, err);
        if (r < 0 || !fn(&checkpoint, context)) {
            break;
        }
    }
    sqlite_read_end(connection, statement);
    return r;
}

int sqlite_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    enum sqlite_sql which = number == 0               ? SQL_CHECKPOINT_NEWEST
                            : number == STORE_INTERIM ? SQL_INTERIM_GET
                                                      : SQL_CHECKPOINT_GET;
    int r = sqlite_read_begin(store, which, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    if (which == SQL_CHECKPOINT_GET) {
        sqlite_bind_unsigned(statement, 2, number);
    }
    r = sqlite_step_row(connection, statement, "read a checkpoint", err);
    if (r == 1) {
        struct store_checkpoint checkpoint;
        int damage = row_checkpoint(sqlite_row(connection, statement), true, &checkpoint, err);
        r = damage < 0 ? damage : 1;
        if (r == 1) {
            fn(&checkpoint, context);
        }
    }
    sqlite_read_end(connection, statement);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "run %s has no such checkpoint", run_id);
    }
    return r < 0 ? r : 0;
}

int sqlite_read_mail(struct store *base, const char *run_id, const char *owner, store_letter_fn *fn,
                     void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    enum sqlite_sql which = run_id != NULL ? SQL_LETTER_READ_RUN : SQL_LETTER_READ_OWNER;
    int r = sqlite_read_begin(store, which, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id != NULL ? run_id : owner);
    while ((r = sqlite_step_row(connection, statement, "read mail", err)) == 1) {
        struct store_letter letter;
        r = row_letter(sqlite_row(connection, statement), &letter, err);
        if (r < 0 || !fn(&letter, context)) {
            break;
        }
    }
    sqlite_read_end(connection, statement);
    return r;
}

int sqlite_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *connection = NULL;
    int r = sqlite_read_begin(store, SQL_EVENT_LAST_POSITION, &connection, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(connection, statement, "read the last position", err);
    if (r == 1) {
        r = row_numbers(sqlite_row(connection, statement), sqlite3_column_count(statement),
                        "the newest event", err);
    }
    if (r == 0) {
        *ret_position = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite_read_end(connection, statement);
    return r;
}
