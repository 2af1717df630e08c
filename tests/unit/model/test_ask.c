// SPDX-License-Identifier: Apache-2.0
/* What goes wrong between us and a provider: each thing is one failure, in time, with a message. */
#include "asking.h"

#include <stdlib.h>
#include <string.h>

#define GOOD "{\"choices\":[{\"message\":{\"content\":\"good\"}}]}"

static void begin(struct asking *asking)
{
    asking_open(asking, "local", "m", NULL);
    asking_user(asking, "hi");
}

TEST(an_error_status_is_one_failure_with_what_the_server_says)
{
    static const struct {
        int status;
        enum model_failure failure;
        const char *body, *message;
    } cases[] = {
        {400, MODEL_BAD_REQUEST, "{\"error\":{\"message\":\"bad model\"}}",
         "the provider refuses the request (HTTP 400): bad model"},
        {401, MODEL_REFUSED_KEY, "{\"error\":{\"message\":\"who?\"}}",
         "the provider refuses the key or the account (HTTP 401): who?"},
        {402, MODEL_REFUSED_KEY, "{\"error\":\"Insufficient Balance\"}",
         "the provider refuses the key or the account (HTTP 402): Insufficient Balance"},
        {403, MODEL_REFUSED_KEY, "no\r\n  way",
         "the provider refuses the key or the account (HTTP 403): no way"},
        {404, MODEL_BAD_REQUEST, "{\"detail\":\"Not Found\"}",
         "the provider refuses the request (HTTP 404): Not Found"},
        {422, MODEL_BAD_REQUEST, "{\"detail\":[{\"loc\":[\"body\"]}]}",
         "the provider refuses the request (HTTP 422): [ { \"loc\": [ \"body\" ] } ]"},
        {400, MODEL_CONTEXT_FULL,
         "{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}",
         "the conversation is too long for the model (HTTP 400): too long"},
        {400, MODEL_CONTEXT_FULL,
         "{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}",
         "the conversation is too long for the model (HTTP 400): prompt is too long: 9 tokens > 8 "
         "maximum"},
        {413, MODEL_CONTEXT_FULL, "", "the conversation is too long for the model (HTTP 413)"},
        {429, MODEL_REFUSED_KEY,
         "{\"error\":{\"message\":\"no money\",\"code\":\"insufficient_quota\"}}",
         "the provider refuses the key or the account (HTTP 429): no money"},
        {400, MODEL_BAD_REQUEST, "[{\"error\":{\"message\":\"in a list\"}}]",
         "the provider refuses the request (HTTP 400): in a list"},
        {404, MODEL_BAD_REQUEST, "\n<html><title>404\tNot\nFound</title>",
         "the provider refuses the request (HTTP 404): a web page instead of JSON (\"404 Not "
         "Found\")"},
        {302, MODEL_BAD_REPLY, "", "the server answers with HTTP 302; is the base_url right?"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int is_streaming = 0; is_streaming <= 1; is_streaming++) {
            struct asking asking;
            begin(&asking);
            http_peer_always(asking.peer, cases[i].status, JSON_TYPE, cases[i].body);
            struct model_reply reply = is_streaming ? asking_stream(&asking) : asking_ask(&asking);
            assert_string_equal(reply.message, cases[i].message);
            assert_int_equal(reply.failure, cases[i].failure);
            assert_int_equal(reply.attempts, 1);
            model_reply_fini(&reply);
            asking_close(&asking);
        }
    }
}

TEST(a_busy_server_is_asked_five_times)
{
    static const struct {
        int status;
        enum model_failure failure;
    } cases[] = {{429, MODEL_RATE_LIMITED}, {500, MODEL_OVERLOADED}, {529, MODEL_OVERLOADED}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        begin(&asking);
        http_peer_always(asking.peer, cases[i].status, NULL, "{}");
        struct model_reply reply = asking_ask(&asking);
        assert_int_equal(reply.failure, cases[i].failure);
        assert_int_equal(reply.attempts, 5);
        assert_int_equal(http_peer_request_count(asking.peer), 5);
        assert_true(asking.slept_ns > 0);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

/** A busy server whose wish to wait is 17 s. @return attempts */
static unsigned attempts_with(int64_t max_attempts, double max_wait_seconds)
{
    struct asking asking;
    asking_open(&asking, "local", "m",
                &(struct model_options){.price_input_micro = -1,
                                        .price_output_micro = -1,
                                        .max_attempts = max_attempts,
                                        .max_wait_seconds = max_wait_seconds});
    asking_user(&asking, "hi");
    http_peer_always(asking.peer, 429, "Retry-After: 17\r\n", "{}");
    struct model_reply reply = asking_ask(&asking);
    unsigned attempts = reply.attempts;
    model_reply_fini(&reply);
    asking_close(&asking);
    return attempts;
}

TEST(a_role_says_how_often_and_how_patiently_a_server_is_asked)
{
    assert_int_equal(attempts_with(0, 0), 5);
    assert_int_equal(attempts_with(2, 0), 2);
    assert_int_equal(attempts_with(3, 17), 3);
    assert_int_equal(attempts_with(3, 16), 1);
}

TEST(a_server_says_how_long_to_wait)
{
    struct asking asking;
    begin(&asking);
    http_peer_reply(asking.peer, 429, "Retry-After: 17\r\n", "{\"error\":{\"message\":\"m\"}}");
    http_peer_reply(asking.peer, 200, JSON_TYPE, GOOD);
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.text, "good");
    assert_int_equal(reply.attempts, 2);
    assert_true(asking.slept_ns >= 17 * NS_PER_S && asking.slept_ns < 25 * NS_PER_S);
    assert_string_equal(buf_string(&asking.retries),
                        "1 the provider limits the rate of requests (HTTP 429): m\n");
    assert_string_equal(asking_body(&asking, 0), asking_body(&asking, 1));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(nobody_waits_past_the_deadline)
{
    struct asking asking;
    begin(&asking);
    asking.request.deadline_ns = clock_monotonic(&asking.clock) + 10 * NS_PER_S;
    http_peer_always(asking.peer, 429, "Retry-After: 17\r\n", "{}");
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_RATE_LIMITED);
    assert_int_equal(reply.attempts, 1);
    assert_int_equal(asking.slept_ns, 0);
    assert_true(reply.is_out_of_time);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_deadline_that_has_passed_makes_no_request)
{
    struct asking asking;
    begin(&asking);
    asking.request.deadline_ns = clock_monotonic(&asking.clock);
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_TIMED_OUT);
    assert_int_equal(http_peer_request_count(asking.peer), 0);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_stalled_reply_ends_at_the_deadline)
{
    for (int is_streaming = 0; is_streaming <= 1; is_streaming++) {
        struct asking asking;
        begin(&asking);
        static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                    "Content-Length: 999\r\n\r\n"
                                    "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
        http_peer_reply_raw(
            asking.peer,
            &(struct peer_reply){.bytes = bytes, .stalls = true, .stall_at = sizeof(bytes) - 1});
        asking.request.deadline_ns = clock_monotonic(&asking.clock) + 1500 * NS_PER_MS;
        struct model_reply reply = is_streaming ? asking_stream(&asking) : asking_ask(&asking);
        assert_int_equal(reply.failure, MODEL_TIMED_OUT);
        assert_true(reply.duration_ns < 20 * NS_PER_S);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(whoever_is_cancelled_makes_no_request)
{
    struct asking asking;
    begin(&asking);
    cancel_set(&asking.cancel, CANCEL_GRACEFUL);
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_CANCELLED);
    assert_int_equal(http_peer_request_count(asking.peer), 0);
    model_reply_fini(&reply);
    asking_close(&asking);
}

static void cancel_on_text(void *context, const char *text, size_t len)
{
    (void)text;
    (void)len;
    cancel_set(&((struct asking *)context)->cancel, CANCEL_NOW);
}

TEST(a_stream_is_left_when_it_is_cancelled)
{
    struct asking asking;
    begin(&asking);
    asking.watcher.on_text = cancel_on_text;
    static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                "Content-Length: 999\r\n\r\n"
                                "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    http_peer_reply_raw(
        asking.peer,
        &(struct peer_reply){.bytes = bytes, .stalls = true, .stall_at = sizeof(bytes) - 1});
    struct model_reply reply = asking_stream(&asking);
    assert_int_equal(reply.failure, MODEL_CANCELLED);
    assert_int_equal(reply.attempts, 1);
    assert_string_equal(reply.text, "x");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_connection_that_breaks_is_tried_again)
{
    for (int is_streaming = 0; is_streaming <= 1; is_streaming++) {
        struct asking asking;
        begin(&asking);
        http_peer_reply_raw(asking.peer,
                            &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: "
                                                          "99\r\n\r\ndata: {",
                                                 .cuts = true,
                                                 .resets = true});
        http_peer_reply(asking.peer, 200, JSON_TYPE, GOOD);
        struct model_reply reply = is_streaming ? asking_stream(&asking) : asking_ask(&asking);
        assert_int_equal(reply.failure, MODEL_OK);
        assert_string_equal(reply.text, "good");
        assert_int_equal(reply.attempts, 2);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(a_server_that_is_not_there_is_unreachable)
{
    struct asking asking;
    struct model_options options = {.base_url = "http://127.0.0.1:1/v1", .price_input_micro = -1};
    asking_open(&asking, "local", "m", &options);
    asking_user(&asking, "hi");
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_UNREACHABLE);
    assert_int_equal(reply.attempts, 5);
    assert_string_not_equal(reply.message, "");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_reply_of_50_megabytes_is_refused)
{
    for (int is_streaming = 0; is_streaming <= 1; is_streaming++) {
        struct asking asking;
        struct buf bytes = {0};
        begin(&asking);
        buf_append_string(&bytes, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                  "Connection: close\r\n\r\n");
        size_t from = bytes.len;
        static const char event[] = "data: {\"choices\":[{\"delta\":{\"content\":\"";
        buf_append_string(&bytes, event);
        char *room = buf_room(&bytes, 1000000);
        memset(room, 'x', 1000000);
        buf_grown(&bytes, 1000000);
        buf_append_string(&bytes, "\"}}]}\n\n");
        http_peer_reply_raw(asking.peer, &(struct peer_reply){.bytes = bytes.data,
                                                              .len = bytes.len,
                                                              .repeat = 50,
                                                              .repeat_from = from,
                                                              .cuts = true});
        struct model_reply reply = is_streaming ? asking_stream(&asking) : asking_ask(&asking);
        assert_int_equal(reply.failure, MODEL_BAD_REPLY);
        assert_int_equal(reply.attempts, 1);
        model_reply_fini(&reply);
        buf_fini(&bytes);
        asking_close(&asking);
    }
}

TEST(a_reply_of_32_mebibytes_is_read_and_one_byte_more_refused)
{
    /* What it says is bounded far below: here an unknown member is long. */
    static const char begin_of[] = "{\"padding\":\"";
    static const char end_of[] = "\",\"choices\":[{\"message\":{\"content\":\"good\"}}]}";
    for (size_t extra = 0; extra <= 1; extra++) {
        struct asking asking;
        begin(&asking);
        size_t len = MODEL_REPLY_MAX_BYTES + extra;
        char *body = malloc(len + 1);
        memset(body, 'x', len);
        memcpy(body, begin_of, strlen(begin_of));
        memcpy(body + len - strlen(end_of), end_of, strlen(end_of));
        body[len] = '\0';
        http_peer_reply(asking.peer, 200, JSON_TYPE, body);
        struct model_reply reply = asking_ask(&asking);
        assert_int_equal(reply.failure, extra == 0 ? MODEL_OK : MODEL_BAD_REPLY);
        assert_string_equal(reply.text, extra == 0 ? "good" : "");
        free(body);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(a_key_that_the_server_repeats_is_not_shown)
{
    struct asking asking;
    begin(&asking);
    http_peer_reply(asking.peer, 500, NULL, "{\"error\":{\"message\":\"for " TEST_KEY ".\"}}");
    http_peer_reply(asking.peer, 401, NULL,
                    "{\"error\":{\"message\":\"Incorrect API key provided: " TEST_KEY
                    ", or sk-te****2b1c, (sk-test-4f9a8b) or not-a-key\"}}");
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.message,
                        "the provider refuses the key or the account (HTTP 401): Incorrect API "
                        "key provided: [key], or [key], ([key]) or not-a-key");
    assert_string_equal(buf_string(&asking.retries),
                        "1 the provider cannot answer now (HTTP 500): for [key].\n");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_refused_temperature_is_left_out_from_then_on)
{
    struct asking asking;
    begin(&asking);
    http_peer_reply(asking.peer, 400, NULL,
                    "{\"error\":{\"message\":\"`temperature` is deprecated for this model.\"}}");
    http_peer_reply(asking.peer, 200, JSON_TYPE, GOOD);
    http_peer_reply(asking.peer, 200, JSON_TYPE, GOOD);
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_int_equal(reply.attempts, 2);
    assert_non_null(strstr(asking_body(&asking, 0), "\"temperature\""));
    assert_null(strstr(asking_body(&asking, 1), "\"temperature\""));
    model_reply_fini(&reply);
    reply = asking_ask(&asking);
    assert_null(strstr(asking_body(&asking, 2), "\"temperature\""));
    assert_int_equal(reply.attempts, 1);
    assert_int_equal(asking.slept_ns, 0);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_refused_limit_goes_by_its_other_name)
{
    struct asking asking;
    begin(&asking);
    http_peer_reply(asking.peer, 400, NULL,
                    "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not "
                    "supported with this model. Use 'max_completion_tokens' instead.\"}}");
    http_peer_reply(asking.peer, 422, NULL,
                    "{\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\","
                    "\"stream_options\"]}]}}");
    http_peer_reply(asking.peer, 200, JSON_TYPE, GOOD);
    struct model_reply reply = asking_stream(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_non_null(strstr(asking_body(&asking, 1), "\"max_completion_tokens\":4096"));
    assert_non_null(strstr(asking_body(&asking, 1), "\"stream_options\""));
    assert_non_null(strstr(asking_body(&asking, 2), "\"stream\":true}"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_parameter_that_stays_refused_is_a_failure)
{
    struct asking asking;
    begin(&asking);
    http_peer_always(asking.peer, 400, NULL,
                     "{\"error\":{\"message\":\"temperature is not supported\"}}");
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_BAD_REQUEST);
    assert_int_equal(reply.attempts, 2);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(the_id_of_the_request_is_kept)
{
    struct asking asking;
    begin(&asking);
    http_peer_reply(asking.peer, 200, "X-Request-Id: req_77\r\n", GOOD);
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.request_id, "req_77");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(prices_of_the_options_make_a_cost)
{
    struct asking asking;
    struct http_peer *peer = http_peer_new();
    struct model_options options = {.base_url = http_peer_url(peer, ""),
                                    .price_input_micro = 2000000,
                                    .price_output_micro = 10000000};
    asking_open(&asking, "local", "m", &options);
    asking_user(&asking, "hi");
    http_peer_reply(peer, 200, JSON_TYPE,
                    "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{"
                    "\"prompt_tokens\":1000,\"completion_tokens\":100}}");
    asking.request.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(http_peer_header(peer, http_peer_request(peer, 0), "traceparent"),
                        asking.request.traceparent);
    assert_true(reply.has_cost);
    assert_int_equal(reply.cost_micro, 3000);
    assert_null(http_peer_header(peer, http_peer_request(peer, 0), "authorization"));
    model_reply_fini(&reply);
    asking_close(&asking);
    http_peer_free(peer);
}
