// SPDX-License-Identifier: Apache-2.0
/* The environment of a worker command that has no sandbox. */
#include "../loop/fixture.h"
#include "base/auto.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>

/** Run a worker that writes down its variables. @param ret_text what it found */
static void write_variables(struct loop_fixture *fixture, const char *const *denied,
                            struct buf *ret_text)
{
    char folder[256];
    struct rondo_error err = {0};
    auto_buf struct buf file = {0};
    assert_true(scratch_new(folder, sizeof(folder)));
    buf_printf(&file, "%s/variables", folder);
    auto_buf struct buf command = {0};
    buf_printf(&command, "env >%s", buf_string(&file));
    const char *const argv[] = {"sh", "-c", buf_string(&command), NULL};
    struct loop_spec spec = fixture_spec(0);
    memory_free_list(spec.command);
    spec.command = memory_dup_list(argv);
    spec.worker_tier = SANDBOX_NONE;
    spec.denied_env = memory_dup_list(denied);
    struct loop *loop = fixture_start(fixture, spec);
    const struct worker_options options = {.folder = folder};
    struct worker *worker = NULL;
    fixture_iterate(loop, 1);
    assert_int_equal(worker_new(loop, &options, &worker, &err), 0);
    if (worker_run(worker, &err) != 0) {
        fail_msg("%s", err.message);
    }
    worker_free(worker);
    loop_free(loop);
    assert_int_equal(file_read(buf_string(&file), 1000000, ret_text, &err), 0);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
}

static bool has(struct buf *text, const char *words)
{
    return strstr(buf_string(text), words) != NULL;
}

FIXTURE_TEST(a_denied_variable_does_not_reach_a_worker_without_a_sandbox)
{
    static const char *const denied[] = {"GH_TOKEN", NULL};
    auto_buf struct buf text = {0};
    setenv("GH_TOKEN", "a-secret-of-the-forge", 1);
    setenv("RONDO_TEST_OTHER", "is-passed", 1);
    write_variables(*state, denied, &text);
    unsetenv("GH_TOKEN");
    unsetenv("RONDO_TEST_OTHER");
    assert_true(has(&text, "RONDO_TEST_OTHER=is-passed"));
    assert_false(has(&text, "a-secret-of-the-forge"));
    assert_false(has(&text, "GH_TOKEN"));
}
