// SPDX-License-Identifier: Apache-2.0
/* A form is a flat object: texts, numbers, booleans and choices (MCP, elicitation/create). */
#include "cli/framework/form.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "tool/schema_check.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

/* How often a field is asked again when its answer does not fit. */
#define TRIES 3

struct filling {
    struct line_input *input;
    struct cancel *cancel;
    struct json_object *schema;
    struct json_object *content;
};

/** "Name of the branch (string, one of ["a","b"]; main): " */
static void write_prompt(const char *name, struct json_object *field, struct buf *ret_text)
{
    line_input_append_shown(json_get_string(field, "title", name), ret_text);
    const char *description = json_get_string(field, "description", "");
    if (*description != '\0') {
        buf_append_string(ret_text, ", ");
        line_input_append_shown(description, ret_text);
    }
    buf_append_string(ret_text, " (");
    line_input_append_shown(json_get_string(field, "type", "string"), ret_text);
    struct json_object *choices = json_member(field, "enum");
    struct json_object *usual = json_member(field, "default");
    if (choices != NULL) {
        buf_append_string(ret_text, ", one of ");
        line_input_append_shown(json_object_to_json_string_ext(choices, JSON_C_TO_STRING_PLAIN),
                                ret_text);
    }
    if (usual != NULL) {
        buf_append_string(ret_text, "; Enter: ");
        line_input_append_shown(json_object_get_string(usual), ret_text);
    }
    buf_append_string(ret_text, "): ");
}

/** An answer as a value of the field's type; NULL when it is none. */
static struct json_object *read_value(struct json_object *field, const char *text)
{
    const char *type = json_get_string(field, "type", "string");
    struct json_object *value = NULL;
    if (strcmp(type, "boolean") == 0) {
        bool is_yes = strcasecmp(text, "y") == 0 || strcasecmp(text, "yes") == 0 ||
                      strcasecmp(text, "true") == 0;
        bool is_no = strcasecmp(text, "n") == 0 || strcasecmp(text, "no") == 0 ||
                     strcasecmp(text, "false") == 0;
        return is_yes || is_no ? json_object_new_boolean(is_yes) : NULL;
    }
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0) {
        return json_parse(text, strlen(text), &value, NULL) == 0 ? value : NULL;
    }
    return json_object_new_string(text);
}

static bool fits(struct json_object *field, struct json_object *value)
{
    auto_buf struct buf faults = {0};
    return value != NULL && schema_check(field, value, &faults);
}

static bool is_required(struct json_object *schema, const char *name)
{
    struct json_object *list = json_member(schema, "required");
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(list, i));
        if (text != NULL && strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

/** Ask for one field. @return MCP_ACCEPT when it is filled in, or may stay empty */
static enum mcp_consent fill(struct filling *filling, const char *name, struct json_object *field)
{
    auto_buf struct buf prompt = {0};
    write_prompt(name, field, &prompt);
    for (int i = 0; i < TRIES; i++) {
        auto_buf struct buf words = {0};
        if (line_input_field(filling->input, buf_string(&prompt), filling->cancel, &words) !=
            LINE_WORDS) {
            return MCP_CANCEL;
        }
        struct json_object *usual = json_member(field, "default");
        if (words.len == 0 && usual == NULL && !is_required(filling->schema, name)) {
            return MCP_ACCEPT;
        }
        struct json_object *value = words.len == 0 && usual != NULL ? json_object_get(usual)
                                    : words.len == 0                ? NULL
                                                     : read_value(field, buf_string(&words));
        if (fits(field, value)) {
            json_object_object_add(filling->content, name, value);
            return MCP_ACCEPT;
        }
        json_object_put(value);
    }
    return MCP_DECLINE;
}

static enum mcp_consent fill_all(struct filling *filling, struct json_object *properties)
{
    enum mcp_consent consent = MCP_ACCEPT;
    struct json_object_iterator at = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; consent == MCP_ACCEPT && !json_object_iter_equal(&at, &end);
         json_object_iter_next(&at)) {
        consent = fill(filling, json_object_iter_peek_name(&at), json_object_iter_peek_value(&at));
    }
    return consent;
}

static enum mcp_consent confirm(struct filling *filling, const char *question)
{
    switch (line_input_ask(filling->input, question, filling->cancel)) {
    case LINE_YES:
        return MCP_ACCEPT;
    case LINE_NO:
        return MCP_DECLINE;
    case LINE_NOBODY:
        break;
    }
    return MCP_CANCEL;
}

static enum mcp_consent begin(struct filling *filling, const char *server,
                              struct json_object *params)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, "MCP server ");
    line_input_append_shown(server, &text);
    buf_append_string(&text, " requests input: ");
    line_input_append_shown(json_get_string(params, "message", ""), &text);
    buf_append_string(&text,
                      "\nAnswer? The server receives what you type; do not enter passwords.");
    return confirm(filling, buf_string(&text));
}

enum mcp_consent form_ask(struct line_input *input, const char *server, struct json_object *params,
                          struct cancel *cancel, struct json_object **ret_content)
{
    struct json_object *schema = json_member(params, "requestedSchema");
    struct json_object *properties = json_member(schema, "properties");
    struct filling filling = {input, cancel, schema, NULL};
    size_t count = json_object_is_type(properties, json_type_object)
                       ? (size_t)json_object_object_length(properties)
                       : 0;
    if (!line_input_can_ask(input) || count > FORM_FIELDS_MAX) {
        return MCP_DECLINE;
    }
    auto_json struct json_object *content = json_object_new_object();
    filling.content = content;
    enum mcp_consent consent = begin(&filling, server, params);
    if (consent == MCP_ACCEPT && count > 0) {
        consent = fill_all(&filling, properties);
    }
    if (consent == MCP_ACCEPT && count > 0) {
        auto_buf struct buf text = {0};
        buf_append_string(&text, "Send ");
        line_input_append_shown(json_object_to_json_string_ext(content, JSON_C_TO_STRING_PLAIN),
                                &text);
        buf_append_string(&text, " to ");
        line_input_append_shown(server, &text);
        buf_append_string(&text, "?");
        consent = confirm(&filling, buf_string(&text));
    }
    if (consent == MCP_ACCEPT) {
        *ret_content = json_object_get(content);
    }
    return consent;
}
