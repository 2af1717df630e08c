// SPDX-License-Identifier: Apache-2.0
/* Reads values only; that they have the right types was checked with the file they come from. */
#include "mcp/config.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "model/key/environment.h"
#include "tool/builtin/shell_environment.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static bool list_has(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_length(list); i++) {
        const char *item = json_object_get_string(json_object_array_get_idx(list, i));
        if (item != NULL && strcmp(item, text) == 0) {
            return true;
        }
    }
    return false;
}

/** A JSON array as a list of texts. Owned. */
static char **dup_list(struct json_object *array)
{
    size_t count = json_length(array);
    char **list = memory_new_zero(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(array, i));
        list[i] = memory_dup_string(text == NULL ? "" : text);
    }
    return list;
}

/** A variable that was not replaced is not set. */
static int check_expanded(const char *text, const char *key, const char *server,
                          struct rondo_error *err)
{
    const char *begin = strstr(text, "${");
    const char *end = begin == NULL ? NULL : strchr(begin, '}');
    if (end == NULL || end == begin + 2) {
        return 0;
    }
    return error_set(err, RONDO_ERR_INVALID,
                     "MCP server \"%s\": the variable %.*s that `%s` needs is not set", server,
                     (int)(end - begin - 2), begin + 2, key);
}

/**
 * A JSON object as lines "NAME<separator>VALUE", with variables filled in.
 * @param ret_list owned, memory_free_list()
 */
static int expand_map(struct json_object *map, const char *separator, const char *server,
                      const struct tool_surroundings *surroundings, char ***ret_list,
                      struct rondo_error *err)
{
    size_t count =
        json_object_is_type(map, json_type_object) ? (size_t)json_object_object_length(map) : 0;
    char **list = memory_new_zero(count + 1, sizeof(*list));
    *ret_list = list;
    if (count == 0) {
        return 0;
    }
    struct json_object_iterator i = json_object_iter_begin(map);
    struct json_object_iterator end = json_object_iter_end(map);
    for (size_t n = 0; !json_object_iter_equal(&i, &end); json_object_iter_next(&i), n++) {
        auto_buf struct buf value = {0};
        const char *key = json_object_iter_peek_name(&i);
        const char *text = json_object_get_string(json_object_iter_peek_value(&i));
        if (surroundings->dotenv == NULL) {
            buf_append_string(&value, text == NULL ? "" : text);
        } else {
            dotenv_expand(surroundings->dotenv, text == NULL ? "" : text, &value);
        }
        int r = check_expanded(buf_string(&value), key, server, err);
        if (r != 0) {
            return r;
        }
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s%s%s", key, separator, buf_string(&value));
        list[n] = buf_steal(&line);
    }
    return 0;
}

static int check_command(const char *command, const char *server,
                         const struct tool_surroundings *surroundings, struct rondo_error *err)
{
    struct json_object *allowed =
        json_member(surroundings->security_tools, "mcp_command_allowlist");
    if (json_length(allowed) == 0 || (command != NULL && list_has(allowed, command))) {
        return 0;
    }
    return error_set(err, RONDO_ERR_DENIED,
                     "MCP server \"%s\": the command \"%s\" is not on mcp_command_allowlist",
                     server, command == NULL ? "" : command);
}

/** The tier of a server: its own, else that of the role's tools. */
static int read_tier(struct json_object *config, const char *server,
                     const struct tool_surroundings *surroundings, enum sandbox_tier *ret_tier,
                     struct rondo_error *err)
{
    const char *otherwise = surroundings->sandbox == NULL ? "namespace" : surroundings->sandbox;
    const char *name = json_get_string(config, "sandbox", otherwise);
    return sandbox_tier_from_name(name, ret_tier)
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "MCP server \"%s\": `sandbox` must be namespace, landlock or none",
                           server);
}

static bool is_http(const char *transport, const char *command, const char *url)
{
    if (transport == NULL) {
        return command == NULL && url != NULL;
    }
    return strcmp(transport, "stdio") != 0;
}

int64_t mcp_config_timeout_ns(struct json_object *config)
{
    struct json_object *seconds = json_member(config, "timeout_seconds");
    if (seconds == NULL) {
        seconds = json_member(config, "timeout");
    }
    double value = json_object_is_type(seconds, json_type_int) ||
                           json_object_is_type(seconds, json_type_double)
                       ? json_object_get_double(seconds)
                       : 0;
    return value > 0 ? duration_from_seconds(value) : MCP_TIMEOUT_NS;
}

int mcp_client_from_config(struct json_object *config, const char *name, const char *folder,
                           const struct tool_surroundings *surroundings,
                           struct mcp_client **ret_client, struct rondo_error *err)
{
    const char *command = json_get_string(config, "command", NULL);
    const char *url = json_get_string(config, "url", NULL);
    bool wants_http = is_http(json_get_string(config, "transport", NULL), command, url);
    char **args = dup_list(json_member(config, "args"));
    char **pass = shell_environment_allowed(surroundings->security_tools);
    char **read_paths = dup_list(json_member(config, "read"));
    char **write_paths = dup_list(json_member(config, "write"));
    const char *cwd = json_get_string(config, "cwd", NULL);
    enum sandbox_tier tier = SANDBOX_NAMESPACE;
    char **env = NULL;
    char **headers = NULL;
    int r = wants_http ? 0 : check_command(command, name, surroundings, err);
    if (r == 0) {
        r = read_tier(config, name, surroundings, &tier, err);
    }
    if (r == 0) {
        r = expand_map(json_member(config, "env"), "=", name, surroundings, &env, err);
    }
    if (r == 0) {
        r = expand_map(json_member(config, "headers"), ": ", name, surroundings, &headers, err);
    }
    if (r == 0) {
        const struct mcp_options options = {
            .name = name,
            .transport = wants_http ? MCP_HTTP : MCP_STDIO,
            .command = command,
            .args = (const char *const *)args,
            .env = (const char *const *)env,
            .pass = (const char *const *)pass,
            .folder = folder,
            .cwd = cwd != NULL && cwd[0] != '\0' ? cwd : NULL,
            .tier = tier,
            .allow_network = json_get_bool(config, "network", surroundings->allow_network),
            .read_paths = (const char *const *)read_paths,
            .write_paths = (const char *const *)write_paths,
            .url = url,
            .headers = (const char *const *)headers,
            .timeout_ns = mcp_config_timeout_ns(config),
            .surroundings = surroundings,
        };
        r = mcp_client_new(&options, ret_client, err);
    }
    memory_free_list(args);
    memory_free_list(pass);
    memory_free_list(env);
    memory_free_list(headers);
    memory_free_list(read_paths);
    memory_free_list(write_paths);
    return r;
}

bool mcp_config_wants(struct json_object *config, const char *tool)
{
    struct json_object *filter = json_member(config, "tool_filter");
    return (json_length(filter) == 0 || list_has(filter, tool)) &&
           !list_has(json_member(config, "tool_exclude"), tool);
}
