// SPDX-License-Identifier: Apache-2.0
/*
 * The messages of the Model Context Protocol (JSON-RPC 2.0): cutting a stream into them, writing
 * ours, sorting theirs, and the answers to what servers ask. Pure; no I/O.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"
#include "tool/tool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** Versions that begin with `initialize`, newest first, then NULL. */
extern const char *const mcp_legacy_versions[];
/** The version of requests that describe themselves. */
#define MCP_MODERN_VERSION "2026-07-28"

/** @return the static text of a version that we speak, or NULL */
const char *mcp_known_version(const char *version);

/* ---- Lines ---------------------------------------------------------------------------------- */

/** A byte stream that is cut at line feeds. Zeroed to begin. */
struct mcp_lines {
    struct buf buf;
    size_t searched; /**< bytes of `buf` known to hold no line feed */
};

void mcp_lines_fini(struct mcp_lines *lines);

/**
 * Take in bytes.
 * @param on_line gets each line without its end (LF or CRLF), borrowed; empty lines are left out.
 *                Returns whether to continue
 * @return 0, or RONDO_ERR_LIMIT for a line above MCP_FRAME_MAX_BYTES
 */
int mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t len,
                   bool (*on_line)(void *context, const char *line, size_t len), void *context,
                   struct rondo_error *err);

/* ---- What servers send ---------------------------------------------------------------------- */

enum mcp_kind {
    MCP_NOISE, /**< not a message of the protocol */
    MCP_REPLY, /**< to a request of ours; its id is a number */
    MCP_REQUEST,
    MCP_NOTIFICATION,
};

/** @param ret_id MCP_REPLY: the request's id, -1 for a reply that names none */
enum mcp_kind mcp_message_kind(struct json_object *message, int64_t *ret_id);

/** Requests under way whose progress is remembered. */
#define MCP_PROGRESS_SLOTS 64

/** What a client does with requests and notifications of its server. */
struct mcp_inbox {
    bool accepts_defaults; /**< see struct mcp_options */
    mcp_ask_fn *ask;       /**< a person; or NULL */
    void *ask_context;
    const char *server;                              /**< its name; borrowed */
    _Atomic bool has_changed_tools;                  /**< a notification said so */
    _Atomic int64_t progress_id[MCP_PROGRESS_SLOTS]; /**< by id of the request, */
    _Atomic int64_t progress_ns[MCP_PROGRESS_SLOTS]; /**< when it last reported; monotonic */
    _Atomic uint64_t tool_changes;                   /**< how many notifications said so */
};

/** When a request last reported progress; 0 = never. */
int64_t mcp_inbox_progress(const struct mcp_inbox *inbox, int64_t id);

/**
 * Take in a request or notification.
 * @param ret_answer the answer to send is appended, without line end; nothing for notifications
 */
void mcp_inbox_take(struct mcp_inbox *inbox, struct json_object *message, struct buf *ret_answer);

/**
 * Write the answers to the `inputRequests` of a result (2026-07-28) as one object.
 * @return RONDO_ERR_UNSUPPORTED when one requests what we never give
 */
int mcp_answer_inputs(struct json_object *requests, const struct mcp_inbox *inbox,
                      struct buf *ret_json, struct rondo_error *err);

/** Whether a message is a form that a person may be asked about, by mcp_inbox_answer. */
bool mcp_inbox_is_form(const struct mcp_inbox *inbox, struct json_object *message);
/** Answer a request as mcp_inbox_take does, asking the person: blocks for as long as they take. */
void mcp_inbox_answer(const struct mcp_inbox *inbox, struct json_object *message,
                      struct buf *ret_answer);

/* ---- What we send --------------------------------------------------------------------------- */

/** A request. NULL leaves a part out. */
struct mcp_outgoing {
    int64_t id; /**< negative: a notification */
    const char *method;
    bool is_modern; /**< describes itself: 2026-07-28 */
    bool accepts_defaults;
    bool asks_person;
    const char *cursor;
    const char *name;
    const char *arguments;       /**< JSON object */
    const char *input_responses; /**< JSON object */
    const char *request_state;   /**< opaque text; request_state_len bytes */
    size_t request_state_len;
    const char *traceparent; /**< in _meta; NULL = none */
    bool reports_progress;   /**< requests it, with the id as token */
    int64_t cancels;         /**< notifications/cancelled: id of the request; else 0 */
};

/** Append the message, one line without its end. */
void mcp_write(const struct mcp_outgoing *outgoing, struct buf *ret_text);

/** Append an `initialize` request. */
void mcp_write_initialize(int64_t id, bool accepts_defaults, bool asks_person,
                          struct buf *ret_text);

/* ---- Replies -------------------------------------------------------------------------------- */

/** Code of a reply's error, 0 when it has a result. */
int64_t mcp_reply_error_code(struct json_object *reply);

/** Errors of 2026-07-28 by which a server shows that it speaks it. */
#define MCP_ERROR_HEADER_MISMATCH     (-32020)
#define MCP_ERROR_MISSING_CAPABILITY  (-32021)
#define MCP_ERROR_UNSUPPORTED_VERSION (-32022)
bool mcp_is_modern_error(int64_t code);

/** Whether an error's data, or a discovery's result, names a version as supported. */
bool mcp_reply_supports(struct json_object *reply, const char *version);

/** The error of a reply as ours: "SERVER says: MESSAGE (-32602)". @return its code */
int mcp_reply_to_error(struct json_object *reply, const char *server, struct rondo_error *err);

/** Copy text for a message: control characters become blanks, the end is cut at `size` - 1. */
void mcp_clean_text(const char *text, size_t len, char *ret_text, size_t size);
