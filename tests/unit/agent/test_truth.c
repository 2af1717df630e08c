// SPDX-License-Identifier: Apache-2.0
/* What an agent's run is said to be: replies that are no answers, and words that do not add up. */
#include "agent_fixture.h"

#define STOPPED(text, stop) "{\"text\":\"" text "\",\"stop\":\"" stop "\"}\n"
#define CUT(calls)          "{\"stop\":\"length\",\"tool_calls\":[" calls "]}\n"
#define RAW(name, input)    "{\"name\":\"" name "\",\"arguments\":\"" input "\"}"
#define FINISH_WITH(input)  CALLS(ONE("finish_task", input))
#define FINISH_IF(status, words) \
    "{\"tool_calls\":[" DONE(status) "],\"expect\":{\"last_contains\":\"" words "\"}}\n"

/* ---- One answer ----------------------------------------------------------------------------- */

static void play(struct agent_scene *scene, enum agent_mode mode, const char *turns,
                 enum rondo_status status)
{
    struct agent_options options = {.mode = mode,
                                    .prompt = "How much is it?",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    scene_script(scene, turns);
    scene_start_as(scene, "", &options);
    scene_expect(scene, status);
}

static void expect_no_answer(struct agent_scene *scene, const char *turns, const char *stop,
                             const char *message)
{
    play(scene, AGENT_SINGLE, turns, RONDO_FAILED);
    assert_string_equal(agent_stop(scene->agent), stop);
    assert_string_equal(agent_failure(scene->agent), message);
    scene_last(scene, "model.replied", "stop", stop);
    scene_last(scene, "model.replied", "outcome", "ok");
    scene_last(scene, "iteration.finished", "outcome", "failed");
    scene_last(scene, "iteration.finished", "message", message);
    scene_last(scene, "run.finished", "message", message);
}

SCENE_TEST(an_empty_answer_fails)
{
    expect_no_answer(*state, SAY(""), "empty", "the reply has no text and no calls");
}

SCENE_TEST(an_answer_of_blanks_fails)
{
    expect_no_answer(*state, SAY(" \\n\\t"), "empty", "the reply has no text and no calls");
}

SCENE_TEST(an_answer_that_was_cut_fails_and_is_kept)
{
    struct agent_scene *scene = *state;
    expect_no_answer(scene, STOPPED("It is 4", "length"), "length",
                     "the reply was cut off at the token limit (max_tokens of the role is 4096)");
    scene_last(scene, "iteration.finished", "output", "It is 4");
    assert_string_equal(agent_words(scene->agent), "It is 4");
}

SCENE_TEST(a_filtered_answer_fails)
{
    expect_no_answer(*state, STOPPED("", "filtered"), "filtered",
                     "the provider's content filter stopped the reply");
}

SCENE_TEST(a_refusal_fails_after_tools_too)
{
    expect_no_answer(*state, CALL("look", "x") STOPPED("I will not.", "refused"), "refused",
                     "the model refused to answer");
}

SCENE_TEST(an_answer_is_none_of_these)
{
    struct agent_scene *scene = *state;
    play(scene, AGENT_SINGLE, SAY("It is 42."), RONDO_COMPLETED);
    assert_null(agent_stop(scene->agent));
    assert_null(agent_failure(scene->agent));
}

SCENE_TEST(an_autonomous_agent_is_asked_again)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", SAY("") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
}

/* ---- Calls of a reply that was cut ------------------------------------------------------------
 */

SCENE_TEST(the_last_call_of_a_cut_reply_is_not_made)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CUT(ONE("send", "{\"text\":\"a\"}") "," RAW("send", "{\\\"text\\\": \\\"b"))
                   FINISH_IF("completed", "cut off at the token limit (max_tokens is 4096)"),
               RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "a"), 1);
    assert_int_equal(scene->call_count, 1);
    assert_int_equal(scene_events(scene, "tool.finished", "JSON"), 0);
}

SCENE_TEST(a_cut_call_is_not_made_though_it_looks_whole)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CUT(ONE("send", "{\"text\":\"a\"}")) FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
}

SCENE_TEST(a_finish_that_was_cut_does_not_count)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CUT(RAW("finish_task", "")) CUT(DONE("completed")) FINISH("failed"),
               RONDO_FAILED);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(a_filtered_call_is_not_made)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               "{\"stop\":\"filtered\",\"tool_calls\":[" ONE(
                   "send", "{\"text\":\"a\"}") "]}\n" FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene_events(scene, "tool.finished", "content filter"), 1);
}

/** Of two readers each could believe another one. */
#define FINISH_TWICE                                                                      \
    CALLS(RAW("finish_task", "{\\\"summary\\\":\\\"x\\\",\\\"status\\\":\\\"blocked\\\"," \
                             "\\\"status\\\":\\\"completed\\\"}"))

/* ---- finish_task ------------------------------------------------------------------------------
 */

SCENE_TEST(arguments_that_do_not_fit_finish_nothing)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               FINISH_WITH("{\"summary\":\"x\",\"status\":5}")
                   FINISH_WITH("{\"summary\":\"x\",\"status\":null}")
                       FINISH_WITH("{\"summary\":\"x\",\"status\":\"Completed\"}")
                           FINISH_WITH("{\"summary\":\"x\",\"status\":[\"completed\"]}")
                               FINISH_WITH("{\"status\":\"completed\"}")
                                   FINISH_WITH("{\"summary\":7}")
                                       FINISH_WITH("{\"summary\":\"x\",\"success\":false}")
                                           FINISH_TWICE FINISH_WITH("{}") FINISH("blocked"),
               RONDO_BLOCKED);
    assert_int_equal(scene->asks, 10);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"error\""), 9);
}

SCENE_TEST(the_last_finish_of_a_reply_counts)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALLS(DONE("completed") "," DONE("failed") "," DONE("blocked")),
               RONDO_BLOCKED);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_events(scene, "tool.finished", "does not count"), 2);
}

SCENE_TEST(a_contradiction_never_completes)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CALLS(DONE("blocked") "," DONE("completed"))
                   CALLS(DONE("completed") "," DONE("great") "," DONE("completed"))
                       CALLS(DONE("failed") "," DONE("completed")) FINISH("failed"),
               RONDO_FAILED);
    assert_int_equal(scene->asks, 4);
    assert_int_equal(scene_events(scene, "tool.finished", "contradict each other"), 3);
}

SCENE_TEST(the_same_word_twice_is_no_contradiction)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALLS(DONE("completed") "," DONE("completed")), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 1);
}

SCENE_TEST(a_last_finish_that_is_wrong_takes_the_others_back)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALLS(DONE("completed") "," DONE("great")) FINISH("blocked"),
               RONDO_BLOCKED);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_contradiction_is_none_after_a_crash_either)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene_start(scene, "",
                CALLS(DONE("failed") "," ONE("send", "{\"text\":\"a\"}") "," DONE("completed"))
                    FINISH("blocked"));
    scene->crash_at = scene->commits + 5;
    scene->fault = STORE_FAULT_BEFORE;
    scene_run(scene, &err);
    scene_restart(scene);
    scene_expect(scene, RONDO_BLOCKED);
}

/* ---- The guard against idling ------------------------------------------------------------------
 */

SCENE_TEST(the_guard_speaks_for_itself)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", SAY("1") STOPPED("no", "refused"), RONDO_BLOCKED);
    scene_last(scene, "iteration.finished", "reason", "spin_guard");
    scene_last(scene, "run.finished", "message",
               "stopped by Rondo: iterations in a row without a tool call");
    scene_last(scene, "run.finished", "summary",
               "Stopped: no tool calls for 2 consecutive iterations. The last reply: the model "
               "refused to answer.");
}

SCENE_TEST(the_agents_word_is_not_the_guards)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", FINISH("blocked"), RONDO_BLOCKED);
    scene_last(scene, "run.finished", "message", "the agent says that it is blocked");
    scene_last(scene, "iteration.finished", "reason", "(absent)");
}
