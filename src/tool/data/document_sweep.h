// SPDX-License-Identifier: Apache-2.0
/*
 * Stored pages and vectors of documents that nobody needs any more: of agents whose runs are all
 * gone, or go with the same clean-up, and that have stored nothing since either. An agent that runs
 * again makes its vectors again; pages must be fetched again. Any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/**
 * Delete them. What is written meanwhile stays.
 * @param before_ns  runs that ended before this time do not count, and only what was stored before
 *                   it is deleted
 * @param is_dry_run count only
 * @param ret_count  pages and vectors
 */
int document_sweep(struct store *store, int64_t before_ns, bool is_dry_run, uint64_t *ret_count,
                   struct rondo_error *err);
