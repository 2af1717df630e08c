// SPDX-License-Identifier: Apache-2.0
/*
 * References of a remote that exactly one of many programs can make, move or delete: claims. Each
 * is refs/rondo/claims/NAME and points to a commit without parent and files, whose message is the
 * claim. It moves by compare and swap (push with --force-with-lease on the exact old id), so a
 * program that was frozen is refused when it wakes up. Any git server does this.
 *
 * Two programs that push the same commit would both be told that it is there: a claim's text must
 * hold a nonce. So the same change may be made again when its answer was lost: the same text is the
 * same commit.
 */
#pragma once

#include "git/access.h"
#include "git/claims/claim_list.h"
#include "git/repository.h"

struct git_claim_result {
    enum git_claim_end end;
    char id[GIT_ID_SIZE]; /**< the claim's commit after DONE; "" after a release */
    char *reason;         /**< for people, without passwords; never NULL */
};
void git_claim_result_fini(struct git_claim_result *result);

/**
 * Make, move or delete a claim, with a branch in the same transaction if one is given: that is
 * pushed if and only if the claim was ours.
 */
struct git_claim_change {
    const char *name;   /**< digits, or what git_branch_check_name allows */
    const char *old_id; /**< "" = it must not be there */
    const char *text;   /**< of the new claim, with a nonce; without line ends at its end; NULL =
                             delete */
    const char *branch; /**< refs/heads/BRANCH is pushed too, never by force; NULL = none */
    const char *commit; /**< of that branch */
};

/** @return RONDO_ERR_INVALID for what cannot be a claim, and see git_connection_open() */
int git_claim_change(struct git *git, const struct git_access *access,
                     const struct git_claim_change *change, struct git_claim_result *ret_result,
                     struct rondo_error *err);

/**
 * All claims of the remote (at most LIMIT_GIT_CLAIMS, the first by name), by one fetch. Names that
 * git_claim_change() would not take are left out.
 * @param name only this one; NULL = all
 * @param ret_end when it is not DONE, `err` says why, for people; so for the functions below
 * @param ret_claims in the order of their names; git_claims_fini(); empty unless the end is DONE
 */
int git_claims_read(struct git *git, const struct git_access *access, const char *name,
                    struct git_claims *ret_claims, enum git_claim_end *ret_end,
                    struct rondo_error *err);

/**
 * Fetch a branch of the remote into refs/rondo/base/BRANCH, tags left out.
 * @param ret_id its commit
 * @param ret_end LOST: the remote has no such branch
 */
int git_fetch_branch(struct git *git, const struct git_access *access, const char *branch,
                     char ret_id[GIT_ID_SIZE], enum git_claim_end *ret_end,
                     struct rondo_error *err);

/** Where a branch and the base that it is for are. */
struct git_base {
    char base_id[GIT_ID_SIZE];   /**< of the base at the remote */
    char remote_id[GIT_ID_SIZE]; /**< of the branch there, as the next one "" when it has none */
    char local_id[GIT_ID_SIZE];  /**< of the branch here */
};

/**
 * Fetch a base as git_fetch_branch() does, and a branch with it, if the remote has that: by one
 * connection. Branches whose names begin with that of the branch may come along.
 * @param ret_base filled when the end is DONE
 * @param ret_end LOST: the remote has no such base
 */
int git_fetch_base(struct git *git, const struct git_access *access, const char *base,
                   const char *branch, struct git_base *ret_base, enum git_claim_end *ret_end,
                   struct rondo_error *err);

/** Move a branch of the remote to `commit` if it still is at `old_id` ("" = it must not be there).
 *  Whether that is forward is the caller's to find out. */
int git_move_remote_branch(struct git *git, const struct git_access *access, const char *branch,
                           const char *old_id, const char *commit, enum git_claim_end *ret_end,
                           struct rondo_error *err);

/** Delete a branch of the remote if it still is at `commit`. LOST also when it is gone. */
int git_delete_remote_branch(struct git *git, const struct git_access *access, const char *branch,
                             const char *commit, enum git_claim_end *ret_end,
                             struct rondo_error *err);

/**
 * The clone of an address in a folder of ours: made, or opened; its branch is fetched, HEAD is
 * detached at its commit, and its files are there. Submodules, filters and hooks are left out. The
 * clone's remote is "origin".
 * @param folder absolute, private to the user; one process at a time changes it (a lock in it)
 * @param access how the address is reached; its `remote` does not count
 * @param address without a password
 * @return RONDO_ERR_TIMEOUT when the remote was not reached, RONDO_ERR_DENIED without the right
 *         credentials, RONDO_ERR_NOT_FOUND without such a branch; RONDO_ERR_BUSY when another
 *         process changes the clone for very long; RONDO_ERR_CORRUPT when it is no repository any
 *         more
 */
int git_clone_open(const char *folder, const struct git_access *access, const char *address,
                   const char *branch, struct cancel *cancel,
                   struct git_repository **ret_repository, struct rondo_error *err);

/**
 * The clone that git_clone_open() has made in a folder, as it is: nothing is fetched or changed.
 * @return RONDO_ERR_NOT_FOUND when there is none; RONDO_ERR_CORRUPT as above
 */
int git_clone_find(const char *folder, struct cancel *cancel,
                   struct git_repository **ret_repository, struct rondo_error *err);
