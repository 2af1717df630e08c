// SPDX-License-Identifier: Apache-2.0
/* zstd behind two calls. No state; any thread. */
#include "base/zip.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <zstd.h>

/** Fast level: states are written once an iteration and read once a resume. */
#define ZIP_LEVEL 1

void zip_pack(const void *bytes, size_t len, struct buf *ret_buf)
{
    size_t bound = ZSTD_compressBound(len);
    char *packed = memory_new(bound);
    size_t packed_len = ZSTD_compress(packed, bound, bytes, len, ZIP_LEVEL);
    if (ZSTD_isError(packed_len)) {
        abort(); /* With room for the bound only want of memory is left. */
    }
    buf_append(ret_buf, packed, packed_len);
    free(packed);
}

int zip_unpack(const void *packed, size_t packed_len, size_t expected_len, struct buf *ret_buf,
               struct rondo_error *err)
{
    char *bytes = memory_new(expected_len);
    size_t len = ZSTD_decompress(bytes, expected_len, packed, packed_len);
    if (ZSTD_isError(len) || len != expected_len) {
        free(bytes);
        return error_set(err, RONDO_ERR_CORRUPT, "compressed data of %zu bytes is damaged",
                         packed_len);
    }
    buf_append(ret_buf, bytes, len);
    free(bytes);
    return 0;
}
