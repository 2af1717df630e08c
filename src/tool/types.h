// SPDX-License-Identifier: Apache-2.0
/* Declares the struct tool_type of each row of role/tools.def that runs: datetime_tool_type, ... */
#pragma once

#include "tool/tool.h"

#define TOOL_RUNS(id) extern const struct tool_type id##_tool_type;
#define TOOL_LOOP(id)
#define TOOL_KNOWN(id)
#define TOOL(id, runs, ...) TOOL_##runs(id)
#include "role/tools.def"
#undef TOOL_RUNS
#undef TOOL_LOOP
#undef TOOL_KNOWN
