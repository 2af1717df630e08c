// SPDX-License-Identifier: Apache-2.0
/*
 * Versions of the schema. Only `rondo store migrate` brings a store to a newer one: were it done by
 * whatever program opens the store first, one new server would lock the others out in the middle of
 * their work, at a moment that nobody chose.
 *
 * A migration is one transaction: the steps from the version that was found to the newest one, and
 * after them all functions anew. A step says which is the oldest program that can use what it
 * makes. Most let that of the version before continue, so servers are replaced one by one after the
 * migration. A step that does not is refused while such programs execute runs.
 */
#include "base/auto.h"
#include "base/error.h"
#include "store/postgres/schema.h"

#include <inttypes.h>
#include <stdlib.h>

/** Wait for the locks of others, who themselves wait for those that the migration has by then. */
#define LOCK_WAIT "5s"

static const struct migration_step {
    int64_t to;     /**< from the version before it */
    int64_t oldest; /**< version of the oldest program that can use what it makes */
    const char *sql;
} steps[] = {
    /* Programs of version 10 refuse every other version. */
    {11, 11, postgres_step_11},
    {12, 11, postgres_step_12},
};

#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

_Static_assert(STEP_COUNT > 0, "the first entry says where migrations begin");

int postgres_check_version(const struct postgres_store *store, int64_t program,
                           const struct postgres_version *version, struct rondo_error *err)
{
    const char *shown = store->address.shown;
    if (version->schema > program && version->oldest > program) {
        return error_set(err, RONDO_ERR_VERSION,
                         "%s has schema version %" PRId64 ", which programs of version %" PRId64
                         " can no longer use; install a newer Rondo",
                         shown, version->schema, program);
    }
    if (version->schema >= program) {
        return 0;
    }
    if (version->schema >= steps[0].to - 1) {
        return error_set(err, RONDO_ERR_VERSION,
                         "%s has schema version %" PRId64
                         ", and this program needs version %" PRId64
                         "; the owner of the store brings it up to date with `rondo store migrate`",
                         shown, version->schema, program);
    }
    return error_set(err, RONDO_ERR_VERSION,
                     "%s has schema version %" PRId64 ", made by a development version of Rondo; "
                     "there is no way from it to version %" PRId64 ". Name a new schema with "
                     "rondo_schema, or delete this one with all of its runs (DROP SCHEMA %s "
                     "CASCADE)",
                     shown, version->schema, program, store->address.schema);
}

/** Perform a text of statements in the transaction of the migration. */
static int perform(struct postgres_connection *connection, const char *sql, struct rondo_error *err)
{
    auto_free char *filled = postgres_schema_fill(connection->store, sql);
    return postgres_script(connection, filled, NULL, "migrate the store", err);
}

/** The number that a statement gives as text. */
static int read_number(struct postgres_connection *connection, const char *sql, int64_t *ret_number,
                       struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    auto_free char *filled = postgres_schema_fill(connection->store, sql);
    PGresult *result = NULL;
    int r = postgres_script(connection, filled, &result, "migrate the store", err);
    if (r < 0) {
        return r;
    }
    char *end = NULL;
    if (pq->ntuples(result) != 1) {
        r = error_set(err, RONDO_ERR_CORRUPT,
                      "%s is damaged: it does not say its version; restore a backup",
                      connection->store->address.shown);
    } else {
        *ret_number = strtoll(pq->getvalue(result, 0, 0), &end, 10);
    }
    pq->clear(result);
    return r;
}

/**
 * Refuse when programs that could not use the store any more execute runs. Nobody can claim another
 * one from here on: the lock is kept.
 */
static int check_no_runs(struct postgres_connection *connection, int64_t to,
                         struct rondo_error *err)
{
    int64_t count = 0;
    int r = perform(connection, "LOCK TABLE {s}.runs IN ACCESS EXCLUSIVE MODE", err);
    if (r == 0) {
        r = read_number(connection,
                        "SELECT count(*) FROM {s}.runs WHERE owner <> '' AND lease_until_ns > "
                        "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000000)::bigint",
                        &count, err);
    }
    if (r == 0 && count > 0) {
        r = error_set(err, RONDO_ERR_BUSY,
                      "%" PRId64 " %s executed by programs that cannot use schema version %" PRId64
                      "; stop them (rondo runs shows the runs), then migrate",
                      count, count == 1 ? "run is" : "runs are", to);
    }
    return r;
}

/** The steps, the functions and the new version, in the transaction. */
static int perform_steps(struct postgres_connection *connection, int64_t found,
                         struct rondo_error *err)
{
    const struct migration_step *last = &steps[STEP_COUNT - 1];
    int r = last->oldest > found ? check_no_runs(connection, last->to, err) : 0;
    for (size_t i = 0; r == 0 && i < STEP_COUNT; i++) {
        r = steps[i].to > found ? perform(connection, steps[i].sql, err) : 0;
    }
    if (r == 0) {
        r = perform(connection, postgres_schema_functions, err);
    }
    if (r == 0) {
        auto_buf struct buf sql = {0};
        buf_printf(&sql, "UPDATE {s}.meta SET version = %" PRId64 ", oldest = %" PRId64, last->to,
                   last->oldest);
        r = perform(connection, buf_string(&sql), err);
    }
    return r;
}

int postgres_migrate(struct postgres_connection *connection, int64_t *ret_found,
                     struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    struct postgres_version version = {0};
    auto_buf struct buf begin = {0};
    buf_printf(&begin,
               "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
               "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('%s', 7));"
               "SET LOCAL lock_timeout = '" LOCK_WAIT "'",
               store->address.schema);
    int r = perform(connection, buf_string(&begin), err);
    if (r == 0) {
        r = read_number(connection, "SELECT version FROM {s}.meta FOR UPDATE", &version.schema,
                        err);
    }
    bool is_old = r == 0 && version.schema < POSTGRES_SCHEMA_VERSION;
    if (is_old && version.schema >= steps[0].to - 1) {
        r = perform_steps(connection, version.schema, err);
    } else if (is_old) {
        r = postgres_check_version(store, POSTGRES_SCHEMA_VERSION, &version, err);
    }
    if (r == 0) {
        r = perform(connection, "COMMIT", err);
        *ret_found = version.schema;
    }
    if (r < 0) {
        connection->is_broken = true; /* With the connection the transaction ends. */
    }
    return r;
}
