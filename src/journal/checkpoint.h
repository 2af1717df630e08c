// SPDX-License-Identifier: Apache-2.0
/*
 * Checkpoints: the stored fold of a run at one point, with the agent's opaque state.
 *
 * Format 1. The digest is SHA-256 over, in this order: the text "rondo-checkpoint-1", run id,
 * number, seq, iteration, time, then fold, custom data, conditions and the agent's state before
 * compression, each text or blob preceded by its length, all numbers 64-bit big-endian. A
 * checkpoint whose digest does not fit is never used.
 */
#pragma once

#include "base/buf.h"
#include "journal/state.h"
#include "store/store.h"

#define CHECKPOINT_FORMAT 1

/** A checkpoint in memory, verified. Owns its buffers; checkpoint_fini(). */
struct checkpoint {
    uint64_t number;
    uint64_t iteration; /**< the one that was being worked on, else the last with a result */
    int64_t time_ns;
    unsigned char sha256[32];
    struct run_state state;
    struct buf agent_state; /**< opaque bytes of the agent */
    char *custom_data;      /**< JSON or NULL */
    char *conditions;       /**< JSON object: name to "met" or "not_met" */
};

void checkpoint_fini(struct checkpoint *checkpoint);

/** A checkpoint made ready for the store; its buffers back the store_checkpoint. */
struct checkpoint_record {
    struct store_checkpoint stored;
    struct buf agent_state; /* as stored */
    struct buf fold;
    struct buf conditions;
    char *custom_data;
};

/**
 * Make the stored form.
 * @param state       the fold that contains the checkpoint.saved event itself
 * @param agent_state at most LIMIT_STATE_BYTES; copied or compressed
 * @param custom_data JSON or NULL; copied
 */
void checkpoint_record_init(struct checkpoint_record *record, const char *run_id,
                            const struct run_state *state, const struct buf *agent_state,
                            const char *custom_data, int64_t time_ns);
/**
 * Make the stored form of an interim: what a checkpoint would hold, without a number and without an
 * event. The store keeps one for each run, until the next checkpoint or interim.
 * @param state the fold that contains the last event it is committed with
 */
void checkpoint_interim_init(struct checkpoint_record *record, const char *run_id,
                             const struct run_state *state, const struct buf *agent_state,
                             const char *custom_data, int64_t time_ns);
void checkpoint_record_fini(struct checkpoint_record *record);
/** Release one that was allocated. NULL is allowed. */
void checkpoint_record_free(struct checkpoint_record *record);

/**
 * Load and verify one checkpoint.
 * @param number its number, 0 = the newest, STORE_INTERIM = the run's interim
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_CORRUPT when digest or content are wrong;
 *         RONDO_ERR_VERSION for a newer format; or the store's error
 */
int checkpoint_load(struct store *store, const char *run_id, uint64_t number,
                    struct checkpoint *ret_checkpoint, struct rondo_error *err);
