// SPDX-License-Identifier: Apache-2.0
/* Thoughts: recorded, listed, bounded, challenged. */
#include "../tool_world.h"

WORLD_TEST(without_settings_a_thought_is_only_recorded)
{
    world_open(*state, "{\"type\":\"think\"}");
    world_expect(*state, "think", "{\"thought\":\"a\"}", "Thought recorded.");
}

WORLD_TEST(thoughts_are_listed_and_the_oldest_make_room)
{
    world_open(*state, "{\"type\":\"think\",\"max_thoughts\":2}");
    world_expect(*state, "think", "{\"thought\":\"a\"}", "Thoughts (1):\n1. a");
    world_expect(*state, "think", "{\"thought\":\"b\"}", "Thoughts (2):\n1. a\n2. b");
    world_expect(*state, "think", "{\"thought\":\"c\"}", "Thoughts (3):\n2. b\n3. c");
}

WORLD_TEST(every_fifth_thought_is_challenged)
{
    world_open(*state, "{\"type\":\"think\",\"critique\":true,\"max_thoughts\":1}");
    for (size_t i = 1; i <= 10; i++) {
        struct tool_result result = world_call(*state, "think", "{\"thought\":\"a\"}");
        bool is_challenged = strstr(buf_string(&result.text), "challenge these") != NULL;
        assert_int_equal(is_challenged, i % 5 == 0);
        tool_result_fini(&result);
    }
}

WORLD_TEST(a_long_thought_is_cut_in_the_list_between_characters)
{
    struct buf call = {0};
    world_open(*state, "{\"type\":\"think\",\"max_thoughts\":1}");
    buf_append_string(&call, "{\"thought\":\"x");
    for (size_t i = 0; i < 2100; i++) {
        buf_append_string(&call, "\xc3\xa4");
    }
    buf_append_string(&call, "\"}");
    struct tool_result result = world_call(*state, "think", buf_string(&call));
    assert_int_equal(result.text.len, strlen("Thoughts (1):\n1. ") + 4095);
    tool_result_fini(&result);
    buf_fini(&call);
}
