// SPDX-License-Identifier: Apache-2.0
/*
 * Telemetry: committed events become OTLP traces and metrics. One thread reads the journal like any
 * other reader, so no loop ever waits for a collector: the journal is the queue. What cannot be
 * delivered in time is skipped and counted.
 *
 * Settings are the standard OTEL_* variables; without an endpoint nothing is exported.
 */
#pragma once

#include "base/buf.h"
#include "store/writer.h"

struct http_client;
struct telemetry;

struct telemetry_options {
    struct writer *writer; /**< borrowed, as the next one */
    struct http_client *http;
    const char *run_id; /**< export this run only, from event `after`; NULL = all runs of the
                             store through a durable cursor */
    uint64_t after;
    const char *const *envp;       /**< NULL = environ */
    const struct metrics *metrics; /**< what to send as OTLP metrics; or NULL */
    void (*log)(void *context, const char *line);
    void *log_context;
};

/**
 * Start when the environment asks for it.
 * @param ret_telemetry NULL when nothing is to be exported; telemetry_stop()
 * @return 0; RONDO_ERR_INVALID for a variable that makes no sense (its name is in the message)
 */
int telemetry_start(const struct telemetry_options *options, struct telemetry **ret_telemetry,
                    struct rondo_error *err);

/** Send what is left for up to `flush_ns`, then end. NULL is allowed. */
void telemetry_stop(struct telemetry *telemetry, int64_t flush_ns);

struct telemetry_state {
    bool is_on;
    bool is_failing;   /**< the last attempt failed */
    uint64_t sent;     /**< spans accepted, as the next ones since the start */
    uint64_t rejected; /**< by partial success */
    uint64_t dropped;  /**< given up */
    uint64_t behind;   /**< events not looked at yet */
    char problem[160]; /**< of the last failure; never a header */
};
struct telemetry_state telemetry_state(struct telemetry *telemetry);
