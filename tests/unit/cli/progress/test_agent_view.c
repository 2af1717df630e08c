// SPDX-License-Identifier: Apache-2.0
/* What events of an agent leave on the screen, in the live area and in plain lines. */
#include "cli/progress/agent_view.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/progress/summary.h"
#include "cli/terminal/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct style grey = {.is_terminal = true, .is_unicode = true};
static const struct style piped = {0};

struct agent_view_fixture {
    struct loop_spec spec;
    struct view view;
    struct agent_view agent;
    uint64_t seq;
    struct buf out;
};

static void setup(struct agent_view_fixture *fixture)
{
    *fixture = (struct agent_view_fixture){.spec = loop_spec_default()};
    fixture->spec.kind = memory_dup_string("role");
    fixture->spec.agent_id = memory_dup_string("checker");
    fixture->spec.agent = memory_dup_string("{\"mode\":\"autonomous\"}");
    fixture->spec.max_iterations = 3;
    fixture->spec.max_tokens = 1000;
    view_init(&fixture->view, &fixture->spec);
    agent_view_init(&fixture->agent, &fixture->spec);
}

static void teardown(struct agent_view_fixture *fixture)
{
    agent_view_fini(&fixture->agent);
    loop_spec_fini(&fixture->spec);
    buf_fini(&fixture->out);
}

/** Apply an event. @return what it leaves */
static const char *apply(struct agent_view_fixture *fixture, struct journal_event event)
{
    event.seq = ++fixture->seq;
    event.time_ns = (int64_t)event.seq * NS_PER_S;
    struct journal_entry entry = {
        .is_known = true, .event = event, .type_name = journal_type_name(event.type)};
    view_apply(&fixture->view, &entry);
    buf_clear(&fixture->out);
    agent_view_apply(&fixture->agent, &fixture->view, &entry, &grey, 61, &fixture->out);
    return buf_string(&fixture->out);
}

static void begin(struct agent_view_fixture *fixture)
{
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_ITERATION_STARTED,
                       .iteration_started = {.iteration = 1, .limit = 3},
                   });
    apply(fixture, (struct journal_event){
                       .type = JOURNAL_MODEL_REQUESTED,
                       .model_requested = {.turn = 1},
                   });
}

static struct journal_event reply(const char *words)
{
    return (struct journal_event){
        .type = JOURNAL_MODEL_REPLIED,
        .model_replied = {.turn = 1,
                          .outcome = "ok",
                          .text = words,
                          .tokens = 350,
                          .tokens_in = 300,
                          .tokens_out = 50,
                          .tokens_cached = 150,
                          .cost_micro = 12340},
    };
}

static struct journal_event finished(void)
{
    return (struct journal_event){
        .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = 1,
                               .outcome = "ok",
                               .tokens = 350,
                               .duration_ns = 1234 * NS_PER_MS},
    };
}

TEST(an_iteration_leaves_a_panel_with_its_words)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    assert_string_equal(apply(&fixture, reply("All **good**.\n\n- a\n- b")), "");
    assert_string_equal(apply(&fixture, finished()),
                        "╭─ Agent (iteration 1/3) ──────────────────────────────────╮\n"
                        "│ All **good**.                                            │\n"
                        "│                                                          │\n"
                        "│ • a                                                      │\n"
                        "│ • b                                                      │\n"
                        "╰─────── tokens: 300in/50out | 1234ms | budget: 350/1,000 ─╯\n");
    teardown(&fixture);
}

TEST(an_error_has_a_panel_of_its_own)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    const char *lines =
        apply(&fixture, (struct journal_event){
                            .type = JOURNAL_ITERATION_FINISHED,
                            .iteration_finished = {.iteration = 1,
                                                   .outcome = "error",
                                                   .message = "Model API error: no"},
                        });
    assert_non_null(strstr(lines, "─ Error (iteration 1/3) ─"));
    assert_non_null(strstr(lines, "│ Model API error: no "));
    assert_non_null(strstr(lines, " tokens: 0in/0out | 0ms | budget: 0/1,000 "));
    teardown(&fixture);
}

TEST(each_tool_leaves_a_line)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    apply(&fixture, reply("I look."));
    struct journal_event event = {
        .type = JOURNAL_TOOL_REQUESTED,
        .tool_requested =
            {
                .turn = 1,
                .tool = "run_shell",
                .arguments = "{\"command\":\"ls\"}",
            },
    };
    assert_string_equal(apply(&fixture, event), "  I look.\n");
    event = (struct journal_event){
        .type = JOURNAL_TOOL_FINISHED,
        .tool_finished = {.turn = 1,
                          .tool = "run_shell",
                          .outcome = "ok",
                          .duration_ns = 12 * NS_PER_MS,
                          .output = "a\nb"},
    };
    assert_string_equal(apply(&fixture, event),
                        "  tool run_shell: ok (12ms)  {\"command\":\"ls\"}\n");
    event.tool_finished.outcome = "error";
    event.tool_finished.output = "Error: no\nsuch\033[2J file";
    assert_string_equal(apply(&fixture, event),
                        "  tool run_shell: error (12ms): Error: no such file\n");
    event.tool_finished.outcome = "denied";
    event.tool_finished.output = NULL;
    assert_string_equal(apply(&fixture, event), "  tool run_shell: denied (12ms)\n");
    teardown(&fixture);
}

TEST(words_beside_the_last_call_belong_into_the_panel)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    apply(&fixture, reply("All done."));
    struct journal_event event = {
        .type = JOURNAL_TOOL_REQUESTED,
        .tool_requested = {.tool = "finish_task"},
    };
    assert_string_equal(apply(&fixture, event), "");
    event = (struct journal_event){
        .type = JOURNAL_TOOL_FINISHED,
        .tool_finished = {.tool = "finish_task", .outcome = "ok"},
    };
    assert_string_equal(apply(&fixture, event), "");
    assert_non_null(strstr(apply(&fixture, finished()), "│ All done. "));
    teardown(&fixture);
}

TEST(an_iteration_without_words_shows_the_agents_summary)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    struct journal_event event = finished();
    assert_non_null(strstr(apply(&fixture, event), "│ (no text) "));
    event.iteration_finished.summary = "It *works*.";
    assert_non_null(strstr(apply(&fixture, event), "│ It *works*. "));
    teardown(&fixture);
}

TEST(a_retry_leaves_a_line)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    struct journal_event event = {
        .type = JOURNAL_MODEL_RETRYING,
        .model_retrying = {.attempts = 1, .delay_ns = 4 * NS_PER_S, .message = "rate limited"},
    };
    assert_string_equal(apply(&fixture, event),
                        "  model: rate limited, next attempt in 4.0 s (2 of 5)\n");
    teardown(&fixture);
}

static const char plan[] = "[{\"description\":\"one\",\"status\":\"completed\"},"
                           "{\"description\":\"two\",\"status\":\"failed\"},"
                           "{\"description\":\"three\",\"status\":\"skipped\"},"
                           "{\"description\":\"fo\\u001b[2Jur\",\"status\":\"in_progress\"},"
                           "{\"description\":\"five\",\"status\":\"pending\"}]";

TEST(the_plan_is_a_checklist)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_PLAN_UPDATED,
                        .plan_updated = {.plan = plan},
                    });
    auto_buf struct buf out = {0};
    agent_view_plan(&fixture.agent, &grey, 60, 10, &out);
    assert_string_equal(out.data, "  [x] one\n  [!] two\n  [-] three\n  [>] four\n  [ ] five\n");
    buf_clear(&out);
    agent_view_plan(&fixture.agent, &grey, 60, 3, &out);
    assert_string_equal(out.data, "  [>] four\n  [ ] five\n  (5 steps in all)\n");
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_PLAN_UPDATED,
                        .plan_updated = {.plan = "nonsense"},
                    });
    assert_int_equal(fixture.agent.step_count, 5);
    assert_string_equal(apply(&fixture,
                              (struct journal_event){
                                  .type = JOURNAL_RUN_FINISHED,
                                  .run_finished = {.status = "failed"},
                              }),
                        "  [x] one\n  [!] two\n  [-] three\n  [>] four\n  [ ] five\n");
    teardown(&fixture);
}

static const char *draw(struct agent_view_fixture *fixture, size_t rows, size_t columns)
{
    struct frame_info info = {.style = &grey,
                              .columns = columns,
                              .rows = 24,
                              .now_ns = (int64_t)(fixture->seq + 2) * NS_PER_S};
    buf_clear(&fixture->out);
    agent_view_lines(&fixture->agent, &info, rows, &fixture->out);
    agent_view_activity(&fixture->agent, &fixture->view, &info, &fixture->out);
    return fixture->out.data;
}

TEST(the_live_area_shows_what_streams_in)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    agent_view_text(&fixture.agent, "Let me\nsee: \033[31ma b c d", 24);
    assert_string_equal(draw(&fixture, 10, 14),
                        "  Let me\n  see: a b c\n  d\nThinking (iteration 1/3)...  2.0 s");
    apply(&fixture, reply("Let me see."));
    assert_string_equal(draw(&fixture, 10, 14), "working");
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_MODEL_REQUESTED,
                        .model_requested = {.turn = 2},
                    });
    assert_string_equal(draw(&fixture, 10, 14), "Thinking (iteration 1/3)...  2.0 s");
    teardown(&fixture);
}

TEST(the_live_area_shows_calls_and_retries)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_TOOL_REQUESTED,
                        .tool_requested =
                            {
                                .tool = "run_shell",
                                .arguments = "{\"command\":\"make\"}",
                            },
                    });
    assert_string_equal(draw(&fixture, 10, 60),
                        "  ⠋ tool run_shell  2.0 s  {\"command\":\"make\"}\n1 tool running");
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_TOOL_FINISHED,
                        .tool_finished = {.tool = "run_shell", .outcome = "ok"},
                    });
    assert_string_equal(draw(&fixture, 10, 60), "working");
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_MODEL_RETRYING,
                        .model_retrying = {.delay_ns = 5 * NS_PER_S, .message = "overloaded"},
                    });
    assert_string_equal(draw(&fixture, 10, 60), "model: overloaded, next attempt in 3 s");
    fixture.agent.retry_ns -= 4 * NS_PER_S;
    assert_string_equal(draw(&fixture, 10, 60), "Thinking (iteration 1/3)...  2.0 s");
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_VERIFICATION_STARTED,
                        .verification_started = {.total = 1},
                    });
    assert_string_equal(draw(&fixture, 10, 60), "verifying");
    teardown(&fixture);
}

TEST(the_live_area_fits_whatever_there_is)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    begin(&fixture);
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_PLAN_UPDATED,
                        .plan_updated = {.plan = plan},
                    });
    for (int64_t i = 0; i < AGENT_VIEW_CALLS + 4; i++) {
        apply(&fixture, (struct journal_event){
                            .type = JOURNAL_TOOL_REQUESTED,
                            .tool_requested =
                                {
                                    .index = i,
                                    .tool = "a_tool_with_a_long_name",
                                    .arguments = "{\"漢字\":\"漢字漢字漢字漢字\"}",
                                },
                        });
    }
    apply(&fixture, (struct journal_event){
                        .type = JOURNAL_MODEL_REQUESTED,
                        .model_requested = {.turn = 2},
                    });
    agent_view_text(&fixture.agent, "words\nwords\nwords\nwords words words\nwords", 41);
    for (size_t rows = 0; rows < 20; rows++) {
        for (size_t columns = 12; columns < 90; columns += 7) {
            struct frame_info info = {.style = &grey, .columns = columns, .rows = 24};
            auto_buf struct buf lines = {0};
            agent_view_lines(&fixture.agent, &info, rows, &lines);
            size_t count = 0;
            char *rest = NULL;
            for (char *line = strtok_r((char *)buf_string(&lines), "\n", &rest); line != NULL;
                 line = strtok_r(NULL, "\n", &rest)) {
                assert_true(text_width(line) < columns);
                count++;
            }
            assert_in_range(count, 0, rows);
        }
    }
    teardown(&fixture);
}

TEST(the_header_tells_agent_and_limits)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    auto_buf struct buf out = {0};
    agent_view_header(&fixture.spec, &grey, &out);
    assert_string_equal(out.data, "Autonomous mode — agent: checker\n  Max iterations: 3\n"
                                  "  Token budget: 1,000\n");
    teardown(&fixture);
}

TEST(a_single_answer_is_not_numbered)
{
    struct agent_view_fixture fixture;
    setup(&fixture);
    fixture.agent.is_numbered = false;
    begin(&fixture);
    assert_string_equal(draw(&fixture, 10, 60), "Thinking...  2.0 s");
    assert_non_null(strstr(apply(&fixture, finished()), "─ Agent ─"));
    teardown(&fixture);
}

static void check_plain(const struct journal_event *event, const char *expected)
{
    struct journal_entry entry = {
        .is_known = true, .event = *event, .type_name = journal_type_name(event->type)};
    struct agent_view agent = {0};
    auto_buf struct buf out = {0};
    agent_view_plain(&agent, &entry, &piped, &out);
    assert_string_equal(buf_string(&out), expected);
}

TEST(plain_lines_hold_results_and_no_intents)
{
    struct journal_event event = {
        .type = JOURNAL_MODEL_REQUESTED,
        .model_requested = {.turn = 2, .attempt = 1, .model = "openai:m"},
    };
    check_plain(&event, "");
    event.model_requested.attempt = 2;
    event.model_requested.messages = 3;
    check_plain(&event, "asking openai:m, turn 2, 3 messages, again (2)\n");
    event = reply("Words\nof \033[1mit");
    event.model_replied.calls =
        "[{\"id\":\"1\",\"name\":\"run_shell\"},{\"id\":\"2\",\"name\":\"think\"}]";
    check_plain(&event, "model replied in 0 ms, tokens 300in/50out (150 cached), cost 0.01234, "
                        "calls run_shell, think\n    Words\n    of it\n");
    event = (struct journal_event){
        .type = JOURNAL_MODEL_REPLIED,
        .model_replied = {.outcome = "rate_limited", .message = "quota is used up"},
    };
    check_plain(&event, "model failed in 0 ms: rate_limited, quota is used up\n");
    event = (struct journal_event){
        .type = JOURNAL_TOOL_FINISHED,
        .tool_finished = {.tool = "think", .outcome = "refused", .output = "no\nway"},
    };
    check_plain(&event, "tool think: refused (0ms): no way\n");
    event = (struct journal_event){
        .type = JOURNAL_PLAN_UPDATED,
        .plan_updated = {.plan = plan},
    };
    check_plain(&event, "plan: 1 of 5 steps done, now: four\n");
    event = (struct journal_event){
        .type = JOURNAL_HISTORY_TRIMMED,
        .history_trimmed = {.window = 40, .messages_before = 59, .dropped = 19},
    };
    check_plain(&event, "conversation trimmed: 19 messages dropped, 40 kept\n");
}

TEST(the_summary_is_a_panel_or_plain_lines)
{
    struct summary summary = {.words = (char *)"Deployed **it**.",
                              .display_status = "completed",
                              .state = {.finished = 2, .limit = 10, .tokens = 12345}};
    summary.run.summary.status = RONDO_COMPLETED;
    auto_buf struct buf out = {0};
    agent_view_summary(&summary, &piped, 80, &out);
    assert_string_equal(out.data, "Autonomous Run Complete\n"
                                  "Status: completed | Iterations: 2/10 | Tokens: 12,345\n"
                                  "Summary: Deployed **it**.\n");
    buf_clear(&out);
    agent_view_summary(&summary, &grey, 61, &out);
    assert_string_equal(out.data, "╭─ Autonomous Run Complete ────────────────────────────────╮\n"
                                  "│ Status: completed | Iterations: 2/10 | Tokens: 12,345    │\n"
                                  "│ Summary: Deployed **it**.                                │\n"
                                  "╰──────────────────────────────────────────────────────────╯\n");
}

TEST(the_tail_keeps_the_latest_whole_characters)
{
    struct agent_tail *tail = agent_tail_new();
    for (size_t i = 0; i < AGENT_TAIL_BYTES; i++) {
        agent_tail_add(tail, "漢", 3);
    }
    agent_tail_add(tail, "end", 3);
    auto_buf struct buf out = {0};
    agent_tail_copy(tail, &out);
    assert_in_range(out.len, AGENT_TAIL_BYTES / 2, AGENT_TAIL_BYTES);
    assert_memory_equal(out.data, "漢", 3);
    assert_string_equal(out.data + out.len - 3, "end");
    agent_tail_clear(tail);
    buf_clear(&out);
    agent_tail_copy(tail, &out);
    assert_int_equal(out.len, 0);
    agent_tail_free(tail);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
