// SPDX-License-Identifier: Apache-2.0
/*
 * Recall by words among 1,000 and 100,000 memories of one agent: questions of two rare words, of a
 * rare and a frequent one, and of frequent ones only, as models ask them.
 */
#include "measure.h"

#include "base/clock.h"
#include "memory/memory.h"
#include "store/locate/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 500
#define TOP   5

static const char *const subjects[] = {"host",  "disk",   "invoice",  "customer", "deployment",
                                       "token", "backup", "schedule", "release",  "report"};
static const char *const events[] = {"fails",          "is slow",
                                     "was moved",      "needs approval",
                                     "changes weekly", "is owned by the platform team"};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/** A memory: frequent words, and one that it shares with few others. */
static void write_content(size_t number, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "The %s stage%zu %s, says ticket %zu of project%zu",
             subjects[number % COUNT(subjects)], number % 997, events[number % COUNT(events)],
             number, number % 89);
}

static void add_batch(struct store *store, int64_t first_id, size_t from, size_t count)
{
    static struct memories_item items[BATCH];
    static struct store_memory_change changes[BATCH];
    struct rondo_error err = {0};
    uint64_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        char content[160];
        write_content(from + i, content, sizeof(content));
        const struct store_memory memory = {.owner = "bench",
                                            .kind = STORE_SEMANTIC,
                                            .content = content,
                                            .source = "bench",
                                            .created_ns = (int64_t)(from + i) * NS_PER_S};
        if (memories_prepare_as(first_id + (int64_t)i, NULL, &memory, &items[i], &err) < 0) {
            bench_die("%s", err.message);
        }
        changes[i] =
            (struct store_memory_change){.kind = STORE_MEMORY_ADD, .memory = items[i].memory};
    }
    if (store->ops->change_memories(store, changes, count, &changed, &err) < 0) {
        bench_die("%s", err.message);
    }
    for (size_t i = 0; i < count; i++) {
        memories_item_fini(&items[i]);
    }
}

static void fill(struct store *store, size_t count)
{
    struct rondo_error err = {0};
    int64_t first = 0;
    for (size_t from = 0; from < count; from += BATCH) {
        if (store->ops->reserve_memories(store, "bench", BATCH, &first, &err) < 0) {
            bench_die("%s", err.message);
        }
        add_batch(store, first, from, BATCH);
    }
}

static bool count_one(const struct store_memory *memory, void *context)
{
    (void)memory;
    ++*(size_t *)context;
    return true;
}

/** Each question in turn: the median of their times. */
static double recall_ms(struct store *store, size_t round, size_t memories)
{
    static const char *const forms[] = {"which stage%zu belongs to project%zu?",
                                        "why is stage%zu slow, project%zu?",
                                        "the customer needs approval of the platform team"};
    char text[160];
    size_t found = 0;
    struct rondo_error err = {0};
    size_t number = round * 7919 % memories;
    snprintf(text, sizeof(text), forms[round % COUNT(forms)], number % 997, number % 89);
    const struct memories_question question = {
        .owner = "bench", .text = text, .top = TOP, .now_ns = (int64_t)memories * NS_PER_S};
    double began = now_us();
    if (memories_recall(store, &question, count_one, &found, &err) < 0 || found == 0) {
        bench_die("nothing is found: %s", err.message);
    }
    return (now_us() - began) / 1000;
}

static double newest_ms(struct store *store)
{
    size_t found = 0;
    struct rondo_error err = {0};
    const struct store_memory_query query = {
        .owner = "bench", .kinds = UINT32_C(1) << STORE_SEMANTIC, .limit = TOP};
    double began = now_us();
    if (store->ops->read_memories(store, &query, count_one, &found, &err) < 0) {
        bench_die("%s", err.message);
    }
    return (now_us() - began) / 1000;
}

static void measure(struct bench *bench, size_t memories, const char *name, double goal)
{
    const char *path = bench_path(bench, "recall.db");
    struct rondo_error err = {0};
    struct store *store = NULL;
    struct samples ours = {0};
    struct samples newest = {0};
    if (store_open_default(path, STORE_CREATING, &store, NULL, &err) < 0) {
        bench_die("%s", err.message);
    }
    fill(store, memories);
    for (size_t round = 0; round < bench_rounds(bench, 300); round++) {
        samples_add(&ours, recall_ms(store, round, memories));
        samples_add(&newest, newest_ms(store));
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "the five newest facts",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = goal},
              &ours, &newest);
    store_close(store);
    bench_remove_store(path);
}

void figure_recall(struct bench *bench)
{
    measure(bench, 1000, "recall among 1,000 memories", 2);
    measure(bench, 100000, "recall among 100,000 memories", 20);
}
