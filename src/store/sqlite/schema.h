// SPDX-License-Identifier: Apache-2.0
/* Identity and versions of the SQLite file. One thread per connection. */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/** Marks a file as a Rondo store ("Rond"); see PRAGMA application_id. */
#define SQLITE_SCHEMA_APPLICATION_ID 0x526f6e64

/** The newest schema, which this program reads and writes. */
uint32_t sqlite_schema_newest(void);

/**
 * Make sure that the file is a Rondo store of at most the newest schema.
 * @param ret_version 0 when the file is empty
 * @return 0, RONDO_ERR_INVALID (another program's file), RONDO_ERR_VERSION (newer schema), or
 *         a positive SQLite code, with `err` unset
 */
int sqlite_schema_identify(struct sqlite3 *db, const char *path, uint32_t *ret_version,
                           struct rondo_error *err);

/**
 * Apply the migrations up to `target` that are missing, all in one transaction.
 * @return 0, a negative code as above, or a positive SQLite code with the transaction rolled back
 *         and `err` unset
 */
int sqlite_schema_migrate(struct sqlite3 *db, const char *path, uint32_t target,
                          struct rondo_error *err);

/**
 * Make the tables of memories, which a new store does not have until its first memory; in a
 * transaction of the caller.
 * @return SQLite's code
 */
int sqlite_schema_add_memories(struct sqlite3 *db);
