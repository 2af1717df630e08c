// SPDX-License-Identifier: Apache-2.0
/* The executor and its attempts: they are begun, their posts recorded, their commits made. */
#include "work/executor_internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "git/commit.h"
#include "loop/driver/body_ports.h"
#include "prd/archive.h"
#include "prd/progress.h"
#include "work/prompt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** How often the thread looks whether the run has to stop while attempts run. */
#define LOOK_NS (NS_PER_S / 5)

static void record_check(struct work_executor *executor, const struct attempt *attempt,
                         const struct attempt_check *check)
{
    const struct verify_result *result = &check->result;
    executor_record(
        executor,
        (struct journal_event){
            .type = JOURNAL_TASK_CHECKED,
            .task_checked = {.task = attempt->task_id,
                             .attempt = attempt->number,
                             .stage = check->stage,
                             .check = check->name,
                             .command = check->command,
                             .status = rondo_condition_status_name(result->status),
                             .exit_code = result->exit_code,
                             .duration_ns = result->duration_ns,
                             .message = result->message[0] == '\0' ? NULL : result->message,
                             .output = result->output,
                             .output_len = result->output_len}});
}

static void record_ended(struct work_executor *executor, const struct attempt *attempt)
{
    const char *output = attempt->output;
    executor_record(executor, (struct journal_event){
                                  .type = JOURNAL_TASK_ENDED,
                                  .task_ended = {.task = attempt->task_id,
                                                 .attempt = attempt->number,
                                                 .outcome = attempt->outcome,
                                                 .message = attempt->message,
                                                 .output = output,
                                                 .output_len = output == NULL ? 0 : strlen(output),
                                                 .summary = attempt->worked.summary,
                                                 .patch = attempt->patch,
                                                 .tokens = attempt->worked.tokens,
                                                 .cost_micro = attempt->worked.cost_micro,
                                                 .duration_ns = attempt->duration_ns}});
}

/* ---- Beginning attempts --------------------------------------------------------------------- */

static char *prompt_of(struct work_executor *executor, const struct prd_task *task,
                       const struct work_task *state, int64_t number)
{
    const char *const agent_folders[] = {executor->work.repository, NULL};
    auto_buf struct buf progress = {0};
    struct buf text = {0};
    (void)prd_progress_read(agent_folders, executor->work.progress, LIMIT_WORK_PROGRESS_ENTRIES,
                            (size_t)LIMIT_WORK_PROGRESS_BYTES, &progress, NULL);
    const struct work_prompt prompt = {.work = &executor->work,
                                       .prd = &executor->prd,
                                       .task = task,
                                       .state = state,
                                       .attempt = number,
                                       .progress = buf_string(&progress)};
    work_prompt_write(&prompt, &text);
    return buf_steal(&text);
}

static void add_text(char ***list, const char *text)
{
    size_t count = memory_count_list((const char *const *)*list);
    *list = memory_resize(*list, count + 2, sizeof(**list));
    (*list)[count] = memory_dup_string(text);
    (*list)[count + 1] = NULL;
}

/** The options of the run that works on a task. */
static void make_spec(struct work_executor *executor, struct attempt *attempt, char *prompt)
{
    const struct loop_spec *parent = loop_spec(executor->loop);
    struct loop_spec spec = loop_spec_dup(&executor->work.worker);
    auto_buf struct buf work = {0};
    auto_buf struct buf name = {0};
    auto_buf struct buf temporary = {0};
    buf_printf(&name, "%s/%" PRId64, attempt->task_id, attempt->number);
    buf_printf(&temporary, "%s/tmp", attempt->folder);
    work_child_encode(loop_run_id(executor->loop), attempt->task_id, attempt->number, &work);
    free(spec.workspace);
    spec.workspace = memory_dup_string(attempt->tree_folder);
    free(spec.prompt);
    spec.prompt = prompt;
    free(spec.work);
    spec.work = buf_steal(&work);
    if (spec.max_iterations == 1) {
        loop_spec_drop_conditions(&spec); /* They are evaluated once, after it. */
    }
    if (spec.policy == NULL) {
        spec.policy = memory_dup_string(parent->policy);
    }
    add_text(&spec.read_paths, executor->repository->common_folder);
    /* opens: only whether it is there; git's hooks folder is the user's */
    if (access(executor->repository->hooks_folder, R_OK) == 0) {
        add_text(&spec.read_paths, executor->repository->hooks_folder);
    }
    add_text(&spec.write_paths, buf_string(&temporary));
    for (const char *const *names = attempt_variable_names(); *names != NULL; names++) {
        add_text(&spec.env_names, *names);
    }
    id_from_name(loop_run_id(executor->loop), name.data, name.len, spec.run_id);
    attempt->spec = spec;
}

static void make_paths(struct work_executor *executor, struct attempt *attempt,
                       const struct work_task *task, bool is_again)
{
    char name[PRD_ARCHIVE_NAME_SIZE];
    struct buf folder = {0};
    struct buf tree = {0};
    struct buf index = {0};
    struct buf base_index = {0};
    struct buf patch = {0};
    prd_archive_name(task->id, name);
    buf_printf(&folder, "%s/%zu-%s-%" PRId64, executor->cache, attempt->task, name,
               attempt->number);
    if (is_again && task->folder != NULL) { /* The cache may be elsewhere now. */
        const char *end = strrchr(task->folder, '/');
        buf_clear(&folder);
        buf_append(&folder, task->folder, end == NULL ? 0 : (size_t)(end - task->folder));
    }
    attempt->folder = buf_steal(&folder);
    buf_printf(&tree, "%s/tree", attempt->folder);
    attempt->tree_folder = buf_steal(&tree);
    buf_printf(&index, "%s/index", attempt->folder);
    attempt->index_path = buf_steal(&index);
    buf_printf(&base_index, "%s/base-index", attempt->folder);
    attempt->base_index_path = buf_steal(&base_index);
    /* The place in the list, too: other ids may have the same name. */
    buf_printf(&patch, "%s/%s-%zu-%s-%" PRId64 ".patch", executor->patches,
               loop_run_id(executor->loop), attempt->task, name, attempt->number);
    attempt->patch_path = buf_steal(&patch);
}

static struct attempt *new_attempt(struct work_executor *executor, const struct work_action *action)
{
    const struct work_task *task = &executor->state.tasks[action->task];
    struct attempt *attempt = memory_new_zero(1, sizeof(*attempt));
    attempt->desk = &executor->desk;
    attempt->runtime = loop_runtime(executor->loop);
    attempt->work = &executor->work;
    attempt->repository = executor->repository;
    attempt->port = &executor->port;
    attempt->trees = &executor->trees;
    attempt->task = action->task;
    attempt->task_id = memory_dup_string(task->id);
    attempt->title = memory_dup_string(task->title);
    attempt->branch = work_task_branch(&executor->work, task->id);
    attempt->number = action->attempt;
    attempt->is_again = action->is_again;
    snprintf(attempt->parent_run, sizeof(attempt->parent_run), "%s", loop_run_id(executor->loop));
    attempt->excluded = memory_dup_list((const char *const *)executor->excluded);
    make_paths(executor, attempt, task, action->is_again);
    const struct prd_task *listed =
        executor->has_prd ? prd_find(&executor->prd, attempt->task_id) : NULL;
    attempt->task_checks = executor_task_checks(executor, action->task);
    char *prompt = listed == NULL ? memory_dup_string(task->title)
                                  : prompt_of(executor, listed, task, action->attempt);
    make_spec(executor, attempt, prompt);
    return attempt;
}

/** @return 0 also when it did not begin, because something is in the way */
static int begin(struct work_executor *executor, struct attempt *attempt,
                 const struct work_action *action, struct rondo_error *err)
{
    const struct work_task *task = &executor->state.tasks[action->task];
    bool is_free = false;
    int r = cancel_init(&attempt->stop, err);
    r = r < 0 ? r : executor_guard_branch(executor, err);
    r = r < 0 ? r : executor_find_tip(executor, attempt->branch, attempt->expected, &is_free, err);
    if (r < 0 || !is_free) {
        return r;
    }
    if (action->is_again) {
        memcpy(attempt->start, task->base, sizeof(attempt->start));
        r = executor_continue_branch(executor, attempt, err);
    } else {
        r = executor_find_start(executor, attempt, err);
    }
    if (r == 0 && !action->is_again) {
        executor_record(executor,
                        (struct journal_event){.type = JOURNAL_TASK_STARTED,
                                               .task_started = {.task = attempt->task_id,
                                                                .title = attempt->title,
                                                                .attempt = attempt->number,
                                                                .run = attempt->spec.run_id,
                                                                .base = attempt->start,
                                                                .folder = attempt->tree_folder}});
        r = loop_commit(executor->loop, err);
    }
    return r < 0 ? r : attempt_begin(attempt, err);
}

int executor_start(struct work_executor *executor, const struct work_action *action,
                   struct rondo_error *err)
{
    size_t slot = 0;
    while (executor->attempts[slot] != NULL) {
        slot++; /* work_next() starts no more than there are jobs. */
    }
    struct attempt *attempt = new_attempt(executor, action);
    attempt->slot = slot;
    int r = begin(executor, attempt, action, err);
    if (r < 0 || executor->obstacle[0] != '\0') {
        attempt_fini(attempt);
        free(attempt);
        return r;
    }
    executor->attempts[slot] = attempt;
    executor->is_alive[action->task] = true;
    executor_update_files(executor);
    return 0;
}

/* ---- Committing ----------------------------------------------------------------------------- */

static int make_commit(struct work_executor *executor, const struct attempt *attempt,
                       char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    struct git git = executor_git(executor);
    const struct git_commit_request request = {
        .tree = attempt->tree,
        .parent = attempt->base,
        .message = attempt->commit_message,
        .time_s = clock_now(runtime_clock(loop_runtime(executor->loop))) / NS_PER_S,
    };
    return git_commit_make(&git, &request, ret_id, err);
}

/** @param ret_is_moved false: the branch is elsewhere by now */
static int move_branch(struct work_executor *executor, const struct attempt *attempt,
                       bool *ret_is_moved, struct rondo_error *err)
{
    struct git git = executor_git(executor);
    char commit[GIT_ID_SIZE];
    int r = make_commit(executor, attempt, commit, err);
    if (r < 0) {
        return r;
    }
    executor_record(executor,
                    (struct journal_event){.type = JOURNAL_TASK_COMMITTING,
                                           .task_committing = {.task = attempt->task_id,
                                                               .attempt = attempt->number,
                                                               .commit = commit,
                                                               .parent = attempt->base,
                                                               .branch = attempt->branch}});
    r = loop_commit(executor->loop, err);
    const struct git_kept_move move = {
        .run = loop_run_id(executor->loop),
        .number = loop_state(executor->loop)->seq,
        .kept = attempt->base,
        .branch = attempt->branch,
        .old_id = attempt->expected[0] == '\0' ? NULL : attempt->expected,
        .new_id = commit,
        .reason = "rondo: commit a task",
    };
    r = r < 0 ? r : git_branch_move_kept(&git, &move, ret_is_moved, err);
    if (r < 0 || !*ret_is_moved) {
        return r;
    }
    memcpy(executor->tip, commit, sizeof(executor->tip));
    executor_record(executor, (struct journal_event){
                                  .type = JOURNAL_TASK_COMMITTED,
                                  .task_committed = {.task = attempt->task_id,
                                                     .attempt = attempt->number,
                                                     .commit = commit,
                                                     .branch = attempt->branch,
                                                     .files = attempt->files,
                                                     .file_count = (int64_t)attempt->file_count}});
    return loop_commit(executor->loop, err);
}

static void answer(struct work_executor *executor, struct attempt *attempt, bool is_committed)
{
    pthread_mutex_lock(&executor->desk.lock);
    attempt->is_committed = is_committed;
    attempt->is_answered = true;
    pthread_cond_broadcast(&executor->desk.changed);
    pthread_mutex_unlock(&executor->desk.lock);
}

/** @param outcome static; NULL = it is parked */
static void refuse(struct work_executor *executor, struct attempt *attempt, const char *outcome,
                   const char *message)
{
    attempt->outcome = outcome;
    free(attempt->message);
    attempt->message = memory_dup_string(message);
    attempt->tip[0] = '\0';
    answer(executor, attempt, false);
}

static void refuse_mover(struct work_executor *executor, struct attempt *attempt)
{
    char message[RONDO_ERROR_MESSAGE_SIZE];
    executor_blame(executor, message, sizeof(message));
    refuse(executor, attempt, "refused", message);
}

/** One attempt after the other: commit, or have it merge first. */
static void answer_commit(struct work_executor *executor, struct attempt *attempt)
{
    struct rondo_error err = {0};
    char tip[GIT_ID_SIZE];
    bool is_free = false;
    bool is_moved = false;
    if (executor->merging != NULL && executor->merging != attempt) {
        return; /* Its turn comes. */
    }
    int r = executor_guard_branch(executor, &err);
    if (r == 0 && attempt->has_moved_branch) {
        refuse_mover(executor, attempt);
        return;
    }
    r = r < 0 ? r : executor_find_tip(executor, attempt->branch, tip, &is_free, &err);
    if (r == 0 && is_free && tip[0] == '\0') {
        attempt->expected[0] = '\0'; /* It is made anew. */
    }
    if (r == 0 && is_free && strcmp(tip, attempt->expected) == 0) {
        r = move_branch(executor, attempt, &is_moved, &err);
        r = r < 0 || is_moved ? r
                              : executor_find_tip(executor, attempt->branch, tip, &is_free, &err);
    }
    if (r == 0 && !is_free) {
        refuse(executor, attempt, NULL,
               executor->obstacle); /* It is verified again with a resume. */
    } else if (r < 0) {
        refuse(executor, attempt, "error", err.message);
    } else if (is_moved) {
        executor->merging = NULL;
        answer(executor, attempt, true);
    } else {
        executor->merging = attempt;
        memcpy(attempt->tip, tip, sizeof(tip));
        answer(executor, attempt, false);
    }
}

/* ---- What attempts post --------------------------------------------------------------------- */

/** Record the checks that were run since. The desk is locked; records are made without it. */
static void take_checks(struct work_executor *executor, struct attempt *attempt)
{
    pthread_mutex_lock(&executor->desk.lock);
    while (attempt->checks_taken < attempt->check_count) {
        struct attempt_check check = attempt->checks[attempt->checks_taken++];
        pthread_mutex_unlock(&executor->desk.lock);
        record_check(executor, attempt, &check);
        pthread_mutex_lock(&executor->desk.lock);
    }
    pthread_mutex_unlock(&executor->desk.lock);
}

/** What a failed attempt has done to the branch is its failure. */
static void judge_branch(struct work_executor *executor, struct attempt *attempt)
{
    struct rondo_error err = {0};
    char message[RONDO_ERROR_MESSAGE_SIZE];
    if (strcmp(attempt->outcome, "committed") == 0) {
        return;
    }
    executor_guard_branch(executor, &err);
    if (attempt->has_moved_branch) {
        executor_blame(executor, message, sizeof(message));
        attempt->outcome = "refused";
        free(attempt->message);
        attempt->message = memory_dup_string(message);
    }
}

static bool is_used_up(int64_t limit, int64_t used, int64_t more)
{
    return limit > 0 && more >= 0 && used >= limit - (more < limit ? more : limit);
}

/** Whether the limits of the whole run have cut it off: with more of them it could have ended. */
static bool is_cut_off(const struct work_executor *executor, const struct attempt *attempt)
{
    const struct loop_spec *spec = loop_spec(executor->loop);
    const struct run_state *state = loop_state(executor->loop);
    const struct work_worked *worked = &attempt->worked;
    return worked->is_limited && strcmp(attempt->outcome, "committed") != 0 &&
           (is_used_up(spec->max_tokens, state->tokens, worked->tokens) ||
            is_used_up(spec->max_cost_micro, state->cost_micro, worked->cost_micro));
}

/** Each attempt at each task would fail like this one. */
static bool is_locked_out(struct work_executor *executor, const struct attempt *attempt)
{
    const struct work_worked *worked = &attempt->worked;
    if (!worked->is_locked_out || strcmp(attempt->outcome, "worker_failed") != 0) {
        return false;
    }
    snprintf(executor->obstacle, sizeof(executor->obstacle), "%.800s; `rondo resume` continues",
             worked->message == NULL ? "the worker's key was refused" : worked->message);
    return true;
}

static void take_over(struct work_executor *executor, size_t slot)
{
    struct attempt *attempt = executor->attempts[slot];
    pthread_join(attempt->thread, NULL);
    executor->merging = executor->merging == attempt ? NULL : executor->merging;
    executor->is_alive[attempt->task] = false;
    if (attempt->outcome != NULL) { /* else it is parked, and continued later */
        judge_branch(executor, attempt);
        bool is_cut = is_cut_off(executor, attempt) || is_locked_out(executor, attempt);
        attempt->outcome = is_cut ? "interrupted" : attempt->outcome;
        record_ended(executor, attempt);
        executor->is_due = true;
        /* What was cut off ends the iteration, too: the gate has to be asked. */
        executor->has_ended =
            executor->has_ended || is_cut || work_counts_as_attempt(attempt->outcome);
    }
    executor->port.settle(executor->port.context, &attempt->worked);
    attempt_fini(attempt);
    free(attempt);
    executor->attempts[slot] = NULL;
}

static enum attempt_phase phase_of(struct work_executor *executor, struct attempt *attempt)
{
    pthread_mutex_lock(&executor->desk.lock);
    bool is_answered = attempt->phase == ATTEMPT_WANTS_COMMIT && attempt->is_answered;
    enum attempt_phase phase = is_answered ? ATTEMPT_WORKING : attempt->phase;
    pthread_mutex_unlock(&executor->desk.lock);
    return phase;
}

/** @param is_all take every attempt that is over; else one that counts at most */
void executor_take_posts(struct work_executor *executor, bool is_all)
{
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        struct attempt *attempt = executor->attempts[i];
        if (attempt == NULL) {
            continue;
        }
        enum attempt_phase phase = phase_of(executor, attempt);
        take_checks(executor, attempt);
        if (phase == ATTEMPT_WANTS_COMMIT) {
            answer_commit(executor, attempt);
        } else if (phase == ATTEMPT_OVER && (is_all || !executor->has_ended)) {
            take_over(executor, i);
        }
    }
}

static bool has_posts(struct work_executor *executor)
{
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        const struct attempt *attempt = executor->attempts[i];
        bool is_waiting = attempt != NULL && attempt->phase == ATTEMPT_WANTS_COMMIT &&
                          !attempt->is_answered &&
                          (executor->merging == NULL || executor->merging == attempt);
        if (attempt != NULL && (attempt->phase == ATTEMPT_OVER || is_waiting ||
                                attempt->checks_taken < attempt->check_count)) {
            return true;
        }
    }
    return false;
}

static bool has_attempts(const struct work_executor *executor)
{
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        if (executor->attempts[i] != NULL) {
            return true;
        }
    }
    return false;
}

/** Wait until an attempt posts something, or for a moment. Others may ask the gate meanwhile. */
void executor_wait(struct work_executor *executor)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + LOOK_NS;
    until.tv_sec += ns / NS_PER_S;
    until.tv_nsec = ns % NS_PER_S;
    executor->port.begin_wait(executor->port.context);
    pthread_mutex_lock(&executor->desk.lock);
    while (!has_posts(executor) &&
           pthread_cond_timedwait(&executor->desk.changed, &executor->desk.lock, &until) == 0) {
    }
    pthread_mutex_unlock(&executor->desk.lock);
    executor->port.end_wait(executor->port.context);
}

static void stop_all(struct work_executor *executor, enum cancel_level level)
{
    for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
        if (executor->attempts[i] != NULL) {
            cancel_set(&executor->attempts[i]->stop, level);
        }
    }
}

/** The run is to stop: park what runs, and wait for it. */
void executor_park_all(struct work_executor *executor)
{
    while (has_attempts(executor)) {
        enum cancel_level level = cancel_level(loop_cancel(executor->loop));
        stop_all(executor, level == CANCEL_NONE ? CANCEL_GRACEFUL : level);
        executor_wait(executor);
        executor_take_posts(executor, true);
    }
}

/** After the run's end nothing can be recorded: what runs is continued if it is reopened. */
void executor_drop_all(struct work_executor *executor)
{
    while (has_attempts(executor)) {
        stop_all(executor, CANCEL_NOW);
        executor_wait(executor);
        for (size_t i = 0; i < LIMIT_WORK_JOBS; i++) {
            struct attempt *attempt = executor->attempts[i];
            if (attempt == NULL) {
                continue;
            }
            enum attempt_phase phase = phase_of(executor, attempt);
            if (phase == ATTEMPT_WANTS_COMMIT) {
                refuse(executor, attempt, NULL, "the run has ended");
            } else if (phase == ATTEMPT_OVER) {
                pthread_join(attempt->thread, NULL);
                executor->port.settle(executor->port.context, &attempt->worked);
                attempt_fini(attempt);
                free(attempt);
                executor->attempts[i] = NULL;
            } else {
                pthread_mutex_lock(&executor->desk.lock);
                attempt->checks_taken = attempt->check_count;
                pthread_mutex_unlock(&executor->desk.lock);
            }
        }
    }
}
