// SPDX-License-Identifier: Apache-2.0
/*
 * What must be true of a store after any crash, compared with what was acknowledged to its victims:
 *
 *  1. the database is intact;
 *  2. seq of each run is 1, 2, 3, ...; the run's row agrees;
 *  3. the epochs of run.claimed strictly increase;
 *  4. iterations begin in order, one at a time, with attempts 1, 2, ...; no number finishes twice
 *     and none begins again once it has finished; what was cut off is marked as interrupted;
 *  5. everything acknowledged is there: the very event, checkpoint and final status;
 *  6. every effect has its iteration.started (intent before effect), happened once for each attempt
 *     at most, and no iteration finished without its effect;
 *  7. checkpoints that the journal names are there with the digest it names, unless pruned, and are
 *     valid.
 *
 * A violation fails the cmocka test. The victims must be dead or done. One thread.
 */
#pragma once

#include "scene.h"

#include "base/id.h"

#include <stddef.h>

enum fact_kind {
    FACT_STARTED,    /**< the run exists */
    FACT_CLAIMED,    /**< number = epoch */
    FACT_BEGUN,      /**< number = iteration, attempt, seq */
    FACT_CHECKPOINT, /**< number = checkpoint */
    FACT_ENDED,      /**< text = final status */
    FACT_EVENT,      /**< number = seq of an event that the command line has shown */
};

/** Something that was acknowledged to a victim. */
struct acknowledged_fact {
    char run_id[ID_SIZE];
    enum fact_kind kind;
    uint64_t number;
    uint64_t attempt;
    uint64_t seq;
    char text[32];
};

/** All that was acknowledged so far, on one store. */
struct ledger {
    struct acknowledged_fact *facts;
    size_t count;
    size_t room;
};

void ledger_clear(struct ledger *ledger);

/**
 * Note every acknowledgement in what a victim, or `rondo --json`, has said. A line with "!" fails
 * the test; a torn last line (the victim died while writing) is ignored.
 */
void ledger_read(struct ledger *ledger, const struct buf *output);

/** What a check has seen, for figures and further tests. */
struct check_findings {
    uint64_t runs;
    uint64_t events;
    uint64_t finished;
    uint64_t interrupted;
    uint64_t claims;
    uint64_t checkpoints; /**< valid ones */
    uint64_t effects;
    uint64_t degraded; /**< storage.degraded events */
    uint64_t unfinished_runs;
    uint64_t open_iterations; /**< begun, without a result or a mark yet */
    char last_run[ID_SIZE];
};

/**
 * Check a copy of the store, so that the next victim meets the log that the last one left.
 * @param ledger NULL = nothing was acknowledged
 */
struct check_findings check_store(struct crash_scene *scene, const struct ledger *ledger);
