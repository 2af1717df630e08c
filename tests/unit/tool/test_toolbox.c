// SPDX-License-Identifier: Apache-2.0
/* The toolbox: opening, finding, checks before a call, and the bounds of results. */
#include "tool_world.h"

#include "base/memory.h"
#include "model/model.h"

static void run_echo(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    (void)tool;
    buf_append_string(&ret_result->text, json_get_string(call->arguments, "text", "(none)"));
}

static void run_flood(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    (void)tool;
    (void)call;
    size_t len = (size_t)10 * 1024 * 1024;
    memset(buf_room(&ret_result->text, len), 'x', len);
    buf_grown(&ret_result->text, len);
}

static void run_binary(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    (void)tool;
    (void)call;
    buf_append(&ret_result->text, "a\0b\xFFz\xC3", 6);
}

static const struct tool_function echo = {
    .name = "echo",
    .description = "Says it again.",
    .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"default\":"
              "\"nothing\"}},\"additionalProperties\":false}",
    .run = run_echo,
};
static const struct tool_function flood = {.name = "flood", .description = "", .run = run_flood};
static const struct tool_function binary = {.name = "binary", .description = "", .run = run_binary};

static void add(struct tool_world *world, const struct tool_function *function)
{
    if (world->toolbox == NULL) {
        world->toolbox = toolbox_new(&world->around);
    }
    assert_int_equal(toolbox_add_function(world->toolbox, "test", function, NULL, NULL), 0);
}

WORLD_TEST(a_type_that_cannot_run_is_told)
{
    struct rondo_error err = {0};
    assert_int_equal(world_try_open(*state, "{\"type\":\"custom\"}", &err), RONDO_ERR_UNSUPPORTED);
    assert_string_equal(err.message, "tools of type \"custom\" cannot run");
}

WORLD_TEST(two_tools_of_a_name_are_refused_and_nothing_of_the_entry_stays)
{
    struct tool_world *world = *state;
    struct rondo_error err = {0};
    world_open(world, "{\"type\":\"filesystem\"}");
    assert_int_equal(toolbox_count(world->toolbox), 2);
    assert_int_equal(world_try_open(world, "{\"type\":\"filesystem\"}", &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "two tools \"read_file\""));
    assert_int_equal(toolbox_count(world->toolbox), 2);
}

WORLD_TEST(the_number_of_tools_is_limited)
{
    struct tool_world *world = *state;
    world->toolbox = toolbox_new(&world->around);
    struct rondo_error err = {0};
    for (int i = 0; i <= TOOLBOX_MAX_TOOLS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "tool%d", i);
        const struct tool tool = {.name = memory_dup_string(name), .run = run_echo};
        assert_int_equal(toolbox_add(world->toolbox, &tool, &err),
                         i < TOOLBOX_MAX_TOOLS ? 0 : RONDO_ERR_LIMIT);
    }
}

WORLD_TEST(a_schema_must_be_an_object)
{
    struct tool_world *world = *state;
    world->toolbox = toolbox_new(&world->around);
    struct rondo_error err = {0};
    const struct tool tool = {
        .name = memory_dup_string("x"), .schema = memory_dup_string("[]"), .run = run_echo};
    assert_int_equal(toolbox_add(world->toolbox, &tool, &err), RONDO_ERR_INVALID);
}

WORLD_TEST(a_call_whose_schema_cannot_be_read_is_refused)
{
    static const char *const broken[] = {"{\"type\":", "[]", "{\"type\":\"object\"}}", "null"};
    struct tool_world *world = *state;
    add(world, &echo);
    struct tool *tool = (struct tool *)toolbox_find(world->toolbox, "echo");
    for (size_t i = 0; i < COUNT(broken); i++) {
        free(tool->schema);
        tool->schema = memory_dup_string(broken[i]);
        world_expect_error(world, "echo", "{\"text\":\"x\"}", "schema of the tool \"echo\"");
    }
}

WORLD_TEST(tools_are_described_for_a_model)
{
    struct tool_world *world = *state;
    add(world, &echo);
    add(world, &flood);
    struct model_tool tools[2];
    toolbox_describe(world->toolbox, tools);
    assert_string_equal(tools[0].name, "echo");
    assert_string_equal(tools[0].description, "Says it again.");
    assert_string_equal(tools[1].schema,
                        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
}

WORLD_TEST(an_unknown_tool_is_told_with_what_was_meant)
{
    struct tool_world *world = *state;
    add(world, &echo);
    add(world, &flood);
    world_expect_error(world, "ecko", "{}",
                       "Error: there is no tool `ecko`; did you mean `echo`? (the tools are: echo, "
                       "flood)");
}

WORLD_TEST(no_arguments_can_be_written_in_many_ways)
{
    struct tool_world *world = *state;
    add(world, &echo);
    world_expect(world, "echo", "", "nothing");
    world_expect(world, "echo", " \n", "nothing");
    world_expect(world, "echo", "null", "nothing");
    world_expect(world, "echo", "{}", "nothing");
    world_expect(world, "echo", NULL, "nothing");
}

WORLD_TEST(arguments_that_are_no_object_are_refused)
{
    struct tool_world *world = *state;
    add(world, &echo);
    world_expect_error(
        world, "echo", "{\"text\":",
        "are not a JSON object: not valid JSON: 1:9: expected a value, found the end");
    world_expect_error(world, "echo", "[1]", "must be a JSON object");
    world_expect_error(world, "echo", "{\"text\":1}",
                       "Error: the arguments of `echo` do not fit: `text`: expected string, got 1 "
                       "(integer)");
    world_expect_error(world, "echo", "{\"text\":\"a\\u0000b\"}", "NUL");
}

WORLD_TEST(arguments_are_limited_at_the_edge)
{
    struct tool_world *world = *state;
    add(world, &echo);
    struct buf arguments = {0};
    buf_append_string(&arguments, "{\"text\":\"");
    size_t fill = TOOL_ARGUMENTS_MAX_BYTES - arguments.len - 2;
    memset(buf_room(&arguments, fill), 'x', fill);
    buf_grown(&arguments, fill);
    buf_append_string(&arguments, "\"}");
    assert_int_equal(arguments.len, TOOL_ARGUMENTS_MAX_BYTES);
    struct tool_result result = world_call(world, "echo", buf_string(&arguments));
    assert_false(result.is_error);
    tool_result_fini(&result);
    buf_append_string(&arguments, " ");
    world_expect_error(world, "echo", buf_string(&arguments), "at most 1048576 are taken");
    buf_fini(&arguments);
}

WORLD_TEST(permissions_of_the_entry_hold_for_its_tools)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"think\",\"permissions\":{\"default\":\"deny\",\"allow\":[],"
                      "\"deny\":[\"*bad*\"]}}");
    struct tool_result result = {0};
    struct json_object *arguments = NULL;
    assert_int_equal(toolbox_prepare(world->toolbox, "think", "{\"thought\":\"a bad one\"}",
                                     &arguments, &result),
                     TOOL_NOT_PERMITTED);
    assert_string_equal(buf_string(&result.text),
                        "Permission denied: think — blocked by rule: *bad*");
    tool_result_fini(&result);
    world_expect_error(world, "think", "{\"thought\":\"x\"}",
                       "Permission denied: think — blocked by default policy");
}

WORLD_TEST(an_entry_can_ask_for_confirmation)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"think\",\"approval\":\"required\"}");
    world_open(world, "{\"type\":\"datetime\",\"approval\":\"auto\"}");
    assert_true(toolbox_find(world->toolbox, "think")->needs_confirmation);
    assert_false(toolbox_find(world->toolbox, "current_time")->needs_confirmation);
}

WORLD_TEST(a_result_is_bounded)
{
    struct tool_world *world = *state;
    add(world, &flood);
    struct tool_result result = world_call(world, "flood", "");
    assert_int_equal(result.text.len, TOOL_RESULT_MAX_BYTES);
    assert_true(result.is_truncated);
    assert_string_equal(result.text.data + result.text.len - 12, "\n[truncated]");
    tool_result_fini(&result);
}

WORLD_TEST(a_result_is_text)
{
    struct tool_world *world = *state;
    add(world, &binary);
    world_expect(world, "binary", "",
                 "a\xEF\xBF\xBD"
                 "b\xEF\xBF\xBDz\xEF\xBF\xBD");
}

WORLD_TEST(a_result_is_cut_on_a_character_boundary)
{
    struct tool_result result = {0};
    buf_append_string(&result.text, "aaa\xE2\x82\xAC\xE2\x82\xAC and more text than fits");
    tool_result_truncate(&result, 12 + 5);
    assert_string_equal(buf_string(&result.text), "aaa\n[truncated]");
    tool_result_fini(&result);
    buf_append_string(&result.text, "exactly");
    tool_result_truncate(&result, 7);
    assert_string_equal(buf_string(&result.text), "exactly");
    assert_false(result.is_truncated);
    tool_result_fini(&result);
}

WORLD_TEST(a_cancelled_call_is_not_made)
{
    struct tool_world *world = *state;
    struct cancel cancel;
    add(world, &echo);
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    world->cancel = &cancel;
    world_expect_error(world, "echo", "", "cancelled");
    cancel_fini(&cancel);
}

WORLD_TEST(a_call_whose_time_is_over_is_not_made)
{
    struct tool_world *world = *state;
    add(world, &echo);
    world->deadline_ns = 1;
    world_expect_error(world, "echo", "", "no time is left");
}

static void note_free(void *owned)
{
    struct buf *order = ((void **)owned)[0];
    buf_append_string(order, ((void **)owned)[1]);
}

WORLD_TEST(owned_things_are_freed_in_reverse)
{
    struct tool_world *world = *state;
    struct buf order = {0};
    void *first[] = {&order, (void *)"first "};
    void *second[] = {&order, (void *)"second "};
    struct toolbox *toolbox = toolbox_new(&world->around);
    toolbox_own(toolbox, first, note_free);
    toolbox_own(toolbox, second, note_free);
    toolbox_free(toolbox);
    assert_string_equal(buf_string(&order), "second first ");
    buf_fini(&order);
    toolbox_free(NULL);
}

/** A server that gives each request this result, or what else is said instead of an answer. */
static void expect_no_server(struct tool_world *world, const char *answer)
{
    struct buf script = {0};
    struct buf config = {0};
    struct rondo_error err = {0};
    buf_printf(&script, "s/.*\"id\":\\([0-9]*\\).*/%s/p", answer);
    struct json_writer writer = json_writer(&config);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "mcp");
    json_write_string(&writer, "transport", "stdio");
    json_write_string(&writer, "command", "sed");
    json_write_int(&writer, "timeout", 5);
    json_begin_array(&writer, "args");
    json_write_string(&writer, NULL, "-un");
    json_write_string(&writer, NULL, buf_string(&script));
    json_end_array(&writer);
    json_end_object(&writer);
    assert_int_equal(world_try_open(world, buf_string(&config), &err), RONDO_ERR_SYSTEM);
    assert_int_equal(err.code, RONDO_ERR_SYSTEM);
    buf_fini(&script);
    buf_fini(&config);
}

WORLD_TEST(nonsense_of_a_server_is_no_trouble_with_the_store)
{
    struct tool_world *world = *state;
    expect_no_server(world, "{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":\"nonsense\"}");
    expect_no_server(world, "{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{\"protocolVersion\":"
                            "\"1999-01-01\",\"capabilities\":{},\"serverInfo\":{}}}");
    expect_no_server(world, "{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":[]}");
    assert_int_equal(toolbox_count(world->toolbox), 0);
}

WORLD_TEST(a_thought_is_recorded)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"think\"}");
    assert_true(toolbox_find(world->toolbox, "think")->is_pure);
    world_expect(world, "think", "{\"thought\":\"hm\"}", "Thought recorded.");
    world_expect_error(world, "think", "{}", "`thought`: required, but missing");
}
