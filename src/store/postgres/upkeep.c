// SPDX-License-Identifier: Apache-2.0
/*
 * Garbage collection and the health check. A collection works beside loops that commit: runs that
 * are deleted are nobody's, and a transaction deletes a bounded number of events. The space is the
 * server's (VACUUM), so none is given back here.
 *
 * Threads: postgres_begin holds a connection's mutex until postgres_end.
 */
#include "base/error.h"
#include "store/postgres/internal.h"

#include <stdio.h>

/** Events after which a transaction of a collection ends. */
#define COLLECT_EVENTS 20000

/** A transaction that may take long, for one query. */
static int perform_long(struct postgres_store *store, struct postgres_query *query,
                        PGresult **ret_result, const char *doing, struct rondo_error *err)
{
    struct postgres_connection *connection = NULL;
    int r = postgres_begin(store, false, &connection, err);
    if (r < 0) {
        return r;
    }
    connection->patience_ns = POSTGRES_LONG_PATIENCE_NS;
    r = postgres_transact(connection, query, 1, ret_result, doing, err);
    postgres_end(connection);
    return r;
}

static int add_counts(const struct postgres_store *store, const PGresult *result,
                      struct store_gc_result *counts, struct rondo_error *err)
{
    struct checked_row row = postgres_row(store, result, 0);
    int r = postgres_check_answer(&row, "nnn", "count old runs", err);
    counts->runs += (uint64_t)postgres_number(&row, 0);
    counts->events += (uint64_t)postgres_number(&row, 1);
    counts->checkpoints += (uint64_t)postgres_number(&row, 2);
    return r;
}

static int count_garbage(struct postgres_store *store, const struct store_gc_request *request,
                         struct store_gc_result *ret_result, struct rondo_error *err)
{
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_GC_COUNT};
    postgres_add_number(&query, request->ended_before_ns);
    postgres_add_now(&query, store);
    int r = perform_long(store, &query, &result, "count old runs", err);
    if (r == 0) {
        r = add_counts(store, result, ret_result, err);
        store->pq.clear(result);
    }
    return r;
}

int postgres_gc(struct store *base, const struct store_gc_request *request,
                struct store_gc_result *ret_result, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct store_gc_result total = {0};
    uint64_t before = 0;
    int r = 0;
    if (request->is_dry_run) {
        r = count_garbage(store, request, &total, err);
    }
    for (bool is_end = request->is_dry_run; r == 0 && !is_end;) {
        PGresult *result = NULL;
        auto_query struct postgres_query query = {.which = PG_GC};
        postgres_add_now(&query, store);
        postgres_add_number(&query, request->ended_before_ns);
        postgres_add_number(&query, COLLECT_EVENTS);
        r = perform_long(store, &query, &result, "delete old runs", err);
        if (r == 0) {
            r = add_counts(store, result, &total, err);
            store->pq.clear(result);
            is_end = total.runs == before;
            before = total.runs;
        }
    }
    if (r == 0) {
        *ret_result = total;
    }
    return r;
}

static int read_state(struct postgres_store *store, struct store_health *health,
                      struct rondo_error *err)
{
    PGresult *result = NULL;
    struct postgres_connection *connection = NULL;
    auto_query struct postgres_query query = {.which = PG_HEALTH};
    int r = postgres_begin(store, false, &connection, err);
    if (r < 0) {
        return r;
    }
    connection->patience_ns = POSTGRES_LONG_PATIENCE_NS;
    int version = store->pq.serverVersion(connection->db);
    snprintf(health->version, sizeof(health->version), "PostgreSQL %d.%d", version / 10000,
             version % 10000);
    r = postgres_transact(connection, &query, 1, &result, "look at the store", err);
    postgres_end(connection);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    health->schema = (uint32_t)postgres_number(&row, 0);
    health->run_count = (uint64_t)postgres_number(&row, 1);
    health->event_count = (uint64_t)postgres_number(&row, 2);
    health->size_bytes = (uint64_t)postgres_number(&row, 3);
    health->is_intact = postgres_flag(&row, 4);
    r = postgres_check_answer(&row, "nnnnf", "look at the store", err);
    store->pq.clear(result);
    if (r == 0 && !health->is_intact) {
        snprintf(health->problem, sizeof(health->problem),
                 "the server loses what was committed when its machine fails: fsync or "
                 "full_page_writes is off");
    }
    return r;
}

static int check_events(struct postgres_store *store, struct store_health *health,
                        struct rondo_error *err)
{
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_HEALTH_CHECK};
    int r = perform_long(store, &query, &result, "check the store", err);
    if (r < 0) {
        return r;
    }
    if (store->pq.ntuples(result) > 0) {
        struct checked_row row = postgres_row(store, result, 0);
        health->is_intact = false;
        snprintf(health->problem, sizeof(health->problem),
                 "run %.*s has %lld events, but its row counts %lld", ID_SIZE - 1,
                 store->pq.getvalue(result, 0, 0), (long long)postgres_number(&row, 2),
                 (long long)postgres_number(&row, 1));
    }
    store->pq.clear(result);
    return 0;
}

int postgres_health(struct store *base, struct store_health *ret_health, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct store_health health = {0};
    struct rondo_error found = {0};
    snprintf(health.location, sizeof(health.location), "%s", store->address.shown);
    int r = read_state(store, &health, &found);
    if (r == 0) {
        r = check_events(store, &health, &found);
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
