// SPDX-License-Identifier: Apache-2.0
/* A growing byte buffer, always followed by a NUL byte so that text in it can be used as a string.
 */
#pragma once

#include <stddef.h>

struct buf {
    char *data; /**< owned; NULL while empty */
    size_t len; /**< bytes used, the trailing NUL not counted */
    size_t size;
};

/** Release the memory and leave an empty buffer. */
void buf_fini(struct buf *buf);
/** Forget the content, keep the memory. */
void buf_clear(struct buf *buf);
/** Release the spare memory: for long-lived content of which there is much. */
void buf_fit(struct buf *buf);
/** Append bytes. */
void buf_append(struct buf *buf, const void *bytes, size_t len);
/**
 * Make room for `len` more bytes after the content, to be written directly and then added with
 * buf_grown. @return where to write
 */
char *buf_room(struct buf *buf, size_t len);
/** Take in bytes that were written into the room; `len` is at most what was asked for. */
void buf_grown(struct buf *buf, size_t len);
/** Append a string. */
void buf_append_string(struct buf *buf, const char *text);
/** Append bytes as lower-case hexadecimal digits, two for each. */
void buf_append_hex(struct buf *buf, const void *bytes, size_t len);
/** Append formatted text. */
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The content as a string; "" when empty. Valid until the next change. */
const char *buf_string(const struct buf *buf);
/** Take the content (never NULL, NUL-terminated, owned by the caller) and leave an empty buffer. */
char *buf_steal(struct buf *buf);

#define auto_buf __attribute__((cleanup(buf_fini)))
