// SPDX-License-Identifier: Apache-2.0
/*
 * Server-sent events, one line at a time. A line that arrives whole is used in place; only one that
 * arrives in pieces is assembled in the parser. Pure; one thread a parser.
 */
#include "net/client/sse.h"

#include "base/error.h"

#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";

struct feeding {
    struct sse_parser *parser;
    bool (*on_event)(void *context, const struct sse_event *event);
    void *context;
    bool is_stopped;
};

void sse_parser_init(struct sse_parser *parser, size_t max_bytes)
{
    *parser = (struct sse_parser){.retry_ms = -1, .max_bytes = max_bytes};
}

void sse_parser_fini(struct sse_parser *parser)
{
    buf_fini(&parser->line);
    buf_fini(&parser->name);
    buf_fini(&parser->data);
    buf_fini(&parser->id);
}

/** An event without data is none; only its id stays. */
static void dispatch(struct feeding *feeding)
{
    struct sse_parser *parser = feeding->parser;
    if (parser->has_data) {
        struct sse_event event = {
            .name = parser->name.len > 0 ? buf_string(&parser->name) : "message",
            .data = buf_string(&parser->data),
            .data_len = parser->data.len,
            .id = buf_string(&parser->id),
        };
        feeding->is_stopped = !feeding->on_event(feeding->context, &event);
    }
    buf_clear(&parser->data);
    buf_clear(&parser->name);
    parser->has_data = false;
}

/** Digits only, else the field is ignored; so is a number that no clock can wait for. */
static void take_retry(struct sse_parser *parser, const char *value, size_t len)
{
    int64_t ms = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9' || ms > INT64_MAX / 100) {
            return;
        }
        ms = ms * 10 + (value[i] - '0');
    }
    if (len > 0) {
        parser->retry_ms = ms;
    }
}

static void replace(struct buf *buf, const char *bytes, size_t len)
{
    buf_clear(buf);
    buf_append(buf, bytes, len);
}

static bool is_name(const char *name, size_t len, const char *expected)
{
    return len == strlen(expected) && memcmp(name, expected, len) == 0;
}

static void take_field(struct sse_parser *parser, const char *name, size_t name_len,
                       const char *value, size_t len)
{
    if (is_name(name, name_len, "data")) {
        if (parser->has_data) {
            buf_append(&parser->data, "\n", 1);
        }
        buf_append(&parser->data, value, len);
        parser->has_data = true;
    } else if (is_name(name, name_len, "event")) {
        replace(&parser->name, value, len);
    } else if (is_name(name, name_len, "id") && memchr(value, '\0', len) == NULL) {
        replace(&parser->id, value, len);
    } else if (is_name(name, name_len, "retry")) {
        take_retry(parser, value, len);
    }
}

static void take_line(struct feeding *feeding, const char *line, size_t len)
{
    if (len == 0) {
        dispatch(feeding);
        return;
    }
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon == NULL ? len : (size_t)(colon - line);
    const char *value = colon == NULL ? line + len : colon + 1;
    size_t value_len = (size_t)(line + len - value);
    if (value_len > 0 && value[0] == ' ') {
        value++;
        value_len--;
    }
    take_field(feeding->parser, line, name_len, value, value_len);
}

/** What one event holds so far, with a piece that is added to its line. */
static bool is_too_long(const struct sse_parser *parser, size_t piece)
{
    size_t held = parser->line.len + parser->data.len;
    return held > parser->max_bytes || piece > parser->max_bytes - held;
}

/** Bytes up to the next line end. */
static size_t line_len(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    size_t to_lf = lf == NULL ? len : (size_t)(lf - bytes);
    const char *cr = memchr(bytes, '\r', to_lf);
    return cr == NULL ? to_lf : (size_t)(cr - bytes);
}

/** The mark at the very beginning, which may come in pieces, is no part of the first line. */
static void drop_mark(struct sse_parser *parser, const char **line, size_t *len)
{
    size_t mark_len = sizeof(byte_order_mark) - 1;
    if (!parser->is_begun && *len >= mark_len && memcmp(*line, byte_order_mark, mark_len) == 0) {
        *line += mark_len;
        *len -= mark_len;
    }
    parser->is_begun = true;
}

static void end_line(struct feeding *feeding, const char *piece, size_t len)
{
    struct sse_parser *parser = feeding->parser;
    bool was_cut = parser->line.len > 0;
    if (was_cut) {
        buf_append(&parser->line, piece, len);
        piece = parser->line.data;
        len = parser->line.len;
    }
    drop_mark(parser, &piece, &len);
    take_line(feeding, piece, len);
    if (was_cut) {
        buf_clear(&parser->line);
    }
}

/** LF directly after a CR belongs to it. */
static size_t skip_second_half(struct sse_parser *parser, const char *bytes, size_t len)
{
    if (!parser->is_after_cr || len == 0) {
        return 0;
    }
    parser->is_after_cr = false;
    return bytes[0] == '\n' ? 1 : 0;
}

int sse_parser_feed(struct sse_parser *parser, const char *bytes, size_t len,
                    bool (*on_event)(void *context, const struct sse_event *event), void *context,
                    struct rondo_error *err)
{
    struct feeding feeding = {.parser = parser, .on_event = on_event, .context = context};
    size_t at = skip_second_half(parser, bytes, len);
    while (at < len && !feeding.is_stopped) {
        size_t piece = line_len(bytes + at, len - at);
        if (is_too_long(parser, piece)) {
            return error_set(err, RONDO_ERR_LIMIT,
                             "an event of the stream is larger than %zu bytes", parser->max_bytes);
        }
        if (at + piece == len) {
            buf_append(&parser->line, bytes + at, piece);
            return 0;
        }
        end_line(&feeding, bytes + at, piece);
        at += piece;
        parser->is_after_cr = bytes[at] == '\r';
        at++;
        at += skip_second_half(parser, bytes + at, len - at);
    }
    return 0;
}
