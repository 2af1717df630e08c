// SPDX-License-Identifier: Apache-2.0
/* The executor and the files of the PRD, and its records. */
#include "work/executor_internal.h"

#include "base/memory.h"
#include "loop/driver/body_ports.h"
#include "work/files.h"

#include <stdio.h>
#include <string.h>

/* ---- Records -------------------------------------------------------------------------------- */

void executor_record(struct work_executor *executor, struct journal_event event)
{
    loop_record(executor->loop, &event);
    event.seq = loop_state(executor->loop)->seq;
    event.time_ns = clock_now(runtime_clock(loop_runtime(executor->loop)));
    work_fold(&executor->state, &event);
    if (executor->state.count > executor->task_room) {
        size_t room = executor->state.count;
        executor->is_alive = memory_resize(executor->is_alive, room, sizeof(bool));
        executor->is_noted = memory_resize(executor->is_noted, room, sizeof(bool));
        executor->pinned = memory_resize(executor->pinned, room, sizeof(*executor->pinned));
        for (size_t i = executor->task_room; i < room; i++) {
            executor->is_alive[i] = false;
            executor->is_noted[i] = false;
            executor->pinned[i] = NULL;
        }
        executor->task_room = room;
    }
}

/* ---- The files ------------------------------------------------------------------------------ */

void executor_complain(struct work_executor *executor, const char *message)
{
    if (strcmp(executor->complaint, message) != 0) {
        snprintf(executor->complaint, sizeof(executor->complaint), "%s", message);
        executor_record(executor,
                        (struct journal_event){.type = JOURNAL_TASKS_READ,
                                               .tasks_read = {.message = executor->complaint}});
    }
}

static bool has(char *const *list, const char *text)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, text) == 0) {
            return true;
        }
    }
    return false;
}

/** Add the commands of a task's criteria that the list does not have. */
static char **add_commands(char **list, const struct prd_task *task)
{
    size_t count = memory_count_list((const char *const *)list);
    size_t most = count + (task == NULL ? 0 : task->criteria_count);
    list = memory_resize(list, most + 1, sizeof(*list));
    list[count] = NULL;
    for (size_t i = 0; task != NULL && i < task->criteria_count; i++) {
        const char *command = task->criteria[i].command;
        if (command != NULL && !has(list, command)) {
            list[count++] = memory_dup_string(command);
            list[count] = NULL;
        }
    }
    return list;
}

char **executor_task_checks(struct work_executor *executor, size_t task)
{
    const struct prd_task *listed =
        executor->has_prd ? prd_find(&executor->prd, executor->state.tasks[task].id) : NULL;
    char **pinned = executor->pinned[task];
    return add_commands(memory_dup_list((const char *const *)pinned), listed);
}

static void pin_checks(struct work_executor *executor)
{
    for (size_t i = 0; executor_is_reachable(executor) && i < executor->state.count; i++) {
        executor->pinned[i] = add_commands(executor->pinned[i],
                                           prd_find(&executor->prd, executor->state.tasks[i].id));
    }
}

static bool has_claims(const struct work_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        if (state->tasks[i].is_claimed && !state->tasks[i].is_removed) {
            return true;
        }
    }
    return false;
}

/** Take over what people have changed. */
int executor_read_tasks(struct work_executor *executor, struct rondo_error *err)
{
    auto_buf struct buf list = {0};
    struct prd prd = {0};
    int r = work_files_read(&executor->work, &prd, err);
    if (r < 0) {
        return r;
    }
    struct event_tasks_read event = {.count = (int64_t)prd.task_count,
                                     .done = (int64_t)prd_count(&prd, PRD_DONE)};
    bool is_known = work_files_are_known(&prd, &executor->state);
    bool is_new = !is_known;
    /* What was written before the run was opened a person has accepted. */
    bool is_reachable = executor_is_reachable(executor) && executor->has_prd;
    if (is_known) {
        is_new = work_files_changes(&prd, &executor->state, is_reachable, &list) > 0;
        event.changed = buf_string(&list);
    } else {
        work_files_list(&prd, &executor->state, is_reachable, &list);
        event.tasks = buf_string(&list);
    }
    prd_fini(&executor->prd);
    executor->prd = prd;
    executor->has_prd = true;
    executor->complaint[0] = '\0';
    if (is_new) {
        executor_record(executor,
                        (struct journal_event){.type = JOURNAL_TASKS_READ, .tasks_read = event});
    }
    pin_checks(executor);
    return 0;
}

static int exchange(struct work_executor *executor, struct rondo_error *err)
{
    int64_t now_ns = clock_now(runtime_clock(loop_runtime(executor->loop)));
    int r = executor->state.is_read
                ? work_files_write(&executor->work, &executor->state, &executor->prd, now_ns, err)
                : 0;
    return r < 0 ? r : executor_read_tasks(executor, err);
}

static void note_progress(struct work_executor *executor)
{
    for (size_t i = 0; i < executor->state.count; i++) {
        const struct work_task *task = &executor->state.tasks[i];
        struct rondo_error err = {0};
        if (!task->is_closed) {
            executor->is_noted[i] = false;
        } else if (!executor->is_noted[i]) {
            executor->is_noted[i] = true;
            if (work_files_note(&executor->work, task, loop_run_id(executor->loop), &err) < 0) {
                executor_complain(executor, err.message);
            }
        }
    }
}

/** Bring the files in line with the journal, then take over what people have changed. */
void executor_update_files(struct work_executor *executor)
{
    struct rondo_error err = {0};
    int r = exchange(executor, &err);
    if (r == 0 && has_claims(&executor->state)) {
        r = exchange(executor, &err); /* They do not stay. */
    }
    if (r < 0) {
        executor_complain(executor, err.message);
    }
    note_progress(executor);
}
