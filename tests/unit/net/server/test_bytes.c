// SPDX-License-Identifier: Apache-2.0
/* Heads and chunks of the HTTP server as raw bytes: what has one meaning, and what has none. */
#include "http_server_world.h"
#include "net/server/internal.h"

#include <sys/socket.h>

#define POST    "POST / HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

struct bytes {
    const char *text;
    size_t len;
};
#define BYTES(text_)                              \
    {                                             \
        .text = (text_), .len = sizeof(text_) - 1 \
    }

static size_t count(const char *text, const char *part)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        found++;
    }
    return found;
}

/** Send bytes, and then a request that must not be read as one. @return the status */
static int send_with_stowaway(const struct http_server_world *world, struct bytes bytes,
                              struct buf *ret_all)
{
    static const char stowaway[] = "GET /stowaway HTTP/1.1\r\nHost: h\r\n\r\n";
    int fd = http_raw_connect(world->address);
    bool is_sent = http_raw_send(fd, bytes.text, bytes.len) &&
                   http_raw_send(fd, stowaway, sizeof(stowaway) - 1);
    (void)is_sent; /* it may be refused before */
    if (!http_raw_read_all(fd, ret_all, HTTP_RAW_PATIENCE_NS)) {
        fail_msg("not closed: %s", bytes.text);
    }
    close(fd);
    return http_raw_status(buf_string(ret_all));
}

/** One answer: a problem with its status; nothing else is read from the connection. */
static void assert_refused(const struct http_server_world *world, struct bytes bytes, int status)
{
    auto_buf struct buf all = {0};
    int given = send_with_stowaway(world, bytes, &all);
    const char *text = buf_string(&all);
    if (given != status || count(text, "HTTP/1.1 ") != 1 ||
        strstr(text, "\r\nConnection: close\r\n") == NULL ||
        strstr(text, "application/problem+json") == NULL || strstr(text, "{\"status\":") == NULL) {
        fail_msg("not refused with %d: %s\nbut: %s", status, bytes.text, text);
    }
}

TEST(heads_with_two_meanings_are_refused_with_one_problem)
{
    static const struct {
        int status;
        struct bytes bytes;
    } cases[] = {
        {400, BYTES("GET / HTTP/1.1\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\nHost: h\n\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\nY: b\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\rY: b\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb: c\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX\0: a\r\n\r\n")},
        {400, BYTES("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n")},
        {400, BYTES("GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET  / HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET / HTTP/1.1 \r\nHost: h\r\n\r\n")},
        {400, BYTES("GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET / HTTP/11\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET / http/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("GET /\r\n")},
        {400, BYTES("GET\r\n\r\n")},
        {400, BYTES("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES(" GET / HTTP/1.1\r\nHost: h\r\n\r\n")},
        {400, BYTES(POST "Content-Length: x\r\n\r\n")},
        {400, BYTES(POST "Content-Length:\r\n\r\n")},
        {400, BYTES(POST "Content-Length: 0x1\r\n\r\n")},
        {400, BYTES(POST "Content-Length: 1,1\r\n\r\n")},
        {413, BYTES(POST "Content-Length: 18446744073709551617\r\n\r\n")},
        {501, BYTES(POST "Transfer-Encoding: identity\r\n\r\n")},
        {501, BYTES(POST "Transfer-Encoding: chunked, chunked\r\n\r\n")},
        {501, BYTES(POST "Transfer-Encoding:\r\n\r\n")},
        {501, BYTES(POST "Transfer-Encoding: xchunked\r\n\r\n")},
        {400, BYTES("POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
        {505, BYTES("GET / HTTP/1.9\r\nHost: h\r\n\r\n")},
    };
    struct http_server_world world = begin();
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_refused(&world, cases[i].bytes, cases[i].status);
    }
    assert_int_equal(http_server_state(world.server).requests, 0);
    end(&world);
}

TEST(chunks_with_two_meanings_are_refused)
{
    static const struct bytes cases[] = {
        BYTES(CHUNKED "5\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\n0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0\r\n\n"),
        BYTES(CHUNKED "5\rhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0\r\r\n"),
        BYTES(CHUNKED "5\r\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5;a=b\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5;\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0;a\r\n\r\n"),
        BYTES(CHUNKED "5 \r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "\t5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\t\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\0\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "+5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "-5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5_\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "4\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "6\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
        BYTES(CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n"),
        BYTES(CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n"),
        BYTES(CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    };
    struct http_server_world world = begin();
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_refused(&world, cases[i], 400);
    }
    assert_refused(&world, (struct bytes)BYTES(CHUNKED "ffffffffffffffff\r\nhello\r\n"), 413);
    assert_int_equal(http_server_state(world.server).requests, 0);
    end(&world);
}

/** The answer to the first of two requests. */
static void assert_served(const struct http_server_world *world, const char *request,
                          const char *expected)
{
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    for (size_t cut = 1; cut <= strlen(request); cut++) {
        int fd = http_raw_connect(world->address);
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
        assert_true(http_raw_send(fd, request, cut));
        assert_true(http_raw_send_text(fd, request + cut));
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        assert_string_equal(buf_string(&body), expected);
        assert_true(http_raw_send_text(fd, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        assert_string_equal(buf_string(&body), "GET /next ");
        close(fd);
    }
}

TEST(plain_chunks_are_read_wherever_they_are_cut)
{
    struct http_server_world world = begin();
    assert_served(&world, CHUNKED "5\r\nhello\r\n0\r\n\r\n", "POST / hello");
    assert_served(&world, CHUNKED "0000000000000005\r\nhello\r\n000\r\n\r\n", "POST / hello");
    assert_served(&world, CHUNKED "A\r\n0123456789\r\na\r\nabcdefghij\r\n1\r\n\n\r\n0\r\n\r\n",
                  "POST / 0123456789abcdefghij\n");
    assert_served(&world, CHUNKED "0\r\n\r\n", "POST / ");
    assert_served(&world, "\r\n" CHUNKED "2\r\n\r\n\r\n0\r\n\r\n", "POST / \r\n");
    assert_served(&world, POST "X:\t a b \t\r\nContent-Length: 02\r\n\r\nhi", "POST / hi");
    end(&world);
}

/** "GET /?a&a&... HTTP/1.1": so many parameters and header lines. */
static void write_head(size_t parameters, const char *parameter, size_t headers, const char *header,
                       struct buf *ret_request)
{
    buf_append_string(ret_request, "GET /?");
    for (size_t i = 0; i < parameters; i++) {
        buf_printf(ret_request, "%s&", parameter);
    }
    buf_append_string(ret_request, " HTTP/1.1\r\nHost: h\r\n");
    for (size_t i = 0; i < headers; i++) {
        buf_append_string(ret_request, header);
    }
    buf_append_string(ret_request, "\r\n");
}

TEST(too_many_parts_are_refused_at_once)
{
    static const struct {
        size_t parameters;
        const char *parameter;
        size_t headers;
        const char *header;
        int status; /* 0 = served */
    } cases[] = {
        {HTTP_SERVER_PARAMETERS, "a=1", 0, "", 0},
        {HTTP_SERVER_PARAMETERS + 1, "a=1", 0, "", 400},
        {HTTP_SERVER_PARAMETERS + 1, "a", 0, "", 400},
        {HTTP_SERVER_PARAMETERS + 1, "=", 0, "", 400},
        {500, "a=1", 0, "", 400},
        {1000, "a=1", 0, "", 400},
        {1500, "a=1", 0, "", 414},
        {4000, "a=1", 0, "", 414},
        {4000, "", 0, "", 0},
        {0, "", HTTP_SERVER_HEADERS - 1, "a:b\r\n", 0},
        {0, "", HTTP_SERVER_HEADERS, "a:b\r\n", 431},
        {0, "", 500, "a:b\r\n", 431},
        {0, "", 1000, "a:b\r\n", 431},
        {0, "", 5000, "a:b\r\n", 431},
        {0, "", 90, "Cookie: a=b;c=d;e=f;a=b;c=d;e=f;a=b;c=d;e=f;a=b;c=d;e=f;a=b;c=d;\r\n", 0},
        {0, "", 1, "X: \r\n \r\n", 400},
    };
    struct http_server_world world = begin();
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf request = {0};
        write_head(cases[i].parameters, cases[i].parameter, cases[i].headers, cases[i].header,
                   &request);
        struct bytes bytes = {.text = request.data, .len = request.len};
        if (cases[i].status != 0) {
            assert_refused(&world, bytes, cases[i].status);
            continue;
        }
        auto_buf struct buf head = {0};
        auto_buf struct buf body = {0};
        int fd = http_raw_connect(world.address);
        assert_true(http_raw_send(fd, request.data, request.len));
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        close(fd);
    }
    end(&world);
}

TEST(what_follows_a_closing_request_is_not_read)
{
    struct http_server_world world = begin();
    static const struct bytes cases[] = {
        BYTES("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
        BYTES("GET / HTTP/1.1\r\nHost: h\r\nConnection: Keep-Alive, CLOSE\r\n\r\n"),
        BYTES("GET / HTTP/1.1\r\nHost: h\r\nConnection: x\r\nConnection: close\r\n\r\n"),
        BYTES("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf all = {0};
        assert_int_equal(send_with_stowaway(&world, cases[i], &all), 200);
        assert_int_equal(count(buf_string(&all), "HTTP/1.1 "), 1);
        assert_non_null(strstr(buf_string(&all), "\r\nConnection: close\r\n"));
    }
    assert_int_equal(http_server_state(world.server).requests, COUNT(cases));
    end(&world);
}
