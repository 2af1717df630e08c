// SPDX-License-Identifier: Apache-2.0
/*
 * Client of the Model Context Protocol, for stdio and streamable HTTP, in both of its eras:
 * 2026-07-28, where each request describes itself, and 2025-11-25 back to 2025-03-26, which begin
 * with `initialize`. Over HTTP the new form is tried first, over stdio `initialize` is; what the
 * server speaks is remembered for as long as the client lives.
 *
 * A client may be used by any number of threads; answers may come in any order. A stdio server is
 * started when first needed, in a sandbox and a folder of its own (mcp/place.h); when it
 * dies it is started again, with a growing delay and a limit; calls that were under way then fail,
 * they are not repeated.
 */
#pragma once

#include "os/sandbox/policy.h"
#include "tool/tool.h"

struct mcp_client;

enum mcp_transport {
    MCP_STDIO,
    MCP_HTTP, /**< streamable HTTP */
};

/** How to reach a server. Borrowed texts; copied. */
struct mcp_options {
    const char *name; /**< for messages */
    enum mcp_transport transport;
    const char *command;            /**< MCP_STDIO */
    const char *const *args;        /**< NULL-terminated or NULL */
    const char *const *env;         /**< "NAME=value" to add to the reduced environment; or NULL */
    const char *const *pass;        /**< names of further variables of ours to pass on; or NULL */
    const char *folder;             /**< where it was registered: base of relative paths, absolute;
                                         NULL = the workspace */
    const char *cwd;                /**< NULL = a private folder; without a sandbox / */
    enum sandbox_tier tier;         /**< of MCP_STDIO */
    bool allow_network;             /**< in the sandbox */
    const char *const *read_paths;  /**< further ones in the sandbox; or NULL */
    const char *const *write_paths; /**< the same, writable */
    const char *url;                /**< MCP_HTTP */
    const char *const *headers;     /**< "Name: value"; or NULL */
    int64_t timeout_ns;             /**< of one call; 0 = MCP_TIMEOUT_NS */
    bool accepts_defaults; /**< accept a server's forms with their defaults; else decline */
    const struct tool_surroundings *surroundings;
};

#define MCP_TIMEOUT_NS INT64_C(60000000000)
/** Largest frame or reply that is read, bytes. */
#define MCP_FRAME_MAX_BYTES ((size_t)16 * 1024 * 1024)

/** Nothing is started or connected yet. @param ret_client mcp_client_free() */
int mcp_client_new(const struct mcp_options *options, struct mcp_client **ret_client,
                   struct rondo_error *err);
/** Closes its input, waits a moment, ends the server. NULL is allowed. */
void mcp_client_free(struct mcp_client *client);

/** Version that is spoken, "" before the first exchange. Borrowed. */
const char *mcp_client_version(const struct mcp_client *client);

/** All tools of the server, all pages. @param ret_tools JSON array, json_object_put() */
int mcp_list_tools(struct mcp_client *client, int64_t deadline_ns, struct cancel *cancel,
                   struct json_object **ret_tools, struct rondo_error *err);

/** How often the server said that its tools have changed. Any thread. */
uint64_t mcp_tool_changes(const struct mcp_client *client);

/**
 * Call a tool.
 * @param ret_result the whole CallToolResult, json_object_put()
 * @return 0 also when the result says isError; negative for protocol faults and dead servers
 */
int mcp_call_tool(struct mcp_client *client, const char *name, struct json_object *arguments,
                  int64_t deadline_ns, struct cancel *cancel, struct json_object **ret_result,
                  struct rondo_error *err);

/**
 * The same, with the W3C Trace Context in `_meta` of the request, and extended by progress
 * reports: each adds the initial timeout.
 * @param traceparent or NULL
 * @param latest_ns   at most until then, and at most LIMIT_MCP_CALL_NS from now; 0 = none is added
 */
int mcp_call_tool_in_trace(struct mcp_client *client, const char *name,
                           struct json_object *arguments, const char *traceparent,
                           int64_t deadline_ns, int64_t latest_ns, struct cancel *cancel,
                           struct json_object **ret_result, struct rondo_error *err);

/** What a model reads of a CallToolResult; an exit code where the structured content has one. */
void mcp_read_result(struct json_object *result, struct tool_result *ret_result);

/** Tool type "mcp". */
extern const struct tool_type mcp_tool_type;

/* ---- Servers that a user's rondo.yaml registers once ---------------------------------------- */

struct mcp_shared;

/**
 * Read `mcp_servers` of a rondo.yaml: a mapping from names to what an `mcp` entry of a role may
 * say (transport, command, args, url, headers, env, cwd, tool_filter, ..., timeout).
 * @param path for messages and for relative paths
 * @param text of the file; an empty one gives an empty registry
 * @param surroundings borrowed; NULL when no client is made
 * @param ret_shared mcp_shared_free(), which ends the servers
 */
int mcp_shared_parse(const char *path, const char *text, size_t len,
                     const struct tool_surroundings *surroundings, struct mcp_shared **ret_shared,
                     struct rondo_error *err);

/**
 * Add a server's description to the JSON object that a run keeps: all that its client needs,
 * variables as they are written. RONDO_ERR_NOT_FOUND says which names there are.
 */
int mcp_shared_pin(const struct mcp_shared *shared, const char *name, struct json_object *servers,
                   struct rondo_error *err);
/** The registry of a run, from what it keeps. @param servers a reference is taken */
struct mcp_shared *mcp_shared_pinned(struct json_object *servers,
                                     const struct tool_surroundings *surroundings);
void mcp_shared_free(struct mcp_shared *shared);
size_t mcp_shared_count(const struct mcp_shared *shared);
const char *mcp_shared_name(const struct mcp_shared *shared, size_t index);
/** What the file says of a server, with variables as they are written. Borrowed. */
struct json_object *mcp_shared_config(const struct mcp_shared *shared, size_t index);
/** The client of a server; RONDO_ERR_NOT_FOUND says which names there are. Borrowed. */
int mcp_shared_client(struct mcp_shared *shared, const char *name, struct mcp_client **ret_client,
                      struct rondo_error *err);
