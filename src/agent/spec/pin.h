// SPDX-License-Identifier: Apache-2.0
/*
 * What a run of a role takes from files that agents can write: confirmed by a person when the run
 * is made (os/trust.h), and recorded in its options, so that a resume does not read them again.
 */
#pragma once

#include "loop/spec.h"
#include "role/role.h"

#include <stdbool.h>

struct agent_options;

struct dotenv;
struct json_object;
struct mcp_shared;
struct tool_surroundings;

/** Path of the user's rondo.yaml: in the workspace, else in the folder of settings. free() it. */
char *agent_config_path(const char *workspace, const char *config_folder);

/** Whether the agents of a run can write a path: in its workspace or a folder that it may write. */
bool agent_can_reach(const struct loop_spec *spec, const char *path);

/**
 * Read a rondo.yaml; an absent one registers nothing.
 * @param surroundings borrowed by the registry; NULL when no client is made
 * @param ret_shared mcp_shared_free()
 * @return RONDO_ERR_DENIED when it must be confirmed: agents can write it, or it starts a server
 *         without a sandbox
 */
int agent_read_config(const struct loop_spec *spec, const char *path,
                      const struct tool_surroundings *surroundings, struct mcp_shared **ret_shared,
                      struct rondo_error *err);

/** Whether a tool of a role, or a condition of a run, is on a server of rondo.yaml. */
bool agent_needs_servers(struct json_object *tools, const struct loop_spec *spec);

/**
 * Record the servers of rondo.yaml that a new run uses in its options.
 * @param config_folder where rondo.yaml may be besides the workspace; or NULL
 * @return as agent_read_config; RONDO_ERR_NOT_FOUND for a server that is not registered
 */
int agent_pin(struct loop_spec *spec, const char *config_folder, struct rondo_error *err);

/** RONDO_ERR_INVALID when there are protections that are not given. */
int agent_check_protected(const struct role_findings *findings, struct rondo_error *err);

/**
 * Check that the role of a new run may be used. Where agents can write its file or its skills,
 * naming the file confirms what was never confirmed before, unless options->is_found. What has
 * changed since must be confirmed: what decides, and for a daemon (options->is_kept) every word. So
 * must a server without a sandbox. After role_resolve_skills().
 * @param options is_file_named false: the role is a text that the caller gave
 */
int agent_confirm_role(const struct role *role, const struct agent_options *options,
                       const struct loop_spec *spec, struct rondo_error *err);

/**
 * See that the variables of a role may count. An address of a tool that has a variable decides
 * where keys go, and a variable of a server without a sandbox what it runs; where agents can write
 * the `.env` beside the role, it counts as it was when such a role was first run, be it absent,
 * until a person confirms another.
 */
int agent_confirm_variables(const struct role *role, const struct dotenv *variables,
                            const struct loop_spec *spec, struct rondo_error *err);

/** The same for a role that a daemon keeps and whose triggers take variables: secrets that show who
 * may start runs. */
int agent_confirm_trigger_variables(const struct role *role, const struct dotenv *variables,
                                    const struct loop_spec *spec, struct rondo_error *err);
