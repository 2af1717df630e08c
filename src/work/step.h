// SPDX-License-Identifier: Apache-2.0
/*
 * What is next in the run of a PRD: from the state of its tasks and its limits to one action. No
 * I/O, no clock, no randomness. The executor carries the action out, records it, folds the record,
 * and asks again.
 */
#pragma once

#include "base/buf.h"
#include "work/state.h"

/** Tasks that fail in a row, without one that is done, before the run gives up. */
#define WORK_BREAKER_TASKS 3
/** Attempts in a row with the same failure before it does. */
#define WORK_BREAKER_SAME 5
/** Attempts at a task that meet the changes of others: one more begins with these, and is the last.
 * They do not count against the attempts of the task. */
#define WORK_MOST_CONFLICTS 2
/** Attempts in a row that policies deny. */
#define WORK_BREAKER_DENIED 2

enum work_action_kind {
    WORK_START, /**< begin, or continue, an attempt at `task` */
    WORK_FAIL,  /**< `task` has no attempts left: record it */
    WORK_BLOCK, /**< `task` depends on `by`: record it */
    WORK_WAIT,  /**< for one of the attempts that run */
    WORK_END,   /**< nothing is left to do: `status` says how it went */
};

struct work_action {
    enum work_action_kind kind;
    size_t task;     /**< index */
    size_t by;       /**< index */
    int64_t attempt; /**< WORK_START: number of the attempt */
    bool is_again;   /**< WORK_START: it was begun already, by a process that is gone */
    enum work_end {
        WORK_COMPLETED, /**< every task is done */
        WORK_STUCK,     /**< nothing failed, but what is left waits for people */
        WORK_GAVE_UP,   /**< tasks failed */
        WORK_BREAKER,   /**< so much failed in a row that going on makes no sense */
    } end;
};

struct work_options {
    int64_t jobs;         /**< attempts at the same time */
    int64_t attempts;     /**< of each task */
    int64_t left;         /**< attempts that may still end in this run, those that run included */
    const bool *is_alive; /**< for each task, whether an attempt at it runs in this process; NULL =
                             none does */
};

/** What comes next. */
struct work_action work_next(const struct work_state *state, const struct work_options *options);

/** Counts of tasks, for people and programs. */
struct work_counts {
    size_t total, done, failed, blocked, pending, running, set_aside;
    size_t marked; /**< done, but only because the file was changed to say so during the run */
};
struct work_counts work_count(const struct work_state *state);

/** Append one line that says truthfully what came of the tasks. */
void work_summary(const struct work_state *state, const struct work_action *end,
                  struct buf *ret_text);
