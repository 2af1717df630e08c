// SPDX-License-Identifier: Apache-2.0
/* What a turn of a conversation takes over from the run of the turn before. */
#include "../agent_fixture.h"
#include "agent/spec/carry.h"

#include <json-c/json.h>

/** Options of a run as carry_over reads them. @param role the role's `spec`, JSON */
static struct loop_spec make_spec(const char *prompt, const char *role)
{
    struct buf agent = {0};
    buf_printf(&agent, "{\"role\":{\"spec\":%s}}", role);
    return (struct loop_spec){.prompt = memory_dup_string(prompt), .agent = buf_steal(&agent)};
}

/** A conversation, turn by turn. */
struct talk {
    const char *role;
    struct loop_spec last;
};

/** The next turn. @param answer to the turn before */
static void turn_after(struct talk *talk, const char *answer, const char *prompt)
{
    struct loop_spec spec = make_spec(prompt, talk->role);
    const struct carry_turn turn = {
        .source = "fixer/test-1",
        .key = "4711",
        .before = talk->last.agent == NULL ? NULL : &talk->last,
        .answer = answer,
    };
    assert_int_equal(carry_over(&spec, &turn, NULL), 0);
    free(talk->last.prompt);
    free(talk->last.agent);
    talk->last = spec;
}

static void end_talk(struct talk *talk)
{
    free(talk->last.prompt);
    free(talk->last.agent);
}

/** What the last turn took over: "Hi|Ho|". Owned */
static char *carried(const struct talk *talk)
{
    auto_json struct json_object *agent = NULL;
    struct buf text = {0};
    assert_int_equal(json_parse(talk->last.agent, strlen(talk->last.agent), &agent, NULL), 0);
    struct json_object *messages = carry_messages(agent);
    for (size_t i = 0; i < json_object_array_length(messages); i++) {
        buf_printf(&text, "%s|", json_object_get_string(json_object_array_get_idx(messages, i)));
    }
    buf_string(&text);
    return buf_steal(&text);
}

static void expect_carried(const struct talk *talk, const char *expected)
{
    auto_free char *text = carried(talk);
    assert_string_equal(text, expected);
}

TEST(a_turn_has_what_was_said_before)
{
    struct talk talk = {.role = "{}"};
    auto_free char *source = NULL;
    auto_free char *key = NULL;
    turn_after(&talk, NULL, "Hi");
    expect_carried(&talk, "");
    turn_after(&talk, "Ho", "How?");
    expect_carried(&talk, "Hi|Ho|");
    turn_after(&talk, "So.", "Why?");
    expect_carried(&talk, "Hi|Ho|How?|So.|");
    assert_true(carry_find(&talk.last, &source, &key));
    assert_string_equal(source, "fixer/test-1");
    assert_string_equal(key, "4711");
    end_talk(&talk);
}

/** What the sixth turn takes over with a role. */
static void expect_sixth(const char *role, const char *expected)
{
    static const char *const words[] = {"1", "2", "3", "4", "5", "6"};
    static const char *const answers[] = {NULL, "a", "b", "c", "d", "e"};
    struct talk talk = {.role = role};
    for (size_t i = 0; i < COUNT(words); i++) {
        turn_after(&talk, answers[i], words[i]);
    }
    expect_carried(&talk, expected);
    end_talk(&talk);
}

TEST(the_roles_windows_bound_what_a_turn_takes_over)
{
    expect_sixth("{\"autonomy\":{\"max_history_messages\":5}}", "4|d|5|e|");
    expect_sixth("{\"autonomy\":{\"max_history_messages\":6}}", "4|d|5|e|");
    expect_sixth("{\"autonomy\":{\"max_history_messages\":1}}", "");
    expect_sixth("{\"memory\":{\"max_resume_messages\":3}}", "5|e|");
    expect_sixth("{\"autonomy\":{\"max_history_messages\":3},\"memory\":"
                 "{\"max_resume_messages\":20}}",
                 "5|e|");
    expect_sixth("{\"autonomy\":{\"max_history_messages\":-4}}", "1|a|2|b|3|c|4|d|5|e|");
}

TEST(forty_messages_are_usual)
{
    struct talk talk = {.role = "{}"};
    for (int i = 0; i < 30; i++) {
        turn_after(&talk, "a", "q");
    }
    auto_free char *text = carried(&talk);
    assert_int_equal(strlen(text), 38 * 2);
    end_talk(&talk);
}

TEST(a_long_message_is_cut_between_characters)
{
    struct talk talk = {.role = "{}"};
    size_t most = (size_t)LIMIT_CONVERSATION_TEXT_BYTES;
    auto_free char *fits = memory_new_zero(1, most + 1);
    auto_free char *longer = memory_new_zero(1, most + 2);
    memset(fits, 'x', most);
    memset(longer, 'x', most - 1);
    memcpy(longer + most - 1, "\xc3\xa4", 2);
    turn_after(&talk, NULL, fits);
    turn_after(&talk, longer, "next");
    auto_free char *text = carried(&talk);
    assert_int_equal(strlen(text), most + 1 + most - 1 + strlen("\n[...]|"));
    assert_non_null(strstr(text, "x\n[...]|"));
    end_talk(&talk);
}

TEST(the_oldest_turns_give_way_when_all_together_are_too_long)
{
    struct talk talk = {.role = "{\"autonomy\":{\"max_history_messages\":900}}"};
    size_t most = (size_t)LIMIT_CONVERSATION_TEXT_BYTES;
    auto_free char *full = memory_new_zero(1, most + 1);
    memset(full, 'x', most);
    for (int i = 0; i < 20; i++) {
        turn_after(&talk, full, full);
    }
    auto_free char *text = carried(&talk);
    assert_int_equal(strlen(text) / (most + 1), LIMIT_CONVERSATION_BYTES / most);
    end_talk(&talk);
}

TEST(a_number_of_messages_is_the_most_whatever_a_role_says)
{
    struct talk talk = {.role = "{\"autonomy\":{\"max_history_messages\":1000000}}"};
    for (int i = 0; i < LIMIT_CONVERSATION_MESSAGES / 2 + 10; i++) {
        turn_after(&talk, "a", "q");
    }
    auto_free char *text = carried(&talk);
    assert_int_equal(strlen(text) / 2, LIMIT_CONVERSATION_MESSAGES - 2);
    end_talk(&talk);
}

TEST(a_run_of_no_conversation_is_none)
{
    char *source = NULL;
    char *key = NULL;
    struct loop_spec spec = make_spec("x", "{}");
    assert_false(carry_find(&spec, &source, &key));
    free(spec.prompt);
    free(spec.agent);
    spec = (struct loop_spec){0};
    assert_false(carry_find(&spec, &source, &key));
}

/* ---- Agents --------------------------------------------------------------------------------- */

static void continue_talk(struct agent_scene *scene, struct loop_spec *spec)
{
    (void)scene;
    struct talk talk = {.role = "{}"};
    turn_after(&talk, NULL, "My name is Ada.");
    const struct carry_turn turn = {
        .source = "s", .key = "k", .before = &talk.last, .answer = "Hello, Ada."};
    assert_int_equal(carry_over(spec, &turn, NULL), 0);
    end_talk(&talk);
}

static void start_turn(struct agent_scene *scene, const char *turns)
{
    struct agent_options options = {.mode = AGENT_SINGLE,
                                    .prompt = "Who am I?",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    scene->on_spec = continue_talk;
    scene_script(scene, turns);
    scene_start_as(scene, "", &options);
}

SCENE_TEST(the_model_reads_what_was_said_before)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    start_turn(scene, "{\"text\":\"Ada.\",\"expect\":{\"messages\":3,\"any_contains\":"
                      "\"Hello, Ada.\",\"last_contains\":\"Who am I?\"}}\n");
    assert_int_equal(scene_step(scene, &err), LOOP_BODY);
    assert_string_equal(agent_words(scene->agent), "Ada.");
    assert_null(agent_failure(scene->agent));
}

/** A turn of two requests that dies at a commit has the same messages afterwards. */
static void die_at(uint64_t commit, enum store_fault fault)
{
    void *state = NULL;
    struct rondo_error err = {0};
    assert_int_equal(scene_up(&state), 0);
    struct agent_scene *scene = state;
    start_turn(scene, CALL("look", "a") "{\"text\":\"Ada.\",\"expect\":{\"messages\":5,"
                                        "\"any_contains\":\"Hello, Ada.\"}}\n");
    scene->fault = fault;
    scene->crash_at = scene->commits + commit;
    int r = scene_step(scene, &err);
    r = r == LOOP_BODY ? scene_step(scene, &err) : r;
    if (scene->is_dead && scene_events(scene, "run.finished", NULL) == 1) {
        scene_down(&state); /* The last commit took effect: nothing is left to do. */
        return;
    }
    if (scene->is_dead) {
        scene_restart(scene);
        r = scene_step(scene, &err);
        r = r == LOOP_BODY ? scene_step(scene, &err) : r;
    }
    assert_int_equal(r, LOOP_ENDED);
    assert_string_equal(agent_words(scene->agent), "Ada.");
    assert_int_equal(scene_events(scene, "model.requested", "My name is Ada."), 0);
    scene_down(&state);
}

TEST(a_turn_that_is_cut_off_continues_with_the_same_messages)
{
    for (uint64_t commit = 1; commit <= 6; commit++) {
        die_at(commit, STORE_FAULT_BEFORE);
        die_at(commit, STORE_FAULT_AFTER);
    }
}
