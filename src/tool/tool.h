// SPDX-License-Identifier: Apache-2.0
/*
 * Tools that an agent can call. A tool type is one static `struct tool_type` with a row
 * in role/tools.def; opening an entry of a role's `tools` puts one or more tools into a toolbox.
 *
 * Whatever goes wrong inside a tool is a result that the model reads ("Error: ..."), never an error
 * of the run.
 */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct documents;
struct dotenv;
struct http_client;
struct json_object;
struct net_guard;
struct tool_argument;
struct toolbox;

/** What a person says to a form of an MCP server. */
enum mcp_consent {
    MCP_DECLINE = 0, /**< also: nobody is there */
    MCP_ACCEPT,
    MCP_CANCEL, /**< the question was left */
};

/**
 * Show a person a server's form (`elicitation/create`). On any thread that waits for the server.
 * @param params      of the request: `message`, `requestedSchema`; hostile
 * @param ret_content MCP_ACCEPT: an object that fits the schema, json_object_put()
 */
typedef enum mcp_consent mcp_ask_fn(void *context, const char *server, struct json_object *params,
                                    struct json_object **ret_content);

/** What tools find around them. Everything is borrowed and outlives the toolbox. */
struct tool_surroundings {
    const char *workspace;      /**< absolute: where the agent works; base of relative paths */
    const char *role_folder;    /**< absolute, or NULL */
    bool starts_in_workspace;   /**< commands do, and not in the role's folder */
    const char *model_provider; /**< of the agent, or NULL */
    const char *model_name;
    const struct dotenv *dotenv;
    struct http_client *http;
    const struct net_guard *guard;
    const struct clock *clock;
    const char *supervisor;           /**< for os/spawn, or NULL */
    const char *const *hide_paths;    /**< hidden from sandboxed commands */
    const char *const *protect_paths; /**< read-only for them, and not written by tools; or NULL */
    const char *sandbox; /**< tier for shell, script, python: "namespace" (default), ... */
    bool allow_network;  /**< whether sandboxed commands and servers have a network */
    bool is_offline;     /**< commands of tools have none all the same */
    struct json_object *security_tools; /**< normal form of spec.security.tools, or NULL */
    mcp_ask_fn *ask_form;               /**< NULL: nobody is there to answer servers */
    void *ask_context;
    struct mcp_shared *mcp;      /**< servers of rondo.yaml, or NULL */
    struct documents *documents; /**< of the agent, which web_scraper adds to; or NULL */
    struct cancel *cancel;       /**< ends waiting for servers while tools are opened; or NULL */
};

/** One call. Borrowed. */
struct tool_call {
    const char *id;                /**< of the call, unique in its run */
    const char *idempotency_key;   /**< the same when a call in doubt is repeated */
    const char *traceparent;       /**< W3C Trace Context, for MCP servers; NULL = none */
    struct json_object *arguments; /**< an object that fits the schema */
    int64_t deadline_ns;           /**< monotonic clock */
    struct cancel *cancel;
};

/** What a tool says. `text` is what the model reads. */
struct tool_result {
    struct buf text;
    bool is_error;
    bool is_truncated;
    bool has_exit_code; /**< as a verifier: exit_code is valid */
    int exit_code;
};

void tool_result_fini(struct tool_result *result);

/** Make the result an error: formatted text, by convention beginning with "Error: ". */
void tool_fail(struct tool_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Replace what is no UTF-8, and NUL bytes, by U+FFFD; of what a call returns the toolbox does. */
void tool_result_make_text(struct tool_result *result);

/** Cut the text to `max` bytes, "\n[truncated]" counted in, on a character boundary. */
void tool_result_truncate(struct tool_result *result, size_t max);

struct tool {
    char *name;
    char *description;
    char *schema;       /**< JSON Schema of the arguments, an object, as text */
    const char *type;   /**< of the role's entry: "shell", "mcp"; static */
    bool is_pure;       /**< without effect outside of the run: needs no durable intent */
    bool is_idempotent; /**< a call in doubt may simply be repeated */
    bool needs_confirmation;
    bool is_read_only;  /**< declared to change nothing; policies may ask for it */
    const char *server; /**< MCP server that offers it, for policies; NULL = built in; the type's */
    unsigned generation; /**< how often its definition was changed by its server */
    const void *source;  /**< the entry that it came from, of toolbox_watch; or NULL */
    bool is_concurrent;  /**< may run at the same time as others; calls of one reply do so only
                              when they are read-only as well */
    const struct tool_argument *arguments; /**< see tool/canonical.h; NULL = known by name */
    const char *folder; /**< absolute: where its relative paths begin; NULL = the workspace */
    struct json_object
        *permissions; /**< normal form of the entry's permissions, borrowed; or NULL */
    /** Run. Blocks up to the deadline; honours cancel. @param ret_result zeroed by the caller */
    void (*run)(const struct tool *tool, const struct tool_call *call,
                struct tool_result *ret_result);
    void *context;
};

struct tool_type {
    const char *name; /**< "filesystem" */
    /**
     * Open an entry of a role: check what a file alone cannot tell (a repository is there, a
     * variable is set), and add its tools with toolbox_add.
     * @param config normal form of the entry, borrowed for as long as the toolbox lives
     */
    int (*open)(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err);
};

/** The types that can run, ended by one without a name. */
extern const struct tool_type *const tool_types[];
/** NULL when there is no such type. */
const struct tool_type *tool_type_find(const char *name);
