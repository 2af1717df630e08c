// SPDX-License-Identifier: Apache-2.0
/* The encoding of spans to the letter, and what collectors answer. */
#include "world.h"

TEST(a_span_is_written_to_the_letter)
{
    static const char *const list[] = {"a", "b", NULL};
    struct span span = {.trace_id = "0af7651916cd43dd8448eb211c80319c",
                        .id = "00f067aa0ba902b7",
                        .name = "x",
                        .kind = SPAN_CLIENT,
                        .start_ns = INT64_MAX,
                        .end_ns = 2,
                        .status = SPAN_ERROR,
                        .status_message = "why"};
    attributes_int(&span.attributes, "i", INT64_MIN);
    attributes_double(&span.attributes, "d", 0.5);
    attributes_add(&span.attributes,
                   (struct attribute){.key = "l", .kind = ATTRIBUTE_TEXTS, .texts = list});
    attributes_add(&span.attributes,
                   (struct attribute){.key = "b", .kind = ATTRIBUTE_BOOL, .is_true = true});
    auto_buf struct buf json = {0};
    otlp_write_span(&span, &json);
    assert_string_equal(
        buf_string(&json),
        "{\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"00f067aa0ba902b7\","
        "\"flags\":257,\"name\":\"x\",\"kind\":3,\"startTimeUnixNano\":\"9223372036854775807\","
        "\"endTimeUnixNano\":\"2\",\"attributes\":["
        "{\"key\":\"i\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
        "{\"key\":\"d\",\"value\":{\"doubleValue\":0.5}},"
        "{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"},"
        "{\"stringValue\":\"b\"}]}}},{\"key\":\"b\",\"value\":{\"boolValue\":true}}],"
        "\"status\":{\"code\":2,\"message\":\"why\"}}");
}

TEST(answers_are_read_with_numbers_and_texts)
{
    static const struct {
        const char *body;
        int64_t rejected;
    } cases[] = {
        {"", 0},
        {"{}", 0},
        {"<html>", 0},
        {"[1]", 0},
        {"{\"partialSuccess\":{}}", 0},
        {"{\"partialSuccess\":7}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}", 3},
        {"{\"partialSuccess\":{\"rejectedSpans\":4}}", 4},
        {"{\"partialSuccess\":{\"rejectedDataPoints\":\"5\"}}", 5},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":-3}}", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct otlp_answer answer;
        otlp_read_answer(cases[i].body, strlen(cases[i].body), &answer);
        assert_int_equal(answer.rejected, cases[i].rejected);
    }
}

TEST(a_message_of_a_collector_is_one_short_line)
{
    static const char body[] =
        "{\"partialSuccess\":{\"rejectedSpans\":1,\"errorMessage\":\"a\\nb\\u001b[31m\"}}";
    struct otlp_answer answer;
    otlp_read_answer(body, sizeof(body) - 1, &answer);
    assert_string_equal(answer.message, "a b [31m");
}
