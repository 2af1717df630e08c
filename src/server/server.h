// SPDX-License-Identifier: Apache-2.0
/*
 * The HTTP API and the dashboard over an orchestrator and its store. docs/api.md describes it,
 * src/server/openapi/ holds the description that is served.
 */
#pragma once

#include "alert/monitor.h"
#include "net/server/http_server.h"
#include "orchestrator/orchestrator.h"
#include "telemetry/metrics.h"
#include "telemetry/telemetry.h"

struct server;
struct source_answer;
struct source_delivery;

struct server_options {
    struct runtime *runtime; /**< borrowed, as the next ones */
    struct orchestrator *orchestrator;
    struct monitor *monitor;
    struct telemetry *telemetry; /**< or NULL */
    struct metrics *metrics;
    const char *policy_path; /**< of the store's policies, absolute; or NULL */
    const char *store_path;  /**< of the store's file, for /v1/health and what is beside it;
                                  or NULL */
    const char *workspace;   /**< of runs that name none */
    /** In a process that serves several stores (server/stores.h): the name of this one; NULL = it
     *  serves one. */
    const char *store_label;
    /** With store_label, of the server that listens: the names of all, NULL-terminated, the first
     *  one that for which requests are that name none. */
    const char *const *store_labels;
    struct server *front; /**< with store_label: the server that listens for this one; NULL = it
                               listens itself. `listen` and `hosts` are the front's then */
    const char *const *listen;    /**< as in struct http_server_options */
    const char *const *hosts;     /**< further names by which clients may call it; or NULL. With one
                                       tokens are demanded of everybody: what comes under a name of
                                       outside is passed on by a proxy, which is a local program */
    bool needs_token;             /**< also from this user's own processes on this machine */
    unsigned max_connections;     /**< 0 = default */
    unsigned requests_per_second; /**< of one token or peer; 0 = SERVER_DEFAULT_RATE */
    /** Lets the webhook of a name answer; NULL = there are none. Any thread; may block.
     *  @return false: none has the name */
    bool (*receive_hook)(void *context, const char *name, const struct source_delivery *delivery,
                         struct source_answer *ret_answer);
    void *hook_context;
    struct intake *intake; /**< of a daemon, for its metrics; or NULL */
    void (*log)(void *context, const char *line);
    /** One line for each request that changed something; NULL = nobody reads them. */
    void (*audit)(void *context, const char *line);
    void *log_context;
};

#define SERVER_DEFAULT_RATE 200

/** RONDO_ERR_INVALID when one of `hosts` is no name. RONDO_ERR_BUSY when an address is taken. */
int server_start(const struct server_options *options, struct server **ret_server,
                 struct rondo_error *err);
/**
 * Notify the streams of the table of runs of a warning: for monitor_options.on_warning. Any thread,
 * until server_stop. NULL is allowed: nobody listens yet.
 */
void server_tell(struct server *server, const char *agent_id, const char *json);
/**
 * The gauges of all parts as they are now, for telemetry_options.gauges. One thread at a time,
 * until server_stop.
 * @param ret_gauges labels are borrowed until the next call
 * @return how many, at most `size`
 */
size_t server_gauges(struct server *server, struct metrics_gauge *ret_gauges, size_t size);
/** Readiness becomes 503; streams are told to come back. */
void server_drain(struct server *server);
/** Of several servers the front is stopped first: then no request is left in the others. */
void server_stop(struct server *server);
const char *server_address(const struct server *server, size_t index);
