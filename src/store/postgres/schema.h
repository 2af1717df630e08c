// SPDX-License-Identifier: Apache-2.0
/* The schema of a PostgreSQL store and its versions. */
#pragma once

#include "store/postgres/internal.h"

/**
 * The version that this program makes and uses. Versions are counted as those of SQLite's schema,
 * so that one number says what a store keeps.
 */
#define POSTGRES_SCHEMA_VERSION 12

/* The parts of schema.sql; "{s}" stands for the schema. */
extern const char postgres_schema_tables[];
/** Drops the functions that are there and makes those of the newest version. */
extern const char postgres_schema_functions[];
extern const char postgres_schema_content[];

/* The steps of migrations, from the version before. */
extern const char postgres_step_11[];
extern const char postgres_step_12[];

/**
 * Find the store in the database, make it if it is not there and `may_create` says so, and migrate
 * it if `may_migrate` does. Of several processes that do so at once one makes or migrates it.
 */
int postgres_schema_prepare(struct postgres_store *store, bool may_create, bool may_migrate,
                            struct rondo_error *err);

/** Replace "{s}" by the schema. @return owned */
char *postgres_schema_fill(const struct postgres_store *store, const char *sql);

/* migrate.c */

/** The version of a store. */
struct postgres_version {
    int64_t schema;
    int64_t oldest; /**< of the oldest program that can use it */
};

/**
 * Whether a program of a version can use a store.
 * @param program POSTGRES_SCHEMA_VERSION, but in tests @return 0 or RONDO_ERR_VERSION
 */
int postgres_check_version(const struct postgres_store *store, int64_t program,
                           const struct postgres_version *version, struct rondo_error *err);

/**
 * Bring a store up to date in one transaction; nothing is done if it is.
 * @param connection with a long patience
 * @param ret_found  the version that it had
 * @return RONDO_ERR_VERSION: there is no way from its version; RONDO_ERR_BUSY: runs are executed by
 *         programs that could not use it any more, or others hold locks for too long
 */
int postgres_migrate(struct postgres_connection *connection, int64_t *ret_found,
                     struct rondo_error *err);
