// SPDX-License-Identifier: Apache-2.0
/* Scripts of a role as tools. */
#include "command_world.h"

BOTH_TIERS(a_script_is_a_tool_with_its_parameters)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world,
               "{\"type\":\"script\",\"scripts\":[{\"name\":\"greet\",\"description\":\"Greets\","
               "\"body\":\"echo \\\"$GREETING, $WHO\\\"\",\"interpreter\":null,\"parameters\":["
               "{\"name\":\"who\",\"required\":true,\"description\":\"Whom\"},"
               "{\"name\":\"greeting\",\"required\":false,\"default\":\"Hello\"}]}]}");
    const struct tool *tool = toolbox_find(world->toolbox, "greet");
    assert_string_equal(tool->description, "Greets");
    assert_string_equal(
        tool->schema,
        "{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\",\"description\":"
        "\"Whom\"},\"greeting\":{\"type\":\"string\",\"default\":\"Hello\"}},\"required\":"
        "[\"who\"],\"additionalProperties\":false}");
    assert_false(tool->is_idempotent);
    world_expect(world, "greet", "{\"who\":\"you\"}", "STDOUT:\nHello, you\n");
    world_expect_error(world, "greet", "{}", "`who`: required, but missing");
}

ALSO_IN_TIER(landlock, a_script_is_a_tool_with_its_parameters);

BOTH_TIERS(arguments_are_never_part_of_the_script)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, "{\"type\":\"script\",\"scripts\":[{\"name\":\"say\",\"body\":\"echo "
                      "\\\"$TEXT\\\"\",\"parameters\":[{\"name\":\"text\",\"required\":true}]}]}");
    world_expect(world, "say", "{\"text\":\"$(id)\\\"; id; `id` \\n next\"}",
                 "STDOUT:\n$(id)\"; id; `id` \n next\n");
}

BOTH_TIERS(other_interpreters_and_failures_are_told)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world,
               "{\"type\":\"script\",\"scripts\":["
               "{\"name\":\"count\",\"body\":\"BEGIN { print 6 * 7; exit 3 }\","
               "\"interpreter\":\"awk -f /dev/stdin\"},"
               "{\"name\":\"none\",\"body\":\"x\",\"interpreter\":\"/no/such/interpreter\"}]}");
    world_expect(world, "count", "", "Exit code: 3\nSTDOUT:\n42\n");
    world_expect_error(world, "none", "", "Error: interpreter '/no/such/interpreter' not found");
}

BOTH_TIERS(a_script_has_its_own_timeout_that_is_a_result)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, "{\"type\":\"script\",\"timeout_seconds\":600,\"scripts\":[{\"name\":"
                      "\"wait\",\"body\":\"sleep 1000\",\"timeout_seconds\":1}]}");
    world_expect_error(world, "wait", "", "Execution timed out after 1s");
}

WORLD_TEST(allowed_commands_are_checked_line_by_line)
{
    struct tool_world *world = *state;
    world_open(world,
               "{\"type\":\"script\",\"scripts\":["
               "{\"name\":\"good\",\"body\":\"# greet\\n\\necho one\\n/bin/echo two\\n\","
               "\"allowed_commands\":[\"echo\"]},"
               "{\"name\":\"bad\",\"body\":\"echo one\\nls\\n\",\"allowed_commands\":[\"echo\"]},"
               "{\"name\":\"pipe\",\"body\":\"echo one | cat\",\"allowed_commands\":[\"echo\"]},"
               "{\"name\":\"odd\",\"body\":\"echo 'one\",\"allowed_commands\":[\"echo\"]}]}");
    world_expect(world, "good", "", "STDOUT:\none\ntwo\n");
    world_expect_error(world, "bad", "",
                       "Error: command 'ls' on line 2 of 'bad' is not in the allowed list");
    world_expect_error(world, "pipe", "",
                       "Error: shell operator '|' on line 1 is not allowed with allowed_commands");
    world_expect_error(world, "odd", "", "line 1 of the script cannot be read as one command");
}

WORLD_TEST(parameters_must_not_replace_what_programs_live_by)
{
    static const char *const names[] = {"path", "Home", "ld_preload", "ifs", "a-b", "1x", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        char config[256];
        struct rondo_error err = {0};
        snprintf(config, sizeof(config),
                 "{\"type\":\"script\",\"scripts\":[{\"name\":\"s\",\"body\":\"\",\"parameters\":"
                 "[{\"name\":\"%s\"}]}]}",
                 names[i]);
        assert_int_equal(world_try_open(*state, config, &err), RONDO_ERR_INVALID);
    }
}

BOTH_TIERS(secrets_do_not_reach_scripts)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, "{\"type\":\"script\",\"scripts\":[{\"name\":\"show\",\"body\":\"echo "
                      "[$OPENAI_API_KEY$PGPASSWORD$MY_PASS]\"}]}");
    setenv("OPENAI_API_KEY", "canary", 1);
    setenv("PGPASSWORD", "canary", 1);
    setenv("MY_PASS", "canary", 1);
    world_expect(world, "show", "", "STDOUT:\n[]\n");
    unsetenv("OPENAI_API_KEY");
    unsetenv("PGPASSWORD");
    unsetenv("MY_PASS");
}

int main(int argc, char **argv)
{
    if (is_supervisor(argc, argv)) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
