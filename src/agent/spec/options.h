// SPDX-License-Identifier: Apache-2.0
/*
 * From a role file to the options of a run (struct loop_spec). They hold all that a resume needs,
 * so that nothing of the role is read again.
 */
#pragma once

#include "loop/spec.h"

#include <stdbool.h>

struct buf;
struct role;
struct role_findings;

/** Kind of runs of a role in their spec. */
#define AGENT_KIND "role"
/** Member of a run's agent options that holds the servers of rondo.yaml which it uses. */
#define AGENT_SERVERS "servers"

/** How a role is run. */
enum agent_mode {
    AGENT_AUTONOMOUS = 0, /**< iterations until it is finished or a limit is reached */
    AGENT_SINGLE,         /**< one answer */
    AGENT_CHAT,           /**< one answer to each line of a person */
};

/** What a caller requests besides the role file. Texts are borrowed. */
struct agent_options {
    enum agent_mode mode;
    const char *prompt;             /**< required but for AGENT_CHAT */
    const char *workspace;          /**< absolute */
    const char *model;              /**< "provider:name" instead of the role's; NULL = the role's */
    const char *system;             /**< system prompt: the role's text with its skills */
    int64_t max_iterations;         /**< 0 = the role's */
    int64_t token_budget;           /**< 0 = the role's */
    const char *const *allow_hosts; /**< hosts that tools may reach besides the role's, though their
                                         addresses are private; NULL-terminated or NULL */
    const char *prices_file; /**< prices of models that are not built in; the run keeps what it
                                  says of its model; NULL = none */
    bool is_dry_run;         /**< no model is asked, and no key is needed */
    const struct role_findings *findings; /**< about the role and its skills; NULL = none */
    bool accepts_unprotected; /**< run without protections that the role requests in vain */
    bool is_file_named;       /**< the role is a file: see agent_confirm_role(), as for the next */
    bool is_kept;             /**< by a daemon, which nobody looks at when it reads the file */
    bool is_delegated; /**< another run gives it away: its role was confirmed when that was made */
    bool is_found;     /**< nobody has named the file: it must have been confirmed before */
};

/** Whether a role says which model it uses. */
bool agent_has_model(const struct role *role);

/**
 * The model for a role that names none: RONDO_MODEL, INITRUNNER_MODEL, else the usual model of the
 * first provider whose key is set (anthropic, openai, google, groq, mistral, cohere, xai). The
 * variables come from the environment and the `.env` of the home, keys also from that of the role.
 * @param ret_model  "provider:name", owned
 * @param ret_source what it was chosen by; appended
 */
int agent_choose_model(const struct role *role, char **ret_model, struct buf *ret_source,
                       struct rondo_error *err);

/**
 * The options of a run of a role; what a resume needs is in them. A role that names no model gets
 * one here (agent_choose_model), unless the caller names it.
 * @param ret_spec loop_spec_fini()
 */
int agent_spec(const struct role *role, const struct agent_options *options,
               struct loop_spec *ret_spec, struct rondo_error *err);

/**
 * Check that a limit of cost in a run's options can hold: that it is known what its model costs.
 * @param prices_file as in struct agent_options, or NULL
 * @return 0, also for a run without an agent or without such a limit; RONDO_ERR_INVALID says how to
 *         give a price
 */
int agent_check_cost(const struct loop_spec *spec, const char *prices_file,
                     struct rondo_error *err);

/** The same for changed limits of a run (struct loop_parts). */
int agent_check_limits(const struct loop_spec *spec, struct rondo_error *err);

/**
 * Have a run ask another model from now on.
 * @param spec  of a run of kind "role", as a loop_change_fn gets it
 * @param model "provider:name"; RONDO_ERR_INVALID for anything else
 */
int agent_change_model(struct loop_spec *spec, const char *model, struct rondo_error *err);

/**
 * Accept that a recorded run goes without protections that its role requests. Nothing happens to a
 * run that is none of a role file.
 */
void agent_accept_unprotected(struct loop_spec *spec);

/**
 * Let the agent of a new run schedule follow-ups: for runs that a daemon starts.
 * @param spec  of a role
 * @param depth follow-ups in a row that led to the run; 0 = it is none
 */
int agent_allow_follow_ups(struct loop_spec *spec, int64_t depth, struct rondo_error *err);

/** How a run of a role is meant to be executed, from its options alone. */
enum agent_mode agent_recorded_mode(const struct loop_spec *spec);
