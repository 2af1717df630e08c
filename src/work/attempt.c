// SPDX-License-Identifier: Apache-2.0
/* One attempt, step by step. */
#include "work/attempt_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "git/changes.h"
#include "git/commit.h"
#include "git/merge.h"
#include "git/worktree.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "tool/permission.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1024 * 1024)
/** Times that the merge queue is entered again, because the branch has moved on meanwhile. */
#define MOST_MERGES 10

void work_worked_fini(struct work_worked *worked)
{
    free(worked->message);
    free(worked->output);
    free(worked->summary);
    *worked = (struct work_worked){0};
}

/* ---- The result ----------------------------------------------------------------------------- */

bool attempt_fail(struct attempt *attempt, const char *outcome, const char *format, ...)
{
    char message[RONDO_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    attempt->outcome = outcome;
    free(attempt->message);
    attempt->message = memory_dup_string(message);
    return false;
}

bool attempt_fail_by(struct attempt *attempt, const struct rondo_error *err)
{
    if (cancel_is_set(&attempt->stop)) {
        attempt->outcome = NULL;
        return false;
    }
    return attempt_fail(attempt, "error", "%s", err->message);
}

void attempt_keep_output(struct attempt *attempt, const char *output, size_t len)
{
    size_t from = len > (size_t)LIMIT_WORK_OUTPUT_BYTES ? len - (size_t)LIMIT_WORK_OUTPUT_BYTES : 0;
    while (from > 0 && from < len && ((unsigned char)output[from] & 0xc0) == 0x80) {
        from++; /* not within a character */
    }
    free(attempt->output);
    attempt->output = output == NULL ? NULL : memory_dup_bytes(output + from, len - from);
}

/* ---- Checks --------------------------------------------------------------------------------- */

void attempt_post_check(struct attempt *attempt, const char *stage,
                        const struct loop_condition *condition, struct verify_result *result)
{
    pthread_mutex_lock(&attempt->desk->lock);
    attempt->checks =
        memory_resize(attempt->checks, attempt->check_count + 1, sizeof(*attempt->checks));
    attempt->checks[attempt->check_count++] = (struct attempt_check){
        .stage = stage,
        .name = memory_dup_string(condition->name),
        .command = memory_dup_string(condition->command),
        .result = *result,
    };
    pthread_cond_broadcast(&attempt->desk->changed);
    pthread_mutex_unlock(&attempt->desk->lock);
    *result = (struct verify_result){0};
}

/**
 * Run one check in a working tree.
 * @param outcome of the attempt when it fails; NULL = a failure is no failure of the attempt
 */
static bool run_check(struct attempt *attempt, const char *folder, const char *stage,
                      const struct loop_condition *condition, const char *outcome)
{
    struct loop_spec spec = attempt->spec;
    spec.workspace = (char *)(uintptr_t)folder;
    struct verify_command_context context = {
        .spec = &spec,
        .supervisor = runtime_supervisor(attempt->runtime),
        .hide_paths = runtime_hide_paths(attempt->runtime),
        .variables = (const char *const *)attempt->variables,
    };
    struct verifier verifier = verify_by_command(&context);
    struct verify_result result = {0};
    verifier.evaluate(&verifier, condition, condition->timeout_ns, &attempt->stop, &result);
    bool is_met = result.status == RONDO_MET;
    if (!is_met && cancel_is_set(&attempt->stop)) {
        verify_result_fini(&result);
        attempt->outcome = NULL;
        return false;
    }
    if (!is_met && outcome != NULL) {
        attempt_fail(attempt, outcome, "`%.200s` failed%s%.200s", condition->command,
                     result.message[0] == '\0' ? "" : ": ", result.message);
        attempt_keep_output(attempt, result.output, result.output_len);
    }
    attempt_post_check(attempt, stage, condition, &result);
    return is_met;
}

static struct loop_condition own_condition(const struct attempt *attempt, const char *command,
                                           char name[static 32], size_t number)
{
    snprintf(name, 32, "criterion-%zu", number + 1);
    return (struct loop_condition){
        .name = name,
        .command = (char *)(uintptr_t)command,
        .timeout_ns = attempt->work->worker.condition_count > 0
                          ? attempt->work->worker.conditions[0].timeout_ns
                          : LOOP_DEFAULT_VERIFY_TIMEOUT_NS,
    };
}

/**
 * The task's own criteria that a command decides, then the project's checks.
 * @param guard of a tree that will be committed; NULL = nobody has worked in it
 */
static bool run_checks(struct attempt *attempt, const struct attempt_place *place,
                       struct attempt_guard *guard, const char *stage, const char *outcome)
{
    const struct loop_spec *worker = &attempt->work->worker;
    size_t own_count = memory_count_list((const char *const *)attempt->task_checks);
    for (size_t i = 0; i < own_count + worker->condition_count; i++) {
        char name[32];
        struct loop_condition condition =
            i < own_count ? own_condition(attempt, attempt->task_checks[i], name, i)
                          : worker->conditions[i - own_count];
        if (!run_check(attempt, place->folder, stage, &condition, outcome) ||
            (guard != NULL &&
             !attempt_guard_hold(attempt, place, guard, condition.command, NULL))) {
            return false;
        }
    }
    return true;
}

static bool set_up(struct attempt *attempt, const char *folder)
{
    if (attempt->work->setup == NULL) {
        return true;
    }
    struct loop_condition condition = {.name = (char *)"setup",
                                       .command = attempt->work->setup,
                                       .timeout_ns = INT64_C(1800000000000)};
    bool is_good = run_check(attempt, folder, "before", &condition, "error");
    if (!is_good && attempt->outcome != NULL && !attempt->spec.allow_network) {
        auto_free char *message = steal_pointer(&attempt->message);
        attempt_fail(attempt, "error", "%s; it has no network without --sandbox-network", message);
    }
    return is_good;
}

/* ---- The working tree ----------------------------------------------------------------------- */

struct git attempt_git(struct attempt *attempt)
{
    return (struct git){.repository = attempt->repository, .cancel = &attempt->stop};
}

/** A working tree of the attempt, and what it takes to use it again. */
struct tree_use {
    const char *path;
    const char *index;
    const char *base_index;
    const char *commit;
    struct git_tree_mark mark;
    bool has_mark;
};

static bool take_tree(struct attempt *attempt, struct tree_use *use)
{
    struct rondo_error err = {0};
    struct git git = attempt_git(attempt);
    /* The only call that may take long and write much: it must not outlive this process. */
    git.supervisor = runtime_supervisor(attempt->runtime);
    auto_buf struct buf reason = {0};
    buf_printf(&reason, "rondo run %s task %s pid %ld", attempt->parent_run, attempt->task_id,
               (long)getpid());
    const struct git_worktree_request request = {.path = use->path,
                                                 .commit = use->commit,
                                                 .lock_reason = buf_string(&reason),
                                                 .index_path = use->index,
                                                 .base_index_path = use->base_index};
    int r = work_trees_take(attempt->trees, &git, &request, &use->mark, &use->has_mark, &err);
    return r < 0 ? attempt_fail_by(attempt, &err) : true;
}

static struct attempt_place own_place(struct attempt *attempt)
{
    return (struct attempt_place){attempt->tree_folder, attempt->index_path, attempt->start,
                                  &attempt->index_mark};
}

static bool prepare(struct attempt *attempt)
{
    struct rondo_error err = {0};
    auto_buf struct buf temporary = {0};
    buf_printf(&temporary, "%s/tmp", attempt->folder);
    /* opens: the cache folder is the user's, and out of the reach of sandboxed workers */
    int r = file_make_folder(buf_string(&temporary), &err);
    if (r < 0) {
        return attempt_fail_by(attempt, &err);
    }
    struct tree_use use = {.path = attempt->tree_folder,
                           .index = attempt->index_path,
                           .base_index = attempt->base_index_path,
                           .commit = attempt->start};
    bool is_good = take_tree(attempt, &use);
    git_index_mark_take(attempt->index_path, &attempt->index_mark);
    attempt->mark = use.mark;
    attempt->has_mark = use.has_mark;
    return is_good;
}

/** Whether everything that the task demands holds before anybody works on it. */
static bool is_done_already(struct attempt *attempt)
{
    if (attempt->task_checks[0] == NULL) {
        return false; /* Nothing says what the task is, but a text. */
    }
    const struct attempt_place place = own_place(attempt);
    return run_checks(attempt, &place, NULL, "before", NULL);
}

/* ---- What the worker has left --------------------------------------------------------------- */

const char *attempt_protected_by(char *const *globs, const char *path)
{
    for (size_t i = 0; globs != NULL && globs[i] != NULL; i++) {
        const char *name = strrchr(path, '/');
        bool is_path = strchr(globs[i], '/') != NULL;
        if (glob_matches(globs[i], path) ||
            (!is_path && glob_matches(globs[i], name == NULL ? path : name + 1))) {
            return globs[i];
        }
    }
    return NULL;
}

static bool check_protected(struct attempt *attempt, const struct git_changes *changes)
{
    if (changes->excluded[0] != NULL) {
        return attempt_fail(attempt, "refused",
                            "%s was changed: only Rondo may change the files of the PRD",
                            changes->excluded[0]);
    }
    if (changes->nested[0] != NULL) {
        return attempt_fail(attempt, "refused", "%s is a nested git repository; remove its .git",
                            changes->nested[0]);
    }
    for (size_t i = 0; i < changes->count; i++) {
        const char *glob = attempt_protected_by(attempt->work->protect, changes->items[i].path);
        if (glob != NULL) {
            return attempt_fail(attempt, "refused",
                                "%.200s was %s, but it is protected (--protect %s)",
                                changes->items[i].path,
                                changes->items[i].kind == GIT_DELETED ? "deleted"
                                : changes->items[i].kind == GIT_ADDED ? "added"
                                                                      : "changed",
                                glob);
        }
    }
    return true;
}

static void note_files(struct attempt *attempt, const struct git_changes *changes)
{
    struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < changes->count && i < LIMIT_WORK_FILES; i++) {
        json_write_string(&writer, NULL, changes->items[i].path);
    }
    json_end_array(&writer);
    free(attempt->files);
    attempt->files = buf_steal(&json);
    attempt->file_count = changes->count;
}

struct git_changes_request attempt_changes_request(const struct attempt *attempt,
                                                   const struct attempt_place *place)
{
    return (struct git_changes_request){
        .path = place->folder,
        .index_path = place->index_path,
        .base = place->base,
        .mark = place->mark,
        .excluded = (const char *const *)attempt->excluded,
    };
}

bool attempt_take_changes(struct attempt *attempt, const struct git_changes *changes)
{
    snprintf(attempt->tree, sizeof(attempt->tree), "%s", changes->tree);
    note_files(attempt, changes);
    return check_protected(attempt, changes) &&
           (changes->count > 0 || attempt_fail(attempt, "no_change", "no file was changed"));
}

/** Take what was changed as a tree. */
static bool look(struct attempt *attempt)
{
    struct rondo_error err = {0};
    struct git git = attempt_git(attempt);
    struct git_changes changes = {0};
    const struct attempt_place place = own_place(attempt);
    const struct git_changes_request request = attempt_changes_request(attempt, &place);
    int r = git_repository_check(&git, attempt->work->settings, &err);
    if (r == RONDO_ERR_DENIED) {
        return attempt_fail(attempt, "refused", "%s", err.message);
    }
    r = r < 0 ? r : git_changes_read(&git, &request, &changes, &err);
    if (r == RONDO_ERR_LIMIT || r == RONDO_ERR_DENIED) {
        return attempt_fail(attempt, "refused", "%s", err.message);
    }
    if (r < 0) {
        return attempt_fail_by(attempt, &err);
    }
    bool is_good = attempt_take_changes(attempt, &changes);
    git_changes_fini(&changes);
    return is_good;
}

/** Keep the changes of an attempt that failed. */
static void keep_patch(struct attempt *attempt)
{
    struct git git = {.repository = attempt->repository};
    if (attempt->tree[0] == '\0' || attempt->file_count == 0) {
        return;
    }
    /* opens: in the state folder */
    auto_close int fd =
        open(attempt->patch_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_cut = false;
    if (fd >= 0 && git_patch_write(&git, attempt->start, attempt->tree, fd, &is_cut, NULL) == 0) {
        attempt->patch = memory_dup_string(attempt->patch_path);
    }
}

/* ---- Committing ----------------------------------------------------------------------------- */

/** Ask the parent's thread, and wait for its answer. @return whether it is on the branch */
static bool ask_to_commit(struct attempt *attempt)
{
    pthread_mutex_lock(&attempt->desk->lock);
    attempt->phase = ATTEMPT_WANTS_COMMIT;
    attempt->is_answered = false;
    pthread_cond_broadcast(&attempt->desk->changed);
    while (!attempt->is_answered) {
        pthread_cond_wait(&attempt->desk->changed, &attempt->desk->lock);
    }
    attempt->phase = ATTEMPT_WORKING;
    bool is_committed = attempt->is_committed;
    pthread_mutex_unlock(&attempt->desk->lock);
    return is_committed;
}

int attempt_make_commit(struct attempt *attempt, const char *tree, const char *parent,
                        char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    struct git git = attempt_git(attempt);
    const struct git_commit_request request = {
        .tree = tree, .parent = parent, .message = "a step of a merge or review", .time_s = 1};
    return git_commit_make(&git, &request, ret_id, err);
}

/**
 * Run the checks on what the branch would have, in a working tree of its own.
 * @param base commit that it is to follow
 */
static bool verify_commit(struct attempt *attempt, const char *commit, const char *base,
                          const char *stage)
{
    auto_buf struct buf folder = {0};
    auto_buf struct buf index = {0};
    auto_buf struct buf base_index = {0};
    buf_printf(&folder, "%s/merged", attempt->folder);
    buf_printf(&index, "%s/merged-index", attempt->folder);
    buf_printf(&base_index, "%s/merged-base-index", attempt->folder);
    struct tree_use use = {.path = buf_string(&folder),
                           .index = buf_string(&index),
                           .base_index = buf_string(&base_index),
                           .commit = commit};
    struct git_index_mark mark = {0};
    const struct attempt_place place = {buf_string(&folder), buf_string(&index), base, &mark};
    struct attempt_guard guard = {0};
    bool is_added = take_tree(attempt, &use);
    git_index_mark_take(buf_string(&index), &mark);
    bool is_good = is_added && set_up(attempt, buf_string(&folder)) &&
                   attempt_guard_begin(attempt, &place, &guard) &&
                   attempt_run_pre_commit(attempt, &place) &&
                   run_checks(attempt, &place, &guard, stage, "checks_failed");
    attempt_guard_fini(&guard);
    if (!use.has_mark || !work_trees_give(attempt->trees, attempt->repository, use.path,
                                          use.base_index, &use.mark)) {
        git_worktree_remove(attempt->repository, use.path, NULL);
    }
    return is_good;
}

/** Name the files that do not merge. */
static bool fail_conflict(struct attempt *attempt, char *const *paths)
{
    auto_buf struct buf list = {0};
    for (size_t i = 0; paths[i] != NULL; i++) {
        buf_printf(&list, "%s\n", paths[i]);
    }
    attempt_keep_output(attempt, buf_string(&list), list.len);
    return attempt_fail(
        attempt, "conflict",
        "other tasks changed the same lines in the meantime; the next attempt starts from "
        "their commits");
}

/** The branch has moved: bring the changes on top of it, and verify both together. */
static bool merge(struct attempt *attempt, const char *own_tree)
{
    struct rondo_error err = {0};
    struct git git = attempt_git(attempt);
    struct git_merge merged = {0};
    char commit[GIT_ID_SIZE];
    int r = attempt_make_commit(attempt, own_tree, attempt->start, commit, &err);
    r = r < 0 ? r : git_merge_try(&git, attempt->start, attempt->tip, commit, &merged, &err);
    bool is_good = false;
    if (r == 0 && merged.has_conflicts) {
        fail_conflict(attempt, merged.conflicts);
    } else if (r == 0) {
        snprintf(attempt->base, sizeof(attempt->base), "%s", attempt->tip);
        snprintf(attempt->expected, sizeof(attempt->expected), "%s", attempt->tip);
        snprintf(attempt->tree, sizeof(attempt->tree), "%s", merged.tree);
        r = attempt_make_commit(attempt, merged.tree, attempt->tip, commit, &err);
        is_good = r == 0 && verify_commit(attempt, commit, attempt->tip, "merged");
    }
    git_merge_fini(&merged);
    return r < 0 ? attempt_fail_by(attempt, &err) : is_good;
}

static bool commit(struct attempt *attempt)
{
    char own_tree[GIT_ID_SIZE];
    memcpy(own_tree, attempt->tree, sizeof(own_tree));
    memcpy(attempt->base, attempt->start, sizeof(attempt->base));
    for (int i = 0; i < MOST_MERGES; i++) {
        if (ask_to_commit(attempt)) {
            attempt->outcome = "committed";
            return true;
        }
        if (attempt->tip[0] == '\0') {
            return false; /* The parent has said why. */
        }
        if (!merge(attempt, own_tree)) {
            memcpy(attempt->tree, own_tree, sizeof(own_tree)); /* for the patch */
            return false;
        }
    }
    return attempt_fail(
        attempt, "conflict",
        "the branch was moved by others each time the changes were merged; stop whatever "
        "commits to it");
}

/* ---- The whole ------------------------------------------------------------------------------ */

static bool execute(struct attempt *attempt)
{
    struct rondo_error err = {0};
    const struct work_order order = {.spec = &attempt->spec,
                                     .variables = (const char *const *)attempt->variables,
                                     .stop = &attempt->stop};
    int r = attempt->port->execute(attempt->port->context, &order, &attempt->worked, &err);
    if (r < 0) {
        return attempt_fail_by(attempt, &err);
    }
    if (!attempt->worked.is_ended) {
        attempt->outcome = NULL;
        return false;
    }
    return true;
}

/** What the worker says of itself counts only where it says that it failed. */
static bool judge(struct attempt *attempt)
{
    const struct work_worked *worked = &attempt->worked;
    if (worked->output != NULL && (worked->has_failed || worked->is_denied)) {
        attempt_keep_output(attempt, worked->output, strlen(worked->output));
    }
    if (worked->is_denied) {
        return attempt_fail(attempt, "denied", "%s",
                            worked->message == NULL ? "a policy denied a step" : worked->message);
    }
    if (worked->has_failed) {
        return attempt_fail(attempt, "worker_failed", "%s",
                            worked->message == NULL ? "the worker failed" : worked->message);
    }
    return true;
}

/** Of a tree in which a run was continued, nobody knows what its preparation had made. */
static bool guard_tree(struct attempt *attempt, const struct attempt_place *place, bool was_begun)
{
    bool has_removed = false;
    return attempt_guard_hold(attempt, place, &attempt->guard, NULL, &has_removed) &&
           (!was_begun || !has_removed ||
            (set_up(attempt, place->folder) &&
             attempt_guard_begin(attempt, place, &attempt->guard)));
}

/** Not in the worker's tree, which may have files that git ignores and the checks do not. */
static bool verify_clean(struct attempt *attempt)
{
    struct rondo_error err = {0};
    char commit[GIT_ID_SIZE];
    return attempt_make_commit(attempt, attempt->tree, attempt->start, commit, &err) < 0
               ? attempt_fail_by(attempt, &err)
               : verify_commit(attempt, commit, attempt->start, "after");
}

/** What a hook changes is checked as well, so it comes first. */
static bool verify(struct attempt *attempt, bool was_begun)
{
    const struct attempt_place place = own_place(attempt);
    if (attempt->work->is_clean) {
        return verify_clean(attempt) && attempt_review(attempt) &&
               attempt_make_message(attempt, &place);
    }
    return attempt_run_pre_commit(attempt, &place) && guard_tree(attempt, &place, was_begun) &&
           run_checks(attempt, &place, &attempt->guard, "after", "checks_failed") &&
           attempt_review(attempt) && attempt_make_message(attempt, &place);
}

static bool is_unchanged(const struct attempt *attempt)
{
    return attempt->outcome != NULL && strcmp(attempt->outcome, "no_change") == 0;
}

/** An issue needs no change only if the checks pass without one; else the work is not done, and the
 *  next attempt is told why. @return false */
static bool verify_unchanged(struct attempt *attempt, bool was_begun)
{
    const struct attempt_place place = own_place(attempt);
    auto_free char *message = steal_pointer(&attempt->message);
    attempt->outcome = NULL;
    if (guard_tree(attempt, &place, was_begun) &&
        run_checks(attempt, &place, &attempt->guard, "after", "checks_failed")) {
        attempt_fail(attempt, "no_change", "%s", message);
    }
    return false;
}

/** A killed git has left it; nobody else uses our index. */
static void remove_index_lock(const struct attempt *attempt)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s.lock", attempt->index_path);
    /* opens: a name in the cache folder, which is the user's */
    unlink(buf_string(&path));
}

/** Whether the tree is there with git's records: a kill may have come while it was put away. */
static bool has_tree(const struct attempt *attempt)
{
    auto_close int fd =
        git_worktree_open_records(attempt->repository, attempt->tree_folder, NULL, NULL);
    /* opens: only whether it is there; its parent folder is out of the reach of workers */
    return fd >= 0 && file_exists(attempt->tree_folder);
}

static bool work(struct attempt *attempt)
{
    if (attempt->obstacle != NULL) {
        return attempt_fail(attempt, attempt->obstacle_outcome, "%s", attempt->obstacle);
    }
    bool was_begun = attempt->is_again && has_tree(attempt) &&
                     attempt->port->exists(attempt->port->context, attempt->spec.run_id);
    remove_index_lock(attempt);
    if (!was_begun) {
        if (!prepare(attempt) || !set_up(attempt, attempt->tree_folder)) {
            return false;
        }
        if (is_done_already(attempt)) {
            attempt->outcome = "already_done";
            return true;
        }
        if (cancel_is_set(&attempt->stop)) {
            return false;
        }
        const struct attempt_place place = own_place(attempt);
        if (!attempt_guard_begin(attempt, &place, &attempt->guard)) {
            return false;
        }
    }
    if (!execute(attempt)) {
        return false;
    }
    if (!was_begun && attempt->worked.was_over) {
        return attempt_fail(attempt, "interrupted",
                            "the worker ended, but its working tree is gone; a new attempt starts");
    }
    if (attempt->worked.is_closed) {
        return attempt_fail(attempt, "interrupted", "%s",
                            attempt->worked.message == NULL ? "its run was closed"
                                                            : attempt->worked.message);
    }
    bool is_good = judge(attempt);
    if (!is_good) {
        auto_free char *message = steal_pointer(&attempt->message);
        const char *outcome = attempt->outcome;
        look(attempt); /* for the patch */
        free(attempt->message);
        attempt->message = steal_pointer(&message);
        attempt->outcome = outcome;
        return false;
    }
    if (!look(attempt)) {
        return is_unchanged(attempt) && attempt->work->issue > 0 &&
               verify_unchanged(attempt, was_begun);
    }
    return verify(attempt, was_begun) && commit(attempt);
}

/**
 * Remove what is over, but for a tree that can be used again. It gets another name first: nobody
 * who continues the attempt may take half of a working tree for what the worker has left.
 */
static void remove_folder(struct attempt *attempt)
{
    auto_buf struct buf gone = {0};
    buf_printf(&gone, "%s" ATTEMPT_GONE, attempt->folder);
    if (attempt->has_mark) {
        work_trees_give(attempt->trees, attempt->repository, attempt->tree_folder,
                        attempt->base_index_path, &attempt->mark);
    }
    /* opens: names in the cache folder, which is the user's; no link inside is followed */
    (void)rename(attempt->folder, buf_string(&gone));
    git_worktree_remove(attempt->repository, attempt->tree_folder, NULL);
    /* opens: likewise */
    file_remove_tree(attempt->folder, NULL);
    /* opens: likewise */
    file_remove_tree(buf_string(&gone), NULL);
}

/** Where the worker has left HEAD: the parent compares it with the branch. */
static void note_head(struct attempt *attempt)
{
    struct git_worktree_list list = {0};
    git_worktree_list(attempt->repository, NULL, &list, NULL);
    pthread_mutex_lock(&attempt->desk->lock);
    for (size_t i = 0; i < list.count; i++) {
        if (attempt->head == NULL && strcmp(list.items[i].path, attempt->tree_folder) == 0) {
            attempt->head = memory_dup_string(list.items[i].head);
        }
    }
    pthread_mutex_unlock(&attempt->desk->lock);
    git_worktree_list_fini(&list);
}

static void *attempt_main(void *context)
{
    struct attempt *attempt = context;
    const struct clock *clock = runtime_clock(attempt->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    attempt_make_variables(attempt);
    bool is_good = work(attempt);
    if (attempt->outcome != NULL) {
        if (!is_good) {
            keep_patch(attempt);
        }
        note_head(attempt);
        remove_folder(attempt);
    }
    attempt->duration_ns = clock_monotonic(clock) - begin_ns;
    pthread_mutex_lock(&attempt->desk->lock);
    attempt->phase = ATTEMPT_OVER;
    pthread_cond_broadcast(&attempt->desk->changed);
    pthread_mutex_unlock(&attempt->desk->lock);
    return NULL;
}

int attempt_begin(struct attempt *attempt, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failure = pthread_create(&attempt->thread, &attributes, attempt_main, attempt);
    pthread_attr_destroy(&attributes);
    return failure == 0
               ? 0
               : error_set_errno(err, RONDO_ERR_SYSTEM, failure, "a thread cannot be started");
}

void attempt_fini(struct attempt *attempt)
{
    for (size_t i = 0; i < attempt->check_count; i++) {
        free(attempt->checks[i].name);
        free(attempt->checks[i].command);
        verify_result_fini(&attempt->checks[i].result);
    }
    free(attempt->checks);
    free(attempt->task_id);
    free(attempt->title);
    loop_spec_fini(&attempt->spec);
    free(attempt->branch);
    memory_free_list(attempt->variables);
    free(attempt->obstacle);
    free(attempt->folder);
    free(attempt->tree_folder);
    free(attempt->index_path);
    free(attempt->base_index_path);
    memory_free_list(attempt->task_checks);
    memory_free_list(attempt->excluded);
    free(attempt->patch_path);
    free(attempt->commit_message);
    free(attempt->message);
    free(attempt->output);
    free(attempt->patch);
    free(attempt->head);
    free(attempt->files);
    attempt_guard_fini(&attempt->guard);
    work_worked_fini(&attempt->worked);
    cancel_fini(&attempt->stop);
}
