// SPDX-License-Identifier: Apache-2.0
/*
 * The connection between an MCP client (mcp/client.c) and its server: one request goes out,
 * its reply comes back, or a reason why not. A transport knows nothing of tools or versions but
 * what an exchange tells it.
 */
#pragma once

#include "base/cancel.h"
#include "mcp/mcp.h"
#include "mcp/message.h"

struct clock;

/** A header of a request. Owned by the list. */
struct mcp_header {
    char *name;
    char *value;
};

struct mcp_header_list {
    struct mcp_header *items;
    size_t count;
};

void mcp_header_list_add(struct mcp_header_list *list, const char *name, const char *value);
void mcp_header_list_fini(struct mcp_header_list *list);

/** One request and its reply. Borrowed but for `reply`. */
struct mcp_exchange {
    int64_t id;
    const char *method;
    const char *name;    /**< of the tool that is called, or NULL */
    const char *version; /**< that is spoken, or NULL before that is known */
    bool is_modern;      /**< 2026-07-28 */
    const char *body;
    size_t body_len;
    const struct mcp_header_list *headers; /**< of arguments; or NULL */
    int64_t deadline_ns;
    int64_t patience_ns; /**< that a report of progress adds; 0 = none */
    int64_t latest_ns;   /**< upper bound of the extension */
    struct cancel *cancel;
    struct json_object *reply; /**< out: the whole message, or NULL; json_object_put() */
    long status;               /**< out: of HTTP; 0 without one */
    bool is_session_lost;      /**< out: the server has forgotten us; nothing was executed */
};

/** The deadline of an exchange, with what its progress has added. */
int64_t mcp_exchange_deadline(const struct mcp_inbox *inbox, const struct mcp_exchange *exchange);

struct mcp_transport_ops {
    /**
     * Make the server reachable: start it, or begin a new session. One thread at a time.
     * @param ret_session number of what was begun; it ends when is_alive says so
     */
    int (*start)(void *self, int64_t deadline_ns, struct cancel *cancel, uint64_t *ret_session,
                 struct rondo_error *err);
    bool (*is_alive)(void *self, uint64_t session);
    /**
     * Send a request and wait for its reply. Any thread.
     * @return 0 with `reply`, with `is_session_lost`, or (HTTP) with an error status only
     */
    int (*exchange)(void *self, uint64_t session, struct mcp_exchange *exchange,
                    struct rondo_error *err);
    /** Send a notification; what becomes of it is not known. `exchange` has no id. */
    int (*notify)(void *self, uint64_t session, const struct mcp_exchange *exchange,
                  struct rondo_error *err);
    /** The handshake is over: the server may begin to ask. May be NULL. */
    void (*opened)(void *self, uint64_t session, const char *version);
    /** Release what was started: the next start begins anew. */
    void (*stop)(void *self, uint64_t session);
    void (*free)(void *self);
};

extern const struct mcp_transport_ops mcp_stdio_ops;
extern const struct mcp_transport_ops mcp_http_ops;

/** @param inbox borrowed, as are options->surroundings. @param ret_self for mcp_stdio_ops */
int mcp_stdio_new(const struct mcp_options *options, struct mcp_inbox *inbox, void **ret_self,
                  struct rondo_error *err);
/** @param ret_self for mcp_http_ops */
int mcp_http_new(const struct mcp_options *options, struct mcp_inbox *inbox, void **ret_self,
                 struct rondo_error *err);
