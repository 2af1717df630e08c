// SPDX-License-Identifier: Apache-2.0
/*
 * What an attempt has left in its working tree, compared to its base commit. Everything in the tree
 * is hostile: its `.git`, index, attributes, links and nested repositories. The content goes into a
 * tree object through an index of our own; no program that the tree names is run.
 */
#pragma once

#include "git/repository.h"

enum git_change_kind { GIT_ADDED, GIT_MODIFIED, GIT_DELETED, GIT_TYPE_CHANGED };

struct git_change {
    enum git_change_kind kind;
    char *path; /**< relative to the top; any bytes but NUL */
};

struct git_changes {
    char tree[GIT_ID_SIZE];   /**< the content without what was left out */
    bool is_head_moved;       /**< the agent committed, or switched to a branch */
    struct git_change *items; /**< tree against that of the base, sorted by path; none =
                                   nothing has changed */
    size_t count;
    char **excluded; /**< paths of `excluded` that the agent has changed; NULL-terminated, never
                        NULL */
    char **nested;   /**< new repositories inside the tree, and submodules with files in them that
                          `git submodule update` has not put there, "folder/"; their content is in
                          no tree. NULL-terminated, never NULL */
};

/** Our index as git has left it. Nobody can set the time when a file was changed. */
struct git_index_mark {
    bool is_known; /**< false: whatever is there is not trusted, and made anew */
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t changed_ns;
};

/** Note what our index is like, before anybody else could change it. */
void git_index_mark_take(const char *index_path, struct git_index_mark *ret_mark);

/** Which tree to look at. Borrowed. */
struct git_changes_request {
    const char *path;       /**< of the working tree, as it was added */
    const char *index_path; /**< our own index, from git_worktree_add; changed by this. When it is
                                 missing, it is made anew from `base` */
    const char *base;       /**< id of the base commit */
    struct git_index_mark *mark; /**< an index that is not as this says is made anew; changed by
                                      git_changes_read(). NULL = nobody else reaches our index */
    const char *const *excluded; /**< paths that never get into the tree; a folder excludes all in
                                    it. NULL-terminated; or NULL */
};

/**
 * Read them. Can be repeated, after changes too.
 * @param ret_changes git_changes_fini()
 * @return RONDO_ERR_DENIED when the folder is not a folder any more, git would hang in it
 *         (git/inspect.h), or it keeps no file of a name (".GIT", "git~1"); RONDO_ERR_LIMIT for too
 * many or too large files (LIMIT_GIT_CHANGES, LIMIT_GIT_CHANGED_BYTES, LIMIT_GIT_FOLDERS)
 */
int git_changes_read(struct git *git, const struct git_changes_request *request,
                     struct git_changes *ret_changes, struct rondo_error *err);
void git_changes_fini(struct git_changes *changes);

/** @param path of a repository of its own: ends with '/'. @return not 0 ends the walk with it */
typedef int git_drift_fn(void *context, enum git_change_kind kind, const char *path,
                         struct rondo_error *err);

/**
 * Call back for what is in the working tree now and not in the tree that the last
 * git_changes_read() made: files that were changed (GIT_MODIFIED) or deleted since, and all that is
 * in no tree (GIT_ADDED), ignored or not.
 */
int git_changes_drift(struct git *git, const struct git_changes_request *request, git_drift_fn *fn,
                      void *context, struct rondo_error *err);

/**
 * Write the difference of two trees or commits as a patch that `git apply` takes, binary files too.
 * One that was cut says so in its last line.
 * @param fd where to; it is not closed
 * @param ret_is_cut whether it was longer than LIMIT_GIT_PATCH_BYTES; may be NULL
 */
int git_patch_write(struct git *git, const char *from, const char *to, int fd, bool *ret_is_cut,
                    struct rondo_error *err);

/**
 * Read the difference of two trees or commits as a text for people: binary files are only named.
 * @param limit bytes; more is cut at the end of a line
 */
int git_diff_read(struct git *git, const char *from, const char *to, size_t limit,
                  struct buf *ret_text, bool *ret_is_cut, struct rondo_error *err);

/** Files that differ between two trees or commits. @param ret_changes only items and count */
int git_changes_between(struct git *git, const char *from, const char *to,
                        struct git_changes *ret_changes, struct rondo_error *err);
