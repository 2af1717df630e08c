// SPDX-License-Identifier: Apache-2.0
/*
 * Refusals: what became of events that did not become runs of their own. Collection
 * "start-refusal", key = 20 digits of the time and the id. The newest LIMIT_REFUSALS_KEPT are kept.
 * Any thread.
 */
#pragma once

#include "source/intake/request.h"

#define REFUSAL_COLLECTION "start-refusal"
/** Bytes of a refusal's key, the NUL included. */
#define REFUSAL_KEY_SIZE 64
/** Bytes of its reason, the NUL included; longer ones are cut. */
#define REFUSAL_REASON_SIZE 240

enum refusal_kind {
    REFUSAL_REFUSED = 0, /**< it was never accepted, or its run could not be created */
    REFUSAL_DROPPED,     /**< the oldest of a full queue made room for a newer one */
    REFUSAL_COALESCED,   /**< another request of its group, which waits, has its prompt now */
    REFUSAL_FULL,        /**< a queue is full and its sources wait: once until it is not */
    REFUSAL_LATE,        /**< times passed without a run, or the run comes late */
    REFUSAL_KIND_COUNT
};

/** "refused", "dropped", "coalesced", "full", "late". Static. */
const char *refusal_kind_name(enum refusal_kind kind);

struct start_refusal {
    char key[REFUSAL_KEY_SIZE];
    enum refusal_kind kind;
    int64_t time_ns;
    char run_id[ID_SIZE]; /**< of the request; of the one that it was coalesced with; or "" */
    char source[SOURCE_ID_SIZE];
    char role[LIMIT_AGENT_ID_LEN + 1];
    char reason[REFUSAL_REASON_SIZE];
    /** Events of the role like it since people were last told, this one included; 0 = they need not
     *  be told. Not stored. */
    uint64_t unsaid;
};

/** Append a sentence for people: what became of the event, and why. */
void refusal_sentence(const struct start_refusal *refusal, struct buf *ret_text);

/** Write the refusal's key, which sorts by time. @param id makes it unique */
void refusal_key(int64_t time_ns, const char *id, char ret_key[REFUSAL_KEY_SIZE]);

/** Append it as JSON, without the key. */
void refusal_encode(const struct start_refusal *refusal, struct buf *ret_json);

/** @return false to end */
typedef bool refusal_fn(const struct start_refusal *refusal, void *context);

/**
 * Read refusals, newest first.
 * @param before only those with a lower key; NULL = from the newest
 * @param limit  at most so many; 0 = all
 */
int refusals_read(struct store *store, const char *before, uint32_t limit, refusal_fn *fn,
                  void *context, struct rondo_error *err);

/** Delete all but the newest LIMIT_REFUSALS_KEPT. */
int refusals_prune(struct store *store, struct rondo_error *err);
