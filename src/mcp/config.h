// SPDX-License-Identifier: Apache-2.0
/* From the description of an MCP server (an `mcp` entry of a role or of rondo.yaml, as JSON) to a
 * client, and which of the server's tools it uses. */
#pragma once

#include "mcp/mcp.h"

/**
 * @param config   transport, command, args, url, headers, env, cwd, sandbox, network, read, write,
 *                 timeout or timeout_seconds; what is absent or null has its default
 * @param name     for messages
 * @param folder   that relative paths are relative to; NULL = the workspace
 * @param ret_client mcp_client_free()
 * @return RONDO_ERR_DENIED for a command that is not on mcp_command_allowlist
 */
int mcp_client_from_config(struct json_object *config, const char *name, const char *folder,
                           const struct tool_surroundings *surroundings,
                           struct mcp_client **ret_client, struct rondo_error *err);

/** Whether tool_filter and tool_exclude let a tool through. */
bool mcp_config_wants(struct json_object *config, const char *tool);

/** Time for one call from `timeout` or `timeout_seconds`, else MCP_TIMEOUT_NS. */
int64_t mcp_config_timeout_ns(struct json_object *config);
