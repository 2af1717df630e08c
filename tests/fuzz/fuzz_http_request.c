// SPDX-License-Identifier: Apache-2.0
/*
 * Requests through the HTTP server. Whatever arrives: a handler sees only requests that have one
 * meaning, each answer begins like one, and the server keeps serving.
 */
#include "fuzz_server.h"

#include <strings.h>

enum { MAX_BODY = 4096, SHORT_NS = 20 * 1000 * 1000 };

static void check_value(void *context, const char *name, const char *value)
{
    (void)context;
    FUZZ_CHECK(name != NULL && value != NULL);
}

static void check_framing(struct http_exchange *exchange)
{
    size_t lengths = http_exchange_header_count(exchange, "content-length");
    size_t codings = http_exchange_header_count(exchange, "transfer-encoding");
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    const char *length = http_exchange_header(exchange, "Content-Length");
    FUZZ_CHECK(lengths + codings <= 1);
    FUZZ_CHECK(http_exchange_header_count(exchange, "Host") <= 1);
    FUZZ_CHECK(len <= MAX_BODY && body[len] == '\0');
    FUZZ_CHECK(lengths + codings > 0 || len == 0);
    FUZZ_CHECK(length == NULL || strtoul(length, NULL, 10) == len);
}

static void answer(void *context, struct http_exchange *exchange)
{
    (void)context;
    const char *path = http_exchange_path(exchange);
    FUZZ_CHECK(path[0] == '/' && strpbrk(path, " \r\n\t?#") == NULL);
    FUZZ_CHECK(strpbrk(http_exchange_method(exchange), " /\r\n") == NULL);
    http_exchange_visit_query(exchange, check_value, NULL);
    check_framing(exchange);
    const char *told = http_exchange_query(exchange, "h");
    if (told != NULL) { /* a value that the client chose */
        http_exchange_add_header(exchange, "X-Told", told);
    }
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    http_exchange_reply(exchange, 200, body, len);
}

/** The first two bytes say where the rest is cut. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_server *server;
    if (size < 2) {
        return 0;
    }
    if (server == NULL) {
        server = fuzz_server_start((struct http_server_options){
            .handler = answer,
            .threads = 1,
            .max_body_bytes = MAX_BODY,
            .request_ns = SHORT_NS, /* an input that waits for more costs so much */
            .idle_ns = SHORT_NS,
        });
    }
    char *bytes = fuzz_bytes(data + 2, size - 2);
    auto_buf struct buf answers = {0};
    fuzz_server_feed(server, bytes, size - 2, (size_t)data[0] | (size_t)data[1] << 8, &answers);
    FUZZ_CHECK(answers.len == 0 || strncmp(answers.data, "HTTP/1.1 ", 9) == 0);
    free(bytes);
    return 0;
}
