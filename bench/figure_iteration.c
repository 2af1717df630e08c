// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of the durable iteration: one loop, and a hundred that share commits, both against a bare
 * SQLite commit of the bytes that an iteration leaves (event data and checkpoint).
 */
#include "floor.h"
#include "loops.h"
#include "measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Iterations of one measured block: enough to see past the clock, few enough to take turns. */
#define BLOCK 20
#define LOOPS 100

static const char event_bytes_sql[] =
    "SELECT total(length(type) + length(data)) / (SELECT count(*) FROM events"
    " WHERE type = 'iteration.finished') FROM events WHERE type LIKE 'iteration.%' OR"
    " type LIKE 'checkpoint.%'";
static const char checkpoint_bytes_sql[] =
    "SELECT avg(length(fold) + length(conditions) + coalesce(length(custom_data), 0) +"
    " coalesce(length(state), 0) + length(sha256)) FROM checkpoints";

/** Bytes that one iteration wrote as event data and checkpoint. */
static size_t iteration_bytes(const char *store)
{
    return (size_t)(floor_query(store, event_bytes_sql) + floor_query(store, checkpoint_bytes_sql));
}

void figure_iteration(struct bench *bench)
{
    const char *store = bench_path(bench, "iteration.db");
    struct rondo *rondo = loops_open(store);
    struct rondo_loop *loop = loops_start(rondo);
    struct floor *floor = floor_open(bench_path(bench, "iteration-floor.db"));
    loops_turns(loop, 50);
    size_t len = iteration_bytes(store);
    char *bytes = calloc(1, len + 1);
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        double began = now_us();
        loops_turns(loop, BLOCK);
        double between = now_us();
        for (int i = 0; i < BLOCK; i++) {
            memset(bytes, 'a' + i, len);
            floor_commit(floor, bytes, len);
        }
        samples_add(&ours, (between - began) / BLOCK);
        samples_add(&bare, (now_us() - between) / BLOCK);
    }
    bench_row(bench,
              &(struct report_row){.name = "durable iteration, one loop",
                                   .floor_name = "bare commit of its bytes",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.3},
              &ours, &bare);
    free(bytes);
    floor_close(floor);
    rondo_loop_free(loop);
    rondo_close(rondo);
}

/** One of the threads that turn loops at the same time. */
struct iteration_turner {
    pthread_t thread;
    struct rondo_loop *loop;
    pthread_barrier_t *barrier;
    size_t rounds;
};

static void *turn_loop(void *argument)
{
    struct iteration_turner *turner = argument;
    for (size_t round = 0; round < turner->rounds; round++) {
        pthread_barrier_wait(turner->barrier);
        loops_turns(turner->loop, BLOCK);
        pthread_barrier_wait(turner->barrier);
    }
    return NULL;
}

/** Committed events of all loops a second, against rows a second of the floor. */
static void measure_rounds(struct bench *bench, struct iteration_turner *turners,
                           pthread_barrier_t *barrier, size_t rounds, const char *store)
{
    struct floor *floor = floor_open(bench_path(bench, "group-floor.db"));
    struct samples events = {0};
    struct samples iterations = {0};
    struct samples bare = {0};
    struct samples bare_again = {0};
    char bytes[256];
    for (size_t round = 0; round < rounds; round++) {
        double before = floor_query(store, "SELECT max(position) FROM events");
        pthread_barrier_wait(barrier);
        double began = now_us();
        pthread_barrier_wait(barrier);
        double seconds = (now_us() - began) / 1e6;
        double after = floor_query(store, "SELECT max(position) FROM events");
        samples_add(&events, (after - before) / seconds);
        samples_add(&iterations, LOOPS * BLOCK / seconds);
        began = now_us();
        for (int i = 0; i < 2 * BLOCK; i++) {
            memset(bytes, 'a' + i % 26, sizeof(bytes));
            floor_commit(floor, bytes, sizeof(bytes));
        }
        samples_add(&bare, 2 * BLOCK / ((now_us() - began) / 1e6));
        samples_add(&bare_again, bare.values[round]);
    }
    for (size_t i = 0; i < LOOPS; i++) {
        pthread_join(turners[i].thread, NULL);
    }
    bench_row(bench,
              &(struct report_row){.name = "100 loops: durable events a second",
                                   .floor_name = "one commit an event",
                                   .unit = "/s",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 20},
              &events, &bare);
    bench_row(bench,
              &(struct report_row){.name = "100 loops: durable iterations a second",
                                   .floor_name = "one commit an event",
                                   .unit = "/s"},
              &iterations, &bare_again);
    floor_close(floor);
}

void figure_group_commit(struct bench *bench)
{
    const char *store = bench_path(bench, "group.db");
    struct rondo *rondo = loops_open(store);
    size_t rounds = bench_rounds(bench, 15);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, LOOPS + 1);
    static struct iteration_turner turners[LOOPS];
    for (size_t i = 0; i < LOOPS; i++) {
        turners[i] = (struct iteration_turner){
            .loop = loops_start(rondo), .barrier = &barrier, .rounds = rounds};
        loops_turn(turners[i].loop);
        if (pthread_create(&turners[i].thread, NULL, turn_loop, &turners[i]) != 0) {
            bench_die("cannot start a thread");
        }
    }
    measure_rounds(bench, turners, &barrier, rounds, store);
    for (size_t i = 0; i < LOOPS; i++) {
        rondo_loop_free(turners[i].loop);
    }
    pthread_barrier_destroy(&barrier);
    rondo_close(rondo);
}
