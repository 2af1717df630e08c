// SPDX-License-Identifier: Apache-2.0
/*
 * Commits by the runtime: a commit object from a tree, and a branch that moves only from the commit
 * that was expected. Nothing here needs or touches a working tree.
 */
#pragma once

#include "git/repository.h"

struct git_trailer {
    const char *key;   /**< letters, digits and '-' */
    const char *value; /**< one line */
};

/** What to commit. Borrowed. */
struct git_commit_request {
    const char *tree;
    const char *parent;  /**< id */
    const char *merged;  /**< id of a second parent; NULL = none */
    const char *message; /**< title, and a body after an empty line; without trailers */
    const struct git_trailer *trailers;
    size_t trailer_count;
    int64_t time_s; /**< author and committer date, seconds since 1970; the same request with the
                       same date gives the same commit. 0 = now */
};

/** Make the commit object; no branch moves. Author and committer are the user of the settings. */
int git_commit_make(struct git *git, const struct git_commit_request *request,
                    char ret_id[GIT_ID_SIZE], struct rondo_error *err);

/** The message with its trailers, as git_commit_make writes it. Pure. */
int git_commit_message(const struct git_commit_request *request, struct buf *ret_message,
                       struct rondo_error *err);

/**
 * Move a branch, or create it, if it is where the caller expects it.
 * @param old_id where it must be now; NULL = it must not exist
 * @param reason for the reflog
 * @param ret_is_moved false when the branch is elsewhere: an outcome. true also when it is at
 *        `new_id` already
 * @return RONDO_ERR_BUSY when another git changes it all the time. A lock that a killed git has
 * left is removed after some seconds
 */
int git_branch_move(struct git *git, const char *branch, const char *old_id, const char *new_id,
                    const char *reason, bool *ret_is_moved, struct rondo_error *err);

/** Delete a branch that is at `old_id`; nobody must have it checked out. RONDO_ERR_STATE when it is
 *  elsewhere. */
int git_branch_delete(struct git *git, const char *branch, const char *old_id,
                      struct rondo_error *err);

/** The commit of a branch. @return RONDO_ERR_NOT_FOUND when there is no such branch */
int git_branch_read(struct git *git, const char *branch, char ret_id[GIT_ID_SIZE],
                    struct rondo_error *err);

/** RONDO_ERR_INVALID for what git does not take as the name of a branch. No process. */
int git_branch_check_name(const char *branch, struct rondo_error *err);

/** Whether `ancestor` is in the history of `commit`. */
int git_commit_is_ancestor(struct git *git, const char *ancestor, const char *commit, bool *ret_is,
                           struct rondo_error *err);

/** The newest commit in the history of both. @param ret_id "" when there is none */
int git_commit_merge_base(struct git *git, const char *one, const char *other,
                          char ret_id[GIT_ID_SIZE], struct rondo_error *err);

/** What to keep, and then which branch to move. Borrowed. */
struct git_kept_move {
    const char *run;
    uint64_t number;
    const char *kept;   /**< commit that becomes refs/rondo/backup/RUN/NUMBER, in place of what was
                             kept there */
    const char *branch; /**< as for git_branch_move(), the others too */
    const char *old_id;
    const char *new_id;
    const char *reason;
};

/**
 * Keep a commit, then do what git_branch_move() does: one process, unless something is in the way.
 * What is kept stays, too, when the branch turns out to be elsewhere.
 */
int git_branch_move_kept(struct git *git, const struct git_kept_move *move, bool *ret_is_moved,
                         struct rondo_error *err);
