// SPDX-License-Identifier: Apache-2.0
/*
 * What exporters leave in the store (documents of the collection "telemetry"): how far all runs
 * were sent ("cursor"), which process sends them ("exporter"), and how far a process sent its own
 * run
 * ("run/ID"), so that nothing is sent twice. One thread a record.
 */
#pragma once

#include "base/id.h"
#include "store/store.h"

/** An owner that did not renew for so long is none. */
#define EXPORTER_STALE_NS INT64_C(15000000000)
/** How often it renews. */
#define EXPORTER_RENEW_NS INT64_C(5000000000)
/** Own runs that are remembered; of more, the oldest are forgotten. */
#define EXPORTER_MAX_OWN_RUNS 1000

/** Whether a living process sends all runs of the store. Errors count as no. */
bool exporter_is_owned(struct store *store, int64_t now_ns);

/**
 * Become, or stay, the process that sends all runs.
 * @return whether it is; false also when the store fails
 */
bool exporter_own(struct store *store, const char *owner, int64_t now_ns);
/** Stop to be it. */
void exporter_disown(struct store *store, const char *owner);

/** @return 0, or the store's error; `*ret_position` stays as it is when there is no cursor. */
int exporter_read_cursor(struct store *store, uint64_t *ret_position, struct rondo_error *err);
int exporter_write_cursor(struct store *store, uint64_t position, struct rondo_error *err);

/** How far a run was sent by its own process; 0 = not at all. */
uint64_t exporter_read_run(struct store *store, const char *run_id);
void exporter_write_run(struct store *store, const char *run_id, uint64_t seq);
/** Forget that, and the oldest ones when there are too many. */
void exporter_forget_run(struct store *store, const char *run_id);
void exporter_trim_runs(struct store *store);
