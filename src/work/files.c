// SPDX-License-Identifier: Apache-2.0
/* prd.json and progress.txt. */
#include "work/files.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/path.h"
#include "prd/file.h"
#include "prd/json.h"
#include "prd/progress.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Before what Rondo has to say in the notes of a task, which are people's else. */
#define NOTE_MARK "[Rondo] "

int work_files_read(const struct work_spec *work, struct prd *ret_prd, struct rondo_error *err)
{
    auto_prd_findings struct prd_findings findings = {0};
    const char *const agent_folders[] = {work->repository, NULL};
    struct prd prd = {0};
    int r = prd_file_load(agent_folders, work->prd, work->tag, &prd, &findings, err);
    r = r < 0 ? r : prd_findings_error(&findings, err);
    if (r < 0) {
        prd_fini(&prd);
        return r;
    }
    *ret_prd = prd;
    return 0;
}

/** Whether a task that the file says is done has to prove it. */
static bool is_claim(const struct prd_task *listed, const struct work_task *task)
{
    bool is_mark = listed->status == PRD_DONE && task != NULL && task->said != PRD_DONE &&
                   task->phase != WORK_DONE;
    bool has_command = false;
    for (size_t i = 0; i < listed->criteria_count; i++) {
        has_command = has_command || listed->criteria[i].command != NULL;
    }
    return is_mark && (task->attempt > 0 || has_command);
}

static void write_status(const struct prd_task *listed, const struct work_task *task,
                         bool is_reachable, struct json_writer *writer)
{
    json_write_string(writer, "status", prd_status_name(listed->status));
    if (is_reachable && is_claim(listed, task)) {
        json_write_bool(writer, "is_claim", true);
    }
}

void work_files_list(const struct prd *prd, struct work_state *state, bool is_reachable,
                     struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < prd->task_count; i++) {
        const struct prd_task *task = &prd->tasks[i];
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "id", task->id);
        json_write_string(&writer, "title", task->title);
        json_begin_array(&writer, "depends");
        for (size_t k = 0; k < task->dependency_count; k++) {
            json_write_string(&writer, NULL, task->dependencies[k]);
        }
        json_end_array(&writer);
        if (task->priority != PRD_NO_PRIORITY) {
            json_write_int(&writer, "priority", task->priority);
        }
        write_status(task, work_find(state, task->id), is_reachable, &writer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
}

/** Nobody works on it, though the file says so; it is tried again, now or in another run. */
static bool is_put_down(const struct work_spec *work, const struct work_task *task)
{
    bool is_waiting = task->phase == WORK_PENDING || task->phase == WORK_BLOCKED;
    return is_waiting && task->said == PRD_IN_PROGRESS && task->failed < work->attempts;
}

/** Most lists never change, and their tasks are where they were. */
static struct work_task *find_at(struct work_state *state, size_t at, const char *id)
{
    return at < state->count && strcmp(state->tasks[at].id, id) == 0 ? &state->tasks[at]
                                                                     : work_find(state, id);
}

static bool has_same_dependencies(const struct prd_task *listed, const struct work_task *task,
                                  struct work_state *state)
{
    size_t k = 0;
    for (size_t i = 0; i < listed->dependency_count; i++) {
        const char *id = listed->dependencies[i];
        if (k < task->depend_count && strcmp(state->tasks[task->depends[k]].id, id) == 0) {
            k++;
        } else if (strcmp(id, task->id) != 0 && work_find(state, id) != NULL) {
            return false;
        }
    }
    return k == task->depend_count;
}

bool work_files_are_known(const struct prd *prd, struct work_state *state)
{
    size_t count = 0;
    for (size_t i = 0; i < state->count; i++) {
        count += state->tasks[i].is_removed ? 0 : 1;
    }
    bool is_known = state->is_read && count == prd->task_count;
    for (size_t i = 0; is_known && i < prd->task_count; i++) {
        const struct prd_task *listed = &prd->tasks[i];
        const struct work_task *task = find_at(state, i, listed->id);
        is_known = task != NULL && !task->is_removed && task->order == i &&
                   task->priority == listed->priority && strcmp(task->title, listed->title) == 0 &&
                   has_same_dependencies(listed, task, state);
    }
    return is_known;
}

size_t work_files_changes(const struct prd *prd, struct work_state *state, bool is_reachable,
                          struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    size_t count = 0;
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < prd->task_count; i++) {
        const struct prd_task *listed = &prd->tasks[i];
        const struct work_task *task = find_at(state, i, listed->id);
        if (task != NULL && task->said != (int)listed->status) {
            json_begin_object(&writer, NULL);
            json_write_string(&writer, "id", listed->id);
            write_status(listed, task, is_reachable, &writer);
            json_end_object(&writer);
            count++;
        }
    }
    json_end_array(&writer);
    return count;
}

static bool has_news(const struct work_spec *work, const struct work_task *task)
{
    if (task->is_claimed && !task->is_removed) {
        return true;
    }
    return !task->is_removed && task->attempt > 0 && !task->is_by_hand &&
           ((task->phase == WORK_DONE && task->said != PRD_DONE) ||
            (task->phase == WORK_FAILED && task->said != PRD_FAILED) ||
            (task->phase == WORK_RUNNING && task->said == PRD_PENDING) || is_put_down(work, task));
}

/** Notes of people, without what Rondo has added. */
static void add_notes_of_people(const struct prd *prd, const char *id, struct buf *ret_text)
{
    const struct prd_task *listed = prd_find(prd, id);
    const char *notes = listed == NULL ? "" : listed->notes;
    const char *own = strncmp(notes, NOTE_MARK, sizeof(NOTE_MARK) - 1) == 0
                          ? notes
                          : strstr(notes, "\n" NOTE_MARK);
    buf_append(ret_text, notes, own == NULL ? strlen(notes) : (size_t)(own - notes));
}

/** Why it failed; when it is done, no longer. @return NULL = no change */
static char *notes_of(const struct work_task *task, const struct prd *prd)
{
    struct buf text = {0};
    const struct prd_task *listed = prd_find(prd, task->id);
    bool has_own = listed != NULL && strstr(listed->notes, NOTE_MARK) != NULL;
    bool is_failed = task->phase == WORK_FAILED && task->message != NULL;
    if (!is_failed && !task->is_claimed && !(has_own && task->phase == WORK_DONE)) {
        return NULL;
    }
    add_notes_of_people(prd, task->id, &text);
    if (task->is_claimed && !is_failed) {
        buf_printf(&text,
                   "%s" NOTE_MARK "marked as done while a worker without a sandbox was working; "
                   "only its checks decide",
                   text.len == 0 ? "" : "\n");
    } else if (is_failed) {
        buf_printf(&text, "%s%s%s: %.500s", text.len == 0 ? "" : "\n", NOTE_MARK, task->outcome,
                   task->message);
    }
    return buf_steal(&text);
}

static struct prd_change change_of(const struct work_task *task, const char *notes)
{
    return (struct prd_change){
        .id = task->id,
        .status = task->phase == WORK_DONE      ? PRD_DONE
                  : task->phase == WORK_FAILED  ? PRD_FAILED
                  : task->phase == WORK_RUNNING ? PRD_IN_PROGRESS
                                                : PRD_PENDING,
        .has_status = true,
        .was = (enum prd_status)task->said,
        .has_was = true,
        .attempts = task->attempt,
        .notes = notes,
        .commit = task->phase == WORK_DONE && task->commit[0] != '\0' ? task->commit : NULL,
    };
}

int work_files_write(const struct work_spec *work, const struct work_state *state,
                     const struct prd *prd, int64_t now_ns, struct rondo_error *err)
{
    const char *const agent_folders[] = {work->repository, NULL};
    struct prd_change *changes = memory_new_zero(state->count + 1, sizeof(*changes));
    char **notes = memory_new_zero(state->count + 1, sizeof(*notes));
    size_t count = 0;
    for (size_t i = 0; i < state->count; i++) {
        if (has_news(work, &state->tasks[i])) {
            notes[count] = notes_of(&state->tasks[i], prd);
            changes[count] = change_of(&state->tasks[i], notes[count]);
            count++;
        }
    }
    int r = count == 0 ? 0
                       : prd_file_update(agent_folders, work->prd, work->tag, changes, count,
                                         now_ns, NULL, err);
    for (size_t i = 0; i < count; i++) {
        free(notes[i]);
    }
    free(notes);
    free(changes);
    return r;
}

static void list_files(const char *json, struct buf *ret_text)
{
    auto_json struct json_object *list = NULL;
    if (json == NULL || json_parse(json, strlen(json), &list, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < json_length(list); i++) {
        buf_printf(ret_text, "- %s\n", json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

int work_files_note(const struct work_spec *work, const struct work_task *task, const char *run,
                    struct rondo_error *err)
{
    const char *const agent_folders[] = {work->repository, NULL};
    auto_buf struct buf key = {0};
    auto_buf struct buf changed = {0};
    auto_buf struct buf notes = {0};
    buf_printf(&key, "%s/%s/%" PRId64, run, task->id, task->attempt);
    list_files(task->files, &changed);
    if (task->is_already_done) {
        buf_append_string(&changed, "Nothing: the task was already done.\n");
    }
    if (task->phase == WORK_FAILED) {
        buf_printf(&notes, "It failed after %" PRId64 " attempt%s (%s): %s\n", task->failed,
                   task->failed == 1 ? "" : "s", task->outcome,
                   task->message == NULL ? "" : task->message);
    }
    const struct prd_progress_entry entry = {
        .id = task->id,
        .title = task->title,
        .key = buf_string(&key),
        .outcome = task->phase == WORK_FAILED ? "Failed" : "Completed",
        .ended_ns = task->ended_ns,
        .commit = task->commit[0] == '\0' ? NULL : task->commit,
        .changed = buf_string(&changed),
        .learnings = task->summary,
        .notes = buf_string(&notes),
    };
    int r = prd_progress_append(agent_folders, work->progress, &entry, err);
    return r > 0 ? 0 : r;
}

static void add_excluded(const struct work_spec *work, const char *path, const char *suffix,
                         char **list)
{
    if (path_is_below(path, work->repository)) {
        const char *below = path + strlen(work->repository);
        below += *below == '/' ? 1 : 0;
        struct buf text = {0};
        const char *name = strrchr(below, '/');
        size_t folder_len = name == NULL ? 0 : (size_t)(name - below) + 1;
        buf_append(&text, below, folder_len);
        buf_printf(&text, "%s%s%s", suffix[0] == '\0' ? "" : ".", below + folder_len, suffix);
        list[memory_count_list((const char *const *)list)] = buf_steal(&text);
    }
}

char **work_files_excluded(const struct work_spec *work)
{
    char **list = memory_new_zero(6, sizeof(*list));
    add_excluded(work, work->prd, "", list);
    add_excluded(work, work->prd, ".bak", list);
    add_excluded(work, work->prd, ".rondo-new", list);
    add_excluded(work, work->progress, "", list);
    return list;
}
