// SPDX-License-Identifier: Apache-2.0
/*
 * That a run could exchange the desk file beside the store is known when its gate opens. People
 * decide in other processes, which know no workspace: so the store remembers it, and each process
 * requires a confirmation of the file from then on.
 */
#pragma once

#include "handoff/desks/watch.h"

struct store;

/** Remember it, and guard the file here and now. Any thread. */
int desks_guard(struct store *store, struct desks_watch *watch, struct rondo_error *err);

/** The desks now, as desks_watch_look; they must be confirmed where the store remembers that. */
const struct desks *desks_look(struct store *store, struct desks_watch *watch);
