// SPDX-License-Identifier: Apache-2.0
/* A store in memory that can die, a clock that stands still, and an intake of one role. */
#pragma once

#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "base/clock.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "source/intake/intake.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct intake_world {
    struct clock clock;
    int64_t now_ns;
    atomic_int_fast64_t longest_sleep_ns;
    struct random random;
    struct store *memory;
    struct store *store; /* the decorator around it */
    uint64_t calls;      /* of the decorator so far */
    uint64_t dies_at;    /* from this call on nothing works; 0 = never */
    bool has_effect;     /* that call takes effect */
    char owner[STORE_OWNER_SIZE];
    struct intake *intake;
    struct start_refusal last; /* that was told */
    unsigned notices;
};

static inline int64_t world_now(const struct clock *clock)
{
    return ((const struct intake_world *)clock->context)->now_ns;
}

/** Time stands still for a source that waits; a hundredth of it passes outside. */
static inline void world_sleep(const struct clock *clock, int64_t duration_ns,
                               struct cancel *cancel)
{
    atomic_int_fast64_t *longest_ns = &((struct intake_world *)clock->context)->longest_sleep_ns;
    atomic_store(longest_ns, duration_ns > *longest_ns ? duration_ns : *longest_ns);
    clock_sleep(clock_system(), duration_ns / 100, cancel);
}

static inline enum store_fault world_decide(void *context, const char *operation, uint64_t call,
                                            int *ret_code)
{
    (void)operation;
    (void)ret_code;
    struct intake_world *world = context;
    world->calls = call;
    if (world->dies_at == 0 || call < world->dies_at) {
        return STORE_FAULT_NONE;
    }
    return call == world->dies_at && world->has_effect ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
}

static inline void world_notice(void *context, const struct start_refusal *refusal)
{
    struct intake_world *world = context;
    world->last = *refusal;
    world->notices++;
}

static const struct queue_options world_queue = {.max_waiting = 3, .max_running = 1};

/** Open the intake; a second call is a restart. */
static inline void world_open(struct intake_world *world)
{
    struct rondo_error err = {0};
    if (world->intake != NULL) {
        intake_close(world->intake);
        store_close(world->store);
        world->dies_at = 0;
    }
    struct store_fault_plan plan = {.decide = world_decide, .context = world};
    world->store = store_fault_new(world->memory, &plan);
    struct intake_options options = {
        .store = world->store,
        .clock = &world->clock,
        .random = &world->random,
        .owner = world->owner,
        .on_notice = world_notice,
        .context = world,
    };
    if (intake_open(&options, &world->intake, &err) < 0) {
        fail_msg("%s", err.message);
    }
    intake_set_role(world->intake, "fixer", &world_queue);
    assert_int_equal(intake_adopt(world->intake, NULL), 0);
}

static inline int make_world(void **state)
{
    struct intake_world *world = memory_new_zero(1, sizeof(*world));
    world->now_ns = INT64_C(1800000000) * NS_PER_S;
    world->random = random_seeded(7);
    world->clock = (struct clock){
        .now_ns = world_now, .monotonic_ns = world_now, .sleep = world_sleep, .context = world};
    world->memory = store_memory_new(&world->clock);
    owner_new(&world->random, world->owner);
    world_open(world);
    *state = world;
    return 0;
}

static inline int end_world(void **state)
{
    struct intake_world *world = *state;
    intake_close(world->intake);
    store_close(world->store);
    store_close(world->memory);
    free(world);
    return 0;
}

/** Give the world the name of a process that is gone. */
static inline void world_name_dead(struct intake_world *world)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        owner_new(&world->random, world->owner);
        _exit(write(ends[1], world->owner, sizeof(world->owner)) < 0 ? 1 : 0);
    }
    assert_int_equal(read(ends[0], world->owner, sizeof(world->owner)), sizeof(world->owner));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/** Submit an event of the source "fixer/test-1". @param key NULL = none */
static inline struct intake_result world_submit(struct intake_world *world, const char *role,
                                                const char *prompt, const char *key)
{
    struct rondo_error err = {0};
    struct intake_result result;
    struct intake_event event = {
        .source = "fixer/test-1", .role = role, .kind = "test", .prompt = prompt, .key = key};
    if (intake_submit(world->intake, &event, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return result;
}

/** The prompt that is handed out next, into `ret_prompt`; "" = none. @return the request's id */
static inline const char *world_next(struct intake_world *world, struct start_request *ret_request)
{
    struct rondo_error err = {0};
    int r = intake_next(world->intake, ret_request, &err);
    if (r < 0) {
        fail_msg("%s", err.message);
    }
    return r == 1 ? ret_request->prompt : "";
}

/** The next one is `prompt`; it is started and ends. */
static inline void world_expect_run(struct intake_world *world, const char *prompt)
{
    struct start_request request = {0};
    assert_string_equal(world_next(world, &request), prompt);
    if (request.prompt != NULL) {
        assert_int_equal(intake_started(world->intake, &request, NULL), 0);
        intake_ended(world->intake, request.id);
    }
    start_request_fini(&request);
}

static inline bool world_count_document(const struct store_document *document, void *context)
{
    (void)document;
    (*(unsigned *)context)++;
    return true;
}

/** Documents of a collection. */
static inline unsigned world_count(struct intake_world *world, const char *collection)
{
    unsigned count = 0;
    struct store_document_query query = {.collection = collection};
    assert_int_equal(world->memory->ops->read_documents(world->memory, &query, world_count_document,
                                                        &count, NULL),
                     0);
    return count;
}
