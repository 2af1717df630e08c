// SPDX-License-Identifier: Apache-2.0
/* From the decisions of work/step to attempts, records, commits and files. */
#include "work/executor_internal.h"

#include "base/auto.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "loop/driver/body_ports.h"
#include "prd/archive.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The body ------------------------------------------------------------------------------- */

/** When the last task ended: the same after a crash, so that the archive is the same, too. */
static int64_t last_end(const struct work_executor *executor)
{
    int64_t last_ns = 0;
    for (size_t i = 0; i < executor->state.count; i++) {
        int64_t ended_ns = executor->state.tasks[i].ended_ns;
        last_ns = ended_ns > last_ns ? ended_ns : last_ns;
    }
    return last_ns > 0 ? last_ns : clock_now(runtime_clock(loop_runtime(executor->loop)));
}

static void archive(struct work_executor *executor)
{
    const char *const agent_folders[] = {executor->work.repository, NULL};
    auto_free char *folder = memory_dup_string(executor->work.prd);
    char *end = strrchr(folder, '/');
    const char *progress = strrchr(executor->work.progress, '/') + 1;
    auto_free char *path = NULL;
    struct rondo_error err = {0};
    const char *const files[] = {end + 1, progress, NULL};
    auto_free char *name = memory_dup_string(end + 1);
    const char *const names[] = {name, files[1], NULL};
    *end = '\0';
    int r = prd_archive(agent_folders, folder, names, executor->work.name, last_end(executor),
                        loop_run_id(executor->loop), &path, &err);
    if (r < 0) {
        executor_complain(executor, err.message);
    } else {
        executor_record(executor, (struct journal_event){.type = JOURNAL_WORK_ARCHIVED,
                                                         .work_archived = {.folder = path}});
    }
}

static void report(struct work_executor *executor, const struct work_action *end)
{
    static const enum run_finish finishes[] = {[WORK_COMPLETED] = FINISH_COMPLETED,
                                               [WORK_STUCK] = FINISH_BLOCKED,
                                               [WORK_GAVE_UP] = FINISH_FAILED,
                                               [WORK_BREAKER] = FINISH_FAILED};
    const struct run_state *state = loop_state(executor->loop);
    auto_buf struct buf summary = {0};
    struct loop_body_result result = {
        .tokens = state->body_tokens,
        .cost_micro = state->is_body_cost_unknown ? COST_UNKNOWN : state->body_cost_micro,
    };
    if (end != NULL) {
        /* Before it is said: nobody resumes a run that has ended, to clear up after it. */
        work_trees_remove(&executor->trees, executor->repository);
        work_summary(&executor->state, end, &summary);
        result.finish = finishes[end->end];
        const char *branch = executor_find_unpushed(executor);
        if (branch != NULL) {
            buf_printf(&summary, "; branch %s is not pushed to %s", branch, executor->work.remote);
            result.finish = end->end == WORK_COMPLETED ? FINISH_BLOCKED : finishes[end->end];
        } else if (end->end == WORK_COMPLETED && executor->work.is_archived &&
                   !executor->state.is_archived && executor->complaint[0] == '\0') {
            archive(executor);
        }
        if (end->end == WORK_COMPLETED && executor->complaint[0] != '\0') {
            /* All is done, but the files do not say so: a resume writes or moves them. */
            result.finish = FINISH_BLOCKED;
            buf_printf(&summary, "; %s", executor->complaint);
        }
        result.summary = buf_string(&summary);
    }
    loop_report(executor->loop, &result);
}

/** A person has to do something first: what runs is parked, and the run ends. */
static void report_obstacle(struct work_executor *executor)
{
    const struct run_state *state = loop_state(executor->loop);
    executor_park_all(executor);
    executor_update_files(executor);
    loop_report(
        executor->loop,
        &(struct loop_body_result){
            .tokens = state->body_tokens,
            .cost_micro = state->is_body_cost_unknown ? COST_UNKNOWN : state->body_cost_micro,
            .finish = FINISH_BLOCKED,
            .summary = executor->obstacle,
        });
}

static int64_t attempts_left(const struct work_executor *executor)
{
    const struct run_state *state = loop_state(executor->loop);
    uint64_t used =
        state->finished > executor->state.counted ? state->finished : executor->state.counted;
    if (state->limit == 0) {
        return INT64_MAX;
    }
    return state->limit > used ? (int64_t)(state->limit - used) : 1;
}

static void close_task(struct work_executor *executor, const struct work_action *action)
{
    const struct work_task *task = &executor->state.tasks[action->task];
    auto_free char *id = memory_dup_string(task->id);
    auto_free char *title = memory_dup_string(task->title);
    auto_free char *by = memory_dup_string(executor->state.tasks[action->by].id);
    if (action->kind == WORK_FAIL) {
        executor_record(executor,
                        (struct journal_event){
                            .type = JOURNAL_TASK_FAILED,
                            .task_failed = {.task = id, .title = title, .attempts = task->failed}});
    } else {
        executor_record(executor, (struct journal_event){
                                      .type = JOURNAL_TASK_BLOCKED,
                                      .task_blocked = {.task = id, .title = title, .by = by}});
    }
    executor_update_files(executor);
}

/** @return whether the body is over: it was reported */
static int take_action(struct work_executor *executor, bool *ret_is_over, struct rondo_error *err)
{
    const struct work_options options = {.jobs = executor->work.jobs,
                                         .attempts = executor->work.attempts,
                                         .left = attempts_left(executor),
                                         .is_alive = executor->is_alive};
    struct work_action action = work_next(&executor->state, &options);
    *ret_is_over = true;
    switch (action.kind) {
    case WORK_END:
        report(executor, &action);
        return 0;
    case WORK_FAIL:
    case WORK_BLOCK:
        close_task(executor, &action);
        *ret_is_over = false;
        return 0;
    case WORK_START:
    case WORK_WAIT:
        break;
    }
    if (executor->has_ended) {
        report(executor, NULL);
        return 0;
    }
    *ret_is_over = false;
    if (action.kind == WORK_START) {
        return executor_start(executor, &action, err);
    }
    int r = loop_commit(executor->loop, err);
    if (r == 0) {
        executor_wait(executor);
    }
    return r;
}

static int open_tasks(struct work_executor *executor, struct rondo_error *err)
{
    int r = executor_finish_commits(executor, err);
    r = r < 0 ? r : executor_remove_leftovers(executor, err);
    if (r < 0) {
        return r;
    }
    if (!executor->state.is_read) {
        return executor_read_tasks(executor, err);
    }
    executor_update_files(executor);
    executor_push(executor);
    return 0;
}

static int run_body(struct work_executor *executor, struct rondo_error *err)
{
    bool is_over = false;
    int r = executor->has_prd ? 0 : open_tasks(executor, err);
    executor->has_ended = false;
    while (r == 0 && !is_over) {
        size_t committed = executor->state.committed;
        executor_take_posts(executor, false);
        if (cancel_is_set(loop_cancel(executor->loop)) || loop_is_time_over(executor->loop)) {
            executor_park_all(executor);
            executor_update_files(executor);
            if (executor->has_ended) {
                report(executor, NULL);
            } else {
                if (!cancel_is_set(loop_cancel(executor->loop))) {
                    loop_end_by_time(executor->loop, NULL);
                }
                loop_report(executor->loop,
                            &(struct loop_body_result){.outcome = LOOP_INTERRUPTED});
            }
            return 0;
        }
        if (executor->obstacle[0] != '\0') {
            report_obstacle(executor);
            return 0;
        }
        if (executor->is_due || committed != executor->state.committed) {
            executor->is_due = false;
            executor_update_files(executor);
            executor_push(executor);
        }
        r = take_action(executor, &is_over, err);
    }
    return r;
}

int work_executor_run(struct work_executor *executor, struct rondo_error *err)
{
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    int r = run_body(executor, err);
    if (r < 0) {
        executor_park_all(executor);
        loop_report(executor->loop, &(struct loop_body_result){.outcome = LOOP_UNRECOVERABLE,
                                                               .message = err->message});
    }
    return 0;
}

void work_executor_free(struct work_executor *executor)
{
    if (executor == NULL) {
        return;
    }
    executor_drop_all(executor);
    if (executor->has_prd) {
        /* A git of the process before may have lived for a moment after the opening. */
        (void)executor_remove_leftovers(executor, NULL);
    }
    if (executor->cache != NULL) {
        /* opens: in the user's cache folder; a folder that is not empty stays: its attempts are to
           be continued */
        rmdir(executor->cache);
    }
    work_state_fini(&executor->state);
    work_spec_fini(&executor->work);
    work_trees_fini(&executor->trees, executor->repository);
    git_repository_free(executor->repository);
    prd_fini(&executor->prd);
    memory_free_list(executor->excluded);
    free(executor->is_alive);
    free(executor->is_noted);
    for (size_t i = 0; i < executor->task_room; i++) {
        memory_free_list(executor->pinned[i]);
    }
    free(executor->pinned);
    free(executor->cache);
    free(executor->patches);
    pthread_mutex_destroy(&executor->desk.lock);
    pthread_cond_destroy(&executor->desk.changed);
    free(executor);
}
