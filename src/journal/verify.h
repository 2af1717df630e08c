// SPDX-License-Identifier: Apache-2.0
/*
 * Reading everything that a store has of runs, as a resume would: rows, journals (decoded and
 * folded), checkpoints and interims (with their digests), commands to runs, and beside them the
 * history of policies, the documents and the memories. Nothing is changed, and no run is held in
 * memory whole.
 */
#pragma once

#include "store/store.h"

/** What was read so far. */
struct journal_verified {
    uint64_t runs;
    uint64_t events;
    uint64_t checkpoints; /**< interims too */
    uint64_t letters;
    uint64_t policies;
    uint64_t documents;
    uint64_t memories;
    uint64_t damages;
};

/** Who follows the reading. Called between the store's callbacks, by the thread that reads. */
struct journal_verify_listener {
    /**
     * Something cannot be used.
     * @param run_id of the run, "" = of none
     * @param detail for people
     */
    void (*damage)(void *context, const char *run_id, const char *detail);
    /** After each run. @return false to end early: then RONDO_ERR_CANCELLED */
    bool (*progress)(void *context, const struct journal_verified *so_far);
    void *context;
};

/**
 * Read everything. Runs that begin, end or are deleted meanwhile are no damage.
 * @param ret_verified set in any case
 * @return 0 when it was read to the end, damage or not; else the store's error. Any thread.
 */
int journal_verify(struct store *store, const struct journal_verify_listener *listener,
                   struct journal_verified *ret_verified, struct rondo_error *err);
