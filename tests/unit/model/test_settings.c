// SPDX-License-Identifier: Apache-2.0
/* What a role says of its model beside name, temperature and length, in both dialects. */
#include "asking.h"

#include "base/json/json.h"
#include "base/limits.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPENAI_REPLY                                                                             \
    "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]," \
    "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}"
#define CLAUDE_REPLY                                                                    \
    "{\"content\":[{\"type\":\"text\",\"text\":\"yes\"}],\"stop_reason\":\"end_turn\"," \
    "\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}"

static const struct model_tool tools[] = {{"read", "Reads", "{\"type\":\"object\"}"}};

static struct json_object *parse(const char *json)
{
    struct json_object *value = NULL;
    assert_int_equal(json_parse(json, strlen(json), &value, NULL), 0);
    return value;
}

/** Make one request with settings; its body is that of request 0. */
static void ask_with(struct asking *asking, const char *provider, const char *name,
                     const char *json)
{
    auto_json struct json_object *settings = parse(json);
    struct model_options options = {.temperature = 0.1,
                                    .max_tokens = 100,
                                    .price_input_micro = -1,
                                    .price_output_micro = -1,
                                    .api_key_env = "RONDO_TEST_KEY",
                                    .settings = settings,
                                    .has_extras = true};
    asking_open(asking, provider, name, &options);
    model_set_tools(asking->model, tools, COUNT(tools));
    bool is_claude = strcmp(provider, "anthropic") == 0;
    http_peer_reply(asking->peer, 200, JSON_TYPE, is_claude ? CLAUDE_REPLY : OPENAI_REPLY);
    asking_user(asking, "hi");
    struct model_reply reply = asking_ask(asking);
    assert_int_equal(reply.failure, MODEL_OK);
    model_reply_fini(&reply);
}

/** A request with settings contains a text, or does not. */
static void expect(const char *provider, const char *name, const char *json, const char *wanted,
                   bool is_there)
{
    struct asking asking;
    ask_with(&asking, provider, name, json);
    const char *body = asking_body(&asking, 0);
    auto_json struct json_object *whole = parse(body); /* It is JSON, without repeated names. */
    assert_non_null(whole);
    if ((strstr(body, wanted) != NULL) != is_there) {
        fail_msg("%s in\n%s", wanted, body);
    }
    asking_close(&asking);
}

TEST(sampling_settings_reach_openai_by_their_names)
{
    expect("local", "m", "{\"top_p\":0.5}", ",\"top_p\":0.5", true);
    expect("local", "m", "{\"seed\":7}", ",\"seed\":7", true);
    expect("local", "m", "{\"stop_sequences\":[\"END\"]}", ",\"stop\":[\"END\"]", true);
    expect("local", "m", "{\"presence_penalty\":0.5}", ",\"presence_penalty\":0.5", true);
    expect("local", "m", "{\"frequency_penalty\":-1.0}", ",\"frequency_penalty\":-1", true);
    expect("local", "m", "{\"logit_bias\":{\"50256\":-100}}", ",\"logit_bias\":{\"50256\":-100}",
           true);
    expect("local", "m", "{\"top_k\":4}", "top_k", false);
}

TEST(sampling_settings_reach_anthropic_by_their_names)
{
    const char *model = "claude-opus-4-1";
    expect("anthropic", model, "{\"top_p\":0.5}", ",\"top_p\":0.5", true);
    expect("anthropic", model, "{\"top_k\":4}", ",\"top_k\":4", true);
    expect("anthropic", model, "{\"stop_sequences\":[\"E\"]}", ",\"stop_sequences\":[\"E\"]", true);
    expect("anthropic", model, "{\"seed\":7}", "seed", false);
    expect("anthropic", model, "{\"logit_bias\":{\"1\":1}}", "logit_bias", false);
}

TEST(reasoning_models_get_their_effort_and_no_sampling)
{
    expect("openai", "o3", "{\"thinking\":\"high\"}", ",\"reasoning_effort\":\"high\"", true);
    expect("openai", "o3", "{\"thinking\":\"high\",\"top_p\":0.5}", "top_p", false);
    expect("openai", "gpt-5.1", "{\"thinking\":false}", ",\"reasoning_effort\":\"none\"", true);
    expect("openai", "gpt-5-mini", "{\"thinking\":false}", "reasoning_effort", false);
    expect("openai", "gpt-4o", "{\"thinking\":\"high\"}", "reasoning_effort", false);
    expect("local", "m", "{\"thinking\":\"high\"}", "reasoning_effort", false);
}

TEST(the_choice_of_tools_is_written_in_each_dialect)
{
    const char *model = "claude-opus-4-1";
    expect("local", "m", "{\"tool_choice\":\"none\"}", "\"tool_choice\":\"none\"", true);
    expect("local", "m", "{\"parallel_tool_calls\":false}",
           "\"tool_choice\":\"auto\",\"parallel_tool_calls\":false", true);
    expect("local", "m", "{\"parallel_tool_calls\":true}", "parallel_tool_calls", false);
    expect("anthropic", model, "{\"tool_choice\":\"none\"}", "\"tool_choice\":{\"type\":\"none\"}",
           true);
    expect("anthropic", model, "{\"parallel_tool_calls\":false}",
           "{\"type\":\"auto\",\"disable_parallel_tool_use\":true}", true);
}

TEST(members_and_headers_of_the_role_are_in_every_request)
{
    struct asking asking;
    ask_with(&asking, "local", "m",
             "{\"extra_body\":{\"service_tier\":\"flex\",\"a\\\"b\":[1]},\"extra_headers\":"
             "{\"X-Team\":\"blue one\"}}");
    assert_non_null(strstr(asking_body(&asking, 0), ",\"service_tier\":\"flex\",\"a\\\"b\":[1]}"));
    const struct peer_request *request = http_peer_request(asking.peer, 0);
    assert_string_equal(http_peer_header(asking.peer, request, "x-team"), "blue one");
    asking_close(&asking);
}

/** @return the code of opening with settings */
static int open_with(const char *json, bool has_extras)
{
    auto_json struct json_object *settings = parse(json);
    struct random random = random_seeded(1);
    struct model *model = NULL;
    struct model_options options = {.provider = "ollama",
                                    .name = "m",
                                    .clock = clock_system(),
                                    .random = &random,
                                    .price_input_micro = -1,
                                    .price_output_micro = -1,
                                    .settings = settings,
                                    .has_extras = has_extras};
    struct rondo_error err = {0};
    int r = model_open(&options, &model, &err);
    model_free(model);
    return r;
}

TEST(members_that_rondo_writes_or_that_give_tools_are_refused)
{
    static const char *const names[] = {"model",       "messages", "tools",      "max_tokens",
                                        "tool_choice", "stream",   "mcp_servers"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char json[80];
        snprintf(json, sizeof(json), "{\"extra_body\":{\"%s\":1}}", names[i]);
        assert_int_equal(open_with(json, true), RONDO_ERR_INVALID);
    }
}

TEST(headers_that_cannot_be_sent_or_are_the_requests_own_are_refused)
{
    assert_int_equal(open_with("{\"extra_headers\":{\"X-A\":\"a\"}}", true), 0);
    assert_int_equal(open_with("{\"extra_headers\":{\"X-A\":\"a\\r\\nHost: b\"}}", true),
                     RONDO_ERR_INVALID);
    assert_int_equal(open_with("{\"extra_headers\":{\"X A\":\"a\"}}", true), RONDO_ERR_INVALID);
    assert_int_equal(open_with("{\"extra_headers\":{\"\":\"a\"}}", true), RONDO_ERR_INVALID);
    assert_int_equal(open_with("{\"extra_headers\":{\"Authorization\":\"a\"}}", true),
                     RONDO_ERR_INVALID);
    assert_int_equal(open_with("{\"extra_headers\":{\"Content-Length\":\"1\"}}", true),
                     RONDO_ERR_INVALID);
}

TEST(headers_and_members_have_limits)
{
    struct buf json = {0};
    for (int count = 16; count <= 17; count++) {
        buf_clear(&json);
        buf_append_string(&json, "{\"extra_headers\":{");
        for (int i = 0; i < count; i++) {
            buf_printf(&json, "%s\"X-%d\":\"a\"", i > 0 ? "," : "", i);
        }
        buf_append_string(&json, "}}");
        assert_int_equal(open_with(buf_string(&json), true), count == 16 ? 0 : RONDO_ERR_LIMIT);
    }
    for (int more = 0; more <= 1; more++) {
        /* `,"a":""` is 6 bytes. */
        buf_clear(&json);
        buf_append_string(&json, "{\"extra_body\":{\"a\":\"");
        for (long i = 0; i < LIMIT_MODEL_EXTRA_BYTES - 7 + more; i++) {
            buf_append_string(&json, "x");
        }
        buf_append_string(&json, "\"}}");
        assert_int_equal(open_with(buf_string(&json), true), more == 0 ? 0 : RONDO_ERR_LIMIT);
    }
    buf_fini(&json);
}

/** What a role sends to its own provider may be none of another's business. */
TEST(another_provider_gets_none_of_the_roles_headers_and_members)
{
    assert_int_equal(open_with("{\"extra_headers\":{\"X A\":\"a\"}}", false), 0);
    assert_int_equal(open_with("{\"extra_body\":{\"model\":\"a\"}}", false), 0);
}
