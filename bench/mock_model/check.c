// SPDX-License-Identifier: Apache-2.0
/*
 * What the real servers refuse, as far as clients of ours could do it: missing members, messages
 * out of order, calls without results and results without calls, settings that a model does not
 * take, thinking blocks that were changed.
 */
#include "internal.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_OPEN_CALLS 256

static bool refuse(char *ret_message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(char *ret_message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_message, 256, format, arguments);
    va_end(arguments);
    return false;
}

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    if (json_object_is_type(object, json_type_object)) {
        json_object_object_get_ex(object, key, &value);
    }
    return value;
}

static size_t length(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static bool is_string(struct json_object *value)
{
    return json_object_is_type(value, json_type_string);
}

/** Calls that wait for their results; texts are borrowed from the request. */
struct open_calls {
    const char *ids[MAX_OPEN_CALLS];
    size_t count;
};

static bool take(struct open_calls *open, const char *id)
{
    for (size_t i = 0; i < open->count; i++) {
        if (strcmp(open->ids[i], id) == 0) {
            open->ids[i] = open->ids[--open->count];
            return true;
        }
    }
    return false;
}

static bool is_tool_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= 64 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static bool check_base(struct json_object *request, char *ret_message)
{
    if (!json_object_is_type(request, json_type_object)) {
        return refuse(ret_message, "the body is no object");
    }
    if (!is_string(member(request, "model"))) {
        return refuse(ret_message, "you must provide a model parameter");
    }
    if (length(member(request, "messages")) == 0) {
        return refuse(ret_message, "messages: at least one message is required");
    }
    return true;
}

/** The models of OpenAI that reason take other settings. */
static bool check_reasoning(struct json_object *request, char *ret_message)
{
    static const char *const families[] = {"o1", "o3", "o4", "gpt-5"};
    const char *model = json_get_string(request, "model", "");
    bool is_reasoning = false;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        is_reasoning = is_reasoning || strncmp(model, families[i], strlen(families[i])) == 0;
    }
    if (is_reasoning && member(request, "max_tokens") != NULL) {
        return refuse(ret_message, "Unsupported parameter: 'max_tokens' with this model; use "
                                   "'max_completion_tokens'.");
    }
    struct json_object *temperature = member(request, "temperature");
    if (is_reasoning && temperature != NULL && json_object_get_double(temperature) != 1.0) {
        return refuse(ret_message, "Unsupported value: 'temperature' with this model.");
    }
    return true;
}

static bool check_openai_tools(struct json_object *tools, char *ret_message)
{
    if (tools != NULL && length(tools) == 0) {
        return refuse(ret_message, "tools: an array of at least one tool is expected");
    }
    for (size_t i = 0; i < length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        struct json_object *function = member(tool, "function");
        if (strcmp(json_get_string(tool, "type", ""), "function") != 0 ||
            !is_tool_name(json_get_string(function, "name", ""))) {
            return refuse(ret_message, "tools[%zu]: no function with a valid name", i);
        }
        struct json_object *schema = member(function, "parameters");
        if (schema != NULL && strcmp(json_get_string(schema, "type", ""), "object") != 0) {
            return refuse(ret_message, "tools[%zu].function.parameters: type must be object", i);
        }
    }
    return true;
}

static bool check_openai_assistant(struct json_object *message, size_t index,
                                   struct open_calls *open, char *ret_message)
{
    struct json_object *calls = member(message, "tool_calls");
    if (calls != NULL && length(calls) == 0) {
        return refuse(ret_message, "messages[%zu].tool_calls is empty", index);
    }
    if (calls == NULL && !is_string(member(message, "content")) &&
        length(member(message, "content")) == 0) {
        return refuse(ret_message, "messages[%zu].content: text is expected", index);
    }
    for (size_t i = 0; i < length(calls); i++) {
        struct json_object *call = json_object_array_get_idx(calls, i);
        struct json_object *function = member(call, "function");
        if (!is_string(member(call, "id")) || !is_string(member(function, "arguments")) ||
            !is_tool_name(json_get_string(function, "name", "")) ||
            strcmp(json_get_string(call, "type", ""), "function") != 0 ||
            open->count == MAX_OPEN_CALLS) {
            return refuse(ret_message, "messages[%zu].tool_calls[%zu] is no call", index, i);
        }
        open->ids[open->count++] = json_get_string(call, "id", "");
    }
    return true;
}

static bool check_openai_message(struct json_object *message, size_t index, struct open_calls *open,
                                 char *ret_message)
{
    const char *role = json_get_string(message, "role", "");
    if (strcmp(role, "tool") == 0) {
        const char *id = json_get_string(message, "tool_call_id", "");
        if (!take(open, id)) {
            return refuse(ret_message,
                          "messages[%zu]: 'tool' must follow a message with 'tool_calls' (%s)",
                          index, id);
        }
        return member(message, "content") != NULL ||
               refuse(ret_message, "messages[%zu].content is missing", index);
    }
    if (open->count > 0) {
        return refuse(ret_message, "messages[%zu]: tool call %s has no response", index,
                      open->ids[0]);
    }
    if (strcmp(role, "assistant") == 0) {
        return check_openai_assistant(message, index, open, ret_message);
    }
    if (strcmp(role, "user") != 0 && strcmp(role, "system") != 0 &&
        strcmp(role, "developer") != 0) {
        return refuse(ret_message, "messages[%zu].role: '%s' is none", index, role);
    }
    struct json_object *content = member(message, "content");
    return is_string(content) || length(content) > 0 ||
           refuse(ret_message, "messages[%zu].content: text is expected", index);
}

bool mock_check_openai(struct json_object *request, char *ret_message)
{
    if (!check_base(request, ret_message) || !check_reasoning(request, ret_message) ||
        !check_openai_tools(member(request, "tools"), ret_message)) {
        return false;
    }
    struct open_calls open = {.count = 0};
    struct json_object *messages = member(request, "messages");
    for (size_t i = 0; i < length(messages); i++) {
        if (!check_openai_message(json_object_array_get_idx(messages, i), i, &open, ret_message)) {
            return false;
        }
    }
    return open.count == 0 || refuse(ret_message, "tool call %s has no response", open.ids[0]);
}

static bool check_anthropic_tools(struct json_object *tools, char *ret_message)
{
    for (size_t i = 0; i < length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        struct json_object *schema = member(tool, "input_schema");
        if (!is_tool_name(json_get_string(tool, "name", "")) ||
            strcmp(json_get_string(schema, "type", ""), "object") != 0) {
            return refuse(ret_message, "tools.%zu: a name and an input_schema of type object", i);
        }
    }
    return true;
}

/** Signature of a thinking block as mock_model_anthropic.c writes it. */
static bool is_signature_right(struct json_object *block)
{
    const char *text = json_get_string(block, "thinking", "");
    char signature[32];
    snprintf(signature, sizeof(signature), "mock-%016llx",
             (unsigned long long)mock_digest(text, strlen(text)));
    return strcmp(signature, json_get_string(block, "signature", "")) == 0;
}

static bool check_block(struct json_object *block, bool is_user, struct open_calls *open,
                        const char *where, char *ret_message)
{
    const char *type = json_get_string(block, "type", "");
    if (strcmp(type, "text") == 0) {
        return json_get_string(block, "text", "")[0] != '\0' ||
               refuse(ret_message, "%s: text content blocks must be non-empty", where);
    }
    if (is_user && strcmp(type, "tool_result") == 0) {
        const char *id = json_get_string(block, "tool_use_id", "");
        return take(open, id) ||
               refuse(ret_message, "%s: unexpected tool_use_id %s in tool_result", where, id);
    }
    if (!is_user && strcmp(type, "tool_use") == 0) {
        const char *id = json_get_string(block, "id", "");
        if (id[0] == '\0' || !is_tool_name(json_get_string(block, "name", "")) ||
            !json_object_is_type(member(block, "input"), json_type_object) ||
            open->count == MAX_OPEN_CALLS) {
            return refuse(ret_message, "%s: no valid tool_use", where);
        }
        open->ids[open->count++] = id;
        return true;
    }
    if (!is_user && strcmp(type, "thinking") == 0) {
        return is_signature_right(block) ||
               refuse(ret_message, "%s: invalid signature in thinking block", where);
    }
    bool is_other = strcmp(type, "redacted_thinking") == 0 || strcmp(type, "image") == 0 ||
                    strcmp(type, "document") == 0;
    return is_other || refuse(ret_message, "%s: type '%s' is not expected", where, type);
}

static bool check_anthropic_message(struct json_object *message, size_t index,
                                    struct open_calls *open, char *ret_message)
{
    const char *role = json_get_string(message, "role", "");
    struct json_object *content = member(message, "content");
    bool is_user = strcmp(role, "user") == 0;
    if (!is_user && strcmp(role, "assistant") != 0) {
        return refuse(ret_message, "messages.%zu: unexpected role \"%s\"", index, role);
    }
    if (is_string(content) ? json_object_get_string_len(content) == 0 : length(content) == 0) {
        return refuse(ret_message, "messages.%zu: content must be non-empty", index);
    }
    for (size_t i = 0; i < length(content); i++) {
        char where[64];
        snprintf(where, sizeof(where), "messages.%zu.content.%zu", index, i);
        struct json_object *block = json_object_array_get_idx(content, i);
        bool is_result = strcmp(json_get_string(block, "type", ""), "tool_result") == 0;
        if (open->count > 0 && is_user && !is_result) {
            return refuse(ret_message, "%s: tool_use %s without tool_result", where, open->ids[0]);
        }
        if (!check_block(block, is_user, open, where, ret_message)) {
            return false;
        }
    }
    return !is_user || open->count == 0 ||
           refuse(ret_message, "messages.%zu: tool_use %s without tool_result", index,
                  open->ids[0]);
}

bool mock_check_anthropic(struct json_object *request, char *ret_message)
{
    if (!check_base(request, ret_message) ||
        !check_anthropic_tools(member(request, "tools"), ret_message)) {
        return false;
    }
    if (json_get_int(request, "max_tokens", 0) <= 0) {
        return refuse(ret_message, "max_tokens: field required");
    }
    struct json_object *messages = member(request, "messages");
    if (strcmp(json_get_string(json_object_array_get_idx(messages, 0), "role", ""), "user") != 0) {
        return refuse(ret_message, "messages: first message must use the \"user\" role");
    }
    struct open_calls open = {.count = 0};
    for (size_t i = 0; i < length(messages); i++) {
        struct json_object *message = json_object_array_get_idx(messages, i);
        if (!check_anthropic_message(message, i, &open, ret_message)) {
            return false;
        }
        bool is_user = strcmp(json_get_string(message, "role", ""), "user") == 0;
        if (!is_user && i + 1 == length(messages) && open.count > 0) {
            return refuse(ret_message, "messages.%zu: tool_use without tool_result", i);
        }
    }
    return true;
}
