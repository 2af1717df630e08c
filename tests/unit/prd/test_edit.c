// SPDX-License-Identifier: Apache-2.0
/* Changes of a prd.json: what is written, and that nothing else changes. */
#include "prd/edit.h"

#include "base/json/json.h"
#include "prd/json.h"
#include "shapes.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define TIME_NS INT64_C(1770372000000000000) /* 2026-02-06T10:00:00Z */

static enum prd_change_outcome outcome;

/** The text after one change; owned. */
static char *change(const char *text, const struct prd_change *change)
{
    struct buf out = {0};
    struct rondo_error err = {0};
    assert_int_equal(prd_edit(text, strlen(text), NULL, change, 1, TIME_NS, &out, &outcome, &err),
                     0);
    return buf_steal(&out);
}

static void assert_change(const char *text, struct prd_change given, const char *expected)
{
    char *changed = change(text, &given);
    assert_string_equal(changed, expected);
    char *again = change(changed, &given);
    assert_string_equal(again, expected);
    free(again);
    free(changed);
}

static struct prd_change status(const char *id, enum prd_status status)
{
    return (struct prd_change){.id = id, .status = status, .has_status = true, .attempts = -1};
}

TEST(ralph_gets_passes_and_nothing_else)
{
    struct prd_change given = status("US-1", PRD_DONE);
    given.attempts = 2;
    given.commit = "abc";
    assert_change("{ \"project\": \"p\",\n \"userStories\": [{\"id\": \"US-1\", \"title\": \"t\", "
                  "\"passes\":false, \"x\": 1.50}] }",
                  given,
                  "{ \"project\": \"p\",\n \"userStories\": [{\"id\": \"US-1\", \"title\": \"t\", "
                  "\"passes\":true, \"x\": 1.50}] }");
}

TEST(ralph_tui_gets_no_status_even_for_a_failed_task)
{
    const char *text = "{\"name\":\"p\",\"userStories\":[{\"id\":\"U\",\"title\":\"t\",\"passes\":"
                       "false,\"dependsOn\":[]}]}";
    assert_change(text, status("U", PRD_FAILED), text);
    assert_int_equal(outcome, PRD_CHANGE_SAME);
    assert_change(text, status("U", PRD_IN_PROGRESS), text);
}

TEST(arete_gets_all_members_and_counts_in_its_own_layout)
{
    struct prd_change given = status("a", PRD_DONE);
    given.attempts = 2;
    given.commit = "0f";
    assert_change(
        "{\r\n\t\"userStories\": [\r\n\t\t{\r\n\t\t\t\"id\": \"a\",\r\n\t\t\t\"title\": "
        "\"t\",\r\n\t\t\t\"status\": \"pending\",\r\n\t\t\t\"passes\": false\r\n\t\t}\r\n\t],"
        "\r\n\t\"metadata\": {\r\n\t\t\"completedTasks\": 0\r\n\t}\r\n}\r\n",
        given,
        "{\r\n\t\"userStories\": [\r\n\t\t{\r\n\t\t\t\"id\": \"a\",\r\n\t\t\t\"title\": "
        "\"t\",\r\n\t\t\t\"status\": \"complete\",\r\n\t\t\t\"passes\": true,\r\n\t\t\t"
        "\"attemptCount\": 2,\r\n\t\t\t\"commitSha\": \"0f\"\r\n\t\t}\r\n\t],"
        "\r\n\t\"metadata\": {\r\n\t\t\"completedTasks\": 1,\r\n\t\t\"startedAt\": "
        "\"2026-02-06T10:00:00.000Z\",\r\n\t\t\"completedAt\": "
        "\"2026-02-06T10:00:00.000Z\"\r\n\t}\r\n}\r\n");
}

TEST(stories_get_words_and_times)
{
    assert_change(
        "{\"stories\":[{\"id\":1,\"title\":\"t\",\"status\":\"open\",\"startedAt\":null}]}",
        status("1", PRD_IN_PROGRESS),
        "{\"stories\":[{\"id\":1,\"title\":\"t\",\"status\":\"in_progress\",\"startedAt\":"
        "\"2026-02-06T10:00:00.000Z\"}]}");
    assert_change(
        "{\"stories\":[{\"id\":1,\"title\":\"t\",\"status\":\"in_progress\",\"startedAt\":\"x\"}]}",
        status("1", PRD_FAILED),
        "{\"stories\":[{\"id\":1,\"title\":\"t\",\"status\":\"open\",\"startedAt\":null}]}");
}

TEST(task_master_finishes_the_steps_of_a_done_task)
{
    assert_change("{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"t\",\"status\":\"in-progress\","
                  "\"subtasks\":[{\"id\":1,\"title\":\"s\",\"status\":\"pending\"}]}]}}",
                  status("1", PRD_DONE),
                  "{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"t\",\"status\":\"done\","
                  "\"subtasks\":[{\"id\":1,\"title\":\"s\",\"status\":\"done\"}]}]}}");
}

TEST(the_words_of_the_file_are_used_again)
{
    assert_change(
        "{\"userStories\":[{\"id\":1,\"title\":\"t\",\"status\":\"completed\",\"passes\":true},"
        "{\"id\":2,\"title\":\"t\",\"status\":\"pending\",\"passes\":false}]}",
        status("2", PRD_DONE),
        "{\"userStories\":[{\"id\":1,\"title\":\"t\",\"status\":\"completed\",\"passes\":true},"
        "{\"id\":2,\"title\":\"t\",\"status\":\"completed\",\"passes\":true}]}");
}

TEST(what_a_person_has_set_meanwhile_stays)
{
    struct prd_change given = status("a", PRD_FAILED);
    given.was = PRD_IN_PROGRESS;
    given.has_was = true;
    const char *text = "{\"userStories\":[{\"id\":\"a\",\"title\":\"t\",\"status\":\"complete\","
                       "\"passes\":true}]}";
    assert_change(text, given, text);
    assert_int_equal(outcome, PRD_CHANGE_KEPT);
    given.id = "b";
    assert_change(text, given, text);
    assert_int_equal(outcome, PRD_CHANGE_GONE);
}

TEST(two_changes_of_one_task_are_refused)
{
    struct prd_change changes[] = {status("a", PRD_DONE), status("a", PRD_FAILED)};
    struct buf out = {0};
    struct rondo_error err = {0};
    const char *text = "[{\"id\":\"a\",\"title\":\"t\"}]";
    assert_int_equal(prd_edit(text, strlen(text), NULL, changes, 2, TIME_NS, &out, NULL, &err),
                     RONDO_ERR_INVALID);
    assert_int_equal(out.len, 0);
}

/* ---- The shapes and random documents --------------------------------------------------------- */

/** Everything but what the change may touch is as before: by undoing it on the values. */
static void check_edited(const struct buf *text, const char *id, enum prd_status wanted)
{
    struct prd before = {0};
    struct prd after = {0};
    struct prd_findings findings = {0};
    struct rondo_error err = {0};
    struct buf out = {0};
    struct prd_change given = status(id, wanted);
    assert_int_equal(prd_edit(text->data, text->len, NULL, &given, 1, TIME_NS, &out, NULL, &err),
                     0);
    assert_int_equal(prd_json_read(text->data, text->len, NULL, &before, &findings, &err), 0);
    assert_int_equal(prd_json_read(out.data, out.len, NULL, &after, &findings, &err), 0);
    assert_int_equal(before.task_count, after.task_count);
    assert_int_equal(before.dialect, after.dialect);
    for (size_t i = 0; i < before.task_count; i++) {
        const struct prd_task *task = &after.tasks[i];
        bool is_it = strcmp(task->id, id) == 0;
        assert_int_equal(task->status, is_it ? wanted : before.tasks[i].status);
        assert_string_equal(task->title, before.tasks[i].title);
        assert_string_equal(task->description, before.tasks[i].description);
    }
    prd_fini(&before);
    prd_fini(&after);
    prd_findings_fini(&findings);
    buf_fini(&out);
}

TEST(the_37_shapes_survive_without_a_change_and_take_one)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct buf text = {0};
        struct buf same = {0};
        struct rondo_error err = {0};
        shape_text(shape, &text);
        assert_int_equal(prd_edit(text.data, text.len, NULL, NULL, 0, TIME_NS, &same, NULL, &err),
                         0);
        assert_int_equal(same.len, text.len);
        assert_memory_equal(same.data, text.data, text.len);
        for (int wanted = PRD_PENDING; wanted <= PRD_FAILED; wanted++) {
            check_edited(&text, "task-3", (enum prd_status)wanted);
        }
        buf_fini(&text);
        buf_fini(&same);
    }
}

static uint32_t seed;

static unsigned pick(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void blanks(struct buf *out)
{
    static const char *const some[] = {"", " ", "\n", "\r\n\t", "  "};
    buf_append_string(out, some[pick(COUNT(some))]);
}

/** A member that no dialect knows, of any kind. */
static void unknown(unsigned n, struct buf *out)
{
    static const char *const values[] = {"null",
                                         "-0.0e5",
                                         "\"\\u00e9\\\\\\\"}\"",
                                         "[1, [ ], {}]",
                                         "{\"status\":\"done\",\"passes\":true}",
                                         "12345678901234567890"};
    buf_printf(out, "\"x%u\"", n);
    blanks(out);
    buf_append_string(out, ":");
    blanks(out);
    buf_append_string(out, values[pick(COUNT(values))]);
}

static void random_document(struct buf *out)
{
    unsigned tasks = 1 + pick(6);
    bool has_passes = pick(2) == 0;
    buf_append_string(out, pick(4) == 0 ? "\xef\xbb\xbf{" : "{");
    unknown(1, out);
    buf_append_string(out, ", \"userStories\":[");
    for (unsigned i = 0; i < tasks; i++) {
        blanks(out);
        buf_printf(out, "%s{", i == 0 ? "" : ",");
        unknown(2, out);
        buf_append_string(out, ",");
        blanks(out);
        buf_printf(out, "\"id\":%s%u%s", i % 2 == 0 ? "\"" : "", i, i % 2 == 0 ? "\"" : "");
        buf_printf(out, ",\"title\":\"t\",\"status\" : \"%s\"",
                   pick(2) == 0 ? "pending" : "failed");
        if (has_passes) {
            blanks(out);
            buf_append_string(out, ",\"passes\":false");
        }
        blanks(out);
        buf_append_string(out, "}");
    }
    buf_append_string(out, "]");
    if (pick(2) == 0) {
        buf_append_string(out, ",\"metadata\":{\"failedTasks\":7}");
    }
    buf_append_string(out, "}");
    blanks(out);
}

TEST(random_documents_keep_everything_else)
{
    for (seed = 0; seed < 3000; seed++) {
        uint32_t start = seed;
        struct buf text = {0};
        struct buf same = {0};
        struct rondo_error err = {0};
        random_document(&text);
        assert_int_equal(prd_edit(text.data, text.len, NULL, NULL, 0, TIME_NS, &same, NULL, &err),
                         0);
        assert_memory_equal(same.data, text.data, text.len);
        check_edited(&text, "0", (enum prd_status)pick(4));
        buf_fini(&text);
        buf_fini(&same);
        seed = start;
    }
}
