// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of requests to people, counted from committed facts: the audit chain is their journal,
 * and is followed by its numbers. Counters begin with the process, so nothing is counted twice
 * after a restart. Any thread; those that come at once wait for each other.
 */
#pragma once

#include "handoff/storage/store.h"
#include "telemetry/metrics.h"

struct handoff_meter;

/** @param store, metrics borrowed @return never NULL */
struct handoff_meter *handoff_meter_new(struct store *store, struct metrics *metrics);
void handoff_meter_free(struct handoff_meter *meter);

/** Count what has happened since the last call; of the first one, nothing. */
void handoff_meter_follow(struct handoff_meter *meter);

/** @param labels "queue=\"operators\"" @return whether to continue */
typedef void handoff_gauge_fn(void *context, const char *name, const char *labels, double value);

/** Give the gauges of requests that wait, as they are now. */
void handoff_meter_gauges(struct handoff_meter *meter, int64_t now_ns, handoff_gauge_fn *fn,
                          void *context);
