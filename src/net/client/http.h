// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP calls. One thread drives all transfers of the process (a libcurl multi handle); a call
 * blocks its own thread until the reply is there, a deadline passes, or the caller is cancelled.
 * Nothing here retries: what may be repeated is known only to the caller (net/client/retry.h).
 *
 * Replies are bounded; a certificate that does not verify is an error; proxies come from the usual
 * environment variables.
 */
#pragma once

#include "base/buf.h"
#include "net/http_header.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct http_client;
struct net_guard;

/** Longest time for connecting, TLS included, when a request does not say. */
#define HTTP_CONNECT_TIMEOUT_NS INT64_C(10000000000)

struct http_client_options {
    const char *user_agent; /**< NULL = "rondo/VERSION" */
    const char *ca_file;    /**< NULL = the system's, or SSL_CERT_FILE */
};

/**
 * @param options NULL = defaults
 * @param ret_client http_client_free() when no call is under way. The thread is started by the
 *                   first call.
 */
int http_client_new(const struct http_client_options *options, struct http_client **ret_client,
                    struct rondo_error *err);
void http_client_free(struct http_client *client);

/**
 * Begin to load what calls need, in the background, so that it is there when the first call is
 * made. Does nothing when it was begun before. Never fails: the first call says what is wrong.
 */
void http_client_prepare(struct http_client *client);

/** A piece of a request's body: bodies are spliced, never joined. Borrowed for the call. */
struct http_part {
    const char *bytes;
    size_t len;
};

struct http_request {
    const char *method; /**< "GET", "POST", ... */
    const char *url;    /**< http or https only */
    const struct http_header *headers;
    size_t header_count;
    const struct http_part *parts; /**< the body; none = no body */
    size_t part_count;
    int64_t total_ns;       /**< whole call, required */
    int64_t connect_ns;     /**< 0 = HTTP_CONNECT_TIMEOUT_NS */
    int64_t idle_ns;        /**< longest time without a byte of reply; 0 = total_ns */
    size_t max_body_bytes;  /**< required; a longer reply fails with HTTP_TOO_LARGE, and of
                                        a body that is kept so many bytes are there */
    unsigned max_redirects; /**< 0 = a redirect is an ordinary reply; to another origin
                                 only headers without secrets are sent on */
    bool may_resend; /**< a POST or PATCH whose kept-alive connection turns out to be dead may be
                          sent once more; otherwise the call is HTTP_BROKEN */
    const struct net_guard *guard; /**< addresses that may be reached; NULL = all */
    struct cancel *cancel;         /**< any level ends the call; may be NULL */
    /**
     * The body as it comes, on the calling thread; such a body is not kept in the response. Only
     * for status 200 to 299, others are kept as usual. NULL = keep it.
     * @return whether to continue; false ends the call with HTTP_STOPPED
     */
    bool (*on_body)(void *context, const char *bytes, size_t len);
    void *on_body_context;
};

/** Why a call has no complete reply. */
enum http_failure {
    HTTP_OK = 0,        /**< it has one, whatever its status */
    HTTP_BAD_REQUEST,   /**< the URL or a header is not valid; nothing was sent */
    HTTP_NO_HOST,       /**< the name does not resolve */
    HTTP_NO_CONNECTION, /**< refused, unreachable, or not connected in time; nothing was sent */
    HTTP_TLS,           /**< the certificate or handshake failed; nothing was sent */
    HTTP_BROKEN,        /**< the connection ended, or the reply is not HTTP */
    HTTP_TIMED_OUT,     /**< total_ns or idle_ns passed after the connection was made */
    HTTP_TOO_LARGE,     /**< the reply exceeds max_body_bytes */
    HTTP_BLOCKED,       /**< the guard refused an address */
    HTTP_REDIRECTS,     /**< more redirects than allowed */
    HTTP_STOPPED,       /**< on_body said so */
    HTTP_CANCELLED,
};

struct http_response {
    enum http_failure failure;
    char message[256];  /**< of a failure, for people; never a header or credential */
    long status;        /**< 0 when no status line came */
    struct buf headers; /**< as received, lines "Name: value\r\n" of the last reply only */
    struct buf body;
    int64_t duration_ns;
};

void http_response_fini(struct http_response *response);

/**
 * Make one call. Blocks; any number of threads.
 * @param ret_response http_response_fini(), also after an error
 * @return 0 with `ret_response->failure`, or a negative code when this process lacks a resource
 */
int http_call(struct http_client *client, const struct http_request *request,
              struct http_response *ret_response, struct rondo_error *err);

/**
 * Value of a header of the reply, without surrounding blanks; names are compared without case
 * (RFC 9110, 5.1). @return false when it is absent or longer than `size` - 1
 */
bool http_response_header(const struct http_response *response, const char *name, char *ret_value,
                          size_t size);

/** Name of a failure for journals and tests: "timed_out". Static. */
const char *http_failure_name(enum http_failure failure);
