// SPDX-License-Identifier: Apache-2.0
/*
 * Answers: a head, then a body that is there whole, or a stream. The worker reads and writes the
 * stream piece by piece.
 *
 * A stream that has nothing to say is asleep and costs no thread and no event. Between the source's
 * "nothing" and the sleep somebody may wake it: `is_woken` remembers that.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/time/calendar.h"
#include "net/server/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool has_control(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return true;
        }
    }
    return false;
}

void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value)
{
    if (has_control(name) || has_control(value)) {
        exchange->has_bad_answer_header = true;
        return;
    }
    size_t count = exchange->answer_header_count++;
    exchange->answer_headers =
        memory_resize(exchange->answer_headers, count + 1, sizeof(*exchange->answer_headers));
    exchange->answer_headers[count] = (struct http_parameter){
        .name = memory_dup_string(name),
        .value = memory_dup_string(value),
    };
}

void http_exchange_reply(struct http_exchange *exchange, unsigned status, const void *body,
                         size_t len)
{
    assert(!exchange->is_answered);
    exchange->is_answered = true;
    exchange->status = status;
    buf_append(&exchange->answer, body, len);
}

void http_exchange_reply_static(struct http_exchange *exchange, unsigned status, const void *body,
                                size_t len)
{
    assert(!exchange->is_answered);
    exchange->is_answered = true;
    exchange->status = status;
    exchange->static_answer = body;
    exchange->static_answer_len = len;
}

/* ---- The head of an answer ------------------------------------------------------------------- */

static void append_date(struct buf *output)
{
    char date[CALENDAR_HEADER_SIZE];
    calendar_format_header(clock_now(clock_system()) / NS_PER_S, date);
    buf_printf(output, "Date: %s GMT\r\n", date);
}

static void append_length(const struct http_exchange *exchange, size_t len, struct buf *output)
{
    bool has_body = exchange->status >= 200 && exchange->status != 204 && exchange->status != 304;
    if (exchange->is_stream && !exchange->is_http_1_0) {
        buf_append_string(output, "Transfer-Encoding: chunked\r\n");
    } else if (!exchange->is_stream && has_body) {
        buf_printf(output, "Content-Length: %zu\r\n", len);
    }
}

static void append_head(const struct http_connection *connection, size_t len, struct buf *output)
{
    const struct http_exchange *exchange = connection->exchange;
    buf_printf(output, "HTTP/1.1 %u %s\r\n", exchange->status,
               http_server_reason(exchange->status));
    append_date(output);
    append_length(exchange, len, output);
    for (size_t i = 0; i < exchange->answer_header_count; i++) {
        const struct http_parameter *header = &exchange->answer_headers[i];
        buf_printf(output, "%s: %s\r\n", header->name, header->value);
    }
    const char *const(*always)[2] = exchange->server->options.headers;
    for (; always != NULL && (*always)[0] != NULL; always++) {
        buf_printf(output, "%s: %s\r\n", (*always)[0], (*always)[1]);
    }
    buf_append_string(output, connection->closes ? "Connection: close\r\n\r\n" : "\r\n");
}

bool http_server_begin_answer(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    if (!exchange->is_answered || exchange->has_bad_answer_header) {
        return false;
    }
    bool is_static = exchange->static_answer != NULL;
    const char *body = is_static ? exchange->static_answer : buf_string(&exchange->answer);
    size_t len = is_static ? exchange->static_answer_len : exchange->answer.len;
    bool is_head = strcmp(exchange->method, "HEAD") == 0;
    connection->closes = exchange->wants_close || atomic_load(&connection->server->is_quiescing);
    append_head(connection, len, &connection->output);
    connection->tail = body;
    connection->tail_len = is_head || exchange->is_stream ? 0 : len;
    if (is_head) {
        http_server_close_stream(connection);
    }
    return true;
}

/* ---- Streams --------------------------------------------------------------------------------- */

void http_stream_unref(struct http_stream *stream)
{
    if (stream != NULL && atomic_fetch_sub(&stream->references, 1) == 1) {
        pthread_mutex_destroy(&stream->lock);
        free(stream);
    }
}

/** Under the stream's lock. */
static void rouse(struct http_stream *stream)
{
    stream->is_woken = true;
    if (stream->is_asleep) {
        stream->is_asleep = false;
        http_server_wake(stream->connection);
    }
}

void http_stream_wake(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (!stream->is_ended) {
        rouse(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void http_server_end_stream(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->is_gone = true;
    if (!stream->is_ended) {
        rouse(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void http_server_close_stream(struct http_connection *connection)
{
    struct http_stream *stream = connection->stream;
    if (stream == NULL) {
        return;
    }
    pthread_mutex_lock(&connection->server->lock);
    connection->stream = NULL;
    pthread_mutex_unlock(&connection->server->lock);
    pthread_mutex_lock(&stream->lock);
    stream->is_ended = true;
    pthread_mutex_unlock(&stream->lock);
    atomic_fetch_sub(&stream->server->streams, 1);
    stream->source.close(stream->source.context);
    http_stream_unref(stream);
}

void http_exchange_stream(struct http_exchange *exchange, const struct http_stream_source *source,
                          struct http_stream **ret_stream)
{
    assert(!exchange->is_answered && !exchange->is_deferred);
    struct http_connection *connection = exchange->connection;
    struct http_stream *stream = memory_new_zero(1, sizeof(*stream));
    *stream = (struct http_stream){
        .references = 2, /* the connection's, the caller's */
        .server = exchange->server,
        .connection = connection,
        .source = *source,
    };
    pthread_mutex_init(&stream->lock, NULL);
    *ret_stream = stream; /* before anything can read */
    atomic_fetch_add(&stream->server->streams, 1);
    exchange->is_answered = true;
    exchange->is_stream = true;
    exchange->status = 200;
    pthread_mutex_lock(&connection->server->lock);
    connection->stream = stream;
    pthread_mutex_unlock(&connection->server->lock);
}
