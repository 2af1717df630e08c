// SPDX-License-Identifier: Apache-2.0
/* What `rondo doctor` asks a server. Threads: as for any operation of the store. */
#include "base/error.h"
#include "store/postgres/internal.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

/** The first question may open a connection. */
#define QUESTIONS 4

static void copy_text(const struct postgres_store *store, const PGresult *result, int column,
                      char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%.*s", store->pq.getlength(result, 0, column),
             store->pq.getvalue(result, 0, column));
}

static int read_answer(const struct postgres_store *store, const PGresult *result,
                       struct store_postgres_server *ret_server, struct rondo_error *err)
{
    struct checked_row row = postgres_row(store, result, 0);
    int r = postgres_check_answer(&row, "ffftfnnfftntff", "look at the server", err);
    ret_server->is_standby = postgres_flag(&row, 0);
    ret_server->is_durable = postgres_flag(&row, 1) && postgres_flag(&row, 2);
    copy_text(store, result, 3, ret_server->synchronous_commit,
              sizeof(ret_server->synchronous_commit));
    ret_server->has_standbys = postgres_flag(&row, 4);
    ret_server->connections = postgres_number(&row, 5);
    ret_server->connection_max = postgres_number(&row, 6);
    ret_server->is_encrypted = postgres_flag(&row, 7);
    ret_server->is_remote = postgres_flag(&row, 8);
    copy_text(store, result, 9, ret_server->role, sizeof(ret_server->role));
    int64_t rank = postgres_number(&row, 10);
    ret_server->rank = rank < STORE_RANK_COUNT ? (enum store_postgres_rank)rank : STORE_NO_RIGHTS;
    copy_text(store, result, 11, ret_server->agents, sizeof(ret_server->agents));
    ret_server->is_superuser = postgres_flag(&row, 12);
    ret_server->has_policies = postgres_flag(&row, 13);
    return r;
}

int store_postgres_look(struct store *base, struct store_postgres_server *ret_server,
                        struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct store_postgres_server server = {.round_trip_ns = INT64_MAX};
    for (int i = 0; i < QUESTIONS; i++) {
        PGresult *result = NULL;
        auto_query struct postgres_query query = {.which = PG_SERVER};
        int64_t before_ns = clock_monotonic(clock_system());
        int r = postgres_perform(store, &query, &result, "look at the server", err);
        if (r < 0) {
            return r;
        }
        int64_t passed_ns = clock_monotonic(clock_system()) - before_ns;
        server.round_trip_ns = passed_ns < server.round_trip_ns ? passed_ns : server.round_trip_ns;
        r = read_answer(store, result, &server, err);
        store->pq.clear(result);
        if (r < 0) {
            return r;
        }
    }
    server.own_max = store->address.connections + 1;
    *ret_server = server;
    return 0;
}

int store_postgres_replication(struct store *base, struct store_postgres_replication *ret_state,
                               struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_REPLICATION};
    int r = postgres_perform_again(store, &query, &result, "look at the standbys", err);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    r = postgres_check_answer(&row, "nfnn", "look at the standbys", err);
    *ret_state = (struct store_postgres_replication){
        .is_known = postgres_flag(&row, 1),
        .standbys = (uint64_t)postgres_number(&row, 0),
        .lag_ns = postgres_number(&row, 2),
        .lag_bytes = postgres_number(&row, 3),
    };
    store->pq.clear(result);
    return r;
}

struct store_postgres_pool store_postgres_pool(struct store *base)
{
    struct postgres_store *store = (struct postgres_store *)base;
    return (struct store_postgres_pool){
        .open = atomic_load(&store->pool.open),
        .used = atomic_load(&store->pool.used),
        .waits = atomic_load(&store->pool.waits),
        .waiting_ns = atomic_load(&store->pool.waiting_ns),
    };
}
