// SPDX-License-Identifier: Apache-2.0
/* The tool `web_reader`: pages as text, and the hosts that may be reached. */
#include "http_tool_world.h"

#include <stdio.h>

#define HTML "Content-Type: text/html; charset=utf-8\r\n"

static void expect_page(struct http_world *self, const char *path, const char *text)
{
    struct buf call = {0};
    buf_printf(&call, "{\"url\":\"%s\"}", http_peer_url(self->peer, path));
    world_expect(&self->world, "fetch_page", buf_string(&call), text);
    buf_fini(&call);
}

static void expect_failure(struct http_world *self, const char *url, const char *text)
{
    struct buf call = {0};
    buf_printf(&call, "{\"url\":\"%s\"}", url);
    world_expect_error(&self->world, "fetch_page", buf_string(&call), text);
    buf_fini(&call);
}

HTTP_WORLD_TEST(a_page_is_read_as_markdown)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"web_reader\",\"user_agent\":\"me/1\"}");
    http_peer_reply(self->peer, 200, HTML, "<h1>A</h1><p>b</p>");
    expect_page(self, "/x", "# A\n\nb");
    assert_string_equal(header_of(self, 0, "user-agent"), "me/1");
    http_peer_reply(self->peer, 200, "Content-Type: text/plain\r\n", "<h1>");
    expect_page(self, "/y", "<h1>");
    http_peer_reply(self->peer, 200, "Content-Type: image/png\r\n", "x");
    expect_failure(self, http_peer_url(self->peer, "/z"), "Error: ");
    http_peer_reply(self->peer, 404, HTML, "x");
    expect_failure(self, http_peer_url(self->peer, "/z"), "Error: HTTP 404");
}

HTTP_WORLD_TEST(a_page_is_cut)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"web_reader\",\"max_content_bytes\":20}");
    http_peer_reply(self->peer, 200, HTML, "<p>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect_page(self, "/", "aaaaaaaaaaaaaaaaaaaa");
}

HTTP_WORLD_TEST(only_hosts_of_the_role_are_reached)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"web_reader\",\"allowed_domains\":[\"127.0.0.1\"],"
                          "\"blocked_domains\":[\"127.0.0.1\"]}");
    http_peer_reply(self->peer, 200, HTML, "a");
    expect_page(self, "/", "a");
    expect_failure(self, "http://example.com/", "Error: the domain 'example.com' is not allowed");
    expect_failure(self, "http://127.0.0.1@example.com/", "Error: 'http");
    expect_failure(self, "file:///etc/passwd", "Error: 'file");
}

HTTP_WORLD_TEST(redirects_are_followed_as_far_as_the_role_allows)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"web_reader\",\"blocked_domains\":[\"evil.example\"]}");
    http_peer_reply(self->peer, 302, "Location: /b/c?x\r\n", "");
    http_peer_reply(self->peer, 301, "Location: d\r\n", "");
    http_peer_reply(self->peer, 200, HTML, "there");
    expect_page(self, "/a", "there");
    assert_string_equal(http_peer_request(self->peer, 1)->path, "/b/c?x");
    assert_string_equal(http_peer_request(self->peer, 2)->path, "/b/d");
    http_peer_reply(self->peer, 302, "Location: http://EVIL.example./\r\n", "");
    expect_failure(self, http_peer_url(self->peer, "/"),
                   "Error: the domain 'evil.example' is not allowed");
    http_peer_always(self->peer, 302, "Location: /again\r\n", "");
    expect_failure(self, http_peer_url(self->peer, "/"), "Error: more than 5 redirects");
}

HTTP_WORLD_TEST(private_addresses_are_refused)
{
    struct http_world *self = *state;
    self->guard.allow_hosts = NULL;
    http_world_open(self, "{\"type\":\"web_reader\"}");
    expect_failure(self, http_peer_url(self->peer, "/"), "Error: SSRF blocked");
}
