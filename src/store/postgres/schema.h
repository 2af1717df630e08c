// SPDX-License-Identifier: Apache-2.0
/* The schema of a PostgreSQL store and its versions. */
#pragma once

#include "store/postgres/internal.h"

/**
 * The version that this program makes. Versions are counted as those of SQLite's schema, so that
 * one number says what a store keeps.
 */
#define POSTGRES_SCHEMA_VERSION 10

/** What makes the newest schema in an empty one; "{s}" stands for the schema. */
extern const char postgres_schema_sql[];

/**
 * Find the store in the database, make it if it is not there and `may_create` says so, and bring it
 * up to date. Of several processes that do so at once one makes it.
 */
int postgres_schema_prepare(struct postgres_store *store, bool may_create, struct rondo_error *err);

/** Replace "{s}" by the schema. @return owned */
char *postgres_schema_fill(const struct postgres_store *store, const char *sql);
