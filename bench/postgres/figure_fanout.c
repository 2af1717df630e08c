// SPDX-License-Identifier: Apache-2.0
/*
 * From the commit of an event by one machine until a follower of all runs on another has it, beside
 * a program with libpq alone that looks every 10 ms. Each event comes at a random time after the
 * one before, because followers look in turns.
 */
#include "../measure.h"
#include "database.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/random.h"
#include "store/store.h"
#include "store/writer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MAX_NS (30 * NS_PER_MS)
#define LOOK_NS      (10 * NS_PER_MS)

static const char run_id[] = "01900000-0000-7000-8000-00000000000a";

/** What a follower is, and what it has seen. */
struct follower {
    pthread_t thread;
    const char *address;
    atomic_bool is_over;
    sem_t seen;
    double seen_us; /**< when the newest event was seen */
    uint64_t count;
};

static void note_seen(struct follower *follower)
{
    follower->seen_us = now_us();
    sem_post(&follower->seen);
}

static bool take_event(const struct store_event *event, void *context)
{
    *(uint64_t *)context = event->position;
    return true;
}

static void *follow(void *argument)
{
    struct follower *follower = argument;
    struct store *store = database_store(follower->address);
    struct writer *writer = writer_new(store);
    uint64_t position = 0;
    while (!atomic_load(&follower->is_over)) {
        uint64_t before = position;
        writer_wait(writer, position, NS_PER_S, NULL);
        if (store->ops->read_events(store, NULL, position, 0, take_event, &position, NULL) < 0) {
            bench_die("events cannot be read");
        }
        if (position > before) {
            note_seen(follower);
        }
    }
    writer_free(writer);
    store_close(store);
    return NULL;
}

static void *look(void *argument)
{
    struct follower *follower = argument;
    PGconn *db = PQconnectdb(follower->address);
    double position = 0;
    while (!atomic_load(&follower->is_over)) {
        double found = database_perform(db, "SELECT coalesce(max(position), 0) FROM floor_events");
        if (found > position) {
            position = found;
            note_seen(follower);
        }
        clock_sleep(clock_system(), LOOK_NS, NULL);
    }
    PQfinish(db);
    return NULL;
}

static void start(struct follower *follower, void *(*fn)(void *), const char *address)
{
    *follower = (struct follower){.address = address};
    sem_init(&follower->seen, 0, 0);
    if (pthread_create(&follower->thread, NULL, fn, follower) != 0) {
        bench_die("cannot start a thread");
    }
}

static void end(struct follower *follower)
{
    atomic_store(&follower->is_over, true);
    pthread_join(follower->thread, NULL);
    sem_destroy(&follower->seen);
}

static void pause_at_random(void)
{
    int64_t pause_ns = (int64_t)(random_u64(random_system()) % PAUSE_MAX_NS);
    clock_sleep(clock_system(), pause_ns, NULL);
}

static double wait_until_seen(struct follower *follower, double began_us)
{
    while (sem_wait(&follower->seen) != 0) {
    }
    return (follower->seen_us - began_us) / 1e3;
}

static void append(struct store *store, uint64_t seq)
{
    const struct store_event event = {.type = "bench.event", .data = "{}", .data_len = 2};
    const struct store_batch batch = {.run_id = run_id,
                                      .epoch = 1,
                                      .first_seq = seq,
                                      .events = &event,
                                      .event_count = 1,
                                      .lease_ns = NS_PER_S};
    const struct store_batch *const batches[] = {&batch};
    struct store_commit_result result = {0};
    struct rondo_error err = {0};
    if (store->ops->commit(store, batches, 1, &result, &err) < 0 ||
        result.outcome != STORE_COMMITTED) {
        bench_die("commit: %s", err.message);
    }
}

static void create_run(struct store *store)
{
    const struct store_claim claim = {.owner = "bench", .lease_ns = 3600 * NS_PER_S};
    struct store_claim_result result = {0};
    struct rondo_error err = {0};
    struct store_run run = {.agent_id = "bench"};
    memcpy(run.id, run_id, sizeof(run_id));
    if (store->ops->create_run(store, &run, NULL, 0, &claim, &result, &err) < 0) {
        bench_die("%s", err.message);
    }
}

void figure_postgres_fanout(struct bench *bench)
{
    struct database database;
    if (!database_begin(bench, &database)) {
        return;
    }
    struct store *store = database_store(database.address);
    struct follower ours;
    struct follower bare;
    struct samples our_ms = {0};
    struct samples bare_ms = {0};
    create_run(store);
    database_floor_make(database.db, 1);
    start(&ours, follow, database.address);
    start(&bare, look, database.address);
    for (size_t round = 0; round < bench_rounds(bench, 200); round++) {
        pause_at_random();
        double began = now_us();
        append(store, round + 1);
        samples_add(&our_ms, wait_until_seen(&ours, began));
        pause_at_random();
        began = now_us();
        char sql[96];
        snprintf(sql, sizeof(sql),
                 "INSERT INTO floor_events (run, seq, data) VALUES (0, %zu, '{}')", round);
        database_perform(database.db, sql);
        samples_add(&bare_ms, wait_until_seen(&bare, began));
    }
    end(&ours);
    end(&bare);
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: event to a follower on another machine",
                                   .floor_name = "a program with libpq that looks every 10 ms",
                                   .unit = "ms",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.3},
              &our_ms, &bare_ms);
    store_close(store);
    database_end(&database);
}
