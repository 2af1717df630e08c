// SPDX-License-Identifier: Apache-2.0
/*
 * An HTTP/1.1 server that knows no routes. One function answers each request once
 * its body is there whole; an answer is a text or a stream that is written when there is something
 * to write (server-sent events). A few threads serve all connections; the handler runs on them and
 * must not block: what may take long it leaves to other threads (http_exchange_defer).
 *
 * Everything that a client can choose is bounded: connections, header bytes, body bytes, the time
 * that a request may take to arrive (also when it trickles), idle time, and the time that an
 * answer may wait for a reader that takes nothing.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clock;
struct http_exchange;
struct http_server;
struct http_stream;

/** The peer of a connection. */
struct http_remote {
    char text[64];     /**< address and port, or "unix" */
    bool is_loopback;  /**< 127.0.0.0/8, ::1, or a Unix socket */
    bool is_same_user; /**< proven: a process of our user that shares our user namespace, so no
                            sandboxed command; see os/peer.h */
};

typedef void http_handler_fn(void *context, struct http_exchange *exchange);

struct http_server_options {
    const char *const *listen; /**< "HOST:PORT", "[V6]:PORT", "unix:PATH"; NULL-terminated; port 0 =
                                    any. Sockets are mode 0600; a stale one is replaced */
    unsigned threads;          /**< 0 = 4 */
    unsigned max_connections;  /**< 0 = HTTP_SERVER_CONNECTIONS */
    size_t max_body_bytes;     /**< 0 = HTTP_SERVER_BODY_BYTES */
    int64_t request_ns;        /**< until a request is there whole; 0 = HTTP_SERVER_REQUEST_NS */
    int64_t idle_ns;           /**< of a kept connection, of a reader that takes nothing; 0 =
                                    HTTP_SERVER_IDLE_NS */
    const struct clock *clock; /**< of these two; must outlive the server; NULL = the machine's */
    http_handler_fn *handler;
    /** Writes the answer to what never reaches the handler (413, 431, 408, 503), as a problem. */
    void (*problem)(unsigned status, struct buf *ret_body);
    void *context;
    /** Headers of every answer, also of those; pairs of name and value, the last one {NULL}. */
    const char *const (*headers)[2];
};

#define HTTP_SERVER_CONNECTIONS 1024
#define HTTP_SERVER_BODY_BYTES  (1024 * 1024)
#define HTTP_SERVER_REQUEST_NS  INT64_C(10000000000)
#define HTTP_SERVER_IDLE_NS     INT64_C(60000000000)

/** Listen and serve. RONDO_ERR_BUSY when an address is taken. @param ret_server _stop() */
int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
                      struct rondo_error *err);

/** Accept no more connections or requests; streams end at their next byte. Does not block. */
void http_server_quiesce(struct http_server *server);

/** Wait for handlers that were deferred, end all connections, join all threads, release. NULL is
 *  allowed. */
void http_server_stop(struct http_server *server);

/** Address of the i-th listener with its real port: "127.0.0.1:40311", "unix:/run/x"; or NULL. */
const char *http_server_address(const struct http_server *server, size_t index);

struct http_server_state {
    uint64_t connections; /**< open now, as the next one */
    uint64_t streams;
    uint64_t requests; /**< since the start, as the next ones */
    uint64_t refused;  /**< connections over the limit */
    uint64_t cut_off;  /**< too slow: requests and readers */
};
struct http_server_state http_server_state(struct http_server *server);

/* ---- A request. Texts are borrowed for the time of the handler. ------------------------------ */

const char *http_exchange_method(const struct http_exchange *exchange);
/** Whether the client speaks HTTP/1.0. */
bool http_exchange_is_http_1_0(const struct http_exchange *exchange);
/** Path as sent, without the query, percent-escapes left. */
const char *http_exchange_path(const struct http_exchange *exchange);
/** A header, names without case; NULL when absent. Several of a name: the first. */
const char *http_exchange_header(const struct http_exchange *exchange, const char *name);
/** The name, as sent, of the first header that begins with a prefix, without case; or NULL. */
const char *http_exchange_header_like(const struct http_exchange *exchange, const char *prefix);
/** How often a header was sent. */
size_t http_exchange_header_count(const struct http_exchange *exchange, const char *name);
/** A parameter of the query, decoded; NULL when absent, "" without value. */
const char *http_exchange_query(const struct http_exchange *exchange, const char *name);
/** Call for each parameter; to refuse unknown ones. */
void http_exchange_visit_query(const struct http_exchange *exchange,
                               void (*fn)(void *context, const char *name, const char *value),
                               void *context);
const char *http_exchange_body(const struct http_exchange *exchange, size_t *ret_len);
/**
 * The peer of the connection. The first call for a connection proves is_same_user, which takes
 * milliseconds on a machine with many processes: ask only when it decides something.
 */
const struct http_remote *http_exchange_peer(const struct http_exchange *exchange);
/** The same peer's text alone, for free. */
const char *http_exchange_peer_text(const struct http_exchange *exchange);

/**
 * Leave the request to a thread that may block, and return from the handler at once. There are
 * HTTP_SERVER_DEFERRED_THREADS of them; more requests wait for one. Texts stay valid until the
 * answer; it cannot be a stream. Called on the spot when there is no thread, or the server ends.
 * @param handler answers before it returns @param context given to it
 */
void http_exchange_defer(struct http_exchange *exchange, http_handler_fn *handler, void *context);

#define HTTP_SERVER_DEFERRED_THREADS 16

/**
 * Leave the request unanswered when the handler returns, without a thread: the code that has the
 * exchange answers it later, and calls http_exchange_unpark(). Only in the handler itself, not in a
 * deferred one. All must be answered before http_server_stop().
 */
void http_exchange_park(struct http_exchange *exchange);
/** Send the answer of a parked exchange, which is gone then. Any thread. */
void http_exchange_unpark(struct http_exchange *exchange);

/* ---- The answer: exactly one of these, once. --------------------------------------------------
 */

/** Add a header to the answer; control characters in the value are an error of the caller. */
void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value);
/** Answer. @param body copied; for HEAD only its length is sent */
void http_exchange_reply(struct http_exchange *exchange, unsigned status, const void *body,
                         size_t len);
/** Answer with bytes that live as long as the program. */
void http_exchange_reply_static(struct http_exchange *exchange, unsigned status, const void *body,
                                size_t len);

/** What a stream is made from. Called by one thread at a time, never after close. */
struct http_stream_source {
    /** Write up to `size` bytes. @return how many; 0 = nothing now: sleep until woken; -1 = end */
    ssize_t (*read)(void *context, char *bytes, size_t size);
    /** The stream ended, for whatever reason. */
    void (*close)(void *context);
    void *context;
};

/**
 * Answer 200 with a stream. It is read from at once. Not under a lock that read or close takes.
 * @param ret_stream a reference for http_stream_wake; http_stream_unref() it, at the latest in
 * close
 */
void http_exchange_stream(struct http_exchange *exchange, const struct http_stream_source *source,
                          struct http_stream **ret_stream);
/** There may be something to read. Any thread, also from a lock that read takes; cheap; may be
 *  called when the stream has ended. */
void http_stream_wake(struct http_stream *stream);
void http_stream_unref(struct http_stream *stream);
