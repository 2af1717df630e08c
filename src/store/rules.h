// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of store.h that do not depend on where the data lies: which input is refused, and what
 * a batch means for the row that it meets. Every back end asks here, so that they cannot disagree.
 * Pure functions; any thread.
 */
#pragma once

#include "store/store.h"

/** What a batch has to know of the run that it changes. */
struct rules_row {
    uint64_t epoch;
    uint64_t last_seq;
    uint64_t last_checkpoint; /**< highest number that was ever stored; 0 = none */
    bool is_owned;            /**< somebody holds it, whether the lease has run out or not */
};

/** Refuse a claim without an owner, with one that does not fit, or with a lease out of range. */
int rules_check_claim(const struct store_claim *claim, struct rondo_error *err);

/** Refuse an id, agent id or event that does not fit its limit. */
int rules_check_new_run(const struct store_run *run, const struct store_event *first,
                        size_t first_count, struct rondo_error *err);

/** Refuse a letter that does not fit its limits. */
int rules_check_letter(const char *kind, const char *data, struct rondo_error *err);

/** Refuse a change of policies with a part that is missing, too long or no digest. */
int rules_check_policy(const struct store_policy_change *change, struct rondo_error *err);

/** Refuse a change of a document whose names, data or condition are not allowed. */
int rules_check_change(const struct store_change *change, struct rondo_error *err);

/** Refuse a piece with a part that does not fit its limits. */
int rules_check_piece(const struct store_piece *piece, struct rondo_error *err);

/** The row of a run as a piece has it: of who held it only the name stays. */
struct store_run rules_imported_run(const struct store_run *run);

/** The change that an update makes. @param data what its function returned */
struct store_change rules_change_of(const struct store_update *update, const struct buf *data);

/** Refuse a change of memories with a part that is missing, too long or out of range. */
int rules_check_memories(const struct store_memory_change *changes, size_t count,
                         struct rondo_error *err);

/** Refuse an owner of memories that is empty or too long. */
int rules_check_memory_owner(const char *owner, struct rondo_error *err);

/** Refuse a search with too many words, or with anything but words. */
int rules_check_memory_words(const struct store_memory_query *query, struct rondo_error *err);

/** Whether a change may meet a document of this version; 0 = there is none. */
bool rules_fits_version(const struct store_change *change, uint64_t version);

/** Bytes of a bound of keys, the NUL included. */
#define RULES_KEY_BOUND_SIZE (STORE_KEY_LEN + 3)

/**
 * The keys that a query selects (unless it names one): from `low` on up to but without `end`, in
 * the order of their bytes.
 */
struct rules_key_range {
    char low[RULES_KEY_BOUND_SIZE];
    char end[RULES_KEY_BOUND_SIZE];
};
struct rules_key_range rules_key_range(const struct store_document_query *query);

/** A query of runs in the form that back ends ask with. */
struct rules_run_filter {
    const struct store_run_query *query;
    uint32_t statuses;                   /**< as in the query; 0 = all */
    bool has_prefix;                     /**< otherwise the prefix selects all */
    bool is_empty;                       /**< nothing can be selected */
    char search[LIMIT_AGENT_ID_LEN + 1]; /**< in lower case; "" = all */
    bool searches_ids;                   /**< not only names of agents */
};
struct rules_run_filter rules_run_filter(const struct store_run_query *query);

/** Refuse a batch whose content does not fit the limits or makes no sense by itself. */
int rules_check_batch(const struct store_batch *batch, struct rondo_error *err);

/**
 * Decide what to do with a batch (promises 2, 3 and 4).
 * @param ret_outcome STORE_COMMITTED means: apply it now
 * @return 0, or RONDO_ERR_STATE when the batch does not continue what the row says
 */
int rules_decide(const struct rules_row *row, const struct store_batch *batch,
                 enum store_commit_outcome *ret_outcome, struct rondo_error *err);

/**
 * Whether the premise of a batch holds, if it has one.
 * @param has_mail whether letters wait, but for those that the batch takes
 * @param version  of the document that the premise names; 0 = there is none
 */
bool rules_holds_premise(const struct store_batch *batch, bool has_mail, uint64_t version);

/** Whether the checkpoint of a batch that is applied has still to be stored. */
bool rules_stores_checkpoint(const struct rules_row *row, const struct store_batch *batch);

/**
 * The row of a run that is created now, before its creator's claim: what the caller may choose is
 * taken from `run`.
 */
struct store_run rules_new_run(const struct store_run *run, size_t first_count, int64_t now_ns);

/** A point in time, by both clocks. */
struct rules_moment {
    int64_t wall_ns;
    int64_t monotonic_ns;
};
struct rules_moment rules_now(const struct clock *clock);

/**
 * Whether somebody holds the run at this time.
 * @param boot of the asking process; NULL = unknown: then the wall clock decides
 */
bool rules_is_held(const struct store_run *run, const char *boot, struct rules_moment now);

/** The time at which a run with `status` ended: that of its first final status, 0 while running. */
int64_t rules_ended_ns(enum rondo_status status, int64_t ended_before_ns, int64_t now_ns);
