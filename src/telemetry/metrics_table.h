// SPDX-License-Identifier: Apache-2.0
/* The families of metrics and their series in memory: what counting and writing share. */
#pragma once

#include "base/id.h"
#include "telemetry/metrics.h"

#include <pthread.h>
#include <uthash.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/** Labels of one family at most. */
#define METRIC_MAX_LABELS 4

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
    METRIC_STORE_CONNECTIONS,
    METRIC_STORE_WAITS,
    METRIC_STORE_WAIT_SECONDS,
    METRIC_STORE_STANDBYS,
    METRIC_STORE_LAG_SECONDS,
    METRIC_STORE_LAG_BYTES,
    METRIC_TASKS,
    METRIC_TASK_ATTEMPTS,
    METRIC_TASK_SECONDS,
    METRIC_TASK_CHECKS,
    METRIC_EVALUATIONS,
    METRIC_HANDOFF_REQUESTS,
    METRIC_HANDOFF_DECISIONS,
    METRIC_HANDOFF_OUTCOMES,
    METRIC_HANDOFF_DECISION_SECONDS,
    METRIC_HANDOFF_OPERATOR_SECONDS,
    METRIC_HANDOFF_FIRST_SECONDS,
    METRIC_HANDOFF_RESUME_SECONDS,
    METRIC_HANDOFF_REVIEW_SECONDS,
    METRIC_HANDOFF_ESCALATIONS,
    METRIC_HANDOFF_PENDING,
    METRIC_HANDOFF_STALE,
    METRIC_HANDOFF_OLDEST,
    METRIC_LANE_STATES,
    METRIC_LANE_OVERFLOWS,
    METRIC_HANDOFF_DELIVERIES,
    METRIC_HANDOFF_DUPLICATES,
    METRIC_VERIFY_FAILURES,
    METRIC_DLQ_MESSAGES,
    METRIC_REWORK,
    METRIC_FINDINGS,
    METRIC_AUDIT_ENTRIES,
    METRIC_AUDIT_VALID,
    METRIC_COUNT
};

extern const struct metric_family metric_families[METRIC_COUNT];
/** Names for OTLP where they are not those of Prometheus without their ending; else NULL. */
extern const char *const metric_otel_names[METRIC_COUNT];

/** Upper bounds of histograms, in seconds; one bucket more is above them all. */
#define METRIC_BOUNDS 14
/** The bounds of a histogram: people take longer than programs. @param ret_count how many */
const double *metric_bounds_of(const struct metric_family *family, size_t *ret_count);

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
