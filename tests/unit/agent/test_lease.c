// SPDX-License-Identifier: Apache-2.0
/* An agent in the middle of its work whose lease cannot be renewed. */
#include "agent_fixture.h"

#define TEXT(name, text) ONE(name, "{\"text\":\"" text "\"}")

/** The store is away for so long that another machine may claim the run soon. */
static void be_late(struct agent_scene *scene)
{
    fixture_fail(scene->fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    scene->fixture->now_ns += 10 * NS_PER_S;
    runtime_tick(scene->fixture->runtime);
    assert_int_equal(cancel_level(loop_cancel(scene->loop)), CANCEL_NOW);
}

static void be_late_in_call(struct agent_scene *scene, const struct tool *tool,
                            const struct tool_call *call)
{
    (void)tool;
    assert_false(cancel_is_set(loop_cancel(scene->loop)));
    if (strcmp(json_get_string(call->arguments, "text", ""), "late") == 0) {
        be_late(scene);
    }
}

static void be_late_in_request(struct agent_scene *scene, const struct model_request *request)
{
    if (request->turn == 2 && scene->asks == 2) {
        be_late(scene);
    }
}

/** Begin a run whose store is on another machine. */
static void start_far(struct agent_scene *scene, const char *turns)
{
    const struct runtime_options options = {
        .store = scene->fixture->store,
        .clock = &scene->fixture->clock,
        .random = &scene->fixture->random,
        .lease_ns = 10 * NS_PER_S,
        .has_no_keeper = true,
        .is_store_remote = true,
    };
    runtime_free(scene->fixture->runtime);
    assert_int_equal(runtime_new(&options, &scene->fixture->runtime, NULL), 0);
    scene_start(scene, "", turns);
}

SCENE_TEST(an_agent_whose_lease_ends_during_a_call_makes_no_other_until_it_has_a_new_one)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene->on_tool = be_late_in_call;
    start_far(scene, CALLS(TEXT("send", "late") "," TEXT("send", "later") "," DONE("completed")));
    assert_int_equal(scene_step(scene, &err), LOOP_BODY);
    assert_int_equal(scene->call_count, 1);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "late"), 1);
    assert_int_equal(scene_executions(scene, "send", "later"), 1);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_events(scene, "iteration.interrupted", NULL), 1);
    assert_int_equal(scene_events(scene, "run.stop_requested", NULL), 0);
}

SCENE_TEST(a_request_that_a_lease_cuts_off_is_made_again)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene->on_ask = be_late_in_request;
    start_far(scene, CALL("send", "a") FINISH("completed"));
    assert_int_equal(scene_step(scene, &err), LOOP_BODY);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 0);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
    assert_int_equal(scene_executions(scene, "send", NULL), 1);
    assert_int_equal(scene_events(scene, "model.requested", "\"turn\":2,\"attempt\":2"), 1);
    assert_int_equal(scene_events(scene, "run.stop_requested", NULL), 0);
}
