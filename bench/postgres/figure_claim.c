// SPDX-License-Identifier: Apache-2.0
/* A claim of a run over PostgreSQL beside the least that a program with libpq needs for one. */
#include "../measure.h"
#include "database.h"

#include "store/store.h"

#include <string.h>

#define BLOCK 20

static const char run_id[] = "01900000-0000-7000-8000-00000000000a";

/** The lease is over at once, so the next claim succeeds as well. */
static const struct store_claim claim = {.owner = "bench", .lease_ns = 1};

static void check(int code, const struct store_claim_result *result, const struct rondo_error *err)
{
    if (code < 0 || result->outcome != STORE_CLAIMED) {
        bench_die("claim: %d %s", code, err->message);
    }
}

static struct store *open_store(const char *address)
{
    struct store *store = database_store(address);
    struct store_claim_result result = {0};
    struct rondo_error err = {0};
    struct store_run run = {.agent_id = "bench"};
    memcpy(run.id, run_id, sizeof(run_id));
    check(store->ops->create_run(store, &run, NULL, 0, &claim, &result, &err), &result, &err);
    return store;
}

static void claim_block(struct store *store)
{
    for (int i = 0; i < BLOCK; i++) {
        struct store_claim_result result = {0};
        struct rondo_error err = {0};
        check(store->ops->claim_run(store, run_id, &claim, &result, &err), &result, &err);
    }
}

static void floor_block(PGconn *db)
{
    for (int i = 0; i < BLOCK; i++) {
        PGresult *result = PQexecPrepared(db, "floor_claim", 0, NULL, NULL, NULL, 0);
        if (PQntuples(result) != 1) {
            bench_die("floor: %s", PQerrorMessage(db));
        }
        PQclear(result);
    }
}

void figure_postgres_claim(struct bench *bench)
{
    struct database database;
    if (!database_begin(bench, &database)) {
        return;
    }
    struct store *store = open_store(database.address);
    database_floor_make(database.db, 1);
    PQclear(PQprepare(database.db, "floor_claim",
                      "UPDATE floor_runs SET epoch = epoch + 1, lease_until = 1 WHERE id = (SELECT"
                      " id FROM floor_runs WHERE lease_until <= 1 ORDER BY id LIMIT 1 FOR UPDATE"
                      " SKIP LOCKED) RETURNING epoch",
                      0, NULL));
    struct samples ours = {0};
    struct samples bare = {0};
    claim_block(store);
    for (size_t round = 0; round < bench_rounds(bench, 50); round++) {
        double began = now_us();
        claim_block(store);
        double between = now_us();
        floor_block(database.db);
        samples_add(&ours, (between - began) / BLOCK);
        samples_add(&bare, (now_us() - between) / BLOCK);
    }
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: claim of a run",
                                   .floor_name = "one UPDATE with SKIP LOCKED, libpq alone",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.3},
              &ours, &bare);
    store_close(store);
    database_end(&database);
}
