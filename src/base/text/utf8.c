// SPDX-License-Identifier: Apache-2.0
/* UTF-8 by the table of well-formed byte sequences (Unicode, table 3-7). Pure. */
#include "base/text/utf8.h"

static const struct {
    unsigned char first_low, first_high, second_low, second_high;
    size_t len;
} sequences[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t utf8_sequence_len(const char *text, size_t len)
{
    const unsigned char *b = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
        if (b[0] < sequences[i].first_low || b[0] > sequences[i].first_high) {
            continue;
        }
        if (sequences[i].len > len) {
            return 0;
        }
        if (sequences[i].len > 1 &&
            (b[1] < sequences[i].second_low || b[1] > sequences[i].second_high)) {
            return 0;
        }
        for (size_t k = 2; k < sequences[i].len; k++) {
            if (b[k] < 0x80 || b[k] > 0xbf) {
                return 0;
            }
        }
        return sequences[i].len;
    }
    return 0;
}

void utf8_append(struct buf *buf, uint32_t point)
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    char bytes[4];
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1;) {
        bytes[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    bytes[0] = (char)(marks[len] | point);
    buf_append(buf, bytes, len);
}
