// SPDX-License-Identifier: Apache-2.0
/*
 * The client that the conformance suite of MCP drives: it takes a server's URL as its last word,
 * lists the tools, and calls those that MCP_CONFORMANCE_CONTEXT names, or else all of them with
 * arguments that fit their schemas. Which scenario it is matters for one thing only: sse-retry
 * takes any stream for the one that is taken up again, so there nothing else may listen.
 *
 *     client URL
 *     client --stdio COMMAND [ARG...]   the same with a server of its own: lists, calls nothing
 */
#include "base/clock.h"
#include "base/json/json.h"
#include "mcp/mcp.h"
#include "net/client/http.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (20 * NS_PER_S)

static int64_t deadline(void)
{
    return clock_monotonic(clock_system()) + TIMEOUT_NS;
}

static int complain(const char *what, const struct rondo_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    return 1;
}

/** A value for an argument of a type. */
static struct json_object *sample(struct json_object *schema)
{
    const char *type = json_get_string(schema, "type", "string");
    if (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0) {
        return json_object_new_int(5);
    }
    if (strcmp(type, "boolean") == 0) {
        return json_object_new_boolean(1);
    }
    if (strcmp(type, "object") == 0) {
        return json_object_new_object();
    }
    return strcmp(type, "array") == 0 ? json_object_new_array() : json_object_new_string("sample");
}

/** @param tools all of them: a tool that echoes schemas is given the first one's */
static struct json_object *sample_arguments(struct json_object *tools, struct json_object *tool)
{
    struct json_object *arguments = json_object_new_object();
    struct json_object *first = json_object_array_get_idx(tools, 0);
    if (strcmp(json_get_string(tool, "name", ""), "json_schema_echo") == 0) {
        json_object_object_add(arguments, "schema",
                               json_object_get(json_object_object_get(first, "inputSchema")));
        return arguments;
    }
    struct json_object *properties = NULL;
    json_object_object_get_ex(json_object_object_get(tool, "inputSchema"), "properties",
                              &properties);
    if (properties == NULL) {
        return arguments;
    }
    struct json_object_iterator i = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        json_object_object_add(arguments, json_object_iter_peek_name(&i),
                               sample(json_object_iter_peek_value(&i)));
    }
    return arguments;
}

static int call(struct mcp_client *client, const char *name, struct json_object *arguments)
{
    struct rondo_error err = {0};
    struct json_object *result = NULL;
    if (mcp_call_tool(client, name, arguments, deadline(), NULL, &result, &err) != 0) {
        return complain(name, &err);
    }
    printf("%s: %s\n", name, json_object_to_json_string_ext(result, JSON_C_TO_STRING_PLAIN));
    json_object_put(result);
    return 0;
}

static int call_listed(struct mcp_client *client, struct json_object *tools)
{
    int code = 0;
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        auto_json struct json_object *arguments = sample_arguments(tools, tool);
        code |= call(client, json_get_string(tool, "name", ""), arguments);
    }
    return code;
}

static int call_named(struct mcp_client *client, struct json_object *calls)
{
    int code = 0;
    for (size_t i = 0; i < json_object_array_length(calls); i++) {
        struct json_object *entry = json_object_array_get_idx(calls, i);
        code |= call(client, json_get_string(entry, "name", ""),
                     json_object_object_get(entry, "arguments"));
    }
    return code;
}

static int act(struct mcp_client *client, bool may_call)
{
    struct rondo_error err = {0};
    auto_json struct json_object *tools = NULL;
    auto_json struct json_object *context = NULL;
    struct json_object *calls = NULL;
    const char *text = getenv("MCP_CONFORMANCE_CONTEXT");
    if (mcp_list_tools(client, deadline(), NULL, &tools, &err) != 0) {
        return complain("tools/list", &err);
    }
    printf("version %s, %zu tools\n", mcp_client_version(client), json_object_array_length(tools));
    if (text != NULL && json_parse(text, strlen(text), &context, &err) == 0 &&
        json_object_object_get_ex(context, "toolCalls", &calls)) {
        return call_named(client, calls);
    }
    return may_call ? call_listed(client, tools) : 0;
}

int main(int argc, char **argv)
{
    struct rondo_error err = {0};
    struct http_client *http = NULL;
    struct mcp_client *client = NULL;
    const char *scenario = getenv("MCP_CONFORMANCE_SCENARIO");
    bool is_stdio = argc > 2 && strcmp(argv[1], "--stdio") == 0;
    if (argc < 2) {
        fprintf(stderr, "usage: client URL | client --stdio COMMAND [ARG...]\n");
        return 2;
    }
    if (http_client_new(NULL, &http, &err) != 0) {
        return complain("http", &err);
    }
    const struct tool_surroundings around = {
        .workspace = "/tmp", .http = http, .clock = clock_system()};
    const struct mcp_options options = {
        .name = "conformance",
        .transport = is_stdio ? MCP_STDIO : MCP_HTTP,
        .url = argv[argc - 1],
        .command = is_stdio ? argv[2] : NULL,
        .args = is_stdio ? (const char *const *)argv + 3 : NULL,
        .accepts_defaults = scenario == NULL || strcmp(scenario, "sse-retry") != 0,
        .surroundings = &around,
    };
    /* The tool of this scenario cannot be called at all. */
    bool only_lists =
        is_stdio || (scenario != NULL && strcmp(scenario, "json-schema-ref-no-deref") == 0);
    int code = mcp_client_new(&options, &client, &err) != 0 ? complain("client", &err)
                                                            : act(client, !only_lists);
    mcp_client_free(client);
    http_client_free(http);
    return code;
}
