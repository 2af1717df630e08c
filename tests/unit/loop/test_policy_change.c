// SPDX-License-Identifier: Apache-2.0
/* Loops whose policies change: while they run, and from one process to the next. */
#include "policy_world.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- Policies that change ------------------------------------------------------------------- */

WORLD_TEST(policies_from_a_file_are_told_at_the_start)
{
    struct policy_world *world = *state;
    static const char text[] =
        PERMIT ITERATE "when { context.iteration >= 7 || context.cost_usd.greaterThan(decimal("
                       "\"1.5\")) };";
    char digest[DIGEST_HEX_SIZE];
    digest_of(text, digest);
    struct loop *loop = start_under(world, text);
    fixture_iterate(loop, 2);
    assert_int_equal(events(world, "policy.changed", NULL), 1);
    struct json_object *data = last_event(world, "policy.changed");
    expect_text(data, "sha256", digest);
    expect_text(data, "source", world->path);
    expect_json(data, "limits", "{\"iterations\":7,\"cost\":1500100}");
    assert_false(json_object_object_get_ex(data, "old_sha256", NULL));
    assert_false(json_object_object_get_ex(data, "old_limits", NULL));
    assert_non_null(strstr(json_get_string(data, "by", ""), "the file's owner"));
    json_object_put(data);
    assert_string_equal(loop_state(loop)->policy_sha256, digest);
    loop_free(loop);
}

WORLD_TEST(a_raised_limit_lets_a_run_continue)
{
    struct policy_world *world = *state;
    set_limit(world, 100);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 90);
    char old_digest[RUN_DIGEST_SIZE];
    memcpy(old_digest, loop_state(loop)->policy_sha256, sizeof(old_digest));
    set_limit(world, 200);
    fixture_iterate(loop, 110);
    assert_int_equal(events(world, "policy.changed", NULL), 2);
    struct json_object *data = last_event(world, "policy.changed");
    expect_text(data, "old_sha256", old_digest);
    expect_text(data, "sha256", loop_state(loop)->policy_sha256);
    assert_string_not_equal(old_digest, loop_state(loop)->policy_sha256);
    expect_json(data, "old_limits", "{\"iterations\":100}");
    expect_json(data, "limits", "{\"iterations\":200}");
    json_object_put(data);
    assert_int_equal(loop_state(loop)->limit, 200);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(loop_state(loop)->finished, 200);
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->limit, 200);
    loop_free(loop);
}

WORLD_TEST(a_lowered_limit_stops_a_run_at_its_next_gate)
{
    struct policy_world *world = *state;
    set_limit(world, 100);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 5);
    set_limit(world, 3);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->limit, 3);
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->value, 5);
    loop_free(loop);
}

static void record_policy(struct policy_world *world, const char *digest, const char *by)
{
    struct store_policy_change change = {
        .time_ns = 1,
        .source = world->path,
        .digest = digest,
        .how = "set",
        .by = by,
        .text = "",
    };
    uint64_t number = 0;
    bool is_new = false;
    struct store *store = world->fixture->memory;
    assert_int_equal(store->ops->record_policy(store, &change, &number, &is_new, NULL), 0);
}

static bool count_change(const struct store_policy_change *change, void *context)
{
    (void)change;
    ++*(unsigned *)context;
    return true;
}

static unsigned history(struct policy_world *world)
{
    unsigned count = 0;
    struct store *store = world->fixture->memory;
    store->ops->read_policies(store, world->path, 0, count_change, &count, NULL);
    return count;
}

WORLD_TEST(whoever_set_policies_is_known_from_the_history)
{
    struct policy_world *world = *state;
    char digest[DIGEST_HEX_SIZE];
    digest_of(PERMIT, digest);
    record_policy(world, digest, "alice");
    struct loop *loop = start_under(world, PERMIT);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "policy.changed", "\"by\":\"alice\""), 1);
    assert_int_equal(history(world), 1);
    set_limit(world, 5);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "policy.changed", "the file's owner"), 1);
    assert_int_equal(history(world), 2);
    loop_free(loop);
}

WORLD_TEST(a_bad_file_is_told_once_and_changes_nothing)
{
    struct policy_world *world = *state;
    set_limit(world, 4);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 1);
    set_policies(world, "permit (");
    fixture_iterate(loop, 2);
    assert_int_equal(events(world, "policy.refused", NULL), 1);
    struct json_object *data = last_event(world, "policy.refused");
    expect_text(data, "source", world->path);
    expect_text(data, "sha256", loop_state(loop)->policy_sha256);
    assert_non_null(strstr(json_get_string(data, "message", ""), "p.cedar:1:"));
    assert_string_not_equal(json_get_string(data, "by", ""), "");
    json_object_put(data);
    unlink(world->path);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "policy.refused", "there is no policy file"), 1);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(world, "policy.changed", NULL), 1);
    loop_free(loop);
}

/* ---- Resuming ------------------------------------------------------------------------------- */

static struct loop *crash_and_resume(struct policy_world *world, struct loop *loop)
{
    struct loop_opening opening;
    struct loop *resumed = NULL;
    fixture_crash(world->fixture, loop);
    assert_int_equal(fixture_resume(world->fixture, world->run_id, -1, &resumed, &opening), 0);
    assert_non_null(resumed);
    return resumed;
}

WORLD_TEST(a_warning_is_not_repeated_after_a_resume)
{
    struct policy_world *world = *state;
    set_limit(world, 10);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 8);
    assert_int_equal(events(world, "limit.warning", NULL), 1);
    loop = crash_and_resume(world, loop);
    fixture_iterate(loop, 2);
    assert_int_equal(events(world, "limit.warning", NULL), 1);
    assert_int_equal(events(world, "policy.changed", NULL), 1);
    loop_free(loop);
}

WORLD_TEST(other_policies_at_a_resume_are_a_change)
{
    struct policy_world *world = *state;
    set_limit(world, 10);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 2);
    char old_digest[RUN_DIGEST_SIZE];
    memcpy(old_digest, loop_state(loop)->policy_sha256, sizeof(old_digest));
    set_limit(world, 3);
    loop = crash_and_resume(world, loop);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "policy.changed", NULL), 2);
    struct json_object *data = last_event(world, "policy.changed");
    expect_text(data, "old_sha256", old_digest);
    assert_false(json_object_object_get_ex(data, "old_limits", NULL));
    expect_json(data, "limits", "{\"iterations\":3}");
    json_object_put(data);
    loop_free(loop);
}

/** Give the fixture a runtime whose policy file may be missing. */
static void use_optional(struct policy_world *world)
{
    struct loop_fixture *fixture = world->fixture;
    struct runtime_options options = {
        .store = fixture->store,
        .clock = &fixture->clock,
        .random = &fixture->random,
        .lease_ns = 10 * NS_PER_S,
        .policy = world->path,
        .is_policy_optional = true,
        .has_no_keeper = true,
    };
    runtime_free(fixture->runtime);
    assert_int_equal(runtime_new(&options, &fixture->runtime, NULL), 0);
}

static int resume_optional(struct policy_world *world, struct loop **loop)
{
    struct loop_opening opening;
    loop_free(*loop);
    *loop = NULL;
    use_optional(world);
    world->fixture->now_ns += 11 * NS_PER_S;
    return fixture_resume(world->fixture, world->run_id, -1, loop, &opening);
}

WORLD_TEST(a_run_whose_file_is_gone_does_not_continue_without)
{
    struct policy_world *world = *state;
    set_limit(world, 10);
    use_optional(world);
    struct loop *loop = start(world, fixture_spec(0));
    fixture_iterate(loop, 1);
    unlink(world->path);
    assert_int_equal(resume_optional(world, &loop), RONDO_ERR_NOT_FOUND);
    assert_int_equal(events(world, "policy.changed", NULL), 1);
    set_limit(world, 10);
    assert_int_equal(resume_optional(world, &loop), 0);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "policy.changed", NULL), 1);
    loop_free(loop);
}

/* ---- Files that the agent can write --------------------------------------------------------- */

/** A spec whose agent can write the policy file. */
static struct loop_spec spec_in_reach(struct policy_world *world)
{
    struct loop_spec spec = spec_under(world, 0);
    setenv("XDG_STATE_HOME", world->folder, 1);
    free(spec.workspace);
    spec.workspace = memory_dup_string(world->rules);
    return spec;
}

WORLD_TEST(an_agent_cannot_change_the_policies_of_its_run)
{
    struct policy_world *world = *state;
    set_limit(world, 2);
    struct loop *loop = start(world, spec_in_reach(world));
    set_limit(world, 96);
    fixture_iterate(loop, 2);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(world, "policy.refused", NULL), 1);
    assert_int_equal(events(world, "policy.refused", "rondo trust"), 1);
    assert_int_equal(resume_optional(world, &loop), RONDO_ERR_DENIED);
    set_limit(world, 2);
    assert_int_equal(resume_optional(world, &loop), 0);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    loop_free(loop);
}

WORLD_TEST(a_folder_that_a_run_may_write_is_in_reach_too)
{
    struct policy_world *world = *state;
    set_limit(world, 2);
    struct loop_spec spec = spec_in_reach(world);
    free(spec.workspace);
    spec.workspace = memory_dup_string("/usr");
    spec.write_paths = memory_new_zero(2, sizeof(*spec.write_paths));
    spec.write_paths[0] = memory_dup_string(world->rules);
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 2);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    set_limit(world, 96);
    assert_int_equal(resume_optional(world, &loop), RONDO_ERR_DENIED);
}

struct run_shape {
    struct store_run run;
    unsigned events;
};

static bool count_any(const struct store_event *event, void *context)
{
    (void)event;
    ++*(unsigned *)context;
    return true;
}

static struct run_shape shape_of(struct policy_world *world)
{
    struct run_shape shape = {0};
    struct store *store = world->fixture->memory;
    assert_int_equal(store->ops->get_run(store, world->run_id, &shape.run, NULL), 0);
    store->ops->read_events(store, world->run_id, 0, 0, count_any, &shape.events, NULL);
    return shape;
}

WORLD_TEST(a_run_whose_policies_are_broken_is_left_as_it_was)
{
    struct policy_world *world = *state;
    set_limit(world, 10);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 2);
    fixture_crash(world->fixture, loop);
    struct run_shape before = shape_of(world);
    static const char *const broken[] = {"permit (", NULL};
    for (size_t i = 0; i < COUNT(broken); i++) {
        if (broken[i] != NULL) {
            set_policies(world, broken[i]);
        } else {
            unlink(world->path);
        }
        struct loop_opening opening;
        int r = fixture_resume(world->fixture, world->run_id, -1, &loop, &opening);
        assert_int_equal(r, broken[i] != NULL ? RONDO_ERR_INVALID : RONDO_ERR_NOT_FOUND);
        assert_null(loop);
        runtime_tick(world->fixture->runtime); /* ends the lease of the try */
        struct run_shape after = shape_of(world);
        assert_int_equal(after.events, before.events);
        assert_int_equal(after.run.summary.status, before.run.summary.status);
        assert_int_equal(after.run.summary.iteration, before.run.summary.iteration);
        assert_int_equal(after.run.last_seq, before.run.last_seq);
    }
    set_limit(world, 10);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(world->fixture, world->run_id, -1, &loop, &opening), 0);
    fixture_iterate(loop, 1);
    loop_free(loop);
}

static bool count_run(const struct store_run *run, void *context)
{
    (void)run;
    ++*(unsigned *)context;
    return true;
}

WORLD_TEST(no_run_is_made_under_broken_policies)
{
    struct policy_world *world = *state;
    set_policies(world, "forbid (principal, action, resource) when { context.tokns > 5 };");
    struct loop_spec spec = spec_under(world, 0);
    struct loop_parts parts = fixture_parts(world->fixture);
    struct loop_opening opening;
    struct loop *loop = NULL;
    struct rondo_error err = {0};
    assert_int_equal(loop_start(&parts, &spec, &loop, &opening, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "p.cedar:1:"));
    assert_null(loop);
    unsigned runs = 0;
    struct store *store = world->fixture->memory;
    store->ops->list_runs(store, &(struct store_run_query){0}, count_run, &runs, NULL);
    assert_int_equal(runs, 0);
    loop_spec_fini(&spec);
}

/* ---- Many loops under one file -------------------------------------------------------------- */

enum { LOOPS = 8, CHANGES = 40 };

struct changing_run {
    pthread_t thread;
    struct runtime *runtime;
    const char *path;
    atomic_uint *iterations; /* of all members */
    uint64_t finished;
    enum rondo_status status;
};

static void *run_member(void *argument)
{
    struct changing_run *member = argument;
    struct loop_spec spec = fixture_spec(0);
    spec.policy = memory_dup_string(member->path);
    struct loop_parts parts = {.runtime = member->runtime};
    struct loop_opening opening;
    struct loop *loop = NULL;
    if (loop_start(&parts, &spec, &loop, &opening, NULL) == 0) {
        while (loop_next(loop, NULL) == LOOP_BODY) {
            atomic_fetch_add(member->iterations, 1);
        }
        member->finished = loop_state(loop)->finished;
        member->status = loop_state(loop)->status;
    }
    loop_free(loop);
    loop_spec_fini(&spec);
    return NULL;
}

WORLD_TEST(many_loops_stand_under_one_file_that_changes)
{
    struct policy_world *world = *state;
    struct store *store = store_memory_new(clock_system());
    struct runtime *runtime = NULL;
    struct runtime_options options = {.store = store, .has_no_keeper = true};
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    set_limit(world, 1000000);
    struct changing_run members[LOOPS];
    atomic_uint iterations = 0;
    for (size_t i = 0; i < LOOPS; i++) {
        members[i] = (struct changing_run){
            .runtime = runtime, .path = world->path, .iterations = &iterations};
        assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    }
    for (unsigned i = 0; i < CHANGES; i++) {
        unsigned before = atomic_load(&iterations);
        while (atomic_load(&iterations) < before + LOOPS) {
            sched_yield();
        }
        set_limit(world, 1000000 - i);
    }
    set_limit(world, 1);
    for (size_t i = 0; i < LOOPS; i++) {
        assert_int_equal(pthread_join(members[i].thread, NULL), 0);
        assert_int_equal(members[i].status, RONDO_MAX_ITERATIONS);
        assert_true(members[i].finished >= 1);
    }
    runtime_free(runtime);
    store_close(store);
}
