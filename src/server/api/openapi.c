// SPDX-License-Identifier: Apache-2.0
/* The reference of the API in Markdown, written from the description that is served. */
#include "server/api/openapi.h"

#include "base/json/json.h"
#include "server/answer/problem.h"
#include "server/router.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Follow a reference into the components; anything else is itself. */
static struct json_object *resolve(struct json_object *root, struct json_object *object)
{
    const char *path = json_get_string(object, "$ref", NULL);
    if (path == NULL || strncmp(path, "#/", 2) != 0) {
        return object;
    }
    struct json_object *at = root;
    for (path += 2; at != NULL && *path != '\0';) {
        char name[64];
        size_t len = strcspn(path, "/");
        snprintf(name, sizeof(name), "%.*s", (int)len, path);
        at = json_member(at, name);
        path += len + (path[len] == '/');
    }
    return at;
}

/** The type of a schema in few words: "integer", "text or null", "[Run](#run)". */
static void write_type(struct json_object *schema, struct buf *out)
{
    struct json_object *type = json_member(schema, "type");
    const char *reference = json_get_string(schema, "$ref", NULL);
    struct json_object *choices = json_member(schema, "oneOf");
    if (reference != NULL) {
        buf_append_string(out, strrchr(reference, '/') + 1);
    } else if (choices != NULL) {
        for (size_t i = 0; i < json_object_array_length(choices); i++) {
            buf_append_string(out, i > 0 ? " or " : "");
            write_type(json_object_array_get_idx(choices, i), out);
        }
    } else if (json_object_is_type(type, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(type); i++) {
            const char *name = json_object_get_string(json_object_array_get_idx(type, i));
            buf_printf(out, "%s%s", i > 0 ? " or " : "", name);
        }
    } else {
        buf_append_string(out, type == NULL ? "any" : json_object_get_string(type));
    }
    struct json_object *items = json_member(schema, "items");
    if (items != NULL) {
        buf_append_string(out, " of ");
        write_type(items, out);
    }
}

static void write_parameters(struct json_object *root, struct json_object *operation,
                             struct buf *out)
{
    struct json_object *list = json_member(operation, "parameters");
    size_t count = json_length(list);
    if (count > 0) {
        buf_append_string(out, "| parameter | in | type | meaning |\n|---|---|---|---|\n");
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *parameter = resolve(root, json_object_array_get_idx(list, i));
        buf_printf(out, "| `%s` | %s | ", json_get_string(parameter, "name", "?"),
                   json_get_string(parameter, "in", "?"));
        write_type(json_member(parameter, "schema"), out);
        buf_printf(out, " | %s |\n", json_get_string(parameter, "description", ""));
    }
    buf_append_string(out, count > 0 ? "\n" : "");
}

/** "Run", ... of a body or an answer. */
static void write_content(struct json_object *content, struct buf *out)
{
    struct json_object_iterator at = json_object_iter_begin(content);
    struct json_object_iterator end = json_object_iter_end(content);
    for (size_t i = 0; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        buf_printf(out, "%s`%s` ", i++ > 0 ? ", " : "", json_object_iter_peek_name(&at));
        write_type(json_member(json_object_iter_peek_value(&at), "schema"), out);
    }
}

static void write_answers(struct json_object *root, struct json_object *operation, struct buf *out)
{
    struct json_object *answers = json_member(operation, "responses");
    struct json_object_iterator at = json_object_iter_begin(answers);
    struct json_object_iterator end = json_object_iter_end(answers);
    buf_append_string(out, "| answer | meaning | content |\n|---|---|---|\n");
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *answer = resolve(root, json_object_iter_peek_value(&at));
        struct json_object *content = json_member(answer, "content");
        buf_printf(out, "| %s | %s | ", json_object_iter_peek_name(&at),
                   json_get_string(answer, "description", ""));
        if (content != NULL) {
            write_content(content, out);
        }
        buf_append_string(out, " |\n");
    }
    buf_append_string(out, "\n");
}

static void write_operation(struct json_object *root, const struct route *route, struct buf *out)
{
    char method[8];
    size_t len = 0;
    for (; route->method[len] != '\0'; len++) {
        method[len] = (char)(route->method[len] | 0x20);
    }
    method[len] = '\0';
    struct json_object *operation =
        json_member(json_member(json_member(root, "paths"), route->pattern), method);
    if (operation == NULL) {
        return; /* without its entry in openapi/; a test says so */
    }
    struct json_object *body = json_member(operation, "requestBody");
    buf_printf(out, "### %s %s\n\n%s. Scope: %s.", route->method, route->pattern,
               json_get_string(operation, "summary", ""),
               route->is_public ? "none" : token_right_name(route->right));
    const char *description = json_get_string(operation, "description", "");
    buf_printf(out, "%s%s%s\n\n",
               route->needs_all_agents ? " Not for tokens limited to agents." : "",
               description[0] == '\0' ? "" : " ", description);
    write_parameters(root, operation, out);
    if (body != NULL) {
        buf_append_string(out, "Body: ");
        write_content(json_member(body, "content"), out);
        buf_append_string(out, json_get_bool(body, "required", false) ? "\n\n" : " (optional)\n\n");
    }
    write_answers(root, operation, out);
}

/** Rows of an object's members, those of the schemas that it extends too. */
static void write_members(struct json_object *schema, struct buf *out)
{
    struct json_object *parts = json_member(schema, "allOf");
    for (size_t i = 0; parts != NULL && i < json_object_array_length(parts); i++) {
        struct json_object *part = json_object_array_get_idx(parts, i);
        const char *reference = json_get_string(part, "$ref", NULL);
        if (reference != NULL) {
            buf_printf(out, "| | | all of %s |\n", strrchr(reference, '/') + 1);
        } else {
            write_members(part, out);
        }
    }
    struct json_object *members = json_member(schema, "properties");
    if (members == NULL) {
        return;
    }
    struct json_object_iterator at = json_object_iter_begin(members);
    struct json_object_iterator end = json_object_iter_end(members);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        buf_printf(out, "| `%s` | ", json_object_iter_peek_name(&at));
        write_type(value, out);
        buf_printf(out, " | %s |\n", json_get_string(value, "description", ""));
    }
}

static void write_schemas(struct json_object *root, struct buf *out)
{
    struct json_object *schemas = json_member(json_member(root, "components"), "schemas");
    struct json_object_iterator at = json_object_iter_begin(schemas);
    struct json_object_iterator end = json_object_iter_end(schemas);
    buf_append_string(out, "## Objects\n\n");
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *schema = json_object_iter_peek_value(&at);
        buf_printf(out, "### %s\n\n%s.\n\n", json_object_iter_peek_name(&at),
                   json_get_string(schema, "description", json_object_iter_peek_name(&at)));
        if (json_member(schema, "oneOf") != NULL) {
            buf_append_string(out, "One of: ");
            write_type(schema, out);
            buf_append_string(out, "\n\n");
        } else {
            buf_append_string(out, "| member | type | meaning |\n|---|---|---|\n");
            write_members(schema, out);
            buf_append_string(out, "\n");
        }
    }
}

static void write_problems(struct buf *out)
{
    buf_append_string(out, "## Problems\n\n| code | status | when |\n|---|---|---|\n");
    for (int i = 0; i < PROBLEM_CODE_COUNT; i++) {
        enum problem_code code = (enum problem_code)i;
        buf_printf(out, "| `%s` | %u | %s |\n", problem_name(code), problem_status(code),
                   problem_meaning(code));
    }
}

void openapi_describe(struct buf *ret_text)
{
    size_t len = 0;
    auto_json struct json_object *root = NULL;
    const char *text = openapi_text(&len);
    if (json_parse(text, len, &root, NULL) < 0) {
        return;
    }
    buf_append_string(ret_text, "## Operations\n\n");
    for (const struct route *route = routes; route->operation != NULL; route++) {
        write_operation(root, route, ret_text);
    }
    write_schemas(root, ret_text);
    write_problems(ret_text);
}
