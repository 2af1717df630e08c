// SPDX-License-Identifier: Apache-2.0
/* The tasks of a PRD's run as a table, from its journal. */
#include "cli/progress/prd_table.h"

#include "base/parse.h"
#include "base/text/plain.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <string.h>

/** Characters of a commit that are shown. */
#define COMMIT_LEN 10
/** Bytes of a failure's explanation. */
#define MESSAGE_BYTES 400

static const struct table_column columns_of_tasks[] = {
    {.title = "TASK"},
    {.title = "STATE"},
    {.title = "ATTEMPT", .is_right = true},
    {.title = "TIME", .is_right = true},
    {.title = "COST", .is_right = true},
    {.title = "COMMIT"},
    {.title = "TITLE", .is_elastic = true},
};

enum colour prd_phase_colour(enum work_phase phase)
{
    switch (phase) {
    case WORK_DONE:
        return COLOUR_GREEN;
    case WORK_FAILED:
    case WORK_BLOCKED:
        return COLOUR_RED;
    case WORK_RUNNING:
        return COLOUR_YELLOW;
    case WORK_PENDING:
        break;
    }
    return COLOUR_DIM;
}

static const char *state_of(const struct work_task *task)
{
    return task->phase != WORK_DONE ? work_phase_name(task->phase)
           : task->is_by_hand       ? "done by hand"
           : task->is_already_done  ? "done already"
                                    : "done";
}

static void add_time(const struct work_history *history, size_t index, int64_t now_ns,
                     struct table *table)
{
    const struct work_task *task = &history->state.tasks[index];
    const struct work_attempt *last = work_history_last(history, index);
    int64_t time_ns = task->duration_ns;
    if (task->phase == WORK_RUNNING && last != NULL && now_ns > last->started_ns) {
        time_ns += now_ns - last->started_ns;
    }
    char text[FORMAT_DURATION_SIZE] = "";
    if (time_ns > 0) {
        format_duration(time_ns, text);
    }
    table_add(table, text);
}

static void add_task(const struct work_history *history, size_t index, const struct style *style,
                     int64_t now_ns, struct table *table)
{
    const struct work_task *task = &history->state.tasks[index];
    auto_buf struct buf cell = {0};
    text_clean(task->id, strlen(task->id), &cell);
    table_add(table, buf_string(&cell));
    buf_clear(&cell);
    style_append(style, prd_phase_colour(task->phase), state_of(task), &cell);
    table_add(table, buf_string(&cell));
    buf_clear(&cell);
    buf_printf(&cell, "%" PRId64, task->attempt);
    table_add(table, buf_string(&cell));
    add_time(history, index, now_ns, table);
    buf_clear(&cell);
    if (task->cost_micro > 0) {
        text_money(task->cost_micro, &cell);
    }
    table_add(table, buf_string(&cell));
    buf_clear(&cell);
    buf_printf(&cell, "%.*s", COMMIT_LEN, task->phase == WORK_DONE ? task->commit : "");
    table_add(table, buf_string(&cell));
    buf_clear(&cell);
    text_clean(task->title, strlen(task->title), &cell);
    table_add(table, buf_string(&cell));
}

/** Why a task is not done, where the journal says so. */
static void add_reason(const struct work_history *history, size_t index, size_t columns,
                       struct buf *out)
{
    const struct work_task *task = &history->state.tasks[index];
    const char *by = index < history->blocked_room ? history->blocked_by[index] : NULL;
    auto_buf struct buf text = {0};
    if (task->phase == WORK_BLOCKED && by != NULL) {
        buf_printf(&text, "depends on %s", by);
    } else if (task->phase != WORK_DONE && task->phase != WORK_BLOCKED && task->message != NULL) {
        buf_printf(&text, "%s%s%s", task->outcome, task->outcome[0] == '\0' ? "" : ": ",
                   task->message);
    }
    if (text.len > 0) {
        auto_buf struct buf line = {0};
        text_clean(task->id, strlen(task->id), &line);
        buf_append_string(&line, ": ");
        text_clean(buf_string(&text), text.len > MESSAGE_BYTES ? MESSAGE_BYTES : text.len, &line);
        buf_append_string(out, "  ");
        text_wrap(buf_string(&line), 4, columns, 2, out);
        buf_append_string(out, "\n");
    }
}

void prd_table_reasons(const struct work_history *history, size_t columns, struct buf *ret_text)
{
    for (size_t i = 0; i < history->state.count; i++) {
        if (!history->state.tasks[i].is_removed) {
            add_reason(history, i, columns, ret_text);
        }
    }
    if (history->problem != NULL) {
        buf_append_string(ret_text, "  the PRD file cannot be used: ");
        text_clean(history->problem, strnlen(history->problem, MESSAGE_BYTES), ret_text);
        buf_append_string(ret_text, "\n");
    }
}

void prd_table_text(const struct work_history *history, const struct style *style, size_t columns,
                    int64_t now_ns, struct buf *ret_text)
{
    struct table table = {.columns = columns_of_tasks,
                          .column_count = sizeof(columns_of_tasks) / sizeof(columns_of_tasks[0])};
    for (size_t i = 0; i < history->state.count; i++) {
        if (!history->state.tasks[i].is_removed) {
            add_task(history, i, style, now_ns, &table);
        }
    }
    if (table.cell_count > 0) {
        table_draw(&table, style, columns, ret_text);
    }
    table_fini(&table);
    prd_table_reasons(history, columns, ret_text);
}
