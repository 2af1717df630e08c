// SPDX-License-Identifier: Apache-2.0
/*
 * The monitor: one thread that reads the journal of all runs through a durable cursor and makes
 * warnings of what people should know. A warning, its deliveries to the sinks and the cursor are
 * one transaction of the store, so each is made exactly once, whatever dies in between.
 *
 * Collections of documents: "monitor" (cursor, refused), "monitor-run" (what was reported of a run
 * and must be reported once), "notice" (alert/notice.h), "warning" (key: position of the event in
 * 20 digits; for stalls the position that the monitor had reached, and "-stalled-RUN"; for notices
 * that position and "-event-ID"), "sink", "delivery", "dead-letter".
 *
 * The first monitor of a store begins at its first event, but warns only of what happened from an
 * hour before on: a store with years of history must not flood people.
 *
 * Threads: one that reads the journal, MONITOR_DELIVERIES that make deliveries. All functions but
 * monitor_stop may be called from any thread; monitor_tick by one at a time.
 */
#pragma once

#include "alert/warning.h"
#include "store/writer.h"

struct http_client;
struct json_object;
struct monitor;
struct runtime;

#define MONITOR_DEFAULT_STALL_NS INT64_C(600000000000)
/** Warnings of older events are not made when the first monitor of a store begins. */
#define MONITOR_HISTORY_NS INT64_C(3600000000000)
/** Deliveries that are attempted at the same time, never two to one sink. */
#define MONITOR_DELIVERIES 4

struct monitor_options {
    struct writer *writer;    /**< borrowed, as the next ones */
    struct http_client *http; /**< for webhooks */
    struct runtime
        *runtime; /**< its desk file says what warnings may not show; NULL = there is none */
    const char *supervisor;    /**< for commands, as in struct runtime_options */
    const struct clock *clock; /**< NULL = the machine's */
    struct random *random;     /**< NULL = the kernel's */
    int64_t stall_ns;          /**< 0 = default, -1 = never */
    const char *base_url;      /**< of the dashboard, for links; or NULL */
    bool has_no_thread;        /**< tests call monitor_tick themselves */
    void (*log)(void *context, const char *line);
    void *log_context;
    /**
     * Called once for each warning that comes into the store, by whichever monitor; NULL = nobody.
     * On the monitor's thread. Not durable: what comes while no process listens is not reported.
     */
    void (*on_warning)(void *context, const char *agent_id, const char *json);
    void *on_warning_context;
};

int monitor_start(const struct monitor_options *options, struct monitor **ret_monitor,
                  struct rondo_error *err);
void monitor_stop(struct monitor *monitor);

/**
 * One round: read what is new and look for stalled runs; without threads also attempt the
 * deliveries that are due, one after the other.
 * @return 0, or the store's error: the next round begins where the cursor is
 */
int monitor_tick(struct monitor *monitor, struct rondo_error *err);

/**
 * Read what is new, and attempt the deliveries of one run that are due, one after the other. For a
 * process that has executed the run and ends.
 * @param ret_waiting deliveries of the run that must be repeated
 */
int monitor_send_results(struct monitor *monitor, const char *run_id, uint64_t *ret_waiting,
                         struct rondo_error *err);

struct monitor_state {
    uint64_t position;                     /**< of the last event that was looked at */
    uint64_t warnings[WARNING_KIND_COUNT]; /**< made since the start */
    uint64_t deliveries_ok;
    uint64_t deliveries_failed; /**< attempts */
    uint64_t deliveries_dead;   /**< dead-lettered since the start */
    uint64_t pending;
    uint64_t dead;
};
struct monitor_state monitor_state(struct monitor *monitor);
