// SPDX-License-Identifier: Apache-2.0
/* A request: its head, its body as it arrives, and what handlers ask of it. */
#include "base/memory.h"
#include "net/server/internal.h"
#include "os/peer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_exchange *http_exchange_new(struct http_connection *connection, const char *head,
                                        size_t len)
{
    struct http_exchange *exchange = memory_new_zero(1, sizeof(*exchange));
    exchange->server = connection->server;
    exchange->connection = connection;
    exchange->head = memory_dup_bytes(head, len);
    exchange->head_len = len;
    exchange->headers = memory_new_zero(HTTP_SERVER_HEADERS, sizeof(*exchange->headers));
    return exchange;
}

static void free_parameters(struct http_parameter *parameters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(parameters[i].name);
        free(parameters[i].value);
    }
    free(parameters);
}

void http_exchange_free(struct http_exchange *exchange)
{
    if (exchange == NULL) {
        return;
    }
    free_parameters(exchange->parameters, exchange->parameter_count);
    free_parameters(exchange->answer_headers, exchange->answer_header_count);
    free(exchange->headers);
    free(exchange->head);
    free(exchange->path);
    buf_fini(&exchange->body);
    buf_fini(&exchange->answer);
    free(exchange);
}

unsigned http_exchange_take_body(struct http_exchange *exchange, const char *bytes, size_t len,
                                 size_t *ret_used)
{
    if (exchange->is_chunked) {
        return http_chunks_take(&exchange->chunks, bytes, len,
                                exchange->server->options.max_body_bytes, ret_used,
                                &exchange->body);
    }
    size_t n = exchange->body_left < len ? (size_t)exchange->body_left : len;
    buf_append(&exchange->body, bytes, n);
    exchange->body_left -= n;
    *ret_used = n;
    return 0;
}

bool http_exchange_is_whole(const struct http_exchange *exchange)
{
    return exchange->is_chunked ? exchange->chunks.part == HTTP_CHUNK_OVER
                                : exchange->body_left == 0;
}

const char *http_exchange_method(const struct http_exchange *exchange)
{
    return exchange->method;
}

bool http_exchange_is_http_1_0(const struct http_exchange *exchange)
{
    return exchange->is_http_1_0;
}

const char *http_exchange_path(const struct http_exchange *exchange)
{
    return exchange->path;
}

const char *http_exchange_header(const struct http_exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        if (strcasecmp(exchange->headers[i].name, name) == 0) {
            return exchange->headers[i].value;
        }
    }
    return NULL;
}

const char *http_exchange_header_like(const struct http_exchange *exchange, const char *prefix)
{
    size_t len = strlen(prefix);
    for (size_t i = 0; i < exchange->header_count; i++) {
        if (strncasecmp(exchange->headers[i].name, prefix, len) == 0) {
            return exchange->headers[i].name;
        }
    }
    return NULL;
}

size_t http_exchange_header_count(const struct http_exchange *exchange, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < exchange->header_count; i++) {
        count += strcasecmp(exchange->headers[i].name, name) == 0;
    }
    return count;
}

const char *http_exchange_body(const struct http_exchange *exchange, size_t *ret_len)
{
    *ret_len = exchange->body.len;
    return buf_string(&exchange->body);
}

const char *http_exchange_peer_text(const struct http_exchange *exchange)
{
    return exchange->connection->peer.text;
}

const struct http_remote *http_exchange_peer(const struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    if (!connection->is_peer_known) {
        connection->is_peer_known = true;
        connection->peer.is_same_user =
            connection->peer.is_loopback && peer_is_same_user(connection->fd);
    }
    return &connection->peer;
}
