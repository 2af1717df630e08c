// SPDX-License-Identifier: Apache-2.0
/* Models that take over: when, with which conversation, and what stays of it. */
#include "agent_fixture.h"

#include "base/auto.h"
#include "base/limits.h"

#include <stdlib.h>

#define MODEL(list)     "  model: {provider: scripted, name: turns.jsonl, fallback: [" list "]}\n"
#define OTHER           MODEL("'scripted:other.jsonl'")
#define LOOK            CALL("look", "x")
#define FAILS(outcome)  "{\"error\":\"" outcome "\",\"message\":\"no luck\"}\n"
#define BUSY            "{\"error\":\"overloaded\",\"message\":\"no luck\",\"forever\":true}"
#define EXPECT(n, text) "\"turn\":" #n ",\"expect\":{" text "}"

static void write_script(struct agent_scene *scene, const char *name, const char *turns)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", scene->world->folder, name);
    assert_int_equal(file_replace_durably(path, turns, strlen(turns), NULL), 0);
}

SCENE_TEST(another_model_takes_over_with_the_same_conversation)
{
    struct agent_scene *scene = *state;
    write_script(scene, "other.jsonl",
                 "{\"tool_calls\":[" DONE("completed") "]," EXPECT(2, "\"messages\":3") "}\n");
    scene_play(scene, OTHER, LOOK FAILS("overloaded"), RONDO_COMPLETED);
    scene_last(scene, "model.requested", "model", "scripted:other.jsonl");
    assert_int_equal(scene_executions(scene, "look", NULL), 1);
    assert_int_equal(scene_events(scene, "model.replied", "\"outcome\":\"overloaded\""), 1);
    assert_int_equal(scene_events(scene, "note", "model_fallback"), 1);
}

SCENE_TEST(when_all_have_failed_the_run_ends_with_the_last_failure)
{
    struct agent_scene *scene = *state;
    write_script(scene, "other.jsonl", FAILS("rate_limited"));
    write_script(scene, "third.jsonl",
                 "{\"error\":\"unreachable\",\"message\":\"nobody there\"}\n");
    scene_start(scene, MODEL("'scripted:other.jsonl', 'scripted:third.jsonl'"), BUSY);
    scene_expect(scene, RONDO_ERROR);
    scene_ended_with(scene, "Model API error: nobody there");
    assert_int_equal(scene_events(scene, "model.requested", NULL), 3);
}

TEST(every_failure_of_a_model_but_two_is_one_that_another_may_not_have)
{
    for (enum model_failure i = MODEL_RATE_LIMITED; i < MODEL_CANCELLED; i++) {
        void *fresh = NULL;
        scene_up(&fresh);
        struct agent_scene *scene = fresh;
        char turns[256];
        bool is_final = i == MODEL_BAD_REPLY || i == MODEL_SCRIPT_OVER;
        snprintf(turns, sizeof(turns), "{\"error\":\"%s\",\"message\":\"no luck\"}\n",
                 model_failure_name(i));
        write_script(scene, "other.jsonl", FINISH("completed"));
        scene_start(scene, OTHER, turns);
        scene_expect(scene, is_final ? RONDO_ERROR : RONDO_COMPLETED);
        scene_down(&fresh);
    }
}

SCENE_TEST(the_role_says_after_which_failures)
{
    static const struct {
        const char *on;
        const char *failure;
        bool takes_over;
    } cases[] = {
        {"ModelHTTPError", "overloaded", true},
        {"ModelHTTPError", "unreachable", false},
        {"ModelHTTPError", "bad_reply", false},
        {"UnexpectedModelBehavior", "bad_reply", true},
        {"UnexpectedModelBehavior", "overloaded", false},
        {"UnexpectedModelBehavior, ModelAPIError", "unreachable", true},
        {"ContentFilterError", "overloaded", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct agent_scene *scene = *state;
        char lines[256];
        char turns[128];
        snprintf(lines, sizeof(lines),
                 "  model: {provider: scripted, name: turns.jsonl, fallback: "
                 "['scripted:other.jsonl'], fallback_on: [%s]}\n",
                 cases[i].on);
        snprintf(turns, sizeof(turns),
                 "{\"error\":\"%s\",\"message\":\"no luck\",\"forever\":true}\n", cases[i].failure);
        write_script(scene, "other.jsonl", FINISH("completed"));
        scene_start(scene, lines, turns);
        scene_expect(scene, cases[i].takes_over ? RONDO_COMPLETED : RONDO_ERROR);
        scene_leave(scene);
    }
}

SCENE_TEST(it_stays_in_use_until_another_process_begins_with_the_roles_own)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    write_script(scene, "other.jsonl", "{\"text\":\"Other.\",\"forever\":true}");
    scene_script(scene, BUSY);
    scene_start_as(scene, OTHER, &options);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
        assert_int_equal(agent_run(scene->agent, "Hi!", &err), 0);
        assert_string_equal(agent_words(scene->agent), "Other.");
    }
    assert_int_equal(scene_events(scene, "note", "model_fallback"), 1);
    scene_script(scene, "{\"text\":\"Own.\",\"forever\":true}");
    scene_restart(scene);
    assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
    assert_int_equal(agent_run(scene->agent, "Hi!", &err), 0);
    assert_string_equal(agent_words(scene->agent), "Own.");
}

SCENE_TEST(the_conversation_is_written_as_the_other_provider_reads_it)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    const struct model_reply failed = {.failure = MODEL_OVERLOADED};
    struct model_message expected;
    setenv("ANTHROPIC_API_KEY", "k", 1);
    scene_script(scene, "{\"text\":\"Well.\",\"forever\":true}");
    scene_start_as(scene, MODEL("'anthropic:claude-sonnet-4-5'"), &options);
    assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
    assert_int_equal(agent_run(scene->agent, "Hi!", &err), 0);
    const struct history *history = &scene->agent->memory.history;
    assert_int_equal(history->count, 2);
    auto_free char *before = memory_dup_bytes(history->messages[1].bytes, history->messages[1].len);
    assert_int_equal(fallback_take_over(scene->agent, &failed, &err), 1);
    assert_int_equal(history->count, 2);
    const struct model_reply well = {.text = (char *)"Well.", .thinking = (char *)""};
    model_write_assistant(scene->agent->model, &well, &expected);
    assert_int_equal(history->messages[1].len, expected.len);
    assert_memory_equal(history->messages[1].bytes, expected.bytes, expected.len);
    assert_string_not_equal(expected.bytes, before);
    free(expected.bytes);
    assert_string_equal(scene->agent->model_id, "anthropic:claude-sonnet-4-5");
    assert_int_equal(fallback_take_over(scene->agent, &failed, &err), 0);
}

SCENE_TEST(the_system_prompt_goes_with_the_conversation)
{
    struct agent_scene *scene = *state;
    write_script(scene, "other.jsonl",
                 "{\"tool_calls\":[" DONE("completed") "]," EXPECT(
                     1, "\"system_contains\":\"You test\",\"has_tool\":\"look\"") "}\n");
    scene_play(scene, OTHER, FAILS("unreachable"), RONDO_COMPLETED);
}

/** The run's process dies at a commit, and another one continues. */
static void continue_after_death(struct agent_scene *scene)
{
    scene_crash(scene);
    struct store_run run;
    struct store *memory = scene->fixture->memory;
    assert_int_equal(memory->ops->get_run(memory, scene->world->run_id, &run, NULL), 0);
    if (run.summary.status == RONDO_RUNNING) {
        scene_resume(scene);
        scene_expect(scene, RONDO_COMPLETED);
    }
}

SCENE_TEST(a_death_at_any_commit_is_survived)
{
    struct agent_scene *scene = *state;
    write_script(scene, "other.jsonl",
                 "{\"tool_calls\":[" ONE("put", "{\"text\":\"y\"}") "]," EXPECT(
                     2, "\"messages\":3") "}\n" FINISH("completed"));
    scene_play(scene, OTHER, LOOK BUSY, RONDO_COMPLETED);
    uint64_t commits = scene->commits;
    for (uint64_t i = 0; i < commits; i++) {
        scene_leave(scene);
        scene->commits = 0;
        scene->call_count = 0;
        scene_start(scene, OTHER, LOOK BUSY);
        scene->crash_at = scene->commits + 1 + i;
        scene->fault = STORE_FAULT_AFTER;
        if (scene_run(scene, NULL) != LOOP_ENDED) {
            continue_after_death(scene);
        }
        scene->crash_at = 0;
        assert_true(scene_executions(scene, "put", "y") >= 1);
    }
}

/** Open an agent with so many fallbacks. */
static int open_with(struct agent_scene *scene, int count, const char *item, char *ret_why)
{
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    struct rondo_error err = {0};
    struct loop_spec spec;
    auto_buf struct buf list = {0};
    auto_buf struct buf lines = {0};
    for (int i = 0; i < count; i++) {
        buf_printf(&list, "%s'%s'", i == 0 ? "" : ", ", item);
    }
    buf_printf(&lines, "  model: {provider: scripted, name: turns.jsonl, fallback: [%s]}\n",
               buf_string(&list));
    write_script(scene, "other.jsonl", SAY("Hm."));
    scene_script(scene, SAY("Hm."));
    struct role *role = scene_role(scene, buf_string(&lines));
    assert_int_equal(agent_spec(role, &options, &spec, &err), 0);
    role_free(role);
    int r = agent_open(scene->fixture->runtime, &spec, &scene->parts, &scene->agent, &err);
    snprintf(ret_why, sizeof(err.message), "%s", err.message);
    loop_spec_fini(&spec);
    return r;
}

SCENE_TEST(there_is_a_largest_number_of_them)
{
    struct agent_scene *scene = *state;
    char why[sizeof(struct rondo_error)];
    assert_int_equal(open_with(scene, LIMIT_MODEL_FALLBACKS, "scripted:other.jsonl", why), 0);
    agent_free(scene->agent);
    scene->agent = NULL;
    assert_int_equal(open_with(scene, LIMIT_MODEL_FALLBACKS + 1, "scripted:other.jsonl", why),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(why, "9 models are more than 8"));
}

SCENE_TEST(one_that_cannot_be_opened_is_found_at_the_start)
{
    struct agent_scene *scene = *state;
    char why[sizeof(struct rondo_error)];
    static const char *const wrong[] = {"gpt", ":gpt", "openai:", "scripted:missing.jsonl"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_true(open_with(scene, 1, wrong[i], why) < 0);
        assert_non_null(strstr(why, "fallback"));
    }
}
