// SPDX-License-Identifier: Apache-2.0
/* In which state a person's repository is, and whether work can begin there. Reads only. */
#pragma once

#include "git/repository.h"

enum git_operation {
    GIT_NO_OPERATION = 0,
    GIT_MERGE,
    GIT_REBASE,
    GIT_CHERRY_PICK,
    GIT_REVERT,
    GIT_BISECT,
};

struct git_facts {
    bool is_bare;
    bool is_empty;                /**< HEAD has no commit yet */
    bool is_detached;             /**< HEAD is a commit, not a branch */
    char *branch;                 /**< of HEAD, without refs/heads/; NULL when detached */
    char head[GIT_ID_SIZE];       /**< "" when empty */
    enum git_operation operation; /**< in progress */
    char **
        dirty; /**< changed tracked files, the first LIMIT_GIT_DIRTY; NULL-terminated, never NULL */
    size_t dirty_count;     /**< of all */
    size_t untracked_count; /**< files and folders; ignored ones are not counted */
};

/** Two git processes at most. @param ret_facts git_facts_fini() */
int git_facts_read(struct git *git, struct git_facts *ret_facts, struct rondo_error *err);
void git_facts_fini(struct git_facts *facts);

/**
 * RONDO_ERR_STATE, with what to do, unless commits can be made from here: not bare, not empty, not
 * detached, no operation in progress, no changed tracked file but those in `allowed`.
 * @param allowed paths below the top folder, NULL-terminated; or NULL
 */
int git_facts_check(const struct git_facts *facts, const char *const *allowed,
                    struct rondo_error *err);

/** "merge", "rebase", ... Static. */
const char *git_operation_name(enum git_operation operation);
