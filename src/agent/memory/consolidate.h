// SPDX-License-Identifier: Apache-2.0
/*
 * Consolidation: after a run of an agent with memory, its model derives facts from episodes.
 *
 * That a run's episodes are due is a document, written before the first of them is stored; it goes
 * when they were consolidated. Of one owner at most one batch is under way in all processes. The
 * model's reply is recorded, with the ids of its facts, before anything follows from it: a process
 * that dies earlier leaves the request to be made again, one that dies later leaves facts that the
 * next one stores under the same ids. Facts, the marks of their episodes and the pruning are one
 * transaction.
 *
 * Before a request and after it the journal of the run for which it is made gets an event. The
 * second one is recorded once the facts are stored, and exactly once, unless somebody resumes the
 * run meanwhile: then it is left out.
 *
 * The request is one of the agent: its policies, its budgets and its keys. Functions block for as
 * long as the model takes; any thread.
 */
#pragma once

#include "loop/runtime.h"

struct buf;
struct http_client;

struct consolidation_parts {
    struct runtime *runtime;
    struct http_client *http;
    const char *prices_file; /**< or NULL */
    struct cancel *cancel;   /**< ends the request under way; or NULL */
    /** One line for people about what failed; NULL = nobody. */
    void (*log)(void *context, const char *line);
    void *log_context;
};

/** What was done. */
struct consolidation_report {
    uint64_t batches;  /**< that a model was asked about */
    uint64_t episodes; /**< consolidated */
    uint64_t facts;    /**< stored */
    int64_t tokens;    /**< that models used, also where they failed */
    int64_t cost_micro;
    bool is_cost_unknown; /**< of some of them the price is not known */
    uint64_t waiting; /**< runs that are due later: another process is at it, or it has failed */
    int64_t next_ns;  /**< wall clock: when to look again, if no run of this process ends before;
                           0 = nothing is known to become due */
    char problem[RONDO_ERROR_MESSAGE_SIZE]; /**< of the last one that failed, or "" */
};

/**
 * Consolidate what is due: one batch for each run that has ended.
 * @param agent_id of this agent only; NULL = of all
 * @return 0, also when models failed (it is tried again later); a negative code of the store
 */
int consolidation_work(const struct consolidation_parts *parts, const char *agent_id,
                       struct consolidation_report *ret_report, struct rondo_error *err);

/**
 * Consolidate all episodes that an agent has, now, whatever its role says of when: with the model
 * and the settings of its newest run.
 * @return as consolidation_work; RONDO_ERR_NOT_FOUND when the agent has no run of a role
 *         with memory
 */
int consolidation_work_all(const struct consolidation_parts *parts, const char *agent_id,
                           struct consolidation_report *ret_report, struct rondo_error *err);

/** Append "1 fact from 2 episodes" and what that used, for people. Pure. */
void consolidation_describe(const struct consolidation_report *report, struct buf *ret_text);

/* ---- The thread of a server ------------------------------------------------------------------ */

struct consolidation_keeper;

/** How long the thread sleeps after a report: from a second to an hour. Pure. */
int64_t consolidation_sleep_ns(int64_t next_ns, int64_t now_ns);

/** Start the thread. @param ret_keeper consolidation_keeper_stop() */
int consolidation_keeper_start(const struct consolidation_parts *parts,
                               struct consolidation_keeper **ret_keeper, struct rondo_error *err);
/** A run has ended. Quick; any thread. NULL is allowed. */
void consolidation_keeper_wake(struct consolidation_keeper *keeper);
/** End the request under way and the thread. What was not done is done by the next one. */
void consolidation_keeper_stop(struct consolidation_keeper *keeper);
