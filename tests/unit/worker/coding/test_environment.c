// SPDX-License-Identifier: Apache-2.0
/* The environment of a coding agent that has no sandbox. */
#include "../../loop/fixture.h"
#include "base/auto.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "worker/coding_agent.h"
#include "worker/coding_spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[256];

static char *in_folder(const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

/** An agent that writes down its variables, and whose keys are those of the forge. */
static void write_record(void)
{
    struct rondo_error err = {0};
    auto_buf struct buf yaml = {0};
    auto_free char *records = in_folder(CODING_FOLDER);
    auto_free char *path = in_folder(CODING_FOLDER "/own.yaml");
    mkdir(records, 0700);
    buf_printf(&yaml,
               "program: sh\nformat: text\nprompt: stdin\nkeys: [GH_TOKEN, OWN_KEY]\n"
               "arguments: [-c, 'env >%s/variables']\n",
               folder);
    if (file_replace_durably(path, yaml.data, yaml.len, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

static void run_agent(struct loop_fixture *fixture, const char *const *denied)
{
    struct rondo_error err = {0};
    struct loop_spec spec = fixture_spec(0);
    const struct coding_options coding = {.name = "own", .config_folder = folder};
    free(spec.kind);
    spec.kind = NULL;
    spec.prompt = memory_dup_string("a task");
    if (coding_spec_set(&coding, &spec, &err) != 0) {
        fail_msg("%s", err.message);
    }
    spec.denied_env = memory_dup_list(denied);
    struct loop *loop = fixture_start(fixture, spec);
    const struct worker_options options = {.folder = folder};
    struct coding_agent *agent = NULL;
    fixture_iterate(loop, 1);
    assert_int_equal(coding_agent_new(loop, &options, &agent, &err), 0);
    if (coding_agent_run(agent, &err) != 0) {
        fail_msg("%s", err.message);
    }
    coding_agent_free(agent);
    loop_free(loop);
}

FIXTURE_TEST(a_denied_variable_does_not_reach_a_coding_agent_that_has_it_as_a_key)
{
    static const char *const denied[] = {"GH_TOKEN", NULL};
    auto_buf struct buf text = {0};
    assert_true(scratch_new(folder, sizeof(folder)));
    setenv("GH_TOKEN", "a-secret-of-the-forge", 1);
    setenv("OWN_KEY", "the-key-of-the-agent", 1);
    write_record();
    run_agent(*state, denied);
    unsetenv("GH_TOKEN");
    unsetenv("OWN_KEY");
    auto_free char *variables = in_folder("variables");
    assert_int_equal(file_read(variables, 1000000, &text, NULL), 0);
    assert_non_null(strstr(buf_string(&text), "OWN_KEY=the-key-of-the-agent"));
    assert_null(strstr(buf_string(&text), "a-secret-of-the-forge"));
    assert_int_equal(file_remove_tree(folder, NULL), 0);
}
