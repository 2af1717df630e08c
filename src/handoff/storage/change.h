// SPDX-License-Identifier: Apache-2.0
/*
 * A transaction of handoffs while it is put together, and what it means for what waits for people:
 * the counts, and which action waits in which lane, so that the same one again is joined and not
 * asked twice. Both change in the transaction that makes a handoff wait or ends that. For the files
 * of handoff/store; any thread.
 *
 * Documents: `handoff-count` (handoff/storage/count.h); `handoff-action` (by agent, lane and
 * action: the request that waits with it).
 */
#pragma once

#include "base/buf.h"
#include "handoff/step.h"
#include "handoff/storage/count.h"
#include "rondo/error.h"
#include "store/store.h"

struct handoff_store;

/** Record, summary, body, remark, head, action and counts, and two changes a fact. */
#define HANDOFF_MOST_CHANGES (6 + COUNT_KINDS + 2 * HANDOFF_MOST_FACTS)

struct handoff_change {
    struct store_change items[HANDOFF_MOST_CHANGES];
    char keys[HANDOFF_MOST_CHANGES][STORE_KEY_LEN + 1];
    struct buf texts[HANDOFF_MOST_CHANGES];
    size_t count;
};

/** Add a change. @return where its text goes */
struct buf *handoff_change_put(struct handoff_change *change, const char *collection,
                               const char *key, int64_t if_version);

/** Make the last one that was added a deletion. */
void handoff_change_delete(struct handoff_change *change);

void handoff_change_free(struct handoff_change **slot);

#define auto_change __attribute__((cleanup(handoff_change_free)))

/* ---- What waits (waiting.c) ----------------------------------------------------------------- */

#define HANDOFF_ACTION_COLLECTION "handoff-action"

/** Read the counts; those of a store that an older version wrote are made first. Nothing is
 * accepted or decided without them, so they are right when they are written. */
int waiting_read_counts(const struct handoff_store *handoffs, const char *agent_id,
                        const char *lane_id, struct handoff_counts *ret_counts,
                        struct rondo_error *err);

/** Count a new handoff, and enter its action if others may join it. */
void waiting_begin(struct handoff_change *change, const struct handoff_counts *counts,
                   const struct handoff_request *request);

/** Add what a change of a handoff means for what waits. */
int waiting_change(struct handoff_change *change, const struct handoff_store *handoffs,
                   const struct handoff *before, const struct handoff *handoff,
                   struct rondo_error *err);

/** The request that waits in the lane with the same action. @return 1 there is one, 0, or a code */
int waiting_find_same(const struct handoff_store *handoffs, const struct handoff_request *request,
                      struct handoff *ret_handoff, struct rondo_error *err);

/**
 * The request that may be expired to make room for one of an agent: its oldest one of low priority,
 * of the same lane when the lane is full. That of another agent never makes room.
 * @param ret_id ID_SIZE bytes @return 1 there is one, 0, or a code
 */
int waiting_find_shed(const struct handoff_store *handoffs, const struct handoff_request *request,
                      char *ret_id, struct rondo_error *err);
