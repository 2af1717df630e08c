// SPDX-License-Identifier: Apache-2.0
/* The head of a request: where it ends, and its parts. Pure. */
#include "base/ascii.h"
#include "net/server/internal.h"

#include <string.h>

ssize_t http_head_find_end(const char *bytes, size_t len, size_t *scanned)
{
    for (size_t i = *scanned; i < len; i++) {
        bool is_after_cr = i > 0 && bytes[i - 1] == '\r';
        if (is_after_cr != (bytes[i] == '\n') || bytes[i] == '\0') {
            return -1;
        }
        if (bytes[i] == '\n' && i >= 3 && bytes[i - 2] == '\n') {
            *scanned = i + 1;
            return (ssize_t)(i + 1);
        }
    }
    *scanned = len;
    return 0;
}

/** "HTTP/1.1" */
static bool is_version(const char *text, size_t len)
{
    return len == 8 && memcmp(text, "HTTP/", 5) == 0 && ascii_is_digit(text[5]) && text[6] == '.' &&
           ascii_is_digit(text[7]);
}

bool http_head_begins_well(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n", 2);
    size_t line_len = end == NULL ? 0 : (size_t)(end - bytes);
    return end == NULL || (line_len > 9 && end[-9] == ' ' && is_version(end - 8, 8));
}

/** Take a line that ends in CR LF. */
static char *next_line(char **rest)
{
    char *line = *rest;
    char *end = strstr(line, "\r\n");
    *end = '\0';
    *rest = end + 2;
    return line;
}

static bool split_request_line(struct http_exchange *exchange, char *line)
{
    char *uri = strchr(line, ' ');
    char *version = uri == NULL ? NULL : strchr(uri + 1, ' ');
    if (version == NULL || !is_version(version + 1, strlen(version + 1))) {
        return false;
    }
    *uri = '\0';
    *version = '\0';
    exchange->method = line;
    exchange->uri = uri + 1;
    exchange->version = version + 1;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/** What a line is that begins with a blank, its name shows: that is no token. */
static bool split_header(char *line, struct http_header *ret_header)
{
    char *colon = strchr(line, ':');
    if (colon == NULL) {
        return false;
    }
    *colon = '\0';
    char *value = colon + 1;
    value += strspn(value, " \t");
    size_t len = strlen(value);
    while (len > 0 && is_blank(value[len - 1])) {
        len--;
    }
    value[len] = '\0';
    *ret_header = (struct http_header){.name = line, .value = value};
    return true;
}

unsigned http_head_split(struct http_exchange *exchange)
{
    char *rest = exchange->head;
    if (!split_request_line(exchange, next_line(&rest))) {
        return 400;
    }
    for (char *line = next_line(&rest); *line != '\0'; line = next_line(&rest)) {
        if (exchange->header_count == HTTP_SERVER_HEADERS) {
            return 431;
        }
        if (!split_header(line, &exchange->headers[exchange->header_count++])) {
            return 400;
        }
    }
    return 0;
}
