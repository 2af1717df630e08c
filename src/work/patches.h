// SPDX-License-Identifier: Apache-2.0
/* The changes of attempts that failed: patches in the state folder, named RUN-TASK-ATTEMPT.patch.
 */
#pragma once

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Delete the patches that were written before a time, but for those of a run of this store that has
 * not ended before it. The stores of a user share the folder.
 * @param ret_count deleted, or with `is_dry_run` those that would be
 */
int work_patches_sweep(struct store *store, int64_t ended_before_ns, bool is_dry_run,
                       uint64_t *ret_count, struct rondo_error *err);
