// SPDX-License-Identifier: Apache-2.0
/* The tool types that can run, from role/tools.def. */
#include "tool/types.h"

#include <string.h>

static const struct tool_type end_of_table = {0};

#define TOOL_RUNS(id) &id##_tool_type,
#define TOOL_LOOP(id)
#define TOOL_KNOWN(id)
#define TOOL(id, runs, ...) TOOL_##runs(id)
const struct tool_type *const tool_types[] = {
#include "role/tools.def"
    &end_of_table,
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
