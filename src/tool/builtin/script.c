// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "script": scripts written in the role, each a tool of its own. The body goes to the
 * interpreter's stdin; what the model gives goes into variables, never into the text of the script.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/shell_run.h"
#include "tool/shell_words.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_INTERPRETER "/bin/sh"

struct script_tool {
    struct command_place place;
    struct json_object *config; /* of the script; borrowed */
    const char *body;
    const char *interpreter;
    int64_t timeout_seconds; /* 0 = the entry's */
};

static struct json_object *get_array(struct json_object *object, const char *name)
{
    struct json_object *array = NULL;
    json_object_object_get_ex(object, name, &array);
    return json_object_is_type(array, json_type_array) ? array : NULL;
}

/* --- allowed commands --- */

/** One line of the body. @return whether it is allowed there */
static bool check_line(const struct script_tool *script, const char *line, size_t number,
                       struct json_object *allowed, struct tool_result *ret_result)
{
    auto_shell_words struct shell_words words = {0};
    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#') {
        return true;
    }
    if (shell_words_split(line, &words) != NULL || words.count == 0) {
        tool_fail(ret_result,
                  "Error: line %zu of the script cannot be read as one command, which "
                  "allowed_commands asks for",
                  number);
        return false;
    }
    for (size_t i = 0; i < words.count; i++) {
        if (shell_word_is_operator(words.words[i])) {
            tool_fail(ret_result,
                      "Error: shell operator '%s' on line %zu is not allowed with allowed_commands",
                      words.words[i], number);
            return false;
        }
    }
    auto_free char *name = memory_new(strlen(words.words[0]) + 1);
    shell_word_base_name(words.words[0], name);
    if (!shell_list_holds(allowed, name)) {
        tool_fail(ret_result, "Error: command '%s' on line %zu of '%s' is not in the allowed list",
                  name, number, json_get_string(script->config, "name", ""));
        return false;
    }
    return true;
}

static bool check_body(const struct script_tool *script, struct tool_result *ret_result)
{
    struct json_object *allowed = get_array(script->config, "allowed_commands");
    if (json_length(allowed) == 0) {
        return true;
    }
    size_t number = 1;
    for (const char *at = script->body; *at != '\0'; number++) {
        size_t len = strcspn(at, "\n");
        auto_free char *line = memory_dup_bytes(at, len);
        if (!check_line(script, line, number, allowed, ret_result)) {
            return false;
        }
        at += len + (at[len] == '\n' ? 1 : 0);
    }
    return true;
}

/* --- parameters --- */

static char *upper_case(const char *name)
{
    char *upper = memory_dup_string(name);
    for (char *at = upper; *at != '\0'; at++) {
        *at = ascii_upper(*at);
    }
    return upper;
}

/** "NAME=value" of each parameter, NULL-terminated, owned. */
static char **make_variables(const struct script_tool *script, struct json_object *arguments)
{
    struct json_object *parameters = get_array(script->config, "parameters");
    size_t count = json_length(parameters);
    char **variables = memory_new_zero(count + 1, sizeof(*variables));
    for (size_t i = 0; i < count; i++) {
        struct json_object *parameter = json_object_array_get_idx(parameters, i);
        const char *name = json_get_string(parameter, "name", "");
        auto_free char *upper = upper_case(name);
        struct buf variable = {0};
        buf_printf(&variable, "%s=%s", upper,
                   json_get_string(arguments, name, json_get_string(parameter, "default", "")));
        variables[i] = buf_steal(&variable);
    }
    return variables;
}

static void free_variables(char **variables)
{
    for (size_t i = 0; variables[i] != NULL; i++) {
        free(variables[i]);
    }
    free(variables);
}

static void run_script(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    const struct script_tool *script = tool->context;
    auto_shell_words struct shell_words interpreter = {0};
    if (!check_body(script, ret_result)) {
        return;
    }
    if (shell_words_split(script->interpreter, &interpreter) != NULL || interpreter.count == 0) {
        tool_fail(ret_result, "Error: interpreter '%s' cannot be read", script->interpreter);
        return;
    }
    char **variables = make_variables(script, call->arguments);
    const struct shell_command command = {
        .argv = (const char *const *)interpreter.words,
        .variables = (const char *const *)variables,
        .input = script->body,
        .input_len = strlen(script->body),
        .timeout_seconds = script->timeout_seconds,
    };
    struct command_result result;
    command_run(&script->place, &command, call, &result);
    if (result.end == COMMAND_NOT_FOUND) {
        tool_fail(ret_result, "Error: interpreter '%s' not found", script->interpreter);
    } else {
        command_tell(&script->place, tool->name, &result, ret_result);
    }
    command_result_fini(&result);
    free_variables(variables);
}

/* --- opening --- */

/** Variables that decide how programs run; a model must not set them, and a sandbox does. */
static bool is_reserved(const char *variable)
{
    static const char *const reserved[] = {"PATH", "HOME", "IFS", "BASH_ENV", "TMPDIR"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (strcmp(reserved[i], variable) == 0) {
            return true;
        }
    }
    return strncmp(variable, "LD_", 3) == 0;
}

static bool is_identifier(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *name != '\0' && strchr(letters, *name) != NULL && strspn(name, more) == strlen(name);
}

static int check_parameter(const char *script, const char *name, struct rondo_error *err)
{
    auto_free char *variable = upper_case(name);
    if (!is_identifier(name)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "script \"%s\": \"%s\" cannot be the name of a parameter", script, name);
    }
    if (is_reserved(variable)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "script \"%s\": the parameter \"%s\" would replace the variable %s; give "
                         "it another name",
                         script, name, variable);
    }
    return 0;
}

static void write_property(struct json_writer *writer, struct json_object *parameter)
{
    json_begin_object(writer, json_get_string(parameter, "name", ""));
    json_write_string(writer, "type", "string");
    const char *description = json_get_string(parameter, "description", "");
    if (*description != '\0') {
        json_write_string(writer, "description", description);
    }
    if (!json_get_bool(parameter, "required", false)) {
        json_write_string(writer, "default", json_get_string(parameter, "default", ""));
    }
    json_end_object(writer);
}

static int write_schema(const char *name, struct json_object *parameters, struct buf *schema,
                        struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_length(parameters); i++) {
        struct json_object *parameter = json_object_array_get_idx(parameters, i);
        r = check_parameter(name, json_get_string(parameter, "name", ""), err);
    }
    if (r == 0) {
        toolbox_write_schema(parameters, write_property, schema);
    }
    return r;
}

static void free_script(void *owned)
{
    struct script_tool *script = owned;
    command_place_fini(&script->place);
    free(script);
}

static int add_script(struct toolbox *toolbox, struct json_object *entry,
                      struct json_object *config, struct rondo_error *err)
{
    struct script_tool *script = memory_new_zero(1, sizeof(*script));
    toolbox_own(toolbox, script, free_script);
    script->config = config;
    script->body = json_get_string(config, "body", "");
    script->interpreter = json_get_string(
        config, "interpreter", json_get_string(entry, "interpreter", DEFAULT_INTERPRETER));
    script->timeout_seconds = json_get_int(config, "timeout_seconds", 0);
    const char *name = json_get_string(config, "name", "");
    auto_buf struct buf schema = {0};
    int r = command_place_read(toolbox_surroundings(toolbox), entry, &script->place, err);
    if (r == 0) {
        r = write_schema(name, get_array(config, "parameters"), &schema, err);
    }
    if (r < 0) {
        return r;
    }
    auto_buf struct buf description = {0};
    buf_append_string(&description, json_get_string(config, "description", ""));
    if (description.len == 0) {
        buf_printf(&description, "Run the script '%s'.", name);
    }
    const struct tool_function function = {
        .name = name,
        .description = buf_string(&description),
        .schema = buf_string(&schema),
        .run = run_script,
    };
    return toolbox_add_function(toolbox, script_tool_type.name, &function, script, err);
}

static int open_script(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct json_object *scripts = get_array(config, "scripts");
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_length(scripts); i++) {
        r = add_script(toolbox, config, json_object_array_get_idx(scripts, i), err);
    }
    return r;
}

const struct tool_type script_tool_type = {.name = "script", .open = open_script};
