// SPDX-License-Identifier: Apache-2.0
/* The families of metrics and their series in memory: what counting and writing share. */
#pragma once

#include "base/id.h"
#include "telemetry/metrics.h"

#include <pthread.h>
#include <uthash.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/** Labels of one family at most. */
#define METRIC_MAX_LABELS 3

struct metric_family {
    const char *name; /**< of Prometheus; counters end in _total */
    enum metric_kind kind;
    const char *unit; /**< UCUM, for OTLP; "1" = none */
    const char *help;
    const char *labels[METRIC_MAX_LABELS]; /**< up to the first NULL */
    bool is_given; /**< of others: written from what metrics_write is given */
};

/** Rows of the table. The order is that of metric_families. */
enum metric_id {
    METRIC_RUNS,
    METRIC_RUNS_STARTED,
    METRIC_RUNS_RESUMED,
    METRIC_RUNS_FINISHED,
    METRIC_ITERATIONS,
    METRIC_ITERATION_SECONDS,
    METRIC_MODEL_REQUESTS,
    METRIC_MODEL_RETRIES,
    METRIC_MODEL_SECONDS,
    METRIC_TOKENS,
    METRIC_COST,
    METRIC_TOOL_CALLS,
    METRIC_TOOL_SECONDS,
    METRIC_CONDITIONS,
    METRIC_CONDITION_SECONDS,
    METRIC_CHECKPOINTS,
    METRIC_CHECKPOINT_BYTES,
    METRIC_CHECKPOINT_SECONDS,
    METRIC_POLICY_DECISIONS,
    METRIC_POLICY_CHANGES,
    METRIC_WARNINGS,
    METRIC_STORAGE_FAILURES,
    METRIC_COMMITS,
    METRIC_COMMIT_BATCHES,
    METRIC_COMMIT_EVENTS,
    METRIC_COMMIT_SECONDS,
    METRIC_QUEUE,
    METRIC_TRIGGER_EVENTS,
    METRIC_HTTP_REQUESTS,
    METRIC_HTTP_SECONDS,
    METRIC_STREAMS,
    METRIC_DELIVERIES,
    METRIC_SPANS_SENT,
    METRIC_SPANS_REJECTED,
    METRIC_TELEMETRY_DROPPED,
    METRIC_TELEMETRY_BEHIND,
    METRIC_STORE_BYTES,
    METRIC_COUNT
};

extern const struct metric_family metric_families[METRIC_COUNT];

/** Upper bounds of histograms, in seconds; one bucket more is above them all. */
#define METRIC_BOUNDS 14
extern const double metric_bounds[METRIC_BOUNDS];

struct metric_series {
    char *labels[METRIC_MAX_LABELS]; /* owned */
    double sum;
    uint64_t count; /* of histograms, as the next one */
    uint64_t buckets[METRIC_BOUNDS + 1];
};

struct metric_list {
    struct metric_series *series;
    size_t count;
};

/** What one run is known by, as long as it has not ended. */
struct metric_run {
    char run_id[ID_SIZE];
    char model[METRICS_LABEL_BYTES + 1]; /* asked last: replies do not name theirs */
    uint64_t copied_until;               /* of a fork: its source's events */
    UT_hash_handle hh;
};

struct metrics {
    pthread_mutex_t *lock; /* its own, so that readers may be const; guards the lists */
    struct metric_list lists[METRIC_COUNT];
    struct metric_run *runs; /* of the thread that counts */
    int64_t started_ns;
};

/** Number of a family's labels. */
size_t metric_label_count(const struct metric_family *family);
