// SPDX-License-Identifier: Apache-2.0
/*
 * Bounded output. The buffer grows to twice what is kept before its beginning is dropped, so that
 * each byte is moved at most once and a quiet child costs little.
 */
#include "os/spawn/spawn_output.h"

#include <stdbool.h>
#include <string.h>

static void drop_before(struct buf *buf, size_t offset)
{
    memmove(buf->data, buf->data + offset, buf->len - offset);
    buf->len -= offset;
    buf->data[buf->len] = '\0';
}

void output_tail_add(struct output_tail *tail, const char *bytes, size_t len)
{
    tail->total += len;
    if (len > tail->keep) {
        bytes += len - tail->keep;
        len = tail->keep;
    }
    if (tail->buf.len + len > 2 * tail->keep) {
        drop_before(&tail->buf, tail->buf.len - (tail->keep - len));
    }
    buf_append(&tail->buf, bytes, len);
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

char *output_tail_steal(struct output_tail *tail, size_t *ret_len)
{
    size_t offset = tail->buf.len > tail->keep ? tail->buf.len - tail->keep : 0;
    if (tail->total > tail->keep) {
        for (int i = 0; i < 3 && offset < tail->buf.len; i++) {
            offset += is_continuation(tail->buf.data[offset]) ? 1 : 0;
        }
    }
    if (offset > 0) {
        drop_before(&tail->buf, offset);
    }
    *ret_len = tail->buf.len;
    return buf_steal(&tail->buf);
}
