// SPDX-License-Identifier: Apache-2.0
/* OpenSSL's, with the checks that its decoder leaves out. */
#include "base/text/base64.h"

#include <assert.h>
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

void base64_encode(const void *bytes, size_t len, struct buf *ret_buf)
{
    assert(len <= INT_MAX);
    size_t encoded = (len + 2) / 3 * 4;
    unsigned char *room = (unsigned char *)buf_room(ret_buf, encoded + 1); /* it writes a NUL */
    EVP_EncodeBlock(room, bytes, (int)len);
    buf_grown(ret_buf, encoded);
}

bool base64_decode(const char *text, unsigned char *ret_bytes, size_t size, size_t *ret_len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text);
    size_t padding = len - strspn(text, digits);
    if (len % 4 != 0 || len > INT_MAX || len / 4 * 3 > size || padding > 2 ||
        strncmp(text + len - padding, "==", padding) != 0) {
        return false;
    }
    EVP_DecodeBlock(ret_bytes, (const unsigned char *)text, (int)len);
    *ret_len = len / 4 * 3 - padding;
    return true;
}
