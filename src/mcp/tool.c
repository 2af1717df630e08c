// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "mcp": the tools of a server as tools of an agent. An entry names a server of its own,
 * or with `server` one that the user's rondo.yaml registers, which is then shared.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "mcp/config.h"
#include "tool/toolbox.h"

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

/** An entry of a role. Owned by the toolbox, as are the clients. */
struct mcp_entry {
    struct json_object *config; /* borrowed: lives as long as the toolbox */
    struct mcp_client *client;
    const char *server; /* its name, of the configuration */
    uint64_t changes;   /* of the client when the tools were listed */
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
    int64_t latest = call->deadline_ns > 0 ? call->deadline_ns : INT64_MAX;
    if (mcp_call_tool_in_trace(bound->client, bound->name, call->arguments, call->traceparent,
                               deadline, latest, call->cancel, &result, &err) != 0) {
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
        bool is_fine = ascii_is_letter_or_digit(*c) || *c == '_' || *c == '-';
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
    const char *text = json_object_to_json_string_ext(schema, JSON_C_TO_STRING_PLAIN |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE);
    struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    return buf_steal(&clean);
}

/** What the model reads about a tool: nothing hidden, and not without end. */
static char *description_of(struct json_object *described)
{
    const char *text =
        json_get_string(described, "description", json_get_string(described, "title", ""));
    size_t len = strlen(text);
    struct buf clean = {0};
    text_clean_lines(text,
                     len < 2 * LIMIT_MCP_DESCRIPTION_BYTES ? len : 2 * LIMIT_MCP_DESCRIPTION_BYTES,
                     &clean);
    struct tool_result cut = {.text = clean};
    tool_result_truncate(&cut, LIMIT_MCP_DESCRIPTION_BYTES);
    buf_append_string(&cut.text, "");
    return buf_steal(&cut.text);
}

static void make_tool(struct toolbox *toolbox, struct mcp_entry *entry,
                      struct json_object *described, struct tool *ret_tool)
{
    struct json_object *hints = NULL;
    json_object_object_get_ex(described, "annotations", &hints);
    bool only_reads = json_get_bool(hints, "readOnlyHint", false);
    const char *name = json_get_string(described, "name", "");
    struct bound *bound = memory_new_zero(1, sizeof(*bound));
    *bound = (struct bound){
        .client = entry->client,
        .name = memory_dup_string(name),
        .timeout_ns = mcp_config_timeout_ns(entry->config),
    };
    toolbox_own(toolbox, bound, bound_free);
    *ret_tool = (struct tool){
        .name = model_name(json_get_string(entry->config, "tool_prefix", NULL), name),
        .description = description_of(described),
        .schema = schema_of(described),
        .type = "mcp",
        .is_idempotent = only_reads || json_get_bool(hints, "idempotentHint", false),
        .is_concurrent = only_reads,
        .is_read_only = only_reads,
        .server = entry->server,
        .source = entry,
        .run = run,
        .context = bound,
    };
}

static int check_schema(const struct tool *tool, const char *server, struct rondo_error *err)
{
    size_t len = strlen(tool->schema);
    return len <= LIMIT_MCP_SCHEMA_BYTES
               ? 0
               : error_set(err, RONDO_ERR_LIMIT,
                           "the schema of tool \"%s\" of MCP server \"%s\" has %zu bytes, more "
                           "than %zu; leave it out by `tool_exclude`",
                           tool->name, server, len, (size_t)LIMIT_MCP_SCHEMA_BYTES);
}

static int put_tool(struct toolbox *toolbox, struct mcp_entry *entry, struct json_object *described,
                    bool *ret_is_changed, struct rondo_error *err)
{
    struct tool tool;
    make_tool(toolbox, entry, described, &tool);
    int r = check_schema(&tool, entry->server, err);
    if (r < 0) {
        free(tool.name);
        free(tool.description);
        free(tool.schema);
        return r;
    }
    return toolbox_put(toolbox, entry->config, &tool, ret_is_changed, err);
}

/** A filter that names what the server does not have is a slip that would go unnoticed. */
static int check_filter(struct json_object *config, struct json_object *tools, const char *server,
                        struct rondo_error *err)
{
    struct json_object *filter = NULL;
    json_object_object_get_ex(config, "tool_filter", &filter);
    size_t count = json_length(filter);
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

static int list(struct toolbox *toolbox, struct mcp_entry *entry, struct json_object **ret_tools,
                struct rondo_error *err)
{
    int64_t deadline = clock_monotonic(clock_system()) + mcp_config_timeout_ns(entry->config);
    entry->changes = mcp_tool_changes(entry->client);
    return mcp_list_tools(entry->client, deadline, toolbox_surroundings(toolbox)->cancel, ret_tools,
                          err);
}

static bool wants(const struct mcp_entry *entry, struct json_object *described)
{
    return mcp_config_wants(entry->config, json_get_string(described, "name", ""));
}

/** Two tools of one server whose names become the same would replace each other. */
static int check_new_name(const struct toolbox *toolbox, const struct mcp_entry *entry,
                          struct json_object *described, struct rondo_error *err)
{
    auto_free char *name = model_name(json_get_string(entry->config, "tool_prefix", NULL),
                                      json_get_string(described, "name", ""));
    return toolbox_find(toolbox, name) == NULL
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "there are two tools \"%s\", one of MCP server \"%s\"; leave it out "
                           "(`tool_exclude`) or give it a prefix (`tool_prefix`)",
                           name, entry->server);
}

static int add_tools(struct toolbox *toolbox, struct mcp_entry *entry, struct rondo_error *err)
{
    auto_json struct json_object *tools = NULL;
    int r = list(toolbox, entry, &tools, err);
    if (r == 0) {
        r = check_filter(entry->config, tools, entry->server, err);
    }
    for (size_t i = 0; r == 0 && i < json_object_array_length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        bool is_changed;
        if (wants(entry, tool)) {
            r = check_new_name(toolbox, entry, tool, err);
            r = r == 0 ? put_tool(toolbox, entry, tool, &is_changed, err) : r;
        }
    }
    return r;
}

/* --- changes --- */

struct listed_tools {
    const struct mcp_entry *entry;
    struct json_object *tools;
};

static bool is_listed(void *context, const char *name)
{
    const struct listed_tools *listed = context;
    for (size_t i = 0; i < json_object_array_length(listed->tools); i++) {
        struct json_object *described = json_object_array_get_idx(listed->tools, i);
        auto_free char *own =
            model_name(json_get_string(listed->entry->config, "tool_prefix", NULL),
                       json_get_string(described, "name", ""));
        if (wants(listed->entry, described) && strcmp(own, name) == 0) {
            return true;
        }
    }
    return false;
}

static void take_changed(struct toolbox *toolbox, struct mcp_entry *entry,
                         struct json_object *described, struct buf *ret_news)
{
    struct rondo_error err = {0};
    bool is_changed = false;
    auto_free char *name = model_name(json_get_string(entry->config, "tool_prefix", NULL),
                                      json_get_string(described, "name", ""));
    bool is_new = toolbox_find(toolbox, name) == NULL;
    if (put_tool(toolbox, entry, described, &is_changed, &err) < 0) {
        buf_printf(ret_news, "tool %s of MCP server %s is left out: %s\n", name, entry->server,
                   err.message);
    } else if (is_changed) {
        buf_printf(ret_news, "tool %s of MCP server %s %s\n", name, entry->server,
                   is_new ? "is new" : "has a new definition");
    }
}

/** The server said that its tools are others. What cannot be listed stays as it was. */
static void refresh(struct toolbox *toolbox, void *source, struct buf *ret_news)
{
    struct mcp_entry *entry = source;
    struct rondo_error err = {0};
    auto_json struct json_object *tools = NULL;
    if (mcp_tool_changes(entry->client) == entry->changes) {
        return;
    }
    if (list(toolbox, entry, &tools, &err) < 0) {
        buf_printf(ret_news, "the changed tools of MCP server %s cannot be listed: %s\n",
                   entry->server, err.message);
        return;
    }
    struct listed_tools listed = {entry, tools};
    toolbox_keep(toolbox, entry, is_listed, &listed, ret_news);
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *described = json_object_array_get_idx(tools, i);
        if (wants(entry, described)) {
            take_changed(toolbox, entry, described, ret_news);
        }
    }
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
    int r;
    if (shared != NULL) {
        r = surroundings->mcp == NULL
                ? error_set(err, RONDO_ERR_NOT_FOUND,
                            "there is no rondo.yaml that registers MCP server \"%s\"", shared)
                : mcp_shared_client(surroundings->mcp, shared, &client, err);
    } else {
        r = mcp_client_from_config(config, name, surroundings->role_folder, surroundings, &client,
                                   err);
        if (r == 0) {
            toolbox_own(toolbox, client, client_free);
        }
    }
    if (r != 0) {
        return r;
    }
    struct mcp_entry *entry = memory_new_zero(1, sizeof(*entry));
    *entry = (struct mcp_entry){.config = config, .client = client, .server = name};
    toolbox_own(toolbox, entry, free);
    toolbox_watch(toolbox, entry, refresh);
    return add_tools(toolbox, entry, err);
}

const struct tool_type mcp_tool_type = {.name = "mcp", .open = open_entry};
