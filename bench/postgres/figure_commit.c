// SPDX-License-Identifier: Apache-2.0
/*
 * The commit at the end of an iteration over PostgreSQL: of one loop beside a program with libpq
 * alone, and of a hundred beside pgbench with a hundred clients. All of them keep the same facts:
 * an epoch is checked, a lease renewed, events and a checkpoint appended, in one transaction and
 * one pipeline. How many and how large, a loop of a few iterations says.
 */
#include "../measure.h"
#include "database.h"

#include "base/clock.h"
#include "store/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK      20
#define LOOPS      100
#define EVENTS_MAX DATABASE_EVENTS_MAX

/** One that commits iterations of a run of its own. */
struct iterator {
    pthread_t thread;
    struct writer *writer;
    const struct database_traces *traces;
    char run_id[ID_SIZE];
    uint64_t seq;
    uint64_t number;
    char *data;  /**< of an event */
    char *state; /**< of a checkpoint */
};

static const struct store_claim claim = {.owner = "bench", .lease_ns = 3600 * NS_PER_S};

/** A JSON text of such a length. */
static char *make_text(size_t len)
{
    char *text = calloc(1, len + 3);
    if (text == NULL) {
        bench_die("out of memory");
    }
    memset(text, 'a', len);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + (len < 8 ? 6 : len - 2), "\"}", 3);
    return text;
}

static void iterator_init(struct iterator *iterator, struct writer *writer,
                          const struct database_traces *traces, unsigned number)
{
    *iterator = (struct iterator){.writer = writer, .traces = traces};
    snprintf(iterator->run_id, sizeof(iterator->run_id), "01900000-0000-7000-8000-%012x", number);
    iterator->data = make_text(traces->event_bytes);
    iterator->state = make_text(traces->checkpoint_bytes);
    struct store *store = writer_store(writer);
    struct store_run run = {.agent_id = "bench"};
    struct store_claim_result result = {0};
    struct rondo_error err = {0};
    memcpy(run.id, iterator->run_id, sizeof(run.id));
    if (store->ops->create_run(store, &run, NULL, 0, &claim, &result, &err) < 0) {
        bench_die("%s", err.message);
    }
}

static void iterator_fini(struct iterator *iterator)
{
    free(iterator->data);
    free(iterator->state);
}

/** Commit one iteration. */
static void iterate(struct iterator *iterator)
{
    struct store_event events[EVENTS_MAX];
    size_t count = (size_t)iterator->traces->events;
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct store_event){
            .type = "bench.event", .data = iterator->data, .data_len = strlen(iterator->data)};
    }
    const struct store_checkpoint checkpoint = {.number = iterator->number + 1,
                                                .seq = iterator->seq + count,
                                                .fold = iterator->state,
                                                .conditions = "[]"};
    const struct store_batch batch = {.run_id = iterator->run_id,
                                      .epoch = 1,
                                      .first_seq = iterator->seq + 1,
                                      .events = events,
                                      .event_count = count,
                                      .checkpoint = &checkpoint,
                                      .summary = {.iteration = iterator->number},
                                      .lease_ns = claim.lease_ns};
    struct store_commit_result result = {0};
    struct rondo_error err = {0};
    if (writer_commit(iterator->writer, &batch, &result, &err) < 0 ||
        result.outcome != STORE_COMMITTED) {
        bench_die("commit: %s", err.message);
    }
    iterator->seq += count;
    iterator->number++;
}

static void *iterate_block(void *iterator)
{
    for (int i = 0; i < BLOCK; i++) {
        iterate(iterator);
    }
    return NULL;
}

static void measure_one(const struct database *database, const struct database_traces *traces,
                        struct iterator *iterator, size_t rounds, struct samples *ours,
                        struct samples *bare)
{
    int turn = 0;
    iterate_block(iterator);
    for (size_t round = 0; round < rounds; round++) {
        double began = now_us();
        iterate_block(iterator);
        double between = now_us();
        for (int i = 0; i < BLOCK; i++) {
            database_floor_commit(database->db, traces, 0, ++turn);
        }
        samples_add(ours, (between - began) / BLOCK);
        samples_add(bare, (now_us() - between) / BLOCK);
    }
}

void figure_postgres_commit(struct bench *bench)
{
    struct database database;
    if (!database_begin(bench, &database)) {
        return;
    }
    const struct database_traces traces = database_find_traces(&database);
    struct store *store = database_store(database.address);
    struct writer *writer = writer_new(store);
    struct iterator iterator;
    struct samples ours = {0};
    struct samples bare = {0};
    iterator_init(&iterator, writer, &traces, 0);
    database_floor_make(database.db, 1);
    database_floor_prepare(database.db, &traces);
    measure_one(&database, &traces, &iterator, bench_rounds(bench, 100), &ours, &bare);
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: commit of an iteration, one loop",
                                   .floor_name = "the same facts with libpq alone",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.3},
              &ours, &bare);
    iterator_fini(&iterator);
    writer_free(writer);
    store_close(store);
    database_end(&database);
}

/** Commits a second of all loops at once. */
static double iterate_all(struct iterator *iterators)
{
    double began = now_us();
    for (size_t i = 0; i < LOOPS; i++) {
        if (pthread_create(&iterators[i].thread, NULL, iterate_block, &iterators[i]) != 0) {
            bench_die("cannot start a thread");
        }
    }
    for (size_t i = 0; i < LOOPS; i++) {
        pthread_join(iterators[i].thread, NULL);
    }
    return LOOPS * BLOCK / ((now_us() - began) / 1e6);
}

void figure_postgres_100(struct bench *bench)
{
    static struct iterator iterators[LOOPS];
    struct database database;
    if (!database_has_pgbench() || !database_begin(bench, &database)) {
        return;
    }
    const char *script = bench_path(bench, "pgbench.sql");
    const struct database_traces traces = database_find_traces(&database);
    struct store *store = database_store(database.address);
    struct writer *writer = writer_new(store);
    struct samples ours = {0};
    struct samples bare = {0};
    for (unsigned i = 0; i < LOOPS; i++) {
        iterator_init(&iterators[i], writer, &traces, i);
    }
    database_floor_make(database.db, LOOPS);
    database_floor_script(script, &traces);
    iterate_all(iterators);
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        samples_add(&ours, iterate_all(iterators));
        samples_add(&bare, database_pgbench(&database, script, &traces,
                                            &(struct database_load){LOOPS, BLOCK, round}));
    }
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: commits a second of 100 loops",
                                   .floor_name = "the same facts, 100 clients of pgbench",
                                   .unit = "/s",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 0.8},
              &ours, &bare);
    for (size_t i = 0; i < LOOPS; i++) {
        iterator_fini(&iterators[i]);
    }
    writer_free(writer);
    store_close(store);
    database_end(&database);
}
