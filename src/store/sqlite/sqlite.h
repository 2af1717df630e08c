// SPDX-License-Identifier: Apache-2.0
/* The SQLite back end: one file, WAL, synchronous=FULL. */
#pragma once

#include "store/store.h"

struct store_sqlite_options {
    const char *path;          /**< file; its folder must exist unless may_create */
    bool may_create;           /**< create the file (mode 0600), else RONDO_ERR_NOT_FOUND */
    const struct clock *clock; /**< NULL = the machine's */
    int64_t busy_timeout_ns;   /**< wait for other processes' transactions; 0 = 10 s */
    bool keeps_log;            /**< the log and its index stay when the store is closed */
    bool is_private;  /**< a copy of store/copy.h, which is removed when the store is closed */
    int private_lock; /**< its lock, taken over on success */
};

/** Make an empty private file (mode 0600) and its folder, unless something is there. */
int store_sqlite_create_file(const char *path, struct rondo_error *err);

/**
 * Open or create a store. Brings an older schema up to date; a newer one is RONDO_ERR_VERSION,
 * another program's database RONDO_ERR_INVALID, a file that is none RONDO_ERR_CORRUPT.
 *
 * After a failed fsync every write through this store is RONDO_ERR_IO, because what the disk has
 * lost is not known; reading still works. A new store object may write again.
 * @param ret_store owned by the caller; store_close()
 */
int store_sqlite_open(const struct store_sqlite_options *options, struct store **ret_store,
                      struct rondo_error *err);
