// SPDX-License-Identifier: Apache-2.0
/*
 * Opening and closing of the PostgreSQL back end, and its table of operations.
 *
 * Threads: see internal.h.
 */
#include "store/postgres/postgres.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/postgres/internal.h"
#include "store/postgres/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Commits at the same time: with more, a server is no faster. */
#define COMMITS_MAX 8

static void close_store(struct store *base)
{
    struct postgres_store *store = (struct postgres_store *)base;
    postgres_announcer_fini(store);
    for (unsigned i = 0; i < store->address.connections; i++) {
        postgres_close(&store->connections[i]);
        pthread_mutex_destroy(&store->connections[i].mutex);
    }
    for (size_t i = 0; i < PG_COUNT; i++) {
        free(store->sql[i]);
    }
    free(store->connections);
    free(store->schema);
    postgres_address_fini(&store->address);
    free(store);
}

static struct store_schema schema(struct store *base)
{
    const struct postgres_store *store = (const struct postgres_store *)base;
    return (struct store_schema){(uint32_t)store->found, (uint32_t)store->present};
}

static const struct store_ops postgres_ops = {
    .name = "postgresql",
    .close = close_store,
    .create_run = postgres_create_run,
    .claim_run = postgres_claim_run,
    .expire_lease = postgres_expire_lease,
    .renew_leases = postgres_renew_leases,
    .commits_at_once = postgres_commits_at_once,
    .commit = postgres_commit,
    .get_run = postgres_get_run,
    .list_runs = postgres_list_runs,
    .count_runs = postgres_count_runs,
    .read_events = postgres_read_events,
    .list_checkpoints = postgres_list_checkpoints,
    .get_checkpoint = postgres_get_checkpoint,
    .post = postgres_post,
    .read_mail = postgres_read_mail,
    .last_position = postgres_last_position,
    .now = postgres_now,
    .watch = postgres_watch,
    .record_policy = postgres_record_policy,
    .read_policies = postgres_read_policies,
    .change_documents = postgres_change_documents,
    .next_collection = postgres_next_collection,
    .read_documents = postgres_read_documents,
    .reserve_memories = postgres_reserve_memories,
    .change_memories = postgres_change_memories,
    .read_memories = postgres_read_memories,
    .read_memory_owners = postgres_read_memory_owners,
    .import = postgres_import,
    .gc = postgres_gc,
    .schema = schema,
    .health = postgres_health,
};

static char *quote(const char *name)
{
    struct buf quoted = {0};
    buf_printf(&quoted, "\"%s\"", name);
    return buf_steal(&quoted);
}

/** How many of so many connections are for commits: the others are for claims and readers. */
static unsigned count_commits(unsigned connections)
{
    unsigned half = connections / 2;
    return half < COMMITS_MAX ? half : COMMITS_MAX;
}

/** A store without connections; close_store(). */
static struct postgres_store *make_store(const struct pq_library *pq,
                                         struct postgres_address *address,
                                         const struct clock *clock)
{
    struct postgres_store *store = memory_new_zero(1, sizeof(*store));
    store->base.ops = &postgres_ops;
    store->pq = *pq;
    store->address = *address;
    *address = (struct postgres_address){0};
    store->schema = quote(store->address.schema);
    random_system()->fill(random_system(), store->secret, sizeof(store->secret));
    store->clock = clock;
    store->commit_count = count_commits(store->address.connections);
    store->connections = memory_new_zero(store->address.connections, sizeof(*store->connections));
    for (unsigned i = 0; i < store->address.connections; i++) {
        store->connections[i].store = store;
        int r = pthread_mutex_init(&store->connections[i].mutex, NULL);
        assert(r == 0);
    }
    postgres_announcer_init(&store->announcer);
    for (size_t i = 0; i < PG_COUNT; i++) {
        store->sql[i] = postgres_schema_fill(store, postgres_statements[i]);
        uint64_t hash = hash_bytes(HASH_START, store->sql[i], strlen(store->sql[i]));
        snprintf(store->names[i], sizeof(store->names[i]), "rondo_%016" PRIx64, hash);
    }
    return store;
}

int store_postgres_open(const struct store_postgres_options *options, struct store **ret_store,
                        struct rondo_error *err)
{
    struct postgres_address address = {0};
    struct pq_library pq;
    int r = postgres_address_parse(options->address, &address, err);
    if (r == 0 && options->schema != NULL) {
        r = postgres_check_schema(options->schema, err);
        if (r == 0) {
            memcpy(address.schema, options->schema, strlen(options->schema) + 1);
        }
    }
    if (r == 0) {
        r = pq_library_open(&pq, err);
    }
    if (r < 0) {
        postgres_address_fini(&address);
        return r;
    }
    struct postgres_store *store = make_store(&pq, &address, options->clock);
    store->is_silent = options->is_silent;
    r = postgres_schema_prepare(store, options->may_create, options->may_migrate, err);
    if (r < 0) {
        close_store(&store->base);
        return r;
    }
    *ret_store = &store->base;
    return 0;
}
