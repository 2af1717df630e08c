// SPDX-License-Identifier: Apache-2.0
/*
 * The work queue of one repository: polls its issues, claims, starts runs, pushes, opens pull
 * requests. It has a thread of its own, which may end while there is nothing to do, and makes
 * progress on all of its items in turn.
 */
#pragma once

#include "forge/place.h"
#include "git/claims/claims.h"
#include "issues/filter.h"
#include "issues/step.h"
#include "loop/spec.h"
#include "work/spec.h"

struct issue_queue;

/** How runs are executed: the orchestrator, or a test. Called on the queue's thread. */
struct issue_port {
    /** Create the run if it is not there, and execute it. Its id is set. */
    int (*start)(void *context, const struct loop_spec *spec, struct rondo_error *err);
    /** Continue it; one that executes is left alone. */
    int (*resume)(void *context, const char *run_id, struct rondo_error *err);
    /** End it for good. */
    int (*stop)(void *context, const char *run_id, struct rondo_error *err);
    /** Whether it executes, or waits for its turn, in this process. */
    bool (*is_executing)(void *context, const char *run_id);
    void *context;
};

/** `settle_ns`, unless a test shortens it. More than QUEUE_PROOF_NS. */
#define ISSUE_SETTLE_NS (INT64_C(10) * 1000000000)

/** What a queue has to do. Borrowed until issue_queue_stop(). */
struct issue_queue_options {
    struct store *store;
    struct http_client *http;
    struct forge_paces *paces; /**< of all queues of the process; NULL = there is no other */
    const struct clock *clock;
    struct random *random;
    const struct issue_port *port;
    const char *owner;      /**< of this process (loop/owner.h) */
    const char *supervisor; /**< for git; or NULL */
    const char *folder;     /**< private, absolute: files of tasks */
    const struct forge_place *place;
    const char *token;                       /**< or NULL */
    const struct git_repository *repository; /**< the clone */
    struct git_access access;                /**< how it pushes */
    const char *fork; /**< "OWNER/NAME" of a fork that branches are pushed to; NULL = none. Without
                           the right to push claims are comments then */
    const char *base; /**< branch that pull requests go to; NULL = the default one */
    struct issue_filter filter;
    struct item_options item;
    const struct work_spec *work; /**< template: worker, checks, protected files */
    const struct loop_spec *run;  /**< template: limits of an issue's run */
    int64_t most_running;         /**< 1 */
    int64_t most_per_hour;        /**< 10 */
    int64_t day_cost_micro;       /**< of all items of the repository in 24 h; 0 = no limit */
    int64_t day_tokens;
    int64_t poll_ns, most_poll_ns; /**< 30 s, 5 min */
    int64_t write_gap_ns;          /**< between two writes to the forge; 0 = FORGE_WRITE_GAP_NS */
    int64_t settle_ns;             /**< from a comment that claims to the look whose is the first */
    bool has_plans;    /**< sub-issues, or the boxes of an issue's list, are a task each */
    bool is_draft;     /**< pull requests begin as drafts */
    bool is_once;      /**< end when one issue is over (or in review) */
    bool is_patient;   /**< wait until a person has mended what is in the way, else end */
    int64_t number;    /**< only that issue; 0 = any */
    const char *agent; /**< for people: "claude" */
    void (*log)(void *context, const char *line);   /**< any thread */
    void (*event)(void *context, const char *json); /**< for --json: one object an event; or NULL */
    void (*ended)(void *context); /**< the thread ends; it may only wake another one; or NULL */
    /** Nothing is due for some time: the thread ends until issue_queue_tend() starts it again.
     *  It may only wake another one. NULL = the thread stays */
    void (*parked)(void *context);
    void *context;
};

int issue_queue_start(const struct issue_queue_options *options, struct issue_queue **ret_queue,
                      struct rondo_error *err);
/**
 * Where threads end for a while (`parked`): start it again if there is something to do. To be
 * called after `parked`, after issue_queue_wake(), and when the time has come; by one thread, which
 * also stops the queue.
 * @return when to call again, monotonic; INT64_MAX = it is not parked
 */
int64_t issue_queue_tend(struct issue_queue *queue);
/** A run has settled, a webhook came, a person asked: look now. Any thread; quick. */
void issue_queue_wake(struct issue_queue *queue, bool polls);
/** How a queue has ended. */
struct issue_queue_end {
    struct rondo_error fault; /**< code 0 = none */
    int64_t number;           /**< is_once: the issue that was taken last; 0 = there was none */
    enum item_state state;    /**< of it */
    enum item_reason reason;
    bool has_worked; /**< it has read the issues at least once */
};

/** Whether it has ended by itself: is_once, or a fault. */
bool issue_queue_is_over(struct issue_queue *queue, struct issue_queue_end *ret_end);
/** Begin nothing more, and end the thread; runs go on as the orchestrator decides. NULL allowed. */
void issue_queue_stop(struct issue_queue *queue);

/** What would be done, written nowhere: a line for each issue.
 *  @param ret_by_comments whether issues would be claimed by comments */
int issue_queue_preview(const struct issue_queue_options *options, struct buf *ret_text,
                        bool *ret_by_comments, struct rondo_error *err);
