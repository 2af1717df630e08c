// SPDX-License-Identifier: Apache-2.0
/* Executing a run to its end in the foreground: what loop and resume have in common. */
#pragma once

#include "cli/commands/run/run_body.h"
#include "cli/commands/run/run_options.h"
#include "cli/framework/session.h"
#include "loop/driver/driver.h"

/** Check that the sandbox that a spec requests works here; the message says what to do. */
int run_check_sandbox(const struct loop_spec *spec, struct rondo_error *err);

/** Show what is committed from now on, after event `after`. display_finish() */
struct display *run_display_start(struct session *session, struct loop *loop,
                                  const struct run_values *values, uint64_t after);

/** Print how a run ended. @param agent that ran it, or NULL @return its exit code */
int run_summary_print(struct session *session, const char *run_id, uint64_t storage_failures,
                      const struct run_values *values, const struct run_agent *agent);

/** Print an agent's answer to stdout, unless the progress on the terminal has shown it. */
void run_answer_print(const char *words, const struct run_values *values);

/** Send the result of a run that has ended to the sinks of its role; says what has to wait. */
void run_results_send(struct session *session, const char *run_id, const struct run_agent *agent);

/**
 * Resume a run and execute it, as `rondo resume` does.
 * @param name id, beginning of one, or "last"
 * @param set  whose values are `values`
 * @param change makes the options that are given replace the recorded ones; its context is `set`
 * @param agent_options for a run of a role file; with `is_required` no other one is taken
 * @return exit code
 */
int resume_execute(const char *name, struct run_values *values, struct option_set *set,
                   loop_change_fn *change, const struct run_agent_options *agent_options);

/** Start the run of a complete spec whose body is not a role's, and execute it. @return exit code
 */
int loop_start_and_execute(const struct run_values *values);

/**
 * Hand a new run over to a server that has the labels of its pool.
 * @param loop freed
 * @param by   the requester
 * @return exit code
 */
int run_hand_over(struct session *session, struct loop *loop, const struct run_values *values,
                  const char *by);

/**
 * Execute the loop to its end, with progress, signals and the summary.
 * @param loop  freed
 * @param after events up to this one are not shown: they were there before
 * @param opening how a resume went; NULL for a new run
 * @param agent   opened for the run, which then is one of a role file; NULL = a worker command
 * @return exit code
 */
int run_execute(struct session *session, struct loop *loop, const struct run_values *values,
                uint64_t after, const struct loop_opening *opening, struct run_agent *agent);
