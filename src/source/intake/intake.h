// SPDX-License-Identifier: Apache-2.0
/*
 * The intake: accepts start requests of all sources and hands them out to be started.
 *
 * A request that was accepted is durable, and ends as exactly one run or one recorded refusal, over
 * any kill: its id is the run's, it is deleted only when the run exists, and each step is one
 * transaction of the store. What waits is indexed in memory; no cost grows with what has been
 * accepted before, but the start reads what waits.
 *
 * A role has a queue. Its requests wait while as many runs as the role or the daemon may execute
 * are executing, and the turns of one conversation for each other. Roles take turns.
 *
 * Any thread, except that intake_close is called when no other call is under way. Submitting
 * blocks while another request is being committed; a store that fails is an error, and the caller
 * may submit again: with a key the event is accepted once.
 */
#pragma once

#include "base/clock.h"
#include "source/intake/refusal.h"
#include "source/intake/request.h"

struct intake;
struct random;

/** What becomes of a request while all runs that a role may execute are executing. */
enum queue_rule {
    QUEUE_WAIT = 0,    /**< it waits; when the queue is full it is not accepted */
    QUEUE_COALESCE,    /**< one waits for each source and group, with the newest prompt; turns of
                            conversations wait each */
    QUEUE_DROP_OLDEST, /**< when the queue is full, the oldest is dropped */
    QUEUE_REFUSE,      /**< when the queue is full, it is refused */
    QUEUE_RULE_COUNT
};

/** "queue", "coalesce", "drop_oldest", "refuse". Static. */
const char *queue_rule_name(enum queue_rule rule);
/** @return whether `name` is a rule; only then `*ret_rule` is set */
bool queue_rule_from_name(const char *name, enum queue_rule *ret_rule);

#define INTAKE_DEFAULT_QUEUE        100
#define INTAKE_DEFAULT_ROLE_RUNNING 4
#define INTAKE_DEFAULT_RUNNING      16

/** Daemons of the store: documents, key = the name of the process. */
#define DAEMON_COLLECTION "daemon"

/** Of events of a role that have the same fate, people are told so often at most. */
#define INTAKE_NOTICE_NS (INT64_C(3600) * NS_PER_S)
/** An event that comes so much after its time is late. */
#define INTAKE_LATE_NS (INT64_C(300) * NS_PER_S)

/** A role's queue. */
struct queue_options {
    uint64_t max_waiting; /**< at most LIMIT_QUEUE_LENGTH */
    uint64_t max_running; /**< at least 1 */
    enum queue_rule rule;
};

/** What to do with one event: accepted, or why not. */
enum intake_outcome {
    INTAKE_ACCEPTED = 0, /**< durable; becomes the run */
    INTAKE_DUPLICATE,    /**< it came before, and the run is what that became */
    INTAKE_COALESCED,    /**< durable; the run is one that waits, which has this prompt now */
    INTAKE_REFUSED,      /**< recorded as a refusal; submitting again is of no use */
    INTAKE_FULL,         /**< QUEUE_WAIT, and the queue is full: not recorded; submit again later */
    INTAKE_OVERTAKEN,    /**< the mark has another version: nothing was done; read it again */
    INTAKE_OUTCOME_COUNT
};

/** "accepted", "duplicate", "coalesced", "refused", "full", "overtaken". Static. */
const char *intake_outcome_name(enum intake_outcome outcome);

/** What a source submits. Texts are borrowed; NULL where nothing else is said. */
struct intake_event {
    const char *source; /**< its id; never NULL */
    const char *role;   /**< never NULL */
    const char *kind;   /**< type of the source; never NULL */
    const char *prompt; /**< never NULL; at most LIMIT_START_PROMPT_BYTES */
    enum start_mode mode;
    const char *key;          /**< the same for the same event; NULL = each one is new */
    const char *group;        /**< for QUEUE_COALESCE; NULL = all events of the source are one */
    const char *context;      /**< JSON object for the journal; NULL = {} */
    const char *conversation; /**< START_CONVERSATION; such events are never coalesced */
    int64_t idle_s;           /**< a conversation that was quiet for longer begins anew; 0 = none */
    int64_t due_ns;           /**< when it was to come; 0 = now */
    int64_t missed;           /**< earlier times that passed without an event */
    const char *mark;         /**< new mark of the source, changed in the same transaction whatever
                                   the outcome but INTAKE_FULL; NULL = unchanged */
    uint64_t mark_version;    /**< of the mark that is replaced; 0 = any */
};

struct intake_result {
    enum intake_outcome outcome;
    char run_id[ID_SIZE];             /**< ACCEPTED, DUPLICATE, COALESCED */
    char reason[REFUSAL_REASON_SIZE]; /**< REFUSED, FULL */
};

/** Something that people should know: once for each event that did not become a run of its own, or
 *  that is late. They are told where `unsaid` is not 0. */
typedef void intake_notice_fn(void *context, const struct start_refusal *refusal);

struct intake_options {
    struct store *store;             /**< borrowed, as the next ones */
    const struct clock *clock;       /**< NULL = the machine's */
    struct random *random;           /**< NULL = the kernel's */
    const char *owner;               /**< of this process (loop/owner.h) */
    uint64_t max_running;            /**< over all roles; 0 = INTAKE_DEFAULT_RUNNING */
    void (*on_ready)(void *context); /**< something may be started; any thread, with no lock */
    intake_notice_fn *on_notice;     /**< any thread, with no lock; or NULL, as on_ready */
    /** Whether a process is gone; any thread; must not call the store. NULL = owner_is_dead() */
    bool (*is_dead)(void *context, const char *owner);
    void *context;
};

/** Read what waits of this process. @param ret_intake intake_close() */
int intake_open(const struct intake_options *options, struct intake **ret_intake,
                struct rondo_error *err);
/** What waits stays in the store. NULL is allowed. */
void intake_close(struct intake *intake);

/** Take in the requests that wait of processes that are dead, for the roles that are set. */
int intake_adopt(struct intake *intake, struct rondo_error *err);

/** Forget keys and refusals that are too old. To be called now and then (once an hour). */
int intake_purge(struct intake *intake, struct rondo_error *err);

/** Accept requests for a role from now on, or change its queue. */
void intake_set_role(struct intake *intake, const char *role, const struct queue_options *options);

/** Accept no more requests for a role. What waits stays, until the role is set again. */
void intake_remove_role(struct intake *intake, const char *role);

/** Start no requests of a role, or start them again. They are accepted all the same. */
void intake_hold_role(struct intake *intake, const char *role, bool is_held);

/** Submit an event. @return 0 with the result, or the store's error */
int intake_submit(struct intake *intake, const struct intake_event *event,
                  struct intake_result *ret_result, struct rondo_error *err);

/**
 * Times of a source passed, and no event comes for them: recorded as late. Where the mark has
 * another version than the event says, nothing is recorded.
 */
int intake_skip(struct intake *intake, const struct intake_event *event, const char *reason,
                struct rondo_error *err);

/**
 * The first mark of a source, unless there is one: of several servers that begin with a source all
 * begin at the same mark.
 * @param mark     JSON object
 * @param ret_mark the one that counts; owned
 */
int intake_begin_mark(struct intake *intake, const char *source, const char *mark, char **ret_mark,
                      struct rondo_error *err);

/**
 * Replace a source's mark on condition of its version.
 * @param version of the one that was read; of the new one afterwards
 * @return 1, 0 when another process has changed it, or a code: then it may be replaced all the same
 */
int intake_replace_mark(struct intake *intake, const char *source, const char *mark,
                        uint64_t *version, struct rondo_error *err);

/** Name of the process that the intake works for. Borrowed. */
const char *intake_owner(const struct intake *intake);

/** Change a source's mark without a request. @param mark JSON object; NULL = forget it */
int intake_set_mark(struct intake *intake, const char *source, const char *mark,
                    struct rondo_error *err);

/* ---- Starting: for the dispatcher ---- */

/**
 * Take the next request that may be started, and count its run as executing.
 * @param ret_request start_request_fini()
 * @return 1, 0 when none may be started now, or a negative code (the request waits again)
 */
int intake_next(struct intake *intake, struct start_request *ret_request, struct rondo_error *err);

/** Its run exists: the request is deleted. The run counts until intake_ended. */
int intake_started(struct intake *intake, const struct start_request *request,
                   struct rondo_error *err);

/** It cannot become a run: the request ends as a refusal. */
int intake_refuse(struct intake *intake, const struct start_request *request, const char *reason,
                  struct rondo_error *err);

/** It cannot be started now: it waits again, as the first. */
void intake_postpone(struct intake *intake, const char *run_id);

/** The same for a while: others may start meanwhile. */
void intake_defer(struct intake *intake, const char *run_id);

/** When something that was deferred may start; monotonic, 0 = nothing was. */
int64_t intake_retry_ns(struct intake *intake);

/**
 * A run of a role that executes, but was started before this intake was opened. A request that a
 * crash has left for it is deleted.
 * @param conversation which a turn of is the run, of `source`; or NULL
 */
void intake_count_running(struct intake *intake, const char *role, const char *run_id,
                          const char *source, const char *conversation);

/** Whether a request waits, or its run executes. */
bool intake_is_pending(struct intake *intake, const char *run_id);

/**
 * The same over all servers of the store: a request waits in one of them, or one of them executes
 * its run or is to. A run that is paused is not pending. Reads the store unless it is pending here.
 * @return 1, 0, or a code
 */
int intake_is_pending_anywhere(struct intake *intake, const char *run_id, struct rondo_error *err);

/**
 * The run that an event of a source became.
 * @return 1, 0 when no such event came in the last seven days, or a code
 */
int intake_find_run(struct intake *intake, const char *source, const char *key,
                    char ret_run_id[ID_SIZE], struct rondo_error *err);

/** A run does not execute any more. One that is not counted is ignored. */
void intake_ended(struct intake *intake, const char *run_id);

/** Called with each run that counts as executing; must not call the intake. */
typedef void intake_running_fn(void *context, const char *run_id);
void intake_list_running(struct intake *intake, intake_running_fn *fn, void *context);

/* ---- Inspecting ---- */

struct intake_state {
    uint64_t outcomes[INTAKE_OUTCOME_COUNT]; /**< since the start, as the next ones */
    uint64_t refusals[REFUSAL_KIND_COUNT];
    uint64_t started;
    uint64_t waiting;
    uint64_t running;
    uint64_t max_running;
};
struct intake_state intake_state(struct intake *intake);

/** One role's queue. */
struct queue_state {
    bool is_open; /**< false: the role is not there now */
    struct queue_options options;
    uint64_t waiting;
    uint64_t running;
};
/** @return false when there is no such queue */
bool intake_queue_state(struct intake *intake, const char *role, struct queue_state *ret_state);
