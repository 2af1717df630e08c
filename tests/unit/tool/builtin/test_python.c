// SPDX-License-Identifier: Apache-2.0
/* The python tool. Skipped where the sandbox has no python3. */
#include "command_world.h"

/** Run a program in the default entry. */
static struct tool_result run_python(struct tool_world *world, const char *code)
{
    struct buf arguments = {0};
    struct json_writer writer = json_writer(&arguments);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "code", code);
    json_end_object(&writer);
    struct tool_result result = world_call(world, "run_python", buf_string(&arguments));
    buf_fini(&arguments);
    return result;
}

static void expect(struct tool_world *world, const char *code, const char *text)
{
    struct tool_result result = run_python(world, code);
    assert_string_equal(buf_string(&result.text), text);
    tool_result_fini(&result);
}

/** Open an entry, and skip where there is no Python inside. */
static struct tool_world *open_python(void **state, const char *config)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, config);
    struct tool_result result = run_python(world, "print(1)");
    bool works = strcmp(buf_string(&result.text), "STDOUT:\n1\n") == 0;
    if (!works) {
        print_message("no python3 here: %s\n", buf_string(&result.text));
    }
    tool_result_fini(&result);
    if (!works) {
        skip();
    }
    return world;
}

#define PYTHON "{\"type\":\"python\",\"network_disabled\":false}"

BOTH_TIERS(a_program_runs)
{
    struct tool_world *world = open_python(state, PYTHON);
    expect(world, "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(2)",
           "Exit code: 2\nSTDOUT:\nout\n\nSTDERR:\nerr\n");
    struct tool_result result = run_python(world, "1/0");
    assert_non_null(strstr(buf_string(&result.text), "ZeroDivisionError"));
    tool_result_fini(&result);
}

BOTH_TIERS(variables_of_the_environment_do_not_reach_it)
{
    struct tool_world *world = open_python(state, PYTHON);
    setenv("TOKEN", "canary", 1);
    expect(world, "import os\nprint([n for n in os.environ if os.environ[n] == 'canary'])",
           "STDOUT:\n[]\n");
    unsetenv("TOKEN");
}

BOTH_TIERS(it_starts_in_an_empty_folder_that_is_gone_afterwards)
{
    struct tool_world *world = open_python(state, PYTHON);
    struct tool_result result = run_python(
        world, "import os\nprint(os.listdir('.'))\nopen('x', 'w').write('y')\nprint(os.getcwd())");
    const char *text = buf_string(&result.text);
    const char *folder = strstr(text, "/tmp/");
    assert_non_null(strstr(text, "STDOUT:\n[]\n"));
    assert_non_null(folder);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(folder, "\n"), folder);
    assert_false(file_exists(path));
    tool_result_fini(&result);
}

BOTH_TIERS(it_starts_in_the_working_folder_when_there_is_one)
{
    struct tool_world *world = open_python(
        state, "{\"type\":\"python\",\"network_disabled\":false,\"working_dir\":\"sub\"}");
    world_write(world, "sub/helper.py", "answer = 42\n");
    expect(world, "import helper\nprint(helper.answer)\nopen('made', 'w').write('y')",
           "STDOUT:\n42\n");
    world_expect_file(world, "sub/made", "y");
}

IN_TIER(namespace, the_network_is_off_by_default)
{
    struct tool_world *world = open_python(state, "{\"type\":\"python\"}");
    expect(world,
           "import socket\n"
           "print([n for i, n in socket.if_nameindex() if n != 'lo'])",
           "STDOUT:\n[]\n");
}

WORLD_TEST(without_a_sandbox_the_network_cannot_be_off)
{
    struct rondo_error err = {0};
    assert_int_equal(world_try_open(*state, "{\"type\":\"python\"}", &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "network_disabled: false"));
}

WORLD_TEST(confirmation_is_needed_by_default)
{
    struct tool_world *world = *state;
    world_open(world, PYTHON);
    assert_true(toolbox_find(world->toolbox, "run_python")->needs_confirmation);
}

BOTH_TIERS(it_is_ended_in_time)
{
    struct tool_world *world = open_python(
        state, "{\"type\":\"python\",\"network_disabled\":false,\"timeout_seconds\":2}");
    struct tool_result result = run_python(world, "import time\nwhile True: time.sleep(1)");
    assert_string_equal(buf_string(&result.text), "Execution timed out after 2s");
    tool_result_fini(&result);
}

int main(int argc, char **argv)
{
    if (is_supervisor(argc, argv)) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
