// SPDX-License-Identifier: Apache-2.0
/*
 * The branch has verified commits only. People may add theirs while a run works; what a worker has
 * made of the branch is undone, and its attempt refused. A worker is told from people by HEAD of
 * its working tree. In a sandbox it cannot move the branch at all.
 */
#include "work/executor_internal.h"

#include "git/commit.h"
#include "git/worktree.h"
#include "loop/driver/body_ports.h"

#include <stdio.h>
#include <string.h>

static const char branch_prefix[] = "ref: refs/heads/";

/** Where HEAD of an attempt's working tree is; NULL = there is none. */
static const char *head_of(const struct attempt *attempt, const struct git_worktree_list *list)
{
    const char *head;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].path, attempt->tree_folder) == 0) {
            return list->items[i].head;
        }
    }
    pthread_mutex_lock(&attempt->desk->lock);
    head = attempt->head; /* The tree is gone: the attempt is over, or ends. */
    pthread_mutex_unlock(&attempt->desk->lock);
    return head;
}

/** Whether a commit that came to the branch is in the history of what a worker has checked out. */
static bool has_made(struct work_executor *executor, const struct attempt *attempt,
                     const struct git_worktree_list *list, const char *tip)
{
    struct git git = executor_git(executor);
    const char *head = head_of(attempt, list);
    char id[GIT_ID_SIZE];
    bool is_in = false;
    if (head == NULL) {
        return false;
    }
    bool is_branch = strncmp(head, branch_prefix, sizeof(branch_prefix) - 1) == 0;
    const char *branch = is_branch ? head + sizeof(branch_prefix) - 1 : NULL;
    if (is_branch && strcmp(branch, executor->work.branch) == 0) {
        return true;
    }
    int r = is_branch ? git_branch_read(&git, branch, id, NULL) : 0;
    if (!is_branch) {
        snprintf(id, sizeof(id), "%s", head);
    }
    return r == 0 && git_commit_is_ancestor(&git, tip, id, &is_in, NULL) == 0 && is_in;
}

static size_t count_attempts(const struct work_executor *executor)
{
    size_t count = 0;
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        count += executor->attempts[i] != NULL ? 1 : 0;
    }
    return count;
}

/**
 * Note who has moved the branch.
 * @param is_lost commits are missing that the branch had: who is alone has done it
 * @return whether it has to be undone
 */
static bool find_movers(struct work_executor *executor, const char *tip, bool is_lost)
{
    struct git_worktree_list list = {0};
    bool is_found = is_lost;
    bool is_alone = count_attempts(executor) == 1;
    git_worktree_list(executor->repository, NULL, &list, NULL);
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        struct attempt *attempt = executor->attempts[i];
        if (attempt != NULL &&
            ((is_lost && is_alone) || (!is_lost && has_made(executor, attempt, &list, tip)))) {
            attempt->has_moved_branch = true;
            is_found = true;
        }
    }
    git_worktree_list_fini(&list);
    return is_found;
}

static int put_back(struct work_executor *executor, const char *tip, struct rondo_error *err)
{
    struct git git = executor_git(executor);
    bool is_moved = false;
    const struct git_kept_move move = {
        .run = loop_run_id(executor->loop),
        .number = loop_state(executor->loop)->seq,
        .kept = tip,
        .branch = executor->work.branch,
        .old_id = tip,
        .new_id = executor->tip,
        .reason = "rondo: undo what a worker has done",
    };
    return git_branch_move_kept(&git, &move, &is_moved, err);
}

int executor_guard_branch(struct work_executor *executor, struct rondo_error *err)
{
    struct git git = executor_git(executor);
    char tip[GIT_ID_SIZE];
    bool is_lost = false;
    if (executor->work.is_branch_per_task) {
        return 0; /* Only the branch that all tasks share is guarded. */
    }
    int r = git_branch_read(&git, executor->work.branch, tip, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0; /* executor_find_tip() asks a person. */
    }
    if (r < 0 || strcmp(tip, executor->tip) == 0) {
        return r;
    }
    r = git_commit_is_ancestor(&git, tip, executor->tip, &is_lost, err);
    if (r == 0 && find_movers(executor, tip, is_lost)) {
        return put_back(executor, tip, err);
    }
    if (r == 0) {
        memcpy(executor->tip, tip, sizeof(tip)); /* a person's */
    }
    return r;
}

void executor_blame(const struct work_executor *executor, char *message, size_t size)
{
    snprintf(message, size,
             "branch %.200s was moved while the task was worked on, but only Rondo commits there; "
             "it is back at %.10s, and what it had is kept below refs/rondo/backup/%s",
             executor->work.branch, executor->tip, loop_run_id(executor->loop));
}
