// SPDX-License-Identifier: Apache-2.0
/*
 * How well people and agents work together, from raw facts: the audit chain says what happened, the
 * records and requests say to what. Nothing is sampled; times are exact. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "handoff/storage/store.h"

/** Least number of cases of which a share says something. */
#define STATS_LEAST_CASES 20
/** Approved within this time, nobody can have read much. */
#define STATS_QUICK_NS (60 * NS_PER_S)

/** A share of cases, and the interval in which it is with a probability of 95 % (Wilson). */
struct stats_share {
    uint64_t part;
    uint64_t whole; /**< 0 = no data */
};
/** @param ret_low, ret_high 0 and 1 when there are no data */
void stats_wilson(struct stats_share share, double *ret_low, double *ret_high);

/** Write {value, part, whole, low, high, is_enough}. Nothing of nothing is no share: null. */
void stats_write_share(struct json_writer *writer, const char *key, uint64_t part, uint64_t whole);

/** The value at a share of sorted values (nearest rank); 0 when there are none. */
int64_t stats_percentile(const int64_t *sorted, size_t count, double share);

/**
 * Append the figures of a window of time as a JSON object, without names of people and without
 * anything that agents have sent but names of triggers and rules.
 * @param from_ns, to_ns wall clock
 */
int handoff_stats(const struct handoff_store *handoffs, int64_t from_ns, int64_t to_ns,
                  struct buf *ret_json, struct rondo_error *err);
