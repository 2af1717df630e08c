// SPDX-License-Identifier: Apache-2.0
/* A run as its policies see it. No state; any thread. Texts in what is returned are the spec's. */
#pragma once

#include "journal/state.h"
#include "loop/spec.h"
#include "loop/summary.h"
#include "policy/written_request.h"

/** The principal. @param run_id borrowed, too */
struct policy_run loop_policy_run(const struct loop_spec *spec, const char *run_id);

/**
 * The request for the next iteration, with all that the journal says of the run.
 * @param active_until_ns the run's active time is counted up to here; state->last_event_ns for one
 *                        that nobody executes
 * @param now_ns wall clock
 */
struct policy_request loop_policy_request(const struct run_state *state,
                                          const struct loop_spec *spec, int64_t active_until_ns,
                                          int64_t now_ns);

/** Let a written request be asked as this run would ask now. */
void loop_write_request(const struct summary *summary, struct written_request *written);
