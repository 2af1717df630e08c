// SPDX-License-Identifier: Apache-2.0
/* What the files of the executor share. Internal to it. The loop's thread. */
#pragma once

#include "work/executor.h"

#include "git/repository.h"
#include "git/run.h"
#include "prd/prd.h"
#include "work/attempt.h"
#include "work/spec.h"
#include "work/step.h"
#include "work/trees.h"

struct work_executor {
    struct loop *loop;
    struct work_port port;
    struct work_spec work;
    struct git_repository *repository;
    struct work_state state;
    struct prd prd; /* as read last and valid */
    bool has_prd;
    char complaint[RONDO_ERROR_MESSAGE_SIZE]; /* about the file, as recorded last */
    char obstacle[1024];                      /* what a person has to do first; "" = nothing */
    char known_tip[GIT_ID_SIZE];              /* up to where others' commits are no obstacle */
    struct attempt_desk desk;
    struct attempt *attempts[LIMIT_WORK_JOBS]; /* NULL = free */
    struct attempt *merging;                   /* whose turn it is in the merge queue */
    bool *is_alive;                            /* for each task */
    bool *is_noted;                            /* likewise: it is in the progress log */
    char ***pinned; /* likewise: the criteria with a command that it began with; NULL = none yet */
    size_t task_room;
    char **excluded;
    char *cache; /* folder of this run's attempts */
    struct work_trees trees;
    char *patches;         /* folder in the state folder */
    bool is_due;           /* an attempt has ended, and the files do not say so yet */
    bool is_push_over;     /* somebody has to do something before another push can be a success */
    bool has_ended;        /* an attempt that counts has ended in this iteration */
    char tip[GIT_ID_SIZE]; /* where the branch was when it was looked at last */
};

static inline struct git executor_git(struct work_executor *executor)
{
    return (struct git){.repository = executor->repository};
}

/** Record an event, and fold it. */
void executor_record(struct work_executor *executor, struct journal_event event);

/** Record what is wrong with the files of the PRD, once. */
void executor_complain(struct work_executor *executor, const char *message);

/** Whether a worker can write to the files of the PRD. */
static inline bool executor_is_reachable(const struct work_executor *executor)
{
    return executor->work.worker.worker_tier == SANDBOX_NONE;
}

/**
 * The commands that decide about a task: those that the file has, and those that it has had since
 * the run was opened, if a worker could have removed them. @return list, owned
 */
char **executor_task_checks(struct work_executor *executor, size_t task);

/** Take over what people have changed in the file. */
int executor_read_tasks(struct work_executor *executor, struct rondo_error *err);

/** Bring the files in line with the journal, then take over what people have changed. */
void executor_update_files(struct work_executor *executor);

/** Begin, or continue, an attempt. */
int executor_start(struct work_executor *executor, const struct work_action *action,
                   struct rondo_error *err);

/**
 * Record what attempts have posted, and answer those that want to commit.
 * @param is_all take every attempt that is over; else one that counts at most
 */
void executor_take_posts(struct work_executor *executor, bool is_all);

/** Wait until an attempt posts something, or for a moment. Others may ask the gate meanwhile. */
void executor_wait(struct work_executor *executor);

/** The run is to stop: park what runs, and wait for it. */
void executor_park_all(struct work_executor *executor);

/** The same after the run's end, when nothing can be recorded. */
void executor_drop_all(struct work_executor *executor);

/**
 * Where the branch of a task is.
 * @param ret_tip "" when it does not exist yet
 * @param ret_is_free false when a person has checked it out, or deleted it, or when commits that
 * are not this run's change what --protect names: `obstacle` says so
 */
int executor_find_tip(struct work_executor *executor, const char *branch, char ret_tip[GIT_ID_SIZE],
                      bool *ret_is_free, struct rondo_error *err);

/** Where a branch is. @param ret_id "" when it does not exist */
int executor_read_branch(struct work_executor *executor, const char *branch,
                         char ret_id[GIT_ID_SIZE], struct rondo_error *err);

/**
 * Find where an attempt begins: at the tip of its branch (`expected`), or of the branches of what
 * its task depends on. What is in the way is noted in the attempt.
 */
int executor_find_start(struct work_executor *executor, struct attempt *attempt,
                        struct rondo_error *err);

/** The same for an attempt that was begun already, and has its start. */
int executor_continue_branch(struct work_executor *executor, struct attempt *attempt,
                             struct rondo_error *err);

/** Push the branches whose commits the remote lacks. What prevents it is recorded. */
void executor_push(struct work_executor *executor);

/** A branch that the remote lacks; NULL = none, or nothing has to be pushed. */
const char *executor_find_unpushed(const struct work_executor *executor);

/** Undo what workers have done to the branch, and take over what people have. Those workers'
 *  attempts are marked. */
int executor_guard_branch(struct work_executor *executor, struct rondo_error *err);

/** Say why an attempt with such a mark is refused. */
void executor_blame(const struct work_executor *executor, char *message, size_t size);

/** Record commits that a killed process had made and not recorded. */
int executor_finish_commits(struct work_executor *executor, struct rondo_error *err);

/** Remove working trees and folders of this run that no attempt will continue in. */
int executor_remove_leftovers(struct work_executor *executor, struct rondo_error *err);
