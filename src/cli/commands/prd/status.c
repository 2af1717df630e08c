// SPDX-License-Identifier: Apache-2.0
/* rondo prd status: the tasks of a PRD as its file says, and what its last run has made of them. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/commands/prd/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/progress/prd_table.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"
#include "work/history.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/** Columns of a table that goes into a pipe. */
#define PIPE_COLUMNS 120
/** Characters of a commit that are shown. */
#define COMMIT_LEN 10

struct prd_status_values {
    char *tag;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row prd_status_options[] = {
    {.name = "tag",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prd_status_values, tag),
     .argument = "NAME",
     .by_default = "master",
     .help = "Tag of the list to read, in task-master files",
     .group = "General"},
    OPTION_ROW_STORE(struct prd_status_values),
    OPTION_ROW_JSON(struct prd_status_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct prd_status_values),
    {0},
};

/** What is shown: the file, and its last run if there is one. */
struct shown_prd {
    struct prd prd;
    bool has_run;
    struct store_run run;
    struct work_history history;
};

static const struct table_column columns[] = {
    {.title = "TASK"},
    {.title = "STATE"},
    {.title = "ATTEMPTS", .is_right = true},
    {.title = "COMMIT"},
    {.title = "DEPENDS ON", .is_elastic = true},
    {.title = "TITLE", .is_elastic = true},
};

static const struct table_column columns_with_run[] = {
    {.title = "TASK"},
    {.title = "FILE"},
    {.title = "RUN"},
    {.title = "ATTEMPTS", .is_right = true},
    {.title = "COST", .is_right = true},
    {.title = "COMMIT"},
    {.title = "DEPENDS ON", .is_elastic = true},
    {.title = "TITLE", .is_elastic = true},
};

/* ---- The last run --------------------------------------------------------------------------- */

/** Find and read the last run of a file. Without a store there is none. */
static int find_run(const struct prd_status_values *values, const char *path,
                    struct shown_prd *shown, struct rondo_error *err)
{
    auto_free char *file = prd_command_file(path);
    struct session session;
    const struct session_options options = {.store = values->store, .access = STORE_READING};
    int r = file == NULL ? RONDO_ERR_NOT_FOUND : session_open(&options, &session, err);
    if (r < 0) {
        return r == RONDO_ERR_NOT_FOUND && values->store == NULL ? 0 : r;
    }
    r = work_history_find(session.store, file, &shown->run, err);
    if (r == 0) {
        r = work_history_load(session.store, shown->run.id, NULL, &shown->history, err);
        shown->has_run = r == 0;
    } else if (r == RONDO_ERR_NOT_FOUND) {
        r = 0;
    }
    session_close(&session);
    return r;
}

static const struct work_task *task_of_run(struct shown_prd *shown, const char *id)
{
    struct work_task *task = shown->has_run ? work_find(&shown->history.state, id) : NULL;
    return task != NULL && task->is_removed ? NULL : task;
}

/* ---- For people ----------------------------------------------------------------------------- */

static const char *state_of(const struct prd_task *task)
{
    return task->is_disputed ? "disputed" : prd_status_name(task->status);
}

static void add_clean(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

/** State, attempts, cost and commit as the journal of the run has them, else as the file says. */
static void add_state(struct table *table, const struct prd_task *task,
                      const struct work_task *in_run, const struct shown_prd *shown,
                      const struct style *style)
{
    auto_buf struct buf cell = {0};
    const char *commit = task->commit == NULL ? "" : task->commit;
    int64_t attempts = in_run == NULL ? (int64_t)task->attempts : in_run->attempt;
    if (shown->has_run && in_run != NULL) {
        style_append(style, prd_phase_colour(in_run->phase), work_phase_name(in_run->phase), &cell);
    }
    if (shown->has_run) {
        table_add(table, buf_string(&cell));
        buf_clear(&cell);
    }
    buf_printf(&cell, "%" PRId64, attempts);
    table_add(table, buf_string(&cell));
    buf_clear(&cell);
    if (in_run != NULL && in_run->cost_micro > 0) {
        text_money(in_run->cost_micro, &cell);
    }
    if (shown->has_run) {
        table_add(table, buf_string(&cell));
    }
    buf_clear(&cell);
    if (in_run != NULL && in_run->phase == WORK_DONE && in_run->commit[0] != '\0') {
        commit = in_run->commit;
    }
    buf_printf(&cell, "%.*s", COMMIT_LEN, commit);
    add_clean(table, buf_string(&cell));
}

static void add_task(struct table *table, const struct prd_task *task, struct shown_prd *shown,
                     const struct style *style)
{
    auto_buf struct buf cell = {0};
    add_clean(table, task->id);
    table_add(table, state_of(task));
    add_state(table, task, task_of_run(shown, task->id), shown, style);
    for (size_t i = 0; i < task->dependency_count; i++) {
        buf_printf(&cell, "%s%s", i == 0 ? "" : ", ", task->dependencies[i]);
    }
    add_clean(table, buf_string(&cell));
    add_clean(table, task->title);
}

static void write_run(const struct shown_prd *shown, const struct style *style, size_t width,
                      struct buf *out)
{
    const struct work_history *history = &shown->history;
    buf_printf(out, "last run %.*s: ", SHORT_ID_LEN, shown->run.id);
    style_append(style, style_of_status(shown->run.summary.status), run_display_status(&shown->run),
                 out);
    buf_append_string(out, ", branch ");
    text_clean(history->spec.branch, strlen(history->spec.branch), out);
    buf_printf(out, ", %" PRIu64 " attempt%s, %" PRIu64 " commit%s", history->state.counted,
               history->state.counted == 1 ? "" : "s", history->state.committed,
               history->state.committed == 1 ? "" : "s");
    if (shown->run.summary.cost_micro > 0) {
        buf_append_string(out, ", cost ");
        text_money(shown->run.summary.cost_micro, out);
    }
    buf_append_string(out, "\n");
    prd_table_reasons(history, width, out);
}

static void write_text(const struct prd_status_values *values, struct shown_prd *shown,
                       struct buf *out)
{
    const struct prd *prd = &shown->prd;
    struct style style = style_for(stdout, values->no_colour != 0);
    size_t width = style_columns(stdout, PIPE_COLUMNS);
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
    if (shown->has_run) {
        table.columns = columns_with_run;
        table.column_count = sizeof(columns_with_run) / sizeof(columns_with_run[0]);
    }
    for (size_t i = 0; i < prd->task_count; i++) {
        add_task(&table, &prd->tasks[i], shown, &style);
    }
    table_draw(&table, &style, width, out);
    table_fini(&table);
    buf_printf(out, "\n%zu of %zu done, %zu failed\n", prd_count(prd, PRD_DONE), prd->task_count,
               prd_count(prd, PRD_FAILED));
    if (shown->has_run) {
        write_run(shown, &style, width, out);
    }
}

/* ---- For programs --------------------------------------------------------------------------- */

static void write_task(const struct prd_task *task, struct json_writer *writer)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "id", task->id);
    json_write_string(writer, "title", task->title);
    json_write_string(writer, "status", prd_status_name(task->status));
    json_write_bool(writer, "is_disputed", task->is_disputed);
    json_write_int(writer, "attempts", task->attempts);
    if (task->commit != NULL) {
        json_write_string(writer, "commit", task->commit);
    }
    json_begin_array(writer, "depends_on");
    for (size_t i = 0; i < task->dependency_count; i++) {
        json_write_string(writer, NULL, task->dependencies[i]);
    }
    json_end_array(writer);
    json_begin_array(writer, "criteria");
    for (size_t i = 0; i < task->criteria_count; i++) {
        const struct prd_criterion *criterion = &task->criteria[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "text", criterion->text);
        if (criterion->command != NULL) {
            json_write_string(writer, "command", criterion->command);
        }
        json_write_bool(writer, "is_derived", criterion->is_derived);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static void write_last_run(const struct shown_prd *shown, struct json_writer *writer)
{
    if (!shown->has_run) {
        json_write_null(writer, "last_run");
        return;
    }
    json_begin_object(writer, "last_run");
    json_write_string(writer, "run_id", shown->run.id);
    json_write_string(writer, "status", run_display_status(&shown->run));
    work_history_json(&shown->history, writer);
    json_end_object(writer);
}

static void write_json(const struct shown_prd *shown, struct buf *out)
{
    const struct prd *prd = &shown->prd;
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "prd_status");
    json_write_string(&writer, "name", prd->name);
    json_write_string(&writer, "dialect", prd_dialect_name(prd->dialect));
    json_write_string(&writer, "branch", prd->branch);
    json_write_int(&writer, "total", (int64_t)prd->task_count);
    json_write_int(&writer, "done", (int64_t)prd_count(prd, PRD_DONE));
    json_write_int(&writer, "failed", (int64_t)prd_count(prd, PRD_FAILED));
    json_begin_array(&writer, "tasks");
    for (size_t i = 0; i < prd->task_count; i++) {
        write_task(&prd->tasks[i], &writer);
    }
    json_end_array(&writer);
    write_last_run(shown, &writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static int run_status(const struct prd_status_values *values, const char *path)
{
    struct shown_prd shown = {0};
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf out = {0};
    struct rondo_error err = {0};
    int r = prd_command_read(path, values->tag, false, &shown.prd, &findings, &err);
    r = r < 0 ? r : find_run(values, path, &shown, &err);
    if (r == 0 && findings.errors > 0) {
        report_warning("%zu errors in %s; `rondo prd check` shows them", findings.errors, path);
    }
    if (r == 0 && values->wants_json) {
        write_json(&shown, &out);
    } else if (r == 0) {
        write_text(values, &shown, &out);
    }
    report_output(&out);
    prd_fini(&shown.prd);
    work_history_fini(&shown.history);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

int cmd_prd_status(const struct invocation *invocation)
{
    struct prd_status_values values = {0};
    struct option_set set = {.rows = prd_status_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_status(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
