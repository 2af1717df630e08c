// SPDX-License-Identifier: Apache-2.0
/* Executing a run to its end in the foreground: what loop and resume have in common. */
#pragma once

#include "cli/run_options.h"
#include "cli/session.h"
#include "loop/driver.h"

/** Check that the sandbox that a spec asks for works here; the message says what to do. */
int run_check_sandbox(const struct loop_spec *spec, struct rondo_error *err);

/**
 * Execute the loop to its end, with progress, signals and the summary.
 * @param loop  freed
 * @param after events up to this one are not shown: they were there before
 * @param opening how a resume went; NULL for a new run
 * @return exit code
 */
int run_execute(struct session *session, struct loop *loop, const struct run_values *values,
                uint64_t after, const struct loop_opening *opening);
