// SPDX-License-Identifier: Apache-2.0
/* OpenAI Chat Completions: the bytes of requests, and whole replies. */
#include "asking.h"

#include <stdlib.h>
#include <string.h>

#define REPLY(message, reason)                                                                     \
    "{\"id\":\"c1\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":" message \
    ",\"finish_reason\":\"" reason "\"}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7," \
    "\"total_tokens\":18}}"

#define TWO_CALLS                                                                                 \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_a\",\"type\":"       \
    "\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\": \\\"x\\\"}" \
    "\"}},{\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"think\","             \
    "\"arguments\":\"\"}}]}"

static const struct model_tool tools[] = {
    {"read_file", "Reads \"a\" file", "{\"type\":\"object\",\"properties\":{}}"},
    {"think", "", "{\"type\":\"object\"}"},
};

/** Ask once with one message and the given reply. */
static struct model_reply ask_once(struct asking *asking, const char *reply)
{
    http_peer_reply(asking->peer, 200, JSON_TYPE, reply);
    if (asking->message_count == 0) {
        asking_user(asking, "hi");
    }
    return asking_ask(asking);
}

TEST(a_request_to_a_compatible_server_has_exactly_these_bytes)
{
    struct asking asking;
    asking_open(&asking, "local", "m-1", NULL);
    model_set_system(asking.model, "Be \"good\"\n");
    struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"yes\"}", "stop"));
    assert_string_equal(asking_body(&asking, 0),
                        "{\"model\":\"m-1\",\"messages\":[{\"role\":\"system\",\"content\":\"Be "
                        "\\\"good\\\"\\n\"},{\"role\":\"user\",\"content\":\"hi\"}],"
                        "\"temperature\":0.1,\"max_tokens\":4096}");
    const struct peer_request *request = http_peer_request(asking.peer, 0);
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->path, "/v1/chat/completions");
    assert_string_equal(http_peer_header(asking.peer, request, "content-type"), "application/json");
    assert_string_equal(http_peer_header(asking.peer, request, "authorization"),
                        "Bearer " TEST_KEY);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "yes");
    assert_int_equal(reply.stop, MODEL_STOP_END);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(history_is_spliced_with_calls_and_answers)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    model_set_tools(asking.model, tools, COUNT(tools));
    struct model_reply first = ask_once(&asking, REPLY(TWO_CALLS, "tool_calls"));
    assert_int_equal(first.call_count, 2);
    assert_string_equal(first.calls[0].id, "call_a");
    assert_string_equal(first.calls[0].name, "read_file");
    assert_string_equal(first.calls[0].arguments, "{\"path\": \"x\"}");
    assert_string_equal(first.calls[1].arguments, "");
    assert_int_equal(first.stop, MODEL_STOP_TOOLS);
    asking_add(&asking, &first);
    asking_answer(&asking, &first);
    struct model_reply second = ask_once(&asking, REPLY("{\"content\":\"done\"}", "stop"));
    const char *expected =
        "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"read_file\","
        "\"description\":\"Reads \\\"a\\\" file\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{}}}},{\"type\":\"function\",\"function\":{\"name\":\"think\","
        "\"description\":\"\",\"parameters\":{\"type\":\"object\"}}}],\"tool_choice\":\"auto\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_a\",\"type\":"
        "\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\": "
        "\\\"x\\\"}\"}},{\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":"
        "\"think\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"ok\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_b\",\"content\":\"ok\"}],"
        "\"temperature\":0.1,\"max_tokens\":4096}";
    assert_string_equal(asking_body(&asking, 1), expected);
    model_reply_fini(&first);
    model_reply_fini(&second);
    asking_close(&asking);
}

TEST(a_message_of_no_answers_leaves_no_comma)
{
    struct asking asking;
    struct model_reply none = {.text = (char *)"x"};
    asking_open(&asking, "local", "m", NULL);
    asking_answer(&asking, &none);
    asking_user(&asking, "a");
    asking_answer(&asking, &none);
    asking_user(&asking, "b");
    struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"\"}", "stop"));
    assert_non_null(strstr(asking_body(&asking, 0),
                           "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                           "{\"role\":\"user\",\"content\":\"b\"}],"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(what_a_model_wrote_wrongly_does_not_break_later_requests)
{
    struct asking asking;
    struct model_call calls[] = {
        {(char *)"1", (char *)"a b/c", (char *)"{\"x\": oops"},
        {(char *)"2", (char *)"", (char *)"[1]"},
        {(char *)"3", (char *)"ok", (char *)" {\"y\":1} "},
    };
    struct model_reply reply = {.text = (char *)"t", .calls = calls, .call_count = 3};
    struct model_message message;
    asking_open(&asking, "local", "m", NULL);
    model_write_assistant(asking.model, &reply, &message);
    assert_string_equal(
        message.bytes,
        "{\"role\":\"assistant\",\"content\":\"t\",\"tool_calls\":["
        "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"a_b_c\",\"arguments\":"
        "\"{\\\"invalid_arguments\\\":\\\"{\\\\\\\"x\\\\\\\": oops\\\"}\"}},"
        "{\"id\":\"2\",\"type\":\"function\",\"function\":{\"name\":\"unnamed\",\"arguments\":"
        "\"{\\\"invalid_arguments\\\":\\\"[1]\\\"}\"}},"
        "{\"id\":\"3\",\"type\":\"function\",\"function\":{\"name\":\"ok\",\"arguments\":"
        "\" {\\\"y\\\":1} \"}}]}");
    free(message.bytes);
    asking_close(&asking);
}

TEST(usage_is_read_with_cached_and_reasoning_tokens)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = ask_once(
        &asking, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":"
                 "100,\"completion_tokens\":50,\"total_tokens\":150,\"prompt_tokens_details\":{"
                 "\"cached_tokens\":60},\"completion_tokens_details\":{\"reasoning_tokens\":40}}}");
    assert_int_equal(reply.usage.input, 100);
    assert_int_equal(reply.usage.output, 50);
    assert_int_equal(reply.usage.cached, 60);
    assert_int_equal(reply.usage.reasoning, 40);
    assert_false(reply.has_cost);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(reasoning_that_is_left_out_of_the_output_is_counted)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = ask_once(
        &asking, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":"
                 "100,\"completion_tokens\":50,\"total_tokens\":190}}");
    assert_int_equal(reply.usage.output, 90);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(damaged_usage_counts_nothing)
{
    static const char *const usages[] = {
        "[]", "null", "7", "{\"prompt_tokens\":\"a\",\"completion_tokens\":-3}",
        "{\"prompt_tokens\":{},\"completion_tokens\":null,\"prompt_tokens_details\":[]}"};
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    for (size_t i = 0; i < COUNT(usages); i++) {
        struct buf text = {0};
        buf_printf(&text, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":%s}",
                   usages[i]);
        struct model_reply reply = ask_once(&asking, buf_string(&text));
        assert_int_equal(reply.failure, MODEL_OK);
        assert_int_equal(reply.usage.input, 0);
        assert_int_equal(reply.usage.output, 0);
        model_reply_fini(&reply);
        buf_fini(&text);
    }
    asking_close(&asking);
}

TEST(numbers_of_tokens_have_a_limit)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply =
        ask_once(&asking, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{"
                          "\"prompt_tokens\":9223372036854775807,\"completion_tokens\":1e300}}");
    assert_int_equal(reply.usage.input, INT64_C(1000000000000));
    assert_int_equal(reply.usage.output, INT64_C(1000000000000));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(the_reason_for_stopping_is_read)
{
    static const struct {
        const char *reply;
        enum model_stop stop;
    } cases[] = {
        {REPLY("{\"content\":\"x\"}", "stop"), MODEL_STOP_END},
        {REPLY("{\"content\":\"x\"}", "length"), MODEL_STOP_LENGTH},
        {REPLY("{\"content\":\"x\"}", "content_filter"), MODEL_STOP_FILTERED},
        {REPLY("{\"content\":null,\"refusal\":\"I will not\"}", "stop"), MODEL_STOP_REFUSED},
        {REPLY("{\"content\":\"x\"}", "tool_calls"), MODEL_STOP_END},
        {REPLY(TWO_CALLS, "stop"), MODEL_STOP_TOOLS},
        {REPLY(TWO_CALLS, "length"), MODEL_STOP_LENGTH},
        {"{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":null}]}",
         MODEL_STOP_END},
    };
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model_reply reply = ask_once(&asking, cases[i].reply);
        assert_int_equal(reply.failure, MODEL_OK);
        assert_int_equal(reply.stop, cases[i].stop);
        model_reply_fini(&reply);
    }
    asking_close(&asking);
}

TEST(a_refusal_is_what_it_says)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply =
        ask_once(&asking, REPLY("{\"content\":null,\"refusal\":\"I will not\"}", "stop"));
    assert_string_equal(reply.text, "I will not");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(content_may_come_in_parts)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = ask_once(
        &asking, REPLY("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
                       "\"text\":\"hm\"}]},{\"type\":\"text\",\"text\":\"a\"},7,null,{\"type\":"
                       "\"text\",\"text\":\"b\"}]}",
                       "stop"));
    assert_string_equal(reply.text, "ab");
    assert_string_equal(reply.thinking, "hm");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_nul_in_a_text_becomes_a_replacement_character)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"a\\u0000b\"}", "stop"));
    assert_string_equal(reply.text, "a\xef\xbf\xbd"
                                    "b");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(calls_without_an_id_of_their_own_get_one)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    asking.request.turn = 3;
    struct model_reply reply = ask_once(
        &asking,
        REPLY("{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":{\"k\":[1]}}},"
              "{\"id\":\"\",\"function\":{\"name\":\"b\"}},{\"id\":\"x\",\"function\":{\"name\":"
              "\"c\"}},{\"id\":\"x\",\"function\":{\"name\":\"d\"}}]}",
              "tool_calls"));
    assert_int_equal(reply.call_count, 4);
    assert_string_equal(reply.calls[0].id, "call_3_1");
    assert_string_equal(reply.calls[0].arguments, "{\"k\":[1]}");
    assert_string_equal(reply.calls[1].id, "call_3_2");
    assert_string_equal(reply.calls[2].id, "x");
    assert_string_equal(reply.calls[3].id, "call_3_4");
    assert_string_equal(reply.calls[3].name, "d");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(thought_signatures_go_back_with_their_calls)
{
    struct asking asking;
    asking_open(&asking, "google", "gemini-3", NULL);
    struct model_reply reply = ask_once(
        &asking, REPLY("{\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\",\"arguments\":"
                       "\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"S/g\"}}},"
                       "{\"id\":\"2\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]}",
                       "stop"));
    assert_string_equal(reply.native, "{\"extra_content\":[{\"google\":{\"thought_signature\":"
                                      "\"S/g\"}},null]}");
    struct model_message message;
    model_write_assistant(asking.model, &reply, &message);
    assert_non_null(strstr(message.bytes,
                           "\"arguments\":\"{}\"},\"extra_content\":{\"google\":{"
                           "\"thought_signature\":\"S/g\"}}},{\"id\":\"2\",\"type\":\"function\","
                           "\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]}"));
    free(message.bytes);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(reasoning_goes_back_to_those_who_demand_it_only)
{
    static const char *const providers[] = {"deepseek", "local"};
    for (size_t i = 0; i < COUNT(providers); i++) {
        struct asking asking;
        struct model_message message;
        asking_open(&asking, providers[i], "m", NULL);
        struct model_reply reply = ask_once(
            &asking, REPLY("{\"content\":\"x\",\"reasoning_content\":\"hm \\\"q\\\"\"}", "stop"));
        assert_string_equal(reply.thinking, "hm \"q\"");
        model_write_assistant(asking.model, &reply, &message);
        assert_string_equal(message.bytes, i == 0 ? "{\"role\":\"assistant\",\"content\":\"x\","
                                                    "\"reasoning_content\":\"hm \\\"q\\\"\"}"
                                                  : "{\"role\":\"assistant\",\"content\":\"x\"}");
        free(message.bytes);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(details_of_reasoning_go_back_as_they_came)
{
    struct asking asking;
    struct model_message message;
    asking_open(&asking, "openrouter", "m", NULL);
    struct model_reply reply =
        ask_once(&asking, REPLY("{\"content\":\"x\",\"reasoning\":\"r\",\"reasoning_details\":[{"
                                "\"type\":\"reasoning.encrypted\",\"data\":\"a/b\"}]}",
                                "stop"));
    assert_string_equal(reply.thinking, "r");
    model_write_assistant(asking.model, &reply, &message);
    assert_string_equal(message.bytes, "{\"role\":\"assistant\",\"content\":\"x\","
                                       "\"reasoning_details\":[{\"type\":\"reasoning.encrypted\","
                                       "\"data\":\"a/b\"}]}");
    free(message.bytes);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_reasoning_model_of_openai_gets_no_temperature)
{
    static const struct {
        const char *provider, *name;
        bool is_reasoning;
    } cases[] = {
        {"openai", "o3-mini", true},       {"openai", "gpt-5", true},
        {"openai", "gpt-5-mini", true},    {"openai", "gpt-5.3", true},
        {"openai", "gpt-5.1", false},      {"openai", "gpt-5.2-pro", false},
        {"openai", "gpt-5-chat", false},   {"openai", "gpt-4o", false},
        {"groq", "openai/gpt-oss", false}, {"groq", "o3", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        asking_open(&asking, cases[i].provider, cases[i].name, NULL);
        struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"\"}", "stop"));
        const char *body = asking_body(&asking, 0);
        assert_int_equal(strstr(body, "\"temperature\"") == NULL, cases[i].is_reasoning);
        assert_int_equal(strstr(body, "\"max_completion_tokens\":4096") != NULL,
                         cases[i].is_reasoning);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(a_request_may_ask_for_fewer_tokens)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    asking.request.max_tokens = 5;
    struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"\"}", "stop"));
    assert_non_null(strstr(asking_body(&asking, 0), "\"max_tokens\":5}"));
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(the_key_of_a_repetition_goes_to_those_who_take_it)
{
    static const char *const providers[] = {"openai", "local"};
    for (size_t i = 0; i < COUNT(providers); i++) {
        struct asking asking;
        asking_open(&asking, providers[i], "m", NULL);
        asking.request.idempotency_key = "run-7.3";
        struct model_reply reply = ask_once(&asking, REPLY("{\"content\":\"\"}", "stop"));
        const char *key =
            http_peer_header(asking.peer, http_peer_request(asking.peer, 0), "idempotency-key");
        if (i == 0) {
            assert_string_equal(key, "run-7.3");
        } else {
            assert_null(key);
        }
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(a_reply_that_is_not_what_was_promised_is_a_failure)
{
    static const struct {
        const char *reply, *message;
    } cases[] = {
        {"{}", "the reply has no choices"},
        {"[]", "the reply has no choices"},
        {"{\"choices\":[]}", "the reply has no choices"},
        {"{\"choices\":{}}", "the reply has no choices"},
        {"{\"choices\":[null]}", "the reply has no message"},
        {"{\"choices\":[{\"message\":\"x\"}]}", "the reply has no message"},
        {"{\"choices\":[{", "the reply is not JSON: {\"choices\":[{"},
        {"", "the reply is empty"},
        {"<html><head><title>Sign\n in</title></head>", "the reply is a web page instead of JSON "
                                                        "(\"Sign in\")"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        asking_open(&asking, "local", "m", NULL);
        http_peer_always(asking.peer, 200, JSON_TYPE, cases[i].reply);
        asking_user(&asking, "hi");
        struct model_reply reply = asking_ask(&asking);
        assert_int_equal(reply.failure, MODEL_BAD_REPLY);
        assert_string_equal(reply.message, cases[i].message);
        assert_string_equal(reply.text, "");
        assert_true(reply.attempts <= 3);
        model_reply_fini(&reply);
        asking_close(&asking);
    }
}

TEST(parts_of_other_types_are_skipped)
{
    struct asking asking;
    asking_open(&asking, "local", "m", NULL);
    struct model_reply reply = ask_once(
        &asking, REPLY("{\"content\":5,\"refusal\":{},\"reasoning_content\":[],\"tool_calls\":[7,"
                       "null,{\"function\":[]},{\"id\":9,\"function\":{\"name\":4,\"arguments\":1"
                       "}}]}",
                       "stop"));
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "");
    for (size_t i = 0; i < reply.call_count; i++) {
        assert_string_not_equal(reply.calls[i].id, "");
        assert_string_equal(reply.calls[i].name, "");
    }
    model_reply_fini(&reply);
    asking_close(&asking);
}

/** A reply with `count` calls. */
static void many_calls(struct buf *text, size_t count)
{
    buf_append_string(text, "{\"choices\":[{\"message\":{\"tool_calls\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(text, "%s{\"id\":\"c%zu\",\"function\":{\"name\":\"a\"}}", i == 0 ? "" : ",", i);
    }
    buf_append_string(text, "]}}]}");
}

TEST(a_reply_makes_1024_calls_at_most)
{
    struct asking asking;
    struct buf text = {0};
    asking_open(&asking, "local", "m", NULL);
    many_calls(&text, 1024);
    struct model_reply reply = ask_once(&asking, buf_string(&text));
    assert_int_equal(reply.call_count, 1024);
    model_reply_fini(&reply);
    buf_clear(&text);
    many_calls(&text, 1025);
    reply = ask_once(&asking, buf_string(&text));
    assert_int_equal(reply.failure, MODEL_BAD_REPLY);
    assert_string_equal(reply.message, "the model makes more than 1024 calls at once");
    assert_int_equal(reply.attempts, 1);
    model_reply_fini(&reply);
    buf_fini(&text);
    asking_close(&asking);
}
