// SPDX-License-Identifier: Apache-2.0
/*
 * A store in memory with a decorator that dies on demand, a clock that stands still, runs whose
 * events are written as they are needed, and monitors without threads.
 */
#pragma once

#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "alert/monitor.h"
#include "alert/sink.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS   (3600 * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)

struct monitor_world {
    struct clock clock;
    int64_t now_ns;
    struct random random;
    struct store *memory;
    struct store *store; /* the decorator around it */
    struct writer *writer;
    char owner[STORE_OWNER_SIZE];

    _Atomic uint64_t calls; /* of the decorator so far */
    uint64_t dies_at;       /* from this call on nothing works; 0 = never */
    bool has_effect;        /* that call takes effect */
    struct monitor *monitor;
    int64_t delay_ns; /* pause between iterations of runs that are made from now on */
};

/** A run whose journal a test writes. */
struct test_run {
    char id[ID_SIZE];
    uint64_t seq;
    uint64_t epoch;
};

static inline int64_t world_now(const struct clock *clock)
{
    return ((const struct monitor_world *)clock->context)->now_ns;
}

static inline void world_sleep(const struct clock *clock, int64_t ns, struct cancel *cancel)
{
    (void)cancel;
    ((struct monitor_world *)clock->context)->now_ns += ns;
}

static inline enum store_fault world_decide(void *context, const char *operation, uint64_t call,
                                            int *ret_code)
{
    (void)operation;
    (void)ret_code;
    struct monitor_world *world = context;
    world->calls = call;
    if (world->dies_at == 0 || call < world->dies_at) {
        return STORE_FAULT_NONE;
    }
    return call == world->dies_at && world->has_effect ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
}

static inline void world_open_store(struct monitor_world *world)
{
    struct store_fault_plan plan = {.decide = world_decide, .context = world};
    world->store = store_fault_new(world->memory, &plan);
    world->writer = writer_new(world->store);
    world->dies_at = 0;
}

static inline void world_close_store(struct monitor_world *world)
{
    writer_free(world->writer);
    store_close(world->store);
}

static inline int make_world(void **state)
{
    struct monitor_world *world = memory_new_zero(1, sizeof(*world));
    world->now_ns = INT64_C(1800000000) * NS_PER_S;
    world->random = random_seeded(11);
    world->clock = (struct clock){
        .now_ns = world_now, .monotonic_ns = world_now, .sleep = world_sleep, .context = world};
    world->memory = store_memory_new(&world->clock);
    owner_new(&world->random, world->owner);
    world_open_store(world);
    *state = world;
    return 0;
}

static inline int end_world(void **state)
{
    struct monitor_world *world = *state;
    monitor_stop(world->monitor);
    world_close_store(world);
    store_close(world->memory);
    free(world);
    return 0;
}

static inline struct monitor_options world_options(struct monitor_world *world)
{
    return (struct monitor_options){
        .writer = world->writer,
        .clock = &world->clock,
        .random = &world->random,
        .has_no_thread = true,
    };
}

static inline struct monitor *world_monitor(struct monitor_world *world)
{
    struct monitor_options options = world_options(world);
    struct monitor *monitor = NULL;
    assert_int_equal(monitor_start(&options, &monitor, NULL), 0);
    return monitor;
}

/** The world's monitor makes a round. */
static inline void world_tick(struct monitor_world *world)
{
    struct rondo_error err = {0};
    if (world->monitor == NULL) {
        world->monitor = world_monitor(world);
    }
    if (monitor_tick(world->monitor, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static inline void world_put_event(struct monitor_world *world, struct test_run *run,
                                   const char *type, const char *data, enum rondo_status status)
{
    struct store_event event = {
        .time_ns = world->now_ns,
        .type = type,
        .data = data,
        .data_len = strlen(data),
    };
    struct store_batch batch = {
        .run_id = run->id,
        .epoch = run->epoch,
        .first_seq = ++run->seq,
        .events = &event,
        .event_count = 1,
        .summary = {.status = status},
        .lease_ns = status == RONDO_RUNNING ? 1000 * HOUR_NS : 0,
    };
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    struct rondo_error err = {0};
    if (world->memory->ops->commit(world->memory, batches, 1, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(result.outcome, STORE_COMMITTED);
}

/** Something happens in a run. */
static inline void world_event(struct monitor_world *world, struct test_run *run, const char *type,
                               const char *data)
{
    world_put_event(world, run, type, data, RONDO_RUNNING);
}

/** The run ends. */
static inline void world_end_run(struct monitor_world *world, struct test_run *run,
                                 const char *data)
{
    world_put_event(world, run, "run.finished", data, RONDO_FAILED);
}

/** A run with its first event. @param more further members of run.created, or "" */
static inline struct test_run world_run(struct monitor_world *world, const char *agent,
                                        const char *more)
{
    struct test_run run = {.seq = 1, .epoch = 1};
    struct store_run row = {0};
    auto_buf struct buf data = {0};
    buf_printf(&data, "{\"format\":1,\"agent_id\":\"%s\",\"spec\":{\"delay_ns\":%lld}%s}", agent,
               (long long)world->delay_ns, more);
    id_new(world->now_ns, &world->random, row.id);
    memcpy(run.id, row.id, sizeof(run.id));
    snprintf(row.agent_id, sizeof(row.agent_id), "%s", agent);
    struct store_event event = {
        .time_ns = world->now_ns,
        .type = "run.created",
        .data = buf_string(&data),
        .data_len = data.len,
    };
    struct store_claim claim = {.owner = world->owner, .lease_ns = 1000 * HOUR_NS};
    struct store_claim_result result;
    struct rondo_error err = {0};
    if (world->memory->ops->create_run(world->memory, &row, &event, 1, &claim, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(result.outcome, STORE_CLAIMED);
    return run;
}

static inline void world_limit_warning(struct monitor_world *world, struct test_run *run, int limit)
{
    char data[256];
    snprintf(data, sizeof(data),
             "{\"iteration\":8,\"limit_name\":\"iterations\",\"limit\":%d,\"value\":8,"
             "\"message\":\"8 of %d iterations, %d left\"}",
             limit, limit, limit - 8);
    world_event(world, run, "limit.warning", data);
}

/* ---- What is in the store ---- */

struct document_listing {
    struct buf *text;
    size_t count;
    const char *collection;
};

static inline bool gather_one(const struct store_document *document, void *context)
{
    struct document_listing *gathering = context;
    gathering->count++;
    buf_append(gathering->text, document->data, document->data_len);
    buf_append_string(gathering->text, "\n");
    return true;
}

/** Documents of a collection, one a line. @return their number */
static inline size_t world_documents(struct monitor_world *world, const char *collection,
                                     struct buf *ret_text)
{
    auto_buf struct buf unused = {0};
    struct document_listing gathering = {.text = ret_text == NULL ? &unused : ret_text};
    struct store_document_query query = {.collection = collection};
    assert_int_equal(
        world->memory->ops->read_documents(world->memory, &query, gather_one, &gathering, NULL), 0);
    return gathering.count;
}

/** Number of warnings whose JSON contains a text. */
static inline unsigned world_warnings(struct monitor_world *world, const char *text)
{
    auto_buf struct buf all = {0};
    unsigned count = 0;
    world_documents(world, "warning", &all);
    char *at = all.len == 0 ? NULL : all.data;
    while (at != NULL && *at != '\0') {
        char *end = strchr(at, '\n');
        *end = '\0';
        count += strstr(at, text) != NULL;
        at = end + 1;
    }
    return count;
}

/** Add a sink from its JSON. @return its secret, where one was made; static no longer than `slot`
 */
static inline void world_sink(struct monitor_world *world, const char *json, char *ret_secret)
{
    char secret[SINK_SECRET_SIZE];
    auto_json struct json_object *object = NULL;
    struct rondo_error err = {0};
    assert_int_equal(json_parse(json, strlen(json), &object, NULL), 0);
    if (sink_put(world->memory, object, secret, &err) < 0) {
        fail_msg("%s", err.message);
    }
    if (ret_secret != NULL) {
        memcpy(ret_secret, secret, sizeof(secret));
    }
}

#define WORLD_TEST(name) TEST_WITH(name, make_world, end_world)
