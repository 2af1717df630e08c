// SPDX-License-Identifier: Apache-2.0
/* The tool types that can run, in the order of their names. */
#include "tool/types.h"

#include <string.h>

static const struct tool_type end_of_table = {0};

const struct tool_type *const tool_types[] = {
    &api_tool_type,   &datetime_tool_type, &filesystem_tool_type, &git_tool_type,
    &http_tool_type,  &mcp_tool_type,      &python_tool_type,     &script_tool_type,
    &shell_tool_type, &slack_tool_type,    &think_tool_type,      &end_of_table,
};

const struct tool_type *tool_type_find(const char *name)
{
    for (size_t i = 0; name != NULL && tool_types[i]->name != NULL; i++) {
        if (strcmp(tool_types[i]->name, name) == 0) {
            return tool_types[i];
        }
    }
    return NULL;
}
