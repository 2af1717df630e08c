// SPDX-License-Identifier: Apache-2.0
/*
 * `deps_schema`: variables of a role's text. `{{name}}` becomes the value of the environment
 * variable INITRUNNER_VAR_NAME, which `--var` of `rondo run` sets; else the default of the schema.
 * Values come from the environment alone: the file `.env` beside a role may be written by agents,
 * and what is put in here speaks to the model as the role does.
 */
#include "role/reader.h"

#include "role/role.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/parse.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Its properties: a JSON schema of an object, or the properties alone. */
static struct json_object *properties_of(const struct role *role)
{
    struct json_object *spec = json_member(role->normal, "spec");
    struct json_object *schema = json_member(spec, "deps_schema");
    struct json_object *properties = json_member(schema, "properties");
    return json_object_is_type(properties, json_type_object) ? properties : schema;
}

bool role_has_variable(const struct role *role, const char *name)
{
    struct json_object *properties = properties_of(role);
    return json_object_is_type(properties, json_type_object) &&
           json_object_object_get_ex(properties, name, NULL);
}

void role_variable_name(const char *name, struct buf *ret_name)
{
    buf_append_string(ret_name, "INITRUNNER_VAR_");
    for (; *name != '\0'; name++) {
        char letter = ascii_is_letter_or_digit(*name) ? ascii_upper(*name) : '_';
        buf_append(ret_name, &letter, 1);
    }
}

/** Whether a value has the type that the schema says. */
static bool fits(struct json_object *property, const char *value)
{
    const char *type = json_object_is_type(property, json_type_object)
                           ? json_get_string(property, "type", "string")
                           : "string";
    char *end = NULL;
    if (strcmp(type, "integer") == 0) {
        (void)strtoll(value, &end, 10);
    } else if (strcmp(type, "number") == 0) {
        (void)strtod(value, &end);
    } else if (strcmp(type, "boolean") == 0) {
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    } else {
        return true;
    }
    return end != value && *end == '\0';
}

static bool is_required(const struct role *role, const char *name)
{
    struct json_object *schema = json_member(json_member(role->normal, "spec"), "deps_schema");
    struct json_object *required = json_member(schema, "required");
    if (!json_object_is_type(required, json_type_array)) {
        return json_member(schema, "properties") == NULL;
    }
    for (size_t i = 0; i < json_object_array_length(required); i++) {
        const char *item = json_object_get_string(json_object_array_get_idx(required, i));
        if (item != NULL && strcmp(item, name) == 0) {
            return true;
        }
    }
    return false;
}

static void report(struct role_findings *findings, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void report(struct role_findings *findings, const char *name, const char *format, ...)
{
    char message[256];
    auto_buf struct buf path = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    buf_printf(&path, "spec.deps_schema.%.80s", name);
    findings_add(findings, ROLE_ERROR, 0, 0, buf_string(&path), message, NULL);
}

/** Append the value of a variable. @return whether there is a right one */
static bool write_value(const struct role *role, const char *name, struct json_object *property,
                        struct role_findings *findings, struct buf *out)
{
    auto_buf struct buf variable = {0};
    role_variable_name(name, &variable);
    const char *value = getenv(buf_string(&variable));
    struct json_object *usual =
        json_object_is_type(property, json_type_object) ? json_member(property, "default") : NULL;
    if (value == NULL && usual != NULL) {
        value = json_object_get_string(usual);
    }
    if (value == NULL && is_required(role, name)) {
        report(findings, name, "the role needs a value: --var %.80s=VALUE, or the variable %.100s",
               name, buf_string(&variable));
        return false;
    }
    if (value != NULL && !fits(property, value)) {
        report(findings, name, "the value in %.100s does not have the type of the schema",
               buf_string(&variable));
        return false;
    }
    buf_append_string(out, value == NULL ? "" : value);
    return true;
}

/** A name in braces at the beginning of a text: "{{ name }}". @return its length over all, or 0 */
static size_t find_name(const char *text, char *ret_name, size_t size)
{
    if (strncmp(text, "{{", 2) != 0) {
        return 0;
    }
    const char *start = text + 2 + strspn(text + 2, " ");
    size_t len = 0;
    while (ascii_is_letter_or_digit(start[len]) || start[len] == '_' || start[len] == '-') {
        len++;
    }
    const char *end = start + len + strspn(start + len, " ");
    if (len == 0 || len >= size || strncmp(end, "}}", 2) != 0) {
        return 0;
    }
    memcpy(ret_name, start, len);
    ret_name[len] = '\0';
    return (size_t)(end + 2 - text);
}

size_t variables_write(const struct role *role, struct role_findings *findings,
                       struct buf *ret_text)
{
    struct json_object *properties = properties_of(role);
    size_t errors = 0;
    if (!json_object_is_type(properties, json_type_object)) {
        buf_append_string(ret_text, role->text);
        return 0;
    }
    for (const char *at = role->text; *at != '\0' && ret_text->len <= LIMIT_ROLE_FILE_BYTES;) {
        char name[128];
        struct json_object *property = NULL;
        size_t len = find_name(at, name, sizeof(name));
        if (len > 0 && json_object_object_get_ex(properties, name, &property)) {
            errors += write_value(role, name, property, findings, ret_text) ? 0 : 1;
            at += len;
        } else {
            buf_append(ret_text, at, 1);
            at++;
        }
    }
    if (ret_text->len > LIMIT_ROLE_FILE_BYTES) {
        findings_add(findings, ROLE_ERROR, 0, 0, "spec.deps_schema",
                     "with the values of its variables, the text of the role is too long", NULL);
        errors++;
    }
    return errors;
}
