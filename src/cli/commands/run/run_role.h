// SPDX-License-Identifier: Apache-2.0
/* From a role file and options to an agent that is ready to run. */
#pragma once

#include "cli/commands/run/run_body.h"
#include "cli/commands/run/run_options.h"

/** Values of `rondo run`. */
struct role_values {
    struct run_values run; /**< first, so that rows of both tables find their place */
    int64_t is_autonomous;
    int64_t is_interactive;
    int64_t is_dry_run;
    int64_t token_budget;
    int64_t says_yes;
    char *model;
    char *resume;
    char **allow_hosts;
    char *skill_dir;
    char **variables; /**< NAME=VALUE */
    char *record;
    char *prices;
    char *coding_agent; /**< instead of a role file */
};

/** Make the paths among the values absolute. */
void run_role_resolve(struct role_values *values);

/**
 * Read the role, report its findings, and make the spec of a run from it.
 * @param ret_spec loop_spec_fini()
 * @return 0; RONDO_ERR_INVALID when there are errors, which were reported
 */
int run_role_spec(struct role_values *values, const char *path, struct loop_spec *ret_spec,
                  struct rondo_error *err);

/** Options of an agent that follow from a command's values. */
struct run_agent_options run_agent_options_of(const struct run_values *values);
struct run_agent_options run_role_agent_options(const struct role_values *values);

/** Let the options that `rondo run --resume` was given replace the recorded ones. */
void run_role_change(struct loop_spec *spec, void *set);

/** Open the agent of a run that was resumed. @param ret_agent run_agent_free() */
int run_agent_reopen(struct session *session, struct loop *loop,
                     const struct run_agent_options *options, struct run_agent **ret_agent,
                     struct rondo_error *err);
