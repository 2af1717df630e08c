// SPDX-License-Identifier: Apache-2.0
/*
 * A world for one loop: a store in memory with a decorator that fails on demand, a clock that
 * only moves when somebody sleeps, and a verifier that answers from a list. Nothing here takes
 * time, so every test says exactly what happens.
 */
#pragma once

#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loop_fixture {
    struct clock clock;
    int64_t now_ns;
    int64_t skew_ns; /* of the wall clock */
    struct random random;
    struct store *memory;
    struct store *store; /* the failing decorator around it */
    struct runtime *runtime;
    struct runtime *other; /* a second process */

    const char *failing; /* operation that fails; NULL = none, "" = all */
    unsigned failures;   /* how often still */
    int failure_code;
    enum store_fault fault;

    unsigned met; /* bit i: condition i is met */
    unsigned evaluations;
    struct verifier verifier;
};

static inline int64_t fixture_now(const struct clock *clock)
{
    const struct loop_fixture *fixture = clock->context;
    /* Atomic: a tool of a test may move the clock on its thread. */
    return __atomic_load_n(&fixture->now_ns, __ATOMIC_RELAXED) + fixture->skew_ns;
}

static inline int64_t fixture_monotonic(const struct clock *clock)
{
    const struct loop_fixture *fixture = clock->context;
    return __atomic_load_n(&fixture->now_ns, __ATOMIC_RELAXED); /* as in fixture_now */
}

static inline void fixture_sleep(const struct clock *clock, int64_t ns, struct cancel *cancel)
{
    if (!cancel_is_set(cancel)) {
        ((struct loop_fixture *)clock->context)->now_ns += ns;
    }
}

static inline enum store_fault fixture_decide(void *context, const char *operation, uint64_t call,
                                              int *ret_code)
{
    (void)call;
    struct loop_fixture *fixture = context;
    if (fixture->failing == NULL || fixture->failures == 0 ||
        (fixture->failing[0] != '\0' && strcmp(fixture->failing, operation) != 0)) {
        return STORE_FAULT_NONE;
    }
    fixture->failures--;
    *ret_code = fixture->failure_code;
    return fixture->fault;
}

/** Let `operation` fail the next `times` times. */
static inline void fixture_fail(struct loop_fixture *fixture, const char *operation, unsigned times,
                                int code, enum store_fault fault)
{
    fixture->failing = operation;
    fixture->failures = times;
    fixture->failure_code = code;
    fixture->fault = fault;
}

static inline void fixture_evaluate(const struct verifier *verifier,
                                    const struct loop_condition *condition, int64_t timeout_ns,
                                    struct cancel *cancel, struct verify_result *ret_result)
{
    (void)timeout_ns;
    (void)cancel;
    struct loop_fixture *fixture = (struct loop_fixture *)(uintptr_t)verifier->context;
    unsigned index = (unsigned)(condition->name[0] - 'a');
    bool is_met = (fixture->met >> index & 1) != 0;
    fixture->evaluations++;
    fixture->now_ns += NS_PER_S;
    ret_result->status = is_met ? RONDO_MET : RONDO_NOT_MET;
    ret_result->reason = is_met ? RONDO_REASON_PASSED : RONDO_REASON_FAILED;
    ret_result->exit_code = !is_met;
    ret_result->output = memory_dup_string("output of it\n");
    ret_result->output_len = strlen(ret_result->output);
    ret_result->output_total = ret_result->output_len;
}

static inline struct runtime *fixture_runtime(struct loop_fixture *fixture)
{
    struct runtime_options options = {
        .store = fixture->store,
        .clock = &fixture->clock,
        .random = &fixture->random,
        .lease_ns = 10 * NS_PER_S,
        .has_no_keeper = true,
    };
    struct runtime *runtime = NULL;
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    return runtime;
}

static inline int fixture_up(void **state)
{
    struct loop_fixture *fixture = memory_new_zero(1, sizeof(*fixture));
    fixture->now_ns = INT64_C(1800000000) * NS_PER_S;
    fixture->random = random_seeded(7);
    fixture->clock = (struct clock){.now_ns = fixture_now,
                                    .monotonic_ns = fixture_monotonic,
                                    .sleep = fixture_sleep,
                                    .context = fixture};
    fixture->memory = store_memory_new(&fixture->clock);
    struct store_fault_plan plan = {.decide = fixture_decide, .context = fixture};
    fixture->store = store_fault_new(fixture->memory, &plan);
    fixture->runtime = fixture_runtime(fixture);
    fixture->other = fixture_runtime(fixture);
    fixture->verifier = (struct verifier){.evaluate = fixture_evaluate, .context = fixture};
    *state = fixture;
    return 0;
}

static inline int fixture_down(void **state)
{
    struct loop_fixture *fixture = *state;
    runtime_free(fixture->runtime);
    runtime_free(fixture->other);
    store_close(fixture->store);
    store_close(fixture->memory);
    free(fixture);
    return 0;
}

/** A spec with `conditions` conditions named a, b, c, ... */
static inline struct loop_spec fixture_spec(unsigned conditions)
{
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = memory_dup_string("tester");
    spec.kind = memory_dup_string("library");
    /* Not where policy files of tests are: those would have to be confirmed. */
    spec.workspace = memory_dup_string("/usr");
    for (unsigned i = 0; i < conditions; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        assert_int_equal(loop_spec_add_condition(&spec, name, "true", "given", 0, NULL), 0);
    }
    return spec;
}

static inline struct loop_parts fixture_parts(struct loop_fixture *fixture)
{
    return (struct loop_parts){
        .runtime = fixture->runtime,
        .verifier = &fixture->verifier,
    };
}

/** Start a loop; the spec is released. */
static inline struct loop *fixture_start(struct loop_fixture *fixture, struct loop_spec spec)
{
    struct loop_parts parts = fixture_parts(fixture);
    struct loop_opening opening;
    struct loop *loop = NULL;
    struct rondo_error err = {0};
    if (loop_start(&parts, &spec, &loop, &opening, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_false(opening.is_held);
    loop_spec_fini(&spec);
    return loop;
}

/** Resume with the fixture's present runtime. @return code; *ret_loop may be NULL when held */
static inline int fixture_resume(struct loop_fixture *fixture, const char *run_id, int on_corrupt,
                                 struct loop **ret_loop, struct loop_opening *ret_opening)
{
    struct loop_parts parts = fixture_parts(fixture);
    struct rondo_error err;
    *ret_loop = NULL;
    return loop_resume(&parts, run_id, NULL, NULL, on_corrupt, ret_loop, ret_opening, &err);
}

/** The owner dies: its loop is gone, its lease runs out, and another process takes its place. */
static inline void fixture_crash(struct loop_fixture *fixture, struct loop *loop)
{
    loop_free(loop);
    runtime_free(fixture->runtime);
    fixture->runtime = fixture_runtime(fixture);
    fixture->now_ns += 11 * NS_PER_S;
}

/** Take `count` turns that must give bodies; each reports success. */
static inline void fixture_iterate(struct loop *loop, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct rondo_error err = {0};
        int r = loop_next(loop, &err);
        if (r != LOOP_BODY) {
            fail_msg("turn %u gives %d %s", i, r, err.message);
        }
    }
}

struct fixture_count {
    const char *type;
    const char *text;
    unsigned count;
};

static inline bool fixture_count_event(const struct store_event *event, void *context)
{
    struct fixture_count *count = context;
    count->count += strcmp(event->type, count->type) == 0 &&
                    (count->text == NULL || strstr(event->data, count->text) != NULL);
    return true;
}

/** Committed events of a type whose data contains `text` (NULL = any). */
static inline unsigned fixture_events(struct loop_fixture *fixture, const char *run_id,
                                      const char *type, const char *text)
{
    struct fixture_count count = {.type = type, .text = text};
    fixture->memory->ops->read_events(fixture->memory, run_id, 0, 0, fixture_count_event, &count,
                                      NULL);
    return count.count;
}

#define FIXTURE_TEST(function) TEST_WITH(function, fixture_up, fixture_down)
