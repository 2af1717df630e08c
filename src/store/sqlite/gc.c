// SPDX-License-Identifier: Apache-2.0
/*
 * Garbage collection. It works beside loops that commit, so it holds the store for a bounded time:
 * a transaction deletes at most so many rows, the next one begins after a rest that is longer than
 * it took, and a large run goes in several. A run whose deletion has begun has no events for
 * readers (its row says so), so that nobody sees or resumes a part of it; the next collection
 * finishes what a killed one began.
 *
 * Every row is found by its key: events and checkpoints by the chain that leads from each to the
 * one before it. A damaged chain ends early, it cannot lead in a circle: what it passed is deleted.
 *
 * Threads: each transaction holds the writer's mutex.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/sqlite/internal.h"

/** Rows that a transaction deletes before it ends, and after how long it ends in any case. */
#define GC_ROWS    1000
#define GC_HOLD_NS (20 * NS_PER_MS)
/** The rest after a transaction, as a multiple of its duration, and at least. */
#define GC_REST        3
#define GC_REST_MIN_NS (2 * NS_PER_MS)

struct gc {
    struct sqlite_store *store;
    const struct store_gc_request *request;
    struct store_gc_result result;
    int64_t after_key; /* of the last run that is gone */
    uint64_t rows;     /* deleted in this transaction */
    int64_t begun_ns;  /* when it began; monotonic */
};

/** What is left of a run that is being deleted. */
struct remains {
    int64_t key;
    int64_t position;   /* of its last event; 0 = none */
    int64_t checkpoint; /* key of its last checkpoint; 0 = none */
};

static int count_garbage(struct sqlite_store *store, const struct store_gc_request *request,
                         struct store_gc_result *ret_result, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_GC_COUNT, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, request->ended_before_ns);
    sqlite_bind_number(statement, 2, clock_now(store->clock));
    r = sqlite_step_row(reader, statement, "count old runs", err);
    if (r == 1) {
        *ret_result = (struct store_gc_result){
            .runs = (uint64_t)sqlite3_column_int64(statement, 0),
            .events = (uint64_t)sqlite3_column_int64(statement, 1),
            .checkpoints = (uint64_t)sqlite3_column_int64(statement, 2),
        };
    }
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

/** Find the next run to delete. @return 1 found, 0 none left, or a negative code */
static int next_garbage(const struct gc *gc, struct remains *ret_remains, struct rondo_error *err)
{
    struct sqlite_connection *writer = &gc->store->writer;
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_GC_NEXT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, gc->request->ended_before_ns);
    sqlite_bind_number(statement, 2, clock_now(gc->store->clock));
    sqlite_bind_number(statement, 3, gc->after_key);
    r = sqlite_step_row(writer, statement, "find old runs", err);
    if (r == 1) {
        *ret_remains = (struct remains){
            .key = sqlite3_column_int64(statement, 0),
            .position = sqlite3_column_int64(statement, 1),
            .checkpoint = sqlite3_column_int64(statement, 2),
        };
    }
    sqlite3_reset(statement);
    return r;
}

/** Run a statement with up to three numbers as its parameters. */
static int run_with(struct gc *gc, enum sqlite_sql which, int64_t first, int64_t second,
                    int64_t third, struct rondo_error *err)
{
    struct sqlite_connection *writer = &gc->store->writer;
    const int64_t numbers[] = {first, second, third};
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, which, &statement, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++) {
        sqlite_bind_number(statement, i + 1, numbers[i]);
    }
    r = sqlite_run(writer, statement, "delete an old run", err);
    gc->rows += (uint64_t)sqlite3_changes64(writer->db);
    return r;
}

/** The first row always has, so that each transaction gets on. */
static bool has_room(const struct gc *gc)
{
    return gc->rows == 0 ||
           (gc->rows < GC_ROWS && clock_monotonic(clock_system()) - gc->begun_ns < GC_HOLD_NS);
}

/**
 * Delete the rows of a chain, from its last one on, while there is room.
 * @param which gives the link to the row before
 * @param link  the last row; set to the one to continue with, 0 = the chain is gone
 */
static int delete_chain(struct gc *gc, enum sqlite_sql which, int64_t run_key, int64_t *link,
                        uint64_t *count, struct rondo_error *err)
{
    struct sqlite_connection *writer = &gc->store->writer;
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, which, &statement, err);
    while (r == 0 && *link != 0 && has_room(gc)) {
        sqlite_bind_number(statement, 1, *link);
        sqlite_bind_number(statement, 2, run_key);
        r = sqlite_step_row(writer, statement, "delete an old run", err);
        bool is_found = r == 1;
        *link = is_found ? sqlite3_column_int64(statement, 0) : 0;
        if (is_found) {
            r = sqlite_step_row(writer, statement, "delete an old run", err);
            gc->rows++;
            (*count)++;
        }
        sqlite3_reset(statement);
    }
    return r;
}

/** Delete what belongs to the run besides its chains, and at last its row. */
static int delete_rest(struct gc *gc, int64_t run_key, struct rondo_error *err)
{
    static const enum sqlite_sql order[] = {SQL_GC_MARKS, SQL_INTERIM_DELETE, SQL_GC_LETTERS,
                                            SQL_GC_RUN};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(order) / sizeof(order[0]); i++) {
        r = run_with(gc, order[i], run_key, 0, 0, err);
    }
    gc->result.runs++;
    gc->after_key = run_key;
    return r;
}

/** Delete as much of a run as there is room for. */
static int delete_run(struct gc *gc, struct remains *remains, struct rondo_error *err)
{
    int r =
        delete_chain(gc, SQL_GC_EVENT, remains->key, &remains->position, &gc->result.events, err);
    if (r == 0) {
        r = delete_chain(gc, SQL_GC_CHECKPOINT, remains->key, &remains->checkpoint,
                         &gc->result.checkpoints, err);
    }
    if (r < 0) {
        return r;
    }
    return remains->position == 0 && remains->checkpoint == 0
               ? delete_rest(gc, remains->key, err)
               : run_with(gc, SQL_GC_CUT, remains->key, remains->position, remains->checkpoint,
                          err);
}

static int highest_position(struct gc *gc, int64_t *ret_position, struct rondo_error *err)
{
    struct sqlite_connection *writer = &gc->store->writer;
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_EVENT_LAST_POSITION, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(writer, statement, "read the last position", err);
    if (r == 1) {
        *ret_position = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return r < 0 ? r : 0;
}

/**
 * One transaction. An empty row keeps the highest position, so that it is never given again.
 * @return 1 when something may be left, 0 when nothing is, or a negative code
 */
static int delete_some(struct gc *gc, struct rondo_error *err)
{
    int64_t highest = 0;
    int r = sqlite_write_begin(gc->store, err);
    if (r < 0) {
        return r;
    }
    gc->rows = 0;
    gc->begun_ns = clock_monotonic(clock_system());
    bool is_over = false;
    r = highest_position(gc, &highest, err);
    while (r == 0 && !is_over && has_room(gc)) {
        struct remains remains;
        r = next_garbage(gc, &remains, err);
        is_over = r == 0;
        if (r == 1) {
            r = delete_run(gc, &remains, err);
        }
    }
    if (r == 0 && gc->rows > 0) {
        r = run_with(gc, SQL_GC_KEEP_POSITION, highest, 0, 0, err);
    }
    r = sqlite_write_end(gc->store, r, false, err);
    return r < 0 ? r : !is_over;
}

/** Loops of this and other processes commit meanwhile; they try again after up to 100 ms. */
static void rest(const struct gc *gc)
{
    const struct clock *clock = clock_system();
    int64_t rest_ns = GC_REST * (clock_monotonic(clock) - gc->begun_ns);
    clock_sleep(clock, rest_ns > GC_REST_MIN_NS ? rest_ns : GC_REST_MIN_NS, NULL);
}

int sqlite_gc(struct store *base, const struct store_gc_request *request,
              struct store_gc_result *ret_result, struct rondo_error *err)
{
    struct gc gc = {.store = (struct sqlite_store *)base, .request = request};
    if (request->is_dry_run) {
        return count_garbage(gc.store, request, ret_result, err);
    }
    int r = 1;
    while (r == 1) {
        r = delete_some(&gc, err);
        if (r == 1) {
            rest(&gc);
        }
    }
    if (r == 0) {
        r = sqlite_compact(gc.store, &gc.result, err);
    }
    if (r == 0) {
        *ret_result = gc.result;
    }
    return r;
}
