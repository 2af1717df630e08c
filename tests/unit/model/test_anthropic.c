// SPDX-License-Identifier: Apache-2.0
/* Anthropic Messages: the bytes of requests, whole replies and streams. */
#include "asking.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define CACHE ",\"cache_control\":{\"type\":\"ephemeral\"}}"
#define TEXT                                                                                     \
    "{\"id\":\"m\",\"type\":\"message\",\"model\":\"claude-9\",\"content\":[{\"type\":\"text\"," \
    "\"text\":\"yes\"}],"                                                                        \
    "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}"
#define THOUGHT                                                                                   \
    "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s/1\"},"            \
    "{\"type\":\"text\",\"text\":\"I r\u00e9ad. "                                                 \
    "\"},{\"type\":\"redacted_thinking\",\"data\":\"zz\"},"                                       \
    "{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"read\",\"input\":{\"p\":\"x/y\"}},"        \
    "{\"type\":\"text\",\"text\":\"And.\"},"                                                      \
    "{\"type\":\"tool_use\",\"id\":\"tu_2\",\"name\":\"think\",\"input\":{}}],"                   \
    "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":100," \
    "\"cache_creation_input_tokens\":20,\"output_tokens\":7}}"

static const struct model_tool tools[] = {
    {"read", "Reads", "{\"type\":\"object\"}"},
    {"think", "Thinks", "{\"type\":\"object\"}"},
};

static struct model_reply ask_once(struct asking *asking, const char *reply)
{
    http_peer_reply(asking->peer, 200, JSON_TYPE, reply);
    if (asking->message_count == 0) {
        asking_user(asking, "hi");
    }
    return asking_ask(asking);
}

TEST(a_request_has_exactly_these_bytes)
{
    struct asking asking;
    asking_open(&asking, "anthropic", "claude-opus-4-1", NULL);
    model_set_tools(asking.model, tools, COUNT(tools));
    model_set_system(asking.model, "Be good");
    struct model_reply reply = ask_once(&asking, TEXT);
    assert_string_equal(
        asking_body(&asking, 0),
        "{\"model\":\"claude-opus-4-1\",\"tools\":[{\"name\":\"read\",\"description\":\"Reads\","
        "\"input_schema\":{\"type\":\"object\"}},{\"name\":\"think\",\"description\":\"Thinks\","
        "\"input_schema\":{\"type\":\"object\"}" CACHE "],\"tool_choice\":{\"type\":\"auto\"},"
        "\"system\":[{\"type\":\"text\",\"text\":\"Be good\"" CACHE "],\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"" CACHE "]}],"
        "\"max_tokens\":4096,\"temperature\":0.1}");
    const struct peer_request *request = http_peer_request(asking.peer, 0);
    assert_string_equal(request->path, "/v1/messages");
    assert_string_equal(http_peer_header(asking.peer, request, "x-api-key"), TEST_KEY);
    assert_string_equal(http_peer_header(asking.peer, request, "anthropic-version"), "2023-06-01");
    assert_null(http_peer_header(asking.peer, request, "authorization"));
    assert_string_equal(reply.text, "yes");
    assert_string_equal(reply.model_name, "claude-9");
    assert_null(reply.native);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(users_messages_that_follow_each_other_become_one)
{
    struct asking asking;
    struct model_reply said = {.text = (char *)"ok"};
    asking_open(&asking, "anthropic", "m", NULL);
    asking_user(&asking, "a");
    asking_user(&asking, "b");
    asking_add(&asking, &said);
    asking_answer(&asking, &said); /* no answers: nothing */
    asking_user(&asking, "c");
    asking_user(&asking, " \n");
    struct model_reply reply = ask_once(&asking, TEXT);
    assert_non_null(
        strstr(asking_body(&asking, 0),
               "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
               "{\"type\":\"text\",\"text\":\"b\"}]},"
               "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]},"
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"c\"},"
               "{\"type\":\"text\",\"text\":\"(no text)\"" CACHE "]}],"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_reply_goes_back_with_its_thinking_in_its_order)
{
    struct asking asking;
    asking_open(&asking, "anthropic", "m", NULL);
    struct model_reply first = ask_once(&asking, THOUGHT);
    assert_string_equal(first.text, "I r\u00e9ad. And.");
    assert_string_equal(first.thinking, "hm");
    assert_int_equal(first.call_count, 2);
    assert_string_equal(first.calls[0].arguments, "{\"p\":\"x/y\"}");
    assert_string_equal(first.calls[1].arguments, "");
    assert_int_equal(first.stop, MODEL_STOP_TOOLS);
    assert_int_equal(first.usage.input, 125);
    assert_int_equal(first.usage.cached, 100);
    assert_int_equal(first.usage.cache_written, 20);
    assert_int_equal(first.usage.output, 7);
    asking_add(&asking, &first);
    asking_answer(&asking, &first);
    struct model_reply second = ask_once(&asking, TEXT);
    assert_non_null(strstr(
        asking_body(&asking, 1),
        "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},{\"role\":\"assistant\",\"content\":["
        "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s/1\"},"
        "{\"type\":\"text\",\"text\":\"I r\u00e9ad. \"},"
        "{\"type\":\"redacted_thinking\",\"data\":\"zz\"},"
        "{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"read\",\"input\":{\"p\":\"x/y\"}},"
        "{\"type\":\"text\",\"text\":\"And.\"},"
        "{\"type\":\"tool_use\",\"id\":\"tu_2\",\"name\":\"think\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"tu_1\","
        "\"content\":\"ok\"},{\"type\":\"tool_result\",\"tool_use_id\":\"tu_2\",\"content\":"
        "\"ok\"" CACHE "]}],"));
    model_reply_fini(&first);
    model_reply_fini(&second);
    asking_close(&asking);
}

TEST(what_native_does_not_mention_is_not_lost)
{
    static const char *const natives[] = {"not json", "[]", "{}", "[7,{\"call\":9},{\"text\":-1}]",
                                          "[{\"call\":-1}]"};
    struct asking asking;
    struct model_call call = {(char *)"1", (char *)"f", (char *)"oops"};
    asking_open(&asking, "anthropic", "m", NULL);
    for (size_t i = 0; i < COUNT(natives); i++) {
        struct model_reply reply = {
            .text = (char *)"t", .native = (char *)natives[i], .calls = &call, .call_count = 1};
        struct model_message message;
        model_write_assistant(asking.model, &reply, &message);
        assert_string_equal(message.bytes,
                            "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
                            "\"t\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"input\":{"
                            "\"invalid_arguments\":\"oops\"}}]}");
        free(message.bytes);
    }
    asking_close(&asking);
}

TEST(a_reply_without_words_still_has_a_block)
{
    struct asking asking;
    struct model_reply reply = {.text = (char *)"\n"};
    struct model_message message;
    asking_open(&asking, "anthropic", "m", NULL);
    model_write_assistant(asking.model, &reply, &message);
    assert_string_equal(
        message.bytes,
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"(no text)\"}]}");
    free(message.bytes);
    asking_close(&asking);
}

TEST(failed_answers_say_so)
{
    struct asking asking;
    struct model_answer answer = {"1", "f", "a\0b", 3, true};
    struct model_message message;
    asking_open(&asking, "anthropic", "m", NULL);
    model_write_answers(asking.model, &answer, 1, &message);
    assert_string_equal(message.bytes,
                        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                        "\"tool_use_id\":\"1\",\"content\":\"a\\u0000b\",\"is_error\":true}]}");
    free(message.bytes);
    asking_close(&asking);
}

TEST(the_reason_for_stopping_is_read)
{
    static const struct {
        const char *reason;
        enum model_stop stop;
    } cases[] = {
        {"end_turn", MODEL_STOP_END},      {"stop_sequence", MODEL_STOP_END},
        {"pause_turn", MODEL_STOP_END},    {"something_new", MODEL_STOP_END},
        {"max_tokens", MODEL_STOP_LENGTH}, {"model_context_window_exceeded", MODEL_STOP_LENGTH},
        {"refusal", MODEL_STOP_REFUSED},
    };
    struct asking asking;
    asking_open(&asking, "anthropic", "m", NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_reason\":\"%s\"}",
                   cases[i].reason);
        struct model_reply reply = ask_once(&asking, buf_string(&text));
        assert_int_equal(reply.failure, MODEL_OK);
        assert_int_equal(reply.stop, cases[i].stop);
        model_reply_fini(&reply);
        buf_fini(&text);
    }
    asking_close(&asking);
}

TEST(newer_models_get_no_temperature)
{
    static const struct {
        const char *name;
        bool has_temperature;
    } cases[] = {
        {"claude-3-5-haiku-latest", true},
        {"claude-sonnet-4-20250514", true},
        {"claude-opus-4", true},
        {"claude-sonnet-4-0", true},
        {"claude-opus-4-1-20250805", true},
        {"claude-opus-4-6", true},
        {"claude-opus-4-7", false},
        {"claude-opus-4-8", false},
        {"claude-sonnet-5", false},
        {"claude-opus-5-5-20260901", false},
        {"claude-fable-5", false},
        {"my-model", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        asking_open(&asking, "anthropic", cases[i].name, NULL);
        struct model_reply reply = ask_once(&asking, TEXT);
        assert_int_equal(strstr(asking_body(&asking, 0), "\"temperature\"") != NULL,
                         cases[i].has_temperature);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(the_temperature_is_1_at_most)
{
    struct asking asking;
    struct http_peer *peer = http_peer_new();
    struct model_options options = {
        .base_url = http_peer_url(peer, ""), .temperature = 2.0, .price_input_micro = -1};
    asking_open(&asking, "anthropic", "m", &options);
    asking_user(&asking, "hi");
    http_peer_reply(peer, 200, JSON_TYPE, TEXT);
    struct model_reply reply = asking_ask(&asking);
    assert_non_null(strstr(http_peer_request(peer, 0)->body, "\"temperature\":1}"));
    assert_string_equal(http_peer_request(peer, 0)->path, "/v1/messages");
    model_reply_fini(&reply);
    asking_close(&asking);
    http_peer_free(peer);
}

/* --- streams --- */

#define EVENT(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"
#define BEGIN(index, block) \
    EVENT("content_block_start", ",\"index\":" index ",\"content_block\":" block)
#define DELTA(index, delta) EVENT("content_block_delta", ",\"index\":" index ",\"delta\":" delta)
#define END(index)          EVENT("content_block_stop", ",\"index\":" index)
#define START                                                                                \
    EVENT("message_start",                                                                   \
          ",\"message\":{\"id\":\"m\",\"model\":\"claude-9\",\"usage\":{\"input_tokens\":5," \
          "\"cache_read_input_tokens\":10,\"cache_creation_input_tokens\":0,"                \
          "\"output_tokens\":1}}")                                                           \
    EVENT("ping", "")
#define FINISH(reason)                                                                \
    EVENT("message_delta",                                                            \
          ",\"delta\":{\"stop_reason\":\"" reason "\"},\"usage\":{\"output_tokens\":" \
          "42}")                                                                      \
    EVENT("message_stop", "")

static struct model_reply stream(struct asking *asking, const char *events)
{
    http_peer_reply(asking->peer, 200, STREAM_TYPE, events);
    if (asking->message_count == 0) {
        asking_user(asking, "hi");
    }
    return asking_stream(asking);
}

TEST(events_become_texts_thinking_and_calls)
{
    struct asking asking;
    asking_open(&asking, "anthropic", "m", NULL);
    struct model_reply reply = stream(
        &asking,
        START BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}") DELTA(
            "0", "{\"type\":\"thinking_delta\",\"thinking\":\"h\"}")
            DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"m\"}") DELTA(
                "0", "{\"type\":\"signature_delta\",\"signature\":\"S\"}") END("0")
                BEGIN("1", "{\"type\":\"text\",\"text\":\"\"}") DELTA(
                    "1", "{\"type\":\"text_delta\",\"text\":\"He\"}")
                    DELTA("1", "{\"type\":\"text_delta\",\"text\":\"llo\"}") END("1") BEGIN(
                        "2", "{\"type\":\"tool_use\",\"id\":\"tu\",\"name\":\"read\",\"input\":{}}")
                        DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"\"}") DELTA(
                            "2",
                            "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"p\\\": \"}")
                            DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}")
                                END("2") BEGIN("3", "{\"type\":\"tool_use\",\"id\":\"tv\",\"name\":"
                                                    "\"think\",\"input\":{\"whole\":1}}") END("3")
                                    FINISH("tool_use"));
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "Hello");
    assert_string_equal(buf_string(&asking.text), "Hello");
    assert_string_equal(buf_string(&asking.thinking), "hm");
    assert_int_equal(reply.call_count, 2);
    assert_string_equal(reply.calls[0].arguments, "{\"p\": 1}");
    assert_string_equal(reply.calls[1].arguments, "{\"whole\":1}");
    assert_string_equal(reply.model_name, "claude-9");
    assert_int_equal(reply.usage.input, 15);
    assert_int_equal(reply.usage.cached, 10);
    assert_int_equal(reply.usage.output, 42);
    assert_string_equal(reply.native,
                        "[{\"block\":{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":"
                        "\"S\"}},{\"text\":5},{\"call\":0},{\"call\":1}]");
    assert_non_null(strstr(asking_body(&asking, 0), ",\"stream\":true}"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_stream_and_a_whole_reply_go_back_as_the_same_bytes)
{
    struct asking asking;
    struct model_message a, b;
    asking_open(&asking, "anthropic", "m", NULL);
    struct model_reply whole = ask_once(&asking, THOUGHT);
    struct model_reply pieces = stream(
        &asking,
        START BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\"}")
            DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}") DELTA(
                "0", "{\"type\":\"signature_delta\",\"signature\":\"s/1\"}")
                BEGIN("1", "{\"type\":\"text\",\"text\":\"I \"}") DELTA(
                    "1", "{\"type\":\"text_delta\",\"text\":\"r\u00e9ad. \"}")
                    BEGIN("2", "{\"type\":\"redacted_thinking\",\"data\":\"zz\"}") BEGIN(
                        "3",
                        "{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"read\",\"input\":{}}")
                        DELTA("3", "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"p\\\":"
                                   "\\\"x/y\\\"}\"}")
                            BEGIN("4", "{\"type\":\"text\",\"text\":\"\"}")
                                DELTA("4", "{\"type\":\"text_delta\",\"text\":\"And.\"}")
                                    BEGIN("5", "{\"type\":\"tool_use\",\"id\":\"tu_2\",\"name\":"
                                               "\"think\",\"input\":{}}") FINISH("tool_use"));
    model_write_assistant(asking.model, &whole, &a);
    model_write_assistant(asking.model, &pieces, &b);
    assert_string_equal(a.bytes, b.bytes);
    free(a.bytes);
    free(b.bytes);
    model_reply_fini(&whole);
    model_reply_fini(&pieces);
    asking_close(&asking);
}

TEST(an_overloaded_stream_is_tried_again_and_its_input_counted)
{
    struct asking asking;
    asking_open(&asking, "anthropic", "m", NULL);
    http_peer_reply(asking.peer, 200, STREAM_TYPE,
                    START EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                                         "\"Overloaded\"}"));
    struct model_reply reply =
        stream(&asking, START BEGIN("0", "{\"type\":\"text\",\"text\":\"x\"}") FINISH("end_turn"));
    assert_int_equal(reply.failure, MODEL_OK);
    assert_int_equal(reply.attempts, 2);
    assert_int_equal(reply.usage.input, 30);
    assert_int_equal(reply.usage.output, 43);
    assert_string_equal(buf_string(&asking.retries),
                        "1 the provider cannot answer now (HTTP 529): Overloaded\n");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(an_error_that_repeating_does_not_mend_ends_it)
{
    static const struct {
        const char *type;
        enum model_failure failure;
    } cases[] = {
        {"invalid_request_error", MODEL_BAD_REQUEST}, {"authentication_error", MODEL_REFUSED_KEY},
        {"permission_error", MODEL_REFUSED_KEY},      {"not_found_error", MODEL_BAD_REQUEST},
        {"request_too_large", MODEL_CONTEXT_FULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int is_streaming = 0; is_streaming <= 1; is_streaming++) {
            struct asking asking;
            struct buf text = {0};
            asking_open(&asking, "anthropic", "m", NULL);
            buf_printf(&text, "%s{\"type\":\"error\",\"error\":{\"type\":\"%s\"}}\n\n",
                       is_streaming ? "event: error\ndata: " : "", cases[i].type);
            http_peer_always(asking.peer, 200, NULL, buf_string(&text));
            asking_user(&asking, "hi");
            struct model_reply reply = is_streaming ? asking_stream(&asking) : asking_ask(&asking);
            assert_int_equal(reply.failure, cases[i].failure);
            assert_int_equal(reply.attempts, 1);
            model_reply_fini(&reply);
            buf_fini(&text);
            asking_close(&asking);
        }
    }
}

TEST(odd_replies_are_failures_or_nothing)
{
    static const struct {
        const char *reply;
        enum model_failure failure;
    } cases[] = {
        {"{}", MODEL_BAD_REPLY},
        {"{\"content\":\"x\"}", MODEL_BAD_REPLY},
        {"{\"content\":[7,null,{},{\"type\":\"text\",\"text\":3},{\"type\":\"tool_use\",\"id\":1,"
         "\"name\":[],\"input\":\"x\"},{\"type\":\"thinking\"},{\"type\":\"new\"}],\"usage\":[]}",
         MODEL_OK},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        asking_open(&asking, "anthropic", "m", NULL);
        http_peer_always(asking.peer, 200, JSON_TYPE, cases[i].reply);
        asking_user(&asking, "hi");
        struct model_reply reply = asking_ask(&asking);
        assert_int_equal(reply.failure, cases[i].failure);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(a_reply_has_4096_parts_at_most)
{
    for (size_t count = 4096; count <= 4097; count++) {
        struct asking asking;
        struct buf text = {0};
        asking_open(&asking, "anthropic", "m", NULL);
        buf_append_string(&text, "{\"content\":[");
        for (size_t i = 0; i < count; i++) {
            buf_append_string(&text, i == 0 ? "" : ",");
            buf_append_string(&text, "{\"type\":\"text\",\"text\":\"x\"}");
        }
        buf_append_string(&text, "]}");
        struct model_reply reply = ask_once(&asking, buf_string(&text));
        assert_int_equal(reply.failure, count == 4096 ? MODEL_OK : MODEL_BAD_REPLY);
        assert_int_equal(reply.attempts, 1);
        model_reply_fini(&reply);
        buf_fini(&text);
        asking_close(&asking);
    }
}

TEST(odd_events_are_skipped)
{
    struct asking asking;
    asking_open(&asking, "anthropic", "m", NULL);
    struct model_reply reply =
        stream(&asking, "data: 7\n\ndata: []\n\n" DELTA("9", "{\"text\":\"lost\"}")
                            BEGIN("\"x\"", "{\"type\":\"text\",\"text\":\"a\"}") BEGIN("1", "null")
                                DELTA("0", "[]") DELTA("0", "{\"text\":7}") EVENT("new_event", "")
                                    FINISH("end_turn"));
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "a");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_request_is_always_json)
{
    struct asking asking;
    struct json_object *body = NULL;
    asking_open(&asking, "anthropic", "m", NULL);
    struct model_reply reply = ask_once(&asking, THOUGHT);
    asking_add(&asking, &reply);
    asking_answer(&asking, &reply);
    asking_add(&asking, &reply);
    struct model_reply again = ask_once(&asking, TEXT);
    for (size_t i = 0; i < 2; i++) {
        const char *text = asking_body(&asking, i);
        assert_int_equal(json_parse(text, strlen(text), &body, NULL), 0);
        json_object_put(body);
    }
    assert_null(strstr(asking_body(&asking, 1), CACHE)); /* the newest is not the user's */
    model_reply_fini(&reply);
    model_reply_fini(&again);
    asking_close(&asking);
}
