// SPDX-License-Identifier: Apache-2.0
/* The reference of role files in Markdown, from the tables. */
#include "role/reader.h"
#include "role/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Defaults longer than this are cut in the table. */
#define SHOWN_BYTES 60

static void append_cell(const char *text, struct buf *out)
{
    for (; *text != '\0'; text++) {
        buf_append_string(out, *text == '|' ? "\\" : "");
        buf_append(out, text, 1);
    }
}

static void append_range(const struct role_range *range, struct buf *out)
{
    if (range->has_low && range->has_high) {
        buf_printf(out, ", %.15g to %.15g", range->low, range->high);
    } else if (range->has_low) {
        buf_printf(out, ", %s %.15g", range->is_above ? "more than" : "at least", range->low);
    }
}

static void append_type(const struct role_field *field, struct buf *out)
{
    static const char *const names[] = {
        [FIELD_TEXT] = "string",
        [FIELD_INTEGER] = "integer",
        [FIELD_NUMBER] = "number",
        [FIELD_BOOLEAN] = "boolean",
        [FIELD_CHOICE] = "",
        [FIELD_TEXT_LIST] = "list of strings",
        [FIELD_INTEGER_LIST] = "list of numbers",
        [FIELD_TEXT_MAP] = "map of strings",
        [FIELD_ANY] = "any",
        [FIELD_ANY_MAP] = "map",
        [FIELD_OBJECT] = "object",
        [FIELD_OBJECT_LIST] = "list of objects",
        [FIELD_VARIANT_LIST] = "list of objects",
        [FIELD_CONDITIONS] = "list of names or objects",
    };
    buf_append_string(out, names[field->kind]);
    for (size_t i = 0; field->kind == FIELD_CHOICE && field->choices[i] != NULL; i++) {
        buf_printf(out, "%s`%s`", i == 0 ? "" : ", ", field->choices[i]);
    }
    append_range(&field->range, out);
}

static void append_default(const struct role_field *field, struct buf *out)
{
    if ((field->flags & FIELD_REQUIRED) != 0) {
        buf_append_string(out, "**required**");
        return;
    }
    const char *text = role_field_default(field, false);
    size_t len = strlen(text);
    bool is_section = field->kind == FIELD_OBJECT && strcmp(text, "{}") == 0;
    bool is_nothing = strcmp(text, "null") == 0;
    if (is_section || is_nothing) {
        buf_append_string(out, is_section ? "its defaults" : "none");
    } else if (len > SHOWN_BYTES) {
        buf_append_string(out, "`");
        buf_append(out, text, SHOWN_BYTES);
        buf_append_string(out, "…`");
    } else {
        buf_printf(out, "`%s`", text);
    }
}

static void append_row(const struct role_field *field, struct buf *out)
{
    buf_printf(out, "| `%s` | ", field->name);
    append_type(field, out);
    buf_append_string(out, " | ");
    append_default(field, out);
    buf_append_string(out, " | ");
    append_cell(field->help, out);
    if (field->other_name != NULL) {
        buf_printf(out, "; also written `%s`", field->other_name);
    }
    if ((field->flags & FIELD_OWN) != 0) {
        buf_append_string(out, ". *Rondo's addition*");
    }
    if ((field->flags & FIELD_LATER) != 0) {
        buf_append_string(out, ". *Since 2026*");
    }
    if (field->since > 0) {
        buf_printf(out, ". *Since v1.%u*", field->since);
    }
    if ((field->flags & FIELD_DEAD) != 0) {
        buf_append_string(out, ". *Without effect*");
    }
    if (field->idle != NULL) {
        buf_printf(out, ". *Without effect: %s*", field->idle);
    }
    if ((field->flags & FIELD_UNHONOURED) != 0) {
        buf_append_string(out, ". *Not provided: a role with another value needs "
                               "`--accept-unprotected`*");
    }
    buf_append_string(out, " |\n");
}

static void append_fields(const struct role_field *fields, struct buf *out)
{
    buf_append_string(out, "| key | value | default | meaning |\n|---|---|---|---|\n");
    for (; fields->name != NULL; fields++) {
        append_row(fields, out);
    }
    buf_append_string(out, "\n");
}

static void append_inner(const char *path, unsigned level, const struct role_field *fields,
                         struct buf *out);

static void append_section(const char *path, unsigned level, const struct role_shape *shape,
                           struct buf *out)
{
    buf_printf(out, "%.*s `%s`\n\n", (int)level, "######", path);
    if (shape->help != NULL) {
        buf_printf(out, "%s.\n\n", shape->help);
    }
    if (shape->fields->name != NULL) {
        append_fields(shape->fields, out);
        append_inner(path, level, shape->fields, out);
    } else {
        buf_append_string(out, "It has no settings.\n\n");
    }
}

/** The objects in an object. */
static void append_inner(const char *path, unsigned level, const struct role_field *fields,
                         struct buf *out)
{
    for (; fields->name != NULL; fields++) {
        if (fields->shape != NULL) {
            struct buf inner = {0};
            bool is_list = fields->kind != FIELD_OBJECT;
            buf_printf(&inner, "%s%s%s%s", path, path[0] == '\0' ? "" : ".", fields->name,
                       is_list ? "[]" : "");
            append_section(buf_string(&inner), level < 4 ? level + 1 : 4, fields->shape, out);
            buf_fini(&inner);
        }
    }
}

static void append_variants(const char *title, const char *text,
                            const struct role_variants *variants, struct buf *out)
{
    buf_printf(out, "## %s\n\n%s\n\n", title, text);
    if (variants->common != NULL) {
        buf_append_string(out, "All of them have:\n\n");
        append_fields(variants->common, out);
        append_inner(variants->what, 2, variants->common, out);
    }
    for (size_t i = 0; variants->shapes[i] != NULL; i++) {
        append_section(variants->shapes[i]->name, 3, variants->shapes[i], out);
    }
}

void role_describe(struct buf *ret_text)
{
    buf_append_string(ret_text, "## File\n\n");
    append_fields(role_shape_file.fields, ret_text);
    append_inner("", 1, role_shape_file.fields, ret_text);
    append_variants("Tools",
                    "Items of `spec.tools`. Each names its `type`; an unknown one gives a warning "
                    "and is assumed to be a plug-in.",
                    &role_tools, ret_text);
    append_variants("Triggers", "Items of `spec.triggers`. Each names its `type`.", &role_triggers,
                    ret_text);
    append_variants("Sinks", "Items of `spec.sinks`. Each names its `type`.", &role_sinks,
                    ret_text);
    buf_append_string(ret_text,
                      "## Skill files\n\nA Markdown file with this front matter between two lines "
                      "`---`; its text is appended to the system prompt.\n\n");
    append_fields(role_shape_skill.fields, ret_text);
    append_inner("", 2, role_shape_skill.fields, ret_text);
}
