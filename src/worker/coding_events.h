// SPDX-License-Identifier: Apache-2.0
/*
 * From what a coding agent says to events of the run: cut, without secrets, and at most
 * LIMIT_CODING_EVENTS in one session. On the loop's thread.
 */
#pragma once

#include "base/text/redact.h"
#include "loop/driver/driver.h"
#include "worker/coding/said.h"
#include "worker/worker.h"

struct coding_events;

/** @param envp what the agent's environment holds: its secrets are taken out. Copied */
struct coding_events *coding_events_new(struct loop *loop, const struct worker_options *options,
                                        const char *const *envp);
void coding_events_free(struct coding_events *events);

/** A coding_event_fn; the context is a struct coding_events. */
void coding_events_take(void *context, const struct coding_event *event);

/** The session is over: calls without a result are recorded as such. */
void coding_events_end(struct coding_events *events);

/** Events that were not recorded, because there were too many. */
uint64_t coding_events_dropped(const struct coding_events *events);

/** What a commit in the middle of a session met; 0 = nothing. */
int coding_events_failure(const struct coding_events *events, struct rondo_error *err);

/** Append a text of the agent as it may be kept. */
void coding_events_clean(const struct coding_events *events, const char *text, size_t len,
                         struct buf *ret_text);
