// SPDX-License-Identifier: Apache-2.0
/*
 * Pushing what was committed: after each commit, never by force, and never another branch than that
 * of the commit. Whether the remote has it is asked of the remote, so a killed process repeats it.
 */
#include "work/executor_internal.h"

#include "base/auto.h"
#include "base/memory.h"
#include "git/commit.h"
#include "git/push.h"
#include "git/remote.h"
#include "loop/driver/body_ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUSH_NS (INT64_C(300) * NS_PER_S)

static const struct {
    const char *outcome;
    const char *advice;
    bool is_over; /* trying again does not help */
} ends[] = {
    [GIT_PUSHED] = {"pushed", NULL, false},
    [GIT_PUSH_UP_TO_DATE] = {"up_to_date", NULL, false},
    [GIT_PUSH_REJECTED] = {"rejected",
                           "the remote branch has other commits, or the remote refuses the push. "
                           "Rondo never forces a push: merge the remote branch into this one, "
                           "then `rondo resume`",
                           true},
    [GIT_PUSH_AUTH] = {"auth",
                       "there are no valid credentials without a prompt; make `git push` work "
                       "without a prompt, then `rondo resume`",
                       true},
    [GIT_PUSH_NETWORK] = {"network",
                          "Rondo pushes again after the next commit, and on `rondo resume`", false},
    [GIT_PUSH_FAILED] = {"failed", "run `git push` to see more, then `rondo resume`", true},
};

static bool is_unpushed(const struct work_task *task)
{
    return task->branch != NULL && task->commit[0] != '\0' && !task->is_pushed &&
           task->phase == WORK_DONE;
}

const char *executor_find_unpushed(const struct work_executor *executor)
{
    for (size_t i = 0; executor->work.remote != NULL && i < executor->state.count; i++) {
        if (is_unpushed(&executor->state.tasks[i])) {
            return executor->state.tasks[i].branch;
        }
    }
    return NULL;
}

/** The page for a pull request. @return owned; NULL when none is wanted or known */
static char *request_url(struct work_executor *executor, const char *branch)
{
    struct git git = executor_git(executor);
    struct git_remote remote = {0};
    auto_free char *address = NULL;
    char *url = NULL;
    if (executor->work.wants_request &&
        git_remote_address(&git, executor->work.remote, &address, NULL) == 0 && address != NULL &&
        git_remote_parse(address, &remote, NULL) == 0) {
        url = git_remote_request_url(&remote, branch);
        git_remote_fini(&remote);
    }
    return url;
}

static void record(struct work_executor *executor, const struct event_work_pushed *pushed)
{
    executor_record(executor,
                    (struct journal_event){.type = JOURNAL_WORK_PUSHED, .work_pushed = *pushed});
}

static void record_push(struct work_executor *executor, const char *branch, const char *commit,
                        const struct git_push *push)
{
    auto_buf struct buf message = {0};
    bool has_failed = ends[push->end].advice != NULL;
    auto_free char *url = has_failed ? NULL : request_url(executor, branch);
    if (has_failed) {
        buf_printf(&message, "%s%s%.600s", ends[push->end].advice,
                   push->reason[0] == '\0' ? "" : "; git says: ", push->reason);
    }
    const struct event_work_pushed pushed = {.branch = branch,
                                             .remote = executor->work.remote,
                                             .commit = commit,
                                             .outcome = ends[push->end].outcome,
                                             .message = has_failed ? buf_string(&message) : NULL,
                                             .url = url};
    record(executor, &pushed);
}

/** Not with settings that somebody has changed since the run began: they say where it goes. */
static bool check_settings(struct work_executor *executor, struct git *git, const char *branch)
{
    struct rondo_error err = {0};
    if (git_repository_check(git, executor->work.settings, &err) == 0) {
        return true;
    }
    const struct event_work_pushed pushed = {.branch = branch,
                                             .remote = executor->work.remote,
                                             .outcome = "refused",
                                             .message = err.message};
    record(executor, &pushed);
    return false;
}

/** The last commit of this run on a branch; others may have moved it since. "" = none */
static const char *find_own_commit(const struct work_executor *executor, const char *branch)
{
    const struct work_state *state = &executor->state;
    if (!executor->work.is_branch_per_task) {
        return state->tip;
    }
    for (size_t i = 0; i < state->count; i++) {
        if (is_unpushed(&state->tasks[i]) && strcmp(state->tasks[i].branch, branch) == 0) {
            return state->tasks[i].commit;
        }
    }
    return "";
}

/** Commits of others on top of ours are not pushed: nobody has verified them. */
static int push_own(struct work_executor *executor, struct git *git, const char *branch,
                    const char *commit, struct git_push *ret_push, struct rondo_error *err)
{
    char tip[GIT_ID_SIZE] = "";
    bool is_there = false;
    int r = executor_read_branch(executor, branch, tip, err);
    r = r < 0 || tip[0] == '\0' ? r : git_commit_is_ancestor(git, commit, tip, &is_there, err);
    if (r == 0 && !is_there) {
        *ret_push = (struct git_push){
            .end = GIT_PUSH_REJECTED,
            .reason = memory_dup_string("the branch here does not have the commit any more")};
        return 0;
    }
    return r < 0 ? r
                 : git_push_branch(git, executor->work.remote, branch, commit, PUSH_NS, ret_push,
                                   err);
}

/** @return whether the remote has the branch */
static bool push_branch(struct work_executor *executor, const char *branch)
{
    struct git git = executor_git(executor);
    struct git_push push = {0};
    struct rondo_error err = {0};
    char commit[GIT_ID_SIZE] = "";
    git.cancel = loop_cancel(executor->loop);
    if (!check_settings(executor, &git, branch)) {
        executor->is_push_over = true;
        return false;
    }
    snprintf(commit, sizeof(commit), "%s", find_own_commit(executor, branch));
    executor->port.begin_wait(executor->port.context);
    int r = push_own(executor, &git, branch, commit, &push, &err);
    executor->port.end_wait(executor->port.context);
    if (r == RONDO_ERR_CANCELLED) {
        return false; /* The next start pushes it. */
    }
    if (r < 0) {
        push = (struct git_push){.end = GIT_PUSH_FAILED, .reason = memory_dup_string(err.message)};
    }
    record_push(executor, branch, commit, &push);
    bool is_pushed = ends[push.end].advice == NULL;
    executor->is_push_over = ends[push.end].is_over;
    git_push_fini(&push);
    return is_pushed;
}

void executor_push(struct work_executor *executor)
{
    const char *unpushed;
    bool is_pushed = true;
    while (is_pushed && !executor->is_push_over && !cancel_is_set(loop_cancel(executor->loop)) &&
           (unpushed = executor_find_unpushed(executor)) != NULL) {
        auto_free char *branch = memory_dup_string(unpushed);
        is_pushed = push_branch(executor, branch);
    }
}
