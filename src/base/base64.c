// SPDX-License-Identifier: Apache-2.0
/* Encoding three bytes at a time. */
#include "base/base64.h"

void base64_encode(const void *bytes, size_t len, struct buf *ret_buf)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    for (; len > 0; at += 3) {
        size_t group = len < 3 ? len : 3;
        unsigned word = (unsigned)at[0] << 16;
        word |= group > 1 ? (unsigned)at[1] << 8 : 0;
        word |= group > 2 ? (unsigned)at[2] : 0;
        char out[4] = {digits[word >> 18], digits[word >> 12 & 63], '=', '='};
        out[2] = group > 1 ? digits[word >> 6 & 63] : '=';
        out[3] = group > 2 ? digits[word & 63] : '=';
        buf_append(ret_buf, out, sizeof(out));
        len -= group;
    }
}
