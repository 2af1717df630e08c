// SPDX-License-Identifier: Apache-2.0
/* What the HTTP server refuses: too large, too slow, too many, ambiguous. */
#include "http_server_world.h"
#include "net/server/internal.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

TEST(test_ambiguous_requests_are_refused)
{
    struct http_server_world world = begin();
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\nx"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \001\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n"},
        {400, "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /?a=%zz HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /?a=%4 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /?a=%00 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status = ask(&world, cases[i].request);
        if (status != cases[i].status) {
            fail_msg("%d instead of %d for: %s", status, cases[i].status, cases[i].request);
        }
    }
    assert_int_equal(http_server_state(world.server).requests, 0);
    end(&world);
}

static int post(const struct http_server_world *world, size_t len, bool is_chunked)
{
    auto_buf struct buf request = {0};
    buf_append_string(&request, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n");
    buf_printf(&request,
               is_chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
                          : "Content-Length: %zu\r\n\r\n",
               len);
    memset(buf_room(&request, len), 'x', len);
    buf_grown(&request, len);
    buf_append_string(&request, is_chunked ? "\r\n0\r\n\r\n" : "");
    return ask(world, request.data);
}

TEST(test_a_body_may_have_the_limit_and_no_byte_more)
{
    struct http_server_world world =
        begin_with((struct http_server_options){.max_body_bytes = 100000});
    assert_int_equal(post(&world, 100000, false), 200);
    assert_int_equal(post(&world, 100001, false), 413);
    assert_int_equal(post(&world, 100000, true), 200);
    assert_int_equal(post(&world, 100001, true), 413);
    assert_int_equal(post(&world, 4000000, false), 413);
    assert_int_equal(post(&world, 4000000, true), 413);
    end(&world);
}

TEST(test_a_long_body_is_refused_before_it_is_sent)
{
    struct http_server_world world = begin();
    auto_buf struct buf bytes = {0};
    int status = http_raw_ask(world.address,
                              "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                              "Content-Length: 999999999999999999\r\n\r\n",
                              &bytes);
    assert_int_equal(status, 413);
    assert_non_null(strstr(bytes.data, "application/problem+json"));
    assert_non_null(strstr(bytes.data, "{\"status\":413}"));
    end(&world);
}

static int get_with(const struct http_server_world *world, size_t path_len, size_t header_len,
                    size_t headers)
{
    auto_buf struct buf request = {0};
    buf_append_string(&request, "GET /");
    memset(buf_room(&request, path_len), 'p', path_len);
    buf_grown(&request, path_len);
    buf_append_string(&request, " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n");
    for (size_t i = 0; i < headers; i++) {
        buf_append_string(&request, "X: ");
        memset(buf_room(&request, header_len), 'v', header_len);
        buf_grown(&request, header_len);
        buf_append_string(&request, "\r\n");
    }
    buf_append_string(&request, "\r\n");
    return ask(world, request.data);
}

TEST(test_heads_have_limits)
{
    struct http_server_world world = begin();
    assert_int_equal(get_with(&world, HTTP_SERVER_URI_BYTES - 1, 0, 0), 200);
    assert_int_equal(get_with(&world, HTTP_SERVER_URI_BYTES, 0, 0), 414);
    assert_int_equal(get_with(&world, 1, 40, HTTP_SERVER_HEADERS - 2), 200);
    assert_int_equal(get_with(&world, 1, 1, HTTP_SERVER_HEADERS - 1), 431);
    assert_int_equal(get_with(&world, 1, HTTP_SERVER_HEADER_BYTES - 100, 1), 200);
    assert_int_equal(get_with(&world, 1, HTTP_SERVER_HEADER_BYTES, 1), 431);
    assert_int_equal(get_with(&world, 1, 1, 20000), 431);
    assert_int_equal(get_with(&world, 1, 1000000, 1), 431);
    assert_int_equal(get_with(&world, 1000000, 1, 1), 414);
    end(&world);
}

TEST(test_methods_and_parameters_have_limits)
{
    struct http_server_world world = begin();
    assert_int_equal(ask(&world, "ABCDEFGHABCDEFGHABCDEFGHABCDEFGH / HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    assert_int_equal(ask(&world, "ABCDEFGHABCDEFGHABCDEFGHABCDEFGHI / HTTP/1.1\r\nHost: h\r\n\r\n"),
                     501);
    for (int extra = 0; extra < 2; extra++) {
        auto_buf struct buf request = {0};
        buf_append_string(&request, "GET /?");
        for (int i = 0; i < HTTP_SERVER_PARAMETERS + extra; i++) {
            buf_append_string(&request, "a&");
        }
        buf_append_string(&request, " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        assert_int_equal(ask(&world, request.data), extra == 0 ? 200 : 400);
    }
    end(&world);
}

TEST(test_connections_over_the_limit_are_told_so)
{
    struct http_server_world world = begin_with((struct http_server_options){.max_connections = 2});
    int first = http_raw_connect(world.address);
    int second = http_raw_connect(world.address);
    wait_for_state(world.server, connections, 2);
    auto_buf struct buf bytes = {0};
    int status = http_raw_ask(world.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &bytes);
    assert_int_equal(status, 503);
    assert_non_null(strstr(bytes.data, "Retry-After: "));
    assert_non_null(strstr(bytes.data, "{\"status\":503}"));
    assert_int_equal(http_server_state(world.server).refused, 1);
    close(first);
    wait_for_state(world.server, connections, 1);
    assert_int_equal(ask(&world, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 200);
    close(second);
    end(&world);
}

/** An address of this machine that is not the loopback's. @return false: it has none */
static bool find_own_address(char *ret_host, size_t size)
{
    struct ifaddrs *all = NULL;
    bool is_found = false;
    assert_int_equal(getifaddrs(&all), 0);
    for (struct ifaddrs *at = all; at != NULL && !is_found; at = at->ifa_next) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)at->ifa_addr;
        is_found = in != NULL && in->sin_family == AF_INET &&
                   ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
        if (is_found) {
            assert_non_null(inet_ntop(AF_INET, &in->sin_addr, ret_host, (socklen_t)size));
        }
    }
    freeifaddrs(all);
    return is_found;
}

TEST(test_other_machines_cannot_take_every_place)
{
    char host[INET_ADDRSTRLEN];
    char address[64];
    char here[64];
    int held[9];
    const char *const listen[] = {"0.0.0.0:0", NULL};
    if (!find_own_address(host, sizeof(host))) {
        print_message("this machine has no address but the loopback\n");
        skip();
    }
    struct http_server_world world =
        begin_with((struct http_server_options){.listen = listen, .max_connections = 32});
    const char *port = strrchr(world.address, ':');
    snprintf(address, sizeof(address), "%s%s", host, port);
    snprintf(here, sizeof(here), "127.0.0.1%s", port);
    for (size_t i = 0; i < 8; i++) { /* a share of 32 places: HTTP_SERVER_PEER_SHARE */
        held[i] = http_raw_connect(address);
    }
    wait_for_state(world.server, connections, 8);
    auto_buf struct buf bytes = {0};
    assert_int_equal(http_raw_ask(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &bytes), 503);
    held[8] = http_raw_connect(here);
    wait_for_state(world.server, connections, 9);
    buf_clear(&bytes);
    assert_int_equal(
        http_raw_ask(here, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", &bytes), 200);
    for (size_t i = 0; i < 9; i++) {
        close(held[i]);
    }
    end(&world);
}

#define REQUEST_NS (200 * MS)

/** A server with one thread, whose time the test has in its hand. */
static struct http_server_world begin_slowly(struct hand_clock *hand,
                                             struct http_server_options options)
{
    hand_clock_init(hand);
    options.clock = &hand->clock;
    options.threads = 1;
    return begin_with(options);
}

/** Send one byte after the other until the server has enough of it. @return the status */
static int trickle(const struct http_server_world *world, struct hand_clock *hand,
                   const char *first, const char *rest)
{
    int fd = http_raw_connect(world->address);
    http_raw_send_text(fd, first);
    auto_buf struct buf bytes = {0};
    for (size_t i = 0; i < 10; i++) {
        wait_until_read(world);
        assert_false(http_raw_read_all(fd, &bytes, MS));
        hand_clock_pass(hand, REQUEST_NS / 10);
        assert_true(http_raw_send(fd, rest + i % strlen(rest), 1));
    }
    pass_until_end(hand, fd, &bytes);
    close(fd);
    return http_raw_status(buf_string(&bytes));
}

TEST(test_a_request_that_trickles_runs_out_of_time)
{
    struct hand_clock hand;
    struct http_server_world world =
        begin_slowly(&hand, (struct http_server_options){.request_ns = REQUEST_NS});
    assert_int_equal(trickle(&world, &hand, "GET /", "a"), 408);
    assert_int_equal(trickle(&world, &hand, "GET / HTTP/1.1\r\nHost: h\r\n", "X: y\r\n"), 408);
    assert_int_equal(
        trickle(&world, &hand, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n", "a"),
        408);
    assert_int_equal(trickle(&world, &hand,
                             "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
                             "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n",
                             "a"),
                     200); /* the first; the second is cut */
    assert_int_equal(http_server_state(world.server).cut_off, 4);
    assert_int_equal(http_server_state(world.server).requests, 41); /* 40 of wait_until_read() */
    end(&world);
}

TEST(test_the_next_request_of_a_kept_connection_may_not_trickle)
{
    struct hand_clock hand;
    struct http_server_world world =
        begin_slowly(&hand, (struct http_server_options){.request_ns = REQUEST_NS});
    int fd = http_raw_connect(world.address);
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    http_raw_send_text(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
    http_raw_send_text(fd, "GET /half");
    wait_until_read(&world);
    auto_buf struct buf bytes = {0};
    pass_until_end(&hand, fd, &bytes);
    assert_int_equal(http_raw_status(buf_string(&bytes)), 408);
    close(fd);
    end(&world);
}

TEST(test_a_slow_request_line_takes_from_the_time_of_the_rest)
{
    struct hand_clock hand;
    struct http_server_world world =
        begin_slowly(&hand, (struct http_server_options){.request_ns = REQUEST_NS});
    int fd = http_raw_connect(world.address);
    auto_buf struct buf bytes = {0};
    http_raw_send_text(fd, "GET /");
    wait_until_read(&world);
    hand_clock_pass(&hand, REQUEST_NS * 9 / 10);
    http_raw_send_text(fd, " HTTP/1.1\r\nHost: h\r\n");
    wait_until_read(&world);
    assert_false(http_raw_read_all(fd, &bytes, MS));
    hand_clock_pass(&hand, REQUEST_NS / 2); /* and not as much once more */
    assert_true(http_raw_read_all(fd, &bytes, HTTP_RAW_PATIENCE_NS));
    assert_int_equal(http_raw_status(buf_string(&bytes)), 408);
    close(fd);
    end(&world);
}

TEST(test_idle_connections_are_closed_without_a_word)
{
    struct hand_clock hand;
    struct http_server_world world = begin_slowly(
        &hand, (struct http_server_options){.idle_ns = 200 * MS, .request_ns = 300 * MS});
    int fresh = http_raw_connect(world.address);
    int kept = http_raw_connect(world.address);
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    http_raw_send_text(kept, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(http_raw_read_answer(kept, &head, &body, false), 200);
    auto_buf struct buf bytes = {0};
    pass_until_end(&hand, kept, &bytes);
    pass_until_end(&hand, fresh, &bytes);
    assert_int_equal(bytes.len, 0);
    assert_int_equal(http_server_state(world.server).cut_off, 0);
    close(fresh);
    close(kept);
    end(&world);
}

TEST(test_a_reader_that_takes_nothing_is_cut_off)
{
    struct http_server_world world = begin_with((struct http_server_options){.idle_ns = 300 * MS});
    int fd = http_raw_connect_with(world.address, 4096);
    http_raw_send_text(fd, "GET /big?n=30000000 HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_state(world.server, cut_off, 1);
    wait_for_state(world.server, connections, 0);
    close(fd);
    end(&world);
}

TEST(test_a_slow_reader_that_takes_something_is_not_cut_off)
{
    struct hand_clock hand;
    struct http_server_world world =
        begin_slowly(&hand, (struct http_server_options){.idle_ns = 300 * MS});
    int fd = http_raw_connect_with(world.address, 4096);
    http_raw_send_text(fd, "GET /big?n=1000000 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    char bytes[8192];
    size_t total = 0;
    for (ssize_t n = 1; n > 0; total += (size_t)n) {
        n = recv(fd, bytes, sizeof(bytes), 0);
        hand_clock_pass(&hand, 8 * MS);            /* over a second altogether */
        clock_sleep(clock_system(), 2 * MS, NULL); /* so that the server looks in between */
    }
    assert_true(total > 1000000);
    assert_int_equal(http_server_state(world.server).cut_off, 0);
    close(fd);
    end(&world);
}

TEST(test_many_pipelined_requests_of_one_who_does_not_read_end)
{
    struct http_server_world world = begin_with((struct http_server_options){.idle_ns = 300 * MS});
    int fd = http_raw_connect_with(world.address, 4096);
    for (int i = 0; i < 200; i++) {
        http_raw_send_text(fd, "GET /big?n=20000 HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    wait_for_state(world.server, cut_off, 1);
    wait_for_state(world.server, connections, 0);
    close(fd);
    end(&world);
}
