// SPDX-License-Identifier: Apache-2.0
/*
 * The inside of the orchestrator, shared by its files only.
 *
 * One lock guards everything but what is said to be constant; it is never held while the store, a
 * loop or a file is worked with. A run that this process has to do with has an entry. A thread that
 * works on a run without the lock sets the entry's state to one that excludes all others
 * (ENTRY_OPENING, ENTRY_CHANGING), and the claim of the run arbitrates between processes.
 */
#pragma once

#include "orchestrator/admission.h"
#include "orchestrator/assignment.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/servers.h"
#include "orchestrator/turns.h"
#include "store/writer.h"
#include "worker/body.h"

#include <pthread.h>
#include <uthash.h>

/** Bytes that are kept of the requester's name. */
#define BY_SIZE ASSIGNMENT_BY_SIZE
/** The requester of a run whose process died. */
#define BY_TAKEOVER "takeover"

enum entry_state {
    ENTRY_QUEUED = 0, /**< waits for room, or for its next try */
    ENTRY_OPENING,    /**< a thread opens it */
    ENTRY_RUNNING,    /**< a thread executes it */
    ENTRY_PAUSED,     /**< nobody executes it until somebody continues it */
    ENTRY_CHANGING,   /**< being changed by a thread that does not execute it */
};

/** A run that this process executes, or is meant to. */
struct run_entry {
    char run_id[ID_SIZE];
    enum entry_state state;
    int64_t since_ns;   /**< when it was put in this state; wall clock */
    int64_t retry_ns;   /**< monotonic: not opened again before; 0 = at once */
    unsigned attempts;  /**< that failed, in a row */
    unsigned holds;     /**< found held by another process, in a row */
    bool is_new;        /**< in the queue: nobody has asked for it with orchestrator_take_queued */
    bool is_new_paused; /**< paused, and not looked at yet: a decision may have come meanwhile */
    bool is_orphan;     /**< of a process that died: counts when it was taken over */
    bool is_taken;      /**< the document says that it is executed here: no other server takes it */
    bool is_recorded;   /**< that was written before it was claimed, and it is not claimed yet */
    bool fits;          /**< this server has the labels of its pool */
    char *pool;         /**< of its placement, as the next one; or NULL */
    char *workspace;
    struct agent_turn *turn; /**< of its agent; NULL = unknown */
    char by[BY_SIZE];
    uint64_t store_failures;  /**< that kept it from being executed, as the next ones */
    int64_t store_failing_ns; /**< since when; wall clock */
    char store_problem[160];
    struct loop *loop; /**< while it may be asked to park */
    UT_hash_handle hh;
    struct run_entry *prev; /**< order of the queue; ENTRY_QUEUED only */
    struct run_entry *next;
};

/** A thread that has nothing to do any more. */
struct ended_thread {
    pthread_t thread;
    struct ended_thread *next;
};

/** What is known of a sandbox tier. */
enum tier_state { TIER_UNKNOWN = 0, TIER_WORKS };

struct orchestrator {
    struct orchestrator_options options; /**< constant, as the next ones */
    struct loop_parts parts;
    char *work_folder;
    char *config_folder;
    char *prices_file;

    pthread_mutex_t lock;
    pthread_cond_t changed;    /**< an entry, a count, or something for the scheduler to do */
    struct run_entry *entries; /**< by run id */
    struct run_entry *queue;   /**< in order */
    struct turns turns;
    bool has_peers;      /**< other servers live: what waits is taken by the document */
    uint64_t new_queued; /**< entries that are new there */
    uint64_t queued;     /**< entries of the queue, and runs that are about to enter it */
    uint64_t running;    /**< threads, and those about to begin */
    uint64_t paused;
    bool has_new_paused;
    uint64_t openers;      /**< threads that open an agent */
    struct cancel opening; /**< set by a drain: opening may wait for servers of others */
    struct admission admission;
    uint64_t taken_over;
    uint64_t closed;
    bool is_draining;
    bool is_cutting; /**< draining: bodies are cut off, too */
    bool is_stopping;
    bool is_store_failing;      /**< it cannot be read */
    uint64_t decision_position; /**< in the audit chain; of the scan's thread, as the next ones */
    bool has_decision_position;
    bool is_audit_damaged;          /**< that was said */
    uint64_t signed_position;       /**< at which it was last seen whether to sign */
    int64_t signing_due_ns;         /**< when to see it again; 0 = at once */
    bool is_signing_failing;        /**< that was said */
    bool is_chain_broken;           /**< the audit chain was changed; under the lock */
    int64_t decision_due_ns;        /**< when time decides next: wall clock; 0 = not known yet */
    struct handoff_index *handoffs; /**< what waits for people */
    int64_t crowded_ns;             /**< since when too many wait; monotonic, 0 = they do not */
    bool is_crowd_escalated;        /**< those that waited then are escalated */
    const struct desks *seen_desks; /**< with which requests were routed last */
    uint64_t seen_desk_problem;
    struct left_alone *left_alone;   /**< runs that cannot be seen to; of the scan's thread, as the
                                          next ones */
    uint64_t scans;                  /**< so far */
    size_t others;                   /**< runs whose process may die unnoticed */
    int64_t lease_end_ns;            /**< when the first of their leases is over; monotonic */
    int64_t store_now_ns;            /**< of the present scan, by the store's clock */
    struct writer_listener listener; /**< to the end of quiet */
    bool is_writing_failing; /**< a run could not be committed, and nothing was written since */
    bool has_scheduler;
    pthread_t scheduler;
    struct ended_thread *ended;
    struct server_info server;   /**< this one; of the scheduler's thread, as the next ones, but for
                                      its address, which is under the lock */
    struct server_info *servers; /**< all, as they were seen last; changed under the lock */
    size_t server_count;
    char **shared_folders; /**< constant; NULL-terminated or NULL */
    int64_t queue_due_ns;  /**< monotonic: look at the shared queue then */
    int64_t beat_due_ns;   /**< monotonic; 0 = at once */
    int64_t forget_due_ns; /**< monotonic; 0 = at once */
    bool is_registered;
    bool is_name_lost;   /**< that was said */
    bool is_address_new; /**< under the lock */
    enum tier_state tiers[SANDBOX_TIER_COUNT];
};

static inline struct store *orchestrator_store(const struct orchestrator *orchestrator)
{
    return runtime_store(orchestrator->options.runtime);
}

static inline const struct clock *orchestrator_clock(const struct orchestrator *orchestrator)
{
    return runtime_clock(orchestrator->options.runtime);
}

/** Tell people; one line. The lock must not be held. */
void orchestrator_log(const struct orchestrator *orchestrator, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The same for what is not wrong. */
void orchestrator_tell(const struct orchestrator *orchestrator, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Wait until something changes, at most so long. The lock is held. */
void orchestrator_wait(struct orchestrator *orchestrator, int64_t longest_ns);

/* ---- Entries (entries.c); the lock is held ---- */

struct run_entry *entry_find(struct orchestrator *orchestrator, const char *run_id);
/** Add one that is not there. @param by the requester */
struct run_entry *entry_add(struct orchestrator *orchestrator, const char *run_id,
                            enum entry_state state, const char *by);
/** Change the state, with the counts and the queue that follow; waiters are woken. */
void entry_set(struct orchestrator *orchestrator, struct run_entry *entry, enum entry_state state);
/** Put a queued one first. */
void entry_first(struct orchestrator *orchestrator, struct run_entry *entry);
void entry_remove(struct orchestrator *orchestrator, struct run_entry *entry);
/** Note what decides where and when it may be executed. */
void entry_place(struct orchestrator *orchestrator, struct run_entry *entry,
                 const struct placement *place);
/** What was noted. Borrowed. */
struct placement entry_placement(const struct run_entry *entry);

/* ---- Assignments (assignment.c); the lock is not held ---- */

/** Record what is meant to be done with a run here. */
int assignment_put(struct orchestrator *orchestrator, const char *run_id,
                   enum assignment_state state, const char *by, const struct placement *place,
                   struct rondo_error *err);
/** Take one that waits, unless its document has changed since it was read. */
int assignment_take(struct orchestrator *orchestrator, const struct assignment *assignment,
                    bool *ret_is_taken, struct rondo_error *err);
/** Put one that a server which is gone had into the queue, at the place of its age, on the same
 * condition. */
int assignment_requeue(struct orchestrator *orchestrator, const struct assignment *assignment,
                       bool *ret_is_queued, struct rondo_error *err);
/**
 * Let others know that this server has to wait before it begins a run which it has taken.
 * @param ret_is_ours false: meanwhile another server has taken it
 */
int assignment_defer(struct orchestrator *orchestrator, const char *run_id, const char *by,
                     const struct placement *place, bool *ret_is_ours, struct rondo_error *err);
/** A run that another process has now is none of ours; what another server recorded stays. */
int assignment_disown(struct orchestrator *orchestrator, const char *run_id,
                      struct rondo_error *err);
/** Nothing is left to do with it. */
int assignment_remove(struct orchestrator *orchestrator, const char *run_id,
                      struct rondo_error *err);

/* ---- Threads (executor.c) ---- */

/** The result of opening, for threads that wait for it. */
struct starting {
    enum orchestrator_answer answer;
    char run_id[ID_SIZE];
    struct rondo_error err; /**< code < 0: it failed */
    bool is_done;
};

/** What a thread must execute. */
struct task {
    struct orchestrator *orchestrator;
    struct loop_spec spec;     /**< of a new run; kind NULL = an existing one */
    char by[BY_SIZE];          /**< of a new run: the requester */
    struct run_entry *entry;   /**< of an existing one, ENTRY_OPENING */
    struct loop_limits limits; /**< of an existing one */
    bool is_resume;            /**< ended and paused ones continue */
    bool was_paused;           /**< and stays so if it cannot be opened */
    struct starting *starting; /**< of the waiter, or NULL */
};

/**
 * Begin a thread; `running` counts it already. The lock is not held.
 * @param task taken over: copied, its spec emptied
 * @return 0 or RONDO_ERR_LIMIT; then it is still the caller's, and is not counted any more
 */
int executor_begin(struct orchestrator *orchestrator, struct task *task, struct rondo_error *err);

/** Whether something of the queue could be opened now. The lock is held. */
bool executor_has_queued(const struct orchestrator *orchestrator);

/** Have a thread open a queued entry. The lock is held, and let go in between. */
void executor_begin_entry(struct orchestrator *orchestrator, struct run_entry *entry);

/** Begin queued runs while there is room. The lock is held, and let go in between. */
void executor_begin_queued(struct orchestrator *orchestrator);

/** Join threads that have ended. The lock is held, and let go in between. */
void executor_join_ended(struct orchestrator *orchestrator);

/** Whether this process can run the bodies of a run: 0 or RONDO_ERR_UNSUPPORTED. */
int executor_check(struct orchestrator *orchestrator, const struct loop_spec *spec,
                   struct rondo_error *err);

/** Claim an existing run as a resume that a person requested. @return as loop_resume */
int executor_resume(struct orchestrator *orchestrator, const char *run_id, const char *by,
                    const struct loop_limits *limits, struct loop **ret_loop,
                    struct loop_opening *ret_opening, struct rondo_error *err);

/* ---- Runs that wait for a decision of people (decisions.c) ---- */

/** Continue those about which something was decided, and let time decide. The lock is not held. */
int decisions_scan(struct orchestrator *orchestrator, struct rondo_error *err);
/** Whether something was recorded about handoffs, or is due, since the last scan: cheap. */
bool decisions_are_new(struct orchestrator *orchestrator);

/* ---- Heads of the audit chain (audit_heads.c) ---- */

/** Sign the head of the chain when that is due. What fails is logged, and tried again later. */
void audit_heads_scan(struct orchestrator *orchestrator);

/* ---- Runs that wait or are paused (waiting.c) ---- */

/** See whether others paused, continued or ended one in the store. The lock is not held. */
int waiting_scan(struct orchestrator *orchestrator, struct rondo_error *err);
/** The same for one that was just continued. */
int waiting_look(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err);

/* ---- Where a run may be executed (placement.c); the lock does not matter ---- */

/** What decides it. Borrowed from the spec. */
struct placement placement_of(const struct loop_spec *spec);

/** Whether this server has the labels of a pool. @param pool or NULL */
bool placement_fits(const struct orchestrator *orchestrator, const char *pool);

/**
 * Whether this server may execute a run that somebody else had: it has the labels, and what is in
 * the workspace is here.
 * @param owner process that had it last; "" = unknown, which is taken for here
 */
bool placement_allows(const struct orchestrator *orchestrator, const struct placement *place,
                      const char *owner);

/* ---- The queue of all servers (shared_queue.c) ---- */

/** Take runs that wait, of this server and of others, while there is room and others live. The lock
 * is not held. Of the scheduler's thread. */
int shared_queue_take(struct orchestrator *orchestrator, struct rondo_error *err);

/* ---- The place in the list of servers (registration.c) ---- */

/** Check the name and the labels of options. */
int registration_check(const struct orchestrator_options *options, struct rondo_error *err);
/** Register under the name of the options. At the start. */
int registration_begin(struct orchestrator *orchestrator, struct rondo_error *err);
/** Let others know that this server lives, when that is due. The lock is not held. */
void registration_beat(struct orchestrator *orchestrator);
/** How long the scheduler may rest until the next beat. INT64_MAX when none is due by the time. */
int64_t registration_rest_ns(struct orchestrator *orchestrator);
/** See which other servers live. The lock is not held. Of the scheduler's thread, as the next one.
 */
void registration_look(struct orchestrator *orchestrator);
/** Whether another server with this owner lives. The lock is held, or it is the scheduler's thread.
 */
bool registration_knows(const struct orchestrator *orchestrator, const char *owner);
/** At the end, when no other thread is left. */
void registration_end(struct orchestrator *orchestrator);

/* ---- Runs of processes that died (orphans.c) ---- */

/** Look for them once. The lock is not held. */
int orphans_scan(struct orchestrator *orchestrator, struct rondo_error *err);

/** At the end of the orchestrator. */
void orphans_forget(struct orchestrator *orchestrator);

/** Take in what is recorded as managed. @param is_first at the start: also what is not ours */
int orphans_adopt(struct orchestrator *orchestrator, bool is_first, struct rondo_error *err);
