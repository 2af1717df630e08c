// SPDX-License-Identifier: Apache-2.0
/*
 * What is refused before the handler sees it. libmicrohttpd checks the grammar; here stands what it
 * lets pass although two readers of the same bytes could understand it differently, and what is
 * too large.
 */
#include "net/http_server_internal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/** Characters of a token (RFC 9110, 5.6.2). */
static bool is_token(const char *text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    if (*text == '\0') {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool is_digit = *c >= '0' && *c <= '9';
        if (!is_letter && !is_digit && strchr(others, *c) == NULL) {
            return false;
        }
    }
    return true;
}

static bool has_control(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

/** Visible ASCII, beginning with a slash. */
static bool is_target(const char *uri)
{
    if (*uri != '/') {
        return false;
    }
    for (const char *c = uri; *c != '\0'; c++) {
        if (*c <= 0x20 || *c == 0x7f || *c == '#') {
            return false;
        }
    }
    return true;
}

static unsigned check_line(const struct http_exchange *exchange, const char *method,
                           const char *version)
{
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        return MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED;
    }
    if (strlen(exchange->uri) > HTTP_SERVER_URI_BYTES) {
        return MHD_HTTP_URI_TOO_LONG;
    }
    if (strlen(method) > HTTP_SERVER_METHOD_BYTES) {
        return MHD_HTTP_NOT_IMPLEMENTED;
    }
    return is_token(method) && is_target(exchange->uri) ? 0 : MHD_HTTP_BAD_REQUEST;
}

static unsigned check_headers(const struct http_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        const struct http_header *header = &exchange->headers[i];
        if (!is_token(header->name) || has_control(header->value)) {
            return MHD_HTTP_BAD_REQUEST;
        }
    }
    return exchange->has_bad_header ? MHD_HTTP_BAD_REQUEST : 0;
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/** Where the body ends must be said once, and in one way. */
static unsigned check_framing(const struct http_exchange *exchange, const char *version)
{
    size_t hosts = http_exchange_header_count(exchange, "Host");
    if (hosts > 1 || (hosts == 0 && strcmp(version, "HTTP/1.1") == 0)) {
        return MHD_HTTP_BAD_REQUEST;
    }
    size_t lengths = http_exchange_header_count(exchange, "Content-Length");
    size_t codings = http_exchange_header_count(exchange, "Transfer-Encoding");
    if (lengths + codings > 1) {
        return MHD_HTTP_BAD_REQUEST;
    }
    const char *coding = http_exchange_header(exchange, "Transfer-Encoding");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0) {
        return MHD_HTTP_NOT_IMPLEMENTED;
    }
    const char *length = http_exchange_header(exchange, "Content-Length");
    return length == NULL || is_number(length) ? 0 : MHD_HTTP_BAD_REQUEST;
}

static unsigned check_size(const struct http_exchange *exchange)
{
    const char *text = http_exchange_header(exchange, "Content-Length");
    size_t bytes = 0;
    for (const char *c = text == NULL ? "" : text; *c != '\0'; c++) {
        bytes = bytes * 10 + (size_t)(*c - '0');
        if (bytes > exchange->server->options.max_body_bytes) {
            return MHD_HTTP_CONTENT_TOO_LARGE;
        }
    }
    return 0;
}

unsigned http_server_check(struct http_exchange *exchange, const char *method, const char *version)
{
    if (atomic_load(&exchange->server->is_quiescing)) {
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    unsigned status = check_line(exchange, method, version);
    if (status != 0) {
        return status;
    }
    const union MHD_ConnectionInfo *info = exchange->server->mhd.get_connection_info(
        exchange->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (exchange->header_count > HTTP_SERVER_HEADERS ||
        (info != NULL && info->header_size > HTTP_SERVER_HEADER_BYTES)) {
        return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
    }
    status = check_headers(exchange);
    status = status == 0 ? check_framing(exchange, version) : status;
    status = status == 0 ? check_size(exchange) : status;
    return status == 0 && !http_server_read_uri(exchange) ? MHD_HTTP_BAD_REQUEST : status;
}

void http_server_refuse(struct http_server *server, int fd, unsigned status, bool with_body)
{
    auto_buf struct buf body = {0};
    auto_buf struct buf text = {0};
    if (server->options.problem != NULL) {
        server->options.problem(status, &body);
    }
    buf_printf(&text,
               "HTTP/1.1 %u %s\r\n"
               "Content-Type: application/problem+json\r\n"
               "Content-Length: %zu\r\n"
               "Cache-Control: no-store\r\n"
               "%s",
               status, server->mhd.get_reason_phrase_for(status), body.len,
               status == MHD_HTTP_SERVICE_UNAVAILABLE ? "Retry-After: 1\r\n" : "");
    const char *const(*always)[2] = server->options.headers;
    for (; always != NULL && (*always)[0] != NULL; always++) {
        buf_printf(&text, "%s: %s\r\n", (*always)[0], (*always)[1]);
    }
    buf_append_string(&text, "Connection: close\r\n\r\n");
    if (with_body) {
        buf_append(&text, body.data, body.len);
    }
    ssize_t n = 0;
    do {
        n = send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
}
