// SPDX-License-Identifier: Apache-2.0
/* The vocabulary as texts: Cedar's schema, the reference in Markdown, the entities of actions. */
#include "base/buf.h"
#include "policy/vocabulary/vocabulary_table.h"

#include <string.h>

static const char schema_head[] =
    "// rondo.cedarschema: the vocabulary of policies for Rondo, for Cedar's own validator,\n"
    "// command line and editor plug-ins. Written by `rondo doc schema`; do not edit.\n"
    "//\n"
    "// The arguments of a tool are in `context.input` of `call_tool`. They depend on the tool, "
    "and\n"
    "// a schema cannot say \"any attribute\": to validate policies that look at them, write them\n"
    "// there in a copy of this file, as optional attributes. Rondo itself accepts any name "
    "there.\n"
    "\n"
    "// Policies that also work in an AgentCore gateway name this group instead of an "
    "action.\n"
    "namespace AgentCore {\n"
    "    action \"" VOCABULARY_GROUP_ID "\";\n"
    "}\n";

/** Whether a row belongs to an owner while an action is asked for. */
static bool is_row_of(const struct vocabulary_attribute *row, enum vocabulary_owner owner,
                      unsigned actions)
{
    return row->owner == owner && (row->actions & actions) != 0;
}

/** Rows of an owner. */
static size_t count_rows(enum vocabulary_owner owner, unsigned actions)
{
    size_t count = 0;
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        count += is_row_of(row, owner, actions);
    }
    return count;
}

/** `Long`, `Agent` or `{now: datetime}`; a record's own attributes are never records. */
static void write_type(const struct vocabulary_attribute *row, unsigned actions,
                       struct buf *ret_text)
{
    if (row->kind == CEDAR_ENTITY) {
        buf_append_string(ret_text, vocabulary_entity(row->of)->name);
        return;
    }
    if (row->kind != CEDAR_RECORD) {
        buf_append_string(ret_text, vocabulary_type_name(row->kind));
        return;
    }
    const char *separator = "";
    const struct vocabulary_attribute *inner = NULL;
    buf_append_string(ret_text, "{");
    for (size_t i = 0; (inner = vocabulary_attribute_at(i)) != NULL; i++) {
        if (is_row_of(inner, row->of, actions)) {
            buf_printf(ret_text, "%s%s: %s", separator, inner->name,
                       vocabulary_type_name(inner->kind));
            separator = ", ";
        }
    }
    buf_append_string(ret_text, "}");
}

/** Attributes, one a line. @param explained actions whose attributes need no comment any more */
static void write_rows(enum vocabulary_owner owner, unsigned actions, unsigned explained,
                       const char *indent, struct buf *ret_text)
{
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        if (!is_row_of(row, owner, actions)) {
            continue;
        }
        if ((row->actions & explained) == 0) {
            buf_printf(ret_text, "%s// %s\n", indent, row->help);
        }
        buf_printf(ret_text, "%s%s%s: ", indent, row->name, row->is_optional ? "?" : "");
        write_type(row, actions, ret_text);
        buf_append_string(ret_text, ",\n");
    }
}

static void write_entity(enum vocabulary_owner owner, struct buf *ret_text)
{
    const struct vocabulary_entity *entity = vocabulary_entity(owner);
    buf_printf(ret_text, "\n// %s\nentity %s", entity->help, entity->name);
    if (entity->parents != OWNER_NONE) {
        buf_printf(ret_text, " in [%s]", vocabulary_entity(entity->parents)->name);
    }
    if (count_rows(owner, VOCABULARY_ALL_ACTIONS) > 0) {
        buf_append_string(ret_text, " = {\n");
        write_rows(owner, VOCABULARY_ALL_ACTIONS, 0, "    ", ret_text);
        buf_append_string(ret_text, "}");
    }
    buf_printf(ret_text, "%s;\n", entity->has_tags ? " tags String" : "");
}

static void write_action(enum vocabulary_action action, struct buf *ret_text)
{
    unsigned bit = VOCABULARY_ACTION_BIT(action);
    const char *group = vocabulary_action_group(action);
    buf_printf(ret_text, "\n// %s\naction %s", vocabulary_action_help(action),
               vocabulary_action_name(action));
    if (group != NULL) {
        buf_printf(ret_text, " in [" VOCABULARY_GROUP_TYPE "::\"%s\"]", group);
    }
    buf_printf(ret_text,
               " appliesTo {\n    principal: [Agent],\n    resource: [%s],\n    context: {\n",
               vocabulary_action_resource(action));
    /* Comments come once, at the first action that has the attribute. */
    write_rows(OWNER_CONTEXT, bit, bit - 1, "        ", ret_text);
    buf_append_string(ret_text, "    },\n};\n");
}

void vocabulary_write_schema(struct buf *ret_text)
{
    buf_append_string(ret_text, schema_head);
    for (enum vocabulary_owner i = OWNER_AGENT; i < OWNER_ACTION; i++) {
        write_entity(i, ret_text);
    }
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        write_action(i, ret_text);
    }
}

void vocabulary_write_actions(struct buf *ret_json)
{
    static const char form[] =
        "%s{\"uid\":{\"type\":\"%s\",\"id\":\"%s\"},\"attrs\":{},\"parents\":[";
    buf_append_string(ret_json, "[");
    buf_printf(ret_json, form, "", VOCABULARY_GROUP_TYPE, VOCABULARY_GROUP_ID);
    buf_append_string(ret_json, "]}");
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        const char *group = vocabulary_action_group(i);
        buf_printf(ret_json, form, ",\n ", "Action", vocabulary_action_name(i));
        if (group != NULL) {
            buf_printf(ret_json, "{\"type\":\"%s\",\"id\":\"%s\"}", VOCABULARY_GROUP_TYPE, group);
        }
        buf_append_string(ret_json, "]}");
    }
    buf_append_string(ret_json, "]\n");
}

/** Actions of a mask as `a`, `b`; "all" for all. */
static void describe_mask(unsigned actions, struct buf *ret_text)
{
    if (actions == VOCABULARY_ALL_ACTIONS) {
        buf_append_string(ret_text, "all");
        return;
    }
    const char *separator = "";
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        if ((actions & VOCABULARY_ACTION_BIT(i)) != 0) {
            buf_printf(ret_text, "%s`%s`", separator, vocabulary_action_name(i));
            separator = ", ";
        }
    }
}

static void describe_actions(struct buf *ret_text)
{
    buf_append_string(ret_text, "### Actions\n\nThe principal is always an `Agent`.\n\n"
                                "| action | resource | request |\n|---|---|---|\n");
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        buf_printf(ret_text, "| `Action::\"%s\"` | `%s` | %s |\n", vocabulary_action_name(i),
                   vocabulary_action_resource(i), vocabulary_action_help(i));
    }
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        if (vocabulary_action_group(i) != NULL) {
            buf_printf(ret_text,
                       "\n`Action::\"%s\"` is in `" VOCABULARY_GROUP_TYPE
                       "::\"%s\"`: a policy with "
                       "`action in` that group works here and in an AgentCore gateway.\n",
                       vocabulary_action_name(i), vocabulary_action_group(i));
        }
    }
}

static void describe_context(struct buf *ret_text)
{
    buf_append_string(ret_text, "\n### Context\n\nAn attribute always exists for its actions.\n\n"
                                "| attribute | type | actions | meaning |\n|---|---|---|---|\n");
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        if (row->owner >= OWNER_AGENT) {
            continue;
        }
        const char *of = row->owner == OWNER_SYSTEM  ? "system."
                         : row->owner == OWNER_INPUT ? "input."
                                                     : "";
        buf_printf(ret_text, "| `context.%s%s` | %s | ", of, row->name,
                   vocabulary_type_name(row->kind));
        describe_mask(row->actions, ret_text);
        buf_printf(ret_text, " | %s |\n", row->help);
    }
}

static void describe_entity(enum vocabulary_owner owner, struct buf *ret_text)
{
    const struct vocabulary_entity *entity = vocabulary_entity(owner);
    buf_printf(ret_text, "\n#### %s\n\n%s", entity->name, entity->help);
    if (entity->parents != OWNER_NONE) {
        buf_printf(ret_text, " It may be in a `%s`.", vocabulary_entity(entity->parents)->name);
    }
    buf_append_string(ret_text,
                      entity->has_tags ? " It may have tags, which are Strings.\n" : "\n");
    if (count_rows(owner, VOCABULARY_ALL_ACTIONS) == 0) {
        return;
    }
    buf_append_string(ret_text, "\n| attribute | type | present | meaning |\n|---|---|---|---|\n");
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        if (row->owner == owner) {
            buf_printf(ret_text, "| `%s` | ", row->name);
            write_type(row, VOCABULARY_ALL_ACTIONS, ret_text);
            buf_printf(ret_text, " | %s | %s |\n", row->is_optional ? "if set" : "always",
                       row->help);
        }
    }
}

void vocabulary_describe(struct buf *ret_text)
{
    describe_actions(ret_text);
    describe_context(ret_text);
    buf_append_string(ret_text, "\n### Entity types\n\nUse an attribute that is present only \"if "
                                "set\" after a guard: `principal has max_iterations && ...`.\n");
    for (enum vocabulary_owner i = OWNER_AGENT; i < OWNER_ACTION; i++) {
        describe_entity(i, ret_text);
    }
}
