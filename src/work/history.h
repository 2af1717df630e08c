// SPDX-License-Identifier: Apache-2.0
/*
 * What the run of a PRD has done, read from its journal for people and programs: the state of its
 * tasks, each attempt with the checks that Rondo ran, commits, and why things failed. Only reading;
 * any thread. Texts are those of the PRD, of workers and of commands: whoever shows them makes them
 * safe.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"
#include "work/spec.h"
#include "work/state.h"

struct json_writer;

/** Attempts of one run that are kept; of more, the newest. */
#define WORK_HISTORY_ATTEMPTS 10000

/** One check of an attempt. Owned texts, which may be NULL. */
struct work_check {
    char *stage; /**< before, after, hook or merged */
    char *name;
    char *command;
    bool is_met;
    int64_t exit_code;
    int64_t duration_ns;
    char *message;
    char *output; /**< its end; only of the task whose details are read */
};

/** One attempt at a task. Owned texts, which may be NULL. */
struct work_attempt {
    size_t task; /**< index in the state */
    int64_t number;
    char run[ID_SIZE]; /**< that works on it */
    char base[GIT_ID_SIZE];
    char parent[GIT_ID_SIZE]; /**< before the commit */
    char commit[GIT_ID_SIZE]; /**< that the branch has; "" = none */
    int64_t started_ns;
    int64_t ended_ns; /**< 0 = it has no result yet */
    char outcome[24]; /**< of task.ended; "" = it has none yet */
    char *message;    /**< why it failed */
    char *output;     /**< end of what shows it; only of the task whose details are read */
    char *summary;    /**< the worker's own words; likewise */
    char *patch;      /**< file with the changes of a failed attempt */
    char *files;      /**< JSON list of paths, the first ones; likewise */
    int64_t file_count;
    int64_t tokens;
    int64_t cost_micro; /**< COST_UNKNOWN = nobody knows */
    int64_t duration_ns;
    struct work_check *checks; /**< in the order in which they ran */
    size_t check_count;
};

struct work_history {
    char run_id[ID_SIZE];
    struct work_spec spec;
    struct work_state state;
    struct work_attempt *attempts; /**< by their beginning */
    size_t attempt_count;
    size_t attempt_room;
    uint64_t dropped;  /**< earlier attempts that are not kept */
    char **blocked_by; /**< for each task: the id of the one that it waits for; or NULL */
    size_t blocked_room;
    char *problem;       /**< why the file of the PRD cannot be used at present; or NULL */
    char *archive;       /**< where the files were moved to; or NULL */
    const char *details; /**< borrowed id of the task whose outputs are read; or NULL */
};

/**
 * Read it.
 * @param details  id of the task whose outputs, summaries and files are read, too; NULL = of none
 * @param ret_history work_history_fini(), and `details` must outlive it
 * @return RONDO_ERR_UNSUPPORTED when the run is none of a PRD; or an error of the store
 */
int work_history_load(struct store *store, const char *run_id, const char *details,
                      struct work_history *ret_history, struct rondo_error *err);
void work_history_fini(struct work_history *history);

/** Take one event; they come in the order of the journal. */
void work_history_apply(struct work_history *history, const struct journal_event *event);

/** An attempt at a task; NULL = it is not kept. */
const struct work_attempt *work_history_attempt(const struct work_history *history,
                                                const char *task, int64_t number);

/** The last attempt at a task; NULL = none. */
const struct work_attempt *work_history_last(const struct work_history *history, size_t task);

/**
 * Find the newest run that carried out a file.
 * @param prd absolute path of the prd.json
 * @return 0; RONDO_ERR_NOT_FOUND
 */
int work_history_find(struct store *store, const char *prd, struct store_run *ret_run,
                      struct rondo_error *err);

/** Names of phases: pending, working, done, failed, blocked. Static. */
const char *work_phase_name(enum work_phase phase);

/** How a task that is done came to be: committed, already_done or by_hand; NULL = it is not done.
 */
const char *work_done_how(const struct work_task *task);

/** Append the members that describe a run and all of its tasks, without outputs. */
void work_history_json(const struct work_history *history, struct json_writer *writer);

/** Append the members of one task with all that is known of its attempts. */
void work_history_task_json(const struct work_history *history, size_t task,
                            struct json_writer *writer);
