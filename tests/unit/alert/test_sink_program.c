// SPDX-License-Identifier: Apache-2.0
/* Programs of sinks: what runs is what somebody added. */
#include "alert/sink_program.h"
#include "support/test.h"

#include "base/json/json.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/spawn/spawn.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static struct rondo_error err;

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/rondo-sink-XXXXXX");
    assert_non_null(mkdtemp(folder));
    err = (struct rondo_error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    return 0;
}

static char *below(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_replace_durably(below(name), text, strlen(text), NULL), 0);
    assert_int_equal(chmod(below(name), 0700), 0);
}

/** A sink as it is read from the store after it was added. @return of adding */
static int add(const char *first, const char *second, struct sink *ret_sink)
{
    char text[512];
    auto_json struct json_object *object = NULL;
    auto_buf struct buf stored = {0};
    struct sink sink = {0};
    snprintf(text, sizeof(text), "{\"name\":\"s\",\"kind\":\"command\",\"command\":[\"%s\"%s%s%s]}",
             first, second == NULL ? "" : ",\"", second == NULL ? "" : second,
             second == NULL ? "" : "\"");
    assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
    assert_int_equal(sink_parse(object, false, &sink, NULL), 0);
    int r = sink_program_pin(&sink, &err);
    if (r == 0) {
        sink_encode(&sink, &stored);
        assert_int_equal(sink_decode(buf_string(&stored), stored.len, ret_sink, NULL), 0);
    }
    sink_fini(&sink);
    return r;
}

/** What a delivery prints; NULL when it is refused. free() it. */
static char *deliver(const struct sink *sink)
{
    struct sink_program program;
    if (sink_program_open(sink, &program, &err) < 0) {
        return NULL;
    }
    const char *const envp[] = {"PATH=" SINK_PATH, NULL};
    const struct spawn_request request = {.argv = (const char *const *)program.argv,
                                          .envp = envp,
                                          .directory = "/",
                                          .output_keep = 4096};
    struct spawn_result result;
    assert_int_equal(spawn_run(&request, &result, NULL), 0);
    char *output = strdup(result.output);
    spawn_result_fini(&result);
    sink_program_close(&program);
    return output;
}

static void expect_output(const struct sink *sink, const char *expected)
{
    char *output = deliver(sink);
    assert_non_null(output);
    assert_string_equal(output, expected);
    free(output);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_program_of_the_system_is_found_and_runs)
{
    struct sink sink;
    assert_int_equal(add("echo", "told", &sink), 0);
    assert_int_equal(sink.command[0][0], '/');
    expect_output(&sink, "told\n");
    sink_fini(&sink);
}

CASE(a_script_runs_as_it_was_added)
{
    struct sink sink;
    put("notify", "#!/bin/sh\necho told\n");
    assert_int_equal(add(below("notify"), NULL, &sink), 0);
    expect_output(&sink, "told\n");
    put("notify", "#!/bin/sh\necho stolen\n");
    assert_null(deliver(&sink));
    assert_int_equal(err.code, RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "rondo sinks add"));
    put("notify", "#!/bin/sh\necho told\n");
    expect_output(&sink, "told\n");
    sink_fini(&sink);
}

CASE(a_script_of_an_interpreter_is_pinned_too)
{
    struct sink sink;
    put("notify.sh", "echo told\n");
    assert_int_equal(add("sh", below("notify.sh"), &sink), 0);
    expect_output(&sink, "told\n");
    put("notify.sh", "echo stolen\n");
    assert_null(deliver(&sink));
    sink_fini(&sink);
}

CASE(a_link_or_nothing_in_its_place_is_refused)
{
    struct sink sink;
    char moved[128];
    put("notify", "#!/bin/sh\necho told\n");
    assert_int_equal(add(below("notify"), NULL, &sink), 0);
    snprintf(moved, sizeof(moved), "%s", below("moved"));
    assert_int_equal(rename(below("notify"), moved), 0);
    assert_null(deliver(&sink));
    assert_int_equal(symlink("moved", below("notify")), 0);
    assert_null(deliver(&sink));
    unlink(below("notify"));
    assert_int_equal(mkfifo(below("notify"), 0700), 0);
    assert_null(deliver(&sink));
    sink_fini(&sink);
}

CASE(what_cannot_be_pinned_is_not_added)
{
    struct sink sink;
    char script[160];
    assert_int_equal(add("./notify", NULL, &sink), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "absolute"));
    assert_int_equal(add("/no/such/program", NULL, &sink), RONDO_ERR_INVALID);
    put("python", "#!/bin/sh\n");
    snprintf(script, sizeof(script), "#!%s -u\n", below("python"));
    put("notify", script);
    assert_int_equal(add(below("notify"), NULL, &sink), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "not a program of the system"));
}

CASE(a_planted_program_does_not_pass_for_one_of_rondo_0_1)
{
    struct sink sink;
    char text[256];
    put("notify", "#!/bin/sh\necho stolen\n");
    snprintf(text, sizeof(text), "{\"name\":\"s\",\"kind\":\"command\",\"command\":[\"%s\"]}",
             below("notify"));
    assert_int_equal(sink_decode(text, strlen(text), &sink, NULL), 0);
    assert_null(deliver(&sink));
    sink_fini(&sink);
}
