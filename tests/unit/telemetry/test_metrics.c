// SPDX-License-Identifier: Apache-2.0
/* Counting events, and the two forms of what was counted. */
#include "telemetry/metrics.h"
#include "world.h"

static void count_event(struct metrics *metrics, const char *run_id, uint64_t seq, const char *type,
                        const char *data)
{
    struct journal_entry entry = {
        .run_id = run_id, .data = data, .type_name = type, .is_known = true};
    struct json_object *root = NULL;
    assert_int_equal(journal_decode(type, data, strlen(data), &entry.event, &root, NULL), 0);
    entry.event.seq = seq;
    metrics_count(metrics, &entry);
    json_object_put(root);
}

static char *written(struct metrics *metrics, const struct metrics_gauge *gauges, size_t count)
{
    struct buf text = {0};
    metrics_write(metrics, gauges, count, &text);
    return buf_steal(&text);
}

static void assert_line(struct metrics *metrics, const char *line)
{
    auto_free char *text = written(metrics, NULL, 0);
    auto_buf struct buf whole = {0};
    buf_printf(&whole, "\n%s\n", line);
    if (strstr(text, buf_string(&whole)) == NULL) {
        fail_msg("there is no line '%s' in\n%s", line, text);
    }
}

TEST(events_are_counted_by_their_labels)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 1, "run.created", "{\"agent_id\":\"bob\"}");
    count_event(metrics, RUN_A, 3, "iteration.finished",
                "{\"iteration\":1,\"outcome\":\"ok\",\"duration_ns\":7000000}");
    count_event(metrics, RUN_A, 4, "gate.denied", "{\"action\":\"iterate\",\"verdict\":\"deny\"}");
    count_event(metrics, RUN_A, 5, "checkpoint.saved",
                "{\"number\":1,\"how\":\"final\",\"bytes\":7,\"duration_ns\":2000000}");
    count_event(metrics, RUN_A, 6, "run.finished", "{\"status\":\"completed\"}");
    assert_line(metrics, "rondo_checkpoint_duration_seconds_sum 0.002");
    assert_line(metrics, "rondo_runs_started_total{agent=\"bob\"} 1");
    assert_line(metrics, "rondo_iterations_total{outcome=\"ok\"} 1");
    assert_line(metrics, "rondo_iteration_duration_seconds_bucket{le=\"0.005\"} 0");
    assert_line(metrics, "rondo_iteration_duration_seconds_bucket{le=\"0.01\"} 1");
    assert_line(metrics, "rondo_iteration_duration_seconds_bucket{le=\"+Inf\"} 1");
    assert_line(metrics, "rondo_iteration_duration_seconds_sum 0.007");
    assert_line(metrics, "rondo_policy_denials_total{action=\"iterate\",verdict=\"deny\"} 1");
    assert_line(metrics, "rondo_runs_finished_total{status=\"completed\"} 1");
    metrics_free(metrics);
}

TEST(tasks_are_counted_by_what_came_of_them)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 2, "task.checked",
                "{\"task\":\"a\",\"attempt\":1,\"stage\":\"merged\",\"name\":\"tests\","
                "\"status\":\"not_met\"}");
    count_event(metrics, RUN_A, 3, "task.ended",
                "{\"task\":\"a\",\"attempt\":1,\"outcome\":\"conflict\","
                "\"duration_ns\":2000000000}");
    count_event(metrics, RUN_A, 4, "task.ended",
                "{\"task\":\"b\",\"attempt\":1,\"outcome\":\"committed\","
                "\"duration_ns\":1000000000}");
    count_event(metrics, RUN_A, 5, "task.failed", "{\"task\":\"a\",\"attempt\":3}");
    count_event(metrics, RUN_A, 6, "task.blocked", "{\"task\":\"c\",\"depends\":\"a\"}");
    assert_line(metrics, "rondo_task_checks_total{stage=\"merged\",status=\"not_met\"} 1");
    assert_line(metrics, "rondo_task_attempts_total{outcome=\"conflict\"} 1");
    assert_line(metrics, "rondo_task_attempts_total{outcome=\"committed\"} 1");
    assert_line(metrics, "rondo_task_attempt_duration_seconds_sum 3");
    assert_line(metrics, "rondo_tasks_total{outcome=\"done\"} 1");
    assert_line(metrics, "rondo_tasks_total{outcome=\"failed\"} 1");
    assert_line(metrics, "rondo_tasks_total{outcome=\"blocked\"} 1");
    metrics_free(metrics);
}

TEST(tokens_go_to_the_model_that_was_asked)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 2, "model.requested", "{\"turn\":1,\"model\":\"openai:x\"}");
    count_event(metrics, RUN_A, 3, "model.replied",
                "{\"turn\":1,\"outcome\":\"ok\",\"tokens_in\":10,\"tokens_out\":2,"
                "\"cost_micro\":1500000}");
    assert_line(metrics, "rondo_model_tokens_total{model=\"openai:x\",kind=\"input\"} 10");
    assert_line(metrics, "rondo_model_cost_total{model=\"openai:x\"} 1.5");
    metrics_free(metrics);
}

TEST(what_consolidation_used_counts_for_its_model)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 9, "memory.consolidation_finished",
                "{\"outcome\":\"ok\",\"model\":\"openai:x\",\"tokens_in\":10,\"tokens_out\":2,"
                "\"cost_micro\":1500000}");
    assert_line(metrics, "rondo_model_tokens_total{model=\"openai:x\",kind=\"output\"} 2");
    assert_line(metrics, "rondo_model_cost_total{model=\"openai:x\"} 1.5");
    metrics_free(metrics);
}

TEST(what_a_fork_has_copied_counts_once)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 1, "run.created",
                "{\"agent_id\":\"bob\",\"forked_from\":\"" RUN_B "\",\"forked_seq\":3}");
    for (uint64_t seq = 3; seq <= 4; seq++) {
        count_event(metrics, RUN_A, seq, "iteration.finished", "{\"outcome\":\"ok\"}");
    }
    assert_line(metrics, "rondo_iterations_total{outcome=\"ok\"} 1");
    metrics_free(metrics);
}

TEST(labels_are_bounded)
{
    struct metrics *metrics = metrics_new();
    for (int i = 0; i < METRICS_MAX_SERIES + 3; i++) {
        char data[64];
        snprintf(data, sizeof(data), "{\"agent_id\":\"a%d\"}", i);
        count_event(metrics, RUN_A, 1, "run.created", data);
    }
    assert_line(metrics, "rondo_runs_started_total{agent=\"a199\"} 1");
    assert_line(metrics, "rondo_runs_started_total{agent=\"other\"} 3");
    metrics_free(metrics);
}

TEST(a_label_is_escaped_and_cut_between_characters)
{
    struct metrics *metrics = metrics_new();
    const char *quoted[] = {"a\"b\\c\nd", "200"};
    metrics_add(metrics, "rondo_http_requests_total", quoted, 1);
    assert_line(metrics, "rondo_http_requests_total{route=\"a\\\"b\\\\c\\nd\",status=\"200\"} 1");
    char most[METRICS_LABEL_BYTES + 2] = "";
    memset(most, 'x', METRICS_LABEL_BYTES - 1);
    memcpy(most + METRICS_LABEL_BYTES - 1, "\xc3\xa4", 3);
    const char *cut[] = {most, "1"};
    metrics_add(metrics, "rondo_http_requests_total", cut, 1);
    auto_free char *text = written(metrics, NULL, 0);
    assert_non_null(strstr(text, "x\",status=\"1\"}"));
    assert_null(strstr(text, "\xc3"));
    metrics_free(metrics);
}

TEST(gauges_of_others_are_in_their_place)
{
    struct metrics *metrics = metrics_new();
    struct metrics_gauge gauges[] = {{"rondo_runs", "state=\"running\"", 3},
                                     {"rondo_http_streams", NULL, 2}};
    auto_free char *text = written(metrics, gauges, 2);
    assert_non_null(strstr(text, "# TYPE rondo_runs gauge\nrondo_runs{state=\"running\"} 3\n"));
    assert_non_null(strstr(text, "\nrondo_http_streams 2\n"));
    assert_null(strstr(text, "rondo_queue_length"));
    metrics_free(metrics);
}

TEST(the_form_of_otlp_is_json_with_long_numbers_as_texts)
{
    struct metrics *metrics = metrics_new();
    count_event(metrics, RUN_A, 3, "iteration.finished",
                "{\"outcome\":\"ok\",\"duration_ns\":7000000}");
    struct metrics_gauge gauge = {"rondo_runs", "state=\"running\"", 3};
    auto_buf struct buf json = {0};
    buf_append_string(&json, "[");
    metrics_write_otlp(metrics, &gauge, 1, 42, &json);
    buf_append_string(&json, "]");
    auto_json struct json_object *root = NULL;
    assert_int_equal(json_parse(json.data, json.len, &root, NULL), 0);
    assert_non_null(strstr(json.data, "\"timeUnixNano\":\"42\""));
    assert_non_null(strstr(json.data, "\"count\":\"1\""));
    assert_non_null(strstr(json.data, "\"name\":\"rondo_iterations\""));
    assert_non_null(
        strstr(json.data, "{\"key\":\"state\",\"value\":{\"stringValue\":\"running\"}}"));
    metrics_free(metrics);
}
