// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of net/client/http.h share.
 *
 * Two threads know a call: the caller's, which prepares the transfer, waits, and watches the
 * clock; and the client's thread, which owns the transfer from http_loop_start until the call
 * `is_finished`. What both touch in between is guarded by the call's mutex.
 */
#pragma once

#include "net/client/curl_library.h"
#include "net/client/http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/** More than this many bytes that the caller has not taken yet pause a transfer. */
#define HTTP_PENDING_MAX_BYTES ((size_t)256 * 1024)
/** Most of a reply's headers, bytes. */
#define HTTP_HEADERS_MAX_BYTES ((size_t)256 * 1024)
/** Most headers of a request. */
#define HTTP_REQUEST_HEADERS_MAX 256
/** Most of a request's URL, bytes. */
#define HTTP_URL_MAX_BYTES ((size_t)64 * 1024)
/** Host names that are looked up at the same time: each takes a thread of libcurl's. */
#define HTTP_LOOKUPS_MAX 64

struct http_loop;

/** What a caller requests from the client's thread for a call; bits. */
enum http_order {
    HTTP_ORDER_START = 1,
    HTTP_ORDER_RESUME = 2, /**< the caller has taken what was pending */
    HTTP_ORDER_ABORT = 4,
};

/** One request and its reply: a hop of a call that is redirected. */
struct http_call {
    const struct http_request *request; /**< limits, guard, cancel, on_body */
    const char *url;
    const char *method;
    const struct curl_library *curl;
    struct http_loop *loop;
    CURL *easy;
    struct curl_slist *header_list;
    struct http_response *response;
    char *host; /**< without brackets */
    int port;
    bool needs_lookup;    /**< the host is a name */
    bool sends_body;      /**< the parts of the request are sent */
    bool refuses_rewind;  /**< the body is not sent a second time */
    char *whole_body;     /**< of a small body: all of its parts */
    size_t part;          /**< the next bytes of a large body: a part */
    size_t part_offset;   /**< and where in it */
    size_t body_bytes;    /**< of the reply, as they were decompressed */
    bool has_head;        /**< the headers of the reply came to their end */
    bool has_reply_begun; /**< bytes of its body came */
    bool is_streamed;     /**< the reply goes to on_body */
    bool was_blocked;     /**< the guard refused an address */
    int os_errno;         /**< why no socket could be made */
    char curl_message[CURL_ERROR_SIZE];
    char blocked_message[256];

    /* The client's thread only. */
    TAILQ_ENTRY(http_call) waiting; /**< for a lookup */
    TAILQ_ENTRY(http_call) watching;
    bool is_waiting;
    bool is_looking_up;
    bool is_added;

    /* Under the mutex of the loop. */
    TAILQ_ENTRY(http_call) ordered;
    unsigned orders;

    /* Under `mutex`. */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /**< monotonic clock */
    struct buf pending;     /**< for on_body */
    bool is_paused;
    bool is_finished;
    /* Written by the client's thread before `is_finished`, read by the caller after it. */
    bool was_ordered_to_end;
    bool is_aborted; /**< a callback ended the transfer, with `failure` */
    enum http_failure failure;
    CURLcode code;

    _Atomic bool is_connected;
    _Atomic int64_t active_ns; /**< monotonic clock: when bytes came or went last */
};

TAILQ_HEAD(http_calls, http_call);

/* --- http_transfer.c: one transfer --- */

/**
 * Make the transfer of a call whose request, url, method, curl, loop, response, host and sends_body
 * are set.
 * @param only_harmless leave out headers that may hold secrets
 */
void http_transfer_init(struct http_call *call, const struct http_client *client,
                        bool only_harmless);
void http_transfer_fini(struct http_call *call);
/** The failure that the end of a transfer means; fills the message of the response. */
enum http_failure http_transfer_judge(struct http_call *call);

/* --- http_loop.c: the client's thread --- */

/** Start the loop's thread, which loads the library first. */
int http_loop_new(struct http_loop **ret_loop, struct rondo_error *err);
/** Ends the thread. NULL is allowed. */
void http_loop_free(struct http_loop *loop);
/** Wait until the library is there. @param ret_curl borrowed from the loop */
int http_loop_library(struct http_loop *loop, const struct curl_library **ret_curl,
                      struct rondo_error *err);
/**
 * Ask for something, with the mutex of the call held and only while it is not finished. After
 * HTTP_ORDER_START the call must live until it is finished.
 */
void http_loop_order(struct http_loop *loop, struct http_call *call, enum http_order order);
/** The call is past looking up its host. The loop's thread only. */
void http_loop_looked_up(struct http_call *call);

/* --- http_check.c: what a request may hold --- */

/**
 * Whether a request can be sent at all.
 * @param ret_message why not, for people
 */
bool http_request_is_valid(const struct http_request *request, char *ret_message, size_t size);

/** A URL, taken apart. Owned; http_origin_fini(). */
struct http_origin {
    char *scheme;
    char *host; /**< without brackets */
    int port;
    bool is_name; /**< the host is no address */
};

/** @return whether it is a valid URL of http or https */
bool http_origin_parse(const struct curl_library *curl, const char *url,
                       struct http_origin *ret_origin);
void http_origin_fini(struct http_origin *origin);
bool http_origin_equals(const struct http_origin *a, const struct http_origin *b);

/** Whether a header may be sent to another origin after a redirect. */
bool http_header_is_harmless(const char *name);

/* --- http.c --- */

struct http_client {
    char *user_agent;
    char *ca_file;
    char *ca_folder; /**< with names by digest, or NULL */
    pthread_mutex_t mutex;
    struct http_loop *loop; /**< NULL = not begun */
};
