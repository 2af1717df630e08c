// SPDX-License-Identifier: Apache-2.0
#include "work/patches.h"

#include "../../support/store/memory_store.h"
#include "base/id.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "support/test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_NS (24 * 3600 * NS_PER_S)

static char folder[PATH_MAX];
static struct store *store;
static int64_t now_ns;

static int set_up(void **state)
{
    char path[PATH_MAX + 16];
    (void)state;
    assert_true(scratch_new(folder, sizeof(folder)));
    setenv("XDG_STATE_HOME", folder, 1);
    snprintf(path, sizeof(path), "%s/rondo", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/rondo/patches", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    store = store_memory_new(clock_system());
    now_ns = clock_now(clock_system());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_close(store);
    return file_remove_tree(folder, NULL);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static const char *path_of(const char *name)
{
    static char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/rondo/patches/%s", folder, name);
    return path;
}

static void put(const char *name, int64_t age_ns)
{
    const struct timespec time = {.tv_sec = (now_ns - age_ns) / NS_PER_S};
    const struct timespec times[2] = {time, time};
    assert_int_equal(file_replace_durably(path_of(name), "x", 1, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static uint64_t sweep(bool is_dry_run)
{
    uint64_t count = 99;
    struct rondo_error err;
    assert_int_equal(work_patches_sweep(store, now_ns - 30 * DAY_NS, is_dry_run, &count, &err), 0);
    return count;
}

#define OLD "01a22756-f991-7b82-ac29-c471a9efe972-A-1.patch"
#define NEW "01a22756-f991-7b82-ac29-c471a9efe972-B-1.patch"

CASE(old_patches_go_and_new_ones_stay)
{
    put(OLD, 31 * DAY_NS);
    put(NEW, 29 * DAY_NS);
    assert_int_equal(sweep(false), 1);
    assert_false(is_there(OLD));
    assert_true(is_there(NEW));
}

CASE(a_dry_run_counts_and_deletes_nothing)
{
    put(OLD, 31 * DAY_NS);
    assert_int_equal(sweep(true), 1);
    assert_true(is_there(OLD));
}

CASE(other_files_and_links_are_left_alone)
{
    put("notes.patch", 31 * DAY_NS);
    put("01a22756-f991-7b82-ac29-c471a9efe972-A-1.txt", 31 * DAY_NS);
    assert_int_equal(symlink("/etc/passwd", path_of(OLD)), 0);
    assert_int_equal(sweep(false), 0);
    assert_true(is_there("notes.patch"));
}

CASE(a_run_that_has_not_ended_keeps_its_patches)
{
    struct loop_spec spec = loop_spec_default();
    struct runtime *runtime = NULL;
    struct loop *loop = NULL;
    struct loop_opening opening;
    char name[ID_SIZE + 16];
    const struct runtime_options options = {.store = store};
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    const struct loop_parts parts = {.runtime = runtime};
    spec.agent_id = memory_dup_string("tester");
    spec.kind = memory_dup_string("library");
    spec.workspace = memory_dup_string("/usr");
    assert_int_equal(loop_start(&parts, &spec, &loop, &opening, NULL), 0);
    snprintf(name, sizeof(name), "%s-A-1.patch", loop_run_id(loop));
    put(name, 31 * DAY_NS);
    assert_int_equal(sweep(false), 0);
    assert_true(is_there(name));
    loop_free(loop);
    runtime_free(runtime);
    loop_spec_fini(&spec);
}
