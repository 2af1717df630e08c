// SPDX-License-Identifier: Apache-2.0
/* New files of the dialects, and merging a text that was read again. */
#include "prd/write.h"

#include "prd/import.h"
#include "prd/json.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define TIME_NS INT64_C(1770372000000000000)

static const char text[] =
    "# PRD: My list\n## US-1: One\nText\n**Acceptance Criteria:**\n- [ ] `make` "
    "passes\n- [ ] \"quoted\"\n## US-2: Two\n- [ ] box\n**Depends on:** US-1\n";

static void import(const char *markdown, struct prd *ret_prd)
{
    struct prd_findings findings = {0};
    struct rondo_error err = {0};
    assert_int_equal(
        prd_import(PRD_MARKDOWN, markdown, strlen(markdown), false, ret_prd, &findings, &err), 0);
    assert_int_equal(findings.errors, 0);
    prd_findings_fini(&findings);
}

static void read_back(const struct buf *json, struct prd *ret_prd)
{
    struct prd_findings findings = {0};
    struct rondo_error err = {0};
    assert_int_equal(prd_json_read(json->data, json->len, NULL, ret_prd, &findings, &err), 0);
    assert_int_equal(findings.errors, 0);
    prd_findings_fini(&findings);
}

TEST(each_dialect_is_read_back_as_itself)
{
    static const enum prd_dialect dialects[] = {PRD_ARETE, PRD_RALPH, PRD_RALPH_TUI};
    for (size_t i = 0; i < COUNT(dialects); i++) {
        struct prd prd = {0};
        struct prd back = {0};
        struct buf json = {0};
        struct rondo_error err = {0};
        import(text, &prd);
        assert_int_equal(prd_write(&prd, dialects[i], NULL, TIME_NS, &json, NULL, &err), 0);
        read_back(&json, &back);
        /* dependsOn is ralph-tui's; ralph itself ignores it */
        assert_int_equal(back.dialect, dialects[i] == PRD_RALPH ? PRD_RALPH_TUI : dialects[i]);
        assert_string_equal(back.name, "My list");
        assert_int_equal(back.task_count, 2);
        assert_string_equal(back.tasks[0].description, "Text");
        assert_string_equal(back.tasks[0].criteria[0].command, "make");
        assert_false(back.tasks[0].criteria[1].is_derived);
        assert_true(back.tasks[1].criteria[0].is_derived);
        assert_string_equal(back.tasks[1].dependencies[0], "US-1");
        assert_int_equal(strstr(json.data, "\"status\"") != NULL, dialects[i] == PRD_ARETE);
        prd_fini(&prd);
        prd_fini(&back);
        buf_fini(&json);
    }
}

TEST(other_dialects_are_not_written)
{
    struct prd prd = {0};
    struct buf json = {0};
    struct rondo_error err = {0};
    assert_int_equal(prd_write(&prd, PRD_TASK_MASTER, NULL, 0, &json, NULL, &err),
                     RONDO_ERR_UNSUPPORTED);
}

TEST(a_merge_keeps_states_and_unknown_members)
{
    struct prd prd = {0};
    struct prd back = {0};
    struct buf json = {0};
    struct buf existing = {0};
    struct prd_merge merge = {0};
    struct rondo_error err = {0};
    buf_append_string(&existing, "{\"name\":\"old\",\"branchName\":\"b\",\"mine\":{\"x\": "
                                 "1.0},\"tasks\":[{\"id\":\"US-1\",\"title\":"
                                 "\"One\",\"description\":\"Text\",\"acceptanceCriteria\":[\"`make`"
                                 " passes\",\"\\\"quoted\\\"\"],"
                                 "\"status\":\"complete\",\"passes\":true,\"attemptCount\":2,"
                                 "\"notes\":\"n\",\"commitSha\":\"ab\","
                                 "\"files\":[\"a\"]},{\"id\":\"US-9\",\"title\":\"Gone\","
                                 "\"status\":\"pending\",\"passes\":false}],"
                                 "\"metadata\":{\"createdAt\":\"then\",\"totalTasks\":9}}");
    import(text, &prd);
    assert_int_equal(prd_write(&prd, PRD_RALPH, &existing, TIME_NS, &json, &merge, &err), 0);
    read_back(&json, &back);
    assert_int_equal(back.dialect, PRD_ARETE);
    assert_string_equal(back.name, "My list");
    assert_string_equal(back.branch, "b");
    assert_true(back.tasks[0].passes);
    assert_int_equal(back.tasks[0].attempts, 2);
    assert_string_equal(back.tasks[0].commit, "ab");
    assert_non_null(strstr(json.data, "\"mine\":{\"x\": 1.0}"));
    assert_non_null(strstr(json.data, "\"files\":[\"a\"]"));
    assert_non_null(strstr(json.data, "\"createdAt\":\"then\""));
    assert_non_null(strstr(json.data, "\"tasks\": ["));
    assert_string_equal(merge.report.data, "added US-2: Two\nremoved US-9: Gone\n");
    assert_int_equal(merge.kept, 1);
    /* Once more: nothing changes. */
    struct buf again = {0};
    struct prd_merge second = {0};
    assert_int_equal(prd_write(&prd, PRD_ARETE, &json, TIME_NS + 1, &again, &second, &err), 0);
    assert_string_equal(again.data, json.data);
    assert_int_equal(second.kept, 2);
    prd_merge_fini(&merge);
    prd_merge_fini(&second);
    buf_fini(&again);
    buf_fini(&json);
    buf_fini(&existing);
    prd_fini(&prd);
    prd_fini(&back);
}
