// SPDX-License-Identifier: Apache-2.0
/* Calls that models make: what is wrong with them, who is asked, and which run side by side. */
#include "agent_fixture.h"

#include <unistd.h>

#define EXPECT(text) "\"expect\":{\"last_contains\":\"" text "\"}"
/** Finish, if the answer to the call before says this. */
#define FINISH_IF(text) "{\"tool_calls\":[" DONE("completed") "]," EXPECT(text) "}\n"

static void expect_outcome(const struct agent_scene *scene, const char *outcome)
{
    char text[64];
    snprintf(text, sizeof(text), "\"outcome\":\"%s\"", outcome);
    assert_int_equal(scene_events(scene, "tool.finished", text), 1);
}

/* ---- What is wrong -------------------------------------------------------------------------- */

SCENE_TEST(an_unknown_tool_is_an_answer)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALL("fly", "x") FINISH_IF("fly"), RONDO_COMPLETED);
    expect_outcome(scene, "error");
    assert_int_equal(scene->call_count, 0);
}

SCENE_TEST(arguments_that_are_no_json_are_an_answer)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALLS(ONE("send", "\"{\\\"text\\\":\"")) FINISH_IF("Error"),
               RONDO_COMPLETED);
    expect_outcome(scene, "error");
    assert_int_equal(scene->call_count, 0);
}

SCENE_TEST(arguments_that_lack_something_are_an_answer)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALLS(ONE("send", "{}")) FINISH_IF("text"), RONDO_COMPLETED);
    expect_outcome(scene, "error");
    assert_int_equal(scene->call_count, 0);
}

SCENE_TEST(broken_arguments_of_the_loops_own_tools_are_an_answer)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CALLS(ONE("finish_task", "\"[\"") "," ONE("update_plan", "\"7\""))
                   FINISH_IF("Error: the arguments are not a JSON object"),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "not a JSON object"), 2);
}

SCENE_TEST(a_tool_that_fails_is_an_answer)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALL("send", "break") FINISH_IF("Error: it broke"), RONDO_COMPLETED);
    expect_outcome(scene, "error");
    assert_int_equal(scene->call_count, 1);
}

static void look_for_error(struct agent_scene *scene, const struct model_request *request)
{
    (void)scene;
    const char *last = request->messages[request->message_count - 1].bytes;
    if (request->turn > 1) {
        assert_int_equal(strstr(last, "\"is_error\":true") != NULL, request->turn == 2);
    }
}

SCENE_TEST(the_model_is_told_which_calls_failed)
{
    struct agent_scene *scene = *state;
    scene->on_ask = look_for_error;
    scene_play(scene, "", CALL("send", "break") CALL("send", "x") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(a_good_call_is_answered_with_its_result)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALL("send", "post") FINISH_IF("send did post"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "\"output\":\"send did post\""), 1);
}

SCENE_TEST(permissions_of_the_role_deny_a_call)
{
    struct agent_scene *scene = *state;
    scene_play(scene,
               "  tools:\n    - type: think\n      permissions: {deny: ['thought=secret*']}\n",
               CALLS(ONE("think", "{\"thought\":\"secret plan\"}"))
                   CALLS(ONE("think", "{\"thought\":\"open plan\"}")) FINISH("completed"),
               RONDO_COMPLETED);
    expect_outcome(scene, "denied");
    assert_int_equal(scene_events(scene, "tool.finished", "blocked by rule: thought=secret*"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "Thought recorded."), 1);
}

/* ---- Confirmation --------------------------------------------------------------------------- */

SCENE_TEST(a_person_may_refuse_a_call)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_NO);
    scene_play(scene, "", CALL("careful", "x") FINISH_IF("a person refused it"), RONDO_COMPLETED);
    expect_outcome(scene, "refused");
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene->questions, 1);
}

SCENE_TEST(a_person_may_confirm_a_call)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    scene_play(scene, "", CALL("careful", "x") FINISH_IF("careful did x"), RONDO_COMPLETED);
    assert_int_equal(scene->questions, 1);
    assert_string_equal(scene->question, "careful {\"text\":\"x\"}");
    assert_non_null(strstr(scene->why, "confirm"));
    assert_false(scene->is_once);
}

SCENE_TEST(a_person_who_goes_away_confirms_nothing)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_NONE);
    struct rondo_error err = {0};
    scene_start(scene, "", CALL("careful", "x") FINISH("completed"));
    assert_int_equal(scene_run(scene, &err), LOOP_PAUSED); /* until somebody decides */
    assert_int_equal(scene->questions, 1);
    assert_int_equal(scene->call_count, 0);
}

static enum agent_consent look_while_asked(void *context, const struct agent_question *question)
{
    struct agent_scene *scene = context;
    (void)question;
    assert_int_equal(scene_events(scene, "model.replied", NULL), 1);
    return AGENT_CONSENT_YES;
}

SCENE_TEST(a_reply_is_durable_while_a_person_is_asked)
{
    struct agent_scene *scene = *state;
    scene->parts.ask_person = look_while_asked;
    scene->parts.ask_context = scene;
    scene_play(scene, "", CALL("careful", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 1);
}

/* ---- What is in the journal, and when -------------------------------------------------- */

static void look_for_intent(struct agent_scene *scene, const struct tool *tool,
                            const struct tool_call *call)
{
    (void)call;
    char text[64];
    snprintf(text, sizeof(text), "\"name\":\"%s\"", tool->name);
    unsigned *seen = scene->mine;
    *seen += scene_events(scene, "tool.requested", text);
}

SCENE_TEST(the_intent_of_a_call_is_durable_before_it_is_made)
{
    struct agent_scene *scene = *state;
    unsigned seen = 0;
    scene->mine = &seen;
    scene->on_tool = look_for_intent;
    scene_play(scene, "", CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(seen, 1);
    scene_last(scene, "tool.requested", "name", "finish_task");
    assert_int_equal(scene_events(scene, "tool.requested", "{\\\"text\\\":\\\"x\\\"}"), 1);
}

SCENE_TEST(a_call_without_effect_needs_no_commit)
{
    struct agent_scene *scene = *state;
    unsigned seen = 0;
    scene->mine = &seen;
    scene->on_tool = look_for_intent;
    scene_play(scene, "", CALL("look", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(seen, 0);
    assert_int_equal(scene_events(scene, "tool.requested", NULL), 2);
}

static void look_for_results(struct agent_scene *scene, const struct tool *tool,
                             const struct tool_call *call)
{
    (void)call;
    if (strcmp(tool->name, "send") == 0) {
        assert_int_equal(scene_events(scene, "tool.finished", "put did a"), 1);
        assert_int_equal(scene_events(scene, "tool.finished", "look did b"), 1);
    }
}

SCENE_TEST(results_are_durable_before_the_next_effect)
{
    struct agent_scene *scene = *state;
    scene->on_tool = look_for_results;
    scene_play(scene, "",
               CALLS(ONE("put", "{\"text\":\"a\"}") "," ONE("look", "{\"text\":\"b\"}") "," ONE(
                   "send", "{\"text\":\"c\"}")) FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "c"), 1);
}

SCENE_TEST(calls_have_keys_of_their_own)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CALLS(ONE("send", "{\"text\":\"a\"}") "," ONE("send", "{\"text\":\"a\"}"))
                   CALL("send", "a") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 3);
    assert_string_not_equal(scene->calls[0].key, scene->calls[1].key);
    assert_string_not_equal(scene->calls[1].key, scene->calls[2].key);
    assert_string_not_equal(scene->calls[0].key, scene->calls[2].key);
}

/* ---- Side by side --------------------------------------------------------------------------- */

/** A turn with `count` calls of a tool, with texts m01, m02, ... */
static void write_calls(struct buf *turns, const char *tool, int count)
{
    buf_append_string(turns, "{\"tool_calls\":[");
    for (int i = 1; i <= count; i++) {
        buf_printf(turns, "%s{\"name\":\"%s\",\"arguments\":{\"text\":\"m%02d\"}}",
                   i == 1 ? "" : ",", tool, i);
    }
    buf_append_string(turns, "]}\n");
}

/** The answers must be in the order of the calls. */
static void look_at_order(struct agent_scene *scene, const struct model_request *request)
{
    const int *count = scene->mine;
    if (request->turn != 2) {
        return;
    }
    const char *at = request->messages[request->message_count - 1].bytes;
    for (int i = 1; i <= *count; i++) {
        char text[32];
        snprintf(text, sizeof(text), "meet did m%02d", i);
        at = strstr(at, text);
        assert_non_null(at);
    }
}

static void play_side_by_side(struct agent_scene *scene, int count, int awaited)
{
    auto_buf struct buf turns = {0};
    write_calls(&turns, "meet", count);
    buf_append_string(&turns, FINISH("completed"));
    scene->awaited = awaited;
    scene->mine = &count;
    scene->on_ask = look_at_order;
    scene_play(scene, "  guardrails:\n    max_tool_calls: 100\n", buf_string(&turns),
               RONDO_COMPLETED);
    assert_int_equal(scene->call_count, count);
    assert_int_equal(scene_events(scene, "tool.finished", "meet did"), count);
    for (int i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof(text), "\"index\":%d,", i);
        assert_int_equal(scene_events(scene, "tool.requested", text), i == 0 ? 2 : 1);
        assert_int_equal(scene_events(scene, "tool.finished", text), i == 0 ? 2 : 1);
        snprintf(text, sizeof(text), "meet did m%02d", i + 1);
        assert_int_equal(scene_events(scene, "tool.finished", text), 1);
    }
    scene->mine = NULL;
}

/** Calls that are under way, and the most of them at a time. */
struct company {
    int present;
    int most;
};

static void stay_for_a_moment(struct agent_scene *scene, const struct tool *tool,
                              const struct tool_call *call)
{
    (void)tool;
    (void)call;
    struct company *company = scene->mine;
    pthread_mutex_lock(&scene->lock);
    company->present++;
    company->most = company->present > company->most ? company->present : company->most;
    pthread_mutex_unlock(&scene->lock);
    usleep(5000);
    pthread_mutex_lock(&scene->lock);
    company->present--;
    pthread_mutex_unlock(&scene->lock);
}

SCENE_TEST(effects_keep_the_order_in_which_the_model_named_them)
{
    struct agent_scene *scene = *state;
    struct company company = {0};
    auto_buf struct buf turns = {0};
    scene->mine = &company;
    scene->on_tool = stay_for_a_moment;
    write_calls(&turns, "post", 8);
    buf_append_string(&turns, FINISH("completed"));
    scene_play(scene, "", buf_string(&turns), RONDO_COMPLETED);
    assert_int_equal(company.most, 1);
    assert_int_equal(scene->call_count, 8);
    for (int i = 0; i < 8; i++) {
        char text[8];
        snprintf(text, sizeof(text), "m%02d", i + 1);
        assert_string_equal(scene->calls[i].text, text);
    }
}

SCENE_TEST(reading_does_not_overtake_an_effect)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CALLS(ONE("post", "{\"text\":\"a\"}") "," ONE("meet", "{\"text\":\"b\"}") "," ONE(
                   "meet", "{\"text\":\"c\"}") "," ONE("post", "{\"text\":\"d\"}"))
                   FINISH("completed"),
               RONDO_COMPLETED);
    assert_string_equal(scene->calls[0].text, "a");
    assert_string_equal(scene->calls[3].text, "d");
}

SCENE_TEST(two_calls_that_may_run_side_by_side_do)
{
    struct agent_scene *scene = *state;
    play_side_by_side(scene, 2, 2);
    assert_int_equal(scene->most_running, 2);
}

SCENE_TEST(as_many_calls_as_the_limit_run_side_by_side)
{
    struct agent_scene *scene = *state;
    play_side_by_side(scene, LIMIT_PARALLEL_TOOL_CALLS, LIMIT_PARALLEL_TOOL_CALLS);
    assert_int_equal(scene->most_running, LIMIT_PARALLEL_TOOL_CALLS);
}

SCENE_TEST(no_more_calls_than_the_limit_run_side_by_side)
{
    struct agent_scene *scene = *state;
    play_side_by_side(scene, LIMIT_PARALLEL_TOOL_CALLS + 1, LIMIT_PARALLEL_TOOL_CALLS);
    assert_int_equal(scene->most_running, LIMIT_PARALLEL_TOOL_CALLS);
}

SCENE_TEST(many_calls_are_all_answered)
{
    play_side_by_side(*state, 5 * LIMIT_PARALLEL_TOOL_CALLS, 2);
}

/** Of the calls of this reply only those up to the present one may have been begun. */
static void expect_intents(struct agent_scene *scene, const struct tool *tool,
                           const struct tool_call *call)
{
    (void)tool;
    const char *text = json_get_string(call->arguments, "text", "");
    if (strcmp(text, "5") != 0) { /* A call without effect does not commit its own. */
        assert_int_equal(scene_events(scene, "tool.requested", NULL), text[0] - '0');
    }
}

SCENE_TEST(others_keep_their_order)
{
    struct agent_scene *scene = *state;
    scene->on_tool = expect_intents;
    scene_play(
        scene, "",
        CALLS(ONE("meet", "{\"text\":\"1\"}") "," ONE("send", "{\"text\":\"2\"}") "," ONE(
            "meet", "{\"text\":\"3\"}") "," ONE("send",
                                                "{\"text\":\"4\"}") "," ONE("look",
                                                                            "{\"text\":\"5\"}"))
            FINISH("completed"),
        RONDO_COMPLETED);
    assert_int_equal(scene->most_running, 1);
    for (size_t i = 0; i < 5; i++) {
        char text[8];
        snprintf(text, sizeof(text), "%zu", i + 1);
        assert_string_equal(scene->calls[i].text, text);
    }
}

SCENE_TEST(one_that_fails_leaves_those_beside_it_alone)
{
    struct agent_scene *scene = *state;
    scene->awaited = 3;
    scene_play(scene, "",
               CALLS(ONE("meet", "{\"text\":\"a\"}") "," ONE(
                   "meet", "{\"text\":\"break\"}") "," ONE("meet", "{\"text\":\"c\"}"))
                   FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->most_running, 3);
    expect_outcome(scene, "error");
    assert_int_equal(scene_events(scene, "tool.finished", "meet did a"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "meet did c"), 1);
}

/** The third one that is made stops the run; those beside it end when it is stopped. */
static void stop_from_a_tool(struct agent_scene *scene, const struct tool *tool,
                             const struct tool_call *call)
{
    (void)tool;
    const char *text = json_get_string(call->arguments, "text", "");
    pthread_mutex_lock(&scene->lock);
    bool is_third = scene->call_count >= 3 && strcmp(scene->calls[2].text, text) == 0;
    pthread_mutex_unlock(&scene->lock);
    if (is_third) {
        loop_stop(scene->loop, CANCEL_NOW);
    }
    assert_true(cancel_wait(call->cancel, 60 * NS_PER_S));
}

SCENE_TEST(a_stop_reaches_calls_that_run_side_by_side)
{
    struct agent_scene *scene = *state;
    auto_buf struct buf turns = {0};
    write_calls(&turns, "meet", 19);
    buf_append_string(&turns, FINISH("completed"));
    scene->awaited = 2;
    scene->on_tool = stop_from_a_tool;
    scene_play(scene, "", buf_string(&turns), RONDO_CANCELLED);
    /* Those that had not begun by then were not made any more. */
    assert_in_range(scene->call_count, 3, LIMIT_PARALLEL_TOOL_CALLS);
    scene->on_tool = NULL;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
}
