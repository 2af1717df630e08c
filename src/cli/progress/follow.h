// SPDX-License-Identifier: Apache-2.0
/* Reading a run's events to the end of what is committed, or live to the end of the run. */
#pragma once

#include "cli/framework/session.h"
#include "journal/event.h"

/** Called for each event, in order. */
typedef void follow_fn(const struct journal_entry *entry, void *context);

/**
 * Read the events of a run.
 * @param is_live wait for more until the run has ended
 * @param on_idle called when nothing more is committed for now; NULL = nothing
 * @return 0 or a negative code
 */
int follow_run(struct session *session, const char *run_id, bool is_live, follow_fn *fn,
               void (*on_idle)(void *context), void *context, struct rondo_error *err);
