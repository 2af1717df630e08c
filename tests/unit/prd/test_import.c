// SPDX-License-Identifier: Apache-2.0
/* From texts for people to the normal form: conventions and traps. */
#include "prd/import.h"

#include "base/limits.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct prd prd;
static struct prd_findings findings;

static void import(const char *path, const char *text, bool ticked_are_done)
{
    struct rondo_error err = {0};
    prd_fini(&prd);
    prd_findings_fini(&findings);
    enum prd_dialect kind = prd_import_kind(path, text, strlen(text));
    assert_int_equal(prd_import(kind, text, strlen(text), ticked_are_done, &prd, &findings, &err),
                     0);
}

static int tear_down(void **state)
{
    (void)state;
    prd_fini(&prd);
    prd_findings_fini(&findings);
    return 0;
}

static void assert_task(size_t i, const char *id, const char *title, size_t criteria)
{
    assert_true(i < prd.task_count);
    assert_string_equal(prd.tasks[i].id, id);
    assert_string_equal(prd.tasks[i].title, title);
    assert_int_equal(prd.tasks[i].criteria_count, criteria);
}

static const char typical[] =
    "\xef\xbb\xbf# PRD: Task list\r\n\r\n> Branch: `feature/list`\r\n\r\n## "
    "Introduction\r\n\r\nShow "
    "tasks.\r\n\r\n## Goals\r\n- Fast\r\n\r\n## Quality Gates\r\n- `npm test` - all tests\r\n\r\n"
    "## User Stories\r\n\r\n### US-001: Store a task\r\n**Description:** As a user I store.\r\n\r\n"
    "**Acceptance Criteria:**\r\n- [ ] `npm run check` passes\r\n- [x] It is stored\r\n  on "
    "disk\r\n"
    "  - with a time\r\n\r\n**Priority:** P1\r\n\r\n### US-002 \xe2\x80\x93 Show it\r\n**Depends "
    "on:** "
    "US-001\r\n#### Acceptance Criteria\r\n* It shows\r\n+ `isShown` passes\r\n\r\n"
    "## Functional Requirements\r\n- FR-1: The system stores\r\n### FR-2: no story\r\n\r\n"
    "## Non-Goals\r\n- [ ] not a task\r\n";

TEST_WITH(a_typical_prd_is_read_whole, NULL, tear_down)
{
    import("PRD.md", typical, false);
    assert_int_equal(prd.dialect, PRD_MARKDOWN);
    assert_string_equal(prd.name, "Task list");
    assert_string_equal(prd.branch, "feature/list");
    assert_string_equal(prd.text, "Show tasks.");
    assert_int_equal(prd.gate_count, 1);
    assert_string_equal(prd.gates[0], "npm test");
    assert_int_equal(prd.task_count, 2);
    assert_task(0, "US-001", "Store a task", 2);
    assert_string_equal(prd.tasks[0].description, "As a user I store.");
    assert_string_equal(prd.tasks[0].criteria[0].command, "npm run check");
    assert_string_equal(prd.tasks[0].criteria[1].text, "It is stored on disk\n- with a time");
    assert_false(prd.tasks[0].criteria[1].is_derived);
    assert_int_equal(prd.tasks[0].priority, 1);
    assert_int_equal(prd.tasks[0].line, 17);
    assert_task(1, "US-002", "Show it", 2);
    assert_string_equal(prd.tasks[1].dependencies[0], "US-001");
    assert_int_equal(prd.tasks[1].priority, PRD_NO_PRIORITY);
    assert_int_equal(findings.errors, 0);
}

TEST_WITH(headings_of_all_conventions_begin_stories, NULL, tear_down)
{
    import(
        "a.md",
        "## Task 1: One\n- [ ] a\n### Feature 1.2: Two\n## User Story 3 - Three\n#### ABC-12 Four\n"
        "### Task 5\n#### 5.1 Sub\n- [ ] s\n### [x] US-6: Six\n### 2. Introduction\nTask 1\n"
        "## NFR-1: none\n## us-7: none\n",
        true);
    assert_int_equal(prd.task_count, 6);
    assert_task(0, "task-1", "One", 1);
    assert_task(1, "feature-1.2", "Two", 0);
    assert_task(2, "story-3", "Three", 0);
    assert_task(3, "ABC-12", "Four", 0);
    assert_task(4, "task-5", "task-5", 1);
    assert_true(prd.tasks[4].criteria[0].is_derived);
    assert_non_null(strstr(prd.tasks[4].description, "5.1 Sub"));
    assert_task(5, "US-6", "Six", 0);
    assert_int_equal(prd.tasks[5].status, PRD_DONE);
}

TEST_WITH(code_fences_and_comments_hide_headings_and_boxes, NULL, tear_down)
{
    import(
        "a.md",
        "# P\n## US-1: a\n```md\n## US-2: no\n- [ ] no\n~~~\n```\n<!-- ## US-3: no\n- [ ] no\n-->\n"
        "**Acceptance Criteria**\n- [ ] yes\n",
        false);
    assert_int_equal(prd.task_count, 1);
    assert_task(0, "US-1", "a", 1);
    assert_string_equal(prd.tasks[0].criteria[0].text, "yes");
}

TEST_WITH(a_date_in_brackets_is_no_box, NULL, tear_down)
{
    import(
        "fix_plan.md",
        "# Plan\n- [2026-01-30] met\n- [x](link) no\n- [ ] Do this\n\t- [ ] part\n* [X] Do that\n"
        "1. [ ] And this\n- [] no\n[ ] no\n",
        true);
    assert_int_equal(prd.task_count, 3);
    assert_task(0, "do-this", "Do this", 1);
    assert_true(prd.tasks[0].criteria[0].is_derived);
    assert_int_equal(prd.tasks[0].status, PRD_PENDING);
    assert_task(1, "do-that", "Do that", 0);
    assert_int_equal(prd.tasks[1].status, PRD_DONE);
    assert_task(2, "and-this", "And this", 0);
}

TEST_WITH(ticked_boxes_mean_done_only_if_asked_for, NULL, tear_down)
{
    const char *text = "## US-1: a\n- [x] one\n- [X] two\n## US-2: b\n- [x] one\n- [ ] two\n";
    import("a.md", text, false);
    assert_int_equal(prd_count(&prd, PRD_DONE), 0);
    import("a.md", text, true);
    assert_int_equal(prd.tasks[0].status, PRD_DONE);
    assert_int_equal(prd.tasks[1].status, PRD_PENDING);
}

TEST_WITH(ids_follow_from_the_text, NULL, tear_down)
{
    import("a.md",
           "- [ ] Add `x`!\n- [ ] Add x\n- [ ] \xc3\x9c"
           "ber\n- [ ] ???\n",
           false);
    assert_string_equal(prd.tasks[0].id, "add-x");
    assert_string_equal(prd.tasks[1].id, "add-x-2");
    assert_string_equal(prd.tasks[2].id, "\xc3\x9c"
                                         "ber");
    assert_string_equal(prd.tasks[3].id, "task");
}

TEST_WITH(lists_that_are_not_called_criteria_are_derived, NULL, tear_down)
{
    import("a.md",
           "## US-1: a\n**MUST:**\n- be\n**Definition of Done:**\n- done\n**Notes:**\n- n\n",
           false);
    assert_task(0, "US-1", "a", 2);
    assert_true(prd.tasks[0].criteria[0].is_derived);
    assert_false(prd.tasks[0].criteria[1].is_derived);
    assert_string_equal(prd.tasks[0].description, "- n");
}

TEST_WITH(errors_have_places, NULL, tear_down)
{
    import("a.md",
           "# P\n\n## US-1: a\n**Depends on:** US-2\n## US-1: b\n**Depends on:** the first\n",
           false);
    assert_int_equal(findings.errors, 2);
    assert_int_equal(findings.warnings, 1);
    struct rondo_error err = {0};
    prd_findings_error(&findings, &err);
    assert_true(strncmp(err.message, "5:1: ", 5) == 0 || strncmp(err.message, "3:1: ", 5) == 0 ||
                strncmp(err.message, "6:1: ", 5) == 0);
    import("a.md", "# Nothing\nhere\n", false);
    assert_int_equal(findings.errors, 1);
}

TEST_WITH(spec_kit_phases_and_parallel_marks_give_dependencies, NULL, tear_down)
{
    import("tasks.md",
           "# Tasks: Photos\n## Phase 1: Setup\n- [ ] T001 Create project\n- [x] T002 [P] Lint\n"
           "- [ ] T003 [P] Test\n## Phase 3: User Story 1 (Priority: P1)\n"
           "- [ ] T004 [P] [US1] Model in src/m.py\n- [ ] T005 [US1] Service\n```\n- [ ] T009 "
           "no\n```\n",
           true);
    assert_int_equal(prd.dialect, PRD_SPEC_KIT);
    assert_string_equal(prd.name, "Photos");
    assert_int_equal(prd.task_count, 5);
    assert_task(0, "T001", "Create project", 1);
    assert_true(prd.tasks[0].criteria[0].is_derived);
    assert_int_equal(prd.tasks[1].status, PRD_DONE);
    assert_string_equal(prd.tasks[2].dependencies[0], "T001");
    assert_task(3, "T004", "Model in src/m.py", 1);
    assert_int_equal(prd.tasks[3].dependency_count, 2);
    assert_int_equal(prd.tasks[3].priority, 1);
    assert_non_null(strstr(prd.tasks[3].description, "US1"));
    assert_string_equal(prd.tasks[4].dependencies[0], "T004");
}

TEST_WITH(features_are_tasks_and_scenarios_criteria, NULL, tear_down)
{
    import(
        "login.feature",
        "# language: en\n@US-7 @slow\nFeature: Log in\n  As a user\n\n  Background:\n    Given a "
        "user\n"
        "\n  Scenario: Right password\n    When I log in\n    \"\"\"\n    Scenario: no\n    "
        "\"\"\"\n"
        "    Then I am in\n\n  Scenario Outline: Wrong\n    When <x>\n    Examples:\n      | x |\n",
        false);
    assert_int_equal(prd.dialect, PRD_GHERKIN);
    assert_int_equal(prd.task_count, 1);
    assert_task(0, "US-7", "Log in", 2);
    assert_non_null(strstr(prd.tasks[0].criteria[0].text, "Right password\n- When I log in"));
    assert_non_null(strstr(prd.tasks[0].criteria[0].text, "Then I am in"));
    assert_non_null(strstr(prd.tasks[0].criteria[1].text, "| x |"));
    assert_non_null(strstr(prd.tasks[0].description, "Given a user"));
    import("x.feature", "# language: de\nFunktionalit\xc3\xa4t: x\n", false);
    assert_true(findings.errors >= 1);
}

TEST_WITH(ten_thousand_tasks_are_read_and_one_more_is_an_error, NULL, tear_down)
{
    struct buf text = {0};
    for (int i = 1; i <= LIMIT_PRD_TASKS + 1; i++) {
        buf_printf(&text, "## US-%d: t\n", i);
        if (i >= LIMIT_PRD_TASKS) {
            import("a.md", text.data, false);
            assert_int_equal(prd.task_count, LIMIT_PRD_TASKS);
            assert_int_equal(findings.errors, i - LIMIT_PRD_TASKS);
        }
    }
    buf_fini(&text);
}
