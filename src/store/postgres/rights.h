// SPDX-License-Identifier: Apache-2.0
/*
 * What roles of a database may do in its store: readers see runs, runners also execute them,
 * operators also change policies, sinks and tokens and delete runs; each of some agents or of all.
 * The database checks it (schema.sql, "Rights"). The owner of the schema and superusers may do
 * everything.
 *
 * Threads: as for any operation of the store.
 */
#pragma once

#include "store/postgres/postgres.h"

/** Agents, or patterns of their names, that a role has rights for. */
#define STORE_PATTERNS_MAX 64

/**
 * Give a role of the database rights in place of those that it has here. Programs that are
 * connected have them at once.
 * @param rank     READER, RUNNER or OPERATOR
 * @param patterns names of agents, or "*" after the beginning of names; at least one and at most
 *                 STORE_PATTERNS_MAX
 * RONDO_ERR_NOT_FOUND: there is no such role. RONDO_ERR_STATE: it may do everything anyway.
 * RONDO_ERR_INVALID or RONDO_ERR_LIMIT for names that are not allowed, RONDO_ERR_DENIED when the
 * store is opened by another role than the owner.
 */
int store_postgres_grant(struct store *store, const char *role, enum store_postgres_rank rank,
                         const char *const *patterns, size_t count, struct rondo_error *err);

/** Take all rights in this store from a role. RONDO_ERR_NOT_FOUND: it has none. */
int store_postgres_revoke(struct store *store, const char *role, struct rondo_error *err);

/**
 * Takes one pattern of a role; those of a role follow each other.
 * @return false to end
 */
typedef bool store_postgres_right_fn(const char *role, enum store_postgres_rank rank,
                                     const char *pattern, void *context);

/** Read all rights, by the names of roles. RONDO_ERR_DENIED as for a grant. */
int store_postgres_list_rights(struct store *store, store_postgres_right_fn *fn, void *context,
                               struct rondo_error *err);
