// SPDX-License-Identifier: Apache-2.0
/* Deleting work items that nobody needs any more. Any thread. */
#pragma once

#include "issues/item.h"

/**
 * Delete the items that are over for good (done, cancelled, or taken over by others) and have not
 * changed since a time, and what people have asked of them. Those that wait for a person, for a
 * review or for a retry stay, and so does one whose claim is not given back yet.
 * @param is_dry_run only count
 * @param ret_count added to
 * @return 0; RONDO_ERR_CORRUPT or RONDO_ERR_VERSION when some items cannot be read, which stay; or
 *         another error of the store
 */
int items_gc(struct store *store, int64_t changed_before_ns, bool is_dry_run, uint64_t *ret_count,
             struct rondo_error *err);
