// SPDX-License-Identifier: Apache-2.0
/*
 * One attempt at a task, on a thread of its own: working tree, worker, a look at what it changed,
 * checks, hooks, and a request to the parent's thread to commit. It records nothing and moves no
 * branch. Everything that the worker leaves is hostile.
 */
#pragma once

#include "base/cancel.h"
#include "git/changes.h"
#include "loop/runtime.h"
#include "loop/verify.h"
#include "work/port.h"
#include "work/spec.h"
#include "work/state.h"
#include "work/trees.h"

#include <pthread.h>

/** Added to the name of an attempt's folder that is being removed. */
#define ATTEMPT_GONE ".gone"

enum attempt_phase {
    ATTEMPT_WORKING = 0,
    ATTEMPT_WANTS_COMMIT, /**< `tree` is verified on top of `base`: the parent answers */
    ATTEMPT_OVER,         /**< the thread has ended or is about to */
};

/** One check that was run. Owned texts. */
struct attempt_check {
    const char *stage; /**< static */
    char *name;
    char *command;
    struct verify_result result;
};

/** What the threads of attempts and the parent's thread share. */
struct attempt_desk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/** Files that --protect names and no commit has, as they were before the worker. */
struct attempt_guard {
    char **kept; /**< sorted */
    size_t kept_count;
};

struct attempt {
    /* Set before it begins; not changed afterwards. */
    struct attempt_desk *desk;
    struct runtime *runtime;
    const struct work_spec *work;
    const struct git_repository *repository;
    const struct work_port *port;
    struct work_trees *trees;
    size_t task; /**< index */
    char *task_id;
    char *title;
    int64_t number;
    char parent_run[ID_SIZE];
    struct loop_spec spec; /**< of the run; workspace is the working tree */
    char *folder;          /**< of this attempt: holds the working tree, our index, TMPDIR */
    char *tree_folder;
    char *index_path;
    char *base_index_path;   /**< our index of the time when the tree was new */
    size_t slot;             /**< among those that run at the same time */
    char **variables;        /**< "NAME=value" for all commands of the attempt; NULL-terminated */
    char **task_checks;      /**< commands of the task's own criteria; NULL-terminated */
    char *patch_path;        /**< where a failed attempt's changes are kept */
    char **excluded;         /**< the PRD's own files, below the top folder */
    char *branch;            /**< that gets the commit */
    char start[GIT_ID_SIZE]; /**< commit from which it began */
    char *obstacle;          /**< why nobody can work on it; or NULL */
    const char *obstacle_outcome; /**< static */
    struct cancel stop;

    /* Under the desk's lock. */
    enum attempt_phase phase;
    struct attempt_check *checks;
    size_t check_count;
    size_t checks_taken;   /**< recorded by the parent */
    bool is_answered;      /**< the parent's answer to ATTEMPT_WANTS_COMMIT */
    bool is_committed;     /**< it is on the branch */
    char tip[GIT_ID_SIZE]; /**< else: the branch is here now; "" = give up, see `outcome` */
    char *head;            /**< HEAD of the working tree at its end; NULL = unknown */

    bool has_moved_branch; /* the parent's: its worker did, and it is refused */

    /* The attempt's own until it is over. */
    char base[GIT_ID_SIZE];     /**< commit that `tree` is to follow */
    char expected[GIT_ID_SIZE]; /**< where the branch must be for that; "" = it must not exist */
    char tree[GIT_ID_SIZE];
    char *commit_message; /**< whole */
    const char *outcome;  /**< static; NULL = parked */
    char *message;
    char *output;
    char *patch;
    char *files; /**< JSON */
    size_t file_count;
    struct attempt_guard guard; /**< of the working tree */
    struct git_index_mark index_mark;
    struct work_worked worked;
    int64_t duration_ns;
    bool is_again;
    struct git_tree_mark mark; /**< of the tree, when it was new */
    bool has_mark;             /**< else the tree is not used again */
    pthread_t thread;
};

/** Begin the thread. @return 0 or RONDO_ERR_SYSTEM */
int attempt_begin(struct attempt *attempt, struct rondo_error *err);

/** Names of the variables that commands of an attempt get: for sandboxes. NULL-terminated, static
 */
const char *const *attempt_variable_names(void);

/** After the thread was joined. */
void attempt_fini(struct attempt *attempt);

/** The first glob that a path matches, also as a part of it for globs without a slash; or NULL. */
const char *attempt_protected_by(char *const *globs, const char *path);
