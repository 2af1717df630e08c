// SPDX-License-Identifier: Apache-2.0
/*
 * Copying a store into another one, between back ends or within one, and comparing two stores.
 * Nobody works with either of them meanwhile: runs that are executed are refused at the beginning,
 * and a source that changed all the same is found by the comparison at the end.
 *
 * Everything keeps its numbers: runs their ids, events their positions, documents their versions,
 * memories their ids. So what follows all runs (servers, clients with Last-Event-ID, sinks) goes on
 * where it was. Events are copied in the order of positions, not run by run: that is one
 * sequential reading, whose place is one number, and a target's index of positions only grows at
 * its end. Only commands to runs get new ids, which nobody keeps.
 *
 * Memory is bounded by LIMIT_STORE_PIECE_BYTES and the largest single part. Any thread; the stores
 * are used by the calling one only.
 */
#pragma once

#include "store/store.h"
#include "store/transfer/mark.h"

struct buf;

/** What was read, and is in both stores. */
struct transfer_totals {
    uint64_t runs;
    uint64_t events;
    uint64_t checkpoints; /**< interims too */
    uint64_t letters;
    uint64_t documents;
    uint64_t policies;
    uint64_t memories;
    uint64_t vectors;
    uint64_t bytes; /**< of all texts and states */
};

struct transfer {
    struct store *from;
    struct store *to;
    const char *from_name; /**< for people, and what the mark has; the same at each try */
    const char *to_name;
    /** Collections that belong to what is beside a store; NULL-terminated. */
    const char *const *left_out;
    size_t piece_parts; /**< of one transaction; 0 = LIMIT_STORE_PIECE_PARTS */
    /** Whether a living process executes a run. */
    bool (*is_executed)(const struct store_run *run, int64_t now_ns);
    /** Append the further words by which a memory is found; see struct store_memory. */
    void (*write_grams)(const char *content, struct buf *ret_grams);
    /**
     * When all is copied and was compared, before the target may be used: put in force what is
     * beside the stores. It may be called again after a kill.
     */
    int (*settle)(void *context, struct rondo_error *err);
    /** After each piece, and each run that is compared. @return false: end with
     *  RONDO_ERR_CANCELLED */
    bool (*progress)(void *context, enum transfer_part part, const struct transfer_totals *so_far);
    /** Something differs. @param what in words */
    void (*difference)(void *context, const char *what);
    void *context;
};

enum transfer_outcome {
    TRANSFER_COPIED = 0,
    TRANSFER_WAS_COPIED, /**< the target was copied from the source before, and the source has no
                              newer events */
    TRANSFER_DIFFERS,    /**< the source changed meanwhile, or one of them is damaged: differences
                              were reported, and the target stays unfinished */
};

/**
 * Copy, or go on with a copy that was interrupted.
 * @param ret_totals what is in both when it was copied
 * RONDO_ERR_STATE for a target that is not empty and no copy of this source, or that is the source,
 * and for a source that changed since the copy began; RONDO_ERR_BUSY when one of its runs is
 * executed, or another process copies to the target; RONDO_ERR_UNSUPPORTED when a back end cannot
 * do it. After any other error the same call continues.
 */
int transfer_copy(const struct transfer *transfer, enum transfer_outcome *ret_outcome,
                  struct transfer_totals *ret_totals, struct rondo_error *err);

/**
 * Compare by SHA-256 digests: each run's row, journal, checkpoints and letters, each collection of
 * documents, the history of policies as far as the source has it, the memories. Who held a run, and
 * epochs, do not count.
 * @param ret_differences how many were reported
 */
int transfer_compare(const struct transfer *transfer, uint64_t *ret_differences,
                     struct transfer_totals *ret_totals, struct rondo_error *err);

/** Whether a collection is neither copied nor compared. */
bool transfer_is_left_out(const struct transfer *transfer, const char *collection);
