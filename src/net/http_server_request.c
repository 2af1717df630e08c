// SPDX-License-Identifier: Apache-2.0
/* A request as it arrives: gathered, checked, and handed to the handler when it is whole. */
#include "base/clock.h"
#include "base/memory.h"
#include "net/http_server_internal.h"
#include "os/peer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void http_server_enter(struct http_connection *connection, enum http_phase phase)
{
    struct http_server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    connection->phase = phase;
    connection->since_ns = clock_monotonic(clock_system());
    connection->begun_ns = 0;
    pthread_mutex_unlock(&server->lock);
}

/** The request line is there. The time counts from when the first bytes of it were seen. */
static void enter_request(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    int64_t begun_ns = connection->begun_ns;
    connection->phase = HTTP_PHASE_REQUEST;
    connection->since_ns = begun_ns > 0 ? begun_ns : clock_monotonic(clock_system());
    connection->begun_ns = 0;
    pthread_mutex_unlock(&server->lock);
}

/** A request is there whole. @return whether there is still something to be done for it */
static bool enter_handling(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    bool is_cut = connection->is_cut;
    if (!is_cut) {
        connection->phase = HTTP_PHASE_HANDLING;
        connection->since_ns = clock_monotonic(clock_system());
        /* What comes from here on belongs to the next request. */
        connection->received = http_server_received(connection->fd);
    }
    pthread_mutex_unlock(&server->lock);
    return !is_cut;
}

size_t http_server_leave_escapes(void *context, struct MHD_Connection *mhd, char *text)
{
    (void)context;
    (void)mhd;
    return strlen(text);
}

void *http_server_begin(void *context, const char *uri, struct MHD_Connection *mhd)
{
    struct http_server *server = context;
    const union MHD_ConnectionInfo *info =
        server->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_exchange *exchange = memory_new_zero(1, sizeof(*exchange));
    exchange->server = server;
    exchange->connection = info->socket_context;
    exchange->mhd = mhd;
    exchange->uri = memory_dup_string(uri);
    enter_request(exchange->connection);
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

static void free_exchange(struct http_exchange *exchange)
{
    if (exchange->response != NULL) {
        exchange->server->mhd.destroy_response(exchange->response);
    }
    free_parameters(exchange->parameters, exchange->parameter_count);
    free_parameters(exchange->answer_headers, exchange->answer_header_count);
    free(exchange->headers);
    free(exchange->uri);
    free(exchange->path);
    free(exchange->method);
    buf_fini(&exchange->body);
    free(exchange);
}

void http_server_complete(void *context, struct MHD_Connection *mhd, void **slot,
                          enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)mhd;
    (void)code;
    struct http_exchange *exchange = *slot;
    if (exchange == NULL) {
        return;
    }
    *slot = NULL;
    struct http_connection *connection = exchange->connection;
    pthread_mutex_lock(&exchange->server->lock);
    struct http_stream *stream = connection->stream;
    connection->stream = NULL;
    pthread_mutex_unlock(&exchange->server->lock);
    if (stream != NULL) {
        http_stream_unref(stream);
    }
    http_server_enter(connection, HTTP_PHASE_KEPT);
    free_exchange(exchange);
}

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    struct http_exchange *exchange = context;
    const char *text = value == NULL ? "" : value;
    if (strlen(name) != name_len || strlen(text) != value_len) {
        exchange->has_bad_header = true;
    }
    if (exchange->header_count <= HTTP_SERVER_HEADERS) {
        exchange->headers[exchange->header_count++] =
            (struct http_header){.name = name, .value = text};
    }
    return MHD_YES;
}

/** Look at the head of a request. @return what the library is to be told */
static enum MHD_Result begin(struct http_exchange *exchange, const char *method,
                             const char *version)
{
    struct http_server *server = exchange->server;
    exchange->has_begun = true;
    exchange->method = memory_dup_string(method);
    exchange->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
    exchange->headers = memory_new_zero(HTTP_SERVER_HEADERS + 1, sizeof(*exchange->headers));
    server->mhd.get_connection_values_n(exchange->mhd, MHD_HEADER_KIND, take_header, exchange);
    unsigned status = http_server_check(exchange, method, version);
    return status == 0 ? MHD_YES : http_server_turn_away(exchange, status);
}

enum MHD_Result http_server_turn_away(struct http_exchange *exchange, unsigned status)
{
    struct http_connection *connection = exchange->connection;
    pthread_mutex_lock(&exchange->server->lock);
    bool is_cut = connection->is_cut;
    connection->is_cut = true;
    connection->must_linger = true;
    pthread_mutex_unlock(&exchange->server->lock);
    if (!is_cut) {
        const char *method = exchange->method == NULL ? "" : exchange->method;
        http_server_refuse(exchange->server, connection->fd, status, strcmp(method, "HEAD") != 0);
    }
    exchange->is_answered = true;
    return MHD_NO;
}

static enum MHD_Result take_body(struct http_exchange *exchange, const char *data, size_t *data_len)
{
    size_t room = exchange->server->options.max_body_bytes - exchange->body.len;
    if (*data_len > room) {
        return http_server_turn_away(exchange, MHD_HTTP_CONTENT_TOO_LARGE);
    }
    buf_append(&exchange->body, data, *data_len);
    *data_len = 0;
    return MHD_YES;
}

static enum MHD_Result answer(struct http_exchange *exchange)
{
    struct http_server *server = exchange->server;
    if (!enter_handling(exchange->connection)) {
        return MHD_NO;
    }
    atomic_fetch_add(&server->requests, 1);
    server->options.handler(server->options.context, exchange);
    if (exchange->is_deferred) {
        return MHD_YES; /* called again when the connection is woken */
    }
    if (!exchange->is_answered) {
        return http_server_turn_away(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR);
    }
    return exchange->result;
}

enum MHD_Result http_server_proceed(void *context, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *data_len, void **slot)
{
    (void)context;
    (void)mhd;
    (void)url;
    struct http_exchange *exchange = *slot;
    if (exchange != NULL && exchange->is_deferred) {
        return http_server_send_deferred(exchange);
    }
    if (exchange == NULL || exchange->is_answered) {
        return MHD_NO;
    }
    if (!exchange->has_begun) {
        return begin(exchange, method, version);
    }
    return *data_len > 0 ? take_body(exchange, data, data_len) : answer(exchange);
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

const struct http_peer *http_exchange_peer(const struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    if (!connection->is_peer_known) {
        connection->is_peer_known = true;
        connection->peer.is_same_user =
            connection->peer.is_loopback && peer_is_same_user(connection->fd);
    }
    return &connection->peer;
}
