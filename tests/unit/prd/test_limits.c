// SPDX-License-Identifier: Apache-2.0
/* Limits of what a PRD can make large, at each and one past it. Those of files, tasks, criteria and
 * ids are with what reads them. */
#include "base/limits.h"
#include "prd/import.h"
#include "prd/json.h"
#include "prd/lock.h"
#include "support/scratch.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static struct prd prd;
static struct prd_findings findings;
static struct buf text;

static int tear_down(void **state)
{
    (void)state;
    prd_fini(&prd);
    prd_findings_fini(&findings);
    buf_fini(&text);
    return 0;
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

static void forget(void)
{
    prd_fini(&prd);
    prd_findings_fini(&findings);
}

static void read_json(void)
{
    struct rondo_error err = {0};
    forget();
    if (prd_json_read(buf_string(&text), text.len, NULL, &prd, &findings, &err) != 0) {
        fail_msg("%s", err.message);
    }
    buf_clear(&text);
}

static void import(const char *name)
{
    struct rondo_error err = {0};
    enum prd_dialect kind = prd_import_kind(name, buf_string(&text), text.len);
    forget();
    if (prd_import(kind, buf_string(&text), text.len, false, &prd, &findings, &err) != 0) {
        fail_msg("%s", err.message);
    }
    buf_clear(&text);
}

/** How many findings of a rule there are; each has a text in its message. */
static size_t count_rule(const char *rule, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < findings.count; i++) {
        if (strcmp(findings.items[i].rule, rule) == 0) {
            assert_true(findings.items[i].is_error);
            if (strstr(findings.items[i].message, part) == NULL) {
                fail_msg("%s", findings.items[i].message);
            }
            count++;
        }
    }
    return count;
}

static void append_many(size_t count, char byte)
{
    for (size_t i = 0; i < count; i++) {
        buf_append(&text, &byte, 1);
    }
}

/* ---- LIMIT_PRD_TITLE_BYTES ------------------------------------------------------------------ */

CASE(a_title_of_json_has_a_limit)
{
    for (size_t past = 0; past < 2; past++) {
        buf_append_string(&text, "[{\"id\":1,\"title\":\"");
        append_many((size_t)LIMIT_PRD_TITLE_BYTES + past, 't');
        buf_append_string(&text, "\"}]");
        read_json();
        assert_int_equal(count_rule("long-title", "say the rest in its description"), past);
        assert_int_equal(findings.errors, past);
    }
}

CASE(a_title_of_markdown_has_a_limit_and_is_not_cut_in_silence)
{
    for (size_t past = 0; past < 2; past++) {
        buf_append_string(&text, "## US-1: ");
        append_many((size_t)LIMIT_PRD_TITLE_BYTES + past, 't');
        buf_append_string(&text, "\n- [ ] it is done\n");
        import("prd.md");
        assert_int_equal(count_rule("long-title", "and this one 4097; shorten it"), past);
        assert_int_equal(findings.errors, past);
        assert_int_equal(strlen(prd.tasks[0].title), LIMIT_PRD_TITLE_BYTES);
    }
}

/* ---- LIMIT_PRD_DEPENDENCIES ----------------------------------------------------------------- */

CASE(dependencies_of_json_have_a_limit)
{
    for (int past = 0; past < 2; past++) {
        int count = LIMIT_PRD_DEPENDENCIES + past;
        buf_append_string(&text, "[");
        for (int i = 1; i <= count; i++) {
            buf_printf(&text, "{\"id\":%d,\"title\":\"t\"},", i);
        }
        buf_append_string(&text, "{\"id\":0,\"title\":\"t\",\"dependsOn\":[1");
        for (int i = 2; i <= count; i++) {
            buf_printf(&text, ",%d", i);
        }
        buf_append_string(&text, "]}]");
        read_json();
        assert_int_equal(count_rule("too-many-dependencies", "let it depend on"), past);
        assert_int_equal(findings.errors, past);
        assert_int_equal(prd.tasks[count].dependency_count, LIMIT_PRD_DEPENDENCIES);
    }
}

CASE(dependencies_of_markdown_have_a_limit_and_are_not_dropped_in_silence)
{
    for (int past = 0; past < 3; past++) {
        int count = LIMIT_PRD_DEPENDENCIES + past;
        for (int i = 1; i <= count; i++) {
            buf_printf(&text, "## US-%d: t\n", i);
        }
        buf_append_string(&text, "## US-0: t\n**Depends on:** ");
        for (int i = 1; i <= count; i++) {
            buf_printf(&text, "US-%d, ", i);
        }
        import("prd.md");
        assert_int_equal(count_rule("too-many-dependencies", "let it depend on"), past > 0);
        assert_int_equal(findings.errors, past > 0);
        assert_int_equal(prd.tasks[count].dependency_count, LIMIT_PRD_DEPENDENCIES);
    }
}

CASE(more_parallel_tasks_than_the_next_can_wait_for_are_an_error)
{
    for (int past = 0; past < 2; past++) {
        int count = LIMIT_PRD_DEPENDENCIES + past;
        buf_append_string(&text, "# Tasks: x\n## Phase 1: Setup\n");
        for (int i = 1; i <= count; i++) {
            buf_printf(&text, "- [ ] T%03d [P] do it\n", i);
        }
        buf_printf(&text, "- [ ] T%03d the last\n", count + 1);
        import("tasks.md");
        assert_int_equal(prd.dialect, PRD_SPEC_KIT);
        assert_int_equal(count_rule("too-many-dependencies", "or on one that collects them"), past);
        assert_int_equal(findings.errors, past);
    }
}

/* ---- LIMIT_PRD_FINDINGS --------------------------------------------------------------------- */

static void add(bool is_error, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prd_finding_add(&findings, is_error, is_error ? "e" : "w", 1, 1, "message");
    }
}

CASE(findings_past_the_limit_are_counted)
{
    add(false, LIMIT_PRD_FINDINGS);
    assert_int_equal(findings.count, LIMIT_PRD_FINDINGS);
    add(false, 1);
    assert_int_equal(findings.count, LIMIT_PRD_FINDINGS);
    assert_int_equal(findings.warnings, LIMIT_PRD_FINDINGS + 1);
}

CASE(an_error_past_the_limit_takes_the_place_of_a_warning)
{
    struct rondo_error err = {0};
    add(false, LIMIT_PRD_FINDINGS);
    add(true, 1);
    assert_int_equal(findings.count, LIMIT_PRD_FINDINGS);
    assert_int_equal(count_rule("e", "message"), 1);
    add(true, LIMIT_PRD_FINDINGS);
    assert_int_equal(findings.count, LIMIT_PRD_FINDINGS);
    assert_int_equal(count_rule("e", "message"), LIMIT_PRD_FINDINGS);
    assert_int_equal(findings.errors, LIMIT_PRD_FINDINGS + 1);
    assert_int_equal(findings.warnings, LIMIT_PRD_FINDINGS);
    assert_int_equal(prd_findings_error(&findings, &err), RONDO_ERR_INVALID);
}

/* ---- LIMIT_PRD_LOCK_NS ---------------------------------------------------------------------- */

/** A clock that moves when somebody sleeps, and another process that lets go of the lock. */
struct lock_world {
    struct clock clock;
    int64_t now_ns;
    int64_t release_ns; /* when */
    int holder;         /* descriptor */
};

static int64_t world_now(const struct clock *clock)
{
    return ((const struct lock_world *)clock->context)->now_ns;
}

static void world_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    struct lock_world *world = clock->context;
    (void)cancel;
    world->now_ns += duration_ns;
    if (world->now_ns >= world->release_ns) {
        assert_int_equal(flock(world->holder, LOCK_UN), 0);
    }
}

/** Wait for a lock that is released after so long. */
static int wait_for_lock(int64_t release_ns, struct rondo_error *err)
{
    char folder[200];
    char path[300];
    struct lock_world world = {.release_ns = release_ns};
    world.clock = (struct clock){
        .now_ns = world_now, .monotonic_ns = world_now, .sleep = world_sleep, .context = &world};
    assert_true(scratch_new(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/lock", folder);
    world.holder = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(world.holder, LOCK_EX), 0);
    int r = prd_lock_wait(&world.clock, fd, "x/prd.json", err);
    assert_true(world.now_ns <= LIMIT_PRD_LOCK_NS);
    close(fd);
    close(world.holder);
    unlink(path);
    rmdir(folder);
    return r;
}

TEST(a_lock_is_waited_for_until_the_limit)
{
    struct rondo_error err = {0};
    assert_int_equal(wait_for_lock(LIMIT_PRD_LOCK_NS, &err), 0);
    assert_int_equal(wait_for_lock(LIMIT_PRD_LOCK_NS + 1, &err), RONDO_ERR_BUSY);
    assert_string_equal(err.message, "x/prd.json is being changed by another process; try again");
}
