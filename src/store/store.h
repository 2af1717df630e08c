// SPDX-License-Identifier: Apache-2.0
/*
 * The store: where journals, checkpoints and run rows live. A back end is one constant
 * `struct store_ops`; all of them pass tests/unit/store/contract.c. A store knows nothing of loops:
 * it keeps ordered events for runs, and lets exactly one owner at a time write to a run. Beside the
 * runs it keeps the history of the policies that were in force.
 *
 * Promises that every back end keeps:
 *  1. A batch is committed whole or not at all, and is durable when commit returns.
 *  2. Events of a run have seq 1, 2, 3, ... without gap or double. `position` orders the events of
 *     all runs by commit and never goes back; it may have gaps.
 *  3. Only the owner with the run's present epoch can write. A claim raises the epoch, so a former
 *     owner is fenced off for ever, however late it wakes up. A claim that exclusiveness allows
 *     because another run's lease has run out takes that lease away and raises that run's epoch
 * too.
 *  4. A batch that is handed in again (same epoch, same first_seq) after an unclear failure is
 *     recognised and not applied twice. A batch without events is applied each time, but its
 *     checkpoint is stored once.
 *
 * Threads: every function may be called from any thread, unless its comment says otherwise.
 * Strings and blobs that callbacks receive are valid only during the callback, and a callback must
 * not call into the same store.
 */
#pragma once

#include "base/id.h"
#include "base/limits.h"
#include "rondo/error.h"
#include "rondo/types.h"
#include "store/memories.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct clock;
struct store;
struct store_watch;

/** Bytes of an owner's text form (see loop/owner.h), the NUL included. */
#define STORE_OWNER_SIZE 256

/** Bytes of the name of a boot, the NUL included: processes with one share the monotonic clock. */
#define STORE_BOOT_SIZE 64

/** One event. For reading, `position` and `run_id` are set by the store. */
struct store_event {
    const char *run_id;
    uint64_t position; /**< place in the order of all runs */
    uint64_t seq;      /**< place in the run, from 1 */
    int64_t time_ns;
    const char *type; /**< dotted name, at most 63 bytes */
    const char *data; /**< JSON object, NUL-terminated */
    size_t data_len;
};

/** What lists show of a run without reading its journal. Replaced by each batch. */
struct store_summary {
    enum rondo_status status;
    uint64_t iteration;       /**< last iteration that was started */
    uint64_t iteration_limit; /**< in force at the last gate; 0 = none */
    uint32_t conditions_met;
    uint32_t conditions_total;
    int64_t tokens;
    int64_t cost_micro; /**< millionths of the currency unit; below 0 = not known */
    uint32_t warnings;  /**< limit warnings so far */
    bool is_paused;     /**< no iteration begins until the run is continued */
    bool is_waiting;    /**< it is paused because calls wait for people, and by nobody */
};

/** A run's row. */
struct store_run {
    char id[ID_SIZE];
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
    char parent[ID_SIZE]; /**< run for which it works on a part; "" = it works for none */
    bool is_exclusive;    /**< no other run of the agent may execute beside it */
    struct store_summary summary;
    uint64_t last_seq;
    uint64_t epoch;
    char owner[STORE_OWNER_SIZE]; /**< "" when nobody holds it */
    int64_t lease_until_ns;       /**< by this machine's clock; 0 when nobody holds it */
    int64_t alive_ns;             /**< last time that an owner was seen alive */
    char boot[STORE_BOOT_SIZE];   /**< the boot in which it was; "" = unknown */
    int64_t alive_monotonic_ns;   /**< that time by the monotonic clock of the boot */
    int64_t created_ns;
    int64_t updated_ns;
    int64_t ended_ns; /**< 0 while it has no final status */
};

/** One checkpoint as stored. Meaning and digest are the journal layer's (journal/checkpoint.h). */
struct store_checkpoint {
    uint64_t number; /**< from 1, gapless per run but for pruning at the low end */
    uint64_t seq;    /**< last event that the fold contains */
    uint64_t iteration;
    int64_t time_ns;
    uint32_t format;
    const void *state; /**< as stored: compressed when is_packed */
    size_t state_len;
    uint64_t state_size; /**< bytes before compression */
    bool is_packed;
    const char *fold;        /**< JSON */
    const char *custom_data; /**< JSON or NULL */
    const char *conditions;  /**< JSON */
    unsigned char sha256[32];
};

/** Number under which get_checkpoint gives a run's interim. */
#define STORE_INTERIM UINT64_MAX

/**
 * A document that changes in the transaction of a batch, by what it is at that moment: a counter
 * that many owners raise, without conditions on versions and without a transaction of its own.
 */
struct store_update {
    const char *collection;
    const char *key;
    /**
     * Find what becomes of the document. Called in the transaction, again when that is repeated,
     * and not at all when the batch is not applied (fenced, or committed before): the last call
     * says what was committed. Must be quick and must not call into a store.
     * @param data     NULL = there is no such document
     * @param ret_data what replaces it
     * @return whether it changes
     */
    bool (*change)(void *context, const char *data, size_t len, struct buf *ret_data);
    void *context;
};

/**
 * What a batch relies on: that no letter waits, and that a document is what it was. So who has
 * decided by them need not look at them again before.
 */
struct store_premise {
    const char *collection; /**< of the document; NULL = on no document */
    const char *key;
    uint64_t version; /**< that it must have; 0 = it must be absent */
};

/** A change of one run, applied in one transaction. */
struct store_batch {
    const char *run_id;
    uint64_t epoch;
    uint64_t first_seq;               /**< seq of events[0]; event i gets first_seq + i */
    const struct store_event *events; /**< run_id, position and seq in them are ignored */
    size_t event_count;
    const struct store_checkpoint *checkpoint;  /**< or NULL */
    const struct store_checkpoint *interim;     /**< or NULL; its number is 0. What a checkpoint
                                                     would hold, kept outside of their list until the
                                                     next checkpoint or interim replaces it */
    const struct store_update *update;          /**< or NULL */
    const struct store_memory_change *memories; /**< applied in their order, with the events */
    size_t memory_count;
    const struct store_premise *premise; /**< or NULL. If it does not hold, the batch is not
                                            applied; letters up to `mail_taken` do not count */
    struct store_summary summary;
    int64_t lease_ns;    /**< the lease is renewed by this much; 0 gives the run up, and may be
                              of a run that nobody holds: then no owner was seen alive */
    uint64_t mail_taken; /**< letters with an id up to this one are deleted */
    uint64_t keep_checkpoints; /**< prune to this many newest ones now; 0 = do not prune */
};

enum store_commit_outcome {
    STORE_COMMITTED = 0,
    STORE_ALREADY_COMMITTED, /**< an earlier try had gone through; durable now */
    STORE_FENCED,            /**< the epoch is not the run's present one, or nobody holds the run
                                  and the batch requests a lease; nothing was written */
    STORE_OUTDATED,          /**< the premise does not hold; nothing was written. Found out only
                                  for a batch that could be applied now */
};

/** Answer to one batch. */
struct store_commit_result {
    enum store_commit_outcome outcome;
    uint64_t position; /**< of the batch's last event; 0 without events, or when nothing was
                            written */
    bool has_mail;     /**< letters are waiting for the run; not known when nothing was written */
};

/** A claim: a process requests to execute a run. */
struct store_claim {
    const char *owner;
    int64_t lease_ns;
    const char *boot; /**< of this process; NULL = unknown. A lease of the same boot ends by the
                           monotonic clock, whatever becomes of the wall clock; others by that */
};

enum store_claim_outcome {
    STORE_CLAIMED = 0,
    STORE_HELD, /**< a lease is running, be it the claimer's own: see the holder */
};

struct store_claim_result {
    enum store_claim_outcome outcome;
    uint64_t epoch;          /**< STORE_CLAIMED: the new owner's */
    struct store_run run;    /**< STORE_CLAIMED: the row as it was before the claim (of a new run:
                                  epoch 0 and no owner) */
    struct store_run holder; /**< STORE_HELD: the run whose owner is in the way (this one, or
                                  another run of the agent when one of the two is exclusive) */
};

/** A letter to the owner of a run ("stop", ...). */
struct store_letter {
    const char *run_id;
    uint64_t id;
    int64_t time_ns;
    const char *kind; /**< at most 63 bytes */
    const char *data; /**< JSON object */
};

/** Characters of a policy digest in lower-case hex, without the NUL. */
#define STORE_POLICY_DIGEST_LEN 64

/** One entry of the history of policies: from now on these texts are in force. */
struct store_policy_change {
    uint64_t number;    /**< 1, 2, 3, ... over the store; given by the store, else ignored */
    int64_t time_ns;    /**< wall clock, of the caller's choosing */
    const char *source; /**< absolute path of a file or folder, or "built-in"; at most
                             LIMIT_POLICY_SOURCE_BYTES */
    const char *digest; /**< SHA-256 of the texts in force: 64 lower-case hex digits */
    const char *how;    /**< "set", "edited" or "found"; at most 63 bytes */
    const char *by;     /**< the author, in words ("alice", "file owner alice"); at most
                             LIMIT_POLICY_BY_BYTES */
    const char *text;   /**< may be empty, not NULL; from the store with a NUL after it */
    size_t text_len;    /**< at most LIMIT_POLICY_BYTES */
};

/** What lists of runs are ordered by; runs that are equal in it, by their id. */
enum store_run_order {
    STORE_BY_CREATED = 0,
    STORE_BY_UPDATED,
    STORE_BY_AGENT,
    STORE_BY_STATUS,
    STORE_BY_ITERATION,
    STORE_BY_TOKENS,
    STORE_BY_COST,
    STORE_BY_WARNINGS,
    STORE_ORDER_COUNT
};

/** Place of a run in a list: what it is ordered by, and its id. */
struct store_run_place {
    int64_t number;                    /**< of orders by numbers */
    char text[LIMIT_AGENT_ID_LEN + 1]; /**< STORE_BY_AGENT */
    char id[ID_SIZE];
};

/** A run whose row cannot be read. */
struct store_damaged_run {
    int64_t row;        /**< the same in every list */
    const char *id;     /**< NULL when the id cannot be read either */
    const char *detail; /**< what is wrong, for people */
};

/** Called for a run that cannot be read; with the context of the list. */
typedef void store_damaged_run_fn(const struct store_damaged_run *damaged, void *context);

/**
 * So many first characters of a run's id a search must have to find it: the runs of about a minute
 * have them in common. Fewer are those of all runs of days or years.
 */
#define STORE_SEARCHED_ID_LEN 8

/** Which runs to list; newest first unless it says otherwise. */
struct store_run_query {
    const char *id_prefix;     /**< or NULL */
    const char *agent_id;      /**< or NULL */
    const char *const *agents; /**< only runs of these, NULL-terminated; NULL = of all */
    const char *search; /**< part of the agent's id (letters without case), or beginning of the
                             run's: of that at least STORE_SEARCHED_ID_LEN; NULL = all */
    const char *parent; /**< only runs that work for this one; NULL = all */
    bool is_top_only;   /**< only runs that work for no other one */
    bool only_running;  /**< without a final status */
    uint32_t statuses;  /**< one bit for each enum rondo_status; 0 = all */
    enum store_run_order order;
    bool is_ascending;
    const struct store_run_place *after; /**< only what follows this place; NULL = from the first */
    uint32_t limit;                      /**< 0 = all */
    /** Called for rows that cannot be read, which count against the limit; NULL = the list ends
     *  with RONDO_ERR_CORRUPT at the first one. */
    store_damaged_run_fn *damaged;
};

/** How many runs there are, by status. */
struct store_run_counts {
    uint64_t by_status[RONDO_STATUS_COUNT];
    uint64_t paused; /**< of those that run */
};

/**
 * A document: a small JSON record that a layer above keeps beside the runs (warnings, deliveries,
 * tokens, cursors). Named by collection and key; within a collection ordered by the bytes of keys.
 */
struct store_document {
    const char *collection; /**< 1 to STORE_COLLECTION_LEN bytes */
    const char *key;        /**< 1 to STORE_KEY_LEN bytes */
    const char *data;       /**< JSON, at most LIMIT_DOCUMENT_BYTES; from the store with a NUL */
    size_t data_len;
    uint64_t version; /**< 1 when created, raised by each change; set by the store */
    int64_t updated_ns;
};

#define STORE_COLLECTION_LEN 32
#define STORE_KEY_LEN        256

enum store_change_kind {
    STORE_PUT = 0,
    STORE_DELETE,       /**< of what is not there: nothing happens */
    STORE_DELETE_UP_TO, /**< every document of the collection up to `key`, this one too */
};

/** The document may have any version, or may be absent. */
#define STORE_ANY_VERSION (-1)

/** One change of a document. */
struct store_change {
    enum store_change_kind kind;
    const char *collection;
    const char *key;
    const char *data;
    size_t data_len;
    int64_t if_version; /**< STORE_ANY_VERSION, 0 = only if absent, else only this version */
    bool is_heartbeat;  /**< it only says that its writer lives: a watch need not notice it */
};

/** Which documents to read, in order of keys. */
struct store_document_query {
    const char *collection;
    const char *key;    /**< exactly this one; NULL = all that the rest selects */
    const char *prefix; /**< of keys; or NULL */
    const char *after;  /**< only keys after this one (before it when descending); or NULL */
    bool is_descending;
    uint32_t limit; /**< 0 = all */
};

/** Whoever has memories: an agent, or the name by which agents share them. */
struct store_memory_owner {
    int64_t key; /**< an id of its memories is key * LIMIT_MEMORY_IDS + number */
    const char *name;
    int64_t last; /**< number that was given last */
};

/** A checkpoint or an interim with the run that it is of. */
struct store_run_checkpoint {
    const char *run_id;
    bool is_interim;
    struct store_checkpoint checkpoint;
};

/**
 * A piece of another store, as reading gives it. Runs come before what they have, of a run the
 * events from seq 1 on and checkpoints with their numbers ascending, owners before memories.
 */
struct store_piece {
    /** As they become; last_seq is ignored. One that has an owner keeps its name, but no lease. */
    const struct store_run *runs;
    size_t run_count;
    /** Of runs that are there, each at its position, which must be above those of its run. */
    const struct store_event *events;
    size_t event_count;
    const struct store_run_checkpoint *checkpoints;
    size_t checkpoint_count;
    const struct store_letter *letters; /**< they get new ids */
    size_t letter_count;
    const struct store_document *documents; /**< with their versions and times */
    size_t document_count;
    const struct store_policy_change *policies; /**< with their numbers */
    size_t policy_count;
    const struct store_memory_owner *owners;
    size_t owner_count;
    const struct store_memory_change *memories;
    size_t memory_count;
    uint64_t last_position;           /**< new events get higher positions; 0 = as before */
    const struct store_change *marks; /**< documents that say how far a copy is */
    size_t mark_count;
};

struct store_gc_request {
    int64_t ended_before_ns; /**< runs that ended before this time are deleted whole */
    bool is_dry_run;
};

struct store_gc_result {
    uint64_t runs;
    uint64_t events;
    uint64_t checkpoints;
    uint64_t freed_bytes;  /**< that were given back to the file system */
    uint64_t unused_bytes; /**< that are free inside of the store, for what is written next */
};

/** State of the store for `rondo doctor`. */
struct store_health {
    char location[512];
    char version[64];    /**< of the back end, for people */
    uint32_t schema;     /**< schema version */
    uint64_t size_bytes; /**< on disk */
    uint64_t run_count;
    uint64_t event_count;
    bool is_intact;    /**< result of the back end's own check */
    char problem[256]; /**< first finding, when not intact */
};

/** Versions of a store's schema. */
struct store_schema {
    uint32_t found;   /**< when it was opened; 0 = it was made then */
    uint32_t present; /**< what it was brought up to */
};

/* Callbacks return false to end the reading early; that is not an error. */
typedef bool store_event_fn(const struct store_event *event, void *context);
typedef bool store_run_fn(const struct store_run *run, void *context);
typedef bool store_checkpoint_fn(const struct store_checkpoint *checkpoint, void *context);
typedef bool store_letter_fn(const struct store_letter *letter, void *context);
typedef bool store_policy_fn(const struct store_policy_change *change, void *context);
typedef bool store_document_fn(const struct store_document *document, void *context);
typedef bool store_memory_owner_fn(const struct store_memory_owner *owner, void *context);

/**
 * The operations of a back end. Each returns 0 or a negative code with `err` filled; a member that
 * is optional says so. RONDO_ERR_FULL and RONDO_ERR_IO mean that trying again later may help; after
 * any error of `commit` it is unknown whether the batches were applied, and promise 4 resolves
 * that.
 */
struct store_ops {
    const char *name; /**< "sqlite", "memory", ... */
    bool is_local;    /**< only processes of one machine use a store */

    /** Close and release; nobody uses the store any more. */
    void (*close)(struct store *store);

    /**
     * Create a run, claimed by its creator at epoch 1, with its first events.
     * @param run   id, agent_id, parent, is_exclusive and summary are taken; created_ns is set by
     * the store
     * @param first events of seq 1..n; may be empty
     * STORE_HELD when the agent's exclusiveness forbids it: then nothing was created.
     * RONDO_ERR_INVALID when the id exists.
     */
    int (*create_run)(struct store *store, const struct store_run *run,
                      const struct store_event *first, size_t first_count,
                      const struct store_claim *claim, struct store_claim_result *ret_result,
                      struct rondo_error *err);

    /** Claim an existing run, whatever its status. RONDO_ERR_NOT_FOUND when there is none. */
    int (*claim_run)(struct store *store, const char *run_id, const struct store_claim *claim,
                     struct store_claim_result *ret_result, struct rondo_error *err);

    /**
     * End the lease of a holder that is known to be dead, if `epoch` is still the present one;
     * else do nothing. The next claim then succeeds. Should the holder live after all, it is fenced
     * at its next commit that requests a lease.
     */
    int (*expire_lease)(struct store *store, const char *run_id, uint64_t epoch,
                        struct rondo_error *err);

    /** Renew by `lease_ns` every lease that `owner` holds. Leases taken over stay lost. */
    int (*renew_leases)(struct store *store, const char *owner, int64_t lease_ns,
                        struct rondo_error *err);

    /**
     * Optional (NULL = 1): how many `commit` may be under way at the same time. Does not change
     * while the store is open.
     */
    unsigned (*commits_at_once)(struct store *store);

    /**
     * Commit batches of different runs in one transaction. Called through store/writer.h, by as
     * many threads at a time as `commits_at_once` says, never by two for the same run. A fenced
     * batch does not keep the others from being committed. A refused one does, and nothing is
     * written then: RONDO_ERR_NOT_FOUND (no such run), RONDO_ERR_STATE (its first_seq or its
     * checkpoint's number does not continue the run), RONDO_ERR_INVALID and RONDO_ERR_LIMIT (its
     * content). The writer then commits each batch alone.
     * @param ret_results one for each batch
     */
    int (*commit)(struct store *store, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err);

    /** Read a run's row. RONDO_ERR_NOT_FOUND. */
    int (*get_run)(struct store *store, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err);

    /** List runs. */
    int (*list_runs)(struct store *store, const struct store_run_query *query, store_run_fn *fn,
                     void *context, struct rondo_error *err);

    /** Count the runs that a query selects; its order, place and limit do not matter. */
    int (*count_runs)(struct store *store, const struct store_run_query *query,
                      struct store_run_counts *ret_counts, struct rondo_error *err);

    /**
     * Read committed events in order.
     * @param run_id a run (`after` is a seq), or NULL for all runs (`after` is a position)
     * @param limit  at most so many; 0 = no limit
     * A run that does not exist has no events. RONDO_ERR_CORRUPT when one of the run is missing or
     * cannot be read; reading all runs passes such an event, so that it does not hide the others.
     */
    int (*read_events)(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err);

    /** List a run's checkpoints, newest first, without state and fold (these are NULL, 0). */
    int (*list_checkpoints)(struct store *store, const char *run_id, store_checkpoint_fn *fn,
                            void *context, struct rondo_error *err);

    /**
     * Read one checkpoint whole.
     * @param number its number, 0 for the newest, or STORE_INTERIM
     * RONDO_ERR_NOT_FOUND when there is none (or the run does not exist).
     */
    int (*get_checkpoint)(struct store *store, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err);

    /** Put a letter in a run's mailbox. RONDO_ERR_NOT_FOUND. */
    int (*post)(struct store *store, const char *run_id, const char *kind, const char *data,
                struct rondo_error *err);

    /** Read the letters of one run (run_id), or of all runs that `owner` holds (run_id NULL). */
    int (*read_mail)(struct store *store, const char *run_id, const char *owner,
                     store_letter_fn *fn, void *context, struct rondo_error *err);

    /** Highest position that is committed; 0 in an empty store. Cheap: meant for polling. */
    int (*last_position)(struct store *store, uint64_t *ret_position, struct rondo_error *err);

    /**
     * Optional (NULL): a watch that notices what any process writes (store/watch.h).
     * @return owned by the caller, to be freed before the store is closed; NULL = there is none
     */
    struct store_watch *(*watch)(struct store *store);

    /**
     * Optional (NULL = the clock that the store was opened with): the time by the clock of the
     * machine that keeps the store, which updated_ns of documents is by.
     */
    int (*now)(struct store *store, int64_t *ret_now_ns, struct rondo_error *err);

    /**
     * Append a change to the history of policies, unless the newest change of the same source has
     * the same digest: then nothing is appended. Of several processes or threads that record the
     * same texts exactly one appends. A text is kept once for each digest, whatever the number of
     * changes that name it; the one that came first counts.
     * @param ret_number of the change that was appended, or of the one that was there; durable
     * @param ret_is_new whether it was appended
     * RONDO_ERR_INVALID when a part is missing or the digest is none, RONDO_ERR_LIMIT when one is
     * too long. After any other error it is unknown whether the change was appended; to record it
     * again is safe, but may then find it there. Not cheap even when nothing is appended: meant for
     * the moment at which policies are read, not for every decision.
     */
    int (*record_policy)(struct store *store, const struct store_policy_change *change,
                         uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err);

    /**
     * Read the history of policies, newest first, with the texts.
     * @param source of this source only; NULL = of all
     * @param before only changes with a lower number; 0 = from the newest on
     * All of them are read unless the callback ends the reading. RONDO_ERR_CORRUPT when a text is
     * missing.
     */
    int (*read_policies)(struct store *store, const char *source, uint64_t before,
                         store_policy_fn *fn, void *context, struct rondo_error *err);

    /**
     * Change documents: all of it or nothing, durable on return. Changes apply in their order.
     * @param ret_is_applied false when a version was not the one that a change requires: nothing
     * was changed then RONDO_ERR_INVALID and RONDO_ERR_LIMIT for names and data that are not
     * allowed. After any other error it is unknown whether it was applied; conditions on versions
     * make trying again safe.
     */
    int (*change_documents)(struct store *store, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err);

    /**
     * Find the first collection after a name, by the bytes of their names, that has documents.
     * @param after    "" = the first of all
     * @param ret_name "" when there is none
     */
    int (*next_collection)(struct store *store, const char *after,
                           char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err);

    /** Read documents. None is no error. */
    int (*read_documents)(struct store *store, const struct store_document_query *query,
                          store_document_fn *fn, void *context, struct rondo_error *err);

    /**
     * Give the next ids for memories of an owner, which is known then: `count` in a row. Ids of one
     * owner ascend; one that was given is not given again, whether a memory follows or not.
     */
    int (*reserve_memories)(struct store *store, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err);

    /**
     * Change memories: all of it or nothing, durable on return. Changes apply in their order. The
     * same happens to those of a batch.
     * @param ret_changed how many memories were added, changed or deleted
     * RONDO_ERR_INVALID and RONDO_ERR_LIMIT for content that is not allowed.
     */
    int (*change_memories)(struct store *store, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err);

    /**
     * Read memories by age, or search them by words. In a large store a search leaves out words
     * that very many memories of the owner have, unless it has no other.
     */
    int (*read_memories)(struct store *store, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err);

    /** Delete old ended runs. Runs that somebody holds, the policies, documents and
     * memories are left alone.
     */
    int (*gc)(struct store *store, const struct store_gc_request *request,
              struct store_gc_result *ret_result, struct rondo_error *err);

    /** The versions of the schema, without asking the store. */
    struct store_schema (*schema)(struct store *store);

    /** Check the store thoroughly. */
    int (*health)(struct store *store, struct store_health *ret_health, struct rondo_error *err);

    /**
     * Optional (NULL), as `import`. Read owners of memories in the order of their keys.
     * @param after_key only owners with a higher key
     */
    int (*read_memory_owners)(struct store *store, int64_t after_key, store_memory_owner_fn *fn,
                              void *context, struct rondo_error *err);

    /**
     * Optional (NULL): no store is copied to one without it. Write a piece of another store, all of
     * it or nothing, durable on return. Nobody else uses the store meanwhile.
     * @param ret_is_applied false when a mark was not of the version that its change requires:
     * nothing was written then
     * RONDO_ERR_STATE when a part is there already or does not follow what is there,
     * RONDO_ERR_NOT_FOUND for a part of a run that is not there, RONDO_ERR_INVALID and
     * RONDO_ERR_LIMIT for content that is not allowed, RONDO_ERR_DENIED without the right to write
     * to all tables. After any other error it is unknown whether the piece was written; the marks
     * tell.
     */
    int (*import)(struct store *store, const struct store_piece *piece, bool *ret_is_applied,
                  struct rondo_error *err);
};

/** Common head of every back end's store object. */
struct store {
    const struct store_ops *ops;
};

/** Whether processes on other machines may use a store: only what they write says that they live.
 */
static inline bool store_is_shared(const struct store *store)
{
    return !store->ops->is_local;
}

/** Close a store; NULL is allowed. */
static inline void store_close(struct store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}
