// SPDX-License-Identifier: Apache-2.0
/*
 * Using a working tree again, whatever an agent has left in it: afterwards it cannot be told from a
 * new one. Files that are exactly as git has made them (inode, size, both times to the nanosecond:
 * no agent can set the time of a change) stay, everything else is removed and made anew. What looks
 * unusual in any other way is refused: then make a new tree.
 */
#pragma once

#include "base/digest.h"
#include "git/worktree.h"

#include <stdint.h>

/** What a working tree was like when it was new. Kept by the caller; no agent reaches it. */
struct git_tree_mark {
    uint64_t device;
    uint64_t inode; /**< of its folder */
    uint32_t mode;  /**< of its folder, and of all in it */
    uint32_t user;
    uint32_t group;
    uint64_t git_inode; /**< of its `.git`, and when that was changed */
    int64_t git_changed_ns;
    unsigned char index_digest[DIGEST_SIZE]; /**< of the index of that time, which an agent without
                                                a sandbox reaches */
};

/**
 * Look at a working tree that was added just now, before anything else runs in it. Waits until
 * later changes have a later time (some milliseconds at most).
 * @param path of the tree
 * @param base_index_path the index of this time
 * @return RONDO_ERR_STATE when it cannot be used again later
 */
int git_worktree_mark(const char *path, const char *base_index_path, struct git_tree_mark *ret_mark,
                      struct rondo_error *err);

/**
 * Move a working tree; nothing runs in it. A kill on the way leaves records that
 * git_worktree_remove() removes, by one path or the other, and perhaps the folder at the old path.
 * @param from as it was added
 * @param to on the same file system; must not exist
 */
int git_worktree_move(const struct git_repository *repository, const char *from, const char *to,
                      struct rondo_error *err);

/**
 * Make a working tree, in which nothing runs any more, as if it was added now.
 * @param request as for git_worktree_add(); `base_index_path` has the index of the time when the
 *        tree was new, and gets that of the new commit
 * @param mark of it; changed with it
 * @return RONDO_ERR_DENIED or another error when it cannot: remove it, and add a new one
 */
int git_worktree_reset(struct git *git, const struct git_worktree_request *request,
                       struct git_tree_mark *mark, struct rondo_error *err);
