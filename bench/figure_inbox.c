// SPDX-License-Identifier: Apache-2.0
/*
 * What waits for people, in the memory of a server: the time to read it at the start, the memory of
 * each, and a query of an inbox.
 */
#include "measure.h"

#include "base/clock.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/index.h"
#include "store/locate/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH   500
#define QUERIES 200
#define PAGE    50
#define BEGIN   (1800000000 * NS_PER_S)

static void name_request(size_t number, char ret_id[ID_SIZE])
{
    snprintf(ret_id, ID_SIZE, "e6a19e20-f630-5f7a-91bd-%012zu", number);
}

static void describe(size_t number, struct handoff_summary *ret_summary)
{
    *ret_summary = (struct handoff_summary){
        .state = HANDOFF_ROUTED,
        .priority = (enum handoff_level)(number % HANDOFF_LEVEL_COUNT),
        .revision = 1,
        .version = 2,
        .requested_ns = BEGIN + (int64_t)number,
        .due_ns = BEGIN + (int64_t)(number * 7919 % 1000003) * NS_PER_S,
        .timer_ns = BEGIN + (int64_t)(number * 7919 % 1000003) * NS_PER_S / 2,
    };
    name_request(number, ret_summary->request_id);
    snprintf(ret_summary->agent_id, sizeof(ret_summary->agent_id), "agent-%zu", number % 500);
    snprintf(ret_summary->lane_id, sizeof(ret_summary->lane_id), "01a20bc1-0a61-738c-a8f8-%012zu",
             number);
    snprintf(ret_summary->desk, sizeof(ret_summary->desk), "desk-%zu", number % 20);
    snprintf(ret_summary->tool, sizeof(ret_summary->tool), "run_shell");
    snprintf(ret_summary->why, sizeof(ret_summary->why),
             "this role requires confirmation of what host %zu is told", number);
}

static void add_batch(struct store *store, size_t from)
{
    static struct buf texts[BATCH];
    static char keys[BATCH][ID_SIZE];
    static struct store_change changes[BATCH];
    struct rondo_error err = {0};
    bool is_applied = false;
    for (size_t i = 0; i < BATCH; i++) {
        struct handoff_summary summary;
        describe(from + i, &summary);
        name_request(from + i, keys[i]);
        buf_clear(&texts[i]);
        handoff_summary_encode(&summary, &texts[i]);
        changes[i] = (struct store_change){.collection = HANDOFF_OPEN_COLLECTION,
                                           .key = keys[i],
                                           .data = buf_string(&texts[i]),
                                           .data_len = texts[i].len};
    }
    if (store->ops->change_documents(store, changes, BATCH, &is_applied, &err) < 0) {
        bench_die("%s", err.message);
    }
}

static bool take(const struct handoff_summary *summary, const struct handoff_place_in_list *place,
                 void *context)
{
    (void)place;
    *(int64_t *)context = summary->due_ns;
    return true;
}

/** The first page of an inbox: of a desk, of an agent, of what contains a word, of all. */
static double query_ms(struct handoff_index *index, const struct handoff_store *handoffs,
                       size_t round)
{
    char desk[16], agent[16], host[16];
    int64_t last_ns = 0;
    struct handoff_tally tally;
    struct rondo_error err = {0};
    struct handoff_query query = {.limit = PAGE};
    snprintf(desk, sizeof(desk), "desk-%zu", round % 20);
    snprintf(agent, sizeof(agent), "agent-%zu", round % 500);
    snprintf(host, sizeof(host), "host %zu", round * 31);
    query.desk = round % 4 == 0 ? desk : NULL;
    query.agent_id = round % 4 == 1 ? agent : NULL;
    query.text = round % 4 == 2 ? host : NULL;
    double began = now_us();
    if (handoff_index_refresh(index, handoffs, &err) < 0) {
        bench_die("%s", err.message);
    }
    handoff_index_list(index, NULL, &query, take, &last_ns);
    handoff_index_count(index, NULL, &(struct handoff_query){.person = "user:ann"}, BEGIN, &tally);
    return (now_us() - began) / 1000;
}

/** A value below which 99 of 100 queries take. */
static double slowest_ms(struct handoff_index *index, const struct handoff_store *handoffs)
{
    struct samples times = {0};
    for (size_t i = 0; i < QUERIES; i++) {
        samples_add(&times, query_ms(index, handoffs, i));
    }
    double slowest = samples_percentile(&times, 0.99);
    samples_fini(&times);
    return slowest;
}

static double document_ms(const struct handoff_store *handoffs)
{
    uint64_t position = 0;
    double began = now_us();
    if (handoff_read_position(handoffs, &position, NULL) < 0) {
        bench_die("the position cannot be read");
    }
    return (now_us() - began) / 1000;
}

static struct handoff_index *load(const struct handoff_store *handoffs, double *ret_ms)
{
    struct rondo_error err = {0};
    struct handoff_index *index = handoff_index_new();
    double began = now_us();
    if (handoff_index_refresh(index, handoffs, &err) < 0) {
        bench_die("%s", err.message);
    }
    *ret_ms = (now_us() - began) / 1000;
    return index;
}

static void measure_start(struct bench *bench, const struct handoff_store *handoffs, size_t waiting)
{
    struct samples start = {0}, document = {0}, bytes = {0}, most = {0};
    for (size_t round = 0; round < bench_rounds(bench, 20); round++) {
        double ms = 0;
        size_t taken = 0;
        struct handoff_index *index = load(handoffs, &ms);
        handoff_index_size(index, &taken);
        samples_add(&start, ms);
        samples_add(&document, document_ms(handoffs));
        samples_add(&bytes, (double)taken / (double)waiting);
        samples_add(&most, HANDOFF_INDEX_ENTRY_BYTES);
        handoff_index_free(index);
    }
    bench_row(bench,
              &(struct report_row){.name = "10,000 waiting requests, read at the start",
                                   .floor_name = "one small document",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 1000},
              &start, &document);
    bench_row(bench,
              &(struct report_row){.name = "memory of a waiting request",
                                   .floor_name = "the most that it may take",
                                   .unit = "bytes",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = HANDOFF_INDEX_ENTRY_BYTES},
              &bytes, &most);
}

static void measure_queries(struct bench *bench, const struct handoff_store *handoffs)
{
    struct samples slowest = {0}, document = {0};
    double ms = 0;
    struct handoff_index *index = load(handoffs, &ms);
    for (size_t round = 0; round < bench_rounds(bench, 10); round++) {
        samples_add(&slowest, slowest_ms(index, handoffs));
        samples_add(&document, document_ms(handoffs));
    }
    bench_row(bench,
              &(struct report_row){.name = "a page of an inbox of 100,000, 99 of 100",
                                   .floor_name = "one small document",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 20},
              &slowest, &document);
    handoff_index_free(index);
}

void figure_inbox(struct bench *bench)
{
    const char *path = bench_path(bench, "inbox.db");
    struct rondo_error err = {0};
    struct store *store = NULL;
    if (store_open_default(path, STORE_CREATING, &store, NULL, &err) < 0) {
        bench_die("%s", err.message);
    }
    struct handoff_store handoffs = desks_store(store, NULL);
    for (size_t from = 0; from < 10000; from += BATCH) {
        add_batch(store, from);
    }
    measure_start(bench, &handoffs, 10000);
    for (size_t from = 10000; from < 100000; from += BATCH) {
        add_batch(store, from);
    }
    measure_queries(bench, &handoffs);
    store_close(store);
    bench_remove_store(path);
}
