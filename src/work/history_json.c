// SPDX-License-Identifier: Apache-2.0
/* The history of a PRD's run for programs: the API and --json. */
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "prd/prd.h"
#include "work/history.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of a message or title in the list of all tasks; the details have all of it. */
#define SHORT_TEXT 500

static void write_cost(struct json_writer *writer, int64_t cost_micro)
{
    auto_buf struct buf cost = {0};
    text_cost_json(cost_micro, &cost);
    json_write_raw(writer, "cost", buf_string(&cost));
}

/** The beginning of a text, at a border of characters. */
static void write_short(struct json_writer *writer, const char *key, const char *text)
{
    if (text == NULL || strlen(text) <= SHORT_TEXT) {
        json_write_string(writer, key, text);
        return;
    }
    size_t len = SHORT_TEXT;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
        len--;
    }
    auto_buf struct buf cut = {0};
    buf_append(&cut, text, len);
    buf_append_string(&cut, "\xe2\x80\xa6");
    json_write_string(writer, key, buf_string(&cut));
}

static void write_id(struct json_writer *writer, const char *key, const char *id)
{
    json_write_string(writer, key, id[0] == '\0' ? NULL : id);
}

/* ---- Attempts ------------------------------------------------------------------------------- */

static void write_check(const struct work_check *check, bool is_detailed,
                        struct json_writer *writer)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "stage", check->stage);
    write_short(writer, "name", check->name);
    json_write_string(writer, "status", check->is_met ? "met" : "not_met");
    json_write_int(writer, "exit_code", check->exit_code);
    json_write_int(writer, "duration_ns", check->duration_ns);
    if (is_detailed) {
        json_write_string(writer, "command", check->command);
        json_write_string(writer, "message", check->message);
        json_write_string(writer, "output", check->output);
    }
    json_end_object(writer);
}

static void write_attempt(const struct work_attempt *attempt, bool is_detailed,
                          struct json_writer *writer)
{
    json_begin_object(writer, NULL);
    json_write_int(writer, "number", attempt->number);
    write_id(writer, "run_id", attempt->run);
    write_id(writer, "outcome", attempt->outcome);
    write_id(writer, "commit", attempt->commit);
    json_write_time(writer, "started", attempt->started_ns);
    json_write_time(writer, "ended", attempt->ended_ns);
    json_write_int(writer, "tokens", attempt->tokens);
    write_cost(writer, attempt->cost_micro);
    json_write_int(writer, "duration_ns", attempt->duration_ns);
    if (is_detailed) {
        write_id(writer, "base", attempt->base);
        write_id(writer, "parent", attempt->parent);
        json_write_string(writer, "message", attempt->message);
        json_write_string(writer, "output", attempt->output);
        json_write_string(writer, "summary", attempt->summary);
        json_write_string(writer, "patch", attempt->patch);
        json_write_raw(writer, "files", attempt->files == NULL ? "[]" : attempt->files);
        json_write_int(writer, "file_count", attempt->file_count);
    }
    json_begin_array(writer, "checks");
    for (size_t i = 0; i < attempt->check_count; i++) {
        write_check(&attempt->checks[i], is_detailed, writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

static void write_depends(const struct work_history *history, const struct work_task *task,
                          struct json_writer *writer)
{
    json_begin_array(writer, "depends_on");
    for (size_t i = 0; i < task->depend_count; i++) {
        json_write_string(writer, NULL, history->state.tasks[task->depends[i]].id);
    }
    json_end_array(writer);
}

/** Attempts by their tasks. */
struct task_attempts {
    const struct work_history *history;
    size_t *first; /**< for each task, its first attempt; SIZE_MAX = none */
    size_t *next;  /**< for each attempt, the next one at the same task */
};

static struct task_attempts task_attempts_make(const struct work_history *history)
{
    struct task_attempts attempts = {
        .history = history,
        .first = memory_new_zero(history->state.count + 1, sizeof(size_t)),
        .next = memory_new_zero(history->attempt_count + 1, sizeof(size_t)),
    };
    for (size_t i = 0; i < history->state.count; i++) {
        attempts.first[i] = SIZE_MAX;
    }
    for (size_t i = history->attempt_count; i > 0; i--) {
        size_t task = history->attempts[i - 1].task;
        attempts.next[i - 1] = attempts.first[task];
        attempts.first[task] = i - 1;
    }
    return attempts;
}

static void task_attempts_fini(struct task_attempts *attempts)
{
    free(attempts->first);
    free(attempts->next);
}

static void write_task(const struct task_attempts *attempts, size_t index, bool is_detailed,
                       struct json_writer *writer)
{
    const struct work_history *history = attempts->history;
    const struct work_task *task = &history->state.tasks[index];
    const char *by = index < history->blocked_room ? history->blocked_by[index] : NULL;
    bool is_failing = task->phase != WORK_DONE;
    json_write_int(writer, "number", (int64_t)index + 1);
    json_write_string(writer, "id", task->id);
    write_short(writer, "title", task->title);
    json_write_string(writer, "state", work_phase_name(task->phase));
    json_write_string(writer, "how", work_done_how(task));
    json_write_string(writer, "blocked_by", task->phase == WORK_BLOCKED ? by : NULL);
    if (task->priority == PRD_NO_PRIORITY) {
        json_write_null(writer, "priority");
    } else {
        json_write_int(writer, "priority", task->priority);
    }
    json_write_bool(writer, "is_removed", task->is_removed);
    write_depends(history, task, writer);
    json_write_int(writer, "attempt", task->attempt);
    json_write_int(writer, "failures", task->failed);
    write_id(writer, "commit", task->phase == WORK_DONE ? task->commit : "");
    (is_detailed ? json_write_string : write_short)(writer, "message",
                                                    is_failing ? task->message : NULL);
    json_write_int(writer, "tokens", task->tokens);
    write_cost(writer, task->cost_micro);
    json_write_int(writer, "duration_ns", task->duration_ns);
    json_begin_array(writer, "attempts");
    for (size_t i = attempts->first[index]; i != SIZE_MAX; i = attempts->next[i]) {
        write_attempt(&history->attempts[i], is_detailed, writer);
    }
    json_end_array(writer);
}

void work_history_task_json(const struct work_history *history, size_t task,
                            struct json_writer *writer)
{
    struct task_attempts attempts = task_attempts_make(history);
    write_task(&attempts, task, true, writer);
    task_attempts_fini(&attempts);
}

/* ---- The run -------------------------------------------------------------------------------- */

static void write_counts(const struct work_history *history, struct json_writer *writer)
{
    size_t counts[WORK_BLOCKED + 1] = {0};
    size_t total = 0;
    for (size_t i = 0; i < history->state.count; i++) {
        const struct work_task *task = &history->state.tasks[i];
        counts[task->phase] += task->is_removed ? 0 : 1;
        total += task->is_removed ? 0 : 1;
    }
    json_begin_object(writer, "counts");
    json_write_int(writer, "total", (int64_t)total);
    for (int i = WORK_PENDING; i <= WORK_BLOCKED; i++) {
        json_write_int(writer, work_phase_name((enum work_phase)i), (int64_t)counts[i]);
    }
    json_end_object(writer);
}

static void write_spec(const struct work_spec *spec, struct json_writer *writer)
{
    write_short(writer, "name", spec->name);
    json_write_string(writer, "file", spec->prd);
    json_write_string(writer, "progress_file", spec->progress);
    json_write_string(writer, "repository", spec->repository);
    json_write_string(writer, "branch", spec->branch);
    json_write_string(writer, "base", spec->base);
    json_write_int(writer, "jobs", spec->jobs);
    json_write_int(writer, "attempts_per_task", spec->attempts);
}

void work_history_json(const struct work_history *history, struct json_writer *writer)
{
    int64_t cost = 0;
    int64_t tokens = 0;
    for (size_t i = 0; i < history->state.count; i++) {
        cost += history->state.tasks[i].cost_micro;
        tokens += history->state.tasks[i].tokens;
    }
    write_spec(&history->spec, writer);
    write_counts(history, writer);
    json_write_int(writer, "attempts", (int64_t)history->state.counted);
    json_write_int(writer, "commits", (int64_t)history->state.committed);
    json_write_int(writer, "tokens", tokens);
    write_cost(writer, cost);
    json_write_string(writer, "problem", history->problem);
    json_write_string(writer, "archive", history->archive);
    json_write_int(writer, "dropped_attempts", (int64_t)history->dropped);
    struct task_attempts attempts = task_attempts_make(history);
    json_begin_array(writer, "tasks");
    for (size_t i = 0; i < history->state.count; i++) {
        json_begin_object(writer, NULL);
        write_task(&attempts, i, false, writer);
        json_end_object(writer);
    }
    json_end_array(writer);
    task_attempts_fini(&attempts);
}
