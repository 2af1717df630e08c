// SPDX-License-Identifier: Apache-2.0
/* Mail servers over libcurl. One easy handle for each connection, on the caller's thread. */
#include "net/client/mail_stream.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "net/client/curl_library.h"
#include "net/client/guard.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOST_MAX_BYTES 255
/** Longest wait before a cancel is looked for. */
#define LOOK_MS 100

struct mail_stream {
    struct curl_library curl;
    CURL *easy;
    const struct mail_peer *peer;
    curl_socket_t fd;
    bool was_blocked;
    char message[CURL_ERROR_SIZE];
    /* Of a mail that is sent. */
    const struct mail_sending *sending;
    size_t sent;
};

/* ---- What both need -------------------------------------------------------------------------- */

static int64_t left_ms(const struct mail_peer *peer)
{
    int64_t left_ns = peer->deadline_ns - clock_monotonic(peer->clock);
    return left_ns <= 0 ? 0 : left_ns / NS_PER_MS + 1;
}

static bool is_host(const char *host)
{
    size_t len = strlen(host);
    for (const char *at = host; *at != '\0'; at++) {
        if (!ascii_is_letter(*at) && !ascii_is_digit(*at) && strchr(".-_:", *at) == NULL) {
            return false;
        }
    }
    return len > 0 && len <= HOST_MAX_BYTES;
}

static int check_peer(const struct mail_peer *peer, struct rondo_error *err)
{
    if (!is_host(peer->host)) {
        return error_set(err, RONDO_ERR_INVALID, "'%.80s' is not a host", peer->host);
    }
    if (peer->port < 1 || peer->port > 65535) {
        return error_set(err, RONDO_ERR_INVALID, "%lld is not a port", (long long)peer->port);
    }
    if (peer->guard != NULL && !net_guard_allows_host(peer->guard, peer->host, (int)peer->port)) {
        return error_set(err, RONDO_ERR_DENIED, "the host '%.80s' is not allowed", peer->host);
    }
    return 0;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct mail_stream *stream = context;
    const struct mail_peer *peer = stream->peer;
    (void)purpose;
    if (peer->guard != NULL && !net_guard_allows_address(peer->guard, peer->host, &address->addr)) {
        stream->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/** Called several times a second while a transfer is under way. */
static int look(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct mail_stream *stream = context;
    (void)a, (void)b, (void)c, (void)d;
    return cancel_is_set(stream->peer->cancel) || left_ms(stream->peer) == 0 ? 1 : 0;
}

static void set_options(struct mail_stream *stream, const char *url)
{
    const struct curl_library *curl = &stream->curl;
    const char *ca_file = getenv("SSL_CERT_FILE");
    CURL *easy = stream->easy;
    curl->easy_setopt(easy, CURLOPT_URL, url);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_PROXY, "");
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, stream->message);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, stream);
    curl->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look);
    curl->easy_setopt(easy, CURLOPT_XFERINFODATA, stream);
    curl->easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_ms(stream->peer));
    curl->easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
    if (ca_file != NULL && ca_file[0] != '\0') {
        curl->easy_setopt(easy, CURLOPT_CAINFO, ca_file);
        curl->easy_setopt(easy, CURLOPT_CAPATH, (char *)NULL);
    }
}

/** Why a transfer failed. */
static int judge(const struct mail_stream *stream, CURLcode code, struct rondo_error *err)
{
    const struct mail_peer *peer = stream->peer;
    if (stream->was_blocked) {
        return error_set(err, RONDO_ERR_DENIED,
                         "SSRF blocked: '%.80s' resolves to a private address; allow it with "
                         "execution.allow_hosts of the role",
                         peer->host);
    }
    if (cancel_is_set(peer->cancel)) {
        return error_set(err, RONDO_ERR_CANCELLED, "cancelled");
    }
    if (code == CURLE_OPERATION_TIMEDOUT || left_ms(peer) == 0) {
        return error_set(err, RONDO_ERR_TIMEOUT, "%.80s did not answer in time", peer->host);
    }
    return error_set(err, RONDO_ERR_SYSTEM, "%.300s",
                     stream->message[0] != '\0' ? stream->message
                                                : stream->curl.easy_strerror(code));
}

static int make(const struct mail_peer *peer, struct mail_stream **ret_stream,
                struct rondo_error *err)
{
    struct mail_stream *stream = memory_new_zero(1, sizeof(*stream));
    stream->peer = peer;
    stream->fd = CURL_SOCKET_BAD;
    int r = check_peer(peer, err);
    r = r < 0 ? r : curl_library_open(&stream->curl, err);
    if (r < 0) {
        free(stream);
        return r;
    }
    stream->easy = stream->curl.easy_init();
    if (stream->easy == NULL) {
        abort(); /* out of memory */
    }
    *ret_stream = stream;
    return 0;
}

void mail_stream_close(struct mail_stream *stream)
{
    if (stream != NULL) {
        stream->curl.easy_cleanup(stream->easy);
        curl_library_close(&stream->curl);
        free(stream);
    }
}

static void write_url(const struct mail_peer *peer, const char *scheme, struct buf *ret_url)
{
    bool is_v6 = strchr(peer->host, ':') != NULL;
    buf_printf(ret_url, "%s://%s%s%s:%lld/", scheme, is_v6 ? "[" : "", peer->host, is_v6 ? "]" : "",
               (long long)peer->port);
}

/* ---- Streams --------------------------------------------------------------------------------- */

int mail_stream_open(const struct mail_peer *peer, struct mail_stream **ret_stream,
                     struct rondo_error *err)
{
    struct mail_stream *stream = NULL;
    auto_buf struct buf url = {0};
    int r = make(peer, &stream, err);
    if (r < 0) {
        return r;
    }
    const struct curl_library *curl = &stream->curl;
    write_url(peer, peer->is_encrypted ? "https" : "http", &url);
    set_options(stream, buf_string(&url));
    curl->easy_setopt(stream->easy, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = curl->easy_perform(stream->easy);
    if (code == CURLE_OK) {
        code = curl->easy_getinfo(stream->easy, CURLINFO_ACTIVESOCKET, &stream->fd);
    }
    if (code != CURLE_OK || stream->fd == CURL_SOCKET_BAD) {
        r = judge(stream, code, err);
        mail_stream_close(stream);
        return r;
    }
    *ret_stream = stream;
    return 0;
}

/** Wait until the socket is ready. */
static int wait_for(struct mail_stream *stream, short events, struct rondo_error *err)
{
    const struct mail_peer *peer = stream->peer;
    for (;;) {
        int64_t left = left_ms(peer);
        if (cancel_is_set(peer->cancel) || left == 0) {
            return judge(stream, CURLE_OPERATION_TIMEDOUT, err);
        }
        struct pollfd fd = {.fd = stream->fd, .events = events};
        int ready = poll(&fd, 1, left < LOOK_MS ? (int)left : LOOK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return 0; /* What is wrong is said by reading or writing. */
        }
    }
}

int mail_stream_write(struct mail_stream *stream, const void *bytes, size_t len,
                      struct rondo_error *err)
{
    const char *at = bytes;
    while (len > 0) {
        size_t sent = 0;
        CURLcode code = stream->curl.easy_send(stream->easy, at, len, &sent);
        int r = code == CURLE_OK      ? 0
                : code == CURLE_AGAIN ? wait_for(stream, POLLOUT, err)
                                      : judge(stream, code, err);
        if (r < 0) {
            return r;
        }
        at += sent;
        len -= sent;
    }
    return 0;
}

int64_t mail_stream_read(struct mail_stream *stream, void *bytes, size_t size,
                         struct rondo_error *err)
{
    for (;;) {
        size_t received = 0;
        CURLcode code = stream->curl.easy_recv(stream->easy, bytes, size, &received);
        if (code == CURLE_OK) {
            return (int64_t)received;
        }
        int r = code == CURLE_AGAIN ? wait_for(stream, POLLIN, err) : judge(stream, code, err);
        if (r < 0) {
            return r;
        }
    }
}

/* ---- SMTP ------------------------------------------------------------------------------------ */

static size_t give(char *room, size_t size, size_t count, void *context)
{
    struct mail_stream *stream = context;
    size_t left = stream->sending->len - stream->sent;
    size_t len = size * count < left ? size * count : left;
    memcpy(room, stream->sending->text + stream->sent, len);
    stream->sent += len;
    return len;
}

static void add_line(const struct curl_library *curl, struct curl_slist **list, const char *address)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "<%s>", address);
    struct curl_slist *longer = curl->slist_append(*list, buf_string(&line));
    if (longer == NULL) {
        abort(); /* out of memory */
    }
    *list = longer;
}

static void set_sending(struct mail_stream *stream, struct curl_slist *recipients)
{
    const struct curl_library *curl = &stream->curl;
    const struct mail_sending *sending = stream->sending;
    auto_buf struct buf url = {0};
    auto_buf struct buf from = {0};
    CURL *easy = stream->easy;
    write_url(stream->peer, stream->peer->is_encrypted ? "smtps" : "smtp", &url);
    buf_append_string(&url, sending->greeting);
    buf_printf(&from, "<%s>", sending->from);
    set_options(stream, buf_string(&url));
    curl->easy_setopt(easy, CURLOPT_USE_SSL,
                      (long)(sending->is_upgraded ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    curl->easy_setopt(easy, CURLOPT_USERNAME, sending->user);
    curl->easy_setopt(easy, CURLOPT_PASSWORD, sending->password);
    curl->easy_setopt(easy, CURLOPT_MAIL_FROM, buf_string(&from));
    curl->easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients);
    curl->easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, give);
    curl->easy_setopt(easy, CURLOPT_READDATA, stream);
    curl->easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)sending->len);
}

int mail_send(const struct mail_peer *peer, const struct mail_sending *sending,
              bool *ret_is_unknown, struct rondo_error *err)
{
    struct mail_stream *stream = NULL;
    struct curl_slist *recipients = NULL;
    *ret_is_unknown = false;
    int r = make(peer, &stream, err);
    if (r < 0) {
        return r;
    }
    stream->sending = sending;
    for (const char *const *one = sending->recipients; *one != NULL; one++) {
        add_line(&stream->curl, &recipients, *one);
    }
    set_sending(stream, recipients);
    CURLcode code = stream->curl.easy_perform(stream->easy);
    if (code != CURLE_OK) {
        long reply = 0;
        stream->curl.easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &reply);
        /* All of it was sent, and no reply said no. */
        *ret_is_unknown = stream->sent == sending->len && reply < 400;
        r = reply >= 400 && !stream->was_blocked
                ? error_set(err, RONDO_ERR_SYSTEM, "the server has refused it with code %ld", reply)
                : judge(stream, code, err);
    }
    stream->curl.slist_free_all(recipients);
    mail_stream_close(stream);
    return r;
}
