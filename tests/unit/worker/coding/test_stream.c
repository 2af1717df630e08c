// SPDX-License-Identifier: Apache-2.0
/* Recorded shapes of each command line's output, and what is read of them. */
#include "support/test.h"
#include "worker/coding/stream.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"

#include <stdlib.h>
#include <string.h>

/** Everything that was reported, one line each. */
struct heard {
    struct buf text;
    struct coding_stream *stream;
};

static void hear(void *context, const struct coding_event *event)
{
    static const char *const kinds[] = {"says", "calls", "gets"};
    struct heard *heard = context;
    buf_printf(&heard->text, "%s%s%s%s%s: %.*s\n", kinds[event->kind],
               event->is_error ? " error" : "", event->name == NULL ? "" : " ",
               event->name == NULL ? "" : event->name, event->id == NULL ? "" : " with id",
               (int)event->text_len, event->text == NULL ? "" : event->text);
}

static const struct coding_said *read_all(struct heard *heard, enum coding_format format,
                                          const char *text)
{
    *heard = (struct heard){0};
    heard->stream = coding_stream_new(format, hear, heard);
    coding_stream_take(heard->stream, text, strlen(text));
    coding_stream_end(heard->stream);
    return coding_stream_said(heard->stream);
}

static void forget(struct heard *heard)
{
    coding_stream_free(heard->stream);
    buf_fini(&heard->text);
}

static const char claude[] =
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\",\"model\":\"claude-x\"}\n"
    "{\"type\":\"assistant\",\"session_id\":\"s-1\",\"message\":{\"usage\":{\"output_tokens\":1},"
    "\"content\":["
    "{\"type\":\"text\",\"text\":\"I look.\"},"
    "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]}}\n"
    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\","
    "\"is_error\":true,\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}]}}\n"
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\","
    "\"total_cost_usd\":0.0125,\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,"
    "\"cache_creation_input_tokens\":2,\"output_tokens\":7},"
    "\"permission_denials\":[{\"tool_name\":\"Write\"},{\"tool_name\":\"Bash\"}]}\n";

TEST(claude_is_read)
{
    struct heard heard;
    const struct coding_said *said = read_all(&heard, CODING_FORMAT_CLAUDE, claude);
    assert_string_equal(buf_string(&heard.text), "says: I look.\n"
                                                 "calls Bash with id: {\"command\":\"ls\"}\n"
                                                 "gets error with id: no\n"
                                                 "says: Done.\n");
    assert_true(said->has_result && !said->error.is_set);
    assert_string_equal(said->session, "s-1");
    assert_string_equal(said->model, "claude-x");
    assert_int_equal(said->usage.input, 17);
    assert_int_equal(said->usage.output, 7);
    assert_int_equal(said->usage.cached, 5);
    assert_int_equal(said->cost_micro, 12500);
    assert_int_equal(said->denials, 2);
    assert_string_equal(said->denied, "Write");
    assert_string_equal(buf_string(&said->answer), "Done.");
    forget(&heard);
}

TEST(a_success_of_claude_with_is_error_is_a_failure_with_its_status)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_CLAUDE,
                 "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
                 "\"api_error_status\":529,\"result\":\"API Error: Overloaded\"}\n");
    assert_true(said->has_result && said->error.is_set);
    assert_int_equal(said->error.status, 529);
    assert_string_equal(said->error.message, "API Error: Overloaded");
    forget(&heard);
}

TEST(limits_of_claude_are_limits_and_rejected_rates_have_their_time)
{
    struct heard heard;
    const struct coding_said *said = read_all(&heard, CODING_FORMAT_CLAUDE,
                                              "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{"
                                              "\"status\":\"allowed_warning\",\"resetsAt\":1}}\n"
                                              "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{"
                                              "\"status\":\"rejected\",\"resetsAt\":99}}\n"
                                              "{\"type\":\"result\",\"subtype\":\"error_max_"
                                              "turns\",\"is_error\":true,\"errors\":[\"x\"]}\n");
    assert_string_equal(said->limit, "max_turns");
    assert_false(said->error.is_set);
    assert_int_equal(said->resets_ns, INT64_C(99000000000));
    forget(&heard);
}

#define RETRY(attempt, status)                                             \
    "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":" #attempt \
    ",\"max_retries\":10,\"error_status\":" #status ",\"error\":\"authentication_failed\"}\n"

TEST(claude_is_ended_when_its_key_is_refused_again_and_again)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_CLAUDE, RETRY(1, 401) RETRY(2, 401));
    assert_false(said->is_hopeless);
    assert_false(said->error.is_set);
    forget(&heard);
    said = read_all(&heard, CODING_FORMAT_CLAUDE, RETRY(1, 401) RETRY(2, 401) RETRY(3, 401));
    assert_true(said->is_hopeless);
    assert_int_equal(said->error.status, 401);
    forget(&heard);
    said = read_all(&heard, CODING_FORMAT_CLAUDE, RETRY(9, 529));
    assert_false(said->is_hopeless);
    forget(&heard);
}

TEST(codex_is_read)
{
    struct heard heard;
    const struct coding_said *said = read_all(
        &heard, CODING_FORMAT_CODEX,
        "{\"type\":\"thread.started\",\"thread_id\":\"th-1\"}\n{\"type\":\"turn.started\"}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"i0\",\"type\":\"error\",\"message\":\"a "
        "warning\"}}\n"
        "{\"type\":\"item.started\",\"item\":{\"id\":\"i1\",\"type\":\"command_execution\","
        "\"command\":\"ls\",\"status\":\"in_progress\"}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"i1\",\"type\":\"command_execution\","
        "\"command\":\"ls\","
        "\"aggregated_output\":\"a.c\\n\",\"exit_code\":2,\"status\":\"failed\"}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"i2\",\"type\":\"agent_message\",\"text\":"
        "\"Done.\"}}\n"
        "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":24,\"cached_input_tokens\":4,"
        "\"output_tokens\":10,\"reasoning_output_tokens\":3}}\n");
    assert_string_equal(buf_string(&heard.text), "calls shell with id: ls\n"
                                                 "gets error shell with id: a.c\n\n"
                                                 "says: Done.\n");
    assert_true(said->has_result && !said->error.is_set);
    assert_string_equal(said->session, "th-1");
    assert_int_equal(said->usage.input, 24);
    assert_int_equal(said->usage.output, 10);
    assert_int_equal(said->cost_micro, COST_UNKNOWN);
    forget(&heard);
}

TEST(a_failed_turn_of_codex_has_the_status_of_its_message)
{
    struct heard heard;
    const struct coding_said *said = read_all(
        &heard, CODING_FORMAT_CODEX,
        "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n"
        "{\"type\":\"turn.failed\",\"error\":{\"message\":\"exceeded retry limit, last status: "
        "429 Too Many Requests\"}}\n");
    assert_true(said->error.is_set);
    assert_int_equal(said->error.status, 429);
    forget(&heard);
}

TEST(an_error_of_codex_that_a_later_turn_got_over_is_none)
{
    struct heard heard;
    const struct coding_said *said = read_all(&heard, CODING_FORMAT_CODEX,
                                              "{\"type\":\"error\",\"message\":\"Reconnecting\"}\n"
                                              "{\"type\":\"turn.completed\",\"usage\":{}}\n");
    assert_true(said->has_result && !said->error.is_set);
    forget(&heard);
}

TEST(gemini_is_read_and_its_parts_become_whole)
{
    struct heard heard;
    const struct coding_said *said = read_all(
        &heard, CODING_FORMAT_GEMINI,
        "{\"type\":\"init\",\"session_id\":\"g-1\",\"model\":\"gemini-x\"}\n"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":\"task\"}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"I \",\"delta\":true}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"look.\",\"delta\":true}\n"
        "{\"type\":\"tool_use\",\"tool_name\":\"shell\",\"tool_id\":\"t\",\"parameters\":{\"a\":1}}"
        "\n"
        "{\"type\":\"tool_result\",\"tool_id\":\"t\",\"status\":\"error\",\"error\":{\"type\":"
        "\"policy_violation\",\"message\":\"no\"}}\n"
        "{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"input_tokens\":3,\"output_"
        "tokens\":4,\"cached\":1}}\n");
    assert_string_equal(buf_string(&heard.text), "says: I look.\n"
                                                 "calls shell with id: {\"a\":1}\n"
                                                 "gets error with id: no\n");
    assert_true(said->has_result);
    assert_int_equal(said->denials, 1);
    assert_int_equal(said->usage.input, 3);
    forget(&heard);
}

TEST(opencode_sums_its_steps)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_OPENCODE,
                 "{\"type\":\"step_start\",\"sessionID\":\"ses_1\"}\n"
                 "{\"type\":\"tool_use\",\"part\":{\"callID\":\"c\",\"tool\":\"bash\",\"state\":{"
                 "\"status\":\"completed\","
                 "\"input\":{\"command\":\"ls\"},\"output\":\"x\",\"metadata\":{\"exit\":0}}}}\n"
                 "{\"type\":\"step_finish\",\"part\":{\"reason\":\"tool-calls\",\"cost\":0.5,"
                 "\"tokens\":{\"input\":1,\"output\":2,"
                 "\"reasoning\":1,\"cache\":{\"read\":3,\"write\":4}}}}\n"
                 "{\"type\":\"text\",\"part\":{\"text\":\"Done.\"}}\n"
                 "{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\",\"cost\":0.25,\"tokens\":"
                 "{\"input\":1,\"output\":2}}}\n");
    assert_true(said->has_result);
    assert_string_equal(said->session, "ses_1");
    assert_int_equal(said->usage.input, 9);
    assert_int_equal(said->usage.output, 5);
    assert_int_equal(said->cost_micro, 750000);
    forget(&heard);
}

TEST(a_session_of_opencode_that_ends_after_a_call_has_no_result)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_OPENCODE,
                 "{\"type\":\"step_finish\",\"part\":{\"reason\":\"tool-calls\"}}\n");
    assert_false(said->has_result);
    forget(&heard);
}

TEST(an_error_of_opencode_has_its_fields)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_OPENCODE,
                 "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":"
                 "\"slow\",\"statusCode\":503,\"isRetryable\":true}}}");
    assert_int_equal(said->error.status, 503);
    assert_true(said->error.is_retryable);
    assert_string_equal(said->error.kind, "APIError");
    forget(&heard);
}

TEST(pi_reports_failures_in_its_last_message)
{
    struct heard heard;
    const struct coding_said *said = read_all(
        &heard, CODING_FORMAT_PI,
        "{\"type\":\"session\",\"id\":\"p-1\"}\n{\"type\":\"agent_start\"}\n"
        "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":"
        "[{\"type\":\"text\",\"text\":\"hi\"}],"
        "\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":3,\"cacheWrite\":0,\"cost\":{\"total\":"
        "0.001}},\"stopReason\":\"toolUse\"}}\n"
        "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":[],"
        "\"stopReason\":\"error\","
        "\"errorMessage\":\"401 {\\\"type\\\":\\\"error\\\"}\"}}\n{\"type\":\"agent_end\"}\n");
    assert_true(said->has_result && said->error.is_set);
    assert_int_equal(said->error.status, 401);
    assert_int_equal(said->usage.input, 4);
    assert_int_equal(said->cost_micro, 1000);
    forget(&heard);
}

TEST(paragraphs_of_text_are_messages_and_the_last_one_is_the_answer)
{
    struct heard heard;
    const struct coding_said *said = read_all(&heard, CODING_FORMAT_TEXT, "one\ntwo\n\n\nthree");
    assert_string_equal(buf_string(&heard.text), "says: one\ntwo\n\nsays: three\n\n");
    assert_string_equal(buf_string(&said->answer), "three\n");
    forget(&heard);
}

TEST(a_promise_counts_only_alone_on_its_line_of_the_last_words)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_TEXT, "I end with <promise>COMPLETE</promise> then\n");
    assert_false(said->has_promise);
    forget(&heard);
    said = read_all(&heard, CODING_FORMAT_TEXT, "so\n<promise>COMPLETE</promise>\n");
    assert_true(said->has_promise);
    forget(&heard);
    said = read_all(&heard, CODING_FORMAT_TEXT, "<promise>COMPLETE</promise>\n\nnot yet\n");
    assert_false(said->has_promise);
    forget(&heard);
}

TEST(a_line_at_the_limit_is_read_and_one_past_it_is_passed_over)
{
    for (size_t past = 0; past < 2; past++) {
        static const char head[] = "{\"type\":\"thread.started\",\"thread_id\":\"t\",\"x\":\"";
        struct coding_stream *stream = coding_stream_new(CODING_FORMAT_CODEX, NULL, NULL);
        size_t fill = LIMIT_CODING_LINE_BYTES + past - strlen(head) - 2;
        char *filling = memory_new(fill);
        memset(filling, 'x', fill);
        coding_stream_take(stream, head, strlen(head));
        coding_stream_take(stream, filling, fill);
        coding_stream_take(stream, "\"}\n", 3);
        const struct coding_said *said = coding_stream_said(stream);
        assert_string_equal(said->session, past == 0 ? "t" : "");
        assert_int_equal(said->long_lines, past);
        free(filling);
        coding_stream_free(stream);
    }
}

TEST(what_is_not_understood_is_counted_and_passed_over)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_PI, "Loading...\n[1]\n{\"type\":\"new\"}\n\n{\"type\":7}\n");
    assert_int_equal(said->unknown_lines, 4);
    assert_int_equal(heard.text.len, 0);
    forget(&heard);
}

TEST(absurd_numbers_are_no_numbers)
{
    struct heard heard;
    const struct coding_said *said =
        read_all(&heard, CODING_FORMAT_CLAUDE,
                 "{\"type\":\"result\",\"total_cost_usd\":-1,\"usage\":{\"input_tokens\":-5,"
                 "\"output_tokens\":9223372036854775807}}\n");
    assert_int_equal(said->usage.input, 0);
    assert_int_equal(said->usage.output, 0);
    assert_int_equal(said->cost_micro, COST_UNKNOWN);
    forget(&heard);
}
