// SPDX-License-Identifier: Apache-2.0
/* What a terminal shows while the tasks of a PRD are worked on. */
#include "cli/progress/prd_view.h"

#include "base/clock.h"
#include "cli/terminal/text.h"
#include "support/test.h"

#include <locale.h>
#include <string.h>

static const struct style plain = {.is_terminal = true, .is_unicode = true};

static struct prd_view prd;
static struct buf shown;
static int64_t time_ns;

static int set_up(void **state)
{
    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    time_ns = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    prd_view_fini(&prd);
    buf_fini(&shown);
    prd = (struct prd_view){0};
    return 0;
}

static bool apply(struct journal_event event)
{
    event.time_ns = time_ns += NS_PER_S;
    const struct journal_entry entry = {
        .is_known = true, .event = event, .type_name = journal_type_name(event.type)};
    return prd_view_apply(&prd, &entry, &plain, 80, &shown);
}

static void read_tasks(const char *tasks)
{
    apply((struct journal_event){.type = JOURNAL_TASKS_READ, .tasks_read = {.tasks = tasks}});
}

static void start(const char *task, int64_t number)
{
    apply((struct journal_event){.type = JOURNAL_TASK_STARTED,
                                 .task_started = {.task = task, .attempt = number}});
}

static void end(const char *task, int64_t number, const char *outcome, const char *message)
{
    apply((struct journal_event){.type = JOURNAL_TASK_ENDED,
                                 .task_ended = {.task = task,
                                                .attempt = number,
                                                .outcome = outcome,
                                                .message = message,
                                                .cost_micro = 250000,
                                                .duration_ns = 2 * NS_PER_S}});
}

static const char two_tasks[] = "[{\"id\":\"a\",\"title\":\"First\",\"status\":\"pending\"},"
                                "{\"id\":\"b\",\"title\":\"Second\",\"status\":\"pending\"}]";

static const char *lines(size_t rows, size_t columns)
{
    static struct buf text;
    const struct frame_info info = {
        .style = &plain, .columns = columns, .rows = 24, .now_ns = time_ns + 3 * NS_PER_S};
    buf_clear(&text);
    prd_view_lines(&prd, &info, rows, &text);
    return buf_string(&text);
}

#define VIEW_TEST(name) TEST_WITH(name, set_up, tear_down)

VIEW_TEST(an_attempt_that_ended_leaves_one_line)
{
    read_tasks(two_tasks);
    start("a", 1);
    apply((struct journal_event){
        .type = JOURNAL_TASK_COMMITTED,
        .task_committed = {.task = "a", .attempt = 1, .commit = "0123456789abcdef0123"}});
    end("a", 1, "committed", NULL);
    assert_string_equal(buf_string(&shown),
                        "  \u2713 a First, 2.0 s, cost 0.25, commit 0123456789\n");
}

VIEW_TEST(a_failed_attempt_says_why)
{
    read_tasks(two_tasks);
    start("b", 2);
    end("b", 2, "checks_failed", "`make test` failed");
    assert_string_equal(buf_string(&shown), "  \u2717 b Second, attempt 2, 2.0 s, cost 0.25: "
                                            "checks_failed: `make test` failed\n");
}

VIEW_TEST(attempts_under_way_have_a_line_each)
{
    read_tasks(two_tasks);
    start("a", 1);
    start("b", 3);
    assert_non_null(strstr(lines(5, 80), " a  attempt 1  4.0 s  First\n"));
    assert_non_null(strstr(lines(5, 80), " b  attempt 3  3.0 s  Second\n"));
}

VIEW_TEST(what_has_no_room_is_counted)
{
    read_tasks(two_tasks);
    start("a", 1);
    start("b", 1);
    assert_string_equal(lines(1, 80), "  and 2 more attempts\n");
    assert_string_equal(lines(0, 80), "");
}

VIEW_TEST(no_line_is_wider_than_the_terminal)
{
    read_tasks("[{\"id\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"title\":\"First of "
               "many\",\"status\":\"pending\"}]");
    start("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1);
    const char *line = lines(1, 30);
    assert_true(text_width(line) <= 30);
}

VIEW_TEST(control_characters_of_a_task_reach_no_terminal)
{
    read_tasks("[{\"id\":\"a\\u001b[2J\",\"title\":\"\\u001b]0;x\\u0007T\\u202e\","
               "\"status\":\"pending\"}]");
    start("a\033[2J", 1);
    assert_null(strchr(lines(1, 80), '\033'));
    end("a\033[2J", 1, "worker_failed", "\033[31mred");
    assert_null(strchr(buf_string(&shown), '\033'));
    assert_null(strchr(buf_string(&shown), '\a'));
}

VIEW_TEST(the_head_counts_tasks_that_the_file_still_has)
{
    uint64_t done = 0;
    uint64_t total = 0;
    auto_buf struct buf head = {0};
    read_tasks(two_tasks);
    start("a", 1);
    end("a", 1, "committed", NULL);
    read_tasks("[{\"id\":\"b\",\"title\":\"Second\",\"status\":\"pending\"}]");
    prd_view_head(&prd, &done, &total, &head);
    assert_string_equal(buf_string(&head), "0 of 1 tasks done");
    assert_int_equal(done, 0);
    assert_int_equal(total, 1);
}

VIEW_TEST(events_that_are_none_of_tasks_are_left_to_others)
{
    assert_false(apply((struct journal_event){.type = JOURNAL_NOTE}));
    assert_false(apply((struct journal_event){.type = JOURNAL_ITERATION_STARTED}));
    assert_int_equal(shown.len, 0);
}
