// SPDX-License-Identifier: Apache-2.0
/*
 * What the run of a PRD was asked to do, pinned when it starts: loop_spec.work as JSON. Checks,
 * protected files and the worker are never read again from what agents can write. A run that works
 * on a task has a `work` of its own, which names its parent. Pure; any thread.
 */
#pragma once

#include "base/id.h"
#include "loop/spec.h"

/** The kind of the parent's loop_spec. */
#define WORK_KIND "prd"

struct work_spec {
    char *repository; /**< top folder of the person's working tree, absolute */
    char *settings;   /**< digest of the repository's settings at the start */
    char *prd;        /**< absolute path of the prd.json */
    char *progress;   /**< absolute path of the progress log */
    char *tag;        /**< list of a task-master file; or NULL */
    char *name;       /**< of the PRD */
    char *branch;     /**< that gets the commits; or all before the names of the tasks */
    char *base;       /**< commit where the branch was at the start */
    char *remote;     /**< to which branches are pushed; NULL = none */
    char *setup;      /**< command for `sh -c` in each new working tree; or NULL */
    char **protect;   /**< globs of files that no task may change; NULL-terminated or NULL */
    int64_t jobs;     /**< attempts at the same time, 1 to LIMIT_WORK_JOBS */
    int64_t attempts; /**< of each task, 1 to LIMIT_WORK_ATTEMPTS */
    int64_t is_branch_per_task; /**< each task has a branch of its own, below `branch` */
    int64_t wants_request;      /**< the page for a pull request is told with each push */
    int64_t is_clean;           /**< checks run in a new working tree of what will be committed */
    int64_t is_archived;        /**< the PRD goes into an archive when all is done */
    int64_t issue;              /**< number of the issue that the task is; 0 = it is none */
    char *review_secret; /**< of the codes of reviews (work/review.h); NULL = nobody reviews */
    struct loop_spec reviewer; /**< who reviews a change before its commit */
    struct loop_spec worker;   /**< who works on a task; its conditions are the project's checks */
};

/** Release everything; a zeroed one is allowed. */
void work_spec_fini(struct work_spec *spec);

/** Append as JSON. */
void work_spec_encode(const struct work_spec *spec, struct buf *ret_buf);

/** Read and check it. @param ret_spec work_spec_fini() */
int work_spec_decode(const char *json, struct work_spec *ret_spec, struct rondo_error *err);

/** Name of the branch that gets the commit of a task: always the same one. Owned */
char *work_task_branch(const struct work_spec *spec, const char *task);

/** Whether a run's options are those of the run of a PRD, which this layer executes. */
bool work_is_parent(const struct loop_spec *spec);

/** The `work` of a run that works on a task. */
void work_child_encode(const char *parent, const char *task, int64_t attempt, struct buf *ret_buf);

/** The same of a run that reviews a change: it has nothing to do but to answer. */
void work_review_encode(const char *parent, const char *task, int64_t attempt, struct buf *ret_buf);

/** Whether a run reviews a change. */
bool work_is_review(const struct loop_spec *spec);

/** Whether a run works on a task for another one, which alone continues it. @param ret_parent
 * ID_SIZE bytes */
bool work_find_parent(const struct loop_spec *spec, char *ret_parent);
