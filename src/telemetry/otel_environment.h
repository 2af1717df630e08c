// SPDX-License-Identifier: Apache-2.0
/*
 * The standard OTEL_* variables: one table for reading them and for their reference page.
 * Source: OpenTelemetry specification 1.x, "Environment Variable Specification" and "OTLP Exporter
 * Configuration". An empty variable counts as one that is not set. Pure functions; any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Headers that go with each request. */
#define OTEL_MAX_HEADERS 64
/** Attributes of the resource. */
#define OTEL_MAX_RESOURCE_ATTRIBUTES 128
/** The value of one variable, bytes. */
#define OTEL_MAX_VALUE_BYTES 16384

/** Names and decoded values in their order; a name that comes again replaces its value. */
struct otel_pairs {
    struct otel_pair {
        char *name;
        char *value;
    } * pairs;
    size_t count;
};

/** Where one signal goes. */
struct otel_signal {
    bool is_on;
    bool is_console;           /**< it is written out here, and goes nowhere; of traces only */
    char *endpoint;            /**< whole URL; NULL when the signal is off, or written out */
    struct otel_pairs headers; /**< secret: never shown */
    int64_t timeout_ns;        /**< of one request */
    bool is_gzip;
    char *certificate; /**< file with certificates that are trusted; NULL = the system's */
    bool is_json;      /**< false: another encoding was asked for, which we do not have */
};

enum otel_sampler { OTEL_SAMPLE_ALL, OTEL_SAMPLE_NONE, OTEL_SAMPLE_RATIO };

struct otel_environment {
    struct otel_signal traces;
    struct otel_signal metrics;
    char *service_name;
    struct otel_pairs resource; /**< service.name left out */
    enum otel_sampler sampler;
    double sample_ratio; /**< 0 to 1; of OTEL_SAMPLE_RATIO */
    int64_t batch_delay_ns;
    int64_t batch_timeout_ns; /**< how long one batch is tried; 0 = as long as the backlog allows */
    int64_t batch_spans;
    int64_t queue_events; /**< events that may wait; 0 = our own limit */
    int64_t metrics_interval_ns;
    int64_t value_bytes; /**< longest text of an attribute */
    bool captures_content;
};

/** Whether any OTEL_* variable is set: without one nothing needs to be looked at. */
bool otel_environment_is_any(const char *const *envp);

/**
 * @param ret_environment otel_environment_fini(), also after an error
 * @return 0, or RONDO_ERR_INVALID with the name of the variable, never its value
 */
int otel_environment_read(const char *const *envp, struct otel_environment *ret_environment,
                          struct rondo_error *err);
void otel_environment_fini(struct otel_environment *environment);

/** Whether the spans of a trace are sent: the same answer in every process. @param trace_id hex */
bool otel_is_sampled(const struct otel_environment *environment, const char *trace_id);

/** Append the table of variables in Markdown. */
void otel_environment_describe(struct buf *ret_text);
