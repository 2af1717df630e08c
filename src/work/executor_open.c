// SPDX-License-Identifier: Apache-2.0
/* Opening the body of a PRD's run: what a killed process has left is put in order. */
#include "work/executor_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "git/changes.h"
#include "git/commit.h"
#include "git/worktree.h"
#include "journal/reader.h"
#include "loop/driver/body_ports.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/host.h"
#include "os/path.h"
#include "os/state_folder.h"
#include "work/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening -------------------------------------------------------------------------------- */

static bool fold_entry(const struct journal_entry *entry, void *context)
{
    struct work_executor *executor = context;
    if (!entry->is_known) {
        return true;
    }
    work_fold(&executor->state, &entry->event);
    if (entry->event.type == JOURNAL_TASK_COMMITTED && entry->event.task_committed.commit != NULL) {
        snprintf(executor->tip, sizeof(executor->tip), "%s", entry->event.task_committed.commit);
    }
    return true;
}

static int make_folders(struct work_executor *executor, struct rondo_error *err)
{
    auto_free char *given = host_cache();
    char canonical[PATH_MAX];
    struct buf path = {0};
    if (given == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "no folder for working trees; set HOME or XDG_CACHE_HOME");
    }
    buf_printf(&path, "%s/rondo/work", given);
    auto_free char *cache = buf_steal(&path);
    /* opens: the cache folder is the user's, and out of the reach of sandboxed workers */
    int r = file_make_folder(cache, err);
    /* opens: likewise */
    if (r == 0 && realpath(cache, canonical) == NULL) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "%s", cache);
    }
    if (r < 0) {
        return r;
    }
    buf_printf(&path, "%s/%s", canonical, loop_run_id(executor->loop));
    executor->cache = buf_steal(&path);
    return state_sub_folder("patches", &executor->patches, err);
}

/** Whether an attempt will be continued in a folder of this run. */
static bool is_in_use(const struct work_executor *executor, const char *path)
{
    for (size_t k = 0; k < executor->state.count; k++) {
        const struct work_task *task = &executor->state.tasks[k];
        if (task->phase == WORK_RUNNING && task->folder != NULL &&
            (strcmp(task->folder, path) == 0 || path_is_below(task->folder, path))) {
            return true;
        }
    }
    return false;
}

/** Folders of attempts that are over, or are being removed. */
static void remove_folders(const struct work_executor *executor)
{
    /* opens: the cache folder is the user's, and out of the reach of sandboxed workers */
    DIR *folder = opendir(executor->cache);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", executor->cache, entry->d_name);
        if (entry->d_name[0] != '.' && !is_in_use(executor, buf_string(&path))) {
            /* opens: likewise; no link inside is followed */
            file_remove_tree(buf_string(&path), NULL);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/** Remove working trees of this run that no attempt will continue in. */
int executor_remove_leftovers(struct work_executor *executor, struct rondo_error *err)
{
    static const char *const names[] = {"tree", "merged", NULL};
    auto_buf struct buf prefix = {0};
    struct git_worktree_list list = {0};
    buf_printf(&prefix, "rondo run %s ", loop_run_id(executor->loop));
    int r = git_worktree_list(executor->repository, buf_string(&prefix), &list, err);
    for (size_t i = 0; r == 0 && i < list.count; i++) {
        r = is_in_use(executor, list.items[i].path)
                ? 0
                : git_worktree_remove(executor->repository, list.items[i].path, err);
    }
    git_worktree_list_fini(&list);
    r = r < 0 ? r : git_worktree_remove_torn(executor->repository, buf_string(&prefix), names, err);
    if (r == 0) {
        remove_folders(executor);
    }
    return r;
}

/** The branch is there, at its base if it is new. */
static int find_branch(struct work_executor *executor, struct rondo_error *err)
{
    if (executor->work.is_branch_per_task) {
        return 0; /* Each begins with its first commit. */
    }
    struct git git = executor_git(executor);
    char tip[GIT_ID_SIZE];
    bool is_moved = false;
    if (executor->tip[0] == '\0') {
        snprintf(executor->tip, sizeof(executor->tip), "%s", executor->work.base);
    }
    if (executor->state.committed > 0) {
        return git_branch_read(&git, executor->work.branch, tip, err);
    }
    return git_branch_move(&git, executor->work.branch, NULL, executor->work.base,
                           "rondo: begin a PRD", &is_moved, err);
}

/** The file of a change that no task may make; or NULL. */
static const char *find_protected(const struct work_executor *executor,
                                  const struct git_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (attempt_protected_by(executor->work.protect, changes->items[i].path) != NULL) {
            return changes->items[i].path;
        }
    }
    return NULL;
}

/** A worker without a sandbox can move a branch, and what --protect names would not be looked at.
 */
static int check_commits_of_others(struct work_executor *executor, const char *branch,
                                   const char *tip, struct rondo_error *err)
{
    struct git git = executor_git(executor);
    struct git_changes changes = {0};
    bool is_one = executor->work.is_branch_per_task == 0;
    bool is_needed = executor->work.protect != NULL && executor->work.protect[0] != NULL;
    /* The run's own commits change no such file: those before the last of them count for nothing.
     */
    const char *own =
        is_one && executor->state.tip[0] != '\0' ? executor->state.tip : executor->work.base;
    const char *known = is_one && executor->known_tip[0] != '\0' ? executor->known_tip : own;
    if (!is_needed || strcmp(known, tip) == 0 || strcmp(own, tip) == 0) {
        return 0;
    }
    int r = git_changes_between(&git, known, tip, &changes, err);
    const char *path = r < 0 ? NULL : find_protected(executor, &changes);
    if (path != NULL) {
        auto_buf struct buf clean = {0};
        text_clean(path, strlen(path), &clean);
        snprintf(executor->obstacle, sizeof(executor->obstacle),
                 "commits that are not Rondo's have changed %.200s on branch %.120s, which no task "
                 "may change; look at them (git log %.12s..%.120s); to keep them, start another "
                 "run, else take them off the branch, then: rondo resume %s",
                 buf_string(&clean), branch, known, branch, loop_run_id(executor->loop));
    } else if (r == 0 && is_one) {
        snprintf(executor->known_tip, sizeof(executor->known_tip), "%s", tip);
    }
    git_changes_fini(&changes);
    return r;
}

int executor_find_tip(struct work_executor *executor, const char *branch, char ret_tip[GIT_ID_SIZE],
                      bool *ret_is_free, struct rondo_error *err)
{
    const char *run = loop_run_id(executor->loop);
    auto_free char *where = NULL;
    int r = executor_read_branch(executor, branch, ret_tip, err);
    if (r == 0 && ret_tip[0] == '\0') {
        *ret_is_free = executor->work.is_branch_per_task != 0;
        if (*ret_is_free) {
            return 0; /* Its first commit makes it. */
        }
        snprintf(executor->obstacle, sizeof(executor->obstacle),
                 "branch %.200s is gone; create it again at the commit where it was (git branch "
                 "%.200s COMMIT), then: rondo resume %s",
                 branch, branch, run);
        return 0;
    }
    r = r < 0 ? r
              : git_worktree_of_branch(executor->repository, branch, executor->cache, &where, err);
    if (r == 0 && where != NULL) {
        snprintf(
            executor->obstacle, sizeof(executor->obstacle),
            "branch %.200s is checked out in %.300s, and Rondo never changes checked-out files; "
            "switch to another branch there (git switch --detach), then: rondo resume %s",
            branch, where, run);
    }
    r = r == 0 && where == NULL ? check_commits_of_others(executor, branch, ret_tip, err) : r;
    *ret_is_free = r == 0 && executor->obstacle[0] == '\0';
    return r;
}

/** What the run of an attempt has used, as its own row says. */
static void find_usage(struct work_executor *executor, const char *run_id, int64_t *ret_tokens,
                       int64_t *ret_cost)
{
    struct store *store = runtime_store(loop_runtime(executor->loop));
    struct store_run row;
    if (store->ops->get_run(store, run_id, &row, NULL) == 0) {
        *ret_tokens = row.summary.tokens;
        *ret_cost = row.summary.cost_micro;
    }
}

/** The branch has the commit: the attempt is over, even if its process has done more since. */
static void end_committed(struct work_executor *executor, struct work_task *task)
{
    struct event_task_ended ended = {
        .task = task->id, .attempt = task->attempt, .outcome = "committed"};
    find_usage(executor, task->run, &ended.tokens, &ended.cost_micro);
    executor_record(executor,
                    (struct journal_event){.type = JOURNAL_TASK_ENDED, .task_ended = ended});
}

/** A process was killed between its intent and the record: does the branch have the commit? */
static int finish_commit(struct work_executor *executor, struct work_task *task,
                         struct rondo_error *err)
{
    struct git git = executor_git(executor);
    char tip[GIT_ID_SIZE];
    char commit[GIT_ID_SIZE];
    bool is_there = false;
    auto_free char *branch = work_task_branch(&executor->work, task->id);
    int r = executor_read_branch(executor, branch, tip, err);
    if (r == 0 && tip[0] != '\0') {
        r = git_commit_is_ancestor(&git, task->commit, tip, &is_there, err);
    }
    if (r < 0 || !is_there) {
        return r; /* It is made again when the attempt is continued. */
    }
    memcpy(commit, task->commit, sizeof(commit));
    memcpy(executor->tip, commit, sizeof(commit));
    executor_record(executor, (struct journal_event){.type = JOURNAL_TASK_COMMITTED,
                                                     .task_committed = {.task = task->id,
                                                                        .attempt = task->attempt,
                                                                        .commit = commit,
                                                                        .branch = branch}});
    end_committed(executor, task);
    return 0;
}

int executor_finish_commits(struct work_executor *executor, struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < executor->state.count; i++) {
        struct work_task *task = &executor->state.tasks[i];
        if (task->phase == WORK_RUNNING && task->is_committing) {
            r = finish_commit(executor, task, err);
        } else if (task->phase == WORK_RUNNING && task->is_committed) {
            end_committed(executor, task);
        }
    }
    return r;
}

static int open_all(struct work_executor *executor, struct rondo_error *err)
{
    struct loop *loop = executor->loop;
    struct store *store = runtime_store(loop_runtime(loop));
    int r = work_spec_decode(loop_spec(loop)->work, &executor->work, err);
    r = r < 0 ? r : loop_commit(loop, err); /* The claim is read below, too. */
    r = r < 0 ? r
              : journal_visit(store, loop_run_id(loop), 0, UINT32_MAX, fold_entry, executor, err);
    r = r < 0 ? r
              : git_repository_open(executor->work.repository, NULL, &executor->repository, err);
    r = r < 0 ? r : make_folders(executor, err);
    if (r < 0) {
        return r;
    }
    work_trees_init(&executor->trees, executor->cache, (size_t)executor->work.jobs);
    executor->excluded = work_files_excluded(&executor->work);
    executor->task_room = executor->state.count;
    executor->is_alive = memory_new_zero(executor->task_room + 1, sizeof(bool));
    executor->is_noted = memory_new_zero(executor->task_room + 1, sizeof(bool));
    executor->pinned = memory_new_zero(executor->task_room + 1, sizeof(*executor->pinned));
    return find_branch(executor, err);
}

int work_executor_new(struct loop *loop, const struct work_port *port,
                      struct work_executor **ret_executor, struct rondo_error *err)
{
    struct work_executor *executor = memory_new_zero(1, sizeof(*executor));
    executor->loop = loop;
    executor->port = *port;
    pthread_mutex_init(&executor->desk.lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&executor->desk.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int r = open_all(executor, err);
    if (r < 0) {
        error_prefix(err, "while opening the PRD's run");
        work_executor_free(executor);
        return r;
    }
    *ret_executor = executor;
    return 0;
}
