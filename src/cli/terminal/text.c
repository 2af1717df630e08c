// SPDX-License-Identifier: Apache-2.0
/* Measuring, cutting and wrapping text. */
#include "cli/terminal/text.h"

#include "base/clock.h"
#include "base/parse.h"
#include "base/text/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6"

static unsigned long decode(const char *text, size_t sequence)
{
    unsigned long point = (unsigned char)text[0];
    if (sequence > 1) {
        point &= 0xffUL >> (sequence + 1);
    }
    for (size_t i = 1; i < sequence; i++) {
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return point;
}

size_t text_piece(const char *text, size_t len, size_t *ret_width)
{
    *ret_width = 0;
    if (text[0] == '\033') {
        return text_escape_len(text, len);
    }
    size_t sequence = utf8_sequence_len(text, len);
    if (sequence == 0) {
        *ret_width = 1;
        return 1;
    }
    int width = wcwidth((wchar_t)decode(text, sequence));
    *ret_width = width >= 0 ? (size_t)width : (unsigned char)text[0] < 0x20 ? 0 : 1;
    return sequence;
}

size_t text_width(const char *text)
{
    size_t columns = 0;
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t width;
        at += text_piece(text + at, len - at, &width);
        columns += width;
    }
    return columns;
}

void text_fit(const char *text, size_t columns, struct buf *ret_buf)
{
    if (text_width(text) <= columns) {
        buf_append_string(ret_buf, text);
        return;
    }
    size_t used = 0;
    bool is_full = columns == 0;
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t width;
        size_t piece = text_piece(text + at, len - at, &width);
        bool is_colour = text[at] == '\033';
        if (!is_full && !is_colour && used + width > columns - 1) {
            buf_append_string(ret_buf, ELLIPSIS);
            is_full = true;
        }
        if (is_colour || !is_full) {
            buf_append(ret_buf, text + at, piece);
            used += width;
        }
        at += piece;
    }
}

void text_pad(const char *text, size_t columns, struct buf *ret_buf)
{
    buf_append_string(ret_buf, text);
    for (size_t width = text_width(text); width < columns; width++) {
        buf_append(ret_buf, " ", 1);
    }
}

static void begin_line(size_t indent, struct buf *ret_buf)
{
    buf_printf(ret_buf, "\n%*s", (int)indent, "");
}

void text_wrap(const char *text, size_t indent, size_t columns, size_t first, struct buf *ret_buf)
{
    size_t used = first;
    bool is_line_empty = true;
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, " \n");
        char word[256];
        snprintf(word, sizeof(word), "%.*s", (int)len, at);
        size_t width = text_width(word);
        if (!is_line_empty && used + 1 + width > columns) {
            begin_line(indent, ret_buf);
            used = indent;
            is_line_empty = true;
        }
        if (!is_line_empty && len > 0) {
            buf_append(ret_buf, " ", 1);
            used++;
        }
        buf_append(ret_buf, at, len);
        used += width;
        is_line_empty = is_line_empty && len == 0;
        at += len;
        if (*at == '\n') {
            begin_line(at[1] == '\n' || at[1] == '\0' ? 0 : indent, ret_buf);
            used = indent;
            is_line_empty = true;
        }
        at += *at != '\0';
    }
}

void text_time(int64_t time_ns, struct buf *ret_buf)
{
    time_t seconds = time_ns / NS_PER_S;
    struct tm parts;
    char text[32];
    localtime_r(&seconds, &parts);
    strftime(text, sizeof(text), "%F %T", &parts);
    buf_printf(ret_buf, "%s.%03d", text, (int)(time_ns % NS_PER_S / NS_PER_MS));
}

/** Append "3 min" between two words; "now" when it is less than a second. */
static void add_span(int64_t ns, const char *before, const char *after, struct buf *ret_buf)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t seconds = ns / NS_PER_S;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (seconds >= units[i].seconds) {
            buf_printf(ret_buf, "%s%" PRId64 " %s%s", before, seconds / units[i].seconds,
                       units[i].unit, after);
            return;
        }
    }
    buf_append_string(ret_buf, "now");
}

void text_age(int64_t ns, struct buf *ret_buf)
{
    add_span(ns, "", " ago", ret_buf);
}

void text_moment(const char *utc, int64_t now_ns, struct buf *ret_buf)
{
    struct tm parts = {0};
    const char *rest = strptime(utc, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == NULL) {
        buf_append_string(ret_buf, utc);
        return;
    }
    int64_t ns = now_ns - (int64_t)timegm(&parts) * NS_PER_S;
    if (ns < 0) {
        add_span(-ns, "in ", "", ret_buf);
    } else {
        add_span(ns, "", " ago", ret_buf);
    }
}
