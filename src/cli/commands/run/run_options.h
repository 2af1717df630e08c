// SPDX-License-Identifier: Apache-2.0
/* Values and option tables of the commands that execute runs: loop, resume and run. */
#pragma once

#include "cli/framework/option.h"
#include "loop/spec.h"

struct run_values {
    struct loop_spec spec; /**< rows write numbers and texts straight into it */
    char *prompt_file;
    char **until;
    int64_t verify_timeout_ns;
    int64_t sandbox; /**< enum sandbox_tier */
    char *workspace;
    char *policy;
    char *store;
    int64_t lease_ns;
    char *config;
    int64_t wants_json;
    int64_t wants_quiet;
    int64_t accepts_unprotected;
    int64_t no_colour;
    char *coding_model; /**< of `rondo loop` with a coding agent */
    char *agent_home;
    char *coding_prices;
    int64_t keeps_session;
};

/** The sandboxes that options name. */
extern const struct option_choice sandbox_tier_choices[];

/** Defaults. @param ret_set bound to the values, with no option given */
void run_values_init(struct run_values *values, const struct option_row *rows,
                     struct option_set *ret_set);
void run_values_fini(struct run_values *values, struct option_set *set);

/**
 * Complete the spec of a new run: configuration file, prompt, workspace, sandbox, agent, command,
 * and the exit conditions, finding commands for standard ones.
 * @param command argv of the worker, NULL-terminated; copied
 */
int run_values_complete(struct run_values *values, struct option_set *set, int argc, char **command,
                        struct rondo_error *err);

/**
 * The same for the run of a coding agent: its name instead of a command.
 * @param model     or NULL
 * @param is_single one iteration
 */
int run_values_complete_coding(struct run_values *values, struct option_set *set, const char *name,
                               const char *model, bool is_single, struct rondo_error *err);

/** Whether there is a coding agent of that name; NULL is none. */
bool run_values_names_coding(const char *name);

/** The part of it that all commands share: configuration file, prompt, workspace, policies. */
int run_values_prepare(struct run_values *values, struct option_set *set, struct rondo_error *err);

/** That, and the sandbox that was given, with resolved paths. */
int run_values_complete_paths(struct run_values *values, struct option_set *set,
                              struct rondo_error *err);

/** Add the exit conditions that were given to a spec with a workspace. */
int run_values_add_conditions(const struct run_values *values, struct loop_spec *spec,
                              struct rondo_error *err);

/**
 * Find the policies that were given, for run_values_complete and run_values_change.
 * RONDO_ERR_NOT_FOUND when they are not there.
 */
int run_values_find_policy(struct run_values *values, struct rondo_error *err);

/**
 * Copy the options that a resume was given over a recorded spec.
 * @param set of resume_options, whose values are a struct run_values
 */
void run_values_change(struct loop_spec *spec, const struct option_set *set);
