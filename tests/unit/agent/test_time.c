// SPDX-License-Identifier: Apache-2.0
/* Limits of time while a request, a call or a person is waited for. The clock stands still but for
 * what takes time in these tests. */
#include "agent_fixture.h"

#define GUARDRAILS(lines) "  guardrails:\n" lines
#define LIMIT_4S          GUARDRAILS("    autonomous_timeout_seconds: 4\n")
#define LOOK              CALL("look", "x")

/** What the last request or call was given. */
struct seen_deadlines {
    int64_t begin_ns;
    int64_t left_ns;
};

static void note_request(struct agent_scene *scene, const struct model_request *request)
{
    struct seen_deadlines *given = scene->mine;
    given->left_ns = request->deadline_ns - scene->fixture->now_ns;
}

static void note_call(struct agent_scene *scene, const struct tool *tool,
                      const struct tool_call *call)
{
    (void)tool;
    struct seen_deadlines *given = scene->mine;
    given->left_ns = call->deadline_ns - scene->fixture->now_ns;
    scene->fixture->now_ns += 3 * NS_PER_S;
}

static void take_all_the_time(struct agent_scene *scene, const struct tool *tool,
                              const struct tool_call *call)
{
    (void)tool;
    scene->fixture->now_ns = call->deadline_ns;
}

SCENE_TEST(a_request_has_the_time_that_is_left)
{
    struct agent_scene *scene = *state;
    struct seen_deadlines given = {0};
    scene->mine = &given;
    scene->on_ask = note_request;
    scene_play(scene, LIMIT_4S, FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(given.left_ns, 4 * NS_PER_S);
}

SCENE_TEST(a_call_has_the_time_that_is_left)
{
    struct agent_scene *scene = *state;
    struct seen_deadlines given = {0};
    scene->mine = &given;
    scene->on_tool = note_call;
    scene_play(scene, LIMIT_4S, LOOK LOOK FINISH("completed"), RONDO_TIMEOUT);
    assert_int_equal(given.left_ns, 1 * NS_PER_S);
}

SCENE_TEST(the_iterations_time_counts_where_it_is_shorter)
{
    struct agent_scene *scene = *state;
    struct seen_deadlines given = {0};
    scene->mine = &given;
    scene->on_ask = note_request;
    scene_play(scene, GUARDRAILS("    autonomous_timeout_seconds: 400\n    timeout_seconds: 3\n"),
               FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(given.left_ns, 3 * NS_PER_S);
}

SCENE_TEST(a_slow_reply_ends_at_the_limit_of_the_run)
{
    struct agent_scene *scene = *state;
    int64_t begin_ns = scene->fixture->now_ns;
    scene_play(scene, LIMIT_4S, "{\"text\":\"late\",\"delay_ms\":30000}\n", RONDO_TIMEOUT);
    assert_int_equal(scene->fixture->now_ns - begin_ns, 4 * NS_PER_S);
    assert_int_equal(scene->asks, 1);
    scene_last(scene, "model.replied", "outcome", "timed_out");
    scene_last(scene, "run.finished", "message", "the time limit of the run, 4.0 s, is used up");
    scene_last(scene, "gate.denied", "limit_name", "time");
}

SCENE_TEST(nothing_is_asked_after_a_call_that_took_all_the_time)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_all_the_time;
    scene_play(scene, LIMIT_4S, CALL("send", "x") FINISH("completed"), RONDO_TIMEOUT);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_events(scene, "model.requested", NULL), 1);
}

static void give_more_time(struct loop_spec *spec, void *context)
{
    (void)context;
    spec->time_limit_ns = 60 * NS_PER_S;
}

SCENE_TEST(a_run_that_was_cut_continues_after_the_last_result)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_all_the_time;
    scene_start(scene, LIMIT_4S, CALL("send", "x") FINISH("completed"));
    scene_expect(scene, RONDO_TIMEOUT);
    scene_crash(scene);
    scene->on_tool = NULL;
    scene_resume_with(scene, give_more_time);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
}

static void give_time_by_letter(struct agent_scene *scene, const struct tool *tool,
                                const struct tool_call *call)
{
    struct store *store = scene->fixture->store;
    static const char data[] = "{\"time_limit_ns\":60000000000,\"by\":\"a person\"}";
    take_all_the_time(scene, tool, call);
    assert_int_equal(store->ops->post(store, scene->world->run_id, "limits", data, NULL), 0);
}

SCENE_TEST(time_that_was_given_meanwhile_counts)
{
    struct agent_scene *scene = *state;
    scene->on_tool = give_time_by_letter;
    scene_play(scene, LIMIT_4S, CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
}

static void give_time_by_policy(struct agent_scene *scene, const struct model_request *request)
{
    (void)request;
    if (scene->asks == 1) {
        set_policies(scene->world, PERMIT);
    }
}

SCENE_TEST(a_policy_that_gives_time_meanwhile_counts)
{
    struct agent_scene *scene = *state;
    set_policies(scene->world, PERMIT "@id(\"time\") forbid (principal, action == "
                                      "Action::\"iterate\", resource) "
                                      "when { context.elapsed_s >= 6 };");
    scene->on_ask = give_time_by_policy;
    scene_play(scene, "  policy: p.cedar\n",
               "{\"text\":\"late\",\"delay_ms\":9000}\n" FINISH("completed"), RONDO_COMPLETED);
    assert_true(scene->asks > 1);
}

SCENE_TEST(a_limit_of_a_policy_cuts_a_request_off_too)
{
    struct agent_scene *scene = *state;
    int64_t begin_ns = scene->fixture->now_ns;
    set_policies(scene->world, PERMIT "@id(\"time\") forbid (principal, action == "
                                      "Action::\"iterate\", resource) "
                                      "when { context.elapsed_s >= 6 };");
    scene_play(scene, "  policy: p.cedar\n", "{\"text\":\"late\",\"delay_ms\":30000}\n",
               RONDO_TIMEOUT);
    assert_int_equal(scene->fixture->now_ns - begin_ns, 6 * NS_PER_S);
    assert_int_equal(scene->asks, 1);
}

/** A model that fails, and whose next attempt would come too late. */
static int ask_without_time(struct model *model, const struct model_request *request,
                            struct model_reply *ret_reply, struct rondo_error *err)
{
    (void)model;
    (void)request;
    (void)err;
    scene_now->asks++;
    *ret_reply = (struct model_reply){.failure = MODEL_RATE_LIMITED,
                                      .message = memory_dup_string("come back in 30 s"),
                                      .is_out_of_time = true,
                                      .text = memory_dup_string(""),
                                      .thinking = memory_dup_string(""),
                                      .attempts = 1};
    return 0;
}

SCENE_TEST(a_retry_that_would_come_too_late_ends_the_run_as_timeout)
{
    struct agent_scene *scene = *state;
    scene->ops.ask = ask_without_time;
    scene_play(scene, LIMIT_4S, LOOK, RONDO_TIMEOUT);
    assert_int_equal(scene->asks, 1);
    scene_last(scene, "run.finished", "message",
               "the time limit of the run, 4.0 s, leaves no time: come back in 30 s");
}

SCENE_TEST(without_a_limit_of_the_run_it_is_a_failed_request)
{
    struct agent_scene *scene = *state;
    scene->ops.ask = ask_without_time;
    scene_play(scene, "", LOOK, RONDO_ERROR);
    scene_last(scene, "run.finished", "message", "Model API error: come back in 30 s");
}

/* ---- People ------------------------------------------------------------------------------------
 */

static enum agent_consent answer_after_an_hour(void *context, const struct agent_question *question)
{
    struct agent_scene *scene = context;
    (void)question;
    scene->questions++;
    scene->fixture->now_ns += 3600 * NS_PER_S;
    return AGENT_CONSENT_YES;
}

SCENE_TEST(waiting_for_a_person_counts_against_no_limit)
{
    struct agent_scene *scene = *state;
    scene->parts.ask_person = answer_after_an_hour;
    scene->parts.ask_context = scene;
    scene_play(scene, GUARDRAILS("    autonomous_timeout_seconds: 4\n    timeout_seconds: 3\n"),
               CALL("careful", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->questions, 1);
    assert_int_equal(loop_state(scene->loop)->active_ns, 0);
    scene_last(scene, "person.answered", "name", "careful");
    scene_last(scene, "person.answered", "outcome", "yes");
}

SCENE_TEST(a_person_who_answers_at_once_leaves_no_event)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    scene_play(scene, "", CALL("careful", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "person.answered", NULL), 0);
}
