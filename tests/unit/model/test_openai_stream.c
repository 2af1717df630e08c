// SPDX-License-Identifier: Apache-2.0
/* OpenAI Chat Completions as a stream: pieces, cut anywhere, from servers of many habits. */
#include "asking.h"

#include <stdlib.h>
#include <string.h>

#define EVENT(json)    "data: " json "\n\n"
#define DELTA(members) EVENT("{\"choices\":[{\"index\":0,\"delta\":{" members "}}]}")
#define STOP(reason) \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}")
#define USAGE EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}")
#define DONE  EVENT("[DONE]")

static struct model_reply stream(struct asking *asking, const char *events)
{
    http_peer_reply(asking->peer, 200, STREAM_TYPE, events);
    if (asking->message_count == 0) {
        asking_user(asking, "hi");
    }
    return asking_stream(asking);
}

#define NAMED                                                                \
    EVENT("{\"model\":\"m-2026\",\"choices\":[{\"index\":0,\"delta\":{}}]}") \
    EVENT("{\"model\":\"another\",\"choices\":[{\"index\":0,\"delta\":{}}]}")
#define SIMPLE                                       \
    DELTA("\"role\":\"assistant\",\"content\":\"\"") \
    DELTA("\"content\":\"Gr\\u00fc\\u00dfe, \"")     \
    DELTA("\"content\":\"w\xc3\xb6rld\"") STOP("stop") USAGE DONE

TEST(pieces_become_a_text_and_are_heard)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = stream(&asking, NAMED SIMPLE);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.model_name, "m-2026");
    assert_string_equal(reply.text, "Grüße, wörld");
    assert_string_equal(buf_string(&asking.text), "Grüße, wörld");
    assert_int_equal(reply.stop, MODEL_STOP_END);
    assert_int_equal(reply.usage.input, 9);
    assert_int_equal(reply.usage.output, 4);
    assert_true(reply.first_token_ns > 0 && reply.first_token_ns <= reply.duration_ns);
    assert_non_null(strstr(asking_body(&asking, 0),
                           ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_stream_may_be_cut_into_single_bytes)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                "Connection: close\r\n\r\n" SIMPLE;
    http_peer_reply_raw(asking.peer,
                        &(struct peer_reply){.bytes = bytes, .piece_bytes = 1, .cuts = true});
    asking_user(&asking, "hi");
    struct model_reply reply = asking_stream(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "Grüße, wörld");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(calls_come_in_pieces_by_their_index)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = stream(
        &asking,
        DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{"
              "\"name\":\"read\",\"arguments\":\"\"}}]")
            DELTA("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\"\"}}]")
                DELTA("\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"think\","
                      "\"arguments\":\"{\"}},{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]")
                    DELTA("\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"}\"}}]")
                        STOP("tool_calls") USAGE DONE);
    assert_int_equal(reply.call_count, 2);
    assert_string_equal(reply.calls[0].id, "a");
    assert_string_equal(reply.calls[0].name, "read");
    assert_string_equal(reply.calls[0].arguments, "{\"p\":1}");
    assert_string_equal(reply.calls[1].id, "b");
    assert_string_equal(reply.calls[1].name, "think");
    assert_string_equal(reply.calls[1].arguments, "{}");
    assert_int_equal(reply.stop, MODEL_STOP_TOOLS);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(calls_under_one_index_are_told_apart_by_their_ids)
{
    struct asking asking;
    asking_open(&asking, "google", "m", NULL);
    struct model_reply reply = stream(
        &asking, DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\","
                       "\"arguments\":\"{}\"}}]")
                     DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":"
                           "\"y\",\"arguments\":\"{\\\"k\\\":2}\"}}]") STOP("stop") DONE);
    assert_int_equal(reply.call_count, 2);
    assert_string_equal(reply.calls[1].name, "y");
    assert_string_equal(reply.calls[1].arguments, "{\"k\":2}");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(calls_without_an_index_are_continued_by_the_last)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = stream(
        &asking, DELTA("\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"x\"}}]")
                     DELTA("\"tool_calls\":[{\"function\":{\"arguments\":\"{}\"}}]")
                         DELTA("\"tool_calls\":[{\"id\":\"b\",\"function\":{\"name\":\"y\"}}]")
                             DELTA("\"tool_calls\":[{\"function\":{\"arguments\":\"[]\"}}]")
                                 STOP("tool_calls") DONE);
    assert_int_equal(reply.call_count, 2);
    assert_string_equal(reply.calls[0].arguments, "{}");
    assert_string_equal(reply.calls[1].arguments, "[]");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(reasoning_is_heard_apart)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply =
        stream(&asking, DELTA("\"reasoning_content\":\"hm\"") DELTA("\"reasoning\":\"!\"")
                            DELTA("\"content\":\"yes\"") STOP("stop") DONE);
    assert_string_equal(reply.thinking, "hm!");
    assert_string_equal(buf_string(&asking.thinking), "hm!");
    assert_string_equal(reply.text, "yes");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_whole_reply_to_a_stream_is_taken)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    http_peer_reply(asking.peer, 200, JSON_TYPE,
                    " {\"choices\":[{\"message\":{\"content\":\"all\"}}]}");
    asking_user(&asking, "hi");
    struct model_reply reply = asking_stream(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "all");
    assert_string_equal(buf_string(&asking.text), "all");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_stream_without_done_ends_with_its_reason)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = stream(&asking, DELTA("\"content\":\"x\"") STOP("length"));
    assert_int_equal(reply.failure, MODEL_OK);
    assert_int_equal(reply.stop, MODEL_STOP_LENGTH);
    assert_int_equal(reply.attempts, 1);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(usage_of_groq_is_elsewhere)
{
    struct asking asking;
    asking_open(&asking, "groq", "m", NULL);
    struct model_reply reply =
        stream(&asking, DELTA("\"content\":\"x\"") STOP("stop")
                            EVENT("{\"choices\":[],\"x_groq\":{\"usage\":{\"prompt_tokens\":3,"
                                  "\"completion_tokens\":2}}}") DONE);
    assert_int_equal(reply.usage.input, 3);
    assert_int_equal(reply.usage.output, 2);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(mistral_is_not_asked_for_usage)
{
    struct asking asking;
    asking_open(&asking, "mistral", "m", NULL);
    struct model_reply reply = stream(&asking, DELTA("\"content\":\"x\"") STOP("stop") DONE);
    assert_null(strstr(asking_body(&asking, 0), "stream_options"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_stream_that_breaks_is_asked_for_again_as_a_whole)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    http_peer_reply(asking.peer, 200, STREAM_TYPE,
                    DELTA("\"content\":\"half\"")
                        EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":5}}"));
    struct model_reply reply = stream(&asking, SIMPLE);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "Grüße, wörld");
    assert_int_equal(reply.attempts, 2);
    assert_int_equal(reply.usage.input, 14);
    assert_int_equal(reply.usage.output, 4);
    assert_string_equal(buf_string(&asking.text), "halfGrüße, wörld");
    assert_string_equal(buf_string(&asking.retries), "1 the stream ended before the reply did\n");
    assert_true(asking.slept_ns >= 0);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(damaged_streams_are_failures)
{
    static const struct {
        const char *events, *message;
    } cases[] = {
        {EVENT("{\"choices\":["), "an event of the stream is not JSON: {\"choices\":["},
        {DELTA("\"content\":\"x\""), "the stream ended before the reply did"},
        {"", "the stream ended before the reply did"},
        {": ping\n\n", "the stream ended before the reply did"},
        {"<!doctype html><p>x", "the reply is a web page instead of JSON"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        asking_open(&asking, "local", "m", NULL);
        http_peer_always(asking.peer, 200, STREAM_TYPE, cases[i].events);
        asking_user(&asking, "hi");
        struct model_reply reply = asking_stream(&asking);
        assert_int_equal(reply.failure, MODEL_BAD_REPLY);
        assert_string_equal(reply.message, cases[i].message);
        assert_true(reply.attempts <= 3);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(an_error_in_the_stream_counts_as_its_status)
{
    struct asking asking;
    asking_open(&asking, "openrouter", "m", NULL);
    http_peer_always(asking.peer, 200, STREAM_TYPE,
                     DELTA("\"content\":\"x\"")
                         EVENT("{\"error\":{\"code\":429,\"message\":\"slow down\"}}"));
    asking_user(&asking, "hi");
    struct model_reply reply = asking_stream(&asking);
    assert_int_equal(reply.failure, MODEL_RATE_LIMITED);
    assert_string_equal(reply.message,
                        "the provider limits the rate of requests (HTTP 429): slow down");
    assert_int_equal(reply.attempts, 5);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(odd_events_are_skipped)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = stream(
        &asking, EVENT("7") EVENT("null") EVENT("[]") EVENT("{\"choices\":[{\"delta\":null}]}")
                     EVENT("{\"choices\":[3]}")
                         DELTA("\"tool_calls\":[{\"index\":-9223372036854775808,\"id\":\"a\","
                               "\"function\":{\"name\":\"x\"}}]")
                             DELTA("\"tool_calls\":{\"index\":0}") STOP("stop") DONE);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_int_equal(reply.call_count, 1);
    model_reply_fini(&reply);
    asking_close(&asking);
}
