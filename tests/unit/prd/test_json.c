// SPDX-License-Identifier: Apache-2.0
/* From prd.json to the normal form: dialects, states, and what is wrong with a file. */
#include "prd/json.h"

#include "base/auto.h"
#include "base/limits.h"
#include "prd/document.h"
#include "shapes.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

struct prd_read_result {
    struct prd prd;
    struct prd_findings findings;
    struct rondo_error err;
    int r;
};

static struct prd_read_result read_tagged(const char *text, const char *tag)
{
    struct prd_read_result reading = {0};
    reading.r =
        prd_json_read(text, strlen(text), tag, &reading.prd, &reading.findings, &reading.err);
    return reading;
}

static struct prd_read_result read_text(const char *text)
{
    return read_tagged(text, NULL);
}

static void done(struct prd_read_result *reading)
{
    prd_fini(&reading->prd);
    prd_findings_fini(&reading->findings);
}

static const struct prd_finding *find_rule(const struct prd_read_result *reading, const char *rule)
{
    for (size_t i = 0; i < reading->findings.count; i++) {
        if (strcmp(reading->findings.items[i].rule, rule) == 0) {
            return &reading->findings.items[i];
        }
    }
    return NULL;
}

TEST(the_37_shapes_are_read_with_their_counts)
{
    size_t tasks = 0;
    size_t disputed = 0;
    size_t finished = 0;
    size_t commits = 0;
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct buf text = {0};
        shape_text(shape, &text);
        struct prd_read_result reading = read_text(text.data);
        assert_int_equal(reading.r, 0);
        assert_int_equal(reading.findings.errors, 0);
        assert_int_equal(reading.prd.dialect, PRD_ARETE);
        assert_int_equal(reading.prd.branch == NULL, shape % 12 == 7);
        assert_int_equal(reading.prd.text[0] == '\0', shape % 7 == 6);
        tasks += reading.prd.task_count;
        for (size_t i = 0; i < reading.prd.task_count; i++) {
            const struct prd_task *task = &reading.prd.tasks[i];
            disputed += task->is_disputed;
            finished += task->passes;
            commits += task->commit != NULL;
            assert_int_equal(task->passes, task_is_done(shape_first(shape) + i));
            assert_string_equal(task->criteria[0].command, "npm test");
            assert_null(task->criteria[1].command);
        }
        done(&reading);
        buf_fini(&text);
    }
    assert_int_equal(tasks, SHAPE_TASKS);
    assert_int_equal(disputed, SHAPES_DISPUTED);
    assert_true(finished > 90 && commits > 40);
}

TEST(a_status_that_says_done_counts_without_passes)
{
    struct prd_read_result reading =
        read_text("{\"userStories\": [{\"id\": 1, \"title\": \"a\", \"status\": \"completed\"},"
                  "{\"id\": 2, \"title\": \"b\", \"passes\": true},"
                  "{\"id\": 3, \"title\": \"c\", \"status\": \"done\", \"passes\": false},"
                  "{\"id\": 4, \"title\": \"d\", \"status\": \"failed\", \"passes\": false},"
                  "{\"id\": 5, \"title\": \"e\"}]}");
    assert_true(reading.prd.tasks[0].passes);
    assert_true(reading.prd.tasks[1].passes);
    assert_false(reading.prd.tasks[2].passes);
    assert_true(reading.prd.tasks[2].is_disputed);
    assert_int_equal(reading.prd.tasks[2].status, PRD_PENDING);
    assert_int_equal(reading.prd.tasks[3].status, PRD_FAILED);
    assert_int_equal(reading.prd.tasks[4].status, PRD_PENDING);
    assert_string_equal(reading.prd.tasks[0].id, "1");
    assert_non_null(find_rule(&reading, "disputed"));
    done(&reading);
}

TEST(each_dialect_is_known_by_its_shape)
{
    static const struct {
        const char *text;
        enum prd_dialect dialect;
    } rows[] = {
        {"{\"project\":\"p\",\"userStories\":[{\"id\":\"US-1\",\"title\":\"t\",\"passes\":false}]}",
         PRD_RALPH},
        {"{\"name\":\"p\",\"userStories\":[{\"id\":\"US-1\",\"title\":\"t\",\"passes\":false}]}",
         PRD_RALPH_TUI},
        {"{\"project\":\"p\",\"userStories\":[{\"id\":\"U\",\"title\":\"t\",\"labels\":[]}]}",
         PRD_RALPH_TUI},
        {"{\"stories\":[{\"id\":\"U\",\"title\":\"t\",\"status\":\"open\"}]}", PRD_STORIES},
        {"{\"tasks\":[{\"id\":1,\"title\":\"t\",\"status\":\"pending\"}]}", PRD_TASK_MASTER},
        {"{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"t\"}],\"metadata\":{}}}", PRD_TASK_MASTER},
        {"{\"goal\":\"g\",\"tasks\":[{\"id\":\"a\",\"title\":\"t\",\"passes\":true}]}", PRD_ARETE},
        {"[{\"id\":\"a\",\"title\":\"t\"}]", PRD_LIST},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct prd_read_result reading = read_text(rows[i].text);
        assert_int_equal(reading.r, 0);
        assert_int_equal(reading.prd.dialect, rows[i].dialect);
        assert_int_equal(reading.findings.errors, 0);
        done(&reading);
    }
}

TEST(a_tag_of_task_master_is_chosen)
{
    const char *text = "{\"one\":{\"tasks\":[{\"id\":1,\"title\":\"a\",\"priority\":\"high\"}]},"
                       "\"two\":{\"tasks\":[{\"id\":7,\"title\":\"b\",\"dependencies\":[\"7.1\"]},"
                       "{\"id\":8,\"title\":\"c\",\"dependencies\":[\"7.1\"]}]}}";
    struct prd_read_result reading = read_text(text);
    assert_int_equal(reading.r, RONDO_ERR_INVALID);
    assert_non_null(strstr(reading.err.message, "one, two"));
    done(&reading);
    reading = read_tagged(text, "one");
    assert_string_equal(reading.prd.tag, "one");
    assert_int_equal(reading.prd.tasks[0].priority, 1);
    done(&reading);
    reading = read_tagged(text, "two");
    assert_string_equal(reading.prd.tasks[1].dependencies[0], "7");
    done(&reading);
    reading = read_tagged(text, "three");
    assert_int_equal(reading.r, RONDO_ERR_INVALID);
    done(&reading);
}

/** A file of one line, with characters of two bytes. */
static void write_one_line(size_t tasks, struct buf *text)
{
    buf_append_string(text, "{\"userStories\":[");
    for (size_t i = 0; i < tasks; i++) {
        buf_printf(text, "%s{\"id\":\"T%zu\",\"title\":\"\303\244\303\266\"}", i == 0 ? "" : ",",
                   i);
    }
    buf_append_string(text, "]}");
}

TEST(places_in_one_long_line_cost_as_much_as_others)
{
    enum { TASKS = 1000 };
    auto_buf struct buf text = {0};
    struct prd_document document;
    write_one_line(TASKS, &text);
    assert_int_equal(prd_document_open(text.data, text.len, NULL, &document, NULL, NULL), 0);
    for (size_t i = 0; i < TASKS; i++) {
        uint32_t line = 0;
        uint32_t column = 0;
        uint32_t expected = 1;
        size_t at = document.list->as.children[i].at;
        prd_document_place(&document, at, &line, &column);
        for (size_t byte = 0; byte < at; byte++) {
            expected += ((unsigned char)text.data[byte] & 0xc0) != 0x80;
        }
        assert_int_equal(line, 1);
        assert_int_equal(column, expected);
    }
    assert_in_range(document.counted, 1, TASKS * PRD_PLACE_BYTES);
    prd_document_close(&document);
}

TEST(a_place_after_the_end_is_the_end)
{
    uint32_t line = 0;
    uint32_t column = 0;
    struct prd_document document;
    static const char text[] = "[]\n";
    assert_int_equal(prd_document_open(text, strlen(text), NULL, &document, NULL, NULL), 0);
    prd_document_place(&document, 1000, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 1);
    prd_document_close(&document);
}

TEST(bad_json_gives_line_column_and_byte)
{
    struct prd_read_result reading = read_text("{\n  \"userStories\": [\n    {\"id\": 1,}\n  ]\n}");
    assert_int_equal(reading.r, RONDO_ERR_INVALID);
    assert_non_null(strstr(reading.err.message, "3:14: "));
    assert_non_null(strstr(reading.err.message, "(byte 34)"));
    done(&reading);
    reading = read_text("{\"userStories\": [], \"userStories\": []}");
    assert_int_equal(reading.r, RONDO_ERR_INVALID);
    done(&reading);
    reading = read_text("{\"nothing\": 1}");
    assert_non_null(strstr(reading.err.message, "no list of tasks"));
    done(&reading);
}

TEST(duplicate_ids_missing_dependencies_and_cycles_have_places)
{
    struct prd_read_result reading =
        read_text("{\"userStories\": [\n"
                  " {\"id\": \"a\", \"title\": \"t\", \"dependsOn\": [\"c\"]},\n"
                  " {\"id\": \"b\", \"title\": \"t\", \"dependsOn\": [\"a\"]},\n"
                  " {\"id\": \"c\", \"title\": \"t\", \"dependsOn\": [\"b\"]},\n"
                  " {\"id\": \"d\", \"title\": \"t\", \"dependsOn\": [\"a\"]},\n"
                  " {\"id\": \"d\", \"title\": \"t\", \"dependsOn\": [\"x\"]},\n"
                  " {\"id\": 5, \"title\": \"t\", \"dependsOn\": 5}\n"
                  "]}");
    const struct prd_finding *finding = find_rule(&reading, "cycle");
    assert_int_equal(reading.findings.errors, 4);
    finding = find_rule(&reading, "duplicate-id");
    assert_int_equal(finding->line, 6);
    assert_int_equal(finding->column, 2);
    finding = find_rule(&reading, "missing-dependency");
    assert_int_equal(finding->line, 6);
    assert_non_null(strstr(finding->message, "\"x\""));
    size_t cycles = 0;
    for (size_t i = 0; i < reading.findings.count; i++) {
        finding = &reading.findings.items[i];
        if (strcmp(finding->rule, "cycle") == 0 &&
            strstr(finding->message, "circle of 3") != NULL) {
            cycles++;
            assert_non_null(strstr(finding->message, "a -> c -> b -> a"));
        }
    }
    assert_int_equal(cycles, 1);
    struct rondo_error err = {0};
    assert_int_equal(prd_findings_error(&reading.findings, &err), RONDO_ERR_INVALID);
    done(&reading);
}

TEST(counts_that_differ_are_warned_of)
{
    struct prd_read_result reading =
        read_text("{\"userStories\": [{\"id\":\"a\",\"title\":\"t\",\"status\":\"complete\"}],"
                  "\"metadata\":{\"totalTasks\":2,\"completedTasks\":1}}");
    assert_int_equal(reading.findings.errors, 0);
    assert_non_null(strstr(find_rule(&reading, "wrong-count")->message, "totalTasks"));
    done(&reading);
}

/** A list of so many tasks. */
static void make_tasks(size_t count, struct buf *out)
{
    buf_append_string(out, "[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s{\"id\":%zu,\"title\":\"t\",\"dependsOn\":[%zu]}", i == 0 ? "" : ",",
                   i + 1, i == 0 ? count : i);
    }
    buf_append_string(out, "]");
}

TEST(ten_thousand_tasks_are_read_and_one_more_is_refused)
{
    struct buf text = {0};
    make_tasks(LIMIT_PRD_TASKS, &text);
    struct prd_read_result reading = read_text(text.data);
    assert_int_equal(reading.r, 0);
    assert_int_equal(reading.prd.task_count, LIMIT_PRD_TASKS);
    assert_non_null(find_rule(&reading, "cycle")); /* of all tasks */
    done(&reading);
    buf_clear(&text);
    make_tasks(LIMIT_PRD_TASKS + 1, &text);
    reading = read_text(text.data);
    assert_int_equal(reading.r, RONDO_ERR_LIMIT);
    done(&reading);
    buf_fini(&text);
}

TEST(ids_and_criteria_have_limits)
{
    struct buf text = {0};
    for (int more = 0; more < 2; more++) {
        buf_clear(&text);
        buf_printf(&text, "[{\"id\":\"%0*d\",\"title\":\"t\",\"acceptanceCriteria\":[\"x\"",
                   LIMIT_PRD_ID_BYTES + more, 1);
        buf_append_string(&text, "]}]");
        struct prd_read_result reading = read_text(text.data);
        assert_int_equal(reading.findings.errors > 0, more);
        done(&reading);
        buf_clear(&text);
        buf_append_string(&text, "[{\"id\":1,\"title\":\"t\",\"acceptanceCriteria\":[\"x\"");
        for (int i = 1; i < LIMIT_PRD_CRITERIA + more; i++) {
            buf_append_string(&text, ",\"x\"");
        }
        buf_append_string(&text, "]}]");
        reading = read_text(text.data);
        assert_int_equal(reading.findings.errors > 0, more);
        done(&reading);
    }
    buf_fini(&text);
}

TEST(criteria_are_commands_only_when_they_are_nothing_else)
{
    static const struct {
        const char *text;
        const char *command;
    } rows[] = {
        {"`npm test` passes", "npm test"},
        {"`npm test` passes.", "npm test"},
        {"Run `make check`", "make check"},
        {"Verify that `tsc --noEmit` exits with 0", "tsc --noEmit"},
        {"`make` succeeds", "make"},
        {"`npm test` passes for the new module", NULL},
        {"`isValid` passes", NULL},
        {"`npm test`", NULL},
        {"Check `a b`", NULL},
        {"`a` and `b` pass", NULL},
        {"`--help` passes", NULL},
        {"npm test passes", NULL},
        {"The docs say that `npm test` passes", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf text = {0};
        buf_printf(&text, "[{\"id\":1,\"title\":\"t\",\"acceptanceCriteria\":[\"%s\"]}]",
                   rows[i].text);
        struct prd_read_result reading = read_text(text.data);
        const char *command = reading.prd.tasks[0].criteria[0].command;
        if (rows[i].command == NULL) {
            assert_null(command);
        } else {
            assert_string_equal(command, rows[i].command);
        }
        done(&reading);
        buf_fini(&text);
    }
}
