// SPDX-License-Identifier: Apache-2.0
/*
 * The past of a run, for an exporter that meets it in its middle: its journal is read backwards to
 * the claims that matter, and replayed from there. Reads the store; one thread.
 */
#pragma once

#include "store/store.h"
#include "telemetry/spans.h"

/** Events before the present one among which the claims are looked for. */
#define PAST_MAX_EVENTS 200000

/**
 * Replay what came before an event.
 * @param seq of the event that spans_add did not take
 * @return 0, or the store's error. Of a run that is too long only a part of the past is known then.
 */
int past_replay(struct store *store, struct spans *spans, const char *run_id, uint64_t seq,
                struct rondo_error *err);
