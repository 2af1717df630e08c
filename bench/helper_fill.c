// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: a store with a long past.
 *
 *   bench_fill STORE RUNS EVENTS      so many runs that have ended, with so many events each
 *
 * The runs were executed side by side, so their events lie mixed in the store, as in a server's.
 * Prints the id of a run in the middle.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/random.h"
#include "measure.h"
#include "store/locate/locate.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** Runs that run at the same time. */
#define GROUP 100
/** Events of a run in one transaction. */
#define BATCH       100
#define EVENT_BYTES 256

static const char created_format[] =
    "{\"format\":1,\"version\":\"0.1.0\",\"agent_id\":\"%s\",\"spec\":{\"agent_id\":\"%s\","
    "\"kind\":"
    "\"command\",\"workspace\":\"/"
    "tmp\",\"command\":[\"true\"],\"max_iterations\":%zu,\"conditions\":"
    "[]}}";

struct past {
    struct store *store;
    size_t run_count;
    size_t event_count;
    char (*ids)[ID_SIZE];
    struct store_event events[BATCH];
    char data[BATCH][EVENT_BYTES];
};

static void need(int result, const struct rondo_error *err)
{
    if (result < 0) {
        bench_die("%s", err->message);
    }
}

/** What the journal of a plain loop has: three kinds in turn, and the end. */
static void write_event(struct past *past, size_t slot, size_t seq)
{
    size_t iteration = seq / 3;
    struct store_event *event = &past->events[slot];
    char *data = past->data[slot];
    event->time_ns = clock_now(clock_system());
    event->data = data;
    if (seq == past->event_count) {
        event->type = "run.finished";
        snprintf(
            data, EVENT_BYTES,
            "{\"status\":\"completed\",\"iteration\":%zu,\"message\":\"all exit conditions are "
            "met\"}",
            iteration);
    } else if (seq % 3 == 0) {
        event->type = "iteration.started";
        snprintf(data, EVENT_BYTES, "{\"iteration\":%zu,\"attempt\":1,\"limit\":%zu}", iteration,
                 past->event_count);
    } else if (seq % 3 == 1) {
        event->type = "iteration.finished";
        snprintf(data, EVENT_BYTES,
                 "{\"iteration\":%zu,\"outcome\":\"ok\",\"exit_code\":0,\"signal\":0,"
                 "\"duration_ns\":12363099,\"tokens\":120,\"cost_micro\":40,\"output_bytes\":3,"
                 "\"output\":\"hi\\n\"}",
                 iteration);
    } else {
        event->type = "checkpoint.saved";
        snprintf(data, EVENT_BYTES,
                 "{\"number\":%zu,\"iteration\":%zu,\"bytes\":0,\"sha256\":\"db858a37db134b3f754630"
                 "f43ec4f55c6529c41790831ab45525fbcdd5d04563\",\"how\":\"interval\"}",
                 iteration, iteration);
    }
    event->data_len = strlen(data);
}

static void create(struct past *past, size_t index)
{
    struct store_run run = {.summary = {.status = RONDO_RUNNING}};
    id_new(clock_now(clock_system()), random_system(), past->ids[index]);
    memcpy(run.id, past->ids[index], ID_SIZE);
    snprintf(run.agent_id, sizeof(run.agent_id), "agent-%02zu", index % 50);
    char data[1024];
    snprintf(data, sizeof(data), created_format, run.agent_id, run.agent_id, past->event_count);
    struct store_event first = {.time_ns = clock_now(clock_system()),
                                .type = "run.created",
                                .data = data,
                                .data_len = strlen(data)};
    struct store_claim claim = {.owner = "bench", .lease_ns = NS_PER_S};
    struct store_claim_result result;
    struct rondo_error err = {0};
    need(past->store->ops->create_run(past->store, &run, &first, 1, &claim, &result, &err), &err);
}

/** One transaction: the next events of every run of the group. */
static void commit(struct past *past, size_t first_run, size_t runs, size_t first_seq, size_t count)
{
    static struct store_batch batches[GROUP];
    static const struct store_batch *pointers[GROUP];
    static struct store_commit_result results[GROUP];
    for (size_t i = 0; i < count; i++) {
        write_event(past, i, first_seq + i);
    }
    bool is_last = first_seq + count > past->event_count;
    for (size_t i = 0; i < runs; i++) {
        size_t index = first_run + i;
        batches[i] = (struct store_batch){
            .run_id = past->ids[index],
            .epoch = 1,
            .first_seq = first_seq,
            .events = past->events,
            .event_count = count,
            .summary = {.status = !is_last         ? RONDO_RUNNING
                                  : index % 7 == 0 ? RONDO_FAILED
                                                   : RONDO_COMPLETED,
                        .iteration = (first_seq + count) / 3,
                        .iteration_limit = past->event_count,
                        .tokens = (int64_t)(index * 1000),
                        .cost_micro = (int64_t)(index * 37)},
            .lease_ns = is_last ? 0 : NS_PER_S,
        };
        pointers[i] = &batches[i];
    }
    struct rondo_error err = {0};
    need(past->store->ops->commit(past->store, pointers, runs, results, &err), &err);
}

static void live_through(struct past *past, size_t first_run, size_t runs)
{
    for (size_t i = 0; i < runs; i++) {
        create(past, first_run + i);
    }
    for (size_t seq = 2; seq <= past->event_count; seq += BATCH) {
        size_t left = past->event_count - seq + 1;
        commit(past, first_run, runs, seq, left < BATCH ? left : BATCH);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        bench_die("usage: bench_fill STORE RUNS EVENTS");
    }
    static struct past past;
    struct rondo_error err = {0};
    char *path = NULL;
    need(store_open_default(argv[1], STORE_CREATING, &past.store, &path, &err), &err);
    past.run_count = strtoul(argv[2], NULL, 10);
    past.event_count = strtoul(argv[3], NULL, 10);
    past.ids = calloc(past.run_count, sizeof(*past.ids));
    for (size_t first = 0; first < past.run_count; first += GROUP) {
        size_t left = past.run_count - first;
        live_through(&past, first, left < GROUP ? left : GROUP);
    }
    printf("%s\n", past.ids[past.run_count / 2]);
    store_close(past.store);
    free(past.ids);
    free(path);
    return 0;
}
