// SPDX-License-Identifier: Apache-2.0
/* A server with a handler that says what it got, and a client that sends anything. */
#pragma once

#include "../../../support/hand_clock.h"
#include "../../../support/http_raw.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/server/http_server.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS NS_PER_MS

struct http_server_world {
    struct http_server *server;
    const char *address;
};

static inline void add_parameter(void *context, const char *name, const char *value)
{
    buf_printf(context, "[%s=%s]", name, value);
}

/** "METHOD PATH [name=value]... BODY" */
static inline void echo(struct http_exchange *exchange)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s %s ", http_exchange_method(exchange), http_exchange_path(exchange));
    http_exchange_visit_query(exchange, add_parameter, &text);
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    buf_append(&text, body, len);
    http_exchange_reply(exchange, 200, text.data, text.len);
}

/** A body of so many bytes whose content tells its place. */
static inline void reply_big(struct http_exchange *exchange)
{
    size_t len = strtoul(http_exchange_query(exchange, "n"), NULL, 10);
    char *bytes = memory_new(len + 1);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (char)('a' + i % 23);
    }
    http_exchange_reply(exchange, 200, bytes, len);
    free(bytes);
}

static inline void handle(void *context, struct http_exchange *exchange)
{
    (void)context;
    const char *path = http_exchange_path(exchange);
    if (strcmp(path, "/big") == 0) {
        reply_big(exchange);
    } else if (strcmp(path, "/static") == 0) {
        http_exchange_reply_static(exchange, 203, "steady", 6);
    } else if (strcmp(path, "/header") == 0) {
        http_exchange_add_header(exchange, "X-Told", http_exchange_query(exchange, "value"));
        http_exchange_reply(exchange, 200, "ok", 2);
    } else if (strcmp(path, "/peer") == 0) {
        const struct http_remote *peer = http_exchange_peer(exchange);
        char text[128];
        int len = snprintf(text, sizeof(text), "%s %d %d", peer->text, peer->is_loopback,
                           peer->is_same_user);
        http_exchange_reply(exchange, 200, text, (size_t)len);
    } else if (strcmp(path, "/silent") != 0) {
        echo(exchange);
    }
}

static inline void say_problem(unsigned status, struct buf *ret_body)
{
    buf_printf(ret_body, "{\"status\":%u}", status);
}

static inline struct http_server *serve(struct http_server_options options)
{
    static const char *const anywhere[] = {"127.0.0.1:0", NULL};
    struct http_server *server = NULL;
    struct rondo_error err = {0};
    options.listen = options.listen == NULL ? anywhere : options.listen;
    options.handler = options.handler == NULL ? handle : options.handler;
    options.problem = say_problem;
    options.threads = options.threads == 0 ? 2 : options.threads;
    /* A slow machine must not end what a test holds open. */
    options.request_ns = options.request_ns == 0 ? HTTP_RAW_PATIENCE_NS : options.request_ns;
    options.idle_ns = options.idle_ns == 0 ? HTTP_RAW_PATIENCE_NS : options.idle_ns;
    int r = http_server_start(&options, &server, &err);
    if (r < 0) {
        fail_msg("%s", err.message);
    }
    return server;
}

static inline struct http_server_world begin_with(struct http_server_options options)
{
    struct http_server *server = serve(options);
    return (struct http_server_world){.server = server, .address = http_server_address(server, 0)};
}

static inline struct http_server_world begin(void)
{
    return begin_with((struct http_server_options){0});
}

static inline void end(struct http_server_world *world)
{
    http_server_stop(world->server);
}

/** Ask on a connection of its own. @return the status */
static inline int ask(const struct http_server_world *world, const char *request)
{
    auto_buf struct buf bytes = {0};
    return http_raw_ask(world->address, request, &bytes);
}

/** Wait until what was sent before has been read. Of a server with one thread: it takes things in
 * the order in which they came. */
static inline void wait_until_read(const struct http_server_world *world)
{
    assert_int_equal(ask(world, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 200);
}

/** Let time pass until the server has ended a connection. */
static inline void pass_until_end(struct hand_clock *hand, int fd, struct buf *ret_bytes)
{
    while (!http_raw_read_all(fd, ret_bytes, 5 * MS)) {
        hand_clock_pass(hand, 50 * MS);
    }
}

/** Wait until a figure of the server has some value. */
#define wait_for_state(server_, member, value)                                      \
    do {                                                                            \
        int64_t deadline_ = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS; \
        while (http_server_state(server_).member != (value)) {                      \
            assert_true(clock_monotonic(clock_system()) < deadline_);               \
            clock_sleep(clock_system(), MS, NULL);                                  \
        }                                                                           \
    } while (0)
