// SPDX-License-Identifier: Apache-2.0
/* Every way in which a call has no complete reply. */
#include "http_world.h"

#include "base/cancel.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/** A loopback port that listens but takes nobody, or (with `is_closed`) does not even listen. */
struct deaf {
    int fd;
    int fillers[8]; /* connections that fill its queue */
    char url[64];
};

static void fill_queue(struct deaf *deaf, const struct sockaddr_in *address)
{
    for (size_t i = 0; i < 8; i++) {
        deaf->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(deaf->fillers[i], (const struct sockaddr *)address, sizeof(*address));
    }
}

static struct deaf deaf_new(bool is_closed)
{
    struct deaf deaf = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    memset(deaf.fillers, 0xff, sizeof(deaf.fillers));
    assert_int_equal(bind(deaf.fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(deaf.fd, (struct sockaddr *)&address, &len), 0);
    snprintf(deaf.url, sizeof(deaf.url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
    if (!is_closed) {
        assert_int_equal(listen(deaf.fd, 0), 0);
        fill_queue(&deaf, &address);
    }
    return deaf;
}

static void deaf_free(const struct deaf *deaf)
{
    for (size_t i = 0; i < 8; i++) {
        if (deaf->fillers[i] >= 0) {
            close(deaf->fillers[i]);
        }
    }
    close(deaf->fd);
}

static void give_raw(struct http_client_world *world, const char *bytes, bool cuts)
{
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = bytes, .cuts = cuts});
}

/** GET a reply that is cut after its bytes. */
static enum http_failure get_cut(struct http_client_world *world, const char *bytes)
{
    give_raw(world, bytes, true);
    return get(world, "/");
}

/* --- nothing was sent --- */

WORLD_TEST(a_url_that_is_none_is_refused)
{
    struct http_client_world *world = *state;
    static const char *const urls[] = {"",
                                       "example.com",
                                       "ftp://example.com/",
                                       "file:///etc/passwd",
                                       "http://",
                                       "x",
                                       "http://a b/",
                                       "http://a/\r\nX: y",
                                       "http://a:99999/",
                                       "https://",
                                       "javascript:1",
                                       "http://[::1/",
                                       "gopher://127.0.0.1:70"};
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct http_request request = request_to(urls[i]);
        if (call(world, &request) != HTTP_BAD_REQUEST) {
            fail_msg("'%s': %s", urls[i], http_failure_name(world->response.failure));
        }
        assert_true(world->response.message[0] != '\0');
    }
}

WORLD_TEST(a_header_cannot_smuggle_another_one)
{
    struct http_client_world *world = *state;
    static const struct http_header headers[] = {{"X-A", "b\r\nX-C: d"},
                                                 {"X-A\r\nX-C", "d"},
                                                 {"X A", "b"},
                                                 {"", "b"},
                                                 {"X:", "b"},
                                                 {"X-A", "b\nc"},
                                                 {"X-A", "\x7f"},
                                                 {"Content-Length", "5"},
                                                 {NULL, "b"},
                                                 {"X-A", NULL},
                                                 {"transfer-Encoding", "chunked"}};
    for (size_t i = 0; i < COUNT(headers); i++) {
        struct http_request request = request_to(http_peer_url(world->peer, "/"));
        request.headers = &headers[i];
        request.header_count = 1;
        assert_failure(call(world, &request), HTTP_BAD_REQUEST);
    }
    assert_int_equal(http_peer_connection_count(world->peer), 0);
}

WORLD_TEST(a_method_is_one_word)
{
    struct http_client_world *world = *state;
    static const char *const methods[] = {"", "GET /x", "A\r\nB", NULL,
                                          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < COUNT(methods); i++) {
        struct http_request request = request_to(http_peer_url(world->peer, "/"));
        request.method = methods[i];
        assert_failure(call(world, &request), HTTP_BAD_REQUEST);
    }
}

/** GET with a URL of `len` bytes. */
static enum http_failure get_long_url(struct http_client_world *world, size_t len)
{
    const char *start = http_peer_url(world->peer, "/");
    char *url = memory_new(len + 1);
    memset(url, 'x', len);
    memcpy(url, start, strlen(start));
    url[len] = '\0';
    struct http_request request = request_to(url);
    enum http_failure failure = call(world, &request);
    free(url);
    return failure;
}

WORLD_TEST(a_url_has_a_limit)
{
    struct http_client_world *world = *state;
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(get_long_url(world, 65536), HTTP_OK);
    assert_failure(get_long_url(world, 65537), HTTP_BAD_REQUEST);
}

static enum http_failure get_with_headers(struct http_client_world *world, size_t count)
{
    struct http_header headers[300];
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    for (size_t i = 0; i < count; i++) {
        headers[i] = (struct http_header){"X-Many", "y"};
    }
    request.headers = headers;
    request.header_count = count;
    return call(world, &request);
}

WORLD_TEST(the_number_of_headers_has_a_limit)
{
    struct http_client_world *world = *state;
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(get_with_headers(world, 256), HTTP_OK);
    assert_failure(get_with_headers(world, 257), HTTP_BAD_REQUEST);
}

WORLD_TEST(a_name_that_does_not_resolve_is_no_host)
{
    struct http_client_world *world = *state;
    /* A label of more than 63 bytes is refused without asking anybody. */
    struct http_request request =
        request_to("http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                   "aaaaaaaaaaaaaaaaaaaaaaaa.invalid/");
    assert_failure(call(world, &request), HTTP_NO_HOST);
    assert_int_equal(world->response.status, 0);
}

WORLD_TEST(a_closed_port_is_no_connection)
{
    struct http_client_world *world = *state;
    struct deaf deaf = deaf_new(true);
    struct http_request request = request_to(deaf.url);
    assert_failure(call(world, &request), HTTP_NO_CONNECTION);
    deaf_free(&deaf);
}

WORLD_TEST(a_connection_that_does_not_come_in_time_is_given_up)
{
    struct http_client_world *world = *state;
    struct deaf deaf = deaf_new(false);
    struct http_request request = request_to(deaf.url);
    request.connect_ns = 50 * NS_PER_MS;
    assert_failure(call(world, &request), HTTP_NO_CONNECTION);
    assert_true(world->response.duration_ns >= 50 * NS_PER_MS);
    assert_true(world->response.duration_ns < 20 * NS_PER_S);
    deaf_free(&deaf);
}

WORLD_TEST(the_total_time_holds_for_connecting_too)
{
    struct http_client_world *world = *state;
    struct deaf deaf = deaf_new(false);
    struct http_request request = request_to(deaf.url);
    request.total_ns = 50 * NS_PER_MS;
    assert_failure(call(world, &request), HTTP_NO_CONNECTION);
    deaf_free(&deaf);
}

WORLD_TEST(a_peer_without_tls_fails_the_handshake)
{
    struct http_client_world *world = *state;
    char url[64];
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", http_peer_port(world->peer));
    struct http_request request = request_to(url);
    give_raw(world, "HTTP/1.1 200 OK\r\n\r\n", true);
    request.connect_ns = 200 * NS_PER_MS; /* The peer waits for a line that TLS does not send. */
    enum http_failure failure = call(world, &request);
    assert_true(failure == HTTP_TLS || failure == HTTP_NO_CONNECTION);
    assert_int_equal(http_peer_request_count(world->peer), 0);
}

WORLD_TEST(a_process_without_descriptors_says_so)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    struct rondo_error err = {0};
    struct rlimit before;
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK); /* the thread has its own by now */
    request.url = "http://127.0.0.1:9/";
    int next_fd = dup(0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = (rlim_t)next_fd, .rlim_max = before.rlim_max};
    close(next_fd);
    http_response_fini(&world->response);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = http_call(world->client, &request, &world->response, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, RONDO_ERR_SYSTEM);
    assert_int_equal(err.os_errno, EMFILE);
}

/* --- broken replies --- */

WORLD_TEST(a_reply_that_is_cut_is_broken)
{
    struct http_client_world *world = *state;
    static const char *const cut[] = {
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123456789",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
        "not HTTP at all\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    };
    for (size_t i = 0; i < COUNT(cut); i++) {
        if (get_cut(world, cut[i]) != HTTP_BROKEN) {
            fail_msg("%s: %s", cut[i], http_failure_name(world->response.failure));
        }
    }
}

WORLD_TEST(what_came_before_the_cut_is_kept)
{
    struct http_client_world *world = *state;
    assert_failure(get_cut(world, "HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\n123"),
                   HTTP_BROKEN);
    assert_int_equal(world->response.status, 503);
    assert_string_equal(buf_string(&world->response.body), "123");
    assert_non_null(strstr(buf_string(&world->response.headers), "Content-Length: 10"));
}

WORLD_TEST(a_reply_without_a_length_ends_with_its_connection)
{
    struct http_client_world *world = *state;
    assert_failure(get_cut(world, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"),
                   HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "all of it");
}

WORLD_TEST(a_reset_connection_is_broken)
{
    struct http_client_world *world = *state;
    http_peer_reply_raw(
        world->peer, &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
                                          .cuts = true,
                                          .resets = true});
    assert_failure(get(world, "/"), HTTP_BROKEN);
}

/** Use a connection once, then let it die while it seems alive: the next request is its end. */
static enum http_failure send_part_on_dying_connection(struct http_client_world *world,
                                                       const char *method,
                                                       const struct http_part *part,
                                                       bool may_resend)
{
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    http_peer_reply(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = "", .cuts = true});
    http_peer_reply(world->peer, 200, NULL, "second");
    request.method = method;
    request.parts = part;
    request.part_count = part->len > 0 ? 1 : 0;
    request.may_resend = may_resend;
    return call(world, &request);
}

static enum http_failure send_on_dying_connection(struct http_client_world *world,
                                                  const char *method, bool has_body,
                                                  bool may_resend)
{
    const struct http_part part = {"{}", has_body ? 2 : 0};
    return send_part_on_dying_connection(world, method, &part, may_resend);
}

WORLD_TEST(a_request_with_effects_is_never_sent_twice_unasked)
{
    struct http_client_world *world = *state;
    assert_failure(send_on_dying_connection(world, "POST", true, false), HTTP_BROKEN);
    assert_int_equal(http_peer_request_count(world->peer), 2);
}

WORLD_TEST(nor_is_one_with_a_large_body)
{
    struct http_client_world *world = *state;
    const struct http_part part = {memory_new_zero(1, 40000), 40000};
    enum http_failure failure = send_part_on_dying_connection(world, "POST", &part, false);
    free((void *)part.bytes);
    assert_failure(failure, HTTP_BROKEN);
    assert_int_equal(http_peer_request_count(world->peer), 2);
}

WORLD_TEST(nor_is_one_without_a_body)
{
    struct http_client_world *world = *state;
    assert_failure(send_on_dying_connection(world, "POST", false, false), HTTP_BROKEN);
    assert_int_equal(http_peer_request_count(world->peer), 2);
}

WORLD_TEST(a_request_that_may_be_sent_again_is)
{
    struct http_client_world *world = *state;
    assert_failure(send_on_dying_connection(world, "POST", true, true), HTTP_OK);
    assert_int_equal(http_peer_request_count(world->peer), 3);
    assert_string_equal(http_peer_request(world->peer, 2)->body, "{}");
}

WORLD_TEST(a_put_is_sent_again_on_a_new_connection)
{
    struct http_client_world *world = *state;
    assert_failure(send_on_dying_connection(world, "PUT", true, false), HTTP_OK);
    assert_string_equal(http_peer_request(world->peer, 2)->body, "{}");
}

/* --- too large --- */

static enum http_failure get_bytes(struct http_client_world *world, size_t length, size_t limit)
{
    char headers[128];
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.max_body_bytes = limit;
    char *body = memory_new_zero(1, length + 1);
    memset(body, 'x', length);
    snprintf(headers, sizeof(headers), "X-Size: %zu\r\n", length);
    http_peer_reply(world->peer, 200, headers, body);
    free(body);
    return call(world, &request);
}

WORLD_TEST(a_body_at_the_limit_is_taken)
{
    struct http_client_world *world = *state;
    assert_failure(get_bytes(world, 100000, 100000), HTTP_OK);
    assert_int_equal(world->response.body.len, 100000);
}

WORLD_TEST(a_body_past_the_limit_is_refused)
{
    struct http_client_world *world = *state;
    assert_failure(get_bytes(world, 100001, 100000), HTTP_TOO_LARGE);
    assert_int_equal(world->response.body.len, 100000); /* what was allowed is there */
}

WORLD_TEST(fifty_megabytes_are_not_read_when_one_is_allowed)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n";
    size_t head_len = sizeof(head) - 1;
    char *bytes = memory_new_zero(1, head_len + MIB);
    memcpy(bytes, head, head_len);
    request.max_body_bytes = MIB;
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = bytes,
                                                          .len = head_len + MIB,
                                                          .repeat = 50,
                                                          .repeat_from = head_len});
    free(bytes);
    assert_failure(call(world, &request), HTTP_TOO_LARGE);
    assert_int_equal(world->response.body.len, MIB);
}

static enum http_failure get_with_reply_headers(struct http_client_world *world, size_t len)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n";
    struct buf bytes = {0};
    buf_append_string(&bytes, head);
    while (bytes.len - (sizeof(head) - 1) < len) {
        size_t left = len - (bytes.len - (sizeof(head) - 1));
        size_t line = left > 2048 ? 1024 : left;
        buf_append_string(&bytes, "X-Header: ");
        for (size_t i = 0; i < line - 12; i++) {
            buf_append_string(&bytes, "y");
        }
        buf_append_string(&bytes, "\r\n");
    }
    buf_append_string(&bytes, "\r\n");
    http_peer_reply_raw(world->peer,
                        &(struct peer_reply){.bytes = bytes.data, .len = bytes.len, .cuts = true});
    buf_fini(&bytes);
    return get(world, "/");
}

WORLD_TEST(headers_of_a_reply_have_a_limit)
{
    struct http_client_world *world = *state;
    assert_failure(get_with_reply_headers(world, 262144), HTTP_OK);
    assert_int_equal(world->response.headers.len, 262144);
    assert_failure(get_with_reply_headers(world, 262145), HTTP_TOO_LARGE);
}

/* --- time --- */

/** To connect, and for what a peer on this machine says at once; not more, since it is waited for.
 */
#define LONG_ENOUGH_NS (1500 * NS_PER_MS)

static void give_stalled(struct http_client_world *world, size_t stall_at)
{
    http_peer_reply_raw(
        world->peer,
        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
                             .stalls = true,
                             .stall_at = stall_at});
}

WORLD_TEST(a_silent_server_runs_into_the_total_time)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.total_ns = LONG_ENOUGH_NS;
    give_stalled(world, 0);
    assert_failure(call(world, &request), HTTP_TIMED_OUT);
    assert_string_equal(world->response.message, "no complete reply within 1.5 s");
    assert_true(world->response.duration_ns >= LONG_ENOUGH_NS);
    assert_int_equal(world->response.status, 0);
}

WORLD_TEST(a_reply_that_stops_runs_into_the_idle_time)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.idle_ns = LONG_ENOUGH_NS;
    give_stalled(world, 45);
    assert_failure(call(world, &request), HTTP_TIMED_OUT);
    assert_string_equal(world->response.message, "nothing came for 1.5 s");
    assert_true(world->response.duration_ns < 8 * NS_PER_S); /* not the time for connecting */
    assert_int_equal(world->response.status, 200);
}

WORLD_TEST(a_slow_reply_is_not_idle)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.idle_ns = 20 * NS_PER_S;
    http_peer_reply_raw(
        world->peer,
        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
                             .piece_bytes = 1});
    assert_failure(call(world, &request), HTTP_OK);
}

/* --- cancelling --- */

struct request_canceller {
    struct http_peer *peer;
    struct cancel *cancel;
    size_t stalled;
};

static void *cancel_when_stalled(void *argument)
{
    struct request_canceller *canceller = argument;
    http_peer_wait_stalled(canceller->peer, canceller->stalled);
    cancel_set(canceller->cancel, CANCEL_GRACEFUL);
    return NULL;
}

WORLD_TEST(a_call_is_cancelled_from_another_thread)
{
    struct http_client_world *world = *state;
    struct cancel cancel;
    pthread_t thread;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    struct request_canceller canceller = {world->peer, &cancel, 1};
    request.cancel = &cancel;
    give_stalled(world, 45);
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_stalled, &canceller), 0);
    assert_failure(call(world, &request), HTTP_CANCELLED);
    assert_string_equal(world->response.message, "cancelled");
    assert_true(world->response.duration_ns < 30 * NS_PER_S);
    pthread_join(thread, NULL);
    cancel_fini(&cancel);
}

WORLD_TEST(a_cancelled_token_lets_no_call_begin)
{
    struct http_client_world *world = *state;
    struct cancel cancel;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    cancel_set(&cancel, CANCEL_NOW);
    request.cancel = &cancel;
    assert_failure(call(world, &request), HTTP_CANCELLED);
    assert_int_equal(http_peer_connection_count(world->peer), 0);
    cancel_fini(&cancel);
}

WORLD_TEST(a_token_serves_many_calls_in_turn)
{
    struct http_client_world *world = *state;
    struct cancel cancel;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    request.cancel = &cancel;
    http_peer_always(world->peer, 200, NULL, "");
    for (int i = 0; i < 5; i++) {
        assert_failure(call(world, &request), HTTP_OK);
    }
    cancel_fini(&cancel);
}

WORLD_TEST(the_client_works_on_after_failures)
{
    struct http_client_world *world = *state;
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.total_ns = LONG_ENOUGH_NS;
    give_stalled(world, 10);
    assert_failure(call(world, &request), HTTP_TIMED_OUT);
    http_peer_always(world->peer, 200, NULL, "well");
    assert_failure(get(world, "/"), HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "well");
}
