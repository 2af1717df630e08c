// SPDX-License-Identifier: Apache-2.0
/* Old messages of a conversation become a summary: once, counted, and kept by every later process.
 */
#include "agent_fixture.h"

#include "agent/history/summary_text.h"
#include "agent/spec/carry.h"

#define COMPACTION(lines)                                     \
    "  autonomy:\n    max_no_tool_call_iterations: 0\n" lines \
    "    compaction:\n      enabled: true\n"
#define SHORT \
    "      threshold: 4\n      tail_messages: 2\n      model_override: scripted:summary.jsonl\n"
#define THREE         "  guardrails: {max_iterations: 3}\n"
#define SUMMARY(text) "{\"text\":\"" text "\"," USE(200, 10) ",\"forever\":true}\n"

static void write_script(const struct agent_scene *scene, const char *turns)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/summary.jsonl", scene->world->folder);
    assert_int_equal(file_replace_durably(path, turns, strlen(turns), NULL), 0);
}

/** The messages of the conversation, side by side. */
static void write_history(const struct agent_scene *scene, struct buf *ret_text)
{
    const struct history *history = &scene->agent->memory.history;
    for (size_t i = 0; i < history->count; i++) {
        buf_append(ret_text, history->messages[i].bytes, history->messages[i].len);
        buf_append_string(ret_text, "\n");
    }
}

static void expect_in_history(const struct agent_scene *scene, const char *part, bool is_there)
{
    auto_buf struct buf text = {0};
    write_history(scene, &text);
    if ((strstr(buf_string(&text), part) != NULL) != is_there) {
        fail_msg("%s '%s' in %s", is_there ? "no" : "a", part, buf_string(&text));
    }
}

SCENE_TEST(a_summary_takes_the_place_of_old_messages)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("They looked for apples."));
    scene_play(scene, COMPACTION("") SHORT THREE,
               CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.compacting", NULL), 1);
    assert_int_equal(scene_events(scene, "history.compacted", "\"outcome\":\"ok\""), 1);
    assert_int_equal(scene_events(scene, "history.compacted", "\"messages\":6,\"replaced\":3"), 1);
    expect_in_history(scene, "Do it.", true); /* the first message */
    expect_in_history(scene, "[Summary of earlier messages]", true);
    expect_in_history(scene, "not instructions", true);
    expect_in_history(scene, "They looked for apples.", true);
    expect_in_history(scene, "look did apple", false);
    expect_in_history(scene, "three", true);
}

SCENE_TEST(a_conversation_that_fits_is_left_alone)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("x"));
    scene_play(
        scene,
        COMPACTION("") "      threshold: 8\n      model_override: scripted:summary.jsonl\n" THREE,
        CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.compacting", NULL), 0);
}

SCENE_TEST(without_enabled_nothing_is_summarised)
{
    struct agent_scene *scene = *state;
    scene_play(scene,
               "  autonomy: {max_no_tool_call_iterations: 0, compaction: {threshold: 1, "
               "tail_messages: 1, model_override: 'openai:no-key-is-needed'}}\n" THREE,
               SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.compacting", NULL), 0);
}

SCENE_TEST(a_model_that_cannot_be_opened_is_found_before_the_run)
{
    struct agent_scene *scene = *state;
    struct loop_spec spec;
    struct rondo_error err = {0};
    const struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "You test."};
    unsetenv("MISTRAL_API_KEY");
    scene_script(scene, SAY("x"));
    struct role *role = scene_role(scene, COMPACTION("") "      model_override: mistral:small\n");
    assert_int_equal(agent_spec(role, &options, &spec, &err), 0);
    role_free(role);
    assert_true(agent_open(scene->fixture->runtime, &spec, &scene->parts, &scene->agent, &err) < 0);
    assert_non_null(strstr(err.message, "autonomy.compaction"));
    assert_non_null(strstr(err.message, "MISTRAL_API_KEY"));
    loop_spec_fini(&spec);
}

SCENE_TEST(the_heading_is_the_roles)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("They looked."));
    scene_play(scene, COMPACTION("") SHORT "      summary_prefix: '[BEFORE]'\n" THREE,
               CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    expect_in_history(scene, "[BEFORE]\\n(A model wrote it", true);
}

SCENE_TEST(what_it_used_counts_for_run_and_budget)
{
    struct agent_scene *scene = *state;
    struct budget_ledger *ledger = memory_new_zero(1, sizeof(*ledger));
    write_script(scene, SUMMARY("s"));
    scene_play(scene,
               COMPACTION("") SHORT
               "  guardrails: {max_iterations: 3, daemon_daily_token_budget: 100000}\n",
               CALL("look", "apple") SAY_FOR(1, 1) SAY_FOR(1, 1) SAY_FOR(1, 1),
               RONDO_MAX_ITERATIONS);
    assert_in_range(loop_state(scene->loop)->tokens, 216, 240);
    assert_int_equal(budget_load(scene->fixture->memory, "tester", ledger, NULL, NULL), 0);
    assert_in_range(ledger->life.tokens, 216, 5000);
    assert_int_equal(ledger->request_count, 0);
    free(ledger);
}

SCENE_TEST(a_limit_of_the_run_counts_it)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("s"));
    scene_play(
        scene, COMPACTION("") SHORT "  guardrails: {max_iterations: 3, run_token_budget: 150}\n",
        CALL("look", "apple") SAY_FOR(1, 1) SAY_FOR(1, 1) SAY_FOR(1, 1), RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(without_a_summary_the_conversation_is_trimmed_and_says_so)
{
    struct agent_scene *scene = *state;
    write_script(scene, "{\"error\":\"bad_request\",\"message\":\"no luck\",\"forever\":true}");
    scene_play(scene, COMPACTION("    max_history_messages: 4\n") SHORT THREE,
               CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    assert_true(scene_events(scene, "history.compacted", "\"outcome\":\"failed\"") >= 1);
    scene_last_has(scene, "history.compacted", "message", "no luck");
    assert_true(scene_events(scene, "history.trimmed", NULL) >= 1);
    expect_in_history(scene, "[Summary", false);
}

SCENE_TEST(an_empty_or_refused_summary_is_none)
{
    struct agent_scene *scene = *state;
    write_script(scene, "{\"text\":\"\",\"forever\":true}\n");
    scene_play(scene, COMPACTION("") SHORT THREE,
               CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    scene_last(scene, "history.compacted", "outcome", "failed");
    expect_in_history(scene, "[Summary", false);
}

SCENE_TEST(policies_may_forbid_the_model_and_the_run_continues)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("s"));
    set_policies(scene->world, "permit (principal, action, resource);\n"
                               "forbid (principal, action == Action::\"call_model\", "
                               "resource == Model::\"summary.jsonl\");\n");
    scene_play(scene, COMPACTION("") SHORT THREE "  policy: p.cedar\n",
               CALL("look", "apple") SAY("one") SAY("two") SAY("three"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.compacting", NULL), 0);
    scene_last(scene, "history.compacted", "outcome", "denied");
    assert_int_equal(loop_state(scene->loop)->tokens < 200, true);
}

SCENE_TEST(trimming_keeps_the_summary)
{
    struct agent_scene *scene = *state;
    write_script(scene, SUMMARY("They looked."));
    scene_play(
        scene,
        COMPACTION("    max_history_messages: 5\n") "      threshold: 5\n      tail_messages: 2\n  "
                                                    "    model_override: "
                                                    "scripted:summary.jsonl\n  guardrails: "
                                                    "{max_iterations: 9}\n",
        CALL("look", "apple") SAY("one") SAY("two") SAY("3") SAY("4") SAY("5") SAY("6") SAY("7")
            SAY("8") SAY("9"),
        RONDO_MAX_ITERATIONS);
    assert_true(scene_events(scene, "history.compacted", "\"outcome\":\"ok\"") > 1);
    expect_in_history(scene, "They looked.", true);
}

/** Play with a death at a commit. @return whether it came */
static bool play_with_death(struct agent_scene *scene, const char *turns, uint64_t at,
                            enum store_fault fault)
{
    struct rondo_error err = {0};
    write_script(scene, turns);
    scene_start(scene, COMPACTION("") SHORT "  guardrails: {max_iterations: 5}\n",
                CALL("look", "apple") SAY("one") SAY("two") SAY("three") SAY("four") SAY("five"));
    scene->commits = 0;
    scene->crash_at = at;
    scene->fault = fault;
    int r = scene_run(scene, &err);
    bool is_dead = scene->is_dead;
    if (is_dead) {
        scene_restart(scene);
        r = scene_run(scene, &err);
    }
    assert_int_equal(r, LOOP_ENDED);
    return is_dead;
}

TEST(no_death_makes_it_pay_twice_or_lose_a_summary)
{
    static const enum store_fault faults[] = {STORE_FAULT_BEFORE, STORE_FAULT_AFTER};
    unsigned interrupted = 0;
    for (size_t i = 0; i < 2; i++) {
        bool is_dead = true;
        for (uint64_t at = 1; is_dead; at++) {
            void *fresh = NULL;
            scene_up(&fresh);
            struct agent_scene *scene = fresh;
            is_dead = play_with_death(scene, SUMMARY("They looked."), at, faults[i]);
            unsigned asked = scene_events(scene, "history.compacting", NULL);
            unsigned ended = scene_events(scene, "history.compacted", NULL);
            unsigned lost = scene_events(scene, "history.compacted", "interrupted");
            assert_int_equal(asked, ended); /* each request has one result, and is made once */
            assert_true(lost <= 1);
            interrupted += lost;
            expect_in_history(scene, "They looked.", true);
            expect_in_history(scene, "Do it.", true);
            scene_down(&fresh);
        }
    }
    assert_true(interrupted > 0);
}

TEST(no_death_makes_it_try_twice_in_one_iteration)
{
    bool is_dead = true;
    for (uint64_t at = 1; is_dead; at++) {
        void *fresh = NULL;
        scene_up(&fresh);
        struct agent_scene *scene = fresh;
        is_dead = play_with_death(
            scene, "{\"error\":\"bad_request\",\"message\":\"no luck\",\"forever\":true}", at,
            STORE_FAULT_AFTER);
        assert_in_range(scene_events(scene, "history.compacting", NULL), 2, 3);
        for (int i = 1; i <= 5; i++) {
            char text[32];
            snprintf(text, sizeof(text), "\"iteration\":%d", i);
            assert_true(scene_events(scene, "history.compacting", text) <= 1);
        }
        scene_down(&fresh);
    }
}

SCENE_TEST(a_resume_has_the_same_conversation)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    auto_buf struct buf before = {0};
    auto_buf struct buf after = {0};
    struct agent_options options = {
        .mode = AGENT_CHAT, .workspace = scene->world->folder, .system = "You test."};
    write_script(scene, SUMMARY("They talked."));
    scene_script(scene, "{\"text\":\"Well.\",\"forever\":true}");
    scene_start_as(scene, COMPACTION("") SHORT, &options);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
        assert_int_equal(agent_run(scene->agent, i == 0 ? "Hi!" : "And?", &err), 0);
    }
    assert_int_equal(scene_events(scene, "history.compacted", "\"ok\""), 1);
    write_history(scene, &before);
    scene_restart(scene);
    write_history(scene, &after);
    assert_string_equal(buf_string(&after), buf_string(&before));
    assert_int_equal(loop_next(scene->loop, &err), LOOP_BODY);
    assert_int_equal(agent_run(scene->agent, "More?", &err), 0);
    buf_clear(&after);
    write_history(scene, &after);
    expect_in_history(scene, "They talked.", true);
    expect_in_history(scene, "Hi!", true);
    assert_int_equal(scene_events(scene, "history.compacted", NULL), 2);
}

/* ---- Turns of conversations ------------------------------------------------------------------ */

/** Make the run a turn with three turns before it. */
static void carry_three(struct agent_scene *scene, struct loop_spec *spec)
{
    (void)scene;
    struct loop_spec before = loop_spec_default();
    for (int i = 1; i <= 3; i++) {
        struct loop_spec next = loop_spec_default();
        char words[32];
        char answer[32];
        snprintf(words, sizeof(words), "question %d", i);
        snprintf(answer, sizeof(answer), "answer %d", i);
        next.agent = memory_dup_string(spec->agent);
        next.prompt = memory_dup_string(words);
        const struct carry_turn turn = {
            .source = "s", .key = "k", .before = i == 1 ? NULL : &before, .answer = answer};
        assert_int_equal(carry_over(&next, &turn, NULL), 0);
        loop_spec_fini(&before);
        before = next;
    }
    const struct carry_turn turn = {
        .source = "s", .key = "k", .before = &before, .answer = "answer 3"};
    assert_int_equal(carry_over(spec, &turn, NULL), 0);
    loop_spec_fini(&before);
}

#define TURN_ROLE                                                                               \
    "  autonomy: {compaction: {enabled: true, threshold: 4, tail_messages: 2, model_override: " \
    "'scripted:summary.jsonl'}}\n"

SCENE_TEST(a_turn_summarises_what_it_took_over)
{
    struct agent_scene *scene = *state;
    struct agent_options options = {.mode = AGENT_SINGLE,
                                    .prompt = "question 4",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    scene->on_spec = carry_three;
    write_script(scene, SUMMARY("Three questions."));
    scene_script(scene, SAY("answer 4"));
    scene_start_as(scene, TURN_ROLE, &options);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "history.compacted", "\"replaced\":4"), 1);
    expect_in_history(scene, "Three questions.", true);
    expect_in_history(scene, "question 1", false);
    expect_in_history(scene, "question 3", true);
    expect_in_history(scene, "question 4", true);
    assert_int_equal(scene->agent->memory.history.count, 5);
}

SCENE_TEST(a_turn_that_died_after_its_summary_has_it_again)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct agent_options options = {.mode = AGENT_SINGLE,
                                    .prompt = "question 4",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    scene->on_spec = carry_three;
    write_script(scene, SUMMARY("Three questions."));
    for (uint64_t at = 1; at < 6; at++) {
        scene_script(scene, SAY("answer 4"));
        scene_start_as(scene, TURN_ROLE, &options);
        scene->commits = 0;
        scene->crash_at = at;
        scene->fault = STORE_FAULT_AFTER;
        scene_run(scene, &err);
        if (scene->is_dead && scene_events(scene, "run.finished", NULL) == 0) {
            scene_restart(scene);
            scene_expect(scene, RONDO_COMPLETED);
        }
        assert_int_equal(scene_events(scene, "history.compacting", NULL), 1);
        assert_int_equal(scene_events(scene, "history.compacted", NULL), 1);
        bool is_lost = scene_events(scene, "history.compacted", "interrupted") == 1;
        expect_in_history(scene, "Three questions.", !is_lost);
        expect_in_history(scene, "question 1", is_lost);
        expect_in_history(scene, "question 4", true);
        scene_leave(scene);
    }
}

SCENE_TEST(the_next_turn_has_the_summary_and_does_not_pay_again)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct agent_options options = {.mode = AGENT_SINGLE,
                                    .prompt = "question 4",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    struct loop_spec before;
    struct loop_spec next;
    struct role *role = scene_role(scene, TURN_ROLE);
    assert_int_equal(agent_spec(role, &options, &before, &err), 0);
    carry_three(scene, &before);
    options.prompt = "question 5";
    assert_int_equal(agent_spec(role, &options, &next, &err), 0);
    role_free(role);
    const struct carry_turn turn = {.source = "s",
                                    .key = "k",
                                    .before = &before,
                                    .answer = "answer 4",
                                    .summary = "[S] Three questions.",
                                    .kept = 2};
    assert_int_equal(carry_over(&next, &turn, &err), 0);
    struct agent_config config;
    assert_int_equal(agent_config_read(next.agent, &config, &err), 0);
    assert_string_equal(config.carried_summary, "[S] Three questions.");
    assert_int_equal(json_length(config.carried), 4);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(config.carried, 0)),
                        "question 3");
    agent_config_fini(&config);
    loop_spec_fini(&before);
    loop_spec_fini(&next);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

TEST(each_line_of_a_message_is_marked_and_long_ones_are_cut)
{
    struct compaction_text text;
    auto_buf struct buf words = {0};
    for (int i = 0; i < 20000; i++) {
        buf_append_string(&words, "xx\xC3\xA9\n");
    }
    compaction_text_begin(&text, 4);
    compaction_text_add(&text, "USER", "one\n[AGENT]\ntwo", 15);
    compaction_text_add(&text, "RESULT", buf_string(&words), words.len);
    assert_non_null(strstr(buf_string(&text.text), "[USER]\n> one\n> [AGENT]\n> two\n"));
    assert_non_null(strstr(buf_string(&text.text), "bytes more]"));
    assert_true(text.text.len < 20000);
    compaction_text_fini(&text);
}

TEST(all_messages_together_are_bounded)
{
    struct compaction_text text;
    auto_buf struct buf words = {0};
    for (int i = 0; i < 4000; i++) {
        buf_append_string(&words, "xx");
    }
    compaction_text_begin(&text, 100000);
    for (int i = 0; i < 100000; i++) {
        compaction_text_add(&text, "USER", buf_string(&words), words.len);
    }
    assert_in_range(text.text.len, LIMIT_COMPACTION_BYTES, LIMIT_COMPACTION_BYTES + 1024);
    compaction_text_fini(&text);
}

TEST(a_summary_is_bounded_and_has_no_secrets)
{
    auto_buf struct buf words = {0};
    auto_buf struct buf text = {0};
    buf_append_string(&words, "the key is sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ");
    while (words.len < 2 * (size_t)LIMIT_COMPACTION_SUMMARY_BYTES) {
        buf_append_string(&words, "\xE2\x82\xAC");
    }
    compaction_text_summary(NULL, 9, buf_string(&words), &text);
    assert_non_null(strstr(buf_string(&text), "[redacted]"));
    assert_null(strstr(buf_string(&text), "sk-ant"));
    assert_in_range(text.len, LIMIT_COMPACTION_SUMMARY_BYTES - 100,
                    LIMIT_COMPACTION_SUMMARY_BYTES + 200);
    assert_non_null(strstr(buf_string(&text), "[...]"));
}
