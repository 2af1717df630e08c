// SPDX-License-Identifier: Apache-2.0
/* Body, headers, and what an answer means. */
#include "telemetry/otlp_delivery.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/version.h"
#include "net/client/retry.h"
#include "telemetry/otlp_json.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/** Windows of 15 bits with the header of gzip (RFC 1952). */
#define GZIP_WINDOW (15 + 16)

static void deflate_part(z_stream *stream, const struct http_part *part, int flush,
                         struct buf *ret_body)
{
    /* zlib's input pointer is not const in older versions. */
    stream->next_in = (Bytef *)(uintptr_t)part->bytes;
    stream->avail_in = (uInt)part->len;
    do {
        char *room = buf_room(ret_body, 16384);
        stream->next_out = (Bytef *)room;
        stream->avail_out = 16384;
        int r = deflate(stream, flush);
        assert(r != Z_STREAM_ERROR);
        buf_grown(ret_body, 16384 - stream->avail_out);
    } while (stream->avail_out == 0);
}

static void pack(const struct http_part *parts, size_t count, struct buf *ret_body)
{
    z_stream stream = {0};
    int r = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY);
    assert(r == Z_OK);
    for (size_t i = 0; i < count; i++) {
        deflate_part(&stream, &parts[i], Z_NO_FLUSH, ret_body);
    }
    struct http_part end = {"", 0};
    deflate_part(&stream, &end, Z_FINISH, ret_body);
    deflateEnd(&stream);
}

/** "host:port" of a URL: user, path and query may hold keys. */
static void write_host(const char *url, char *ret_host, size_t size)
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url : host + 3;
    size_t len = strcspn(host, "/?#");
    for (size_t i = 0; i < len; i++) {
        if (host[i] == '@') {
            host += i + 1;
            len -= i + 1;
            i = (size_t)-1;
        }
    }
    snprintf(ret_host, size, "%.*s", (int)(len > 100 ? 100 : len), host);
}

static bool is_temporary_failure(enum http_failure failure)
{
    switch (failure) {
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_TLS:
    case HTTP_BROKEN:
    case HTTP_TIMED_OUT:
    case HTTP_CANCELLED:
        return true;
    case HTTP_OK:
    case HTTP_BAD_REQUEST:
    case HTTP_TOO_LARGE:
    case HTTP_BLOCKED:
    case HTTP_REDIRECTS:
    case HTTP_STOPPED:
        break;
    }
    return false;
}

static bool is_temporary(const struct http_response *response)
{
    return response->failure == HTTP_OK ? response->status == 429 || response->status == 502 ||
                                              response->status == 503 || response->status == 504
                                        : is_temporary_failure(response->failure);
}

static int64_t delay_after(const struct http_response *response, unsigned attempt,
                           struct random *random)
{
    struct retry_policy policy = {
        .max_attempts = UINT_MAX,
        .base_ns = NS_PER_S,
        .max_ns = 30 * NS_PER_S,
        .max_server_ns = OTLP_MAX_WAIT_NS,
    };
    int64_t delay = retry_delay_ns(&policy, attempt, response, clock_now(clock_system()), random);
    return delay < 0 ? OTLP_MAX_WAIT_NS : delay;
}

static void describe_failure(const struct http_response *response, const char *host,
                             struct otlp_delivery *delivery)
{
    if (response->failure == HTTP_OK) {
        snprintf(delivery->problem, sizeof(delivery->problem), "%s answers %ld", host,
                 response->status);
    } else {
        snprintf(delivery->problem, sizeof(delivery->problem), "%s: %s", host,
                 http_failure_name(response->failure));
    }
}

static void judge(const struct http_response *response, const char *host, unsigned attempt,
                  struct random *random, struct otlp_delivery *delivery)
{
    /* An answer that is too long came with its status; what it says is of no use then. */
    bool is_answer = response->failure == HTTP_OK || response->failure == HTTP_TOO_LARGE;
    if (is_answer && response->status >= 200 && response->status < 300) {
        struct otlp_answer answer = {0};
        if (response->failure == HTTP_OK) {
            otlp_read_answer(buf_string(&response->body), response->body.len, &answer);
        }
        delivery->outcome = OTLP_TAKEN;
        delivery->rejected = answer.rejected;
        if (answer.rejected > 0) {
            snprintf(delivery->problem, sizeof(delivery->problem), "%s took only a part", host);
        }
        return;
    }
    describe_failure(response, host, delivery);
    delivery->is_unreachable = response->failure == HTTP_NO_HOST ||
                               response->failure == HTTP_NO_CONNECTION ||
                               response->failure == HTTP_TIMED_OUT;
    delivery->outcome = is_temporary(response) ? OTLP_LATER : OTLP_REFUSED;
    if (delivery->outcome == OTLP_LATER) {
        delivery->delay_ns = delay_after(response, attempt, random);
    }
}

static size_t fill_headers(const struct otel_signal *signal, struct http_header *ret_headers)
{
    size_t count = 0;
    ret_headers[count++] = (struct http_header){"Content-Type", "application/json"};
    ret_headers[count++] =
        (struct http_header){"User-Agent", "OTel-OTLP-Exporter-C/" RONDO_VERSION};
    if (signal->is_gzip) {
        ret_headers[count++] = (struct http_header){"Content-Encoding", "gzip"};
    }
    for (size_t i = 0; i < signal->headers.count; i++) {
        const struct otel_pair *pair = &signal->headers.pairs[i];
        ret_headers[count++] = (struct http_header){pair->name, pair->value};
    }
    return count;
}

void otlp_deliver(struct http_client *http, const struct otel_signal *signal,
                  const struct http_part *parts, size_t part_count, unsigned attempt,
                  int64_t connect_ns, struct random *random, struct cancel *cancel,
                  struct otlp_delivery *ret_delivery)
{
    *ret_delivery = (struct otlp_delivery){0};
    auto_buf struct buf packed = {0};
    struct http_part body = {0};
    if (signal->is_gzip) {
        pack(parts, part_count, &packed);
        body = (struct http_part){packed.data, packed.len};
        parts = &body;
        part_count = 1;
    }
    struct http_header headers[OTEL_MAX_HEADERS + 3];
    struct http_request request = {
        .method = "POST",
        .url = signal->endpoint,
        .headers = headers,
        .header_count = fill_headers(signal, headers),
        .parts = parts,
        .part_count = part_count,
        .total_ns = signal->timeout_ns,
        .connect_ns = connect_ns,
        .max_body_bytes = OTLP_MAX_ANSWER_BYTES,
        .may_resend = true,
        .cancel = cancel,
    };
    char host[128];
    write_host(signal->endpoint, host, sizeof(host));
    struct http_response response = {0};
    if (http_call(http, &request, &response, NULL) < 0) {
        snprintf(ret_delivery->problem, sizeof(ret_delivery->problem),
                 "no request can be made now");
        ret_delivery->outcome = OTLP_LATER;
        ret_delivery->delay_ns = 10 * NS_PER_S;
    } else {
        judge(&response, host, attempt, random, ret_delivery);
    }
    http_response_fini(&response);
}
