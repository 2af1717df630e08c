// SPDX-License-Identifier: Apache-2.0
/* The live area of a PRD's run, and the lines that ended attempts leave above it. */
#include "cli/progress/prd_view.h"

#include "base/clock.h"
#include "base/parse.h"
#include "cli/progress/event_line.h"
#include "cli/progress/prd_table.h"
#include "cli/terminal/text.h"
#include "journal/reader.h"

#include <inttypes.h>
#include <string.h>

/** Bytes of an id and of a title that are laid out. */
#define ID_BYTES    LIMIT_PRD_ID_BYTES
#define TITLE_BYTES 200
/** Characters of a commit that are shown. */
#define COMMIT_LEN 10

void prd_view_fini(struct prd_view *prd)
{
    work_history_fini(&prd->history);
    buf_fini(&prd->latest);
}

struct past_events {
    struct prd_view *prd;
    uint64_t until;
};

static bool load_entry(const struct journal_entry *entry, void *context)
{
    struct past_events *past = context;
    if (entry->event.seq > past->until) {
        return false;
    }
    if (entry->is_known) {
        work_history_apply(&past->prd->history, &entry->event);
    }
    return true;
}

void prd_view_load(struct prd_view *prd, struct store *store, const char *run_id, uint64_t until)
{
    struct past_events past = {.prd = prd, .until = until};
    /* What cannot be read is reported by those who execute the run. */
    journal_visit(store, run_id, 0, UINT32_MAX, load_entry, &past, NULL);
}

/* ---- What stays on the screen --------------------------------------------------------------- */

static void add_text(const char *text, size_t most, struct buf *line)
{
    text_clean(text, strnlen(text, most), line);
}

static bool is_good(const char *outcome)
{
    return strcmp(outcome, "committed") == 0 || strcmp(outcome, "already_done") == 0;
}

static void add_figures(const struct work_attempt *attempt, struct buf *line)
{
    char duration[FORMAT_DURATION_SIZE];
    format_duration(attempt->duration_ns, duration);
    buf_printf(line, ", %s", duration);
    if (attempt->cost_micro > 0) {
        buf_append_string(line, ", cost ");
        text_money(attempt->cost_micro, line);
    }
    if (attempt->commit[0] != '\0') {
        buf_printf(line, ", commit %.*s", COMMIT_LEN, attempt->commit);
    }
}

static void add_mark(const struct style *style, const char *outcome, struct buf *line)
{
    if (is_good(outcome)) {
        style_append(style, COLOUR_GREEN, style_mark(style, MARK_MET), line);
    } else if (strcmp(outcome, "interrupted") == 0) {
        style_append(style, COLOUR_YELLOW, style_mark(style, MARK_WARNING), line);
    } else {
        style_append(style, COLOUR_RED, style_mark(style, MARK_NOT_MET), line);
    }
}

/** "  (mark) US-001 Store a task, attempt 2, 1.2 s: checks_failed: ..." */
static void add_ended(const struct prd_view *prd, const struct work_attempt *attempt,
                      const struct style *style, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    const struct work_task *task = &prd->history.state.tasks[attempt->task];
    bool is_committed = strcmp(attempt->outcome, "committed") == 0;
    add_mark(style, attempt->outcome, &line);
    buf_append_string(&line, " ");
    add_text(task->id, ID_BYTES, &line);
    buf_append_string(&line, " ");
    add_text(task->title, TITLE_BYTES, &line);
    if (attempt->number > 1 || !is_good(attempt->outcome)) {
        buf_printf(&line, ", attempt %" PRId64, attempt->number);
    }
    add_figures(attempt, &line);
    if (!is_committed) {
        buf_append_string(&line, ": ");
        add_text(attempt->outcome, sizeof(attempt->outcome), &line);
    }
    if (!is_committed && attempt->message != NULL) {
        buf_append_string(&line, ": ");
        add_text(attempt->message, TITLE_BYTES, &line);
    }
    buf_append_string(ret_buf, "  ");
    text_wrap(buf_string(&line), 4, columns, 2, ret_buf);
    buf_append_string(ret_buf, "\n");
}

static void add_event(const struct journal_entry *entry, const struct style *style, size_t columns,
                      struct buf *ret_buf)
{
    auto_buf struct buf text = {0};
    struct style plain = *style;
    plain.has_colour = false;
    event_line(entry, &plain, &text);
    buf_append_string(ret_buf, "  ");
    buf_append_string(ret_buf, style_begin(style, event_colour(event_level(&entry->event))));
    text_wrap(buf_string(&text), 4, columns, 2, ret_buf);
    buf_append_string(ret_buf, style_end(style));
    buf_append_string(ret_buf, "\n");
}

static void note_latest(struct prd_view *prd, const struct journal_entry *entry)
{
    static const struct style plain = {0};
    buf_clear(&prd->latest);
    event_line(entry, &plain, &prd->latest);
}

bool prd_view_apply(struct prd_view *prd, const struct journal_entry *entry,
                    const struct style *style, size_t columns, struct buf *ret_buf)
{
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return false;
    }
    work_history_apply(&prd->history, event);
    if (event->type == JOURNAL_TASK_STARTED || event->type == JOURNAL_TASK_CHECKED ||
        event->type == JOURNAL_TASK_COMMITTING || event->type == JOURNAL_TASK_COMMITTED) {
        note_latest(prd, entry);
        return true;
    }
    if (event->type == JOURNAL_TASK_ENDED) {
        const struct work_attempt *attempt =
            work_history_attempt(&prd->history, event->task_ended.task, event->task_ended.attempt);
        buf_clear(&prd->latest);
        if (attempt != NULL) {
            add_ended(prd, attempt, style, columns, ret_buf);
        }
        return true;
    }
    bool is_shown = event->type == JOURNAL_TASK_FAILED || event->type == JOURNAL_TASK_BLOCKED ||
                    event->type == JOURNAL_WORK_ARCHIVED ||
                    (event->type == JOURNAL_TASKS_READ && event->tasks_read.message != NULL);
    if (is_shown) {
        add_event(entry, style, columns, ret_buf);
    }
    return is_shown || event->type == JOURNAL_TASKS_READ;
}

/* ---- The live area -------------------------------------------------------------------------- */

void prd_view_head(const struct prd_view *prd, uint64_t *ret_done, uint64_t *ret_total,
                   struct buf *ret_text)
{
    size_t counts[WORK_BLOCKED + 1] = {0};
    size_t total = 0;
    for (size_t i = 0; i < prd->history.state.count; i++) {
        const struct work_task *task = &prd->history.state.tasks[i];
        counts[task->phase] += task->is_removed ? 0 : 1;
        total += task->is_removed ? 0 : 1;
    }
    *ret_done = counts[WORK_DONE];
    *ret_total = total;
    buf_printf(ret_text, "%zu of %zu tasks done", counts[WORK_DONE], total);
    for (int i = WORK_FAILED; i <= WORK_BLOCKED; i++) {
        if (counts[i] > 0) {
            buf_printf(ret_text, ", %zu %s", counts[i], work_phase_name((enum work_phase)i));
        }
    }
}

/** "  (spinner) US-002  attempt 2  3.2 s  0.05  Show the list" */
static void add_working(const struct prd_view *prd, size_t index, size_t id_columns,
                        const struct frame_info *info, struct buf *ret_lines)
{
    const struct work_task *task = &prd->history.state.tasks[index];
    const struct work_attempt *attempt = work_history_last(&prd->history, index);
    int64_t elapsed_ns = attempt == NULL ? 0 : info->now_ns - attempt->started_ns;
    char duration[FORMAT_DURATION_SIZE];
    auto_buf struct buf line = {0};
    auto_buf struct buf id = {0};
    add_text(task->id, ID_BYTES, &id);
    format_duration(elapsed_ns > 0 ? elapsed_ns / NS_PER_S * NS_PER_S : 0, duration);
    buf_append_string(&line, "  ");
    style_append(info->style, COLOUR_BLUE, style_spinner(info->style, info->tick), &line);
    buf_append_string(&line, " ");
    text_pad(buf_string(&id), id_columns, &line);
    buf_printf(&line, "  attempt %" PRId64 "  ", task->attempt);
    style_append(info->style, COLOUR_DIM, elapsed_ns < NS_PER_S ? "0.0 s" : duration, &line);
    if (task->cost_micro > 0) {
        buf_append_string(&line, "  cost ");
        text_money(task->cost_micro, &line);
    }
    buf_append_string(&line, "  ");
    add_text(task->title, TITLE_BYTES, &line);
    text_fit(buf_string(&line), info->columns > 1 ? info->columns - 1 : 1, ret_lines);
    buf_append_string(ret_lines, "\n");
}

void prd_view_lines(const struct prd_view *prd, const struct frame_info *info, size_t rows,
                    struct buf *ret_lines)
{
    const struct work_state *state = &prd->history.state;
    size_t id_columns = 0;
    size_t left = work_running(state);
    for (size_t i = 0; i < state->count; i++) {
        size_t len = state->tasks[i].phase == WORK_RUNNING ? strlen(state->tasks[i].id) : 0;
        id_columns = len > id_columns ? len : id_columns;
    }
    for (size_t i = 0; i < state->count && rows > 0; i++) {
        if (state->tasks[i].phase != WORK_RUNNING) {
            continue;
        }
        if (rows == 1 && left > 1) {
            buf_printf(ret_lines, "  and %zu more attempts\n", left);
        } else {
            add_working(prd, i, id_columns, info, ret_lines);
        }
        rows--;
        left--;
    }
}

void prd_view_activity(const struct prd_view *prd, const struct frame_info *info,
                       struct buf *ret_text)
{
    style_append(info->style, COLOUR_DIM, prd->latest.len > 0 ? prd->latest.data : "waiting",
                 ret_text);
}
