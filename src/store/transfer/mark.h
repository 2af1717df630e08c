// SPDX-License-Identifier: Apache-2.0
/*
 * The mark in a store that says that it is a copy, of which store, and how far: a document that
 * changes in the transaction of each piece. So a copy that was killed at any moment goes on where
 * it was, and a store that is not whole yet is not used. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

/** What is copied, in this order; kept in stores. */
enum transfer_part {
    TRANSFER_RUNS = 0,
    TRANSFER_EVENTS,
    TRANSFER_CHECKPOINTS, /**< and interims and letters, run by run */
    TRANSFER_DOCUMENTS,
    TRANSFER_POLICIES,
    TRANSFER_OWNERS,
    TRANSFER_MEMORIES,
    TRANSFER_VECTORS,
    TRANSFER_COMPARING, /**< all is written */
    TRANSFER_SETTLING,  /**< both were found to be the same; what is beside the store is missing */
    TRANSFER_DONE,
    TRANSFER_PART_COUNT
};

/** Collection of the mark. It is never copied. */
#define TRANSFER_COLLECTION "copy"

struct transfer_mark {
    uint64_t version;  /**< of the document; 0 = there is none */
    char *from;        /**< name of the source; owned */
    uint64_t position; /**< the source's last one when the copy began */
    int64_t begun_ns;
    enum transfer_part part;
    /* The place in the part: everything up to it was written. */
    int64_t number; /**< position, time, number or id; 0 = nothing yet */
    char collection[STORE_COLLECTION_LEN + 1];
    char text[STORE_KEY_LEN + 1]; /**< id of a run or key of a document */
    uint64_t skip;                /**< parts of the run after that place that were written */
};

void transfer_mark_fini(struct transfer_mark *mark);

/** Read the mark of a store. @param ret_mark transfer_mark_fini() */
int transfer_mark_read(struct store *store, struct transfer_mark *ret_mark,
                       struct rondo_error *err);

/** The change that writes a mark in place of the one with its version. @param ret_json its data */
struct store_change transfer_mark_change(const struct transfer_mark *mark, struct buf *ret_json);

/**
 * Refuse a store that is a copy which is not finished.
 * @param name of the store, for people
 * @return 0, RONDO_ERR_STATE, or the error of reading it
 */
int transfer_check_whole(struct store *store, const char *name, struct rondo_error *err);
