// SPDX-License-Identifier: Apache-2.0
/*
 * Where attempts begin. With one branch that is its tip. With a branch for each task it is the tip
 * of the branch of what the task depends on; of several, a merge.
 */
#include "work/executor_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/commit.h"
#include "git/merge.h"
#include "loop/driver/body_ports.h"
#include "work/message.h"

#include <stdlib.h>
#include <string.h>

/** Commits that an attempt builds on, none of them in the history of another one. */
struct starts {
    char ids[LIMIT_WORK_STARTS][GIT_ID_SIZE];
    size_t count;
    bool *is_seen; /* for each task */
};

int executor_read_branch(struct work_executor *executor, const char *branch,
                         char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    struct git git = executor_git(executor);
    struct rondo_error why = {0};
    int r = git_branch_read(&git, branch, ret_id, &why);
    if (r == RONDO_ERR_NOT_FOUND) {
        ret_id[0] = '\0';
        return 0;
    }
    if (r < 0) {
        *err = why;
    }
    return r;
}

static int add_start(struct work_executor *executor, struct starts *starts, const char *id,
                     struct rondo_error *err)
{
    struct git git = executor_git(executor);
    size_t kept = 0;
    bool is_in = false;
    int r = 0;
    for (size_t i = 0; r == 0 && i < starts->count && !is_in; i++) {
        r = git_commit_is_ancestor(&git, id, starts->ids[i], &is_in, err);
    }
    for (size_t i = 0; r == 0 && !is_in && i < starts->count; i++) {
        bool is_older = false;
        r = git_commit_is_ancestor(&git, starts->ids[i], id, &is_older, err);
        if (!is_older) {
            memmove(starts->ids[kept++], starts->ids[i], GIT_ID_SIZE);
        }
    }
    if (r < 0 || is_in) {
        return r;
    }
    starts->count = kept;
    if (kept == LIMIT_WORK_STARTS) {
        return error_set(err, RONDO_ERR_LIMIT, "a task depends on more than %d branches",
                         LIMIT_WORK_STARTS);
    }
    memcpy(starts->ids[starts->count++], id, GIT_ID_SIZE);
    return 0;
}

/** The branch of a task, or those of what it depends on where it has none. Graphs have no cycles.
 */
static int add_branches(struct work_executor *executor, struct starts *starts, size_t index,
                        struct rondo_error *err)
{
    const struct work_task *task = &executor->state.tasks[index];
    auto_free char *branch = work_task_branch(&executor->work, task->id);
    char tip[GIT_ID_SIZE] = "";
    if (starts->is_seen[index]) {
        return 0;
    }
    starts->is_seen[index] = true;
    int r = executor_read_branch(executor, branch, tip, err);
    if (r < 0 || tip[0] != '\0') {
        return r < 0 ? r : add_start(executor, starts, tip, err);
    }
    for (size_t i = 0; r == 0 && i < task->depend_count; i++) {
        r = add_branches(executor, starts, task->depends[i], err);
    }
    return r;
}

static char *list_paths(char *const *paths)
{
    struct buf text = {0};
    buf_append_string(&text, "the branches that this task depends on do not merge: ");
    for (size_t i = 0; paths[i] != NULL && text.len < 1000; i++) {
        buf_printf(&text, "%s%.200s", i == 0 ? "" : ", ", paths[i]);
    }
    return buf_steal(&text);
}

/** Merge one more start into the commit in `attempt->start`. */
static int merge_start(struct work_executor *executor, struct attempt *attempt, const char *id,
                       struct rondo_error *err)
{
    struct git git = executor_git(executor);
    struct git_merge merged = {0};
    char base[GIT_ID_SIZE];
    auto_buf struct buf text = {0};
    int r = git_commit_merge_base(&git, attempt->start, id, base, err);
    if (r == 0 && base[0] == '\0') {
        r = error_set(err, RONDO_ERR_STATE,
                      "branches that task %s depends on have no history "
                      "in common",
                      attempt->task_id);
    }
    r = r < 0 ? r : git_merge_try(&git, base, attempt->start, id, &merged, err);
    if (r < 0) {
        return r;
    }
    if (merged.has_conflicts) {
        attempt->obstacle = list_paths(merged.conflicts);
        attempt->obstacle_outcome = "conflict";
    } else {
        const struct work_message message = {.prd = executor->work.name,
                                             .issue = executor->work.issue,
                                             .run = attempt->parent_run,
                                             .task = attempt->task_id,
                                             .title = "merge what it depends on",
                                             .agent = "rondo",
                                             .attempt = attempt->number};
        r = work_message_write(&message, NULL, &text, err);
        const struct git_commit_request request = {
            .tree = merged.tree,
            .parent = attempt->start,
            .merged = id,
            .message = buf_string(&text),
            .time_s = clock_now(runtime_clock(loop_runtime(executor->loop))) / NS_PER_S,
        };
        r = r < 0 ? r : git_commit_make(&git, &request, attempt->start, err);
    }
    git_merge_fini(&merged);
    return r;
}

static int find_starts(struct work_executor *executor, struct attempt *attempt,
                       struct starts *starts, struct rondo_error *err)
{
    const struct work_task *task = &executor->state.tasks[attempt->task];
    int r = attempt->expected[0] == '\0' ? 0 : add_start(executor, starts, attempt->expected, err);
    for (size_t i = 0; r == 0 && i < task->depend_count; i++) {
        r = add_branches(executor, starts, task->depends[i], err);
    }
    return r < 0 || starts->count > 0 ? r : add_start(executor, starts, executor->work.base, err);
}

int executor_find_start(struct work_executor *executor, struct attempt *attempt,
                        struct rondo_error *err)
{
    struct starts starts = {0};
    struct rondo_error why = {0};
    if (!executor->work.is_branch_per_task) {
        memcpy(attempt->start, attempt->expected, sizeof(attempt->start));
        return 0;
    }
    if (git_branch_check_name(attempt->branch, &why) < 0) {
        attempt->obstacle = memory_dup_string(why.message);
        attempt->obstacle_outcome = "refused";
    }
    starts.is_seen = memory_new_zero(executor->state.count + 1, sizeof(bool));
    int r = find_starts(executor, attempt, &starts, err);
    if (r == 0) {
        memcpy(attempt->start, starts.ids[0], sizeof(attempt->start));
    }
    for (size_t i = 1; r == 0 && attempt->obstacle == NULL && i < starts.count; i++) {
        r = merge_start(executor, attempt, starts.ids[i], err);
    }
    free(starts.is_seen);
    return r;
}

int executor_continue_branch(struct work_executor *executor, struct attempt *attempt,
                             struct rondo_error *err)
{
    struct git git = executor_git(executor);
    bool is_behind = false;
    if (attempt->expected[0] == '\0') {
        return 0;
    }
    int r = git_commit_is_ancestor(&git, attempt->expected, attempt->start, &is_behind, err);
    if (r == 0 && !is_behind) { /* The changes are merged. */
        memcpy(attempt->expected, attempt->start, sizeof(attempt->expected));
    }
    return r;
}
