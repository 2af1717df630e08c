// SPDX-License-Identifier: Apache-2.0
/*
 * Branches in a fork. They do not move together with the claim, so that is proven just before, and
 * the branch moves from where it was to where the work is, or not at all.
 */
#include "issues/fork.h"
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/commit.h"

#include <stdio.h>
#include <string.h>

const struct git_access *queue_branch_access(const struct issue_queue *queue)
{
    return queue->options.fork == NULL ? &queue->options.access : &queue->fork_access;
}

int queue_fork_open(struct issue_queue *queue, struct rondo_error *err)
{
    struct forge_fork fork = {0};
    int r = issue_fork_read(queue->forge, queue->repository, queue->options.fork, &fork, err);
    if (r < 0) {
        return r;
    }
    queue->fork_id = fork.id;
    queue->fork_url = steal_pointer(&fork.clone_url);
    queue->fork_origin = forge_place_origin(queue->options.place, queue->fork_url);
    queue->fork_access = forge_place_access(queue->options.place, queue->fork_url,
                                            queue->fork_origin, queue->options.token);
    forge_fork_fini(&fork);
    return 0;
}

/** Where the branch is in the fork now. @param ret_id "" = nowhere */
static enum git_claim_end find_branch(struct issue_queue *queue, const struct item *item,
                                      char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    ret_id[0] = '\0';
    int r = git_fetch_branch(&queue->git, &queue->fork_access, item->branch, ret_id, &end, err);
    if (r == 0 && end == GIT_CLAIM_LOST) {
        ret_id[0] = '\0';
        return GIT_CLAIM_DONE;
    }
    return r < 0 ? GIT_CLAIM_NETWORK : end;
}

static enum git_claim_end push(struct issue_queue *queue, struct queue_slot *slot,
                               struct rondo_error *err)
{
    struct item *item = &slot->item;
    char old_id[GIT_ID_SIZE];
    bool is_forward = true;
    enum git_claim_end end = find_branch(queue, item, old_id, err);
    if (end != GIT_CLAIM_DONE || strcmp(old_id, item->commit) == 0) {
        return end;
    }
    if (old_id[0] != '\0' &&
        git_commit_is_ancestor(&queue->git, old_id, item->commit, &is_forward, err) < 0) {
        return GIT_CLAIM_NETWORK;
    }
    if (!is_forward) {
        return GIT_CLAIM_LOST;
    }
    if (!queue_prove(queue, slot)) { /* The fetch may have taken long. */
        return slot->claim == CLAIM_UNKNOWN ? GIT_CLAIM_NETWORK : GIT_CLAIM_LOST;
    }
    int r = git_move_remote_branch(&queue->git, &queue->fork_access, item->branch, old_id,
                                   item->commit, &end, err);
    return r < 0 ? GIT_CLAIM_NETWORK : end;
}

/** Whether the fork is the one that it was at the start: after it was renamed or deleted somebody
 *  else may have its name, and would decide what the pull request shows. */
static enum git_claim_end check_fork(struct issue_queue *queue, struct rondo_error *err)
{
    struct forge_fork fork = {0};
    int r = issue_fork_read(queue->forge, queue->repository, queue->options.fork, &fork, err);
    bool is_same = r == 0 && fork.id == queue->fork_id;
    forge_fork_fini(&fork);
    if (r == 0 && !is_same) {
        error_set(err, RONDO_ERR_DENIED,
                  "--fork %.120s is another repository now than when the work began",
                  queue->options.fork);
    }
    return is_same ? GIT_CLAIM_DONE : r == RONDO_ERR_IO ? GIT_CLAIM_NETWORK : GIT_CLAIM_REFUSED;
}

enum git_claim_end queue_fork_push(struct issue_queue *queue, struct queue_slot *slot,
                                   char **ret_reason)
{
    struct rondo_error err = {0};
    enum git_claim_end fork_end = check_fork(queue, &err);
    if (fork_end != GIT_CLAIM_DONE) {
        *ret_reason = memory_dup_string(err.message);
        return fork_end;
    }
    if (!queue_git_lets(queue)) {
        *ret_reason = memory_dup_string("the git remote did not answer a moment ago");
        return GIT_CLAIM_NETWORK;
    }
    enum git_claim_end end = push(queue, slot, &err);
    queue_git_ended(queue, end == GIT_CLAIM_NETWORK ? end : GIT_CLAIM_DONE, err.message);
    *ret_reason = memory_dup_string(err.message);
    return end;
}
