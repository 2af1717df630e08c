// SPDX-License-Identifier: Apache-2.0
/* Runs by the names that people type. */
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
