// SPDX-License-Identifier: Apache-2.0
/* The tasks of a PRD's run: all of them, one with its attempts, its changes, and the progress log.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/changes.h"
#include "os/file.h"
#include "os/file_untrusted.h"
#include "server/api/handlers.h"
#include "work/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Read the history of the run of the path. @return false: the answer is a problem */
static bool load(struct call *call, const struct store_run *run, const char *details,
                 struct work_history *ret_history)
{
    struct rondo_error err = {0};
    int r = work_history_load(call_store(call), run->id, details, ret_history, &err);
    if (r == RONDO_ERR_UNSUPPORTED) {
        call_problem(call, PROBLEM_NOT_FOUND, "the run has no tasks: it is not the run of a PRD");
    } else if (r < 0) {
        call_error(call, &err);
    }
    return r == 0;
}

void handle_tasks(struct call *call)
{
    struct store_run run;
    struct work_history history;
    if (!call_find_run(call, &run) || !load(call, &run, NULL, &history)) {
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", run.id);
    work_history_json(&history, &writer);
    json_end_object(&writer);
    work_history_fini(&history);
}

/* ---- One task ------------------------------------------------------------------------------- */

/** Find the task of the path. @return false: the answer is a problem */
static bool find_task(struct call *call, const struct work_history *history, size_t *ret_task)
{
    const char *text = call_value(call, "number");
    char *end = NULL;
    errno = 0;
    long number = text[0] >= '1' && text[0] <= '9' ? strtol(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || (size_t)number > history->state.count) {
        call_problem(call, PROBLEM_NOT_FOUND, "the run has no task with this number");
        return false;
    }
    *ret_task = (size_t)number - 1;
    return true;
}

/** The id of a task, which its details are read by. @return owned; NULL: the answer is a problem */
static char *task_id(struct call *call, const struct store_run *run)
{
    struct work_history history;
    size_t task = 0;
    if (!load(call, run, NULL, &history)) {
        return NULL;
    }
    char *id =
        find_task(call, &history, &task) ? memory_dup_string(history.state.tasks[task].id) : NULL;
    work_history_fini(&history);
    return id;
}

void handle_task(struct call *call)
{
    struct store_run run;
    struct work_history history;
    size_t task = 0;
    if (!call_find_content(call, &run)) {
        return;
    }
    auto_free char *id = task_id(call, &run);
    if (id == NULL || !load(call, &run, id, &history)) {
        return;
    }
    if (find_task(call, &history, &task)) {
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "run_id", run.id);
        work_history_task_json(&history, task, &writer);
        json_end_object(&writer);
    }
    work_history_fini(&history);
}

/* ---- Changes -------------------------------------------------------------------------------- */

static int read_commit(const struct work_history *history, const struct work_attempt *attempt,
                       struct buf *ret_text, bool *ret_is_cut, struct rondo_error *err)
{
    struct git_repository *repository = NULL;
    const char *parent = attempt->parent[0] != '\0' ? attempt->parent : attempt->base;
    int r = git_repository_open(history->spec.repository, NULL, &repository, err);
    if (r == 0) {
        struct git git = {.repository = repository};
        r = git_diff_read(&git, parent, attempt->commit, LIMIT_SHOWN_DIFF_BYTES, ret_text,
                          ret_is_cut, err);
    }
    git_repository_free(repository);
    return r;
}

/** The patch of an attempt that failed: the runtime has written it into the state folder. */
static int read_patch(const char *path, struct buf *ret_text, bool *ret_is_cut,
                      struct rondo_error *err)
{
    /* opens: in the state folder, which no agent can write */
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "the patch of this attempt is not there any more");
    }
    char piece[16 * 1024];
    ssize_t len = 0;
    while (ret_text->len < LIMIT_SHOWN_DIFF_BYTES && (len = read(fd, piece, sizeof(piece))) > 0) {
        buf_append(ret_text, piece, (size_t)len);
    }
    if (len < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot read the patch");
    }
    *ret_is_cut = len > 0 && read(fd, piece, 1) == 1;
    while (*ret_is_cut && ret_text->len > 0 && ret_text->data[ret_text->len - 1] != '\n') {
        ret_text->len--;
    }
    return 0;
}

/** @param number of the attempt; 0 = the one with the commit, else the last one */
static const struct work_attempt *find_attempt(const struct work_history *history, size_t task,
                                               int64_t number)
{
    const struct work_attempt *found = NULL;
    for (size_t i = 0; i < history->attempt_count; i++) {
        const struct work_attempt *attempt = &history->attempts[i];
        bool is_better = found == NULL || attempt->commit[0] != '\0' || found->commit[0] == '\0';
        if (attempt->task == task && (number == 0 ? is_better : attempt->number == number)) {
            found = attempt;
        }
    }
    return found;
}

static void send_diff(struct call *call, const struct work_history *history,
                      const struct work_attempt *attempt)
{
    auto_buf struct buf text = {0};
    struct rondo_error err = {0};
    bool is_cut = false;
    int r = 0;
    if (attempt->commit[0] != '\0') {
        r = read_commit(history, attempt, &text, &is_cut, &err);
    } else if (attempt->patch != NULL) {
        r = read_patch(attempt->patch, &text, &is_cut, &err);
    } else {
        r = error_set(&err, RONDO_ERR_NOT_FOUND, "attempt %lld has left no changes",
                      (long long)attempt->number);
    }
    if (r < 0) {
        call_problem(call, r == RONDO_ERR_NOT_FOUND ? PROBLEM_NOT_FOUND : PROBLEM_CONFLICT, "%s",
                     err.message);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "attempt", attempt->number);
    json_write_string(&writer, "commit", attempt->commit[0] == '\0' ? NULL : attempt->commit);
    json_write_string_len(&writer, "diff", buf_string(&text), text.len);
    json_write_bool(&writer, "is_cut", is_cut);
    json_end_object(&writer);
}

void handle_task_diff(struct call *call)
{
    struct store_run run;
    struct work_history history;
    int64_t number = 0;
    size_t task = 0;
    if (!call_find_content(call, &run) ||
        !call_query_int(call, "attempt", 1, INT64_MAX, 0, &number) ||
        !load(call, &run, NULL, &history)) {
        return;
    }
    if (find_task(call, &history, &task)) {
        const struct work_attempt *attempt = find_attempt(&history, task, number);
        if (attempt != NULL) {
            send_diff(call, &history, attempt);
        } else {
            call_problem(call, PROBLEM_NOT_FOUND, "the task has no such attempt");
        }
    }
    work_history_fini(&history);
}

/* ---- The progress log ----------------------------------------------------------------------- */

/** The log, or where it was moved to. @return owned */
static char *progress_path(const struct work_history *history)
{
    struct buf path = {0};
    const char *name = strrchr(history->spec.progress, '/');
    if (history->archive == NULL || name == NULL) {
        return memory_dup_string(history->spec.progress);
    }
    buf_printf(&path, "%s%s", history->archive, name);
    return buf_steal(&path);
}

void handle_progress(struct call *call)
{
    struct store_run run;
    struct work_history history;
    struct rondo_error err = {0};
    auto_buf struct buf text = {0};
    if (!call_find_content(call, &run) || !load(call, &run, NULL, &history)) {
        return;
    }
    auto_free char *path = progress_path(&history);
    const char *const agent_folders[] = {history.spec.repository, NULL};
    int r = file_read_named(agent_folders, path, LIMIT_PROGRESS_BYTES, &text, &err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        call_problem(call, PROBLEM_CONFLICT, "%s", err.message);
    } else {
        size_t from =
            text.len > LIMIT_SHOWN_PROGRESS_BYTES ? text.len - LIMIT_SHOWN_PROGRESS_BYTES : 0;
        while (from > 0 && from < text.len && text.data[from - 1] != '\n') {
            from++;
        }
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "file", path);
        json_write_string_len(&writer, "text", buf_string(&text) + from, text.len - from);
        json_write_bool(&writer, "is_cut", from > 0);
        json_end_object(&writer);
    }
    work_history_fini(&history);
}
