// SPDX-License-Identifier: Apache-2.0
/* The tool `slack`: the message that is sent, and what comes of it. */
#include "http_tool_world.h"

#define PLAIN "{\"type\":\"slack\",\"webhook_url\":\"PEER/hook/${RONDO_TEST_TOKEN}\"}"

HTTP_WORLD_TEST(a_message_is_posted_to_the_webhook)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 200, NULL, "ok");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"hi \\\"there\\\"\"}", "ok");
    const struct peer_request *seen = http_peer_request(self->peer, 0);
    assert_string_equal(seen->method, "POST");
    assert_string_equal(seen->path, "/hook/t0ken");
    assert_string_equal(seen->body, "{\"text\":\"hi \\\"there\\\"\"}");
    assert_string_equal(header_of(self, 0, "content-type"), "application/json");
    assert_string_equal(header_of(self, 0, "idempotency-key"), "key-1");
}

HTTP_WORLD_TEST(what_the_role_sets_goes_along)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"slack\",\"webhook_url\":\"PEER/\",\"default_channel\":"
                          "\"#ops\",\"username\":\"Bot\",\"icon_emoji\":\":x:\"}");
    http_peer_always(self->peer, 200, NULL, "ok");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"a\"}", "ok");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"a\",\"channel\":\"#b\"}", "ok");
    assert_string_equal(
        http_peer_request(self->peer, 0)->body,
        "{\"text\":\"a\",\"channel\":\"#ops\",\"username\":\"Bot\",\"icon_emoji\":\":x:\"}");
    assert_non_null(strstr(http_peer_request(self->peer, 1)->body, "\"channel\":\"#b\""));
}

HTTP_WORLD_TEST(blocks_are_taken_as_a_list_or_as_its_text)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_always(self->peer, 200, NULL, "ok");
    world_expect(&self->world, "send_slack_message",
                 "{\"text\":\"a\",\"blocks\":[{\"type\":\"divider\"}]}", "ok");
    world_expect(&self->world, "send_slack_message",
                 "{\"text\":\"a\",\"blocks\":\"[{\\\"type\\\":\\\"divider\\\"}]\"}", "ok");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"a\",\"blocks\":null}", "ok");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(http_peer_request(self->peer, i)->body,
                            "{\"text\":\"a\",\"blocks\":[{\"type\":\"divider\"}]}");
    }
    assert_string_equal(http_peer_request(self->peer, 2)->body, "{\"text\":\"a\"}");
    world_expect_error(&self->world, "send_slack_message",
                       "{\"text\":\"a\",\"blocks\":\"divider\"}",
                       "Error: blocks is not a JSON array");
}

HTTP_WORLD_TEST(what_slack_refuses_is_told)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 404, NULL, "channel_not_found");
    world_expect_error(&self->world, "send_slack_message", "{\"text\":\"a\"}",
                       "Slack API error: 404 channel_not_found");
}

HTTP_WORLD_TEST(a_reply_is_cut_at_the_roles_limit)
{
    struct http_world *self = *state;
    http_world_open(self,
                    "{\"type\":\"slack\",\"webhook_url\":\"PEER/\",\"max_response_bytes\":20}");
    http_peer_reply(self->peer, 200, NULL, "12345678901234567890");
    http_peer_reply(self->peer, 200, NULL, "123456789012345678901");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"a\"}", "12345678901234567890");
    world_expect(&self->world, "send_slack_message", "{\"text\":\"a\"}", "12345678\n[truncated]");
}

HTTP_WORLD_TEST(a_broken_connection_is_told_without_the_url)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply_raw(self->peer, &(struct peer_reply){.bytes = "", .cuts = true});
    struct tool_result result = world_call(&self->world, "send_slack_message", "{\"text\":\"a\"}");
    assert_true(result.is_error);
    assert_non_null(strstr(buf_string(&result.text), "Slack connection error: "));
    assert_null(strstr(buf_string(&result.text), "t0ken"));
    tool_result_fini(&result);
    assert_int_equal(http_peer_request_count(self->peer), 1); /* not sent a second time */
}

HTTP_WORLD_TEST(private_addresses_are_refused)
{
    struct http_world *self = *state;
    self->guard.allow_hosts = NULL;
    http_world_open(self, PLAIN);
    world_expect_error(&self->world, "send_slack_message", "{\"text\":\"a\"}",
                       "Error: SSRF blocked: '127.0.0.1' resolves to private address 127.0.0.1");
}

HTTP_WORLD_TEST(a_webhook_that_is_not_set_is_named)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"slack\",\"webhook_url\":\"${RONDO_TEST_NOT_SET}\"}");
    world_expect_error(&self->world, "send_slack_message", "{\"text\":\"a\"}",
                       "Error: the environment variable RONDO_TEST_NOT_SET is not set");
}

HTTP_WORLD_TEST(a_message_in_doubt_is_not_repeated)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    assert_false(toolbox_find(self->world.toolbox, "send_slack_message")->is_idempotent);
}
