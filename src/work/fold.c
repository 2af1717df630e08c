// SPDX-License-Identifier: Apache-2.0
/* From the events of a PRD's run to the state of its tasks. */
#include "work/state.h"

#include "base/auto.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "prd/prd.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of a task that the list has had never before. */
#define NEVER_SAID (-1)

static void replace(char **slot, const char *text)
{
    char *copy = memory_dup_string(text);
    free(*slot);
    *slot = copy;
}

static void task_fini(struct work_task *task)
{
    free(task->id);
    free(task->title);
    free(task->depends);
    free(task->folder);
    free(task->branch);
    free(task->message);
    free(task->output);
    free(task->summary);
    free(task->files);
}

void work_state_fini(struct work_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        task_fini(&state->tasks[i]);
    }
    free(state->tasks);
    *state = (struct work_state){0};
}

struct work_task *work_find(struct work_state *state, const char *id)
{
    for (size_t i = 0; id != NULL && i < state->count; i++) {
        if (strcmp(state->tasks[i].id, id) == 0) {
            return &state->tasks[i];
        }
    }
    return NULL;
}

size_t work_running(const struct work_state *state)
{
    size_t running = 0;
    for (size_t i = 0; i < state->count; i++) {
        running += state->tasks[i].phase == WORK_RUNNING ? 1 : 0;
    }
    return running;
}

/* ---- The list ------------------------------------------------------------------------------- */

/** The task begins anew: what former attempts came to does not count. */
static void reopen(struct work_task *task)
{
    task->phase = WORK_PENDING;
    task->failed = 0;
    task->conflicts = 0;
    task->is_by_hand = false;
    task->is_marked = false;
    task->is_already_done = false;
    task->is_closed = false;
    task->is_committing = false;
    task->commit[0] = '\0';
}

static void mark_done(struct work_task *task)
{
    task->phase = WORK_DONE;
    task->is_by_hand = true;
    task->is_closed = false;
}

/** What people have changed since the list was read last. */
static void take_said(struct work_task *task, int said, bool is_claim)
{
    int was = task->said;
    task->said = said;
    task->is_claimed = is_claim && task->phase != WORK_DONE;
    if (task->phase == WORK_RUNNING || task->is_claimed) {
        return; /* Its result comes first; a claim is none. */
    }
    if (said == PRD_DONE && task->phase != WORK_DONE) {
        mark_done(task);
        task->is_marked = was != NEVER_SAID;
    } else if (said != PRD_DONE && was == PRD_DONE && task->phase == WORK_DONE) {
        reopen(task);
    } else if ((said == PRD_PENDING || said == PRD_IN_PROGRESS) && was == PRD_FAILED &&
               task->phase == WORK_FAILED) {
        reopen(task);
    } else if (task->phase == WORK_BLOCKED) {
        task->phase = WORK_PENDING; /* Whether it still is, is decided anew. */
    }
}

static struct work_task *add_task(struct work_state *state, const char *id)
{
    state->tasks = memory_resize(state->tasks, state->count + 1, sizeof(*state->tasks));
    struct work_task *task = &state->tasks[state->count++];
    *task = (struct work_task){.id = memory_dup_string(id), .is_ended = true, .said = NEVER_SAID};
    return task;
}

static void take_depends(struct work_state *state, struct work_task *task,
                         struct json_object *depends)
{
    size_t count = json_length(depends);
    free(task->depends);
    task->depends = memory_new_zero(count + 1, sizeof(*task->depends));
    task->depend_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct work_task *other =
            work_find(state, json_object_get_string(json_object_array_get_idx(depends, i)));
        if (other != NULL && other != task) {
            task->depends[task->depend_count++] = (size_t)(other - state->tasks);
        }
    }
}

/** Only states have changed. */
static void fold_changed(struct work_state *state, const char *json)
{
    auto_json struct json_object *list = NULL;
    bool is_moved = false;
    if (json_parse(json, strlen(json), &list, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        struct work_task *task = work_find(state, json_get_string(item, "id", ""));
        enum prd_status said = PRD_PENDING;
        if (task != NULL && prd_status_of(json_get_string(item, "status", ""), &said)) {
            enum work_phase before = task->phase;
            take_said(task, (int)said, json_get_bool(item, "is_claim", false));
            is_moved = is_moved || task->phase != before;
        }
    }
    for (size_t i = 0; is_moved && i < state->count; i++) {
        if (state->tasks[i].phase == WORK_BLOCKED && !state->tasks[i].is_removed) {
            state->tasks[i].phase = WORK_PENDING; /* Whether it still is, is decided anew. */
        }
    }
}

static void fold_read(struct work_state *state, const struct event_tasks_read *event)
{
    auto_json struct json_object *list = NULL;
    if (event->message == NULL && event->tasks == NULL && event->changed != NULL) {
        fold_changed(state, event->changed);
        return;
    }
    if (event->message != NULL || event->tasks == NULL ||
        json_parse(event->tasks, strlen(event->tasks), &list, NULL) < 0) {
        return; /* The list before stays in force. */
    }
    size_t count = json_length(list);
    state->is_read = true;
    for (size_t i = 0; i < state->count; i++) {
        state->tasks[i].is_removed = true;
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *id = json_get_string(item, "id", "");
        struct work_task *task = work_find(state, id);
        task = task == NULL ? add_task(state, id) : task;
        task->is_removed = false;
        task->order = (uint32_t)i;
        task->priority = (int32_t)json_get_int(item, "priority", PRD_NO_PRIORITY);
        replace(&task->title, json_get_string(item, "title", ""));
        enum prd_status said = PRD_PENDING;
        prd_status_of(json_get_string(item, "status", "pending"), &said);
        take_said(task, (int)said, json_get_bool(item, "is_claim", false));
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        take_depends(state, work_find(state, json_get_string(item, "id", "")),
                     json_member(item, "depends"));
    }
}

/* ---- Attempts ------------------------------------------------------------------------------- */

static void fold_started(struct work_state *state, const struct event_task_started *event)
{
    struct work_task *task = work_find(state, event->task);
    if (task == NULL) {
        return;
    }
    task->phase = WORK_RUNNING;
    task->is_ended = false;
    task->is_committing = false;
    task->is_committed = false;
    task->attempt = event->attempt;
    snprintf(task->run, sizeof(task->run), "%s", event->run == NULL ? "" : event->run);
    snprintf(task->base, sizeof(task->base), "%s", event->base == NULL ? "" : event->base);
    replace(&task->folder, event->folder);
}

static void fold_committing(struct work_state *state, const struct event_task_committing *event)
{
    struct work_task *task = work_find(state, event->task);
    if (task != NULL) {
        task->is_committing = true;
        snprintf(task->commit, sizeof(task->commit), "%s",
                 event->commit == NULL ? "" : event->commit);
        snprintf(task->parent, sizeof(task->parent), "%s",
                 event->parent == NULL ? "" : event->parent);
    }
}

static void fold_committed(struct work_state *state, const struct event_task_committed *event)
{
    struct work_task *task = work_find(state, event->task);
    if (task != NULL) {
        task->is_committing = false;
        task->is_committed = true;
        snprintf(task->commit, sizeof(task->commit), "%s",
                 event->commit == NULL ? "" : event->commit);
        replace(&task->files, event->files);
        replace(&task->branch, event->branch);
        task->is_pushed = false;
        memcpy(state->tip, task->commit, sizeof(state->tip));
        state->committed++;
    }
}

uint64_t work_error_print(const char *outcome, const char *message, const char *output, size_t len)
{
    const char *parts[] = {outcome, message};
    uint64_t print = HASH_START;
    for (size_t i = 0; i < 3; i++) {
        const char *text = i < 2 ? parts[i] : output;
        size_t end = text == NULL ? 0 : i < 2 ? strlen(text) : len;
        for (size_t k = 0; k < end; k++) {
            /* Numbers are times, ports, addresses and lines. */
            bool is_number = text[k] >= '0' && text[k] <= '9';
            print = is_number ? print : hash_byte(print, text[k]);
        }
    }
    return print;
}

static void note_failure(struct work_state *state, const struct event_task_ended *event)
{
    size_t len = journal_output_len(event->output, event->output_len);
    uint64_t print = work_error_print(event->outcome, event->message, event->output, len);
    state->same_error = print == state->error_print ? state->same_error + 1 : 1;
    state->error_print = print;
    bool is_denied = event->outcome != NULL && strcmp(event->outcome, "denied") == 0;
    state->denied_in_row = is_denied ? state->denied_in_row + 1 : 0;
}

static void note_success(struct work_state *state, struct work_task *task)
{
    task->phase = WORK_DONE;
    task->is_closed = true;
    task->is_claimed = false;
    state->failed_in_row = 0;
    state->same_error = 0;
    state->error_print = 0;
    state->denied_in_row = 0;
}

bool work_counts_as_attempt(const char *outcome)
{
    return strcmp(outcome, "interrupted") != 0 && strcmp(outcome, "already_done") != 0;
}

static void fold_ended(struct work_state *state, const struct event_task_ended *event,
                       int64_t time_ns)
{
    struct work_task *task = work_find(state, event->task);
    const char *outcome = event->outcome == NULL ? "error" : event->outcome;
    if (task == NULL || task->phase != WORK_RUNNING) {
        return;
    }
    task->is_ended = true;
    task->ended_ns = time_ns;
    snprintf(task->outcome, sizeof(task->outcome), "%s", outcome);
    task->tokens += event->tokens > 0 ? event->tokens : 0;
    task->cost_micro += event->cost_micro > 0 ? event->cost_micro : 0;
    task->duration_ns += event->duration_ns;
    replace(&task->summary, event->summary);
    replace(&task->message, event->message);
    free(task->output);
    size_t len = journal_output_len(event->output, event->output_len);
    task->output = event->output == NULL ? NULL : memory_dup_bytes(event->output, len);
    task->phase = WORK_PENDING;
    state->counted += work_counts_as_attempt(outcome) ? 1 : 0;
    if (strcmp(outcome, "committed") == 0 || strcmp(outcome, "already_done") == 0) {
        task->is_already_done = outcome[0] == 'a';
        note_success(state, task);
    } else if (strcmp(outcome, "interrupted") != 0) {
        task->failed++;
        task->conflicts += strcmp(outcome, "conflict") == 0 ? 1 : 0;
        task->is_committing = false;
        task->commit[0] = '\0';
        note_failure(state, event);
    }
    if (task->phase != WORK_DONE && task->said == PRD_DONE && !task->is_claimed) {
        mark_done(task); /* Somebody said so while it was worked on. */
        task->is_marked = true;
    }
}

/* ---- Failed and blocked --------------------------------------------------------------------- */

static void fold_failed(struct work_state *state, const struct event_task_failed *event)
{
    struct work_task *task = work_find(state, event->task);
    if (task != NULL && task->phase == WORK_PENDING) {
        task->phase = WORK_FAILED;
        task->is_closed = true;
        state->failed_in_row++;
    }
}

static void fold_blocked(struct work_state *state, const struct event_task_blocked *event)
{
    struct work_task *task = work_find(state, event->task);
    if (task != NULL && task->phase == WORK_PENDING) {
        task->phase = WORK_BLOCKED;
    }
}

static void fold_pushed(struct work_state *state, const struct event_work_pushed *event)
{
    const char *outcome = event->outcome == NULL ? "" : event->outcome;
    if (strcmp(outcome, "pushed") != 0 && strcmp(outcome, "up_to_date") != 0) {
        return;
    }
    for (size_t i = 0; i < state->count; i++) {
        struct work_task *task = &state->tasks[i];
        if (task->branch != NULL && event->branch != NULL &&
            strcmp(task->branch, event->branch) == 0) {
            task->is_pushed = true;
        }
    }
}

/** Somebody resumes a run that had ended: what failed gets another chance. */
static void fold_claimed(struct work_state *state, const struct event_run_claimed *event)
{
    if (event->how == NULL || strcmp(event->how, "reopen") != 0) {
        return;
    }
    for (size_t i = 0; i < state->count; i++) {
        if (state->tasks[i].phase == WORK_FAILED || state->tasks[i].phase == WORK_BLOCKED) {
            reopen(&state->tasks[i]);
        }
    }
    state->failed_in_row = 0;
    state->same_error = 0;
    state->denied_in_row = 0;
}

void work_fold(struct work_state *state, const struct journal_event *event)
{
    if (event->type == JOURNAL_RUN_CLAIMED) {
        fold_claimed(state, &event->run_claimed);
    } else if (event->type == JOURNAL_TASKS_READ) {
        fold_read(state, &event->tasks_read);
    } else if (event->type == JOURNAL_TASK_STARTED) {
        fold_started(state, &event->task_started);
    } else if (event->type == JOURNAL_TASK_COMMITTING) {
        fold_committing(state, &event->task_committing);
    } else if (event->type == JOURNAL_TASK_COMMITTED) {
        fold_committed(state, &event->task_committed);
    } else if (event->type == JOURNAL_TASK_ENDED) {
        fold_ended(state, &event->task_ended, event->time_ns);
    } else if (event->type == JOURNAL_TASK_FAILED) {
        fold_failed(state, &event->task_failed);
    } else if (event->type == JOURNAL_TASK_BLOCKED) {
        fold_blocked(state, &event->task_blocked);
    } else if (event->type == JOURNAL_WORK_PUSHED) {
        fold_pushed(state, &event->work_pushed);
    } else if (event->type == JOURNAL_WORK_ARCHIVED) {
        state->is_archived = true;
    }
}
