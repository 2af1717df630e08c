// SPDX-License-Identifier: Apache-2.0
/*
 * Where the tasks of a PRD are: the fold of the events of its run. The prd.json, the progress log,
 * the branch and the working trees are projections of it, which are repaired at each start.
 * Folding has no clock, no I/O and no randomness. One thread.
 */
#pragma once

#include "base/id.h"
#include "git/repository.h"
#include "journal/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work_phase {
    WORK_PENDING = 0, /**< not done; worked on when those that it depends on are done */
    WORK_RUNNING,     /**< an attempt was started and has no result */
    WORK_DONE,
    WORK_FAILED,
    WORK_BLOCKED, /**< one that it depends on has failed */
};

/** One task. Owned texts. */
struct work_task {
    char *id;
    char *title;
    size_t *depends; /**< indexes */
    size_t depend_count;
    int32_t priority;
    uint32_t order;  /**< place in the file as it is now */
    int said;        /**< enum prd_status that the file had when it was read last */
    bool is_removed; /**< the file has it no more */
    enum work_phase phase;
    int64_t attempt;          /**< number of the last attempt; 0 = none */
    int64_t failed;           /**< attempts that count, since the task was last begun anew */
    int64_t conflicts;        /**< those of them whose changes other tasks were in the way of */
    char run[ID_SIZE];        /**< of the last attempt */
    char base[GIT_ID_SIZE];   /**< from which it began */
    char *folder;             /**< its working tree; or NULL */
    bool is_ended;            /**< the last attempt has a result; false = it has to be continued */
    char commit[GIT_ID_SIZE]; /**< "" = none; with `is_committing`: about to be on the branch */
    char parent[GIT_ID_SIZE]; /**< where the branch must be for it */
    char *branch;             /**< that has the commit; or NULL */
    bool is_pushed;           /**< a remote has it, too */
    bool is_committing;       /**< intent without result */
    bool is_committed;    /**< the branch has the commit of the last attempt, which may still run */
    bool is_by_hand;      /**< people say that it is done */
    bool is_marked;       /**< they have said so since the run began */
    bool is_claimed;      /**< the file says so, which is not believed and has to be put back */
    bool is_already_done; /**< its own checks passed before anybody worked */
    bool is_closed;       /**< done or failed in this run: the files do not say so yet */
    char outcome[24];     /**< of the last attempt */
    char *message;        /**< why the last attempt failed; or NULL */
    char *output;         /**< end of what shows it; or NULL */
    char *summary;        /**< the worker's own words; or NULL */
    char *files;          /**< JSON list of what the commit changes; or NULL */
    int64_t tokens, cost_micro; /**< of all attempts */
    int64_t duration_ns;
    int64_t ended_ns; /**< when the last attempt ended */
};

struct work_state {
    struct work_task *tasks; /**< removed ones stay, so that indexes do */
    size_t count;
    bool is_read;           /**< there is a list */
    uint64_t counted;       /**< attempts that ended, but for those that do not count */
    uint64_t committed;     /**< commits that this run has made */
    char tip[GIT_ID_SIZE];  /**< the last of them; "" = none */
    uint64_t failed_in_row; /**< tasks that failed since the last one was done */
    uint64_t same_error;    /**< attempts in a row that failed in the same way */
    uint64_t error_print;   /**< of the last failure */
    uint64_t denied_in_row;
    bool is_archived;
};

void work_state_fini(struct work_state *state);

/** Apply one event. Others than those of tasks are ignored. */
void work_fold(struct work_state *state, const struct journal_event *event);

/** Task of an id, those that were removed included; NULL = none. */
struct work_task *work_find(struct work_state *state, const char *id);

/** Whether an attempt with this outcome counts against the limits. */
bool work_counts_as_attempt(const char *outcome);

/** Attempts that run. */
size_t work_running(const struct work_state *state);

/** Whether two failures are the same but for numbers and addresses in their texts: equal values. */
uint64_t work_error_print(const char *outcome, const char *message, const char *output, size_t len);
