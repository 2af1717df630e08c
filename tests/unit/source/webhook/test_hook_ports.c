// SPDX-License-Identifier: Apache-2.0
/* Webhooks on ports of their own: who answers, what is answered to everything else. */
#include "../trigger_world.h"
#include "base/auto.h"
#include "source/webhook/hook_ports.h"
#include "support/http_raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEST_IN_WORLD(name) TEST_WITH(name, make_trigger_world, end_trigger_world)

/** A port that is free now. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/** @param host and further headers */
static int ask_as(uint16_t port, const char *request_line, const char *host, const char *body,
                  struct buf *answer)
{
    char address[32];
    auto_buf struct buf request = {0};
    buf_clear(answer);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    buf_printf(&request,
               "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
               request_line, host, strlen(body), body);
    return http_raw_ask(address, buf_string(&request), answer);
}

static int ask(uint16_t port, const char *request_line, const char *body, struct buf *answer)
{
    return ask_as(port, request_line, "localhost", body, answer);
}

static void open_at(struct trigger_world *world, uint16_t port, const char *path)
{
    char config[128];
    snprintf(config, sizeof(config), "{\"unsigned\":true,\"port\":%u,\"path\":\"%s\"}", port, path);
    world_source(world, "webhook", config);
}

/** Open it on a port that nobody else has. */
static uint16_t open_somewhere(struct trigger_world *world, const char *path)
{
    for (unsigned i = 0; i < 100; i++) {
        uint16_t port = free_port();
        open_at(world, port, path);
        if (world->log.len == 0) {
            return port;
        }
        buf_clear(&world->log); /* Another program was faster. */
    }
    fail_msg("no port is free");
    return 0;
}

TEST_IN_WORLD(a_port_answers_its_webhooks_and_nothing_else)
{
    struct trigger_world *world = *state;
    auto_buf struct buf answer = {0};
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/research");
    assert_int_equal(ask(port, "POST /research", "{}", &answer), 202);
    assert_non_null(strstr(buf_string(&answer), "\"status\":\"accepted\",\"run_id\":\""));
    assert_non_null(strstr(buf_string(&answer), "Location: /v1/runs/"));
    assert_int_equal(ask(port, "GET /research", "", &answer), 405);
    assert_int_equal(ask(port, "POST /v1/runs", "{}", &answer), 404);
    assert_int_equal(ask(port, "GET /v1/runs", "", &answer), 404);
    assert_int_equal(ask(port, "POST /hooks/fixer", "{}", &answer), 404);
    assert_int_equal(ask(port, "POST /research/../v1/runs", "{}", &answer), 404);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}

TEST_IN_WORLD(a_page_that_names_its_own_host_cannot_call_an_unsigned_webhook)
{
    struct trigger_world *world = *state;
    auto_buf struct buf answer = {0};
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/open");
    assert_int_equal(ask_as(port, "POST /open", "evil.example", "{}", &answer), 403);
    assert_int_equal(ask_as(port, "POST /open", "evil.example:80", "{}", &answer), 403);
    assert_int_equal(ask_as(port, "POST /open", "[evil]", "{}", &answer), 403);
    assert_int_equal(ask_as(port, "POST /open", "127.0.0.1:80", "{}", &answer), 202);
    assert_int_equal(ask_as(port, "POST /open", "[::1]:80", "{}", &answer), 202);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}

TEST_IN_WORLD(a_header_that_comes_twice_is_there)
{
    struct trigger_world *world = *state;
    auto_buf struct buf answer = {0};
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/open");
    const char *host = "localhost\r\nOrigin: http://a\r\nOrigin: http://a";
    assert_int_equal(ask_as(port, "POST /open", host, "{}", &answer), 403);
    host = "localhost\r\nwebhook-id: a\r\nwebhook-id: b";
    assert_int_equal(ask_as(port, "POST /open", host, "{}", &answer), 400);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}

TEST_IN_WORLD(a_port_that_cannot_be_had_is_shown)
{
    struct trigger_world *world = *state;
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/one");
    world_expect_problem(world, "");
    struct source *first = world->source;
    world->source = NULL;
    open_at(world, port, "/one");
    world_expect_problem(world, "has another webhook at /one; it can be called at /hooks/");
    first->type->close(first);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}

TEST_IN_WORLD(webhooks_share_a_port)
{
    struct trigger_world *world = *state;
    auto_buf struct buf answer = {0};
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/one");
    struct source *first = world->source;
    world->source = NULL;
    open_at(world, port, "/two");
    assert_int_equal(ask(port, "POST /one", "{}", &answer), 202);
    assert_int_equal(ask(port, "POST /two", "{}", &answer), 202);
    first->type->close(first);
    assert_int_equal(ask(port, "POST /one", "{}", &answer), 404);
    assert_int_equal(ask(port, "POST /two", "{}", &answer), 202);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}

TEST_IN_WORLD(a_taken_place_is_reported_and_does_not_stop_the_webhook)
{
    struct trigger_world *world = *state;
    world->host.ports = hook_ports_new();
    uint16_t port = open_somewhere(world, "/one");
    struct source *first = world->source;
    world->source = NULL;
    open_at(world, port, "/one");
    assert_non_null(strstr(buf_string(&world->log), "has another webhook at /one"));
    assert_non_null(strstr(buf_string(&world->log), "/hooks/fixer only"));
    first->type->close(first);
    world->source->type->close(world->source);
    world->source = NULL;
    hook_ports_free(world->host.ports);
}
