// SPDX-License-Identifier: Apache-2.0
/* The tool activate_skill. */
#include "tool/data/skills.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <string.h>

static void run_activate(const struct tool *tool, const struct tool_call *call,
                         struct tool_result *ret_result)
{
    struct json_object *skills = tool->context;
    const char *name = json_get_string(call->arguments, "name", "");
    for (size_t i = 0; i < json_object_array_length(skills); i++) {
        struct json_object *skill = json_object_array_get_idx(skills, i);
        if (strcmp(json_get_string(skill, "name", ""), name) == 0) {
            buf_printf(&ret_result->text, "# Skill: %s\n\n%s", name,
                       json_get_string(skill, "text", ""));
            return;
        }
    }
    tool_fail(ret_result, "there is no skill '%.100s': the system prompt lists them", name);
}

static const struct tool_function activate = {
    .name = "activate_skill",
    .description = "Read the instructions of a skill that the system prompt lists, before a task "
                   "that it describes.",
    .schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
              "\"description\":\"The name of the skill\"}},\"required\":[\"name\"],"
              "\"additionalProperties\":false}",
    .run = run_activate,
    .is_pure = true,
    .is_idempotent = true,
    .is_concurrent = true,
    .is_read_only = true,
};

static void put_skills(void *skills)
{
    json_object_put(skills);
}

int skills_open(struct toolbox *toolbox, struct json_object *skills, struct rondo_error *err)
{
    toolbox_own(toolbox, json_object_get(skills), put_skills);
    return toolbox_add_function(toolbox, "activate_skill", &activate, skills, err);
}
