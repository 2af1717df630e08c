// SPDX-License-Identifier: Apache-2.0
/*
 * A scripted HTTP server for tests: threads of the test process that listen on a loopback port,
 * answer with the bytes they were given, misbehave where the script says so, and remember what was
 * asked. It understands no more of HTTP than where a request ends.
 *
 *     struct http_peer *peer = http_peer_new();
 *     http_peer_reply(peer, 200, "Content-Type: application/json\r\n", "{\"ok\":true}");
 *     ... a call to http_peer_url(peer, "/v1/things") ...
 *     assert_string_equal(http_peer_request(peer, 0)->path, "/v1/things");
 *     http_peer_free(peer);
 *
 * Replies are given in the order of the script to requests in the order of their arrival, over all
 * connections. A reply with a `path` waits for a request for that path and goes before the others.
 * When the script is over, the reply is http_peer_always's, or status 500 with a telling body.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_peer;

/** A reply, in full. What it points to is copied. */
struct peer_reply {
    const char *path;  /**< only for requests whose path begins so; NULL = any */
    const char *bytes; /**< status line, headers, body, as they are sent */
    size_t len;        /**< of the bytes; 0 = strlen */
    size_t repeat;     /**< send the bytes after `repeat_from` so many times in all; 0 = once */
    size_t repeat_from;
    size_t piece_bytes; /**< send in pieces of this size, each in a packet of its own; 0 = whole */
    bool stalls;        /**< stop before byte `stall_at` until http_peer_release */
    size_t stall_at;
    bool cuts;   /**< end the connection after the bytes */
    bool resets; /**< with `cuts`: so that the other side sees ECONNRESET */
};

/** What was asked. Borrowed from the peer. */
struct peer_request {
    char *method;
    char *path;    /**< with the query */
    char *headers; /**< lines "Name: value\r\n" */
    char *body;    /**< followed by a NUL */
    size_t body_len;
    size_t connection; /**< number of the connection, from 0 */
};

/** Listens as soon as this returns. Fails the test when it cannot. */
struct http_peer *http_peer_new(void);
/** Ends all connections, also stalled ones. NULL is allowed. */
void http_peer_free(struct http_peer *peer);

int http_peer_port(const struct http_peer *peer);
/** "http://127.0.0.1:PORT" followed by `path`. Lives as long as the peer. */
const char *http_peer_url(struct http_peer *peer, const char *path);

/** Add a reply with Content-Length. @param headers lines that end with CRLF, or NULL */
void http_peer_reply(struct http_peer *peer, int status, const char *headers, const char *body);
/** Add a reply unchanged. */
void http_peer_reply_raw(struct http_peer *peer, const struct peer_reply *reply);
/** The reply when no other one fits. */
void http_peer_always(struct http_peer *peer, int status, const char *headers, const char *body);

/** Release all replies that stall now or later. */
void http_peer_release(struct http_peer *peer);

/** Requests that have come in full. */
size_t http_peer_request_count(struct http_peer *peer);
/** Wait until `count` requests have come; fails the test when they do not within 30 s. */
void http_peer_wait_requests(struct http_peer *peer, size_t count);
/** Wait until `count` replies stall; fails the test when they do not within 30 s. */
void http_peer_wait_stalled(struct http_peer *peer, size_t count);
/** Connections that were taken so far. */
size_t http_peer_connection_count(struct http_peer *peer);

/** The request with a number, from 0; fails the test when it has not come. */
const struct peer_request *http_peer_request(struct http_peer *peer, size_t number);
/** Value of a header of a request, or NULL. Lives as long as the peer. */
const char *http_peer_header(struct http_peer *peer, const struct peer_request *request,
                             const char *name);
