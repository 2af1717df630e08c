// SPDX-License-Identifier: Apache-2.0
/* Between import.c and the readers of formats. One thread. */
#pragma once

#include "memory/memory.h"

/** Gets the memories of a file one after the other. Its texts are valid during the call. */
typedef int import_fn(const struct store_memory *memory, void *context, struct rondo_error *err);

/** Whether bytes are the beginning of an SQLite file. */
bool import_is_sqlite(const char *bytes, size_t len);

/**
 * Read an SQLite store of InitRunner 1.0 to 1.2: table `memories`.
 * @param bytes the file; changed
 * @param ret_refused counts rows that cannot be memories
 */
int import_read_initrunner(struct buf *bytes, import_fn *fn, void *context, uint64_t *ret_refused,
                           struct rondo_error *err);

/** A time as files have it (ISO 8601); UTC where nothing else is said. 0 when it is none. */
int64_t import_time(const char *text);
