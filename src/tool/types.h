// SPDX-License-Identifier: Apache-2.0
/* The tool types of this folder, for mcp/tool_types.c. A new type is declared here and gets a
 * row there. */
#pragma once

#include "tool/tool.h"

extern const struct tool_type api_tool_type;
extern const struct tool_type datetime_tool_type;
extern const struct tool_type filesystem_tool_type;
extern const struct tool_type git_tool_type;
extern const struct tool_type http_tool_type;
extern const struct tool_type mcp_tool_type;
extern const struct tool_type python_tool_type;
extern const struct tool_type script_tool_type;
extern const struct tool_type shell_tool_type;
extern const struct tool_type slack_tool_type;
extern const struct tool_type think_tool_type;
