// SPDX-License-Identifier: Apache-2.0
/* Compression of large states (zstd, RFC 8878). */
#pragma once

#include "base/buf.h"

struct rondo_error;

/** Append the compressed form of `bytes` to `ret_buf`. Any thread. */
void zip_pack(const void *bytes, size_t len, struct buf *ret_buf);

/**
 * Append the original of packed bytes to `ret_buf`.
 * @param expected_len length of the original; a different one is RONDO_ERR_CORRUPT
 */
int zip_unpack(const void *packed, size_t packed_len, size_t expected_len, struct buf *ret_buf,
               struct rondo_error *err);
