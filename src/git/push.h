// SPDX-License-Identifier: Apache-2.0
/* Pushing one branch to a remote, never forced, with the user's own credentials. */
#pragma once

#include "git/repository.h"

enum git_push_end {
    GIT_PUSHED,
    GIT_PUSH_UP_TO_DATE,
    GIT_PUSH_REJECTED, /**< the remote has other commits, or refuses the branch */
    GIT_PUSH_AUTH,     /**< no credentials, or wrong ones */
    GIT_PUSH_NETWORK,  /**< not reached, or too slow */
    GIT_PUSH_FAILED,   /**< anything else; `reason` says what */
};

struct git_push {
    enum git_push_end end;
    char *reason; /**< what git said, for people; without passwords of addresses; never NULL */
};

/**
 * Push a commit to refs/heads/BRANCH, whatever the branch has here by now. Nothing prompts; hooks
 * of the repository do not run.
 * @param remote name of a remote
 * @param commit id
 * @param total_ns deadline; 0 = GIT_CALL_NS
 * @param ret_push git_push_fini(); every end is an outcome
 */
int git_push_branch(struct git *git, const char *remote, const char *branch, const char *commit,
                    int64_t total_ns, struct git_push *ret_push, struct rondo_error *err);
void git_push_fini(struct git_push *push);
