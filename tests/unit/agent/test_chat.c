// SPDX-License-Identifier: Apache-2.0
/* Conversations with agents: one answer to each line, and what ends an answer but not the run. */
#include "agent_fixture.h"

#include "loop/control/control.h"
#include "loop/driver/internal.h"

/** Start a conversation with a role that has these lines. */
static void start_chat(struct agent_scene *scene, const char *lines, const char *turns)
{
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    scene_script(scene, turns);
    scene_start_as(scene, lines, &options);
}

/** Say something and take the answer. @return what loop_next gives */
static int say(struct agent_scene *scene, const char *words)
{
    struct rondo_error err = {0};
    int r = loop_next(scene->loop, &err);
    if (r == LOOP_BODY) {
        assert_int_equal(agent_run(scene->agent, words, &err), 0);
    }
    return r;
}

SCENE_TEST(each_line_has_its_answer)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "",
               "{\"text\":\"Hello.\",\"expect\":{\"last_contains\":\"Hi!\",\"messages\":1}}\n"
               "{\"text\":\"Well.\",\"expect\":{\"last_contains\":\"How?\",\"messages\":3}}\n");
    assert_int_equal(say(scene, "Hi!"), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Hello.");
    assert_int_equal(say(scene, "How?"), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Well.");
    assert_null(agent_failure(scene->agent));
}

SCENE_TEST(an_answer_is_durable_while_the_person_thinks)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "", SAY("Hello.") SAY("Well."));
    say(scene, "Hi!");
    assert_int_equal(scene_events(scene, "model.replied", "Hello."), 1);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 1);
    scene_restart(scene);
    assert_int_equal(say(scene, "How?"), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Well.");
    assert_int_equal(scene->asks, 2);
}

#define ANSWER_TO(count) "{\"text\":\"Well.\",\"expect\":{\"messages\":" #count "}}\n"

SCENE_TEST(with_memory_a_conversation_is_resumed_with_its_newest_messages)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "  memory: {max_resume_messages: 3, consolidation: {interval: manual}}\n",
               ANSWER_TO(1) ANSWER_TO(3) ANSWER_TO(5) ANSWER_TO(4) ANSWER_TO(6));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(say(scene, "And?"), LOOP_BODY);
    }
    scene_restart(scene);
    assert_int_equal(say(scene, "And now?"), LOOP_BODY);
    assert_null(agent_failure(scene->agent));
    assert_int_equal(scene_events(scene, "history.trimmed", "\"value\":3"), 1);
    assert_int_equal(say(scene, "And now?"), LOOP_BODY);
    assert_null(agent_failure(scene->agent));
    assert_int_equal(scene_events(scene, "history.trimmed", NULL), 1);
}

SCENE_TEST(without_memory_a_conversation_is_resumed_as_it_was)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "", ANSWER_TO(1) ANSWER_TO(3));
    assert_int_equal(say(scene, "And?"), LOOP_BODY);
    scene_restart(scene);
    assert_int_equal(say(scene, "And now?"), LOOP_BODY);
    assert_null(agent_failure(scene->agent));
    assert_int_equal(scene_events(scene, "history.trimmed", NULL), 0);
}

SCENE_TEST(a_conversation_survives_a_failure)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "", "{\"error\":\"overloaded\",\"message\":\"busy\"}\n");
    assert_int_equal(say(scene, "Hi!"), LOOP_BODY);
    assert_string_equal(agent_failure(scene->agent), "Model API error: busy");
    assert_int_equal(say(scene, "Hi again!"), LOOP_BODY);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(the_loops_own_tools_are_not_there)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "", FINISH("completed") SAY("Well."));
    assert_int_equal(say(scene, "Hi!"), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Well.");
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"error\""), 1);
}

SCENE_TEST(an_idle_conversation_is_not_blocked)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "  autonomy: {max_no_tool_call_iterations: 1}\n",
               "{\"text\":\"Hm.\",\"forever\":true}");
    for (int i = 0; i < 30; i++) {
        assert_int_equal(say(scene, "And?"), LOOP_BODY);
    }
}

SCENE_TEST(the_budget_of_a_session_ends_it)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "  guardrails:\n    session_token_budget: 100\n",
               SAY_FOR(40, 10) SAY_FOR(40, 10) SAY("Never."));
    assert_int_equal(say(scene, "1"), LOOP_BODY);
    assert_int_equal(say(scene, "2"), LOOP_BODY);
    assert_int_equal(say(scene, "3"), LOOP_ENDED);
    assert_int_equal(loop_state(scene->loop)->status, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(typing_counts_against_no_limit_of_time)
{
    struct agent_scene *scene = *state;
    start_chat(scene, "", "{\"text\":\"Hm.\",\"forever\":true}");
    loop_record_limits(scene->loop, &(struct loop_limits){.time_limit_ns = 5 * NS_PER_S}, "me");
    for (int i = 0; i < 5; i++) {
        scene->fixture->now_ns += 60 * NS_PER_S;
        agent_note_wait(scene->agent, 60 * NS_PER_S);
        assert_int_equal(say(scene, "And?"), LOOP_BODY);
    }
    assert_int_equal(loop_state(scene->loop)->active_ns, 0);
    assert_int_equal(scene_events(scene, "person.answered", "\"outcome\":\"words\""), 5);
}

/** The person interrupts the answer while this call is made. */
static void interrupt(struct agent_scene *scene, const struct tool *tool,
                      const struct tool_call *call)
{
    (void)tool;
    (void)call;
    cancel_set(scene->mine, CANCEL_GRACEFUL);
}

SCENE_TEST(an_interrupted_answer_leaves_nothing_for_the_next)
{
    struct agent_scene *scene = *state;
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    start_chat(scene, "",
               CALLS(ONE("send", "{\"text\":\"a\"}") "," ONE("send", "{\"text\":\"b\"}"))
                   SAY("Fine."));
    agent_set_interrupt(scene->agent, &cancel);
    scene->mine = &cancel;
    scene->on_tool = interrupt;
    assert_int_equal(say(scene, "Send both."), LOOP_BODY);
    assert_string_equal(agent_failure(scene->agent), "interrupted");
    assert_int_equal(scene_executions(scene, "send", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "a person interrupted this call"), 1);
    agent_set_interrupt(scene->agent, NULL);
    assert_int_equal(say(scene, "Let it be."), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Fine.");
    assert_int_equal(scene_executions(scene, "send", NULL), 1);
    cancel_fini(&cancel);
}

static void keep_words(void *context, const char *text, size_t len)
{
    buf_append(context, text, len);
}

SCENE_TEST(whoever_watches_hears_the_words_as_they_come)
{
    struct agent_scene *scene = *state;
    auto_buf struct buf heard = {0};
    struct model_watcher watcher = {.on_text = keep_words, .context = &heard};
    scene->parts.watcher = &watcher;
    start_chat(scene, "", SAY("This is quite a long answer, said in pieces."));
    say(scene, "Hi!");
    assert_string_equal(buf_string(&heard), "This is quite a long answer, said in pieces.");
    scene_leave(scene);
}
