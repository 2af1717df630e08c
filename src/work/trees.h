// SPDX-License-Identifier: Apache-2.0
/*
 * The working trees of a run that nobody works in: adding and removing one takes long in a large
 * repository, so the next attempt gets one that was used, made as new (git/reuse.h). They are in
 * the run's folder of the cache, with git's records and the run's lock, so that whatever a kill
 * leaves is found at the next start. Any thread.
 */
#pragma once

#include "base/limits.h"
#include "git/reuse.h"

#include <pthread.h>

struct work_tree {
    char *folder; /**< has "tree" and "base", the index of the time when it was new; owned */
    struct git_tree_mark mark;
};

struct work_trees {
    pthread_mutex_t lock;
    char *cache; /**< folder of the run; owned */
    struct work_tree items[LIMIT_WORK_JOBS];
    size_t count;
    size_t most;   /**< that are kept; others are removed */
    uint64_t next; /**< number of the next folder */
};

/** @param cache folder of the run, which is there */
void work_trees_init(struct work_trees *trees, const char *cache, size_t most);

/** Remove all that wait for their next use. @param repository NULL = it was never opened, and there
 * are none */
void work_trees_remove(struct work_trees *trees, const struct git_repository *repository);

/** Likewise, with its own memory. */
void work_trees_fini(struct work_trees *trees, const struct git_repository *repository);

/**
 * Get a working tree as if it was added now. What is at its path is removed.
 * @param request with `base_index_path`
 * @param ret_mark for work_trees_give()
 * @param ret_has_mark false: it cannot be used again
 */
int work_trees_take(struct work_trees *trees, struct git *git,
                    const struct git_worktree_request *request, struct git_tree_mark *ret_mark,
                    bool *ret_has_mark, struct rondo_error *err);

/**
 * Nobody works in it any more: put it away for the next one.
 * @return whether it is gone from its path; else the caller removes it
 */
bool work_trees_give(struct work_trees *trees, const struct git_repository *repository,
                     const char *path, const char *base_index, const struct git_tree_mark *mark);
