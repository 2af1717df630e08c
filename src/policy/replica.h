// SPDX-License-Identifier: Apache-2.0
/*
 * The policies of a store that is in a database. A document of the store has the text that is in
 * force on all machines; the file beside the store, which every machine has in its user's state
 * folder (store/locate/database.h), is a copy that is brought up to date before it is looked at.
 * Entities and links beside that file are each machine's own.
 *
 * For other stores all of this does nothing. Any thread, any process.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_premise;

/** What the history of policies calls the source of such policies, on all machines. */
#define POLICY_SHARED_SOURCE "database/rondo.cedar"

/** Under which source the history has the policies at a path: that, or the path itself. */
const char *policy_history_source(const char *path);

/** What a process knows of its copy. Zero = nothing. */
struct policy_replica {
    _Atomic uint64_t version;   /**< of the document; 0 = unknown or none */
    _Atomic uint64_t signature; /**< of the file when it was a true copy; 0 = unknown */
    _Atomic bool is_known;      /**< the store was asked: when it has none, `version` is 0 */
};

/**
 * Bring the file at a path up to date. One query when nothing has changed. Takes source_lock().
 * @param path    of a policy file
 * @param replica what is known of it; NULL = nothing
 */
int policy_replica_pull(struct store *store, const char *path, struct policy_replica *replica,
                        struct rondo_error *err);

/**
 * The same for a caller that holds the exclusive source_lock().
 * @param ret_version of the document that was found; 0 = there is none
 */
int policy_replica_bring(struct store *store, const char *path, uint64_t *ret_version,
                         struct rondo_error *err);

/**
 * Whether the file at a path is what the store had when it was asked last. Asks nobody.
 * @param ret_premise set when it is: by it a commit finds out whether the store still has that.
 *                    Borrows constants.
 */
bool policy_replica_rely(const char *path, struct policy_replica *replica,
                         struct store_premise *ret_premise);

/**
 * Put a text in force on all machines.
 * @param version        as found by policy_replica_bring(): others must not have changed it since
 * @param ret_is_applied whether they had not; true for other stores
 * @return 0; RONDO_ERR_LIMIT for a text that a document cannot hold; or the store's error
 */
int policy_replica_put(struct store *store, const char *path, const char *text, size_t len,
                       uint64_t version, bool *ret_is_applied, struct rondo_error *err);
