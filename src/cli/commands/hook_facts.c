// SPDX-License-Identifier: Apache-2.0
/* all opens: nothing is opened; what paths lead to is looked up only. */
#include "cli/commands/hook_facts.h"

#include "base/auto.h"
#include "base/buf.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const struct hook_facts known_tools[] = {
    {"Read", 0, 0, true},        {"Glob", 0, 0, true},         {"Grep", 0, 0, true},
    {"LS", 0, 0, true},          {"Edit", 1, 1, true},         {"MultiEdit", 1, 1, true},
    {"Write", 1, 1, true},       {"NotebookRead", 0, 0, true}, {"NotebookEdit", 1, 1, true},
    {"apply_patch", 1, 1, true},
};
static const struct hook_facts other_tool = {"", 2, 1, false};

/** Whether a text names the settings of an agent. */
static bool names_settings(const char *text)
{
    return strcasestr(text, ".claude") != NULL || strcasestr(text, ".codex") != NULL;
}

/** Whether a path leads to the settings: a repository can bring links to them. */
static bool leads_to_settings(const char *folder, const char *path)
{
    auto_buf struct buf whole = {0};
    buf_printf(&whole, "%s%s%s", path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/", path);
    auto_free char *target = realpath(buf_string(&whole), NULL);
    char *slash = NULL;
    /* A file that is not there yet: the folder that is. */
    while (target == NULL && (slash = strrchr(whole.data, '/')) != NULL) {
        *slash = '\0';
        target = realpath(whole.data, NULL);
    }
    return target != NULL && names_settings(target);
}

static bool may_concern_settings(struct json_object *input, const char *text, const char *folder)
{
    struct json_object_iter member;
    if (names_settings(text) || names_settings(folder)) {
        return true;
    }
    json_object_object_foreachC(input, member)
    {
        if (json_object_is_type(member.val, json_type_string) &&
            leads_to_settings(folder, json_object_get_string(member.val))) {
            return true;
        }
    }
    return false;
}

const struct hook_facts *hook_facts_of(const char *tool, struct json_object *input,
                                       const char *text, const char *folder)
{
    for (size_t i = 0; i < sizeof(known_tools) / sizeof(known_tools[0]); i++) {
        const struct hook_facts *known = &known_tools[i];
        if (strcmp(known->tool, tool) == 0) {
            bool may_write = known->impact > 0;
            return may_write && may_concern_settings(input, text, folder) ? &other_tool : known;
        }
    }
    return &other_tool;
}
