// SPDX-License-Identifier: Apache-2.0
/*
 * The inside of the intake, shared by its files only.
 *
 * Two locks. `submitting` orders the transactions that add requests, and is held while they commit;
 * `lock` guards the index and is never held while the store is worked with. An entry that a thread
 * works on in the store is not in a queue (it is taken out first), so no other thread finds it.
 */
#pragma once

#include "base/clock.h"
#include "base/digest.h"
#include "source/intake/intake.h"

#include <pthread.h>
#include <uthash.h>

/** A request in the index. */
struct intake_entry {
    char id[ID_SIZE];
    int64_t received_ns;
    char *source;                            /**< owned; NULL of a run that was started before */
    uint64_t version;                        /**< of its document */
    unsigned char group[DIGEST_SIZE];        /**< of source and group */
    bool is_turn;                            /**< of a conversation */
    unsigned char conversation[DIGEST_SIZE]; /**< is_turn: of source and conversation */
    struct role_queue *queue;
    int64_t retry_ns;          /**< deferred: not before; monotonic */
    bool is_counted;           /**< as executing */
    struct intake_entry *prev; /**< order of the queue */
    struct intake_entry *next;
    UT_hash_handle hh;
    UT_hash_handle talk_hh; /**< in `talking`, while it is counted */
};

/** When people were last told of events that did not become runs of their own. */
struct intake_told {
    int64_t told_ns[REFUSAL_KIND_COUNT]; /**< 0 = never */
    uint64_t unsaid[REFUSAL_KIND_COUNT]; /**< events since then */
};

/** The queue of a role. */
struct role_queue {
    char role[LIMIT_AGENT_ID_LEN + 1];
    bool is_open;       /**< the role is there */
    bool is_held;       /**< none of its requests may be started now */
    bool is_full_noted; /**< it was recorded that it is full */
    struct queue_options options;
    struct intake_entry *waiting; /**< oldest first */
    uint64_t waiting_count;
    uint64_t running;
    int64_t retry_ns; /**< other daemons have all its places: not before; monotonic */
    struct intake_told told;
    struct role_queue *prev; /**< turns */
    struct role_queue *next;
    UT_hash_handle hh;
};

struct intake {
    struct store *store; /**< constant, as the next ones */
    const struct clock *clock;
    struct random *random;
    char owner[STORE_OWNER_SIZE];
    uint64_t max_running;
    void (*on_ready)(void *context);
    intake_notice_fn *on_notice;
    bool (*is_dead)(void *context, const char *owner);
    void *context;

    pthread_mutex_t submitting;
    int64_t last_received_ns; /**< guarded by `submitting`, as the next one */
    bool is_unsure;           /**< a commit failed, and may have taken effect */

    pthread_mutex_t lock;
    struct intake_entry *entries; /**< by id: waiting, worked on, executing */
    struct intake_entry *talking; /**< turns that count as executing, by conversation */
    struct role_queue *queues;    /**< by role */
    struct role_queue *turns;     /**< the first has the next turn */
    uint64_t running;
    int64_t retry_ns; /**< the earliest of the entries and queues; 0 = none */
    struct intake_state counts;
    struct intake_told told; /**< of roles without a queue */
};

/* ---- The index (intake_queue.c); the lock is held ---- */

/** The queue of a role, made when there is none. */
struct role_queue *intake_queue_of(struct intake *intake, const char *role);
struct intake_entry *intake_entry_add(struct intake *intake, struct role_queue *queue,
                                      const char *id);
/** It is a turn of a conversation. @param conversation NULL = it is none */
void intake_entry_set_conversation(struct intake_entry *entry, const char *source,
                                   const char *conversation);
/** Put an entry in its queue, where its time belongs. */
void intake_entry_wait(struct intake *intake, struct intake_entry *entry);
/** Take it out of its queue. */
void intake_entry_take(struct intake *intake, struct intake_entry *entry);
/** Forget an entry that is in no queue. */
void intake_entry_free(struct intake *intake, struct intake_entry *entry);
/** A run of the entry begins or ends to execute. */
void intake_entry_count_running(struct intake *intake, struct intake_entry *entry);
void intake_entry_count_ended(struct intake *intake, struct intake_entry *entry);
struct intake_entry *intake_entry_find_id(struct intake *intake, const char *id);
struct intake_entry *intake_entry_find_group(struct role_queue *queue, const unsigned char *group);
/** The next one that may start, by turns; or NULL. No turn starts while another one of the same
 *  conversation executes. */
struct intake_entry *intake_entry_next(struct intake *intake);
void intake_index_free(struct intake *intake);

/* ---- Transactions (intake_commit.c) ---- */

/** Changes of one transaction; texts are owned. */
struct intake_changes {
    struct store_change items[10];
    struct buf texts[10];
    char keys[10][STORE_KEY_LEN + 1];
    size_t count;
};

void intake_changes_fini(struct intake_changes *changes);
/** Add a document. @return where to write its JSON, before anything else is added */
struct buf *intake_changes_put(struct intake_changes *changes, const char *collection,
                               const char *key, int64_t if_version);
void intake_changes_delete(struct intake_changes *changes, const char *collection, const char *key,
                           int64_t if_version);
/**
 * Add a refusal, and a notice for people when it is time to tell them. No lock is held.
 * @param refusal `unsaid` is set
 */
void intake_changes_add_refusal(struct intake *intake, struct intake_changes *changes,
                                struct start_refusal *refusal, const char *id);
/** @return 1 applied, 0 when a version did not fit, or a code */
int intake_changes_commit(struct intake *intake, struct intake_changes *changes,
                          struct rondo_error *err);

/** Count a refusal that was committed, and tell the notice function. No lock is held. */
void intake_note(struct intake *intake, const struct start_refusal *refusal);

/** Digest of what coalesces. */
void group_digest(const char *source, const char *group, unsigned char ret_digest[DIGEST_SIZE]);

/* ---- Several daemons (intake_share.c); no lock is held ---- */

/** Requests that are being started: key = role, slash, id. */
#define CLAIM_COLLECTION "start-claim"

/**
 * Have a place for the run of a request, whose entry is counted, beside those of other daemons.
 * @return 1, 0 when there is none now, or a code
 */
int intake_claim(struct intake *intake, const struct start_request *request,
                 struct rondo_error *err);
/** The request ends, or waits again. */
void intake_changes_end_claim(struct intake_changes *changes, const char *role, const char *run_id);

/** Whether a process is gone, as far as is known. Any thread; calls no store. */
bool intake_owner_is_dead(const struct intake *intake, const char *owner);

/** Read what waits of this process and of dead ones into the index. `submitting` is held. */
int intake_load(struct intake *intake, struct rondo_error *err);
