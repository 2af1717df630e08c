// SPDX-License-Identifier: Apache-2.0
#include "loop/spec.h"

#include "fixture.h"

TEST(a_spec_comes_back_from_json)
{
    struct loop_spec spec = fixture_spec(2);
    spec.prompt = memory_dup_string("fix \"it\"\n");
    spec.command = memory_new_zero(3, sizeof(*spec.command));
    spec.command[0] = memory_dup_string("make");
    spec.command[1] = memory_dup_string("");
    spec.env_names = memory_new_zero(2, sizeof(*spec.env_names));
    spec.env_names[0] = memory_dup_string("HOME");
    spec.denied_env = memory_new_zero(2, sizeof(*spec.denied_env));
    spec.denied_env[0] = memory_dup_string("GH_TOKEN");
    spec.max_tokens = 5;
    spec.durability = DURABILITY_BEST_EFFORT;
    spec.verifier_tier = SANDBOX_LANDLOCK;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    loop_spec_encode(&spec, &first);
    struct loop_spec again;
    assert_int_equal(loop_spec_decode(first.data, first.len, &again, NULL), 0);
    loop_spec_encode(&again, &second);
    assert_string_equal(buf_string(&first), buf_string(&second));
    assert_string_equal(again.command[1], "");
    assert_string_equal(again.denied_env[0], "GH_TOKEN");
    struct loop_spec copy = loop_spec_dup(&again);
    buf_clear(&second);
    loop_spec_encode(&copy, &second);
    assert_string_equal(buf_string(&first), buf_string(&second));
    loop_spec_fini(&copy);
    loop_spec_fini(&again);
    loop_spec_fini(&spec);
}

TEST(numbers_are_held_to_their_ranges)
{
    static const struct {
        size_t offset;
        int64_t good;
        int64_t bad;
    } cases[] = {
        {offsetof(struct loop_spec, max_iterations), 0, -1},
        {offsetof(struct loop_spec, max_iterations), LIMIT_MAX_ITERATIONS,
         LIMIT_MAX_ITERATIONS + 1},
        {offsetof(struct loop_spec, max_tokens), 0, -1},
        {offsetof(struct loop_spec, max_cost_micro), 0, -1},
        {offsetof(struct loop_spec, time_limit_ns), LIMIT_DURATION_NS, LIMIT_DURATION_NS + 1},
        {offsetof(struct loop_spec, delay_ns), 0, -1},
        {offsetof(struct loop_spec, checkpoint_interval), 1, 0},
        {offsetof(struct loop_spec, max_failures), 1, 0},
        {offsetof(struct loop_spec, durability), DURABILITY_BEST_EFFORT,
         DURABILITY_BEST_EFFORT + 1},
        {offsetof(struct loop_spec, on_corrupt), ON_CORRUPT_FAIL, ON_CORRUPT_FAIL + 1},
        {offsetof(struct loop_spec, verifier_tier), 0, SANDBOX_TIER_COUNT},
        {offsetof(struct loop_spec, is_exclusive), 1, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct loop_spec spec = fixture_spec(0);
        memcpy((char *)&spec + cases[i].offset, &cases[i].good, sizeof(int64_t));
        assert_int_equal(loop_spec_check(&spec, NULL), 0);
        memcpy((char *)&spec + cases[i].offset, &cases[i].bad, sizeof(int64_t));
        assert_int_equal(loop_spec_check(&spec, NULL), RONDO_ERR_INVALID);
        loop_spec_fini(&spec);
    }
}

static int check_agent(const char *agent_id)
{
    struct loop_spec spec = fixture_spec(0);
    free(spec.agent_id);
    spec.agent_id = memory_dup_string(agent_id);
    int r = loop_spec_check(&spec, NULL);
    loop_spec_fini(&spec);
    return r;
}

TEST(what_is_denied_to_a_run_cannot_be_passed_to_its_sandbox)
{
    static const struct {
        const char *passed;
        int code;
    } cases[] = {{"GH_TOKEN", RONDO_ERR_INVALID},
                 {"GH_*", RONDO_ERR_INVALID},
                 {"*", RONDO_ERR_INVALID},
                 {"GH_TOKEN_FILE", 0},
                 {"G", 0},
                 {"NPM_*", 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const passed[] = {cases[i].passed, NULL};
        const char *const denied[] = {"GH_TOKEN", NULL};
        struct loop_spec spec = fixture_spec(0);
        spec.env_names = memory_dup_list(passed);
        spec.denied_env = memory_dup_list(denied);
        assert_int_equal(loop_spec_check(&spec, NULL), cases[i].code);
        loop_spec_fini(&spec);
    }
}

TEST(agent_ids_are_plain_names)
{
    char longest[LIMIT_AGENT_ID_LEN + 2];
    memset(longest, 'a', sizeof(longest));
    longest[LIMIT_AGENT_ID_LEN + 1] = '\0';
    assert_int_equal(check_agent(longest), RONDO_ERR_INVALID);
    longest[LIMIT_AGENT_ID_LEN] = '\0';
    assert_int_equal(check_agent(longest), 0);
    assert_int_equal(check_agent("fixer-2_b.c"), 0);
    static const char *const bad[] = {"", ".hidden", "-option", "a b", "a/b", "\xc3\xa9", "a\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(check_agent(bad[i]), RONDO_ERR_INVALID);
    }
    assert_int_equal(check_agent(NULL), RONDO_ERR_INVALID);
}

TEST(conditions_are_unique_and_limited)
{
    struct loop_spec spec = fixture_spec(0);
    for (int i = 0; i < LIMIT_CONDITIONS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        assert_int_equal(loop_spec_add_condition(&spec, name, "true", NULL, 5, NULL), 0);
    }
    assert_int_equal(loop_spec_add_condition(&spec, "c1", "true", NULL, 5, NULL),
                     RONDO_ERR_INVALID);
    assert_int_equal(loop_spec_add_condition(&spec, "more", "true", NULL, 5, NULL),
                     RONDO_ERR_LIMIT);
    loop_spec_fini(&spec);
}

TEST(dropped_conditions_make_room_for_others)
{
    struct loop_spec spec = fixture_spec(0);
    assert_int_equal(loop_spec_add_condition(&spec, "a", "true", NULL, 5, NULL), 0);
    assert_int_equal(loop_spec_add_tool_condition(&spec, "b", "look", "server", "{}", 5, NULL), 0);
    loop_spec_drop_conditions(&spec);
    assert_int_equal(spec.condition_count, 0);
    assert_int_equal(loop_spec_add_condition(&spec, "a", "true", NULL, 5, NULL), 0);
    assert_int_equal(spec.condition_count, 1);
    loop_spec_fini(&spec);
}

TEST(commands_have_a_length)
{
    struct loop_spec spec = fixture_spec(0);
    char *command = memory_new(LIMIT_COMMAND_BYTES + 2);
    memset(command, 'x', LIMIT_COMMAND_BYTES + 1);
    command[LIMIT_COMMAND_BYTES + 1] = '\0';
    assert_int_equal(loop_spec_add_condition(&spec, "a", command, NULL, 0, NULL),
                     RONDO_ERR_INVALID);
    command[LIMIT_COMMAND_BYTES] = '\0';
    assert_int_equal(loop_spec_add_condition(&spec, "a", command, NULL, 0, NULL), 0);
    assert_int_equal(loop_spec_add_condition(&spec, "b", "", NULL, 0, NULL), RONDO_ERR_INVALID);
    assert_int_equal(spec.conditions[0].timeout_ns, LOOP_DEFAULT_VERIFY_TIMEOUT_NS);
    free(command);
    loop_spec_fini(&spec);
}

TEST(stored_options_that_make_no_sense_are_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"agent_id\":\"a\",\"kind\":\"library\",\"workspace\":\"relative\"}",
        "{\"agent_id\":\"a\",\"kind\":\"library\",\"workspace\":\"/\",\"max_iterations\":-1}",
        "{\"agent_id\":\"a\",\"kind\":\"library\",\"workspace\":\"/\",\"conditions\":[{}]}",
        "{\"agent_id\":\"a\",\"kind\":\"library\",\"workspace\":\"/\",\"conditions\":[5]}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct loop_spec spec;
        assert_true(loop_spec_decode(texts[i], strlen(texts[i]), &spec, NULL) < 0);
    }
}
