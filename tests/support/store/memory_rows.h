// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of the memory back end: two ways to reach each event (by run and by position), one list
 * of the runs that somebody holds, and the lock over all of it.
 *
 * Threads: memory_rows_lock takes the mutex that every other function here expects to be held.
 */
#pragma once

#include "store/store.h"

#include <pthread.h>
#include <uthash.h>
#include <utlist.h>

struct memory_run;

struct memory_event {
    struct memory_run *run;
    uint64_t position;
    uint64_t seq;
    int64_t time_ns;
    const char *type; /**< after the data */
    size_t data_len;
    char data[];
};

/** A policy text, once for each digest. */
struct memory_policy_text {
    char digest[STORE_POLICY_DIGEST_LEN + 1];
    char *text;
    size_t text_len;
    struct memory_policy_text *prev;
    struct memory_policy_text *next;
};

struct memory_policy_change {
    struct memory_policy_text *text;
    uint64_t number;
    int64_t time_ns;
    char *source;
    char *how;
    char *by;
    struct memory_policy_change *prev;
    struct memory_policy_change *next;
};

struct memory_document {
    char collection[STORE_COLLECTION_LEN + 1];
    char key[STORE_KEY_LEN + 1];
    char *data; /**< owned; with a NUL after it */
    size_t data_len;
    uint64_t version;
    int64_t updated_ns;
};

/** Sorted by collection and key. */
struct document_array {
    struct memory_document **items;
    size_t count;
    size_t size;
};

/** Who has memories. */
struct memory_note_owner {
    char name[LIMIT_MEMORY_OWNER_LEN + 1];
    int64_t key;
    int64_t last;
    struct memory_note_owner *prev, *next;
};

/** A memory of an agent; texts are owned. */
struct memory_note {
    struct store_memory content;
    struct memory_note *prev, *next;
};

/** An array that grows by doubling. */
struct event_array {
    struct memory_event **items;
    size_t count;
    size_t size;
};

struct memory_checkpoint {
    struct store_checkpoint content; /**< pointers are owned */
    struct memory_checkpoint *prev;
    struct memory_checkpoint *next;
};

struct memory_letter {
    uint64_t id;
    int64_t time_ns;
    char *kind;
    char *data;
    struct memory_letter *prev;
    struct memory_letter *next;
};

struct memory_run {
    struct store_run row;
    uint64_t key; /**< orders runs as they were created */
    uint64_t last_checkpoint;
    struct event_array events;             /**< owns them; item i has seq i + 1 */
    struct memory_checkpoint *checkpoints; /**< newest first */
    struct memory_checkpoint *interim;     /**< or NULL */
    struct memory_letter *letters;         /**< oldest first */
    struct memory_run *prev, *next;        /**< all runs, newest first */
    struct memory_run *owned_prev, *owned_next;
    UT_hash_handle hh;
};

struct memory_store {
    struct store base;
    const struct clock *clock;
    pthread_mutex_t mutex;
    struct memory_run *by_id; /**< hash */
    struct memory_run *runs;  /**< list */
    struct memory_run *owned; /**< list of those with an owner: claims look only here */
    struct event_array order; /**< all events by position */
    uint64_t last_position;
    uint64_t last_letter;
    uint64_t last_key;
    struct memory_policy_text *policy_texts; /**< one for each digest */
    struct memory_policy_change *policies;   /**< newest first */
    struct document_array documents;
    struct memory_note_owner *note_owners;
    struct memory_note *notes; /**< newest first */
};

/** Lock the store. */
struct memory_store *memory_rows_lock(struct store *base);
/** The counterpart of memory_rows_lock. */
void memory_rows_unlock(struct memory_store *store);

/** The run with this id, or NULL. */
struct memory_run *memory_rows_find(struct memory_store *store, const char *run_id);

/** Record that there is no such run. @return RONDO_ERR_NOT_FOUND */
int memory_rows_missing(const char *run_id, struct rondo_error *err);

/** Change the owner ("" = none) and keep the list of held runs right. */
void memory_rows_set_owner(struct memory_store *store, struct memory_run *run, const char *owner);

/** Append copies of the events to the run and to the order of all. */
void memory_rows_insert_events(struct memory_store *store, struct memory_run *run,
                               const struct store_event *events, size_t count);

/** Delete a run with all that belongs to it, but for its events' places in the order of all. */
void memory_rows_delete(struct memory_store *store, struct memory_run *run);

/** Release one that is in no list any more. NULL is allowed. */
void memory_rows_free_checkpoint(struct memory_checkpoint *checkpoint);
/** Release one that is in no list any more. */
void memory_rows_free_letter(struct memory_letter *letter);

/* The operations, by file; see struct store_ops. */
/* memory_run.c */
int memory_create_run(struct store *base, const struct store_run *run,
                      const struct store_event *first, size_t first_count,
                      const struct store_claim *claim, struct store_claim_result *ret_result,
                      struct rondo_error *err);
int memory_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                     struct store_claim_result *ret_result, struct rondo_error *err);
int memory_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                        struct rondo_error *err);
int memory_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                        struct rondo_error *err);
/* memory_commit.c */
int memory_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err);
/* memory_read.c */
int memory_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err);
int memory_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err);
int memory_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                            void *context, struct rondo_error *err);
int memory_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err);
int memory_read_mail(struct store *base, const char *run_id, const char *owner, store_letter_fn *fn,
                     void *context, struct rondo_error *err);
int memory_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err);
/* memory_policy.c */
int memory_record_policy(struct store *base, const struct store_policy_change *change,
                         uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err);
int memory_read_policies(struct store *base, const char *source, uint64_t before,
                         store_policy_fn *fn, void *context, struct rondo_error *err);
/* memory_list.c */
int memory_list_runs(struct store *base, const struct store_run_query *query, store_run_fn *fn,
                     void *context, struct rondo_error *err);
int memory_count_runs(struct store *base, const struct store_run_query *query,
                      struct store_run_counts *ret_counts, struct rondo_error *err);
/* memory_document.c */
int memory_change_documents(struct store *base, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err);
/** Version of a document; 0 = there is none. */
uint64_t memory_document_version(const struct memory_store *store, const char *collection,
                                 const char *key);
/** Make a batch's update. */
void memory_update_document(struct memory_store *store, const struct store_update *update);
int memory_next_collection(struct store *store, const char *after,
                           char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err);
int memory_read_documents(struct store *base, const struct store_document_query *query,
                          store_document_fn *fn, void *context, struct rondo_error *err);

/* memory_notes.c */
int memory_reserve_memories(struct store *base, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err);
int memory_change_memories(struct store *base, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err);
int memory_read_memories(struct store *base, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err);
/** Apply changes of memories. @return how many were added, changed or deleted */
uint64_t memory_apply_notes(struct memory_store *store, const struct store_memory_change *changes,
                            size_t count);
/** Release all memories; the store is being closed. */
void memory_note_free_all(struct memory_store *store);

/** Release all documents; the store is being closed. */
void memory_document_free_all(struct memory_store *store);
/** Release the history of policies; the store is being closed. */
void memory_policy_free_all(struct memory_store *store);
