// SPDX-License-Identifier: Apache-2.0
/* Numeric entities, and the names that occur in prose. */
#include "cli/terminal/markdown_entity.h"

#include "base/text/plain.h"
#include "base/text/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} names[] = {
    {"&amp;", "&"},         {"&lt;", "<"},          {"&gt;", ">"},         {"&quot;", "\""},
    {"&apos;", "'"},        {"&nbsp;", "\u00a0"},   {"&copy;", "\u00a9"},  {"&reg;", "\u00ae"},
    {"&deg;", "\u00b0"},    {"&plusmn;", "\u00b1"}, {"&micro;", "\u00b5"}, {"&times;", "\u00d7"},
    {"&divide;", "\u00f7"}, {"&ndash;", "\u2013"},  {"&mdash;", "\u2014"}, {"&lsquo;", "\u2018"},
    {"&rsquo;", "\u2019"},  {"&ldquo;", "\u201c"},  {"&rdquo;", "\u201d"}, {"&bull;", "\u2022"},
    {"&hellip;", "\u2026"}, {"&euro;", "\u20ac"},   {"&larr;", "\u2190"},  {"&rarr;", "\u2192"},
    {"&le;", "\u2264"},     {"&ge;", "\u2265"},     {"&ne;", "\u2260"},    {"&middot;", "\u00b7"},
};

/** Whether terminals show it, and only show it. */
static bool is_fit(unsigned long point)
{
    bool is_control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    bool is_surrogate = point >= 0xd800 && point < 0xe000;
    bool is_hidden = point != 0xa0 && point <= UINT32_MAX && text_is_hidden((uint32_t)point);
    return !is_control && !is_surrogate && !is_hidden && point <= 0x10ffff;
}

static void add_point(unsigned long point, struct buf *ret_buf)
{
    utf8_append(ret_buf, is_fit(point) ? (uint32_t)point : 0xfffd);
}

void markdown_entity(const char *entity, size_t len, struct buf *ret_buf)
{
    char text[16];
    if (len > 3 && len < sizeof(text) && entity[1] == '#') {
        memcpy(text, entity, len);
        text[len] = '\0';
        bool is_hexadecimal = text[2] == 'x' || text[2] == 'X';
        add_point(strtoul(text + (is_hexadecimal ? 3 : 2), NULL, is_hexadecimal ? 16 : 10),
                  ret_buf);
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == len && memcmp(names[i].name, entity, len) == 0) {
            buf_append_string(ret_buf, names[i].text);
            return;
        }
    }
    buf_append(ret_buf, entity, len);
}
