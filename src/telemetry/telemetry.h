// SPDX-License-Identifier: Apache-2.0
/*
 * Telemetry: committed events become OTLP traces and metrics. One thread reads the journal like any
 * other reader, so no loop ever waits for a collector: the journal is the queue. What cannot be
 * delivered in time is skipped and counted.
 *
 * Settings are the standard OTEL_* variables (telemetry/otel_environment.h); without an endpoint
 * nothing is exported. Of the processes on a store one at a time exports all runs; others wait.
 * A process that exports only its own run records that, so that its spans are not sent twice.
 *
 * Delivery is at least once, up to TELEMETRY_MAX_BEHIND events of lag: after a kill the spans since
 * the last cursor are sent again, with the same ids.
 */
#pragma once

#include "base/buf.h"
#include "store/writer.h"
#include "telemetry/metrics.h"

struct http_client;
struct telemetry;

/** Events that may wait for a collector; then the older half of them is skipped. */
#define TELEMETRY_MAX_BEHIND 100000
/** Bytes of spans in one request. */
#define TELEMETRY_MAX_BATCH_BYTES (4 * 1024 * 1024)
/**
 * How long a command waits at its end for what is left to be sent, unless OTEL_BSP_EXPORT_TIMEOUT
 * says another time. Only a collector that answers slowly can make it wait so long.
 */
#define TELEMETRY_FLUSH_NS INT64_C(2000000000)
/** How long the exporter of a command waits for a connection to the collector. */
#define TELEMETRY_CONNECT_NS INT64_C(500000000)
/** The same at the end, when the collector was out of reach before. */
#define TELEMETRY_LAST_CONNECT_NS INT64_C(100000000)

struct telemetry_options {
    struct writer *writer;    /**< borrowed, as the next one */
    struct http_client *http; /**< NULL = one of its own */
    const char *run_id;       /**< export this run only, from event `after`; NULL = all runs of the
                                   store through a durable cursor */
    uint64_t after;
    const char *const *envp;       /**< NULL = environ */
    const struct metrics *metrics; /**< what to send as OTLP metrics, borrowed; NULL = what the
                                        exported events say */
    /** Gauges to be sent with the metrics. Called by the thread of the exporter. May be NULL. */
    size_t (*gauges)(void *context, struct metrics_gauge *ret_gauges, size_t size);
    void *gauges_context;
    /** A line for people, without a line end; called by that thread too. May be NULL. */
    void (*log)(void *context, const char *line);
    void *log_context;
    /** Spans as a line of OTLP's JSON with its line end, where OTEL_TRACES_EXPORTER is `console`;
     * called by that thread too. NULL = stderr. */
    void (*print)(void *context, const char *line, size_t len);
    void *print_context;
};

/** Gauges that `gauges` may give. */
#define TELEMETRY_MAX_GAUGES 160

/** Whether the environment says anything about telemetry: then telemetry_start is worth calling. */
bool telemetry_is_wanted(const char *const *envp);

/**
 * Start when the environment configures it, and no other process exports the run already.
 * @param ret_telemetry NULL when nothing is exported; telemetry_stop()
 * @return 0; RONDO_ERR_INVALID for an invalid variable (its name is in the message)
 */
int telemetry_start(const struct telemetry_options *options, struct telemetry **ret_telemetry,
                    struct rondo_error *err);

/**
 * Send what is left for up to `flush_ns`, then end; at once when the collector is out of reach.
 * OTEL_BSP_EXPORT_TIMEOUT is respected: a shorter one always, for one run a longer one too. What
 * was not sent stays after the cursor. NULL is allowed.
 */
void telemetry_stop(struct telemetry *telemetry, int64_t flush_ns);

struct telemetry_state {
    bool is_on;
    bool is_failing;           /**< the last attempt failed */
    bool is_waiting_for_owner; /**< another process exports this store */
    uint64_t sent;             /**< spans accepted, as the next ones since the start */
    uint64_t rejected;         /**< by partial success */
    uint64_t dropped;          /**< spans dropped, and events skipped */
    uint64_t behind;           /**< events not looked at yet */
    char problem[160];         /**< of the last failure; never a header */
};

/** Of no telemetry (NULL): all zero. Any thread. */
struct telemetry_state telemetry_state(struct telemetry *telemetry);
