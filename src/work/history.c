// SPDX-License-Identifier: Apache-2.0
/* From the journal of a PRD's run to its tasks, attempts and checks. */
#include "work/history.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "journal/reader.h"
#include "loop/driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Newest runs that are looked at to find the one of a file. */
#define RUNS_LOOKED_AT 500

const char *work_phase_name(enum work_phase phase)
{
    static const char *const names[] = {[WORK_PENDING] = "pending",
                                        [WORK_RUNNING] = "working",
                                        [WORK_DONE] = "done",
                                        [WORK_FAILED] = "failed",
                                        [WORK_BLOCKED] = "blocked"};
    return names[phase];
}

const char *work_done_how(const struct work_task *task)
{
    return task->phase != WORK_DONE  ? NULL
           : task->is_by_hand        ? "by_hand"
           : task->is_already_done   ? "already_done"
           : task->commit[0] != '\0' ? "committed"
                                     : "by_hand";
}

/* ---- Release -------------------------------------------------------------------------------- */

static void attempt_free_parts(struct work_attempt *attempt)
{
    for (size_t i = 0; i < attempt->check_count; i++) {
        struct work_check *check = &attempt->checks[i];
        free(check->stage);
        free(check->name);
        free(check->command);
        free(check->message);
        free(check->output);
    }
    free(attempt->checks);
    free(attempt->message);
    free(attempt->output);
    free(attempt->summary);
    free(attempt->patch);
    free(attempt->files);
}

void work_history_fini(struct work_history *history)
{
    for (size_t i = 0; i < history->attempt_count; i++) {
        attempt_free_parts(&history->attempts[i]);
    }
    for (size_t i = 0; i < history->blocked_room; i++) {
        free(history->blocked_by[i]);
    }
    free(history->attempts);
    free(history->blocked_by);
    free(history->problem);
    free(history->archive);
    work_state_fini(&history->state);
    work_spec_fini(&history->spec);
    *history = (struct work_history){0};
}

/* ---- Attempts ------------------------------------------------------------------------------- */

static void replace(char **slot, const char *text)
{
    char *copy = memory_dup_string(text);
    free(*slot);
    *slot = copy;
}

static void copy_id(char *id, size_t size, const char *text)
{
    snprintf(id, size, "%s", text == NULL ? "" : text);
}

static bool has_details(const struct work_history *history, const char *task)
{
    return history->details != NULL && task != NULL && strcmp(history->details, task) == 0;
}

/** The older half goes. */
static void drop_attempts(struct work_history *history)
{
    size_t count = history->attempt_count / 2;
    for (size_t i = 0; i < count; i++) {
        attempt_free_parts(&history->attempts[i]);
    }
    memmove(history->attempts, history->attempts + count,
            (history->attempt_count - count) * sizeof(*history->attempts));
    history->attempt_count -= count;
    history->dropped += count;
}

static void add_attempt(struct work_history *history, const struct journal_event *event)
{
    const struct event_task_started *started = &event->task_started;
    const struct work_task *task = work_find(&history->state, started->task);
    if (task == NULL) {
        return;
    }
    if (history->attempt_count == WORK_HISTORY_ATTEMPTS) {
        drop_attempts(history);
    }
    if (history->attempt_count == history->attempt_room) {
        history->attempt_room = history->attempt_room * 2 + 8;
        history->attempts =
            memory_resize(history->attempts, history->attempt_room, sizeof(*history->attempts));
    }
    struct work_attempt *attempt = &history->attempts[history->attempt_count++];
    *attempt = (struct work_attempt){.task = (size_t)(task - history->state.tasks),
                                     .number = started->attempt,
                                     .started_ns = event->time_ns,
                                     .cost_micro = COST_UNKNOWN};
    copy_id(attempt->run, sizeof(attempt->run), started->run);
    copy_id(attempt->base, sizeof(attempt->base), started->base);
}

static struct work_attempt *find_attempt(const struct work_history *history, const char *id,
                                         int64_t number)
{
    /* The state is not changed. */
    const struct work_task *task = work_find((struct work_state *)(uintptr_t)&history->state, id);
    for (size_t i = history->attempt_count; task != NULL && i > 0; i--) {
        struct work_attempt *attempt = &history->attempts[i - 1];
        if (attempt->number == number && attempt->task == (size_t)(task - history->state.tasks)) {
            return attempt;
        }
    }
    return NULL;
}

const struct work_attempt *work_history_attempt(const struct work_history *history,
                                                const char *task, int64_t number)
{
    return find_attempt(history, task, number);
}

const struct work_attempt *work_history_last(const struct work_history *history, size_t task)
{
    for (size_t i = history->attempt_count; i > 0; i--) {
        if (history->attempts[i - 1].task == task) {
            return &history->attempts[i - 1];
        }
    }
    return NULL;
}

static void add_check(struct work_history *history, const struct event_task_checked *event)
{
    struct work_attempt *attempt = find_attempt(history, event->task, event->attempt);
    if (attempt == NULL) {
        return;
    }
    bool wants_output = has_details(history, event->task) && event->output != NULL;
    attempt->checks =
        memory_resize(attempt->checks, attempt->check_count + 1, sizeof(*attempt->checks));
    attempt->checks[attempt->check_count++] = (struct work_check){
        .stage = memory_dup_string(event->stage),
        .name = memory_dup_string(event->check),
        .command = memory_dup_string(event->command),
        .is_met = event->status != NULL && strcmp(event->status, "met") == 0,
        .exit_code = event->exit_code,
        .duration_ns = event->duration_ns,
        .message = memory_dup_string(event->message),
        .output = wants_output
                      ? memory_dup_bytes(event->output,
                                         journal_output_len(event->output, event->output_len))
                      : NULL,
    };
}

static void take_commit(struct work_history *history, const struct event_task_committed *event)
{
    struct work_attempt *attempt = find_attempt(history, event->task, event->attempt);
    if (attempt != NULL) {
        copy_id(attempt->commit, sizeof(attempt->commit), event->commit);
        attempt->file_count = event->file_count;
        replace(&attempt->files, has_details(history, event->task) ? event->files : NULL);
    }
}

static void take_parent(struct work_history *history, const struct event_task_committing *event)
{
    struct work_attempt *attempt = find_attempt(history, event->task, event->attempt);
    if (attempt != NULL) {
        copy_id(attempt->parent, sizeof(attempt->parent), event->parent);
    }
}

static void take_end(struct work_history *history, const struct journal_event *event)
{
    const struct event_task_ended *ended = &event->task_ended;
    struct work_attempt *attempt = find_attempt(history, ended->task, ended->attempt);
    if (attempt == NULL) {
        return;
    }
    attempt->ended_ns = event->time_ns;
    copy_id(attempt->outcome, sizeof(attempt->outcome),
            ended->outcome == NULL ? "error" : ended->outcome);
    attempt->tokens = ended->tokens;
    attempt->cost_micro = ended->cost_micro;
    attempt->duration_ns = ended->duration_ns;
    replace(&attempt->message, ended->message);
    replace(&attempt->patch, ended->patch);
    if (has_details(history, ended->task)) {
        size_t len = journal_output_len(ended->output, ended->output_len);
        free(attempt->output);
        attempt->output = ended->output == NULL ? NULL : memory_dup_bytes(ended->output, len);
        replace(&attempt->summary, ended->summary);
    }
}

/* ---- Events --------------------------------------------------------------------------------- */

static void take_blocked(struct work_history *history, const struct event_task_blocked *event)
{
    const struct work_task *task = work_find(&history->state, event->task);
    if (task == NULL) {
        return;
    }
    if (history->state.count > history->blocked_room) {
        history->blocked_by =
            memory_resize(history->blocked_by, history->state.count, sizeof(*history->blocked_by));
        while (history->blocked_room < history->state.count) {
            history->blocked_by[history->blocked_room++] = NULL;
        }
    }
    replace(&history->blocked_by[task - history->state.tasks], event->by);
}

void work_history_apply(struct work_history *history, const struct journal_event *event)
{
    work_fold(&history->state, event);
    if (event->type == JOURNAL_TASKS_READ) {
        replace(&history->problem, event->tasks_read.message);
    } else if (event->type == JOURNAL_TASK_STARTED) {
        add_attempt(history, event);
    } else if (event->type == JOURNAL_TASK_CHECKED) {
        add_check(history, &event->task_checked);
    } else if (event->type == JOURNAL_TASK_COMMITTING) {
        take_parent(history, &event->task_committing);
    } else if (event->type == JOURNAL_TASK_COMMITTED) {
        take_commit(history, &event->task_committed);
    } else if (event->type == JOURNAL_TASK_ENDED) {
        take_end(history, event);
    } else if (event->type == JOURNAL_TASK_BLOCKED) {
        take_blocked(history, &event->task_blocked);
    } else if (event->type == JOURNAL_WORK_ARCHIVED) {
        replace(&history->archive, event->work_archived.folder);
    }
}

static bool apply_entry(const struct journal_entry *entry, void *context)
{
    if (entry->is_known) {
        work_history_apply(context, &entry->event);
    }
    return true;
}

int work_history_load(struct store *store, const char *run_id, const char *details,
                      struct work_history *ret_history, struct rondo_error *err)
{
    struct work_history history = {.details = details};
    struct loop_spec spec = {0};
    int r = loop_recorded_spec(store, run_id, &spec, err);
    if (r < 0) {
        return r;
    }
    if (!work_is_parent(&spec)) {
        r = error_set(err, RONDO_ERR_UNSUPPORTED, "run %s is not the run of a PRD", run_id);
    }
    r = r < 0 ? r : work_spec_decode(spec.work, &history.spec, err);
    r = r < 0 ? r : journal_visit(store, run_id, 0, UINT32_MAX, apply_entry, &history, err);
    loop_spec_fini(&spec);
    if (r < 0) {
        work_history_fini(&history);
        return r;
    }
    copy_id(history.run_id, sizeof(history.run_id), run_id);
    *ret_history = history;
    return 0;
}

/* ---- The run of a file ---------------------------------------------------------------------- */

struct found_runs {
    struct store_run *runs;
    size_t count;
};

static bool keep_run(const struct store_run *run, void *context)
{
    struct found_runs *found = context;
    found->runs = memory_resize(found->runs, found->count + 1, sizeof(*found->runs));
    found->runs[found->count++] = *run;
    return true;
}

static bool is_of_file(struct store *store, const char *run_id, const char *prd)
{
    struct loop_spec spec = {0};
    struct work_spec work = {0};
    if (loop_recorded_spec(store, run_id, &spec, NULL) < 0) {
        return false;
    }
    bool is_it = work_is_parent(&spec) && work_spec_decode(spec.work, &work, NULL) == 0 &&
                 strcmp(work.prd, prd) == 0;
    work_spec_fini(&work);
    loop_spec_fini(&spec);
    return is_it;
}

static void ignore_damaged(const struct store_damaged_run *damaged, void *context)
{
    (void)damaged;
    (void)context;
}

int work_history_find(struct store *store, const char *prd, struct store_run *ret_run,
                      struct rondo_error *err)
{
    struct found_runs found = {0};
    const struct store_run_query query = {
        .search = "prd-", .limit = RUNS_LOOKED_AT, .damaged = ignore_damaged};
    int r = store->ops->list_runs(store, &query, keep_run, &found, err);
    size_t i = 0;
    while (r == 0 && i < found.count && !is_of_file(store, found.runs[i].id, prd)) {
        i++;
    }
    if (r == 0 && i == found.count) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "no run has carried out %s", prd);
    }
    if (r == 0) {
        *ret_run = found.runs[i];
    }
    free(found.runs);
    return r;
}
