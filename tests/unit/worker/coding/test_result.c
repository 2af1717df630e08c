// SPDX-License-Identifier: Apache-2.0
/* What became of a session: streams with their exit codes, signals and changes. */
#include "support/test.h"
#include "worker/coding/result.h"

#include <string.h>

#define NOW_NS INT64_C(1000000000000)

static struct coding_verdict classify(enum coding_format format, const char *stream_text,
                                      const struct spawn_result *spawned, enum coding_change change)
{
    static const struct coding_exit exits[] = {{41, CODING_AUTH}, {173, CODING_API_TRANSIENT}};
    struct coding_stream *stream = coding_stream_new(format, NULL, NULL);
    coding_stream_take(stream, stream_text, strlen(stream_text));
    coding_stream_end(stream);
    struct coding_facts facts = {.said = coding_stream_said(stream),
                                 .is_text = format == CODING_FORMAT_TEXT,
                                 .spawned = spawned,
                                 .exits = exits,
                                 .exit_count = 2,
                                 .change = change,
                                 .now_ns = NOW_NS};
    struct coding_verdict verdict = coding_classify(&facts);
    coding_stream_free(stream);
    return verdict;
}

static void expect(const char *name, enum coding_format format, const char *text, int exit_code)
{
    struct spawn_result spawned = {.end = SPAWN_EXITED, .exit_code = exit_code};
    struct coding_verdict verdict = classify(format, text, &spawned, CODING_CHANGE_UNKNOWN);
    assert_string_equal(coding_class_name(verdict.outcome), name);
    assert_true((verdict.message[0] == '\0') == (verdict.outcome == CODING_OK));
}

#define CLAUDE_OK    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n"
#define CLAUDE(MORE) "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true," MORE "}\n"

TEST(sessions_of_claude)
{
    expect("ok", CODING_FORMAT_CLAUDE, CLAUDE_OK, 0);
    expect("auth", CODING_FORMAT_CLAUDE, CLAUDE("\"api_error_status\":401"), 1);
    expect("api_transient", CODING_FORMAT_CLAUDE, CLAUDE("\"api_error_status\":429"), 1);
    expect("api_transient", CODING_FORMAT_CLAUDE, CLAUDE("\"api_error_status\":500"), 1);
    expect("failed", CODING_FORMAT_CLAUDE, CLAUDE("\"api_error_status\":400"), 1);
    expect("auth", CODING_FORMAT_CLAUDE,
           CLAUDE("\"result\":\"Invalid API key · Please run /login\""), 1);
    expect("limit", CODING_FORMAT_CLAUDE,
           "{\"type\":\"result\",\"subtype\":\"error_max_budget_usd\",\"is_error\":true}", 1);
    expect("crash", CODING_FORMAT_CLAUDE, "", 1);
    expect("failed", CODING_FORMAT_CLAUDE, CLAUDE_OK, 1);
}

TEST(codex_says_of_500_that_demand_is_high_and_of_others_the_status)
{
#define CODEX(MESSAGE) "{\"type\":\"turn.failed\",\"error\":{\"message\":\"" MESSAGE "\"}}\n"
    expect("api_transient", CODING_FORMAT_CODEX,
           CODEX("We’re currently experiencing high demand, which may cause temporary errors."), 1);
    expect("auth", CODING_FORMAT_CODEX, CODEX("unexpected status 401 Unauthorized: no key"), 1);
    expect("failed", CODING_FORMAT_CODEX, CODEX("demand"), 1);
#undef CODEX
}

TEST(an_exit_with_0_without_a_result_is_a_crash)
{
    expect("crash", CODING_FORMAT_CLAUDE, "{\"type\":\"system\"}\n", 0);
    expect("crash", CODING_FORMAT_GEMINI, "{\"type\":\"init\"}\n", 0);
    expect("crash", CODING_FORMAT_OPENCODE, "", 0);
}

TEST(a_session_that_was_denied_everything_is_no_work)
{
    static const char text[] = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
                               "\"permission_denials\":[{\"tool_name\":\"Write\"}]}\n";
    struct spawn_result spawned = {.end = SPAWN_EXITED};
    struct coding_verdict verdict =
        classify(CODING_FORMAT_CLAUDE, text, &spawned, CODING_CHANGE_UNKNOWN);
    assert_int_equal(verdict.outcome, CODING_NO_WORK);
    assert_non_null(strstr(verdict.message, "Write"));
    verdict = classify(CODING_FORMAT_CLAUDE, text, &spawned, CODING_CHANGE_SOME);
    assert_int_equal(verdict.outcome, CODING_OK);
}

TEST(a_session_that_changed_nothing_is_no_work_where_that_is_known)
{
    struct spawn_result spawned = {.end = SPAWN_EXITED};
    assert_int_equal(
        classify(CODING_FORMAT_CLAUDE, CLAUDE_OK, &spawned, CODING_CHANGE_NONE).outcome,
        CODING_NO_WORK);
}

TEST(quotas_have_their_time)
{
    struct spawn_result spawned = {.end = SPAWN_EXITED, .exit_code = 1};
    struct coding_verdict verdict = classify(CODING_FORMAT_CODEX,
                                             "{\"type\":\"turn.failed\",\"error\":{\"message\":"
                                             "\"You've hit your usage limit. Upgrade, or "
                                             "try again in 1 day 2 hours 3 minutes.\"}}",
                                             &spawned, CODING_CHANGE_UNKNOWN);
    assert_int_equal(verdict.outcome, CODING_API_QUOTA);
    assert_int_equal(verdict.resets_ns, NOW_NS + INT64_C(93780000000000));
    verdict =
        classify(CODING_FORMAT_CLAUDE, CLAUDE("\"result\":\"Claude AI usage limit reached|2000\""),
                 &spawned, CODING_CHANGE_UNKNOWN);
    assert_int_equal(verdict.outcome, CODING_API_QUOTA);
    assert_int_equal(verdict.resets_ns, INT64_C(2000000000000));
    verdict =
        classify(CODING_FORMAT_CLAUDE,
                 "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\","
                 "\"resetsAt\":3000}}\n" CLAUDE("\"api_error_status\":429"),
                 &spawned, CODING_CHANGE_UNKNOWN);
    assert_int_equal(verdict.outcome, CODING_API_QUOTA);
    assert_int_equal(verdict.resets_ns, INT64_C(3000000000000));
}

TEST(words_in_answers_decide_nothing)
{
    expect("ok", CODING_FORMAT_CLAUDE,
           "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
           "\"result\":\"error 401: rate limit, usage limit reached|99\"}\n",
           0);
    expect("ok", CODING_FORMAT_TEXT, "error: 401 Unauthorized, rate limit\n", 0);
}

TEST(a_session_of_pi_in_which_nothing_was_said_has_failed)
{
    expect("failed", CODING_FORMAT_PI,
           "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":[],"
           "\"stopReason\":\"stop\"}}\n{\"type\":\"agent_end\"}\n",
           0);
}

TEST(a_failure_of_pi_counts_though_it_exits_with_0)
{
    expect("api_transient", CODING_FORMAT_PI,
           "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"stopReason\":\"error\","
           "\"errorMessage\":\"500 internal\"}}\n{\"type\":\"agent_end\"}\n",
           0);
}

TEST(exit_codes_count_where_the_stream_is_silent)
{
    expect("auth", CODING_FORMAT_GEMINI, "", 41);
    expect("api_transient", CODING_FORMAT_GEMINI, "", 173);
    expect("failed", CODING_FORMAT_TEXT, "words\n", 3);
}

TEST(signals_and_deadlines)
{
    struct spawn_result spawned = {.end = SPAWN_SIGNALLED, .signal = 11};
    assert_int_equal(classify(CODING_FORMAT_CLAUDE, CLAUDE_OK, &spawned, 0).outcome, CODING_CRASH);
    spawned = (struct spawn_result){.end = SPAWN_TIMED_OUT, .reason = "wrote nothing for 5s"};
    assert_int_equal(classify(CODING_FORMAT_CLAUDE, "", &spawned, 0).outcome, CODING_TIMEOUT);
    assert_int_equal(classify(CODING_FORMAT_CLAUDE, CLAUDE_OK, &spawned, 0).outcome, CODING_OK);
    static const char refused[] = "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":3,"
                                  "\"error_status\":401,\"error\":\"authentication_failed\"}\n";
    assert_int_equal(classify(CODING_FORMAT_CLAUDE, refused, &spawned, 0).outcome, CODING_AUTH);
    spawned = (struct spawn_result){.end = SPAWN_CANCELLED, .reason = "cancelled"};
    assert_int_equal(classify(CODING_FORMAT_GEMINI, "", &spawned, 0).outcome, CODING_KILLED);
}

#define GEMINI_ERROR(message)                                                    \
    "{\"type\":\"result\",\"status\":\"error\",\"error\":{\"type\":\"unknown\"," \
    "\"message\":" message "}}\n"

TEST(gemini_has_the_status_in_its_message_or_in_its_exit_code)
{
    struct spawn_result spawned = {.end = SPAWN_EXITED, .exit_code = 145};
    static const char answer[] = GEMINI_ERROR(
        "\"[API Error: {\\\"error\\\":{\\\"code\\\":401,\\\"message\\\":\\\"no\\\",\\\"status\\\":"
        "\\\"UNAUTHENTICATED\\\"}}]\"");
    struct coding_verdict verdict = classify(CODING_FORMAT_GEMINI, answer, &spawned, 0);
    assert_int_equal(verdict.outcome, CODING_AUTH);
    assert_string_equal(verdict.message, "HTTP 401: no");
    spawned.exit_code = 1;
    assert_int_equal(classify(CODING_FORMAT_GEMINI, answer, &spawned, 0).outcome, CODING_AUTH);
    static const char words[] = GEMINI_ERROR("\"[API Error: Too many requests]\"");
    assert_int_equal(classify(CODING_FORMAT_GEMINI, words, &spawned, 0).outcome, CODING_FAILED);
    static const char torn[] = GEMINI_ERROR("\"[API Error: {}{]\"");
    assert_int_equal(classify(CODING_FORMAT_GEMINI, torn, &spawned, 0).outcome, CODING_FAILED);
}

TEST(names_of_classes_are_read_as_written)
{
    for (int i = 0; i < CODING_CLASS_COUNT; i++) {
        enum coding_class found = CODING_CLASS_COUNT;
        assert_true(coding_class_from_name(coding_class_name((enum coding_class)i), &found));
        assert_int_equal(found, i);
    }
    enum coding_class found = CODING_OK;
    assert_false(coding_class_from_name("nonsense", &found));
}
