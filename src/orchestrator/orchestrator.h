// SPDX-License-Identifier: Apache-2.0
/*
 * The orchestrator: executes runs on threads of this process, as many as are admitted, and ensures
 * that every run of the store ends. What it must execute is in the store (documents of
 * the collection "managed"), so a restarted server continues where it was.
 *
 * A managed run is queued, running or paused. Runs that other processes execute are not touched
 * while their owner lives; when it is dead they are taken over, or closed as `error` where this
 * process cannot execute them (a library's).
 *
 * Every function may be called from any thread.
 */
#pragma once

#include "loop/control/control.h"
#include "loop/runtime.h"

struct http_client;
struct handoff_index;
struct orchestrator;

/** What becomes of runs whose process died. */
enum orchestrator_orphans {
    ORPHANS_RESUME = 0, /**< executed here; libraries' runs are closed after close_after_ns */
    ORPHANS_CLOSE,      /**< closed as `error` after close_after_ns */
    ORPHANS_LEAVE,      /**< left alone; only managed runs are resumed */
};

#define ORCHESTRATOR_DEFAULT_QUEUE    1000
#define ORCHESTRATOR_DEFAULT_DRAIN_NS INT64_C(30000000000)
#define ORCHESTRATOR_DEFAULT_CLOSE_NS INT64_C(300000000000)
/** How often orphans are looked for. */
#define ORCHESTRATOR_SCAN_NS INT64_C(2000000000)
/**
 * Before a run that could not be opened is tried again; doubled each time, up to 64 times as long.
 * A store that fails is waited for without end. What else is missing (a key, a file, a program) is
 * tried ORCHESTRATOR_ATTEMPTS times, then the run ends with status error and says why; `resume`
 * reopens it.
 */
#define ORCHESTRATOR_RETRY_NS INT64_C(1000000000)
/** So long more than LIMIT_HANDOFFS_CROWDED percent of the places for requests to people may be
 * taken before those that wait are escalated. */
#define ORCHESTRATOR_OVERLOAD_NS INT64_C(300000000000)
#define ORCHESTRATOR_ATTEMPTS    6

struct orchestrator_options {
    struct runtime *runtime;   /**< as the next ones: borrowed */
    struct http_client *http;  /**< for models and tools */
    const char *work_folder;   /**< hand-over files of workers */
    const char *config_folder; /**< where a user's rondo.yaml may be; or NULL */
    const char *prices_file;   /**< or NULL */
    uint64_t max_loops;        /**< executed at once; 0 = what descriptors and memory allow */
    size_t shares;             /**< orchestrators of this process that share those; 0 = one */
    uint64_t max_queue;        /**< 0 = ORCHESTRATOR_DEFAULT_QUEUE */
    int64_t drain_ns; /**< at the end: time for iterations under way; 0 = default, -1 = none */
    int64_t close_after_ns; /**< 0 = default */
    int64_t scan_ns;        /**< 0 = ORCHESTRATOR_SCAN_NS */
    int64_t retry_ns;       /**< 0 = ORCHESTRATOR_RETRY_NS */
    int64_t overload_ns;    /**< 0 = ORCHESTRATOR_OVERLOAD_NS */
    enum orchestrator_orphans orphans;
    /** Called with what people should know, one line without its end; any thread; NULL = nobody. */
    void (*log)(void *context, const char *line);
    void *log_context;
    bool is_quiet;    /**< only what is wrong */
    const char *name; /**< of this server, in lists of servers; NULL = it is in none */
    const char *pool; /**< its labels; NULL = none */
    /** Canonical paths of folders that are the same on other machines; NULL-terminated or NULL. */
    const char *const *shared_folders;
    /** A run executes here no more. Called with a lock held: it may only wake a thread. Or NULL. */
    void (*on_settled)(void *context);
    void *settled_context;
};

/**
 * Start: begins to resume managed runs at once.
 * @param ret_orchestrator orchestrator_stop()
 * @return 0; RONDO_ERR_BUSY when a living server has the name
 */
int orchestrator_start(const struct orchestrator_options *options,
                       struct orchestrator **ret_orchestrator, struct rondo_error *err);

/**
 * Begin and admit no more runs. First half of the end: iterations under way may end until
 * drain_ns has passed, then they are interrupted; every run is parked where it is and stays
 * managed. Blocks until no thread executes a run any more.
 */
void orchestrator_drain(struct orchestrator *orchestrator);

/** Drain if that was not done, join all threads, release. NULL is allowed. */
void orchestrator_stop(struct orchestrator *orchestrator);

/** What came of a request to execute. */
enum orchestrator_answer {
    ORCHESTRATOR_STARTED = 0, /**< a thread executes it */
    ORCHESTRATOR_QUEUED,      /**< it will be executed when there is room */
    ORCHESTRATOR_FULL,        /**< neither: try again later; nothing was created */
    ORCHESTRATOR_DRAINING,    /**< this server is about to end; nothing was created */
    ORCHESTRATOR_HELD, /**< a living process executes it, or another run of an exclusive agent */
};

/**
 * Create a run and execute or queue it. Blocks while an agent opens its model and tools, which
 * happens on the thread of its loop: what is missing is reported before there is a run;
 * for a queued run when its turn has come, in its journal.
 * @param by the requester, for the journal
 * @param ret_run_id set for STARTED and QUEUED
 */
int orchestrator_run(struct orchestrator *orchestrator, const struct loop_spec *spec,
                     const char *by, enum orchestrator_answer *ret_answer, char ret_run_id[ID_SIZE],
                     struct rondo_error *err);

/**
 * Create a run that waits for its turn, without waiting until its agent is open: what is missing
 * is in its journal. A run that exists already counts as created.
 * @param spec       has the id of the run
 * @param ret_answer QUEUED; FULL, DRAINING or HELD: nothing was created
 */
int orchestrator_queue_run(struct orchestrator *orchestrator, const struct loop_spec *spec,
                           const char *by, enum orchestrator_answer *ret_answer,
                           struct rondo_error *err);

/** Whether a run waits or executes here; a paused one does neither. */
bool orchestrator_is_executing(struct orchestrator *orchestrator, const char *run_id);

/**
 * Execute an existing run: resume, or continue when it is paused. A paused one that a living
 * process executes is told to continue, which is STARTED, too.
 * @param limits to be changed first, or NULL
 * @return 0; RONDO_ERR_STATE when it is completed, RONDO_ERR_NOT_FOUND, RONDO_ERR_UNSUPPORTED when
 *         it is a library's
 */
int orchestrator_resume(struct orchestrator *orchestrator, const char *run_id,
                        const struct loop_limits *limits, const char *by,
                        enum orchestrator_answer *ret_answer, struct rondo_error *err);

/** Stop, pause, change limits: of managed and of others' runs. Returns enum loop_controlled. */
int orchestrator_stop_run(struct orchestrator *orchestrator, const char *run_id, const char *by,
                          struct rondo_error *err);
int orchestrator_pause_run(struct orchestrator *orchestrator, const char *run_id, const char *by,
                           struct rondo_error *err);
int orchestrator_change_limits(struct orchestrator *orchestrator, const char *run_id,
                               const struct loop_limits *limits, const char *by,
                               struct rondo_error *err);

/**
 * Append what a run waits for, if no living server can execute it; else nothing. It reads the
 * store, so it must not be called from a callback of the store.
 */
void orchestrator_explain_waiting(struct orchestrator *orchestrator, const struct store_run *run,
                                  struct buf *ret_text);

/** Whether a run waits to be executed, here or in the queue of all servers. The same holds. */
bool orchestrator_is_queued(struct orchestrator *orchestrator, const char *run_id);

/**
 * Runs that began to wait here since the last call: no event of theirs says so.
 * @return how many, up to `size`; the others come with the next call
 */
size_t orchestrator_take_queued(struct orchestrator *orchestrator, char (*ret_run_ids)[ID_SIZE],
                                size_t size);

/** Current state, for health and metrics. */
struct orchestrator_state {
    uint64_t running; /**< loops on threads */
    uint64_t queued;
    uint64_t paused;    /**< managed ones */
    uint64_t max_loops; /**< in force now */
    uint64_t max_queue;
    uint64_t taken_over; /**< since the start, as the next one */
    uint64_t closed;
    bool is_draining;
    bool is_store_failing; /**< it could not be read, or not be written, when last tried */
    bool is_chain_broken;  /**< the audit chain is not signed any more, because it was changed */
    char limited_by[16];   /**< "option", "descriptors", "memory", "threads", or "process":
                                LIMIT_LOOPS_PER_PROCESS */
};
struct orchestrator_state orchestrator_state(struct orchestrator *orchestrator);

/** Let lists of servers show where this one can be reached. Any thread. */
void orchestrator_set_address(struct orchestrator *orchestrator, const char *address);

/** Look at decisions now: one was made in this process. Any thread; quick. */
void orchestrator_wake(struct orchestrator *orchestrator);

/** What waits for people, in memory, for inboxes: refresh it before use (handoff/inbox/index.h).
 * Any thread.
 */
struct handoff_index *orchestrator_handoffs(struct orchestrator *orchestrator);

/** The file of prices that it was given, or NULL. */
const char *orchestrator_prices_file(const struct orchestrator *orchestrator);
/** Where a user's rondo.yaml may be, or NULL. */
const char *orchestrator_config_folder(const struct orchestrator *orchestrator);

/** The parts for loop/control. */
const struct loop_parts *orchestrator_parts(const struct orchestrator *orchestrator);
