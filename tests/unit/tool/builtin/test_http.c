// SPDX-License-Identifier: Apache-2.0
/* The tool `http`: what is asked, what the model reads, what it cannot reach. */
#include "http_tool_world.h"

#include <pthread.h>

#define PLAIN "{\"type\":\"http\",\"base_url\":\"PEER/api/\"}"
#define WRITER                                                       \
    "{\"type\":\"http\",\"base_url\":\"PEER\",\"allowed_methods\":[" \
    "\"GET\",\"POST\",\"PUT\"],\"headers\":{\"Authorization\":\"Bearer ${RONDO_TEST_TOKEN}\"}}"

HTTP_WORLD_TEST(a_reply_is_told_with_its_status)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 200, NULL, "hello");
    http_peer_reply(self->peer, 404, NULL, "nothing here");
    world_expect(&self->world, "http_request", "{\"method\":\"get\",\"path\":\"/a?b=c\"}",
                 "HTTP 200\nhello");
    world_expect(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"x\"}",
                 "HTTP 404\nnothing here");
    assert_string_equal(http_peer_request(self->peer, 0)->path, "/api/a?b=c");
    assert_string_equal(http_peer_request(self->peer, 1)->path, "/api/x");
}

HTTP_WORLD_TEST(only_allowed_methods_are_made)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    world_expect_error(&self->world, "http_request", "{\"method\":\"post\",\"path\":\"/\"}",
                       "Error: HTTP method POST is not allowed");
    world_expect_error(&self->world, "http_request", "{\"method\":\"G ET\",\"path\":\"/\"}",
                       "Error: HTTP method G ET is not allowed");
    assert_int_equal(http_peer_connection_count(self->peer), 0);
}

HTTP_WORLD_TEST(variables_in_headers_are_replaced)
{
    struct http_world *self = *state;
    http_world_open(self, WRITER);
    http_peer_reply(self->peer, 200, NULL, "");
    world_expect(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}", "HTTP 200\n");
    assert_string_equal(header_of(self, 0, "authorization"), "Bearer t0ken");
}

HTTP_WORLD_TEST(a_variable_that_is_not_set_is_named_and_nothing_is_sent)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"http\",\"base_url\":\"PEER\",\"headers\":{"
                          "\"X\":\"${RONDO_TEST_NOT_SET}\"}}");
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "Error: the environment variable RONDO_TEST_NOT_SET is not set");
    assert_int_equal(http_peer_connection_count(self->peer), 0);
}

HTTP_WORLD_TEST(a_post_carries_the_key_of_its_call)
{
    struct http_world *self = *state;
    http_world_open(self, WRITER);
    http_peer_always(self->peer, 201, NULL, "made");
    world_expect(&self->world, "http_request",
                 "{\"method\":\"POST\",\"path\":\"/\",\"body\":\"{\\\"a\\\":1}\"}",
                 "HTTP 201\nmade");
    world_expect(&self->world, "http_request", "{\"method\":\"PUT\",\"path\":\"/\"}",
                 "HTTP 201\nmade");
    assert_string_equal(http_peer_request(self->peer, 0)->body, "{\"a\":1}");
    assert_string_equal(header_of(self, 0, "idempotency-key"), "key-1");
    assert_string_equal(header_of(self, 1, "idempotency-key"), "");
}

HTTP_WORLD_TEST(only_methods_that_may_be_repeated_make_it_idempotent)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    const struct tool *reader = toolbox_find(self->world.toolbox, "http_request");
    assert_true(reader->is_idempotent);
    assert_true(reader->is_read_only);
    toolbox_free(self->world.toolbox);
    self->world.toolbox = NULL;
    http_world_open(self, WRITER);
    const struct tool *writer = toolbox_find(self->world.toolbox, "http_request");
    assert_false(writer->is_idempotent);
    assert_false(writer->is_read_only);
    assert_non_null(strstr(writer->description, "GET, POST, PUT"));
}

HTTP_WORLD_TEST(a_head_that_is_too_large_is_no_reply)
{
    struct http_world *self = *state;
    static const size_t line_len = 1024;
    static const size_t lines = 260; /* more than HTTP_HEADERS_MAX_BYTES */
    char *header = malloc(lines * line_len + 1);
    memset(header, 'y', lines * line_len);
    for (size_t i = 0; i < lines; i++) {
        memcpy(header + i * line_len, "x-a: ", 5);
        memcpy(header + (i + 1) * line_len - 2, "\r\n", 2);
    }
    header[lines * line_len] = '\0';
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 200, header, "");
    struct tool_result result =
        world_call(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}");
    assert_true(result.is_error);
    assert_non_null(strstr(buf_string(&result.text), "larger"));
    free(header);
    tool_result_fini(&result);
}

HTTP_WORLD_TEST(a_long_reply_is_cut)
{
    struct http_world *self = *state;
    static const size_t limit = (size_t)100 * 1024;
    char *body = malloc(limit + 2);
    memset(body, 'x', limit + 1);
    body[limit + 1] = '\0';
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 200, NULL, body + 1); /* at the limit */
    http_peer_reply(self->peer, 200, NULL, body);     /* one past it */
    struct tool_result whole =
        world_call(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}");
    struct tool_result cut =
        world_call(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}");
    free(body);
    assert_false(whole.is_truncated);
    assert_int_equal(whole.text.len, limit + strlen("HTTP 200\n"));
    assert_true(cut.is_truncated);
    assert_int_equal(cut.text.len, limit + strlen("HTTP 200\n"));
    assert_string_equal(buf_string(&cut.text) + cut.text.len - 12, "\n[truncated]");
    tool_result_fini(&whole);
    tool_result_fini(&cut);
}

HTTP_WORLD_TEST(redirects_are_not_followed)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply(self->peer, 302, "Location: /elsewhere\r\n", "moved");
    world_expect(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                 "HTTP 302\nmoved");
}

HTTP_WORLD_TEST(the_base_url_cannot_be_left)
{
    struct http_world *self = *state;
    static const char *const ways[] = {"..",     "../admin",   "/a/../../admin", "a/%2e%2E/b",
                                       "a/.%2e", "..%2fadmin", "a%2F..%5cb",     "a/..\\\\b",
                                       "..?x",   "..#x"};
    http_world_open(self, PLAIN);
    for (size_t i = 0; i < COUNT(ways); i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"method\":\"GET\",\"path\":\"%s\"}", ways[i]);
        world_expect_error(&self->world, "http_request", arguments, "leaves the base URL");
    }
    assert_int_equal(http_peer_connection_count(self->peer), 0);
}

HTTP_WORLD_TEST(a_path_stays_on_its_host)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"http\",\"base_url\":\"PEER\"}");
    http_peer_always(self->peer, 200, NULL, "");
    static const char *const paths[] = {"@evil.example/", "//evil.example/",
                                        ":1/x",           "a b\\r\\nX-Evil: 1",
                                        "..a/...",        "http://evil.example/"};
    static const char *const seen[] = {"/@evil.example/", "//evil.example/",
                                       "/:1/x",           "/a%20b%0D%0AX-Evil:%201",
                                       "/..a/...",        "/http://evil.example/"};
    for (size_t i = 0; i < 6; i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"method\":\"GET\",\"path\":\"%s\"}", paths[i]);
        world_expect(&self->world, "http_request", arguments, "HTTP 200\n");
        assert_string_equal(http_peer_request(self->peer, i)->path, seen[i]);
    }
}

HTTP_WORLD_TEST(private_addresses_are_refused)
{
    struct http_world *self = *state;
    self->guard.allow_hosts = NULL;
    http_world_open(self, PLAIN);
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "Error: SSRF blocked: '127.0.0.1' resolves to private address 127.0.0.1");
}

HTTP_WORLD_TEST(without_a_guard_only_public_addresses_are_reached)
{
    struct http_world *self = *state;
    self->world.around.guard = NULL;
    http_world_open(self, PLAIN);
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "Error: SSRF blocked: ");
}

HTTP_WORLD_TEST(a_connection_that_breaks_is_told)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply_raw(self->peer, &(struct peer_reply){.bytes = "", .cuts = true});
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "HTTP error: ");
}

HTTP_WORLD_TEST(the_deadline_of_a_call_holds)
{
    struct http_world *self = *state;
    http_world_open(self, PLAIN);
    http_peer_reply_raw(self->peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n\r\n", .stalls = true});
    self->world.deadline_ns = clock_monotonic(clock_system()) + 1500 * NS_PER_MS;
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "HTTP error: no complete reply within ");
}

static void *cancel_when_stalled(void *argument)
{
    struct http_world *self = argument;
    http_peer_wait_stalled(self->peer, 1);
    cancel_set(self->world.cancel, CANCEL_NOW);
    return NULL;
}

HTTP_WORLD_TEST(a_cancelled_call_ends)
{
    struct http_world *self = *state;
    struct cancel cancel;
    pthread_t thread;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    self->world.cancel = &cancel;
    http_world_open(self, PLAIN);
    http_peer_reply_raw(self->peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n\r\n", .stalls = true});
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_stalled, self), 0);
    world_expect_error(&self->world, "http_request", "{\"method\":\"GET\",\"path\":\"/\"}",
                       "HTTP error: cancelled");
    pthread_join(thread, NULL);
    cancel_fini(&cancel);
}
