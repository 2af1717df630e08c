// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of runs, counted from committed events: one table of families gives /metrics
 * (Prometheus text format 0.0.4), the OTLP form and the reference page. Counters begin with the
 * process; gauges of the store are read when asked for.
 */
#pragma once

#include "base/buf.h"
#include "journal/reader.h"

struct metrics;

/** Never NULL. metrics_free() */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/** Count one event. One thread at a time; readers may write at the same time. */
void metrics_count(struct metrics *metrics, const struct journal_entry *entry);

/** Gauges and counters of others, given when asked for. */
struct metrics_gauge {
    const char *name;   /**< row of the table */
    const char *labels; /**< "state=\"running\"", or NULL */
    double value;
};

/** Append the Prometheus text form. Any thread. */
void metrics_write(struct metrics *metrics, const struct metrics_gauge *gauges, size_t count,
                   struct buf *ret_text);
/** Append the reference in Markdown. */
void metrics_describe(struct buf *ret_text);
