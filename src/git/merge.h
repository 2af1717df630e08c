// SPDX-License-Identifier: Apache-2.0
/* Putting the commit of an attempt onto a branch that has moved, without a working tree. */
#pragma once

#include "git/repository.h"

struct git_merge {
    bool has_conflicts;     /**< an outcome; `tree` is then "" */
    char tree[GIT_ID_SIZE]; /**< of the merge; becomes a commit whose only parent is the tip */
    char **conflicts;       /**< paths; NULL-terminated, never NULL */
};

/**
 * Merge the changes of `commit` (from `base`, its parent) into `tip`, three ways. No reference and
 * no working tree is touched.
 * @param ret_merge git_merge_fini()
 * @return RONDO_ERR_STATE unless `base` is in the history of `tip`: somebody rewrote the branch
 */
int git_merge_try(struct git *git, const char *base, const char *tip, const char *commit,
                  struct git_merge *ret_merge, struct rondo_error *err);
void git_merge_fini(struct git_merge *merge);
