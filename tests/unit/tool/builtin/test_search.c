// SPDX-License-Identifier: Apache-2.0
/* The tool `search`: how each provider is asked, and what is read of its reply. */
#include "http_tool_world.h"

#define JSON    "Content-Type: application/json\r\n"
#define TWO     "1. A\n   https://a.example/\n   x y\n\n2. B\n   https://b.example/"
#define ADDRESS "\"address\":\"PEER\""

HTTP_WORLD_TEST(duckduckgo_is_read_from_its_page)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"search\"," ADDRESS "}");
    http_peer_reply(
        self->peer, 200, "Content-Type: text/html\r\n",
        "<div><h2><a rel='nofollow' class=\"result__a\" "
        "href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&amp;rut=1\"><b>A</b></a></h2>"
        "<a class=\"result__snippet\" href='x'>x\ny</a></div>"
        "<a class='result__a' href='https://b.example/'>B</a>");
    world_expect(&self->world, "web_search", "{\"query\":\"a b&c\"}",
                 "1. **A**\n   https://a.example/\n   x y\n\n2. B\n   https://b.example/");
    assert_string_equal(http_peer_request(self->peer, 0)->path, "/html/?q=a%20b%26c&kp=1");
    http_peer_reply(self->peer, 200, "Content-Type: text/html\r\n", "<p>nothing");
    world_expect(&self->world, "news_search", "{\"query\":\"a\"}", "No results found.");
    assert_string_equal(http_peer_request(self->peer, 1)->path, "/html/?q=a&kp=1&df=m");
}

HTTP_WORLD_TEST(brave_is_asked_with_its_header)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"search\",\"provider\":\"brave\",\"max_results\":2,"
                          "\"api_key\":\"${RONDO_TEST_TOKEN}\"," ADDRESS "}");
    http_peer_reply(self->peer, 200, JSON,
                    "{\"web\":{\"results\":[{\"title\":\"A\",\"url\":\"https://a.example/\","
                    "\"description\":\"x y\"},{\"title\":\"B\",\"url\":\"https://b.example/\"},"
                    "{\"title\":\"C\"}]}}");
    world_expect(&self->world, "web_search", "{\"query\":\"q\",\"num_results\":9}", TWO);
    assert_string_equal(http_peer_request(self->peer, 0)->path,
                        "/res/v1/web/search?q=q&count=2&safesearch=strict");
    assert_string_equal(header_of(self, 0, "x-subscription-token"), "t0ken");
}

HTTP_WORLD_TEST(serpapi_and_tavily_are_asked_in_their_way)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"search\",\"provider\":\"serpapi\",\"safe_search\":false,"
                          "\"api_key\":\"${RONDO_TEST_TOKEN}\"," ADDRESS "}");
    http_peer_reply(self->peer, 200, JSON,
                    "{\"news_results\":[{\"title\":\"A\",\"link\":\"https://a.example/\","
                    "\"snippet\":\"x y\"},{\"title\":\"B\",\"link\":\"https://b.example/\"}]}");
    world_expect(&self->world, "news_search", "{\"query\":\"q\"}", TWO);
    assert_string_equal(http_peer_request(self->peer, 0)->path,
                        "/search.json?engine=google&q=q&num=10&safe=off&tbm=nws&api_key=t0ken");
}

HTTP_WORLD_TEST(tavily_gets_a_json_body)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"search\",\"provider\":\"tavily\","
                          "\"api_key\":\"${RONDO_TEST_TOKEN}\"," ADDRESS "}");
    http_peer_reply(self->peer, 200, JSON,
                    "{\"results\":[{\"title\":\"A\",\"url\":\"https://a.example/\","
                    "\"content\":\"x y\"},{\"title\":\"B\",\"url\":\"https://b.example/\"}]}");
    world_expect(&self->world, "web_search", "{\"query\":\"q\"}", TWO);
    assert_string_equal(http_peer_request(self->peer, 0)->body,
                        "{\"query\":\"q\",\"topic\":\"general\",\"max_results\":10}");
    assert_string_equal(header_of(self, 0, "authorization"), "Bearer t0ken");
}

HTTP_WORLD_TEST(failures_are_results)
{
    struct http_world *self = *state;
    http_world_open(self,
                    "{\"type\":\"search\",\"provider\":\"brave\",\"api_key\":\"k\"," ADDRESS "}");
    http_peer_reply(self->peer, 429, NULL, "");
    world_expect_error(&self->world, "web_search", "{\"query\":\"q\"}",
                       "Error: brave answered with HTTP 429");
    http_peer_reply(self->peer, 200, NULL, "<p>");
    world_expect_error(&self->world, "web_search", "{\"query\":\"q\"}",
                       "Error: the reply of brave is not JSON");
    http_peer_reply(self->peer, 200, JSON, "{\"web\":[5]}");
    world_expect(&self->world, "web_search", "{\"query\":\"q\"}", "No results found.");
}

HTTP_WORLD_TEST(a_key_that_is_not_set_is_named)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"search\",\"provider\":\"brave\","
                          "\"api_key\":\"${RONDO_NO_SUCH_KEY}\"," ADDRESS "}");
    world_expect_error(&self->world, "web_search", "{\"query\":\"q\"}",
                       "Error: the environment variable RONDO_NO_SUCH_KEY is not set");
}
