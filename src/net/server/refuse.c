// SPDX-License-Identifier: Apache-2.0
/*
 * What is refused before the handler sees it: what is no request, what two readers of the same
 * bytes could understand differently, and what is too large.
 */
#include "base/ascii.h"
#include "net/server/internal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/** Characters of a token (RFC 9110, 5.6.2). */
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
        unsigned char byte = (unsigned char)*c;
        if (byte <= 0x20 || byte >= 0x7f || byte == '#') {
            return false;
        }
    }
    return true;
}

static unsigned check_line(const struct http_exchange *exchange)
{
    if (strcmp(exchange->version, "HTTP/1.1") != 0 && strcmp(exchange->version, "HTTP/1.0") != 0) {
        return 505;
    }
    if (strlen(exchange->uri) > HTTP_SERVER_URI_BYTES) {
        return 414;
    }
    if (strlen(exchange->method) > HTTP_SERVER_METHOD_BYTES) {
        return 501;
    }
    return ascii_is_token(exchange->method) && is_target(exchange->uri) ? 0 : 400;
}

static unsigned check_headers(const struct http_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        const struct http_header *header = &exchange->headers[i];
        if (!ascii_is_token(header->name) || has_control(header->value)) {
            return 400;
        }
    }
    return 0;
}

/** @return 0, 400, or 413 when it is more than a body may have */
static unsigned read_length(struct http_exchange *exchange, const char *text)
{
    bool is_number = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
    for (const char *c = text; is_number && *c != '\0'; c++) {
        exchange->body_left = exchange->body_left * 10 + (uint64_t)(*c - '0');
        if (exchange->body_left > exchange->server->options.max_body_bytes) {
            return 413;
        }
    }
    return is_number ? 0 : 400;
}

/** Where the body ends must be said once, and in one way. */
static unsigned check_framing(struct http_exchange *exchange)
{
    size_t hosts = http_exchange_header_count(exchange, "Host");
    if (hosts > 1 || (hosts == 0 && !exchange->is_http_1_0)) {
        return 400;
    }
    size_t lengths = http_exchange_header_count(exchange, "Content-Length");
    size_t codings = http_exchange_header_count(exchange, "Transfer-Encoding");
    if (lengths + codings > 1) {
        return 400;
    }
    const char *coding = http_exchange_header(exchange, "Transfer-Encoding");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0) {
        return 501;
    }
    if (coding != NULL && exchange->is_http_1_0) {
        return 400; /* that version knows no chunks */
    }
    exchange->is_chunked = coding != NULL;
    const char *length = http_exchange_header(exchange, "Content-Length");
    return length == NULL ? 0 : read_length(exchange, length);
}

/** Whether a list of words in a header has one of them. */
static bool has_word(const char *list, const char *word)
{
    size_t word_len = strlen(word);
    while (*list != '\0') {
        list += strspn(list, ", \t");
        size_t len = strcspn(list, ", \t");
        if (len == word_len && strncasecmp(list, word, len) == 0) {
            return true;
        }
        list += len;
    }
    return false;
}

/** Clients of HTTP/1.0 get their connections closed. */
static bool wants_close(const struct http_exchange *exchange)
{
    bool is_said = false;
    for (size_t i = 0; i < exchange->header_count; i++) {
        const struct http_header *header = &exchange->headers[i];
        is_said |= strcasecmp(header->name, "Connection") == 0 && has_word(header->value, "close");
    }
    return is_said || exchange->is_http_1_0;
}

unsigned http_server_check(struct http_exchange *exchange)
{
    if (atomic_load(&exchange->server->is_quiescing)) {
        return 503;
    }
    unsigned status = http_head_split(exchange);
    if (exchange->version != NULL) {
        unsigned of_line = check_line(exchange);
        status = of_line == 0 ? status : of_line;
    }
    if (status == 0 && exchange->head_len > HTTP_SERVER_HEADER_BYTES) {
        status = 431;
    }
    status = status == 0 ? check_headers(exchange) : status;
    if (status != 0) {
        return status;
    }
    exchange->is_http_1_0 = strcmp(exchange->version, "HTTP/1.0") == 0;
    exchange->wants_close = wants_close(exchange);
    status = check_framing(exchange);
    return status == 0 ? http_server_read_uri(exchange) : status;
}

const char *http_server_reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *reason;
    } rows[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {203, "Non-Authoritative Information"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].status == status) {
            return rows[i].reason;
        }
    }
    return "Other";
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
               status, http_server_reason(status), body.len,
               status == 503 ? "Retry-After: 1\r\n" : "");
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
