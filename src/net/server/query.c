// SPDX-License-Identifier: Apache-2.0
/* The target of a request: path and parameters of its query. */
#include "base/ascii.h"
#include "base/memory.h"
#include "net/server/internal.h"

#include <stdlib.h>
#include <string.h>

/** @return the decoded text, or NULL when an escape is wrong or stands for NUL */
static char *decode(const char *text, size_t len)
{
    char *decoded = memory_new(len + 1);
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        int byte = (unsigned char)text[i];
        if (text[i] == '%') {
            byte = len - i < 3 ? -1 : ascii_hex_byte(text + i + 1);
            i += 2;
        } else if (text[i] == '+') {
            byte = ' ';
        }
        if (byte <= 0) {
            free(decoded);
            return NULL;
        }
        decoded[used++] = (char)byte;
    }
    decoded[used] = '\0';
    return decoded;
}

/** @return false when an escape is wrong */
static bool add_parameter(struct http_exchange *exchange, const char *text, size_t len)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals == NULL ? len : (size_t)(equals - text);
    size_t value_at = equals == NULL ? len : name_len + 1;
    char *name = decode(text, name_len);
    char *value = decode(text + value_at, len - value_at);
    exchange->parameters[exchange->parameter_count++] =
        (struct http_parameter){.name = name, .value = value};
    return name != NULL && value != NULL;
}

/** Parameters of a query, empty ones not counted. */
static size_t count_parameters(const char *query)
{
    size_t count = 0;
    for (const char *c = query; *c != '\0'; c++) {
        count += *c != '&' && (c == query || c[-1] == '&');
    }
    return count;
}

unsigned http_server_read_uri(struct http_exchange *exchange)
{
    size_t path_len = strcspn(exchange->uri, "?");
    const char *rest = exchange->uri + path_len;
    rest += *rest == '?';
    exchange->path = memory_dup_bytes(exchange->uri, path_len);
    size_t count = count_parameters(rest);
    if (count > HTTP_SERVER_PARAMETERS) {
        return 400;
    }
    exchange->parameters = memory_new_zero(count, sizeof(*exchange->parameters));
    while (*rest != '\0') {
        size_t len = strcspn(rest, "&");
        if (len > 0 && !add_parameter(exchange, rest, len)) {
            return 400;
        }
        rest += len;
        rest += *rest == '&';
    }
    return 0;
}

const char *http_exchange_query(const struct http_exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->parameter_count; i++) {
        if (strcmp(exchange->parameters[i].name, name) == 0) {
            return exchange->parameters[i].value;
        }
    }
    return NULL;
}

void http_exchange_visit_query(const struct http_exchange *exchange,
                               void (*fn)(void *context, const char *name, const char *value),
                               void *context)
{
    for (size_t i = 0; i < exchange->parameter_count; i++) {
        fn(context, exchange->parameters[i].name, exchange->parameters[i].value);
    }
}
