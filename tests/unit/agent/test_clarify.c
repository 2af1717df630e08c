// SPDX-License-Identifier: Apache-2.0
/* Questions of an agent to a person: who answers, how often it may ask, what the model reads. */
#include "agent_fixture.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define ASK(question) CALLS(ONE("clarify", "{\"question\":\"" question "\"}"))
#define CLARIFY       "  tools: [{type: clarify}]\n"

/** The person of a test. */
struct answering {
    enum agent_answer answer;
    const char *words;
    unsigned asked;
    int64_t timeout_ns;
    char question[64];
};

static enum agent_answer answer(void *context, const char *question, int64_t timeout_ns,
                                struct buf *ret_answer)
{
    struct answering *self = ((struct agent_scene *)context)->mine;
    self->asked++;
    self->timeout_ns = timeout_ns;
    snprintf(self->question, sizeof(self->question), "%s", question);
    buf_append_string(ret_answer, self->words);
    return self->answer;
}

static void sit_down(struct agent_scene *scene, struct answering *self)
{
    scene->mine = self;
    scene->parts.ask_words = answer;
    scene->parts.ask_context = scene;
}

SCENE_TEST(what_the_person_says_is_the_result)
{
    struct agent_scene *scene = *state;
    struct answering person = {.answer = AGENT_ANSWER_GIVEN, .words = "the blue one"};
    sit_down(scene, &person);
    scene_play(scene, "  tools: [{type: clarify, timeout_seconds: 30}]\n",
               ASK("Which host?") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "the blue one"), 1);
    assert_string_equal(person.question, "Which host?");
    assert_true(person.timeout_ns == 30 * NS_PER_S);
}

SCENE_TEST(where_nobody_is_the_model_is_told_so)
{
    struct agent_scene *scene = *state;
    scene_play(scene, CLARIFY, ASK("Which?") FINISH("blocked"), RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "tool.finished", "no person can answer in this run"), 1);
}

SCENE_TEST(a_question_that_is_left_or_late_is_an_error_for_the_model)
{
    struct agent_scene *scene = *state;
    struct answering person = {.answer = AGENT_ANSWER_LATE, .words = ""};
    sit_down(scene, &person);
    scene_play(scene, CLARIFY, ASK("Which?") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "nobody answered within 300 seconds"), 1);
    scene_leave(scene);
}

SCENE_TEST(a_person_who_gives_no_answer_is_reported)
{
    struct agent_scene *scene = *state;
    struct answering person = {.answer = AGENT_ANSWER_NONE, .words = ""};
    sit_down(scene, &person);
    scene_play(scene, CLARIFY, ASK("Which?") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "the person gave no answer"), 1);
}

SCENE_TEST(after_the_last_question_no_other_is_shown)
{
    struct agent_scene *scene = *state;
    struct answering person = {.answer = AGENT_ANSWER_GIVEN, .words = "yes"};
    sit_down(scene, &person);
    scene_play(scene, "  tools: [{type: clarify, max_clarifications: 2}]\n",
               ASK("1?") ASK("2?") ASK("3?") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(person.asked, 2);
    assert_int_equal(scene_events(scene, "tool.finished", "max_clarifications is 2"), 1);
}

SCENE_TEST(policies_and_permissions_count_for_questions_too)
{
    struct agent_scene *scene = *state;
    struct answering person = {.answer = AGENT_ANSWER_GIVEN, .words = "yes"};
    sit_down(scene, &person);
    scene_play(scene, "  tools: [{type: clarify, permissions: {deny: ['question=*secret*']}}]\n",
               ASK("What is the secret?") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "Permission denied: clarify"), 1);
    assert_int_equal(person.asked, 0);
}

static void ask_long(struct agent_scene *scene, size_t len, unsigned asked)
{
    struct answering person = {.answer = AGENT_ANSWER_GIVEN, .words = "yes"};
    struct buf turns = {0};
    sit_down(scene, &person);
    buf_append_string(&turns, "{\"tool_calls\":[{\"name\":\"clarify\",\"arguments\":"
                              "{\"question\":\"");
    for (size_t i = 0; i < len; i++) {
        buf_append_string(&turns, "q");
    }
    buf_append_string(&turns, "\"}}]}\n" FINISH("completed"));
    scene_play(scene, CLARIFY, buf_string(&turns), RONDO_COMPLETED);
    buf_fini(&turns);
    assert_int_equal(person.asked, asked);
}

SCENE_TEST(a_question_at_the_limit_is_shown)
{
    ask_long(*state, LIMIT_CLARIFY_BYTES, 1);
}

SCENE_TEST(a_question_past_the_limit_is_not)
{
    ask_long(*state, LIMIT_CLARIFY_BYTES + 1, 0);
}
