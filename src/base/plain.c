// SPDX-License-Identifier: Apache-2.0
/* Text without what could move a cursor, and money. */
#include "base/plain.h"

#include "base/utf8.h"

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

/** C1 control characters (U+0080 to U+009F) control terminals like their ESC forms. */
static bool is_c1(const char *text, size_t sequence)
{
    return sequence == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
}

void text_clean(const char *text, size_t len, struct buf *ret_buf)
{
    for (size_t at = 0; at < len;) {
        unsigned char c = (unsigned char)text[at];
        size_t sequence = utf8_sequence_len(text + at, len - at);
        if (c == '\033') {
            at += text_escape_len(text + at, len - at);
        } else if (sequence == 0) {
            buf_append_string(ret_buf, REPLACEMENT);
            at++;
        } else if (c < 0x20 || c == 0x7f || is_c1(text + at, sequence)) {
            if (c == '\t' || c == '\n') {
                buf_append(ret_buf, " ", 1);
            }
            at += sequence;
        } else {
            buf_append(ret_buf, text + at, sequence);
            at += sequence;
        }
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
