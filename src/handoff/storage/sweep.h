// SPDX-License-Identifier: Apache-2.0
/*
 * Deleting old handoffs, for `rondo gc`: those that were decided long ago and that nothing can
 * change any more, with what the agent sent, what was said and what nobody fetched. Their entries
 * of the audit chain stay, so that it can be verified for ever. Any thread, beside others.
 */
#pragma once

#include "rondo/error.h"
#include "store/store.h"

/**
 * @param before_ns those that were decided before
 * @param ret_count how many were deleted, or would be
 * @return 0; what cannot be read is left alone
 */
int handoff_sweep(struct store *store, int64_t before_ns, bool is_dry_run, uint64_t *ret_count,
                  struct rondo_error *err);
