// SPDX-License-Identifier: Apache-2.0
/* Text without what could move a cursor, and money. */
#include "base/text/plain.h"

#include "base/text/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

size_t text_escape_len(const char *text, size_t len)
{
    if (len < 2) {
        return 1;
    }
    size_t at = 2;
    if (text[1] == '[') { /* CSI: parameters up to a final byte */
        while (at < len && (text[at] < 0x40 || text[at] > 0x7e)) {
            at++;
        }
        return at < len ? at + 1 : len;
    }
    if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^') { /* strings */
        while (at < len && text[at] != '\a' && text[at] != '\033') {
            at++;
        }
        bool is_st = at + 1 < len && text[at] == '\033' && text[at + 1] == '\\';
        return at < len ? at + (is_st ? 2 : 1) : len;
    }
    return 2;
}

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

uint32_t text_point(const char *text, size_t sequence)
{
    uint32_t point = (unsigned char)text[0];
    point = sequence > 1 ? point & (0xffU >> (sequence + 1)) : point;
    for (size_t i = 1; i < sequence; i++) {
        point = point << 6 | ((unsigned char)text[i] & 0x3fU);
    }
    return point;
}

bool text_is_hidden(uint32_t point)
{
    static const struct range hidden[] = {
        {0x80, 0xa0},     {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
        {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},
        {0x2028, 0x202f}, {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},
        {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    return is_in(point, hidden, sizeof(hidden) / sizeof(hidden[0]));
}

/** Hidden characters that take room. */
static bool is_blank(uint32_t point)
{
    static const struct range blanks[] = {{0xa0, 0xa0},     {0x2000, 0x200a}, {0x2028, 0x2029},
                                          {0x202f, 0x202f}, {0x205f, 0x205f}, {0x2800, 0x2800},
                                          {0x3000, 0x3000}, {0x3164, 0x3164}};
    return is_in(point, blanks, sizeof(blanks) / sizeof(blanks[0]));
}

static void clean(const char *text, size_t len, bool keeps_lines, struct buf *ret_buf)
{
    for (size_t at = 0; at < len;) {
        unsigned char c = (unsigned char)text[at];
        size_t sequence = utf8_sequence_len(text + at, len - at);
        uint32_t point = sequence == 0 ? 0 : text_point(text + at, sequence);
        if (c == '\033') {
            at += text_escape_len(text + at, len - at);
            continue;
        }
        if (sequence == 0) {
            buf_append_string(ret_buf, REPLACEMENT);
        } else if (c == '\t' || c == '\n') {
            buf_append(ret_buf, keeps_lines ? text + at : " ", 1);
        } else if (text_is_hidden(point)) {
            buf_append_string(ret_buf, is_blank(point) ? " " : "");
        } else if (c >= 0x20 && c != 0x7f) {
            buf_append(ret_buf, text + at, sequence);
        }
        at += sequence == 0 ? 1 : sequence;
    }
}

void text_clean(const char *text, size_t len, struct buf *ret_buf)
{
    clean(text, len, false, ret_buf);
}

void text_clean_lines(const char *text, size_t len, struct buf *ret_buf)
{
    clean(text, len, true, ret_buf);
}

void text_escape_hidden(const char *json, size_t len, struct buf *ret_buf)
{
    for (size_t at = 0; at < len;) {
        size_t sequence = utf8_sequence_len(json + at, len - at);
        uint32_t point = sequence == 0 ? 0 : text_point(json + at, sequence);
        if (!text_is_hidden(point)) {
            buf_append(ret_buf, json + at, sequence == 0 ? 1 : sequence);
        } else if (point < 0x10000) {
            buf_printf(ret_buf, "\\u%04x", point);
        } else {
            buf_printf(ret_buf, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                       0xdc00 + ((point - 0x10000) & 0x3ff));
        }
        at += sequence == 0 ? 1 : sequence;
    }
}

void text_money(int64_t micro, struct buf *ret_buf)
{
    char text[40];
    snprintf(text, sizeof(text), "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000);
    size_t len = strlen(text);
    while (text[len - 1] == '0' && text[len - 3] != '.') {
        text[--len] = '\0'; /* Two decimals stay. */
    }
    buf_append_string(ret_buf, text);
}

void text_cost(int64_t micro, struct buf *ret_buf)
{
    if (micro < 0) {
        buf_append_string(ret_buf, "unknown");
    } else {
        text_money(micro, ret_buf);
    }
}

void text_cost_json(int64_t micro, struct buf *ret_buf)
{
    if (micro < 0) {
        buf_append_string(ret_buf, "null");
    } else {
        text_money(micro, ret_buf);
    }
}

void text_bytes(uint64_t bytes, struct buf *ret_buf)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        buf_printf(ret_buf, "%" PRIu64 " B", bytes);
        return;
    }
    double size = (double)bytes / 1024;
    size_t unit = 0;
    while (size >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        size /= 1024;
        unit++;
    }
    buf_printf(ret_buf, "%.1f %s", size, units[unit]);
}

void text_count(int64_t number, struct buf *ret_buf)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, number);
    size_t len = strlen(digits);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-') {
            buf_append(ret_buf, ",", 1);
        }
        buf_append(ret_buf, &digits[i], 1);
    }
}
