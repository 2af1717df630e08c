// SPDX-License-Identifier: Apache-2.0
/* Calls that go well: what is sent, what comes back, what is kept alive, where redirects lead. */
#include "http_world.h"

#include "base/version.h"
#include "net/client/guard.h"

#include <stdio.h>

WORLD_TEST(a_reply_comes_with_status_headers_and_body)
{
    struct http_client_world *world = *state;
    char value[64];
    http_peer_reply(world->peer, 418, "X-Kind:  tea pot \r\nContent-Type: text/plain\r\n", "short");
    assert_failure(get(world, "/a?b=c"), HTTP_OK);
    assert_int_equal(world->response.status, 418);
    assert_string_equal(buf_string(&world->response.body), "short");
    assert_true(http_response_header(&world->response, "x-kind", value, sizeof(value)));
    assert_string_equal(value, "tea pot");
    assert_true(world->response.duration_ns > 0);
}

WORLD_TEST(a_header_that_is_absent_or_too_long_is_not_given)
{
    struct http_client_world *world = *state;
    char value[4];
    http_peer_reply(world->peer, 200, "X-Four: four\r\nX-Three: abc\r\n", "");
    assert_failure(get(world, "/"), HTTP_OK);
    assert_false(http_response_header(&world->response, "x-four", value, sizeof(value)));
    assert_false(http_response_header(&world->response, "x-thre", value, sizeof(value)));
    assert_true(http_response_header(&world->response, "X-THREE", value, sizeof(value)));
    assert_string_equal(value, "abc");
}

WORLD_TEST(a_get_says_who_asks_and_holds_no_body)
{
    struct http_client_world *world = *state;
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(get(world, "/x%20y"), HTTP_OK);
    const struct peer_request *request = http_peer_request(world->peer, 0);
    assert_string_equal(request->method, "GET");
    assert_string_equal(request->path, "/x%20y");
    assert_string_equal(http_peer_header(world->peer, request, "user-agent"),
                        "rondo/" RONDO_VERSION);
    assert_null(http_peer_header(world->peer, request, "content-length"));
    assert_null(http_peer_header(world->peer, request, "content-type"));
}

WORLD_TEST(the_parts_of_a_body_arrive_as_one)
{
    struct http_client_world *world = *state;
    struct http_part parts[] = {{"{\"a\":", 5}, {NULL, 0}, {"[1,2", 4}, {"]}", 2}};
    struct http_header headers[] = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.method = "POST";
    request.parts = parts;
    request.part_count = 4;
    request.headers = headers;
    request.header_count = 2;
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    const struct peer_request *seen = http_peer_request(world->peer, 0);
    assert_string_equal(seen->method, "POST");
    assert_string_equal(seen->body, "{\"a\":[1,2]}");
    assert_string_equal(http_peer_header(world->peer, seen, "content-length"), "11");
    assert_string_equal(http_peer_header(world->peer, seen, "content-type"), "application/json");
    assert_string_equal(http_peer_header(world->peer, seen, "x-empty"), "");
    assert_null(http_peer_header(world->peer, seen, "expect"));
    assert_null(http_peer_header(world->peer, seen, "transfer-encoding"));
}

WORLD_TEST(a_large_body_in_many_parts_arrives_whole)
{
    struct http_client_world *world = *state;
    enum { COUNT = 1000, LEN = 3001 };
    char *bytes = memory_new(LEN);
    struct http_part parts[COUNT];
    for (size_t i = 0; i < LEN; i++) {
        bytes[i] = (char)('a' + i % 26);
    }
    for (size_t i = 0; i < COUNT; i++) {
        parts[i] = (struct http_part){bytes, LEN};
    }
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.method = "PUT";
    request.parts = parts;
    request.part_count = COUNT;
    http_peer_reply(world->peer, 204, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    const struct peer_request *seen = http_peer_request(world->peer, 0);
    assert_string_equal(seen->method, "PUT");
    assert_int_equal(seen->body_len, COUNT * LEN);
    for (size_t i = 0; i < COUNT; i++) {
        assert_memory_equal(seen->body + i * LEN, bytes, LEN);
    }
    free(bytes);
}

/** Bodies are joined up to 16 KiB, and read in pieces above. */
WORLD_TEST(bodies_around_the_size_that_is_joined_arrive_whole)
{
    struct http_client_world *world = *state;
    enum { MOST = 16 * 1024 };
    char *bytes = memory_new(MOST + 1);
    for (size_t i = 0; i <= MOST; i++) {
        bytes[i] = (char)('a' + i % 26);
    }
    for (size_t len = MOST - 1; len <= MOST + 1; len++) {
        struct http_part parts[] = {{bytes, 9000}, {bytes + 9000, len - 9000}};
        struct http_request request = request_to(http_peer_url(world->peer, "/"));
        request.method = "POST";
        request.parts = parts;
        request.part_count = 2;
        http_peer_reply(world->peer, 200, NULL, "");
        assert_failure(call(world, &request), HTTP_OK);
        const struct peer_request *seen = http_peer_request(world->peer, len - (MOST - 1));
        assert_int_equal(seen->body_len, len);
        assert_memory_equal(seen->body, bytes, len);
    }
    free(bytes);
}

WORLD_TEST(each_method_says_whether_it_has_a_body)
{
    struct http_client_world *world = *state;
    static const struct {
        const char *method;
        const char *length;
    } cases[] = {{"POST", "0"}, {"PUT", "0"}, {"PATCH", "0"}, {"DELETE", NULL}, {"HEAD", NULL}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_request request = request_to(http_peer_url(world->peer, "/"));
        request.method = cases[i].method;
        http_peer_reply(world->peer, 200, NULL, "");
        assert_failure(call(world, &request), HTTP_OK);
        const struct peer_request *seen = http_peer_request(world->peer, i);
        const char *length = http_peer_header(world->peer, seen, "content-length");
        assert_string_equal(seen->method, cases[i].method);
        assert_string_equal(length == NULL ? "none" : length,
                            cases[i].length == NULL ? "none" : cases[i].length);
    }
}

WORLD_TEST(the_length_in_a_reply_to_head_is_no_body)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.method = "HEAD";
    http_peer_reply_raw(world->peer, &(struct peer_reply){
                                         .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"});
    assert_failure(call(world, &request), HTTP_OK);
    assert_int_equal(world->response.body.len, 0);
}

WORLD_TEST(connections_are_kept_for_the_next_call)
{
    struct http_client_world *world = *state;
    http_peer_always(world->peer, 200, NULL, "again");
    for (int i = 0; i < 10; i++) {
        assert_failure(get(world, "/"), HTTP_OK);
    }
    assert_int_equal(http_peer_request_count(world->peer), 10);
    assert_int_equal(http_peer_connection_count(world->peer), 1);
}

WORLD_TEST(a_chunked_reply_is_put_together)
{
    struct http_client_world *world = *state;
    http_peer_reply_raw(
        world->peer, &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n"
                                                   "Transfer-Encoding: chunked\r\n\r\n"
                                                   "4\r\none \r\n3\r\ntwo\r\n0\r\nX-T: 1\r\n\r\n",
                                          .piece_bytes = 1});
    assert_failure(get(world, "/"), HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "one two");
}

/* printf 'hello hello hello' | gzip -n */
#define ZIPPED                                                                             \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x00\x80" \
    "\x88\xf9\xe5\x11\x00\x00\x00"

WORLD_TEST(a_packed_reply_is_unpacked)
{
    struct http_client_world *world = *state;
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                "Content-Length: 28\r\n\r\n" ZIPPED;
    http_peer_reply_raw(world->peer,
                        &(struct peer_reply){.bytes = reply, .len = sizeof(reply) - 1});
    enum http_failure failure = get(world, "/");
    if (failure != HTTP_OK) {
        fail_msg("%s", world->response.message);
    }
    assert_string_equal(buf_string(&world->response.body), "hello hello hello");
    assert_non_null(
        strstr(http_peer_header(world->peer, http_peer_request(world->peer, 0), "accept-encoding"),
               "gzip"));
}

WORLD_TEST(an_interim_reply_leaves_no_headers)
{
    struct http_client_world *world = *state;
    http_peer_reply_raw(world->peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n"
                                                      "\r\nHTTP/1.1 200 OK\r\nX-Late: 2\r\n"
                                                      "Content-Length: 0\r\n\r\n"});
    assert_failure(get(world, "/"), HTTP_OK);
    assert_int_equal(world->response.status, 200);
    assert_string_equal(buf_string(&world->response.headers), "X-Late: 2\r\nContent-Length: 0\r\n");
}

WORLD_TEST(preparing_before_the_first_call_changes_nothing_else)
{
    struct http_client_world *world = *state;
    http_client_prepare(world->client);
    http_client_prepare(world->client);
    http_peer_reply(world->peer, 200, NULL, "ready");
    assert_failure(get(world, "/"), HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "ready");
}

TEST(a_prepared_client_may_be_freed_without_a_call)
{
    struct http_client *client = NULL;
    assert_int_equal(http_client_new(NULL, &client, NULL), 0);
    http_client_prepare(client);
    http_client_free(client);
    http_client_free(NULL);
}

/* --- redirects --- */

static void redirect_to(struct http_client_world *world, int status, const char *location)
{
    char headers[512];
    snprintf(headers, sizeof(headers), "Location: %s\r\n", location);
    http_peer_reply(world->peer, status, headers, "moved");
}

WORLD_TEST(a_redirect_is_an_ordinary_reply_unless_asked_for)
{
    struct http_client_world *world = *state;
    redirect_to(world, 302, "/there");
    assert_failure(get(world, "/"), HTTP_OK);
    assert_int_equal(world->response.status, 302);
    assert_string_equal(buf_string(&world->response.body), "moved");
    assert_int_equal(http_peer_request_count(world->peer), 1);
}

WORLD_TEST(redirects_are_followed_as_far_as_allowed)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/a/b"));
    request.max_redirects = 2;
    redirect_to(world, 301, "c");
    redirect_to(world, 307, "/d");
    http_peer_reply(world->peer, 200, NULL, "here");
    assert_failure(call(world, &request), HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "here");
    assert_string_equal(http_peer_request(world->peer, 1)->path, "/a/c");
    assert_string_equal(http_peer_request(world->peer, 2)->path, "/d");
    for (int i = 0; i < 3; i++) {
        redirect_to(world, 301, "/on");
    }
    assert_failure(call(world, &request), HTTP_REDIRECTS);
    assert_int_equal(http_peer_request_count(world->peer), 6);
}

/** POST to a reply with a status. @return what came of it */
static const struct peer_request *redirected_post(struct http_client_world *world, int status)
{
    static const struct http_part part = {"body", 4};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    size_t before = http_peer_request_count(world->peer);
    request.method = "POST";
    request.parts = &part;
    request.part_count = 1;
    request.max_redirects = 1;
    redirect_to(world, status, "/there");
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    return http_peer_request(world->peer, before + 1);
}

WORLD_TEST(a_redirect_keeps_or_drops_the_body_by_its_status)
{
    struct http_client_world *world = *state;
    static const struct {
        int status;
        const char *method;
        const char *body;
    } cases[] = {{301, "GET", ""},
                 {302, "GET", ""},
                 {303, "GET", ""},
                 {307, "POST", "body"},
                 {308, "POST", "body"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct peer_request *seen = redirected_post(world, cases[i].status);
        assert_string_equal(seen->method, cases[i].method);
        assert_string_equal(seen->body, cases[i].body);
    }
}

WORLD_TEST(secrets_stay_with_the_origin_they_were_meant_for)
{
    struct http_client_world *world = *state;
    struct http_peer *other = http_peer_new();
    struct http_header headers[] = {
        {"Authorization", "Bearer s3cret"}, {"X-Api-Key", "s3cret"}, {"Accept", "text/plain"}};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.headers = headers;
    request.header_count = 3;
    request.max_redirects = 3;
    redirect_to(world, 302, "/same");
    redirect_to(world, 302, http_peer_url(other, "/other"));
    redirect_to(world, 302, "never"); /* stays in the script */
    http_peer_reply(other, 200, NULL, "arrived");
    assert_failure(call(world, &request), HTTP_OK);
    const struct peer_request *same = http_peer_request(world->peer, 1);
    const struct peer_request *there = http_peer_request(other, 0);
    assert_string_equal(http_peer_header(world->peer, same, "x-api-key"), "s3cret");
    assert_null(strstr(there->headers, "s3cret"));
    assert_string_equal(http_peer_header(other, there, "accept"), "text/plain");
    http_peer_free(other);
}

WORLD_TEST(a_way_back_does_not_bring_secrets_back)
{
    struct http_client_world *world = *state;
    struct http_peer *other = http_peer_new();
    struct http_header header = {"Authorization", "Bearer s3cret"};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.headers = &header;
    request.header_count = 1;
    request.max_redirects = 3;
    char location[256];
    redirect_to(world, 302, http_peer_url(other, "/other"));
    snprintf(location, sizeof(location), "Location: %s\r\n", http_peer_url(world->peer, "/back"));
    http_peer_reply(other, 302, location, "");
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    assert_null(strstr(http_peer_request(world->peer, 1)->headers, "s3cret"));
    http_peer_free(other);
}

WORLD_TEST(a_redirect_to_another_protocol_is_refused)
{
    struct http_client_world *world = *state;
    static const char *const places[] = {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://a/"};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.max_redirects = 5;
    for (size_t i = 0; i < 3; i++) {
        redirect_to(world, 302, places[i]);
        assert_failure(call(world, &request), HTTP_REDIRECTS);
    }
}

/* --- the guard --- */

WORLD_TEST(the_guard_refuses_private_addresses)
{
    struct http_client_world *world = *state;
    struct net_guard guard = {0};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.guard = &guard;
    assert_failure(call(world, &request), HTTP_BLOCKED);
    assert_string_equal(world->response.message,
                        "'127.0.0.1' resolves to private address 127.0.0.1");
    request.url = "http://localhost/";
    assert_failure(call(world, &request), HTTP_BLOCKED);
    assert_non_null(strstr(world->response.message, "'localhost' resolves to private address "));
    assert_int_equal(http_peer_connection_count(world->peer), 0);
}

WORLD_TEST(the_guard_lets_through_what_its_list_opens)
{
    struct http_client_world *world = *state;
    static const char *const allowed[] = {"127.0.0.1", NULL};
    struct net_guard guard = {.allow_hosts = allowed};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.guard = &guard;
    http_peer_reply(world->peer, 200, NULL, "open");
    assert_failure(call(world, &request), HTTP_OK);
}

WORLD_TEST(the_guard_knows_connections_that_others_have_made)
{
    struct http_client_world *world = *state;
    struct net_guard guard = {0};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    http_peer_always(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK); /* leaves a connection open */
    request.guard = &guard;
    assert_failure(call(world, &request), HTTP_BLOCKED);
    assert_int_equal(http_peer_request_count(world->peer), 1);
}

WORLD_TEST(the_guard_looks_at_each_redirect)
{
    struct http_client_world *world = *state;
    struct http_peer *other = http_peer_new();
    char open[32];
    snprintf(open, sizeof(open), "127.0.0.1:%d", http_peer_port(world->peer));
    const char *const allowed[] = {open, NULL};
    struct net_guard guard = {.allow_hosts = allowed};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.guard = &guard;
    request.max_redirects = 5;
    redirect_to(world, 302, http_peer_url(other, "/metadata"));
    assert_failure(call(world, &request), HTTP_BLOCKED);
    assert_int_equal(http_peer_request_count(other), 0);
    http_peer_free(other);
}

WORLD_TEST(a_host_outside_of_the_only_ones_is_not_looked_up)
{
    struct http_client_world *world = *state;
    static const char *const only[] = {"example.org", NULL};
    struct net_guard guard = {.allows_private = true, .only_hosts = only};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.guard = &guard;
    assert_failure(call(world, &request), HTTP_BLOCKED);
    assert_string_equal(world->response.message, "'127.0.0.1' is not among the allowed hosts");
}
