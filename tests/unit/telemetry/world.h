// SPDX-License-Identifier: Apache-2.0
/*
 * Journals written as tests need them, in a store in memory, and the spans that come of them:
 * kept in JSON, found by name.
 */
#pragma once

#include "../../support/store/memory_store.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/reader.h"
#include "support/test.h"
#include "telemetry/otlp_json.h"
#include "telemetry/past.h"
#include "telemetry/spans.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_A  "01a1fe92-a7b8-78cc-b5bf-3be5f74b6786"
#define RUN_B  "01a1fe92-a7b8-78cc-b5bf-3be5f74b6787"
#define SECOND INT64_C(1000000000)
/** Time of a run's first event. */
#define BEGIN (INT64_C(1795000000) * SECOND)

/** One event: its time in ms after the first one, its type, its data. */
struct told {
    int64_t ms;
    const char *type;
    const char *data;
};

struct seen_span {
    struct json_object *root;
    const char *name;
};

struct telemetry_world {
    struct store *store;
    struct writer *writer;
    struct otel_environment environment;
    struct spans *spans;
    struct seen_span seen[512];
    size_t count;
    uint64_t seqs[2]; /* last one of runs A and B */
};

static inline void keep_span(void *context, const struct span *span)
{
    struct telemetry_world *world = context;
    auto_buf struct buf json = {0};
    otlp_write_span(span, &json);
    assert_true(world->count < COUNT(world->seen));
    struct seen_span *seen = &world->seen[world->count++];
    assert_int_equal(json_parse(json.data, json.len, &seen->root, NULL), 0);
    seen->name = json_get_string(seen->root, "name", "");
}

static inline struct spans *new_spans(struct telemetry_world *world, size_t max_runs)
{
    struct spans_options options = {
        .emit = keep_span,
        .context = world,
        .environment = &world->environment,
        .max_runs = max_runs,
    };
    return spans_new(&options);
}

static inline int make_world(void **state)
{
    struct telemetry_world *world = memory_new_zero(1, sizeof(*world));
    world->store = store_memory_new(clock_system());
    world->writer = writer_new(world->store);
    world->environment.value_bytes = 16384;
    world->spans = new_spans(world, 0);
    *state = world;
    return 0;
}

static inline void forget_spans(struct telemetry_world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        json_object_put(world->seen[i].root);
    }
    world->count = 0;
}

static inline int end_world(void **state)
{
    struct telemetry_world *world = *state;
    forget_spans(world);
    spans_free(world->spans);
    writer_free(world->writer);
    store_close(world->store);
    free(world);
    return 0;
}

#define WORLD_TEST(name) TEST_WITH(name, make_world, end_world)

/** Append events to a run's journal, which begins with the first call. */
static inline void tell_events(struct telemetry_world *world, const char *run_id,
                               const struct told *told, size_t count)
{
    uint64_t *seq = &world->seqs[strcmp(run_id, RUN_A) == 0 ? 0 : 1];
    struct store_event events[64] = {0};
    assert_true(count <= COUNT(events));
    for (size_t i = 0; i < count; i++) {
        events[i].time_ns = BEGIN + told[i].ms * NS_PER_MS;
        events[i].type = told[i].type;
        events[i].data = told[i].data;
        events[i].data_len = strlen(told[i].data);
    }
    struct store_claim claim = {.owner = "test", .lease_ns = 3600 * SECOND};
    if (*seq == 0) {
        struct store_run run = {.agent_id = "bob"};
        snprintf(run.id, sizeof(run.id), "%s", run_id);
        struct store_claim_result result;
        assert_int_equal(
            world->store->ops->create_run(world->store, &run, events, count, &claim, &result, NULL),
            0);
    } else {
        struct store_batch batch = {.run_id = run_id,
                                    .epoch = 1,
                                    .first_seq = *seq + 1,
                                    .events = events,
                                    .event_count = count,
                                    .lease_ns = 3600 * SECOND};
        struct store_commit_result result;
        assert_int_equal(writer_commit(world->writer, &batch, &result, NULL), 0);
        assert_int_equal(result.outcome, STORE_COMMITTED);
    }
    *seq += count;
}

/** Take in the events of a run after one of them. */
static inline void add_events(struct telemetry_world *world, const char *run_id, uint64_t after)
{
    struct journal_reader *reader = journal_reader_new(world->writer, run_id, after);
    const struct journal_entry *entry = NULL;
    while (journal_reader_next(reader, 0, NULL, &entry, NULL) == 1) {
        if (!spans_add(world->spans, entry)) {
            assert_int_equal(
                past_replay(world->store, world->spans, entry->run_id, entry->event.seq, NULL), 0);
            assert_true(spans_add(world->spans, entry));
        }
    }
    journal_reader_free(reader);
}

/** Write a journal and take it in. */
static inline void run_events(struct telemetry_world *world, const char *run_id,
                              const struct told *told, size_t count)
{
    uint64_t before = world->seqs[strcmp(run_id, RUN_A) == 0 ? 0 : 1];
    tell_events(world, run_id, told, count);
    add_events(world, run_id, before);
}

#define run_told(world, told) run_events(world, RUN_A, told, COUNT(told))

/** The span with a name, the n-th from 0; NULL = there is none. */
static inline struct json_object *find_span(struct telemetry_world *world, const char *name,
                                            size_t n)
{
    for (size_t i = 0; i < world->count; i++) {
        if (strcmp(world->seen[i].name, name) == 0 && n-- == 0) {
            return world->seen[i].root;
        }
    }
    return NULL;
}

static inline struct json_object *get_span(struct telemetry_world *world, const char *name,
                                           size_t n)
{
    struct json_object *span = find_span(world, name, n);
    if (span == NULL) {
        fail_msg("there is no span '%s'", name);
    }
    return span;
}

static inline size_t count_spans(struct telemetry_world *world, const char *name)
{
    size_t count = 0;
    while (find_span(world, name, count) != NULL) {
        count++;
    }
    return count;
}

/** JSON of an attribute's value in a span, event or link; "" = it has none. */
static inline const char *attribute(struct json_object *holder, const char *key)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(holder, "attributes", &list);
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (strcmp(json_get_string(item, "key", ""), key) == 0) {
            struct json_object *value = NULL;
            json_object_object_get_ex(item, "value", &value);
            return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                             JSON_C_TO_STRING_NOSLASHESCAPE);
        }
    }
    return "";
}

/** An event of a span by its name, or a fail. */
static inline struct json_object *get_event(struct json_object *span, const char *name)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(span, "events", &list);
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        struct json_object *event = json_object_array_get_idx(list, i);
        if (strcmp(json_get_string(event, "name", ""), name) == 0) {
            return event;
        }
    }
    fail_msg("there is no event '%s' in %s", name, json_get_string(span, "name", ""));
    return NULL;
}

/** A time in ms after the first event. */
static inline int64_t time_ms(struct json_object *span, const char *key)
{
    return (strtoll(json_get_string(span, key, "0"), NULL, 10) - BEGIN) / NS_PER_MS;
}

static inline const char *span_text(struct json_object *span, const char *key)
{
    return json_get_string(span, key, "");
}

static inline int status_code(struct json_object *span)
{
    struct json_object *status = NULL;
    assert_true(json_object_object_get_ex(span, "status", &status));
    return (int)json_get_int(status, "code", -1);
}

static inline void assert_parent(struct json_object *child, struct json_object *parent)
{
    assert_string_equal(span_text(child, "parentSpanId"), span_text(parent, "spanId"));
    assert_string_equal(span_text(child, "traceId"), span_text(parent, "traceId"));
    assert_true(time_ms(child, "startTimeUnixNano") >= time_ms(parent, "startTimeUnixNano"));
    assert_true(time_ms(child, "endTimeUnixNano") <= time_ms(parent, "endTimeUnixNano"));
}
