// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies in chunks (RFC 9112, 7.1), read as strictly as can be: whatever two readers could
 * understand differently is refused. Pure.
 */
#include "base/ascii.h"
#include "net/server/internal.h"

/** A byte of the line with the size. */
static unsigned take_size(struct http_chunks *chunks, char c)
{
    int digit = ascii_hex_value(c);
    if (digit < 0) {
        chunks->part = HTTP_CHUNK_SIZE_END;
        return c == '\r' && chunks->digits > 0 ? 0 : 400;
    }
    chunks->left = chunks->left * 16 + (uint64_t)digit;
    return ++chunks->digits <= HTTP_CHUNK_DIGITS ? 0 : 400;
}

/** A byte that is not data. */
static unsigned take_frame(struct http_chunks *chunks, char c, size_t room)
{
    enum http_chunk_part part = chunks->part;
    if (part == HTTP_CHUNK_SIZE) {
        return take_size(chunks, c);
    }
    bool wants_cr = part == HTTP_CHUNK_DATA_CR || part == HTTP_CHUNK_LAST_CR;
    if (c != (wants_cr ? '\r' : '\n')) {
        return 400;
    }
    if (part == HTTP_CHUNK_SIZE_END) {
        chunks->part = chunks->left > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_LAST_CR;
        return chunks->left > room ? 413 : 0;
    }
    if (part == HTTP_CHUNK_DATA_END) {
        *chunks = (struct http_chunks){.part = HTTP_CHUNK_SIZE};
    } else {
        chunks->part = part + 1;
    }
    return 0;
}

unsigned http_chunks_take(struct http_chunks *chunks, const char *bytes, size_t len,
                          size_t max_bytes, size_t *ret_used, struct buf *body)
{
    size_t used = 0;
    unsigned status = 0;
    while (status == 0 && used < len && chunks->part != HTTP_CHUNK_OVER) {
        if (chunks->part != HTTP_CHUNK_DATA) {
            status = take_frame(chunks, bytes[used++], max_bytes - body->len);
            continue;
        }
        size_t n = chunks->left < len - used ? (size_t)chunks->left : len - used;
        buf_append(body, bytes + used, n);
        used += n;
        chunks->left -= n;
        chunks->part = chunks->left == 0 ? HTTP_CHUNK_DATA_CR : HTTP_CHUNK_DATA;
    }
    *ret_used = used;
    return status;
}
