// SPDX-License-Identifier: Apache-2.0
/*
 * What a model, and a verifier, read of a CallToolResult. Text is taken as it is; what is no text
 * is named in a line. An exit code is only believed where it is unmistakable.
 */
#include "base/json/json.h"
#include "mcp/mcp.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

static const char *text_of(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static void add_line(struct buf *text, const char *line)
{
    if (text->len > 0) {
        buf_append(text, "\n", 1);
    }
    buf_append_string(text, line);
}

/** "[image: image/png, 1234 bytes]", from base64 */
static void add_binary(struct buf *text, const char *what, const char *type, const char *data)
{
    size_t len = data == NULL ? 0 : strlen(data);
    while (len > 0 && data[len - 1] == '=') {
        len--;
    }
    auto_buf struct buf line = {0};
    buf_printf(&line, "[%s: %s, %zu bytes]", what, type == NULL ? "unknown type" : type,
               len / 4 * 3 + len % 4 * 3 / 4);
    add_line(text, buf_string(&line));
}

static void add_resource(struct buf *text, struct json_object *resource)
{
    const char *content = text_of(json_member(resource, "text"));
    if (content != NULL) {
        add_line(text, content);
        return;
    }
    auto_buf struct buf what = {0};
    const char *uri = text_of(json_member(resource, "uri"));
    buf_printf(&what, "resource %s", uri == NULL ? "without address" : uri);
    add_binary(text, buf_string(&what), text_of(json_member(resource, "mimeType")),
               text_of(json_member(resource, "blob")));
}

static void add_link(struct buf *text, struct json_object *block)
{
    auto_buf struct buf line = {0};
    const char *name = text_of(json_member(block, "name"));
    const char *uri = text_of(json_member(block, "uri"));
    buf_printf(&line, "[resource %s: %s]", name == NULL ? "" : name, uri == NULL ? "" : uri);
    add_line(text, buf_string(&line));
}

static void add_block(struct buf *text, struct json_object *block)
{
    const char *type = text_of(json_member(block, "type"));
    type = type == NULL ? "" : type;
    if (strcmp(type, "text") == 0) {
        const char *content = text_of(json_member(block, "text"));
        add_line(text, content == NULL ? "" : content);
    } else if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) {
        add_binary(text, type, text_of(json_member(block, "mimeType")),
                   text_of(json_member(block, "data")));
    } else if (strcmp(type, "resource") == 0) {
        add_resource(text, json_member(block, "resource"));
    } else if (strcmp(type, "resource_link") == 0) {
        add_link(text, block);
    } else {
        add_line(text, "[content of an unknown kind]");
    }
}

/** @return whether the object names an exit code */
static bool find_exit_code(struct json_object *object, int *ret_code)
{
    static const char *const names[] = {"exitCode", "exit_code", "exit_status"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *value = json_member(object, names[i]);
        if (json_object_is_type(value, json_type_int)) {
            int64_t code = json_object_get_int64(value);
            if (code < INT_MIN || code > INT_MAX) {
                return false;
            }
            *ret_code = (int)code;
            return true;
        }
    }
    return false;
}

/** An exit code in a text block that is one JSON object. */
static bool find_exit_code_in_text(struct json_object *content, int *ret_code)
{
    for (size_t i = 0; i < json_length(content); i++) {
        const char *text = text_of(json_member(json_object_array_get_idx(content, i), "text"));
        auto_json struct json_object *object = NULL;
        if (text != NULL && text[strspn(text, " \t\r\n")] == '{' &&
            json_parse(text, strlen(text), &object, NULL) == 0 &&
            find_exit_code(object, ret_code)) {
            return true;
        }
    }
    return false;
}

/** An error should read as one, whatever the server calls it. */
static void mark_as_error(struct buf *text)
{
    if (strncasecmp(buf_string(text), "error", 5) != 0) {
        auto_buf struct buf marked = {0};
        buf_append_string(&marked, "Error: ");
        buf_append(&marked, buf_string(text), text->len);
        struct buf swap = *text;
        *text = marked;
        marked = swap;
    }
}

void mcp_read_result(struct json_object *result, struct tool_result *ret_result)
{
    struct json_object *content = json_member(result, "content");
    struct json_object *structured = json_member(result, "structuredContent");
    ret_result->is_error = json_get_bool(result, "isError", false);
    for (size_t i = 0; i < json_length(content); i++) {
        add_block(&ret_result->text, json_object_array_get_idx(content, i));
    }
    if (ret_result->text.len == 0 && structured != NULL) {
        buf_append_string(&ret_result->text,
                          json_object_to_json_string_ext(
                              structured, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    if (ret_result->text.len == 0) {
        buf_append_string(&ret_result->text, "(no content)");
    }
    if (ret_result->is_error) {
        mark_as_error(&ret_result->text);
        return;
    }
    ret_result->has_exit_code = find_exit_code(structured, &ret_result->exit_code) ||
                                find_exit_code_in_text(content, &ret_result->exit_code);
}
