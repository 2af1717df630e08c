// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of runs, counted from committed events: one table of families gives /metrics
 * (Prometheus text format 0.0.4), the OTLP form and the reference page. Counters begin with the
 * process; gauges of the store are read when asked for.
 */
#pragma once

#include "base/buf.h"
#include "journal/event.h"

struct metrics;

/** Series of one family; what comes later is counted under "other". */
#define METRICS_MAX_SERIES 200
/** Open runs whose models are remembered. */
#define METRICS_MAX_RUNS 10000
/** A label's value, bytes; longer ones are cut. */
#define METRICS_LABEL_BYTES 64

/** Never NULL. metrics_free() */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/** Count one event. One thread at a time; readers may write at the same time. */
void metrics_count(struct metrics *metrics, const struct journal_entry *entry);

/**
 * Count or measure something that is no event: a counter or histogram of the table, with the values
 * of its labels in their order. Any thread.
 * @param labels as many as the family has; NULL = it has none
 */
void metrics_add(struct metrics *metrics, const char *name, const char *const *labels,
                 double number);

/** Gauges and counters of others, given when asked for. */
struct metrics_gauge {
    const char *name;   /**< row of the table */
    const char *labels; /**< "state=\"running\"", or NULL */
    double value;
};

/** Append the Prometheus text form. Any thread. */
void metrics_write(const struct metrics *metrics, const struct metrics_gauge *gauges, size_t count,
                   struct buf *ret_text);

/** Append the metrics of an OTLP request, for otlp_write_metrics_head. @param now_ns wall clock */
void metrics_write_otlp(const struct metrics *metrics, const struct metrics_gauge *gauges,
                        size_t count, int64_t now_ns, struct buf *ret_json);

/** Append the reference in Markdown. */
void metrics_describe(struct buf *ret_text);
