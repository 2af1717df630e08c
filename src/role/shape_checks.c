// SPDX-License-Identifier: Apache-2.0
/* Checks of objects: settings that belong together. */
#include "role/reader.h"

#include "base/json/json.h"
#include "base/limits.h"

#include <json-c/json.h>
#include <string.h>

static const char *text_of(struct json_object *normal, const char *key)
{
    return json_get_string(normal, key, "");
}

static size_t length_of(struct json_object *normal, const char *key)
{
    struct json_object *list = json_member(normal, key);
    return json_length(list);
}

/** The value of a key if the file has it, else the object. */
static const struct yaml_node *place_of(const struct yaml_node *node, const char *key)
{
    const struct yaml_node *value = node == NULL ? NULL : yaml_get(node, key);
    return value == NULL ? node : value;
}

/** Report at a key. */
static void error_at(struct role_reader *reader, const struct yaml_node *node, const char *key,
                     const char *hint, const char *message)
{
    size_t mark = reader_enter(reader, key, strlen(key));
    reader_error(reader, place_of(node, key), hint, "%s", message);
    reader_leave(reader, mark);
}

/** Triggers that ask for the loop without a section for it run once only, and nothing says so. */
void check_file(struct role_reader *reader, const struct yaml_node *node,
                struct json_object *normal)
{
    struct json_object *spec = json_member(normal, "spec");
    struct json_object *triggers = json_member(spec, "triggers");
    const struct yaml_node *spec_node = node == NULL ? NULL : yaml_get(node, "spec");
    const struct yaml_node *list = spec_node == NULL ? NULL : yaml_get(spec_node, "triggers");
    bool has_loop = json_member(spec, "autonomy") != NULL;
    for (size_t i = 0; !has_loop && i < length_of(spec, "triggers") && list != NULL; i++) {
        if (!json_get_bool(json_object_array_get_idx(triggers, i), "autonomous", false)) {
            continue;
        }
        size_t mark = reader_enter(reader, "spec", strlen("spec"));
        reader_enter(reader, "triggers", strlen("triggers"));
        reader_enter_index(reader, i);
        reader_enter(reader, "autonomous", strlen("autonomous"));
        reader_warning(reader, place_of(list->items[i], "autonomous"), "add `autonomy: {}` to spec",
                       "without spec.autonomy this trigger gives a single answer");
        reader_leave(reader, mark);
    }
}

void check_heartbeat(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal)
{
    struct json_object *hours = json_member(normal, "active_hours");
    bool is_right = hours == NULL || length_of(normal, "active_hours") == 2;
    for (size_t i = 0; is_right && i < length_of(normal, "active_hours"); i++) {
        int64_t hour = json_object_get_int64(json_object_array_get_idx(hours, i));
        is_right = hour >= 0 && hour <= 23;
    }
    if (!is_right) {
        error_at(reader, node, "active_hours", "[9, 17], for instance",
                 "the active hours are two hours from 0 to 23");
    }
}

/** The effort of thinking: false, or a word. */
static void check_thinking(struct role_reader *reader, const struct yaml_node *node,
                           struct json_object *value)
{
    static const char *const words[] = {"minimal", "low", "medium", "high", "xhigh"};
    bool is_right = value == NULL || (json_object_is_type(value, json_type_boolean) &&
                                      !json_object_get_boolean(value));
    for (size_t i = 0; !is_right && i < sizeof(words) / sizeof(words[0]); i++) {
        is_right = json_object_is_type(value, json_type_string) &&
                   strcmp(json_object_get_string(value), words[i]) == 0;
    }
    if (!is_right) {
        error_at(reader, node, "thinking", "minimal, low, medium, high, xhigh or false",
                 "this is not an effort of thinking");
    }
}

/** A model is left out, or written as provider and name, or as `provider:name`. */
void check_model(struct role_reader *reader, const struct yaml_node *node,
                 struct json_object *normal)
{
    const char *provider = text_of(normal, "provider");
    const char *name = text_of(normal, "name");
    const char *colon = strchr(name, ':');
    check_thinking(reader, node, json_member(normal, "thinking"));
    if (provider[0] != '\0' && name[0] == '\0') {
        error_at(reader, node, "name", "the provider's name of the model", "`name` is missing");
    } else if (provider[0] == '\0' && name[0] != '\0' &&
               (colon == NULL || colon == name || colon[1] == '\0')) {
        error_at(reader, node, "provider", "write provider:name, for instance openai:gpt-5-mini",
                 "`provider` is missing");
    } else if (provider[0] == '\0' && colon != NULL) {
        struct json_object *left = json_object_new_string_len(name, (int)(colon - name));
        json_object_object_add(normal, "name", json_object_new_string(colon + 1));
        json_object_object_add(normal, "provider", left);
    }
}

static bool has_tool(struct json_object *spec, const char *type)
{
    struct json_object *tools = json_member(spec, "tools");
    for (size_t i = 0; i < length_of(spec, "tools"); i++) {
        if (strcmp(text_of(json_object_array_get_idx(tools, i), "type"), type) == 0) {
            return true;
        }
    }
    return false;
}

/** Strategies that work on a list need the tools for it. */
void check_spec(struct role_reader *reader, const struct yaml_node *node,
                struct json_object *normal)
{
    const char *pattern = text_of(json_member(normal, "reasoning"), "pattern");
    bool needs_list = strcmp(pattern, "todo_driven") == 0 || strcmp(pattern, "plan_execute") == 0;
    if (needs_list && !has_tool(normal, "todo")) {
        size_t mark = reader_enter(reader, "reasoning", strlen("reasoning"));
        error_at(reader, place_of(node, "reasoning"), "pattern", "add `{type: todo}` to tools",
                 "this strategy needs the tool `todo`");
        reader_leave(reader, mark);
    }
}

void check_reasoning(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal)
{
    size_t dimensions = length_of(normal, "reflection_dimensions");
    bool has_rounds = json_get_int(normal, "reflection_rounds", 0) > 0 || dimensions > 0;
    if (strcmp(text_of(normal, "pattern"), "reflexion") == 0 && !has_rounds) {
        error_at(reader, node, "reflection_rounds", "1 to 3", "reflexion needs rounds");
    }
    if (dimensions > 3) {
        error_at(reader, node, "reflection_dimensions", NULL, "one to three dimensions");
    }
    if (length_of(normal, "success_criteria") > 10) {
        error_at(reader, node, "success_criteria", NULL, "ten criteria at most");
    }
}

void check_guardrails(struct role_reader *reader, const struct yaml_node *node,
                      struct json_object *normal)
{
    (void)reader;
    (void)node;
    if (json_member(normal, "max_request_limit") == NULL) {
        int64_t calls = json_get_int(normal, "max_tool_calls", 0);
        int64_t requests = calls > INT64_MAX - 10 ? INT64_MAX : calls + 10;
        json_object_object_add(normal, "max_request_limit",
                               json_object_new_int64(requests < 30 ? 30 : requests));
    }
}

static bool is_repeated_name(struct json_object *list, size_t index)
{
    const char *name = text_of(json_object_array_get_idx(list, index), "name");
    for (size_t i = 0; i < index; i++) {
        if (strcmp(text_of(json_object_array_get_idx(list, i), "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

void check_autonomy(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal)
{
    size_t count = length_of(normal, "exit_conditions");
    if (count > LIMIT_CONDITIONS) {
        error_at(reader, node, "exit_conditions", NULL,
                 "a run can have at most 32 exit conditions");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_repeated_name(json_member(normal, "exit_conditions"), i)) {
            size_t mark = reader_enter(reader, "exit_conditions", strlen("exit_conditions"));
            reader_enter_index(reader, i);
            reader_error(reader, place_of(node, "exit_conditions")->items[i], NULL,
                         "an earlier exit condition has the same name");
            reader_leave(reader, mark);
        }
    }
}

void check_condition(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal)
{
    bool has_tool = json_member(normal, "tool") != NULL;
    if (has_tool && json_member(normal, "command") != NULL) {
        error_at(reader, node, "tool", "give one of them",
                 "a condition is verified by a command or by a tool");
    }
    if (!has_tool && json_member(normal, "server") != NULL) {
        error_at(reader, node, "server", "name the server's tool with `tool`",
                 "a server without a tool");
    }
    if (!has_tool && json_object_object_length(json_member(normal, "arguments")) > 0) {
        error_at(reader, node, "arguments", "name the tool with `tool`",
                 "arguments without a tool");
    }
}

/** Whether answers can be checked against a part of a schema. */
static bool is_known_type(struct json_object *schema)
{
    static const char *const types[] = {"string", "number", "integer", "boolean",
                                        "object", "array",  NULL};
    for (size_t i = 0; types[i] != NULL; i++) {
        if (strcmp(text_of(schema, "type"), types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void check_property(struct role_reader *reader, const struct yaml_node *place,
                           const char *name, struct json_object *schema);

/** The properties of an object: the types that InitRunner makes models of. */
static void check_properties(struct role_reader *reader, const struct yaml_node *place,
                             struct json_object *schema)
{
    struct json_object *properties = json_member(schema, "properties");
    if (!json_object_is_type(properties, json_type_object)) {
        return;
    }
    size_t mark = reader_enter(reader, "properties", strlen("properties"));
    struct json_object_iterator at = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        check_property(reader, place_of(place, "properties"), json_object_iter_peek_name(&at),
                       json_object_iter_peek_value(&at));
    }
    reader_leave(reader, mark);
}

static void check_property(struct role_reader *reader, const struct yaml_node *place,
                           const char *name, struct json_object *schema)
{
    const struct yaml_node *own = place_of(place, name);
    size_t mark = reader_enter(reader, name, strlen(name));
    if (!json_object_is_type(schema, json_type_object) || !is_known_type(schema)) {
        reader_warning(reader, own, "string, number, integer, boolean, object or array",
                       "a property with a type that answers cannot be checked against");
    } else {
        check_properties(reader, own, schema);
    }
    reader_leave(reader, mark);
}

/** Schemas that cannot be used are loaded all the same, and fail when the agent is built. */
static void check_schema(struct role_reader *reader, const struct yaml_node *node,
                         struct json_object *schema)
{
    const struct yaml_node *place = place_of(node, "schema");
    size_t mark = reader_enter(reader, "schema", strlen("schema"));
    if (strcmp(text_of(schema, "type"), "object") != 0) {
        reader_warning(reader, place, "type: object",
                       "the schema of an answer must describe an object");
    }
    check_properties(reader, place, schema);
    reader_leave(reader, mark);
}

void check_output(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal)
{
    bool has_schema = json_member(normal, "schema_") != NULL;
    bool has_file = json_member(normal, "schema_file") != NULL;
    if (strcmp(text_of(normal, "type"), "json_schema") != 0) {
        return;
    }
    if (!has_schema && !has_file) {
        error_at(reader, node, "schema", "add `schema` or `schema_file`",
                 "json_schema needs a schema");
    } else if (has_schema && has_file) {
        error_at(reader, node, "schema_file", "remove one of them",
                 "`schema` and `schema_file` exclude each other");
    } else if (has_schema) {
        check_schema(reader, node, json_member(normal, "schema_"));
    }
}

void check_chunking(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal)
{
    if (json_get_int(normal, "chunk_overlap", 0) >= json_get_int(normal, "chunk_size", 1)) {
        error_at(reader, node, "chunk_overlap", "make it less than `chunk_size`",
                 "neighbouring chunks cannot overlap completely");
    }
}

/** The old name of a limit counts where the new one is not used. */
void check_memory(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal)
{
    enum { USUAL = 1000 };
    int64_t old = json_get_int(normal, "max_memories", USUAL);
    struct json_object *semantic = json_member(normal, "semantic");
    const struct yaml_node *given = node == NULL ? NULL : yaml_get(node, "max_memories");
    if (old != USUAL && json_get_int(semantic, "max_memories", USUAL) == USUAL) {
        json_object_object_add(semantic, "max_memories", json_object_new_int64(old));
    }
    if (given != NULL && json_get_int(semantic, "max_memories", USUAL) != old) {
        size_t mark = reader_enter(reader, "max_memories", strlen("max_memories"));
        reader_warning(reader, given, "remove it", "semantic.max_memories counts");
        reader_leave(reader, mark);
    }
}

void check_docker(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal)
{
    struct json_object *mounts = json_member(normal, "bind_mounts");
    for (size_t i = 0; i < length_of(normal, "bind_mounts"); i++) {
        const char *target = text_of(json_object_array_get_idx(mounts, i), "target");
        bool is_repeated = false;
        for (size_t k = 0; k < i && !is_repeated; k++) {
            is_repeated =
                strcmp(text_of(json_object_array_get_idx(mounts, k), "target"), target) == 0;
        }
        bool is_work = strcmp(target, "/work") == 0;
        if (is_work || is_repeated) {
            size_t mark = reader_enter(reader, "bind_mounts", strlen("bind_mounts"));
            reader_enter_index(reader, i);
            reader_error(reader, place_of(node, "bind_mounts")->items[i], "use another target",
                         is_work ? "`/work` is the working folder of the container"
                                 : "an earlier mount has the same target");
            reader_leave(reader, mark);
        }
    }
}

static bool is_in_list(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        const char *item = json_object_get_string(json_object_array_get_idx(list, i));
        if (item != NULL && strcmp(item, text) == 0) {
            return true;
        }
    }
    return false;
}

/** Variables that a sandbox lets through are variables that commands get. */
void check_security(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal)
{
    (void)reader;
    (void)node;
    struct json_object *sandbox = json_member(normal, "sandbox");
    struct json_object *names = json_member(sandbox, "env_passthrough");
    struct json_object *allowed = json_member(json_member(normal, "tools"), "env_allowlist");
    bool is_used = sandbox != NULL && strcmp(text_of(sandbox, "backend"), "none") != 0;
    for (size_t i = 0; is_used && i < length_of(sandbox, "env_passthrough"); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        if (name != NULL && !is_in_list(allowed, name)) {
            json_object_array_add(allowed, json_object_new_string(name));
        }
    }
}

void check_webhook(struct role_reader *reader, const struct yaml_node *node,
                   struct json_object *normal)
{
    bool is_unsigned = json_get_bool(normal, "unsigned", false);
    bool has_secret = json_member(normal, "secret") != NULL;
    if (has_secret && is_unsigned) {
        error_at(reader, node, "unsigned", "remove one of them",
                 "`secret` and `unsigned: true` exclude each other");
    }
    if (!has_secret) {
        json_object_object_add(normal, "secret", json_object_new_string("<generated>"));
    }
}

void check_mcp(struct role_reader *reader, const struct yaml_node *node, struct json_object *normal)
{
    bool is_stdio = strcmp(text_of(normal, "transport"), "stdio") == 0;
    if (is_stdio && text_of(normal, "command")[0] == '\0') {
        error_at(reader, node, "command", "the program of the MCP server",
                 "the transport stdio needs a command");
    }
    if (!is_stdio && text_of(normal, "url")[0] == '\0') {
        error_at(reader, node, "url", "the address of the MCP server",
                 "this transport needs a url");
    }
    if (length_of(normal, "tool_filter") > 0 && length_of(normal, "tool_exclude") > 0) {
        error_at(reader, node, "tool_exclude", "remove one of them",
                 "`tool_filter` and `tool_exclude` exclude each other");
    }
}

void check_delegate(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal)
{
    const char *mode = text_of(normal, "mode");
    const char *needed = strcmp(mode, "inline") != 0 ? "url" : "role_file";
    struct json_object *agents = json_member(normal, "agents");
    for (size_t i = 0; i < length_of(normal, "agents"); i++) {
        if (text_of(json_object_array_get_idx(agents, i), needed)[0] == '\0') {
            size_t mark = reader_enter(reader, "agents", strlen("agents"));
            reader_enter_index(reader, i);
            reader_enter(reader, needed, strlen(needed));
            reader_error(reader, place_of(node, "agents")->items[i], NULL,
                         "the mode %s needs `%s` of every agent", mode, needed);
            reader_leave(reader, mark);
        }
    }
}

void check_script(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal)
{
    struct json_object *scripts = json_member(normal, "scripts");
    size_t count = length_of(normal, "scripts");
    if (count == 0) {
        error_at(reader, node, "scripts", NULL, "there must be one script at least");
    }
    for (size_t i = 0; i < count; i++) {
        if (is_repeated_name(scripts, i)) {
            size_t mark = reader_enter(reader, "scripts", strlen("scripts"));
            reader_enter_index(reader, i);
            reader_enter(reader, "name", strlen("name"));
            reader_error(reader, place_of(place_of(node, "scripts")->items[i], "name"), NULL,
                         "there is a script before this one with the same name");
            reader_leave(reader, mark);
        }
    }
}

void check_email(struct role_reader *reader, const struct yaml_node *node,
                 struct json_object *normal)
{
    if (!json_get_bool(normal, "read_only", true) && text_of(normal, "smtp_host")[0] == '\0') {
        error_at(reader, node, "smtp_host", "name the server, or set `read_only: true`",
                 "sending mail needs a server for it");
    }
}

void check_search(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal)
{
    bool is_free = strcmp(text_of(normal, "provider"), "duckduckgo") == 0;
    if (!is_free && text_of(normal, "api_key")[0] == '\0') {
        error_at(reader, node, "api_key", "${VARIABLE} is replaced from the environment",
                 "this provider needs a key");
    }
}
