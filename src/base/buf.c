// SPDX-License-Identifier: Apache-2.0
/* Growing buffer; doubles, so that appending is linear over all. One owner, one thread. */
#include "base/buf.h"

#include "base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct buf *buf, size_t extra)
{
    size_t needed = buf->len + extra + 1;
    if (needed <= buf->size) {
        return;
    }
    size_t size = buf->size < 128 ? 128 : buf->size;
    while (size < needed) {
        size *= 2;
    }
    buf->data = memory_resize(buf->data, size, 1);
    buf->size = size;
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    if (buf->data != NULL) {
        buf->data[0] = '\0';
    }
}

void buf_fit(struct buf *buf)
{
    if (buf->data != NULL) {
        buf->size = buf->len + 1;
        buf->data = memory_resize(buf->data, buf->size, 1);
    }
}

void buf_append(struct buf *buf, const void *bytes, size_t len)
{
    reserve(buf, len);
    if (len > 0) {
        memcpy(buf->data + buf->len, bytes, len);
    }
    buf->len += len;
    buf->data[buf->len] = '\0';
}

char *buf_room(struct buf *buf, size_t len)
{
    reserve(buf, len);
    buf->data[buf->len] = '\0'; /* Nothing may come. */
    return buf->data + buf->len;
}

void buf_grown(struct buf *buf, size_t len)
{
    assert(buf->len + len < buf->size);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_append_string(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_append_hex(struct buf *buf, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < len; i++) {
        const char pair[2] = {digits[from[i] >> 4], digits[from[i] & 15]};
        buf_append(buf, pair, sizeof(pair));
    }
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(len >= 0);
    reserve(buf, (size_t)len);
    vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
    va_end(again);
    buf->len += (size_t)len;
}

const char *buf_string(const struct buf *buf)
{
    return buf->data == NULL ? "" : buf->data;
}

char *buf_steal(struct buf *buf)
{
    reserve(buf, 0);
    char *data = buf->data;
    data[buf->len] = '\0';
    *buf = (struct buf){0};
    return data;
}
