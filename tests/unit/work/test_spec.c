// SPDX-License-Identifier: Apache-2.0
#include "work/spec.h"

#include "base/auto.h"
#include "base/memory.h"
#include "git/commit.h"
#include "support/test.h"

#include <string.h>

static void make_spec(struct work_spec *spec)
{
    static const char *const globs[] = {"tests/*", "a \"b\"\n", NULL};
    *spec = (struct work_spec){.repository = memory_dup_string("/repo"),
                               .settings = memory_dup_string("digest"),
                               .prd = memory_dup_string("/repo/prd.json"),
                               .progress = memory_dup_string("/repo/progress.txt"),
                               .name = memory_dup_string("name"),
                               .branch = memory_dup_string("prd/name"),
                               .base = memory_dup_string("0123"),
                               .setup = memory_dup_string("npm ci"),
                               .protect = memory_dup_list(globs),
                               .jobs = 3,
                               .attempts = 2,
                               .is_clean = 1,
                               .is_archived = 1,
                               .worker = loop_spec_default()};
    spec->worker.agent_id = memory_dup_string("worker");
    spec->worker.kind = memory_dup_string("command");
    spec->worker.workspace = memory_dup_string("/repo");
}

/** What is encoded, with one piece replaced. @param from NULL = as it is */
static int decode(const char *from, const char *to, struct work_spec *ret_spec,
                  struct rondo_error *err)
{
    struct work_spec spec;
    auto_buf struct buf json = {0};
    auto_buf struct buf changed = {0};
    make_spec(&spec);
    work_spec_encode(&spec, &json);
    work_spec_fini(&spec);
    const char *at = from == NULL ? NULL : strstr(buf_string(&json), from);
    if (from != NULL) {
        assert_non_null(at);
        buf_append(&changed, json.data, (size_t)(at - json.data));
        buf_append_string(&changed, to);
        buf_append_string(&changed, at + strlen(from));
    }
    return work_spec_decode(buf_string(from == NULL ? &json : &changed), ret_spec, err);
}

static void expect_refusal(const char *from, const char *to, const char *why)
{
    struct work_spec spec = {0};
    struct rondo_error err = {0};
    int r = decode(from, to, &spec, &err);
    if (r >= 0 || strstr(err.message, why) == NULL) {
        fail_msg("%s instead of %s: %d, %s", to, from, r, err.message);
    }
    assert_null(spec.repository);
}

TEST(what_is_encoded_is_decoded)
{
    struct work_spec spec;
    struct rondo_error err = {0};
    if (decode(NULL, NULL, &spec, &err) != 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(spec.repository, "/repo");
    assert_string_equal(spec.branch, "prd/name");
    assert_string_equal(spec.setup, "npm ci");
    assert_null(spec.tag);
    assert_string_equal(spec.protect[1], "a \"b\"\n");
    assert_null(spec.protect[2]);
    assert_int_equal(spec.jobs, 3);
    assert_int_equal(spec.attempts, 2);
    assert_int_equal(spec.is_clean, 1);
    assert_int_equal(spec.is_archived, 1);
    work_spec_fini(&spec);
}

TEST(what_a_run_cannot_do_without_must_be_there)
{
    expect_refusal("\"repository\"", "\"x\"", "`repository` is missing");
    expect_refusal("\"settings\"", "\"x\"", "`settings` is missing");
    expect_refusal("\"branch\":\"prd/name\"", "\"branch\":null", "`branch` is missing");
    expect_refusal("\"base\":\"0123\"", "\"base\":7", "`base` is missing");
}

TEST(numbers_have_their_limits)
{
    struct work_spec spec;
    struct rondo_error err = {0};
    assert_int_equal(decode("\"jobs\":3", "\"jobs\":16", &spec, &err), 0);
    assert_int_equal(spec.jobs, LIMIT_WORK_JOBS);
    work_spec_fini(&spec);
    expect_refusal("\"jobs\":3", "\"jobs\":17", "`jobs` is out of range");
    expect_refusal("\"jobs\":3", "\"jobs\":0", "`jobs` is out of range");
    expect_refusal("\"jobs\":3", "\"jobs\":-9223372036854775808", "`jobs` is out of range");
    assert_int_equal(decode("\"attempts\":2", "\"attempts\":20", &spec, &err), 0);
    assert_int_equal(spec.attempts, LIMIT_WORK_ATTEMPTS);
    work_spec_fini(&spec);
    expect_refusal("\"attempts\":2", "\"attempts\":21", "`attempts` is out of range");
    expect_refusal("\"archive\":1", "\"archive\":2", "`archive` is out of range");
}

TEST(an_older_run_without_numbers_has_the_defaults)
{
    struct work_spec spec;
    struct rondo_error err = {0};
    assert_int_equal(decode("\"attempts\":2", "\"x\":2", &spec, &err), 0);
    assert_int_equal(spec.attempts, 3);
    work_spec_fini(&spec);
}

TEST(a_list_is_no_longer_than_a_command_line)
{
    struct work_spec spec;
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    buf_append_string(&list, "\"protect\":[");
    for (int i = 0; i <= LIMIT_ARGUMENTS; i++) {
        buf_append_string(&list, "\"x\",");
    }
    assert_int_equal(decode("\"protect\":[", buf_string(&list), &spec, &err), 0);
    assert_int_equal(memory_count_list((const char *const *)spec.protect), LIMIT_ARGUMENTS);
    work_spec_fini(&spec);
}

TEST(what_is_no_json_object_is_refused)
{
    static const char *const texts[] = {"", "[]", "{", "null", "\"work\"", "{\"repository\":{}}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct work_spec spec = {0};
        struct rondo_error err = {0};
        assert_true(work_spec_decode(texts[i], &spec, &err) < 0);
        assert_non_null(strstr(err.message, "stored options of the PRD's run"));
    }
}

TEST(only_a_run_of_the_kind_is_a_parent)
{
    struct loop_spec spec = loop_spec_default();
    assert_false(work_is_parent(&spec));
    spec.kind = memory_dup_string("prd");
    assert_false(work_is_parent(&spec));
    spec.work = memory_dup_string("{}");
    assert_true(work_is_parent(&spec));
    loop_spec_fini(&spec);
}

TEST(a_run_that_works_on_a_task_names_its_parent)
{
    struct loop_spec spec = loop_spec_default();
    struct buf work = {0};
    char parent[ID_SIZE];
    work_child_encode("01a-parent", "T \"1\"", 2, &work);
    spec.work = buf_steal(&work);
    assert_true(work_find_parent(&spec, parent));
    assert_string_equal(parent, "01a-parent");
    loop_spec_fini(&spec);
}

TEST(a_parent_is_no_longer_than_an_id_and_other_runs_have_none)
{
    static const char *const texts[] = {"", "[]", "{}", "{\"parent\":7}", "{\"parent\":null}"};
    char parent[ID_SIZE];
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct loop_spec spec = loop_spec_default();
        spec.work = memory_dup_string(texts[i]);
        bool has_parent = work_find_parent(&spec, parent);
        loop_spec_fini(&spec);
        assert_false(has_parent);
    }
    struct loop_spec spec = loop_spec_default();
    struct buf work = {0};
    buf_append_string(&work, "{\"parent\":\"");
    for (int i = 0; i < 1000; i++) {
        buf_append_string(&work, "0123456789");
    }
    buf_append_string(&work, "\"}");
    spec.work = buf_steal(&work);
    assert_true(work_find_parent(&spec, parent));
    assert_int_equal(strlen(parent), ID_SIZE - 1);
    loop_spec_fini(&spec);
}

static char *branch_of(int64_t is_per_task, const char *id)
{
    const struct work_spec spec = {.branch = (char *)"prd/list", .is_branch_per_task = is_per_task};
    return work_task_branch(&spec, id);
}

TEST(all_tasks_share_the_branch_unless_each_has_its_own)
{
    auto_free char *shared = branch_of(0, "T1");
    auto_free char *own = branch_of(1, "US-001.2_b");
    assert_string_equal(shared, "prd/list");
    assert_string_equal(own, "prd/list/US-001.2_b");
}

TEST(ids_that_git_does_not_take_have_names_of_their_own)
{
    static const char *const ids[] = {"a b",    "a-b",      "a/b",  "../a", ".a",       "a..b",
                                      "a.lock", "a.",       "-",    "@{",   "\xc3\xa4", "a~1",
                                      "HEAD",   "x y\n*?[", "a\\b", "a b "};
    enum { COUNT = sizeof(ids) / sizeof(ids[0]) };
    char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = branch_of(1, ids[i]);
        assert_int_equal(git_branch_check_name(names[i], NULL), 0);
        assert_null(strchr(names[i] + strlen("prd/list/"), '/'));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(names[i], names[k]);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        free(names[i]);
    }
}

TEST(a_long_id_fits_into_a_name)
{
    char id[1000];
    memset(id, 'x', sizeof(id) - 1);
    id[sizeof(id) - 1] = '\0';
    auto_free char *name = branch_of(1, id);
    assert_int_equal(git_branch_check_name(name, NULL), 0);
    assert_true(strlen(name) < 80);
}
