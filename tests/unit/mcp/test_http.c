// SPDX-License-Identifier: Apache-2.0
#include "mcp_world.h"

#include "../../support/http_peer.h"
#include "net/client/http.h"

#define JSON   "Content-Type: application/json\r\n"
#define SSE    "Content-Type: text/event-stream\r\n"
#define MODERN "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}"
#define INITIALIZED(id)                               \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"
#define RESULT(id, text)              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id \
    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"

struct site {
    struct mcp_world *world;
    struct http_peer *peer;
    struct http_client *http;
};

static int site_set_up(void **state)
{
    struct site *site = calloc(1, sizeof(*site));
    void *world = NULL;
    world_set_up(&world);
    site->world = world;
    site->peer = http_peer_new();
    assert_int_equal(http_client_new(NULL, &site->http, NULL), 0);
    site->world->around.http = site->http;
    *state = site;
    return 0;
}

static int site_tear_down(void **state)
{
    struct site *site = *state;
    void *world = site->world;
    world_tear_down(&world);
    http_client_free(site->http);
    http_peer_free(site->peer);
    free(site);
    return 0;
}

static void reach(struct site *site, const char *const *headers)
{
    const struct mcp_options options = {
        .name = "site",
        .transport = MCP_HTTP,
        .url = http_peer_url(site->peer, "/mcp"),
        .headers = headers,
        .surroundings = &site->world->around,
    };
    assert_int_equal(mcp_client_new(&options, &site->world->client, &site->world->err), 0);
}

/** A server that begins with `initialize`: three requests. @param session header or "" */
static void script_legacy(struct site *site, const char *session)
{
    http_peer_reply(site->peer, 400, JSON,
                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{"
                    "\"code\":-32000,\"message\":\"no session\"}}");
    http_peer_reply(site->peer, 200, session, INITIALIZED("2"));
    http_peer_reply(site->peer, 202, NULL, "");
}

static const char *header(struct site *site, size_t request, const char *name)
{
    const char *value = http_peer_header(site->peer, http_peer_request(site->peer, request), name);
    return value == NULL ? "(none)" : value;
}

#define SITE_TEST(test) TEST_WITH(test, site_set_up, site_tear_down)

SITE_TEST(a_server_that_does_not_know_discovery_is_initialized)
{
    struct site *site = *state;
    script_legacy(site, JSON "Mcp-Session-Id: s-1\r\n");
    http_peer_reply(site->peer, 200, JSON, RESULT("3", "old"));
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), 0);
    assert_string_equal(site->world->text, "old");
    assert_string_equal(mcp_client_version(site->world->client), "2025-11-25");
    assert_string_equal(header(site, 3, "Mcp-Session-Id"), "s-1");
    assert_string_equal(header(site, 3, "MCP-Protocol-Version"), "2025-11-25");
    assert_string_equal(header(site, 3, "Accept"), "application/json, text/event-stream");
}

SITE_TEST(a_session_that_was_lost_is_begun_anew)
{
    struct site *site = *state;
    script_legacy(site, JSON "Mcp-Session-Id: s-1\r\n");
    http_peer_reply(site->peer, 404, JSON, "");
    http_peer_reply(site->peer, 200, JSON "Mcp-Session-Id: s-2\r\n", INITIALIZED("4"));
    http_peer_reply(site->peer, 202, NULL, "");
    http_peer_reply(site->peer, 200, JSON, RESULT("5", "again"));
    reach(site, NULL);
    int code = call(site->world, "x", "{}");
    assert_string_equal(site->world->err.message, "");
    assert_int_equal(code, 0);
    assert_string_equal(header(site, 6, "Mcp-Session-Id"), "s-2");
}

SITE_TEST(a_reply_in_a_stream_is_found_after_notifications)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, SSE,
                    "id: 1\ndata:\n\n"
                    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
                    "event: message\ndata: " RESULT("3", "streamed") "\n\n");
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), 0);
    assert_string_equal(site->world->text, "streamed");
}

SITE_TEST(a_stream_that_was_cut_is_taken_up_where_it_ended)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, SSE, "id: e-7\nretry: 20\ndata:\n\n");
    http_peer_reply(site->peer, 200, SSE, "data: " RESULT("3", "resumed") "\n\n");
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), 0);
    assert_string_equal(site->world->text, "resumed");
    assert_string_equal(http_peer_request(site->peer, 4)->method, "GET");
    assert_string_equal(header(site, 4, "Last-Event-ID"), "e-7");
}

SITE_TEST(a_stream_whose_retry_is_after_the_deadline_is_not_waited_for)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, SSE, "id: e-7\nretry: 3000000\ndata:\n\n");
    http_peer_always(site->peer, 202, NULL, "");
    reach(site, NULL);
    int64_t begun = in(0);
    assert_int_equal(call(site->world, "x", "{}"), RONDO_ERR_TIMEOUT);
    assert_true(in(0) - begun < GENEROUS_NS / 2);
}

SITE_TEST(a_stream_without_a_reply_is_an_error)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, SSE, "data:\n\n");
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), RONDO_ERR_IO);
}

SITE_TEST(requests_of_the_new_form_describe_themselves)
{
    struct site *site = *state;
    http_peer_reply(site->peer, 200, JSON, MODERN);
    http_peer_reply(site->peer, 200, JSON,
                    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"t\xc3\xa4\","
                    "\"inputSchema\":{\"properties\":{\"r\":{\"type\":\"string\","
                    "\"x-mcp-header\":\"Region\"}}}}]}}");
    http_peer_reply(site->peer, 200, JSON, RESULT("3", "new"));
    reach(site, NULL);
    int code = call(site->world, "t\xc3\xa4", "{\"r\":\" eu\"}");
    assert_string_equal(site->world->err.message, "");
    assert_int_equal(code, 0);
    assert_string_equal(header(site, 2, "MCP-Protocol-Version"), "2026-07-28");
    assert_string_equal(header(site, 2, "Mcp-Method"), "tools/call");
    assert_string_equal(header(site, 2, "Mcp-Name"), "=?base64?dMOk?=");
    assert_string_equal(header(site, 2, "Mcp-Param-Region"), "=?base64?IGV1?=");
    assert_string_equal(header(site, 2, "Mcp-Session-Id"), "(none)");
    assert_contains(http_peer_request(site->peer, 2)->body,
                    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"");
}

SITE_TEST(headers_of_the_configuration_go_with_every_request)
{
    struct site *site = *state;
    const char *const headers[] = {"Authorization: Bearer t0ken", NULL};
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, JSON, RESULT("3", "x"));
    reach(site, headers);
    assert_int_equal(call(site->world, "x", "{}"), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(header(site, i, "Authorization"), "Bearer t0ken");
    }
}

SITE_TEST(a_refused_token_is_said_and_not_shown)
{
    struct site *site = *state;
    const char *const headers[] = {"Authorization: Bearer t0ken", NULL};
    http_peer_always(site->peer, 401, NULL, "who are you?");
    reach(site, headers);
    assert_int_equal(call(site->world, "x", "{}"), RONDO_ERR_DENIED);
    assert_contains(site->world->err.message, "refuses access (HTTP status 401)");
    assert_null(strstr(site->world->err.message, "t0ken"));
}

SITE_TEST(a_redirect_is_not_followed)
{
    struct site *site = *state;
    http_peer_always(site->peer, 302, "Location: /elsewhere\r\n", "");
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), RONDO_ERR_IO);
    assert_string_equal(http_peer_request(site->peer, 1)->path, "/mcp");
}

SITE_TEST(a_server_that_hangs_ends_at_the_deadline)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    const struct peer_reply reply = {.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true, .stall_at = 5};
    http_peer_reply_raw(site->peer, &reply);
    http_peer_always(site->peer, 202, NULL, "");
    reach(site, NULL);
    assert_int_equal(call_within(site->world, "x", "{}", in(3 * SHORT_NS)), RONDO_ERR_TIMEOUT);
}

SITE_TEST(a_reply_that_is_not_json_is_an_error)
{
    struct site *site = *state;
    script_legacy(site, JSON);
    http_peer_reply(site->peer, 200, JSON, "{\"jsonrpc\":");
    reach(site, NULL);
    assert_int_equal(call(site->world, "x", "{}"), RONDO_ERR_CORRUPT);
}

SITE_TEST(a_url_of_another_kind_is_refused)
{
    struct site *site = *state;
    const struct mcp_options options = {.name = "site",
                                        .transport = MCP_HTTP,
                                        .url = "file:///etc/hostname",
                                        .surroundings = &site->world->around};
    assert_int_equal(mcp_client_new(&options, &site->world->client, &site->world->err),
                     RONDO_ERR_INVALID);
}
