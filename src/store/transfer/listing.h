// SPDX-License-Identifier: Apache-2.0
/* Reading of stores that copying and comparing share. Any thread. */
#pragma once

#include "store/store.h"

/** No vector has such a model, so all memories are without one of it. */
#define TRANSFER_NO_MODEL "-"

/** Called for a run; may call into the store. @return 0, or a negative code, which ends the listing
 */
typedef int transfer_run_fn(void *context, const struct store_run *run);

/**
 * Call for each run of a store, the oldest first, a page in memory at a time.
 * @param after begin after this place; its id "" = with the first
 */
int transfer_each_run(struct store *store, struct store_run_place after, transfer_run_fn *fn,
                      void *context, struct rondo_error *err);

/** How many runs a store has. */
int transfer_count_runs(struct store *store, uint64_t *ret_count, struct rondo_error *err);
