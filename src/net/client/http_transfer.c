// SPDX-License-Identifier: Apache-2.0
/*
 * One transfer: the options given to libcurl, what it calls back, and what its end means. The
 * callbacks run on the client's thread; the rest runs on the caller's, before and after.
 */
#include "net/client/http_internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "net/client/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Of libcurl's receive buffer, one for each transfer: ten thousand may be under way. */
#define RECEIVE_BUFFER_BYTES (2L * 1024)
/* The least that libcurl allows. */
#define SEND_BUFFER_BYTES (16L * 1024)
/* A body up to this size is handed over as a whole: it goes out together with the headers, and
 * libcurl makes no buffer for sending, which it would keep until the reply is there. */
#define WHOLE_BODY_MAX_BYTES (16L * 1024)

/* In a handle's options: a value that does not exist before libcurl 7.87. */
#define OPTION_QUICK_EXIT ((CURLoption)322)

static void note_activity(struct http_call *call)
{
    atomic_store(&call->active_ns, clock_monotonic(clock_system()));
}

/* --- what libcurl calls --- */

static void fail_early(struct http_call *call, enum http_failure failure, const char *message)
{
    call->failure = failure;
    call->is_aborted = true;
    snprintf(call->response->message, sizeof(call->response->message), "%s", message);
}

static bool is_successful(const struct http_call *call)
{
    long status = 0;
    call->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

/** Hand a piece over to the caller. @return false when too much is waiting already */
static bool offer(struct http_call *call, const char *bytes, size_t len)
{
    pthread_mutex_lock(&call->mutex);
    call->is_paused = call->pending.len >= HTTP_PENDING_MAX_BYTES;
    bool is_taken = !call->is_paused;
    if (is_taken) {
        buf_append(&call->pending, bytes, len);
    }
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->mutex);
    return is_taken;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    size_t len = size * count;
    note_activity(call);
    if (!call->has_reply_begun) {
        call->has_reply_begun = true;
        call->is_streamed = call->request->on_body != NULL && is_successful(call);
    }
    size_t left = call->request->max_body_bytes - call->body_bytes;
    if (len > left) {
        if (!call->is_streamed) {
            buf_append(&call->response->body, bytes, left);
        }
        fail_early(call, HTTP_TOO_LARGE, "the reply is larger than allowed");
        return CURL_WRITEFUNC_ERROR;
    }
    if (call->is_streamed) {
        if (!offer(call, bytes, len)) {
            return CURL_WRITEFUNC_PAUSE;
        }
    } else {
        buf_append(&call->response->body, bytes, len);
    }
    call->body_bytes += len;
    return len;
}

/** Headers of interim replies make room for those of the last one. */
static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    struct buf *headers = &call->response->headers;
    size_t len = size * count;
    note_activity(call);
    if (call->has_reply_begun) {
        return len; /* a trailer */
    }
    if (len >= 5 && strncmp(bytes, "HTTP/", 5) == 0) {
        buf_clear(headers);
        call->has_head = false;
        return len;
    }
    if (bytes[0] == '\r' || bytes[0] == '\n') {
        call->has_head = true;
        return len;
    }
    if (headers->len + len > HTTP_HEADERS_MAX_BYTES) {
        fail_early(call, HTTP_TOO_LARGE, "the headers of the reply are larger than allowed");
        return CURL_WRITEFUNC_ERROR;
    }
    buf_append(headers, bytes, len);
    return len;
}

static size_t give_body(char *room, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    const struct http_request *request = call->request;
    size_t left = size * count;
    size_t given = 0;
    note_activity(call);
    while (left > 0 && call->part < request->part_count) {
        const struct http_part *part = &request->parts[call->part];
        size_t len = part->len - call->part_offset;
        len = len < left ? len : left;
        if (len > 0) {
            memcpy(room + given, part->bytes + call->part_offset, len);
        }
        given += len;
        left -= len;
        call->part_offset += len;
        if (call->part_offset == part->len) {
            call->part++;
            call->part_offset = 0;
        }
    }
    return given;
}

/** Asked for when a kept-alive connection died before a byte of the reply came. */
static int rewind_body(void *context, curl_off_t offset, int origin)
{
    struct http_call *call = context;
    if (call->refuses_rewind || origin != SEEK_SET || offset != 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    call->part = 0;
    call->part_offset = 0;
    return CURL_SEEKFUNC_OK;
}

static void describe_blocked(struct http_call *call, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    }
    snprintf(call->blocked_message, sizeof(call->blocked_message),
             "'%.160s' resolves to private address %s", call->host, text);
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = context;
    (void)purpose;
    http_loop_looked_up(call);
    if (call->request->guard != NULL &&
        !net_guard_allows_address(call->request->guard, call->host, &address->addr)) {
        call->was_blocked = true;
        describe_blocked(call, &address->addr);
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        call->os_errno = errno;
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/** The connection is made, TLS included; nothing of the request was sent on it yet. */
static int note_connected(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct http_call *call = context;
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    http_loop_looked_up(call);
    note_activity(call);
    if (call->whole_body != NULL && call->refuses_rewind && atomic_load(&call->is_connected)) {
        fail_early(call, HTTP_BROKEN, "the connection ended before a reply came");
        return CURL_PREREQFUNC_ABORT; /* It was sent on a connection that turned out dead. */
    }
    pthread_mutex_lock(&call->mutex);
    atomic_store(&call->is_connected, true);
    if (call->request->idle_ns > 0) {
        pthread_cond_signal(&call->changed); /* From here on another deadline holds. */
    }
    pthread_mutex_unlock(&call->mutex);
    return CURL_PREREQFUNC_OK;
}

/* --- options for libcurl --- */

static void add_line(struct http_call *call, const char *line)
{
    struct curl_slist *list = call->curl->slist_append(call->header_list, line);
    if (list == NULL) {
        abort(); /* out of memory */
    }
    call->header_list = list;
}

/** libcurl's own forms: "Name;" is a header without a value, "Name:" none at all. */
static void add_headers(struct http_call *call, bool only_harmless)
{
    const struct http_request *request = call->request;
    bool has_content_type = false;
    add_line(call, "Expect:");
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        auto_buf struct buf line = {0};
        if (only_harmless && !http_header_is_harmless(header->name)) {
            continue;
        }
        size_t blanks = strspn(header->value, " ");
        bool is_empty = header->value[blanks] == '\0';
        buf_printf(&line, is_empty ? "%s;" : "%s: %s", header->name, header->value);
        add_line(call, buf_string(&line));
        has_content_type |= strcasecmp(header->name, "content-type") == 0;
    }
    if (!has_content_type) {
        add_line(call, "Content-Type:");
    }
}

static curl_off_t body_len(const struct http_request *request)
{
    curl_off_t len = 0;
    for (size_t i = 0; i < request->part_count; i++) {
        len += (curl_off_t)request->parts[i].len;
    }
    return len;
}

/** Whether the method says that a request without a body has one of length 0. */
static bool method_has_body(const char *method)
{
    return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0;
}

static bool is_repeatable(const char *method)
{
    static const char *const repeatable[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", NULL};
    for (size_t i = 0; repeatable[i] != NULL; i++) {
        if (strcmp(method, repeatable[i]) == 0) {
            return true;
        }
    }
    return false;
}

/** Join a small body. */
static void set_body(struct http_call *call)
{
    const struct curl_library *curl = call->curl;
    curl_off_t len = call->sends_body ? body_len(call->request) : 0;
    curl->easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, len);
    if (len == 0 || len > WHOLE_BODY_MAX_BYTES) {
        return;
    }
    call->whole_body = memory_new((size_t)len);
    char *end = call->whole_body;
    for (size_t i = 0; i < call->request->part_count; i++) {
        const struct http_part *part = &call->request->parts[i];
        if (part->len > 0) {
            memcpy(end, part->bytes, part->len);
            end += part->len;
        }
    }
    curl->easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->whole_body);
}

static void set_method(struct http_call *call)
{
    const struct curl_library *curl = call->curl;
    if (strcmp(call->method, "HEAD") == 0) {
        curl->easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (call->sends_body || method_has_body(call->method)) {
        curl->easy_setopt(call->easy, CURLOPT_POST, 1L);
        set_body(call);
    }
    if (!call->sends_body && strcmp(call->method, "GET") == 0) {
        return;
    }
    curl->easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, call->method);
}

/**
 * libcurl sends a request again, unasked, when a kept-alive connection is found dead. The body's
 * rewinding stops that, or for a whole body the second connection; a request without a body gets a
 * new connection instead.
 */
static void set_repetition(struct http_call *call)
{
    bool may_repeat = is_repeatable(call->method) || call->request->may_resend;
    call->refuses_rewind = !may_repeat;
    if (!may_repeat && !call->sends_body) {
        call->curl->easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
    }
}

static void set_callbacks(struct http_call *call)
{
    const struct curl_library *curl = call->curl;
    CURL *easy = call->easy;
    curl->easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_message);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl->easy_setopt(easy, CURLOPT_READDATA, call);
    curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl->easy_setopt(easy, CURLOPT_SEEKDATA, call);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl->easy_setopt(easy, CURLOPT_PREREQFUNCTION, note_connected);
    curl->easy_setopt(easy, CURLOPT_PREREQDATA, call);
}

/** A file is read once and kept by the multi handle; a folder is asked only for what is needed. */
static void set_certificates(struct http_call *call, const struct http_client *client)
{
    const struct curl_library *curl = call->curl;
    curl->easy_setopt(call->easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl->easy_setopt(call->easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (client->ca_file != NULL) {
        curl->easy_setopt(call->easy, CURLOPT_CAINFO, client->ca_file);
        curl->easy_setopt(call->easy, CURLOPT_CAPATH, (char *)NULL);
    } else if (client->ca_folder != NULL) {
        curl->easy_setopt(call->easy, CURLOPT_CAINFO, (char *)NULL);
        curl->easy_setopt(call->easy, CURLOPT_CAPATH, client->ca_folder);
    }
}

/** What is connected under one guard must not serve another, and a proxy would hide addresses. */
static void set_guard(struct http_call *call)
{
    const struct net_guard *guard = call->request->guard;
    if (guard != NULL && !(guard->allows_private && guard->only_hosts == NULL)) {
        call->curl->easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
        call->curl->easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
        call->curl->easy_setopt(call->easy, CURLOPT_PROXY, "");
    }
}

static void set_bounds(struct http_call *call)
{
    const struct curl_library *curl = call->curl;
    int64_t connect_ns =
        call->request->connect_ns > 0 ? call->request->connect_ns : HTTP_CONNECT_TIMEOUT_NS;
    int64_t connect_ms = connect_ns / NS_PER_MS + 1;
    /* Watched by the caller; here it divides the time among the addresses of the host. */
    curl->easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS,
                      (long)(connect_ms < INT32_MAX ? connect_ms : INT32_MAX));
    curl->easy_setopt(call->easy, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_BYTES);
    curl->easy_setopt(call->easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
    curl->easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(call->easy, OPTION_QUICK_EXIT, 1L); /* do not wait for a slow lookup */
}

void http_transfer_init(struct http_call *call, const struct http_client *client,
                        bool only_harmless)
{
    const struct curl_library *curl = call->curl;
    call->easy = curl->easy_init();
    if (call->easy == NULL) {
        abort(); /* out of memory */
    }
    add_headers(call, only_harmless);
    curl->easy_setopt(call->easy, CURLOPT_URL, call->url);
    curl->easy_setopt(call->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->header_list);
    curl->easy_setopt(call->easy, CURLOPT_USERAGENT, client->user_agent);
    curl->easy_setopt(call->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    if (call->request->on_body == NULL) {
        /* Of a stream the pieces matter, and what is unpacked while paused would pile up. */
        curl->easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "");
    }
    set_callbacks(call);
    set_bounds(call);
    set_certificates(call, client);
    set_method(call);
    set_repetition(call);
    set_guard(call);
    note_activity(call);
}

void http_transfer_fini(struct http_call *call)
{
    call->curl->easy_cleanup(call->easy);
    call->curl->slist_free_all(call->header_list);
    buf_fini(&call->pending);
    free(call->whole_body);
}

/* --- what its end means --- */

static enum http_failure before_connected(const struct http_call *call)
{
    switch (call->code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
        return HTTP_BAD_REQUEST;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_NO_HOST;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_CRL_BADFILE:
        return HTTP_TLS;
    default:
        return HTTP_NO_CONNECTION;
    }
}

static enum http_failure failure_of(const struct http_call *call)
{
    if (call->code == CURLE_OK) {
        return call->has_head ? HTTP_OK : HTTP_BROKEN;
    }
    if (!atomic_load(&call->is_connected)) {
        return call->was_blocked ? HTTP_BLOCKED : before_connected(call);
    }
    if (call->code == CURLE_OPERATION_TIMEDOUT) {
        return HTTP_TIMED_OUT;
    }
    return HTTP_BROKEN;
}

/** One line, without what a terminal would act upon. */
static void make_plain(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            *c = ' ';
        }
    }
}

static void say_failure(struct http_call *call, enum http_failure failure)
{
    const char *text =
        call->curl_message[0] != '\0' ? call->curl_message : call->curl->easy_strerror(call->code);
    if (failure == HTTP_BLOCKED) {
        text = call->blocked_message;
    } else if (call->code == CURLE_SEND_FAIL_REWIND) {
        text = "the connection ended before a reply came";
    } else if (call->code == CURLE_OK) {
        text = "the connection ended within the headers of the reply";
    }
    snprintf(call->response->message, sizeof(call->response->message), "%s", text);
    make_plain(call->response->message);
}

enum http_failure http_transfer_judge(struct http_call *call)
{
    call->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->response->status);
    if (call->is_aborted) {
        return call->failure;
    }
    enum http_failure failure = failure_of(call);
    if (failure != HTTP_OK) {
        say_failure(call, failure);
    }
    return failure;
}
