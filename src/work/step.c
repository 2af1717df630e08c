// SPDX-License-Identifier: Apache-2.0
/* The decisions of a PRD's run. */
#include "work/step.h"

#include "prd/prd.h"

#include <stdio.h>

static bool is_set_aside(const struct work_task *task)
{
    return task->said == PRD_SET_ASIDE && task->phase != WORK_DONE && task->phase != WORK_RUNNING;
}

/** Whether it is among the tasks that the run is about. */
static bool counts(const struct work_task *task)
{
    return !task->is_removed || task->phase == WORK_RUNNING;
}

/** Whether nothing will make it done in this run. */
static bool is_lost(const struct work_task *task)
{
    return task->phase == WORK_FAILED || task->phase == WORK_BLOCKED || is_set_aside(task) ||
           (task->is_removed && task->phase != WORK_DONE && task->phase != WORK_RUNNING);
}

/** @return index of a task in its way that will not be done; SIZE_MAX = none */
static size_t find_lost(const struct work_state *state, const struct work_task *task)
{
    for (size_t i = 0; i < task->depend_count; i++) {
        if (is_lost(&state->tasks[task->depends[i]])) {
            return task->depends[i];
        }
    }
    return SIZE_MAX;
}

static bool is_ready(const struct work_state *state, const struct work_task *task)
{
    for (size_t i = 0; i < task->depend_count; i++) {
        if (state->tasks[task->depends[i]].phase != WORK_DONE) {
            return false;
        }
    }
    return true;
}

static bool comes_before(const struct work_task *a, const struct work_task *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->order < b->order;
}

static bool is_open(const struct work_task *task)
{
    return task->phase == WORK_PENDING && !task->is_removed && !is_set_aside(task);
}

/** An attempt that a process which is gone has begun. */
static size_t find_begun(const struct work_state *state, const struct work_options *options)
{
    for (size_t i = 0; i < state->count; i++) {
        bool is_alive = options->is_alive != NULL && options->is_alive[i];
        if (state->tasks[i].phase == WORK_RUNNING && !is_alive) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t find_ready(const struct work_state *state)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < state->count; i++) {
        const struct work_task *task = &state->tasks[i];
        if (is_open(task) && is_ready(state, task) &&
            (best == SIZE_MAX || comes_before(task, &state->tasks[best]))) {
            best = i;
        }
    }
    return best;
}

static bool is_breaker_open(const struct work_state *state)
{
    return state->failed_in_row >= WORK_BREAKER_TASKS || state->same_error >= WORK_BREAKER_SAME ||
           state->denied_in_row >= WORK_BREAKER_DENIED;
}

static bool has_no_attempts_left(const struct work_task *task, const struct work_options *options)
{
    return task->failed - task->conflicts >= options->attempts ||
           task->conflicts >= WORK_MOST_CONFLICTS;
}

/** A task that has failed, or cannot be begun. */
static bool find_closing(const struct work_state *state, const struct work_options *options,
                         struct work_action *ret_action)
{
    for (size_t i = 0; i < state->count; i++) {
        const struct work_task *task = &state->tasks[i];
        if (!is_open(task)) {
            continue;
        }
        size_t lost = find_lost(state, task);
        if (has_no_attempts_left(task, options)) {
            *ret_action = (struct work_action){.kind = WORK_FAIL, .task = i};
            return true;
        }
        if (lost != SIZE_MAX) {
            *ret_action = (struct work_action){.kind = WORK_BLOCK, .task = i, .by = lost};
            return true;
        }
    }
    return false;
}

struct work_counts work_count(const struct work_state *state)
{
    struct work_counts counted = {0};
    for (size_t i = 0; i < state->count; i++) {
        const struct work_task *task = &state->tasks[i];
        if (!counts(task)) {
            continue;
        }
        counted.total++;
        counted.done += task->phase == WORK_DONE ? 1 : 0;
        counted.marked += task->phase == WORK_DONE && task->is_marked ? 1 : 0;
        counted.failed += task->phase == WORK_FAILED ? 1 : 0;
        counted.blocked += task->phase == WORK_BLOCKED && !is_set_aside(task) ? 1 : 0;
        counted.running += task->phase == WORK_RUNNING ? 1 : 0;
        counted.set_aside += is_set_aside(task) && task->phase != WORK_FAILED ? 1 : 0;
        counted.pending += is_open(task) ? 1 : 0;
    }
    return counted;
}

static struct work_action end_of(const struct work_state *state)
{
    struct work_counts counted = work_count(state);
    enum work_end end = counted.failed > 0              ? WORK_GAVE_UP
                        : counted.done == counted.total ? WORK_COMPLETED
                                                        : WORK_STUCK;
    return (struct work_action){.kind = WORK_END, .end = end};
}

struct work_action work_next(const struct work_state *state, const struct work_options *options)
{
    struct work_action action = {.kind = WORK_WAIT};
    size_t begun = find_begun(state, options);
    if (begun != SIZE_MAX) {
        return (struct work_action){.kind = WORK_START,
                                    .task = begun,
                                    .attempt = state->tasks[begun].attempt,
                                    .is_again = true};
    }
    if (find_closing(state, options, &action)) {
        return action;
    }
    size_t running = work_running(state);
    if (is_breaker_open(state)) {
        return running > 0 ? action : (struct work_action){.kind = WORK_END, .end = WORK_BREAKER};
    }
    size_t ready = find_ready(state);
    if (ready == SIZE_MAX) {
        return running > 0 ? action : end_of(state);
    }
    bool has_room = (int64_t)running < options->jobs && (int64_t)running < options->left;
    if (!has_room) {
        return action;
    }
    return (struct work_action){
        .kind = WORK_START, .task = ready, .attempt = state->tasks[ready].attempt + 1};
}

static void add_count(size_t count, const char *what, struct buf *ret_text)
{
    if (count > 0) {
        buf_printf(ret_text, ", %zu %s", count, what);
    }
}

void work_summary(const struct work_state *state, const struct work_action *end,
                  struct buf *ret_text)
{
    struct work_counts counted = work_count(state);
    buf_printf(ret_text, "%zu of %zu tasks done", counted.done, counted.total);
    if (counted.marked > 0) {
        buf_printf(ret_text, " (%zu marked as done in the file)", counted.marked);
    }
    add_count(counted.failed, "failed", ret_text);
    add_count(counted.blocked, "blocked", ret_text);
    add_count(counted.set_aside, "set aside", ret_text);
    add_count(counted.pending + counted.running, "not finished", ret_text);
    buf_printf(ret_text, "; %llu commit%s", (unsigned long long)state->committed,
               state->committed == 1 ? "" : "s");
    if (end->kind == WORK_END && end->end == WORK_BREAKER) {
        if (state->denied_in_row >= WORK_BREAKER_DENIED) {
            buf_printf(ret_text, "; stopped early: %d attempts in a row were denied",
                       WORK_BREAKER_DENIED);
        } else if (state->same_error >= WORK_BREAKER_SAME) {
            buf_printf(ret_text, "; stopped early: %d attempts in a row failed in the same way",
                       WORK_BREAKER_SAME);
        } else {
            buf_printf(ret_text, "; stopped early: %d tasks in a row failed", WORK_BREAKER_TASKS);
        }
    }
}
