// SPDX-License-Identifier: Apache-2.0
/* The live area: what it shows of a run, and that it fits whatever the terminal is. */
#include "cli/progress/view.h"
#include "support/test.h"

#include "base/clock.h"
#include "cli/terminal/text.h"

#include <locale.h>
#include <string.h>

static const struct style plain = {.is_terminal = true, .is_unicode = true};

struct view_fixture {
    struct loop_spec spec;
    struct view view;
    uint64_t seq;
};

static void setup(struct view_fixture *fixture)
{
    *fixture = (struct view_fixture){.spec = loop_spec_default()};
    fixture->spec.max_iterations = 60;
    loop_spec_add_condition(&fixture->spec, "all_tests_pass", "make test", "given", 0, NULL);
    loop_spec_add_condition(&fixture->spec, "build_succeeds", "make", "given", 0, NULL);
    view_init(&fixture->view, &fixture->spec);
}

/** Apply an event. @return the line that came due, or "" */
static const char *apply(struct view_fixture *fixture, struct journal_event event)
{
    static char line[512];
    event.seq = ++fixture->seq;
    event.time_ns = (int64_t)event.seq * NS_PER_S;
    struct journal_entry entry = {
        .is_known = true, .event = event, .type_name = journal_type_name(event.type)};
    view_apply(&fixture->view, &entry);
    auto_buf struct buf out = {0};
    if (view_line_is_due(&fixture->view, &entry)) {
        view_take_line(&fixture->view, &plain, &out);
    }
    snprintf(line, sizeof(line), "%s", buf_string(&out));
    return line;
}

static void play_iteration(struct view_fixture *fixture, int64_t number)
{
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_ITERATION_STARTED,
                       .iteration_started = {.iteration = number, .limit = 60},
                   });
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_ITERATION_FINISHED,
                       .iteration_finished = {.iteration = number,
                                              .outcome = "ok",
                                              .duration_ns = 1200 * NS_PER_MS,
                                              .tokens = 1200,
                                              .cost_micro = 250000},
                   });
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_VERIFICATION_STARTED,
                       .verification_started = {.iteration = number, .total = 2},
                   });
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_CONDITION_EVALUATED,
                       .condition_evaluated = {.condition = "build_succeeds",
                                               .status = "met",
                                               .reason = "passed",
                                               .duration_ns = 300 * NS_PER_MS},
                   });
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_CONDITION_EVALUATED,
                       .condition_evaluated = {.condition = "all_tests_pass",
                                               .status = "not_met",
                                               .reason = "failed",
                                               .exit_code = 2,
                                               .duration_ns = 900 * NS_PER_MS},
                   });
}

TEST(an_iteration_leaves_one_line_when_its_conditions_are_known)
{
    struct view_fixture fixture;
    setup(&fixture);
    play_iteration(&fixture, 1);
    const char *line = apply(&fixture, (struct journal_event){
                                           .type = JOURNAL_VERIFICATION_FINISHED,
                                           .verification_finished = {.iteration = 1},
                                       });
    assert_string_equal(line, "   1  ok  1.2 s   tests not met \xc2\xb7 build met");
    line = apply(&fixture, (struct journal_event){
                               .type = JOURNAL_CHECKPOINT_SAVED,
                               .checkpoint_saved = {.number = 1},
                           });
    assert_string_equal(line, "");
    loop_spec_fini(&fixture.spec);
}

TEST(an_iteration_that_is_not_verified_leaves_its_line_with_the_next_event)
{
    struct view_fixture fixture;
    setup(&fixture);
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_ITERATION_STARTED,
                        .iteration_started = {.iteration = 1, .limit = 60},
                    });
    const char *line = apply(
        &fixture,
        (struct journal_event){
            .type = JOURNAL_ITERATION_FINISHED,
            .iteration_finished = {.iteration = 1, .outcome = "failed", .message = "exit\ncode 1"},
        });
    assert_string_equal(line, "");
    line = apply(&fixture, (struct journal_event){
                               .type = JOURNAL_RUN_FINISHED,
                               .run_finished = {.status = "cancelled"},
                           });
    assert_string_equal(line, "   1  failed  0 ms  exit code 1");
    loop_spec_fini(&fixture.spec);
}

static void draw(const struct view_fixture *fixture, size_t columns, size_t rows, struct buf *out)
{
    static const char worker_line[] = "\033[31msearching \xe6\xbc\xa2\xe5\xad\x97 in a long line";
    struct frame_info info = {
        .style = &plain,
        .columns = columns,
        .rows = rows,
        .now_ns = 20 * NS_PER_S,
        .worker_line = worker_line,
        .worker_line_len = strlen(worker_line),
    };
    view_frame(&fixture->view, &info, out);
}

TEST(the_frame_shows_progress_conditions_use_and_activity)
{
    struct view_fixture fixture;
    setup(&fixture);
    play_iteration(&fixture, 1);
    auto_buf struct buf out = {0};
    draw(&fixture, 100, 24, &out);
    assert_non_null(strstr(out.data, "iteration 1 of 60"));
    assert_non_null(strstr(out.data, "1 %"));
    assert_non_null(strstr(out.data, "\xe2\x9c\x97 all_tests_pass"));
    assert_non_null(strstr(out.data, "exit code 2"));
    assert_non_null(strstr(out.data, "\xe2\x9c\x93 build_succeeds"));
    assert_non_null(strstr(out.data, "1,200 tokens"));
    assert_non_null(strstr(out.data, "verifying"));
    loop_spec_fini(&fixture.spec);
}

TEST(no_line_of_a_frame_reaches_the_last_column)
{
    struct view_fixture fixture;
    setup(&fixture);
    play_iteration(&fixture, 1);
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_ITERATION_STARTED,
                        .iteration_started = {.iteration = 2, .limit = 60},
                    });
    for (size_t columns = 2; columns < 140; columns++) {
        auto_buf struct buf out = {0};
        draw(&fixture, columns, 24, &out);
        char *rest = NULL;
        for (char *line = strtok_r(out.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            assert_true(text_width(line) < columns);
            assert_null(strchr(line, '\033'));
        }
    }
    loop_spec_fini(&fixture.spec);
}

TEST(more_conditions_than_rows_become_one_line)
{
    struct view_fixture fixture;
    setup(&fixture);
    play_iteration(&fixture, 1);
    auto_buf struct buf out = {0};
    draw(&fixture, 80, 6, &out);
    assert_null(strstr(out.data, "all_tests_pass"));
    assert_non_null(strstr(out.data, "1 of 2 exit conditions met"));
    loop_spec_fini(&fixture.spec);
}

TEST(an_event_of_a_newer_version_does_not_disturb)
{
    struct view_fixture fixture;
    setup(&fixture);
    struct journal_entry entry = {.type_name = "x.y", .event = {.seq = ++fixture.seq}};
    view_apply(&fixture.view, &entry);
    play_iteration(&fixture, 1);
    assert_int_equal(fixture.view.state.iteration, 1);
    loop_spec_fini(&fixture.spec);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
