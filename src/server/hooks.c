// SPDX-License-Identifier: Apache-2.0
/*
 * POST /hooks/NAME: webhooks of roles on the server's listener. It is no route of the API: no token
 * opens it and it opens nothing else. The source that has the name decides what a request is worth
 * (source/webhook/webhook.c); here are the checks that hold for every request: host, origin, rate.
 */
#include "server/hooks.h"

#include "base/clock.h"
#include "server/auth/access.h"
#include "server/router.h"
#include "server/server_internal.h"
#include "source/webhook/hook_answer.h"

#include <stdio.h>
#include <string.h>

#define PREFIX     "/hooks/"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
/** A sender may come again after the next start. */
#define DRAIN_RETRY_S 10

bool hooks_have(const struct http_exchange *exchange)
{
    return strncmp(http_exchange_path(exchange), PREFIX, PREFIX_LEN) == 0;
}

static void refuse(struct http_exchange *exchange, int status, int64_t retry_after_s,
                   const char *message)
{
    struct source_answer answer = {.status = status, .retry_after_s = retry_after_s};
    snprintf(answer.message, sizeof(answer.message), "%s", message);
    hook_answer_send(exchange, &answer);
}

/** @return whether the request may continue; else it is answered */
static bool check_request(struct server *server, struct http_exchange *exchange)
{
    char name[96];
    int64_t wait_s = 0;
    enum problem_code code = PROBLEM_INTERNAL;
    const char *detail = "";
    if (!access_check_site(&server->names, exchange, true, &code, &detail)) {
        refuse(exchange, (int)problem_status(code), 0, detail);
        return false;
    }
    access_name_peer(http_exchange_peer_text(exchange), name, sizeof(name));
    if (!rate_take(server->rate, name, clock_monotonic(clock_system()), &wait_s)) {
        refuse(exchange, 429, wait_s, "too many requests");
        return false;
    }
    if (strcmp(http_exchange_method(exchange), "POST") != 0) {
        http_exchange_add_header(exchange, "Allow", "POST");
        refuse(exchange, 405, 0, "method not allowed");
        return false;
    }
    return true;
}

/** On a thread that may wait for the store. */
static void receive(void *context, struct http_exchange *exchange)
{
    struct server *server = context;
    const struct server_options *options = &server->options;
    struct source_answer answer = {0};
    char name[ROUTE_VALUE_SIZE];
    struct source_delivery delivery = hook_delivery(exchange);
    const char *path = http_exchange_path(exchange) + PREFIX_LEN;
    if (atomic_load(&server->is_draining)) {
        refuse(exchange, 503, DRAIN_RETRY_S, "the server is shutting down");
    } else if (options->receive_hook == NULL ||
               !route_decode(path, strlen(path), name, sizeof(name)) ||
               !options->receive_hook(options->hook_context, name, &delivery, &answer)) {
        refuse(exchange, 404, 0, "there is no webhook of this name");
    } else {
        hook_answer_send(exchange, &answer);
    }
}

void hooks_dispatch(struct server *server, struct http_exchange *exchange)
{
    if (check_request(server, exchange)) {
        http_exchange_defer(exchange, receive, server);
    }
}
