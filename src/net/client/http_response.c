// SPDX-License-Identifier: Apache-2.0
/* What can be asked of a response. Pure. */
#include "net/client/http.h"

#include <string.h>
#include <strings.h>

static const char *const failure_names[] = {
    [HTTP_OK] = "ok",
    [HTTP_BAD_REQUEST] = "bad_request",
    [HTTP_NO_HOST] = "no_host",
    [HTTP_NO_CONNECTION] = "no_connection",
    [HTTP_TLS] = "tls",
    [HTTP_BROKEN] = "broken",
    [HTTP_TIMED_OUT] = "timed_out",
    [HTTP_TOO_LARGE] = "too_large",
    [HTTP_BLOCKED] = "blocked",
    [HTTP_REDIRECTS] = "redirects",
    [HTTP_STOPPED] = "stopped",
    [HTTP_CANCELLED] = "cancelled",
};

const char *http_failure_name(enum http_failure failure)
{
    return failure_names[failure];
}

void http_response_fini(struct http_response *response)
{
    buf_fini(&response->headers);
    buf_fini(&response->body);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/** Copy the value in [from, end). */
static bool copy_value(const char *from, const char *end, char *ret_value, size_t size)
{
    while (from < end && is_blank(*from)) {
        from++;
    }
    while (end > from && is_blank(end[-1])) {
        end--;
    }
    size_t len = (size_t)(end - from);
    if (len >= size) {
        return false;
    }
    memcpy(ret_value, from, len);
    ret_value[len] = '\0';
    return true;
}

bool http_response_header(const struct http_response *response, const char *name, char *ret_value,
                          size_t size)
{
    const char *line = buf_string(&response->headers);
    const char *end = line + response->headers.len;
    size_t name_len = strlen(name);
    while (line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        line_end = line_end == NULL ? end : line_end;
        if ((size_t)(line_end - line) > name_len && line[name_len] == ':' &&
            strncasecmp(line, name, name_len) == 0) {
            return copy_value(line + name_len + 1, line_end, ret_value, size);
        }
        line = line_end + 1;
    }
    return false;
}
