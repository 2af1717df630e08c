// SPDX-License-Identifier: Apache-2.0
/*
 * Orphans that nobody holds. A row names its owner, so a run whose process died is known by that.
 * Where it is taken for a moment only, to record a wish or to find that it cannot be executed here,
 * and given back, the name is gone and it would look like one that was parked on purpose: nobody
 * would go on with it, or close it. A document tells the difference until somebody executes it.
 *
 * Any thread.
 */
#pragma once

#include "store/store.h"

/** One document for each, its key the run's id. */
#define ORPHAN_COLLECTION "orphan"

/** Say that the run's process died and that nobody has gone on with it since. */
int orphan_mark(struct store *store, const char *run_id, struct rondo_error *err);

/** Whether that was said. False also when the store cannot be read. */
bool orphan_is_marked(struct store *store, const char *run_id);

/** Somebody has it now, or it has ended. A mark that cannot be removed leads to a look in vain. */
void orphan_clear(struct store *store, const char *run_id);
