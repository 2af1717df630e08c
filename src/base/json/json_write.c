// SPDX-License-Identifier: Apache-2.0
/* Writing JSON into a buffer. Output is always valid UTF-8 and valid JSON. One thread a writer. */
#include "base/json/json.h"

#include "base/clock.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void quote(struct buf *buf, const char *text, size_t len)
{
    buf_append(buf, "\"", 1);
    size_t plain = 0; /* start of the bytes that need no change and are not copied yet */
    size_t at = 0;
    while (at < len) {
        unsigned char c = (unsigned char)text[at];
        size_t sequence = c < 0x80 ? 1 : utf8_sequence_len(text + at, len - at);
        if (sequence > 0 && c >= 0x20 && c != '"' && c != '\\') {
            at += sequence;
            continue;
        }
        buf_append(buf, text + plain, at - plain);
        if (sequence == 0) {
            buf_append_string(buf, "\xef\xbf\xbd");
        } else if (c == '"' || c == '\\') {
            buf_append(buf, (char[2]){'\\', (char)c}, 2);
        } else if (c == '\n') {
            buf_append(buf, "\\n", 2);
        } else if (c == '\t') {
            buf_append(buf, "\\t", 2);
        } else {
            buf_printf(buf, "\\u%04x", c);
        }
        at++;
        plain = at;
    }
    buf_append(buf, text + plain, at - plain);
    buf_append(buf, "\"", 1);
}

struct json_writer json_writer(struct buf *buf)
{
    return (struct json_writer){.buf = buf};
}

static void begin_value(struct json_writer *writer, const char *key)
{
    if (writer->needs_comma) {
        buf_append(writer->buf, ",", 1);
    }
    writer->needs_comma = true;
    if (key != NULL) {
        quote(writer->buf, key, strlen(key));
        buf_append(writer->buf, ":", 1);
    }
}

static void open_level(struct json_writer *writer, const char *key, const char *bracket)
{
    begin_value(writer, key);
    buf_append(writer->buf, bracket, 1);
    writer->depth++;
    writer->needs_comma = false;
}

static void close_level(struct json_writer *writer, const char *bracket)
{
    assert(writer->depth > 0);
    buf_append(writer->buf, bracket, 1);
    writer->depth--;
    writer->needs_comma = true;
}

void json_begin_object(struct json_writer *writer, const char *key)
{
    open_level(writer, key, "{");
}

void json_end_object(struct json_writer *writer)
{
    close_level(writer, "}");
}

void json_begin_array(struct json_writer *writer, const char *key)
{
    open_level(writer, key, "[");
}

void json_end_array(struct json_writer *writer)
{
    close_level(writer, "]");
}

void json_write_string_len(struct json_writer *writer, const char *key, const char *text,
                           size_t len)
{
    begin_value(writer, key);
    quote(writer->buf, text, len);
}

void json_write_string(struct json_writer *writer, const char *key, const char *text)
{
    if (text == NULL) {
        json_write_null(writer, key);
        return;
    }
    json_write_string_len(writer, key, text, strlen(text));
}

void json_write_int(struct json_writer *writer, const char *key, int64_t number)
{
    begin_value(writer, key);
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, number);
    buf_append(writer->buf, digits, (size_t)len);
}

void json_write_bool(struct json_writer *writer, const char *key, bool value)
{
    begin_value(writer, key);
    buf_append_string(writer->buf, value ? "true" : "false");
}

void json_write_null(struct json_writer *writer, const char *key)
{
    begin_value(writer, key);
    buf_append_string(writer->buf, "null");
}

void json_write_time(struct json_writer *writer, const char *key, int64_t time_ns)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(time_ns, text);
    json_write_string(writer, key, time_ns == 0 ? NULL : text);
}

void json_write_raw(struct json_writer *writer, const char *key, const char *json)
{
    begin_value(writer, key);
    buf_append_string(writer->buf, json);
}
