// SPDX-License-Identifier: Apache-2.0
/* Tool type "think": room to think between steps. The thought is in the call; nothing is done.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

static void run_think(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    (void)tool;
    (void)call;
    buf_append_string(&ret_result->text, "Thought recorded.");
}

static const struct tool_function think = {
    .name = "think",
    .description = "Write down a thought before you act: what you know, what is missing, what the "
                   "next step is. Nothing else happens.",
    .schema = "{\"type\":\"object\",\"properties\":{\"thought\":{\"type\":\"string\","
              "\"description\":\"The thought\"}},\"required\":[\"thought\"],"
              "\"additionalProperties\":false}",
    .run = run_think,
    .is_pure = true,
    .is_idempotent = true,
    .is_concurrent = true,
    .is_read_only = true,
};

static int open_think(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    (void)config;
    return toolbox_add_function(toolbox, think_tool_type.name, &think, NULL, err);
}

const struct tool_type think_tool_type = {.name = "think", .open = open_think};
