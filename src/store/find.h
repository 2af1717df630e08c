// SPDX-License-Identifier: Apache-2.0
/* Runs by the names that people type, and documents that are too many. */
#pragma once

#include "store/store.h"

/**
 * Find a run.
 * @param name     full id, a prefix that only one run has, or "last" (the newest run)
 * @param agent_id with "last": of this agent; NULL = of all
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_INVALID when it is no id or fits several runs (the
 *         message lists them). Any thread.
 */
int store_find_run(struct store *store, const char *name, const char *agent_id,
                   struct store_run *ret_run, struct rondo_error *err);

/**
 * Find the newest document of a collection after the first `kept`, in descending order of keys: it
 * and those before it are too many.
 * @param ret_key its key; "" when there are no more than `kept`
 * @return 0 or a code of the store. Any thread.
 */
int store_find_excess(struct store *store, const char *collection, uint64_t kept,
                      char ret_key[STORE_KEY_LEN + 1], struct rondo_error *err);
