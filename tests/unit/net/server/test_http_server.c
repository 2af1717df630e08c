// SPDX-License-Identifier: Apache-2.0
/* Requests and answers of the HTTP server, byte by byte. */
#include "http_server_world.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

TEST(test_a_request_reaches_the_handler_with_all_its_parts)
{
    struct http_server_world world = begin();
    auto_buf struct buf bytes = {0};
    int status = http_raw_ask(world.address,
                              "POST /a%2Fb?x=1%202&y&z=a+b HTTP/1.1\r\nHost: h\r\n"
                              "Content-Length: 5\r\nConnection: close\r\n\r\nhello",
                              &bytes);
    assert_int_equal(status, 200);
    assert_non_null(strstr(bytes.data, "\r\n\r\nPOST /a%2Fb [x=1 2][y=][z=a b]hello"));
    end(&world);
}

TEST(test_a_chunked_body_arrives_whole)
{
    struct http_server_world world = begin();
    auto_buf struct buf bytes = {0};
    http_raw_ask(world.address,
                 "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                 "Connection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                 &bytes);
    assert_non_null(strstr(bytes.data, "POST / abcde"));
    end(&world);
}

TEST(test_head_has_the_length_and_no_body)
{
    struct http_server_world world = begin();
    auto_buf struct buf bytes = {0};
    int status =
        http_raw_ask(world.address,
                     "HEAD /big?n=100000 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", &bytes);
    assert_int_equal(status, 200);
    assert_non_null(strstr(bytes.data, "Content-Length: 100000\r\n"));
    assert_string_equal(bytes.data + bytes.len - 4, "\r\n\r\n");
    end(&world);
}

TEST(test_pipelined_requests_are_answered_in_order)
{
    struct http_server_world world = begin();
    auto_buf struct buf requests = {0};
    for (int i = 0; i < 50; i++) {
        buf_printf(&requests, "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    }
    int fd = http_raw_connect(world.address);
    assert_true(http_raw_send(fd, requests.data, requests.len));
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    for (int i = 0; i < 50; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "GET /%d ", i);
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        assert_string_equal(body.data, expected);
    }
    close(fd);
    end(&world);
}

TEST(test_a_request_may_be_cut_at_every_byte)
{
    struct http_server_world world = begin();
    const char *request = "POST /p?q=%41 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody";
    int fd = http_raw_connect(world.address);
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    for (size_t cut = 1; cut < strlen(request); cut++) {
        uint64_t before = http_server_state(world.server).requests;
        assert_true(http_raw_send(fd, request, cut));
        assert_int_equal(http_server_state(world.server).requests, before);
        assert_true(http_raw_send_text(fd, request + cut));
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        assert_string_equal(body.data, "POST /p [q=A]body");
    }
    close(fd);
    end(&world);
}

TEST(test_large_answers_arrive_whole)
{
    struct http_server_world world = begin();
    int fd = http_raw_connect(world.address);
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    const size_t sizes[] = {0, 1, 32768, 32769, 1000000, 8000000};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char request[128];
        snprintf(request, sizeof(request), "GET /big?n=%zu HTTP/1.1\r\nHost: h\r\n\r\n", sizes[i]);
        http_raw_send_text(fd, request);
        assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
        assert_int_equal(body.len, sizes[i]);
        for (size_t at = 0; at < body.len; at += 997) {
            assert_int_equal(body.data[at], 'a' + (int)(at % 23));
        }
    }
    close(fd);
    end(&world);
}

TEST(test_a_client_that_sends_nothing_more_gets_its_answers_and_the_end)
{
    struct http_server_world world = begin();
    int fd = http_raw_connect(world.address);
    http_raw_send_text(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    shutdown(fd, SHUT_WR);
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_all(fd, &bytes, HTTP_RAW_PATIENCE_NS));
    assert_non_null(strstr(bytes.data, "GET /2 "));
    close(fd);
    end(&world);
}

TEST(test_an_expecting_client_is_told_to_continue)
{
    struct http_server_world world = begin();
    int fd = http_raw_connect(world.address);
    http_raw_send_text(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                           "Expect: 100-continue\r\n\r\n");
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_until(fd, &bytes, "HTTP/1.1 100 ", HTTP_RAW_PATIENCE_NS));
    http_raw_send_text(fd, "hi");
    assert_true(http_raw_read_until(fd, &bytes, "POST / hi", HTTP_RAW_PATIENCE_NS));
    close(fd);
    end(&world);
}

TEST(test_a_header_with_a_line_end_is_never_sent)
{
    struct http_server_world world = begin();
    auto_buf struct buf bytes = {0};
    int status = http_raw_ask(
        world.address, "GET /header?value=a%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: h\r\n\r\n", &bytes);
    assert_int_equal(status, 500);
    assert_null(strstr(bytes.data, "Set-Cookie"));
    assert_int_equal(ask(&world, "GET /header?value=fine HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    end(&world);
}

TEST(test_a_handler_that_answers_nothing_is_an_internal_error)
{
    struct http_server_world world = begin();
    assert_int_equal(ask(&world, "GET /silent HTTP/1.1\r\nHost: h\r\n\r\n"), 500);
    assert_int_equal(ask(&world, "GET /static HTTP/1.0\r\n\r\n"), 203);
    end(&world);
}

TEST(test_all_listeners_serve)
{
    char folder[] = "/tmp/rondo-server-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char socket_address[128];
    snprintf(socket_address, sizeof(socket_address), "unix:%s/s", folder);
    const char *const listen[] = {"127.0.0.1:0", "[::1]:0", socket_address, NULL};
    struct http_server_world world = begin_with((struct http_server_options){.listen = listen});
    struct stat status;
    assert_int_equal(stat(socket_address + 5, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    const char *const told[] = {"127.0.0.1:", "[::1]:", "unix 1 1"};
    for (size_t i = 0; i < 3; i++) {
        auto_buf struct buf bytes = {0};
        assert_int_equal(http_raw_ask(http_server_address(world.server, i),
                                      "GET /peer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                                      &bytes),
                         200);
        assert_non_null(strstr(bytes.data, told[i]));
        assert_non_null(strstr(bytes.data, " 1 1"));
    }
    assert_null(http_server_address(world.server, 3));
    end(&world);
    assert_int_equal(stat(socket_address + 5, &status), -1);
    rmdir(folder);
}

TEST(test_an_address_that_is_taken_is_busy)
{
    struct http_server_world world = begin();
    const char *const listen[] = {world.address, NULL};
    struct http_server_options options = {.listen = listen, .handler = handle};
    struct http_server *server = NULL;
    struct rondo_error err = {0};
    assert_int_equal(http_server_start(&options, &server, &err), RONDO_ERR_BUSY);
    assert_null(server);
    end(&world);
}

TEST(test_a_wrong_address_is_refused)
{
    const char *const wrong[] = {"",
                                 "80",
                                 ":80",
                                 "127.0.0.1:",
                                 "127.0.0.1:x",
                                 "::1:80",
                                 "[]:80",
                                 "127.0.0.1:999999",
                                 "127.0.0.1:65536",
                                 "unix:"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const char *const listen[] = {wrong[i], NULL};
        struct http_server_options options = {.listen = listen, .handler = handle};
        struct http_server *server = NULL;
        struct rondo_error err = {0};
        assert_int_equal(http_server_start(&options, &server, &err), RONDO_ERR_INVALID);
    }
}

TEST(test_a_stale_socket_is_replaced_and_a_living_one_is_not)
{
    char folder[] = "/tmp/rondo-server-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char address[64];
    snprintf(address, sizeof(address), "unix:%s/s", folder);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", address + 5);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    close(fd); /* the file stays */
    const char *const listen[] = {address, NULL};
    struct http_server_world world = begin_with((struct http_server_options){.listen = listen});
    struct http_server_options options = {.listen = listen, .handler = handle};
    struct http_server *second = NULL;
    struct rondo_error err = {0};
    assert_int_equal(http_server_start(&options, &second, &err), RONDO_ERR_BUSY);
    assert_int_equal(ask(&world, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 200);
    end(&world);
    rmdir(folder);
}

TEST(test_a_file_that_is_no_socket_is_left_alone)
{
    char path[] = "/tmp/rondo-server-XXXXXX";
    close(mkstemp(path));
    char address[64];
    snprintf(address, sizeof(address), "unix:%s", path);
    const char *const listen[] = {address, NULL};
    struct http_server_options options = {.listen = listen, .handler = handle};
    struct http_server *server = NULL;
    struct rondo_error err = {0};
    assert_int_equal(http_server_start(&options, &server, &err), RONDO_ERR_BUSY);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
}
