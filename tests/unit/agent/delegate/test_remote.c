// SPDX-License-Identifier: Apache-2.0
/* Agents at an address: what is sent, and what of their replies reaches the model. */
#include "../../tool/builtin/http_tool_world.h"

#include "agent/delegate/remote.h"

#include <pthread.h>

#define CARD(version)                                                                             \
    "{\"supportedInterfaces\":[{\"protocolBinding\":\"GRPC\",\"url\":\"http://other.example/\"}," \
    "{\"protocolBinding\":\"JSONRPC\",\"protocolVersion\":\"" version "\",\"url\":\"%s\"}]}"

struct remote_world {
    struct http_world *http;
    struct tool_headers headers;
    struct tool_result result;
};

static void ask_with(struct remote_world *world, bool is_a2a, int64_t timeout_s,
                     struct cancel *cancel)
{
    const struct remote_agent agent = {.around = &world->http->world.around,
                                       .name = "helper",
                                       .url = http_peer_url(world->http->peer, "/"),
                                       .headers = &world->headers,
                                       .timeout_s = timeout_s};
    const struct tool_call call = {.cancel = cancel,
                                   .idempotency_key = "key-1",
                                   .deadline_ns = clock_monotonic(clock_system()) + 60 * NS_PER_S};
    world->http->world.around.clock = clock_system();
    tool_headers_set(&world->headers, "X-Key", "s3cret");
    tool_result_fini(&world->result);
    (is_a2a ? remote_a2a : remote_chat)(&agent, "What is it?", &call, &world->result);
}

static void ask(struct remote_world *world, bool is_a2a, int64_t timeout_s)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    ask_with(world, is_a2a, timeout_s, &cancel);
    cancel_fini(&cancel);
}

static void expect_result(struct remote_world *world, bool is_error, const char *part)
{
    if (world->result.is_error != is_error ||
        strstr(buf_string(&world->result.text), part) == NULL) {
        fail_msg("%s", buf_string(&world->result.text));
    }
    tool_result_fini(&world->result);
    tool_headers_fini(&world->headers);
}

HTTP_WORLD_TEST(chat_asks_with_the_prompt_and_takes_the_first_choice)
{
    struct remote_world world = {.http = *state};
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"42\"}}]}");
    ask(&world, false, 10);
    const struct peer_request *seen = http_peer_request(world.http->peer, 0);
    assert_string_equal(seen->path, "/v1/chat/completions");
    assert_string_equal(seen->body, "{\"model\":\"helper\",\"messages\":[{\"role\":\"user\","
                                    "\"content\":\"What is it?\"}]}");
    assert_string_equal(header_of(world.http, 0, "x-key"), "s3cret");
    assert_string_equal(header_of(world.http, 0, "idempotency-key"), "key-1");
    expect_result(&world, false, "42");
}

HTTP_WORLD_TEST(what_is_no_answer_of_a_chat_is_an_error)
{
    static const char *const bodies[] = {"{\"choices\":[]}", "{\"choices\":{}}", "[]",
                                         "{\"choices\":[{\"message\":{\"content\":\"\"}}]}",
                                         "{\"choices\":[{\"message\":{\"content\":[1]}}]}"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct remote_world world = {.http = *state};
        http_peer_reply(world.http->peer, 200, NULL, bodies[i]);
        ask(&world, false, 10);
        expect_result(&world, true,
                      "[DELEGATION ERROR] agent 'helper' has answered without a text");
    }
    struct remote_world world = {.http = *state};
    http_peer_reply(world.http->peer, 200, NULL, "<html>");
    ask(&world, false, 10);
    expect_result(&world, true, "[DELEGATION ERROR] agent 'helper' has sent no JSON");
    http_peer_reply(world.http->peer, 503, NULL, "busy");
    ask(&world, false, 10);
    expect_result(&world, true, "[DELEGATION ERROR] agent 'helper': HTTP 503 busy");
}

HTTP_WORLD_TEST(the_guard_holds_for_agents_elsewhere)
{
    struct remote_world world = {.http = *state};
    world.http->guard.allow_hosts = NULL;
    ask(&world, false, 10);
    expect_result(&world, true, "[DELEGATION ERROR] agent 'helper': Error: SSRF blocked");
}

static void reply_card(struct remote_world *world, const char *format)
{
    char card[1024];
    char url[256];
    snprintf(url, sizeof(url), "%s", http_peer_url(world->http->peer, "/rpc"));
    snprintf(card, sizeof(card), format, url); /* NOLINT */
    http_peer_reply(world->http->peer, 200, NULL, card);
}

HTTP_WORLD_TEST(a2a_reads_the_card_and_sends_a_message)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_reply(
        world.http->peer, 200, NULL,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"message\":{\"role\":\"ROLE_AGENT\","
        "\"parts\":[{\"text\":\"forty\"},{\"text\":\"two\"}]}}}");
    ask(&world, true, 10);
    assert_string_equal(http_peer_request(world.http->peer, 0)->path,
                        "/.well-known/agent-card.json");
    assert_string_equal(http_peer_request(world.http->peer, 1)->path, "/rpc");
    const char *body = http_peer_request(world.http->peer, 1)->body;
    assert_non_null(strstr(body, "\"method\":\"SendMessage\""));
    assert_string_equal(header_of(world.http, 1, "a2a-version"), "1.0");
    assert_string_equal(header_of(world.http, 1, "x-key"), "s3cret");
    assert_non_null(strstr(body, "\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"What is it?\"}]"));
    expect_result(&world, false, "forty\ntwo");
}

HTTP_WORLD_TEST(a_task_is_looked_at_until_it_is_over)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"result\":{\"task\":{\"id\":\"t1\",\"status\":{\"state\":"
                    "\"TASK_STATE_SUBMITTED\"}}}}");
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"result\":{\"id\":\"t1\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"},"
                    "\"artifacts\":[{\"parts\":[{\"text\":\"done\"},{\"data\":{\"n\":1}}]}]}}");
    ask(&world, true, 10);
    const char *body = http_peer_request(world.http->peer, 2)->body;
    assert_non_null(strstr(body, "\"method\":\"GetTask\",\"params\":{\"id\":\"t1\"}"));
    assert_string_equal(header_of(world.http, 1, "idempotency-key"), "key-1");
    assert_string_equal(header_of(world.http, 2, "idempotency-key"), "");
    expect_result(&world, false, "done\n{\"n\":1}");
    assert_int_equal(http_peer_request_count(world.http->peer), 3);
}

HTTP_WORLD_TEST(the_version_before_has_other_names)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("0.3.0"));
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"result\":{\"kind\":\"task\",\"id\":\"t1\",\"status\":{\"state\":"
                    "\"input-required\",\"message\":{\"parts\":[{\"kind\":\"text\",\"text\":"
                    "\"which one?\"}]}}}}");
    ask(&world, true, 10);
    const char *body = http_peer_request(world.http->peer, 1)->body;
    assert_non_null(strstr(body, "\"method\":\"message/send\""));
    assert_string_equal(header_of(world.http, 1, "a2a-version"), "");
    assert_non_null(strstr(body, "{\"kind\":\"text\",\"text\":\"What is it?\"}"));
    expect_result(&world, true,
                  "[DELEGATION ERROR] the task of agent 'helper' is input-required: which one?");
}

/** The last request cancels the task, and no other one does. */
static void expect_cancelled(struct remote_world *world, const char *method)
{
    size_t count = http_peer_request_count(world->http->peer);
    for (size_t i = 0; i < count; i++) {
        const char *body = http_peer_request(world->http->peer, i)->body;
        assert_int_equal(strstr(body, method) != NULL, i == count - 1);
    }
    const char *last = http_peer_request(world->http->peer, count - 1)->body;
    assert_non_null(strstr(last, "\"params\":{\"id\":\"t1\"}"));
    assert_string_equal(header_of(world->http, count - 1, "x-key"), "s3cret");
    assert_string_equal(header_of(world->http, count - 1, "idempotency-key"), "");
}

HTTP_WORLD_TEST(a_task_that_takes_too_long_is_cancelled)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_always(world.http->peer, 200, NULL,
                     "{\"result\":{\"id\":\"t1\",\"status\":{\"state\":\"working\"}}}");
    ask(&world, true, 1);
    expect_cancelled(&world, "\"CancelTask\"");
    expect_result(&world, true, "is not done in time");
}

struct interruption {
    struct http_peer *peer;
    struct cancel cancel;
    bool at_look; /* while a look at the task has no reply */
};

static void *interrupt(void *context)
{
    struct interruption *interruption = context;
    if (interruption->at_look) {
        http_peer_wait_stalled(interruption->peer, 1);
    } else {
        http_peer_wait_requests(interruption->peer, 3);
    }
    cancel_set(&interruption->cancel, CANCEL_GRACEFUL);
    return NULL;
}

static void ask_and_interrupt(struct remote_world *world, bool at_look)
{
    pthread_t thread;
    struct interruption interruption = {.peer = world->http->peer, .at_look = at_look};
    assert_int_equal(cancel_init(&interruption.cancel, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, &interruption), 0);
    ask_with(world, true, 60, &interruption.cancel);
    pthread_join(thread, NULL);
    cancel_fini(&interruption.cancel);
}

HTTP_WORLD_TEST(the_task_of_a_call_that_is_cancelled_is_cancelled)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_always(world.http->peer, 200, NULL,
                     "{\"result\":{\"id\":\"t1\",\"status\":{\"state\":\"working\"}}}");
    ask_and_interrupt(&world, false);
    expect_cancelled(&world, "\"CancelTask\"");
    expect_result(&world, true, "[DELEGATION ERROR] ");
}

HTTP_WORLD_TEST(a_task_of_the_version_before_is_cancelled_by_its_name)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("0.3.0"));
    http_peer_always(world.http->peer, 200, NULL,
                     "{\"result\":{\"id\":\"t1\",\"status\":{\"state\":\"working\"}}}");
    ask_and_interrupt(&world, false);
    expect_cancelled(&world, "\"tasks/cancel\"");
    expect_result(&world, true, "[DELEGATION ERROR] ");
}

static void reply_never(struct remote_world *world)
{
    http_peer_reply_raw(world->http->peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n\r\n", .stalls = true});
}

HTTP_WORLD_TEST(an_agent_that_does_not_answer_that_it_cancels_delays_for_a_moment_only)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"result\":{\"id\":\"t1\",\"status\":{\"state\":\"working\"}}}");
    reply_never(&world);
    reply_never(&world);
    int64_t began_ns = clock_monotonic(clock_system());
    ask_and_interrupt(&world, true);
    int64_t took_ns = clock_monotonic(clock_system()) - began_ns;
    assert_int_equal(http_peer_request_count(world.http->peer), 4);
    expect_cancelled(&world, "\"CancelTask\"");
    assert_true(took_ns >= REMOTE_CANCEL_S * NS_PER_S);
    assert_true(took_ns < 30 * NS_PER_S); /* The call itself has 60. */
    expect_result(&world, true, "[DELEGATION ERROR] ");
}

HTTP_WORLD_TEST(a_card_cannot_send_secrets_elsewhere)
{
    struct remote_world world = {.http = *state};
    http_peer_reply(world.http->peer, 200, NULL, "{\"url\":\"http://elsewhere.example/rpc\"}");
    ask(&world, true, 10);
    expect_result(&world, true, "names another server, http://elsewhere.example/rpc");
    assert_int_equal(http_peer_request_count(world.http->peer), 1);
}

HTTP_WORLD_TEST(errors_of_the_protocol_are_told)
{
    struct remote_world world = {.http = *state};
    reply_card(&world, CARD("1.0"));
    http_peer_reply(world.http->peer, 200, NULL,
                    "{\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
    ask(&world, true, 10);
    expect_result(&world, true, "[DELEGATION ERROR] agent 'helper': Method not found");
    static const char *const bodies[] = {"[]", "{\"result\":7}", "{\"result\":{}}",
                                         "{\"result\":{\"message\":{\"parts\":{}}}}"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        reply_card(&world, CARD("1.0"));
        http_peer_reply(world.http->peer, 200, NULL, bodies[i]);
        ask(&world, true, 10);
        expect_result(&world, true, "[DELEGATION ERROR]");
    }
}
