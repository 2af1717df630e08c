// SPDX-License-Identifier: Apache-2.0
/*
 * Working trees for attempts. Git's own records of a working tree (worktrees/NAME in the common git
 * folder) are the truth; what is in the tree itself, its `.git` file too, belongs to an agent and
 * is never read. Adding and removing can be repeated after a kill at any point.
 */
#pragma once

#include "git/repository.h"

/** What to add. Borrowed. */
struct git_worktree_request {
    const char *path;   /**< absolute, canonical parent that no agent can write; must not exist */
    const char *commit; /**< whole id; HEAD is detached there */
    const char *lock_reason; /**< one line: who works there; git refuses to remove it */
    const char
        *index_path; /**< absolute: where our own index of it is kept, out of agents' reach */
    const char *base_index_path; /**< where a second one is kept that stays as it is, for
                                      git_worktree_reset(); or NULL */
};

/** A working tree. */
struct git_worktree {
    char *path;
    char *name;        /**< of its records */
    char *lock_reason; /**< "" when locked without one; NULL when not locked */
    char *head;        /**< what HEAD has: an id, or "ref: refs/heads/..." */
};

struct git_worktree_list {
    struct git_worktree *items;
    size_t count;
};

/**
 * Add one. RONDO_ERR_STATE when there is something at the path, or git has records of it:
 * git_worktree_remove() first. RONDO_ERR_FULL when the disk is full. A failure leaves nothing.
 */
int git_worktree_add(struct git *git, const struct git_worktree_request *request,
                     struct rondo_error *err);

/**
 * All linked working trees, those whose folder is gone too. No process.
 * RONDO_ERR_LIMIT for more than LIMIT_GIT_WORKTREES.
 * @param lock_prefix only those with a lock reason that begins so; NULL = all
 * @param ret_list git_worktree_list_fini()
 */
int git_worktree_list(const struct git_repository *repository, const char *lock_prefix,
                      struct git_worktree_list *ret_list, struct rondo_error *err);
void git_worktree_list_fini(struct git_worktree_list *list);

/**
 * Remove the folder, whatever an agent has made of it, then git's records of it, locked or not. A
 * link in its place is removed, not followed. Missing is fine. No process.
 */
int git_worktree_remove(const struct git_repository *repository, const char *path,
                        struct rondo_error *err);

/**
 * Open git's records of a working tree.
 * @param ret_name of the records, owned; may be NULL
 * @return descriptor; RONDO_ERR_NOT_FOUND when there are none
 */
int git_worktree_open_records(const struct git_repository *repository, const char *path,
                              char **ret_name, struct rondo_error *err);

/** Copy an index with its time. @param to is made anew, with that mode */
int git_worktree_copy_index(const char *from, const char *to, unsigned mode,
                            struct rondo_error *err);

/**
 * Remove records that a killed git has begun for a working tree that nobody can use.
 * @param lock_prefix those with a lock reason that begins so
 * @param names       and those without a lock that git has named after such a folder: the name, or
 *                    the name and a number; NULL-terminated
 */
int git_worktree_remove_torn(const struct git_repository *repository, const char *lock_prefix,
                             const char *const *names, struct rondo_error *err);

/**
 * Where a person has checked out a branch.
 * @param branch without refs/heads/
 * @param but_below working trees below this folder do not count; NULL = all count
 * @param ret_path owned; NULL when nowhere. A working tree whose folder is gone counts
 */
int git_worktree_of_branch(const struct git_repository *repository, const char *branch,
                           const char *but_below, char **ret_path, struct rondo_error *err);
