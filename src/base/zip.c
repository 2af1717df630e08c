// SPDX-License-Identifier: Apache-2.0
/* zstd in two calls. No state; any thread. */
#include "base/zip.h"

#include "base/error.h"

#include <stdlib.h>
#include <zstd.h>

/** Fast level: states are written once an iteration and read once a resume. */
#define ZIP_LEVEL 1

void zip_pack(const void *bytes, size_t len, struct buf *ret_buf)
{
    size_t bound = ZSTD_compressBound(len);
    char *room = buf_room(ret_buf, bound);
    size_t packed_len = ZSTD_compress(room, bound, bytes, len, ZIP_LEVEL);
    if (ZSTD_isError(packed_len)) {
        abort(); /* With room for the bound only lack of memory is left. */
    }
    buf_grown(ret_buf, packed_len);
}

int zip_unpack(const void *packed, size_t packed_len, size_t expected_len, struct buf *ret_buf,
               struct rondo_error *err)
{
    char *room = buf_room(ret_buf, expected_len);
    size_t len = ZSTD_decompress(room, expected_len, packed, packed_len);
    if (ZSTD_isError(len) || len != expected_len) {
        return error_set(err, RONDO_ERR_CORRUPT, "compressed data of %zu bytes is damaged",
                         packed_len);
    }
    buf_grown(ret_buf, len);
    return 0;
}
