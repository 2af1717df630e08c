// SPDX-License-Identifier: Apache-2.0
/* Searching memories by words. Any thread. */
#pragma once

#include "store/sqlite/internal.h"

/** Search; see read_memories of struct store_ops. @param query with words that were checked */
int sqlite_search_memories(struct sqlite_store *store, const struct store_memory_query *query,
                           store_memory_fn *fn, void *context, struct rondo_error *err);

/** Hand out the rows of a bound statement: columns of row_memory(). */
int sqlite_give_memories(struct sqlite_connection *reader, sqlite3_stmt *statement,
                         store_memory_fn *fn, void *context, struct rondo_error *err);

/** Read vectors, or memories without one; see read_memories of struct store_ops. */
int sqlite_read_vectors(struct sqlite_store *store, const struct store_memory_query *query,
                        store_memory_fn *fn, void *context, struct rondo_error *err);
