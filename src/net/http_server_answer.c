// SPDX-License-Identifier: Apache-2.0
/*
 * Answers. A small body is handed to libmicrohttpd whole; a larger one piece by piece, so that the
 * keeper sees whether its reader takes anything.
 *
 * A stream that has nothing to say is suspended and costs no thread and no event. Between the
 * source's "nothing" and the suspension somebody may wake it: `is_woken` remembers that.
 */
#include "base/memory.h"
#include "net/http_server_internal.h"

#include <assert.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>

/** Bodies up to this size are handed over whole. */
#define WHOLE_BYTES ((size_t)32 * 1024)
/** Bytes at a time for clients that know no chunks; all others are written to directly. */
#define UNCHUNKED_BYTES ((size_t)4 * 1024)

uint64_t http_server_received(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0) {
        return 0;
    }
    return info.tcpi_bytes_received;
}

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

/** Give an answer to libmicrohttpd. On the worker. */
static void hand_over(struct http_exchange *exchange, unsigned status,
                      struct MHD_Response *response)
{
    const struct microhttpd_library *mhd = &exchange->server->mhd;
    const char *const(*always)[2] = exchange->server->options.headers;
    for (; always != NULL && (*always)[0] != NULL; always++) {
        mhd->add_response_header(response, (*always)[0], (*always)[1]);
    }
    for (size_t i = 0; i < exchange->answer_header_count; i++) {
        const struct http_parameter *header = &exchange->answer_headers[i];
        exchange->has_bad_answer_header |=
            mhd->add_response_header(response, header->name, header->value) != MHD_YES;
    }
    if (atomic_load(&exchange->server->is_quiescing)) {
        mhd->add_response_header(response, "Connection", "close");
    }
    if (exchange->has_bad_answer_header) {
        exchange->result = http_server_turn_away(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR);
    } else {
        http_server_enter(exchange->connection, HTTP_PHASE_ANSWERING);
        exchange->result = mhd->queue_response(exchange->mhd, status, response);
    }
    mhd->destroy_response(response);
}

static void queue(struct http_exchange *exchange, unsigned status, struct MHD_Response *response)
{
    exchange->is_answered = true;
    if (exchange->is_deferred) {
        exchange->status = status;
        exchange->response = response;
    } else {
        hand_over(exchange, status, response);
    }
}

enum MHD_Result http_server_send_deferred(struct http_exchange *exchange)
{
    struct MHD_Response *response = exchange->response;
    exchange->is_deferred = false;
    if (response == NULL) {
        return http_server_turn_away(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR);
    }
    exchange->response = NULL;
    hand_over(exchange, exchange->status, response);
    return exchange->result;
}

/** A body that is handed over in pieces. */
struct body {
    struct http_connection *connection;
    char *owned; /**< or NULL */
    const char *bytes;
    size_t len;
};

static ssize_t read_body(void *context, uint64_t position, char *bytes, size_t size)
{
    struct body *body = context;
    if (position >= body->len) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t left = body->len - (size_t)position;
    size_t n = left < size ? left : size;
    memcpy(bytes, body->bytes + position, n);
    atomic_fetch_add(&body->connection->written, (int64_t)n);
    return (ssize_t)n;
}

static void free_body(void *context)
{
    struct body *body = context;
    free(body->owned);
    free(body);
}

static void reply_in_pieces(struct http_exchange *exchange, unsigned status, char *owned,
                            const void *bytes, size_t len)
{
    struct body *body = memory_new_zero(1, sizeof(*body));
    *body = (struct body){
        .connection = exchange->connection, .owned = owned, .bytes = bytes, .len = len};
    struct MHD_Response *response = exchange->server->mhd.create_response_from_callback(
        len, HTTP_SERVER_CHUNK_BYTES, read_body, body, free_body);
    assert(response != NULL);
    queue(exchange, status, response);
}

static void reply_whole(struct http_exchange *exchange, unsigned status, void *bytes, size_t len,
                        enum MHD_ResponseMemoryMode mode)
{
    static char none[1];
    struct MHD_Response *response =
        exchange->server->mhd.create_response_from_buffer(len, bytes == NULL ? none : bytes, mode);
    assert(response != NULL);
    atomic_fetch_add(&exchange->connection->written, (int64_t)len);
    queue(exchange, status, response);
}

void http_exchange_reply(struct http_exchange *exchange, unsigned status, const void *body,
                         size_t len)
{
    assert(!exchange->is_answered);
    if (len > WHOLE_BYTES) {
        char *copy = memory_dup_bytes(body, len);
        reply_in_pieces(exchange, status, copy, copy, len);
    } else {
        /* The library copies and does not write. */
        reply_whole(exchange, status, (void *)(uintptr_t)body, len, MHD_RESPMEM_MUST_COPY);
    }
}

void http_exchange_reply_static(struct http_exchange *exchange, unsigned status, const void *body,
                                size_t len)
{
    assert(!exchange->is_answered);
    if (len > WHOLE_BYTES) {
        reply_in_pieces(exchange, status, NULL, body, len);
    } else {
        reply_whole(exchange, status, (void *)(uintptr_t)body, len, MHD_RESPMEM_PERSISTENT);
    }
}

/* ---- Streams --------------------------------------------------------------------------------- */

void http_server_ref_stream(struct http_stream *stream)
{
    atomic_fetch_add(&stream->references, 1);
}

void http_stream_unref(struct http_stream *stream)
{
    if (stream != NULL && atomic_fetch_sub(&stream->references, 1) == 1) {
        pthread_mutex_destroy(&stream->lock);
        free(stream);
    }
}

/** Under the stream's lock. */
static void resume(struct http_stream *stream)
{
    stream->is_woken = true;
    if (stream->is_suspended) {
        stream->is_suspended = false;
        stream->server->mhd.resume_connection(stream->mhd);
    }
}

void http_stream_wake(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (!stream->is_ended) {
        resume(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void http_server_end_stream(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->is_gone = true;
    if (!stream->is_ended) {
        resume(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

/** @return whether to read, else `*ret_answer` */
static bool may_read(struct http_stream *stream, ssize_t *ret_answer)
{
    pthread_mutex_lock(&stream->lock);
    bool is_over = stream->is_gone || atomic_load(&stream->server->is_stopping);
    stream->is_woken = false;
    pthread_mutex_unlock(&stream->lock);
    *ret_answer = MHD_CONTENT_READER_END_WITH_ERROR;
    return !is_over;
}

/** The source has nothing. @return false when it was woken meanwhile */
static bool sleep_or_end(struct http_stream *stream, ssize_t *ret_answer)
{
    pthread_mutex_lock(&stream->lock);
    bool is_woken = stream->is_woken;
    bool is_over = atomic_load(&stream->server->is_quiescing);
    *ret_answer = is_over ? MHD_CONTENT_READER_END_OF_STREAM : 0;
    if (!is_woken && !is_over) {
        stream->is_suspended = true;
        stream->server->mhd.suspend_connection(stream->mhd);
    }
    pthread_mutex_unlock(&stream->lock);
    return is_over || !is_woken;
}

static ssize_t read_stream(void *context, uint64_t position, char *bytes, size_t size)
{
    (void)position;
    struct http_stream *stream = context;
    size_t room = size < HTTP_SERVER_CHUNK_BYTES ? size : HTTP_SERVER_CHUNK_BYTES;
    ssize_t answer = 0;
    while (may_read(stream, &answer)) {
        ssize_t n = stream->source.read(stream->source.context, bytes, room);
        if (n > 0) {
            atomic_fetch_add(&stream->connection->written, n);
            return n;
        }
        if (n < 0) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (sleep_or_end(stream, &answer)) {
            return answer;
        }
    }
    return answer;
}

static void close_stream(void *context)
{
    struct http_stream *stream = context;
    pthread_mutex_lock(&stream->lock);
    stream->is_ended = true;
    pthread_mutex_unlock(&stream->lock);
    atomic_fetch_sub(&stream->server->streams, 1);
    stream->source.close(stream->source.context);
    http_stream_unref(stream);
}

static void remember(struct http_connection *connection, struct http_stream *stream)
{
    pthread_mutex_lock(&connection->server->lock);
    connection->stream = stream;
    if (connection->is_cut) {
        http_server_end_stream(stream);
    }
    http_server_watch(connection);
    pthread_mutex_unlock(&connection->server->lock);
}

void http_exchange_stream(struct http_exchange *exchange, const struct http_stream_source *source,
                          struct http_stream **ret_stream)
{
    assert(!exchange->is_answered && !exchange->is_deferred);
    struct http_stream *stream = memory_new_zero(1, sizeof(*stream));
    *stream = (struct http_stream){
        .references = 3, /* the library's, the connection's, the caller's */
        .server = exchange->server,
        .mhd = exchange->mhd,
        .connection = exchange->connection,
        .source = *source,
    };
    pthread_mutex_init(&stream->lock, NULL);
    *ret_stream = stream; /* before anything can read */
    atomic_fetch_add(&stream->server->streams, 1);
    remember(exchange->connection, stream);
    struct MHD_Response *response = stream->server->mhd.create_response_from_callback(
        MHD_SIZE_UNKNOWN, UNCHUNKED_BYTES, read_stream, stream, close_stream);
    assert(response != NULL);
    queue(exchange, MHD_HTTP_OK, response);
}
