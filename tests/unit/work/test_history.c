// SPDX-License-Identifier: Apache-2.0
/* What people and programs are told about the tasks, attempts and checks of a PRD's run. */
#include "work/history.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "support/test.h"

#include <json-c/json.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define COMMIT "0123456789012345678901234567890123456789"

static const char two_tasks[] = "[{\"id\":\"a\",\"title\":\"First\",\"status\":\"pending\"},"
                                "{\"id\":\"b\",\"title\":\"Second\",\"depends\":[\"a\"],"
                                "\"status\":\"pending\"}]";

static struct work_history history;
static int64_t time_ns;

static int set_up(void **state)
{
    (void)state;
    history = (struct work_history){.details = "a"};
    time_ns = SECOND;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    work_history_fini(&history);
    return 0;
}

static void apply(struct journal_event event)
{
    event.time_ns = time_ns;
    time_ns += SECOND;
    work_history_apply(&history, &event);
}

static void read_tasks(const char *tasks)
{
    apply((struct journal_event){.type = JOURNAL_TASKS_READ, .tasks_read = {.tasks = tasks}});
}

static void start(const char *task, int64_t number)
{
    apply((struct journal_event){.type = JOURNAL_TASK_STARTED,
                                 .task_started = {.task = task,
                                                  .attempt = number,
                                                  .run = "0190b3d2-1c4e-7a55-8c1d-2f6e9a0b4c7d",
                                                  .base = COMMIT}});
}

static void check(const char *task, int64_t number, const char *name, const char *status)
{
    apply((struct journal_event){.type = JOURNAL_TASK_CHECKED,
                                 .task_checked = {.task = task,
                                                  .attempt = number,
                                                  .stage = "after",
                                                  .check = name,
                                                  .command = "make test",
                                                  .status = status,
                                                  .exit_code = 2,
                                                  .output = "it broke",
                                                  .output_len = 8}});
}

static void end(const char *task, int64_t number, const char *outcome)
{
    apply((struct journal_event){.type = JOURNAL_TASK_ENDED,
                                 .task_ended = {.task = task,
                                                .attempt = number,
                                                .outcome = outcome,
                                                .message = "why",
                                                .output = "it broke",
                                                .output_len = 8,
                                                .summary = "I did it",
                                                .tokens = 10,
                                                .cost_micro = 20000,
                                                .duration_ns = SECOND}});
}

static void commit(const char *task, int64_t number)
{
    apply((struct journal_event){.type = JOURNAL_TASK_COMMITTED,
                                 .task_committed = {.task = task,
                                                    .attempt = number,
                                                    .commit = COMMIT,
                                                    .branch = "prd/x",
                                                    .files = "[\"x.c\"]",
                                                    .file_count = 1}});
}

static struct json_object *parse(struct buf *text)
{
    struct json_object *root = NULL;
    assert_int_equal(json_parse(buf_string(text), text->len, &root, NULL), 0);
    buf_fini(text);
    return root;
}

static struct json_object *as_json(void)
{
    struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    work_history_json(&history, &writer);
    json_end_object(&writer);
    return parse(&text);
}

static struct json_object *task_as_json(size_t task)
{
    struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    work_history_task_json(&history, task, &writer);
    json_end_object(&writer);
    return parse(&text);
}

static struct json_object *at(struct json_object *array, size_t i)
{
    return json_object_array_get_idx(array, i);
}

#define HISTORY_TEST(name) TEST_WITH(name, set_up, tear_down)

HISTORY_TEST(a_task_has_its_attempts_in_their_order)
{
    read_tasks(two_tasks);
    start("a", 1);
    check("a", 1, "tests", "not_met");
    end("a", 1, "checks_failed");
    start("a", 2);
    check("a", 2, "tests", "met");
    commit("a", 2);
    end("a", 2, "committed");
    auto_json struct json_object *root = as_json();
    struct json_object *task = at(json_member(root, "tasks"), 0);
    struct json_object *attempts = json_member(task, "attempts");
    assert_string_equal(json_get_string(task, "state", ""), "done");
    assert_string_equal(json_get_string(task, "how", ""), "committed");
    assert_string_equal(json_get_string(task, "commit", ""), COMMIT);
    assert_null(json_member(task, "message"));
    assert_int_equal(json_length(attempts), 2);
    assert_string_equal(json_get_string(at(attempts, 0), "outcome", ""), "checks_failed");
    assert_null(json_member(at(attempts, 0), "commit"));
    assert_string_equal(json_get_string(at(attempts, 1), "commit", ""), COMMIT);
    assert_string_equal(json_get_string(at(attempts, 1), "ended", ""), "1970-01-01T00:00:08.000Z");
    assert_int_equal(json_get_int(task, "tokens", 0), 20);
    assert_int_equal(json_get_int(json_member(root, "counts"), "done", 0), 1);
    assert_int_equal(json_get_int(json_member(root, "counts"), "pending", 0), 1);
}

HISTORY_TEST(outputs_are_in_the_details_only)
{
    read_tasks(two_tasks);
    start("a", 1);
    check("a", 1, "tests", "not_met");
    end("a", 1, "checks_failed");
    auto_json struct json_object *list = as_json();
    auto_json struct json_object *task = task_as_json(0);
    struct json_object *short_one =
        at(json_member(at(json_member(list, "tasks"), 0), "attempts"), 0);
    struct json_object *whole = at(json_member(task, "attempts"), 0);
    assert_null(json_member(short_one, "output"));
    assert_null(json_member(at(json_member(short_one, "checks"), 0), "output"));
    assert_string_equal(json_get_string(whole, "output", ""), "it broke");
    assert_string_equal(json_get_string(whole, "summary", ""), "I did it");
    assert_string_equal(json_get_string(at(json_member(whole, "checks"), 0), "output", ""),
                        "it broke");
}

HISTORY_TEST(outputs_of_other_tasks_are_not_kept)
{
    read_tasks(two_tasks);
    start("b", 1);
    check("b", 1, "tests", "not_met");
    end("b", 1, "checks_failed");
    assert_null(history.attempts[0].output);
    assert_null(history.attempts[0].checks[0].output);
    assert_string_equal(history.attempts[0].message, "why");
}

HISTORY_TEST(a_blocked_task_names_the_one_that_it_waits_for)
{
    read_tasks(two_tasks);
    apply((struct journal_event){.type = JOURNAL_TASK_BLOCKED,
                                 .task_blocked = {.task = "b", .by = "a"}});
    auto_json struct json_object *task = task_as_json(1);
    assert_string_equal(json_get_string(task, "state", ""), "blocked");
    assert_string_equal(json_get_string(task, "blocked_by", ""), "a");
    assert_string_equal(json_object_get_string(at(json_member(task, "depends_on"), 0)), "a");
}

HISTORY_TEST(a_file_that_cannot_be_used_is_a_problem_until_it_can)
{
    read_tasks(two_tasks);
    apply((struct journal_event){.type = JOURNAL_TASKS_READ, .tasks_read = {.message = "torn"}});
    assert_string_equal(history.problem, "torn");
    read_tasks(two_tasks);
    assert_null(history.problem);
}

HISTORY_TEST(events_of_tasks_and_attempts_that_are_not_known_change_nothing)
{
    read_tasks(two_tasks);
    start("c", 1);
    check("a", 7, "tests", "met");
    commit("c", 1);
    end("a", 7, "committed");
    apply((struct journal_event){.type = JOURNAL_TASK_BLOCKED, .task_blocked = {.task = "c"}});
    assert_int_equal(history.attempt_count, 0);
}

HISTORY_TEST(of_many_attempts_the_newest_are_kept)
{
    read_tasks(two_tasks);
    for (int64_t i = 1; i <= WORK_HISTORY_ATTEMPTS + 1; i++) {
        start("a", i);
        end("a", i, "interrupted");
    }
    assert_int_equal(history.attempt_count + history.dropped, WORK_HISTORY_ATTEMPTS + 1);
    assert_int_equal(work_history_last(&history, 0)->number, WORK_HISTORY_ATTEMPTS + 1);
    assert_null(work_history_last(&history, 1));
}

HISTORY_TEST(a_long_title_is_cut_between_characters)
{
    char tasks[2000];
    char title[1201] = "";
    for (size_t i = 0; i < 300; i++) {
        memcpy(title + i * 4, "\xf0\x9f\x98\x80", 4);
    }
    snprintf(tasks, sizeof(tasks), "[{\"id\":\"a\",\"title\":\"x%s\",\"status\":\"done\"}]", title);
    read_tasks(tasks);
    auto_json struct json_object *task = task_as_json(0);
    assert_int_equal(strlen(json_get_string(task, "title", "")), 1 + 124 * 4 + 3);
    assert_string_equal(json_get_string(task, "how", ""), "by_hand");
}
