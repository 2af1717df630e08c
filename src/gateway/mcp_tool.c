// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "mcp": the tools of a server as tools of an agent. An entry names a server of its own,
 * or with `server` one that the user's rondo.yaml registers, which is then shared.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "gateway/mcp_config.h"
#include "gateway/toolbox.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* Models' APIs take names of letters, digits, _ and -, up to this length. */
#define NAME_MAX_LEN 64

/** What a tool of ours needs to call its original. Owned by the toolbox. */
struct bound {
    struct mcp_client *client;
    char *name; /* as the server calls it */
    int64_t timeout_ns;
};

static void bound_free(void *owned)
{
    struct bound *bound = owned;
    free(bound->name);
    free(bound);
}

static void client_free(void *owned)
{
    mcp_client_free(owned);
}

static void run(const struct tool *tool, const struct tool_call *call,
                struct tool_result *ret_result)
{
    const struct bound *bound = tool->context;
    struct rondo_error err = {0};
    struct json_object *result = NULL;
    int64_t limit = clock_monotonic(clock_system()) + bound->timeout_ns;
    int64_t deadline =
        call->deadline_ns <= 0 || call->deadline_ns > limit ? limit : call->deadline_ns;
    if (mcp_call_tool_in_trace(bound->client, bound->name, call->arguments, call->traceparent,
                               deadline, call->cancel, &result, &err) != 0) {
        tool_fail(ret_result, "Error: %s", err.message);
        return;
    }
    mcp_read_result(result, ret_result);
    json_object_put(result);
}

/** PREFIX_NAME, with characters that models' APIs refuse replaced. Owned. */
static char *model_name(const char *prefix, const char *name)
{
    auto_buf struct buf text = {0};
    if (prefix != NULL && prefix[0] != '\0') {
        buf_printf(&text, "%s_", prefix);
    }
    buf_append_string(&text, name);
    char *result = buf_steal(&text);
    for (char *c = result; *c != '\0'; c++) {
        bool is_fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                       (*c >= '0' && *c <= '9') || *c == '_' || *c == '-';
        *c = is_fine ? *c : '_';
    }
    if (strlen(result) > NAME_MAX_LEN) {
        result[NAME_MAX_LEN] = '\0';
    }
    return result;
}

static char *schema_of(struct json_object *described)
{
    struct json_object *schema = NULL;
    json_object_object_get_ex(described, "inputSchema", &schema);
    if (!json_object_is_type(schema, json_type_object)) {
        return memory_dup_string("{\"type\":\"object\"}");
    }
    return memory_dup_string(json_object_to_json_string_ext(
        schema, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int add_tool(struct toolbox *toolbox, struct json_object *config, struct mcp_client *client,
                    const char *server, struct json_object *described, struct rondo_error *err)
{
    struct json_object *hints = NULL;
    json_object_object_get_ex(described, "annotations", &hints);
    bool only_reads = json_get_bool(hints, "readOnlyHint", false);
    const char *name = json_get_string(described, "name", "");
    struct bound *bound = memory_new_zero(1, sizeof(*bound));
    *bound = (struct bound){
        .client = client,
        .name = memory_dup_string(name),
        .timeout_ns = mcp_config_timeout_ns(config),
    };
    toolbox_own(toolbox, bound, bound_free);
    const struct tool tool = {
        .name = model_name(json_get_string(config, "tool_prefix", NULL), name),
        .description = memory_dup_string(
            json_get_string(described, "description", json_get_string(described, "title", ""))),
        .schema = schema_of(described),
        .type = "mcp",
        .is_idempotent = only_reads || json_get_bool(hints, "idempotentHint", false),
        .is_concurrent = only_reads,
        .is_read_only = only_reads,
        .server = server, /* Of the configuration, which lives as long as the toolbox. */
        .run = run,
        .context = bound,
    };
    return toolbox_add(toolbox, &tool, err);
}

/** A filter that names what the server does not have is a slip that would go unnoticed. */
static int check_filter(struct json_object *config, struct json_object *tools, const char *server,
                        struct rondo_error *err)
{
    struct json_object *filter = NULL;
    json_object_object_get_ex(config, "tool_filter", &filter);
    size_t count =
        json_object_is_type(filter, json_type_array) ? json_object_array_length(filter) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *wanted = json_object_get_string(json_object_array_get_idx(filter, i));
        bool is_there = false;
        for (size_t n = 0; n < json_object_array_length(tools) && !is_there; n++) {
            is_there = strcmp(json_get_string(json_object_array_get_idx(tools, n), "name", ""),
                              wanted == NULL ? "" : wanted) == 0;
        }
        if (!is_there) {
            return error_set(err, RONDO_ERR_NOT_FOUND,
                             "tool_filter: MCP server \"%s\" has no tool \"%s\"", server,
                             wanted == NULL ? "" : wanted);
        }
    }
    return 0;
}

static int add_tools(struct toolbox *toolbox, struct json_object *config, struct mcp_client *client,
                     const char *server, struct rondo_error *err)
{
    struct cancel *cancel = toolbox_surroundings(toolbox)->cancel;
    auto_json struct json_object *tools = NULL;
    int64_t deadline = clock_monotonic(clock_system()) + mcp_config_timeout_ns(config);
    int code = mcp_list_tools(client, deadline, cancel, &tools, err);
    if (code == 0) {
        code = check_filter(config, tools, server, err);
    }
    for (size_t i = 0; code == 0 && i < json_object_array_length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        if (mcp_config_wants(config, json_get_string(tool, "name", ""))) {
            code = add_tool(toolbox, config, client, server, tool, err);
        }
    }
    return code;
}

/** What to call a server that has no name of its own. */
static const char *server_name(struct json_object *config)
{
    const char *url = json_get_string(config, "url", "?");
    return json_get_string(config, "command", url);
}

static int open_entry(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    const struct tool_surroundings *surroundings = toolbox_surroundings(toolbox);
    const char *shared = json_get_string(config, "server", NULL);
    struct mcp_client *client = NULL;
    const char *name = shared == NULL ? server_name(config) : shared;
    int code;
    if (shared != NULL) {
        code = surroundings->mcp == NULL
                   ? error_set(err, RONDO_ERR_NOT_FOUND,
                               "there is no rondo.yaml that registers MCP server \"%s\"", shared)
                   : mcp_shared_client(surroundings->mcp, shared, &client, err);
    } else {
        code = mcp_client_from_config(config, name, surroundings->role_folder, surroundings,
                                      &client, err);
        if (code == 0) {
            toolbox_own(toolbox, client, client_free);
        }
    }
    return code == 0 ? add_tools(toolbox, config, client, name, err) : code;
}

const struct tool_type mcp_tool_type = {.name = "mcp", .open = open_entry};
