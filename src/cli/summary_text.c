// SPDX-License-Identifier: Apache-2.0
/* The result of a run for people, and what to type next. */
#include "cli/summary.h"

#include "base/parse.h"
#include "base/status.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Column at which the values of the summary's lines begin. */
#define VALUE_COLUMN 14

struct drawing {
    const struct summary *summary;
    const struct style *style;
    size_t columns;
    struct buf *out;
};

static void add_label(const struct drawing *drawing, const char *label)
{
    buf_append_string(drawing->out, "  ");
    buf_append_string(drawing->out, style_begin(drawing->style, COLOUR_DIM));
    text_pad(label, VALUE_COLUMN - 2, drawing->out);
    buf_append_string(drawing->out, style_end(drawing->style));
}

static void add_line(const struct drawing *drawing, const char *label, const char *value)
{
    auto_buf struct buf clean = {0};
    text_clean(value, strlen(value), &clean);
    add_label(drawing, label);
    text_wrap(buf_string(&clean), VALUE_COLUMN, drawing->columns, VALUE_COLUMN, drawing->out);
    buf_append_string(drawing->out, "\n");
}

/** "completed  12 of 60 iterations in 4.2 s". */
static void add_head(const struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char duration[FORMAT_DURATION_SIZE];
    format_duration(summary->state.active_ns, duration);
    enum rondo_status status = summary->run.summary.status;
    style_append(drawing->style, style_of_status(status), session_status(&summary->run),
                 drawing->out);
    buf_printf(drawing->out, " after %" PRIu64 " iteration%s in %s", summary->state.finished,
               summary->state.finished == 1 ? "" : "s", duration);
    buf_append_string(drawing->out, "\n");
}

static void add_meaning(const struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    const char *meaning = status_meaning(summary->run.summary.status);
    if (summary->policy != NULL && summary->denied_message[0] != '\0') {
        meaning = summary->denied_message;
    } else if (summary->message != NULL) {
        meaning = summary->message;
    }
    add_line(drawing, "why", meaning);
    if (summary->words != NULL && summary->words[0] != '\0') {
        add_line(drawing, "worker", summary->words);
    }
}

static void add_conditions(const struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    size_t width = 0;
    for (size_t i = 0; i < summary->condition_count; i++) {
        size_t own = text_width(summary->conditions[i].name);
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < summary->condition_count; i++) {
        const struct summary_condition *condition = &summary->conditions[i];
        auto_buf struct buf line = {0};
        enum mark mark = condition->is_met         ? MARK_MET
                         : condition->is_evaluated ? MARK_NOT_MET
                                                   : MARK_UNKNOWN;
        buf_append_string(&line, "  ");
        style_append(drawing->style, condition->is_met ? COLOUR_GREEN : COLOUR_RED,
                     style_mark(drawing->style, mark), &line);
        buf_append_string(&line, " ");
        text_pad(condition->name, width, &line);
        buf_append_string(&line, condition->is_met ? "  met" : "  not met");
        if (!condition->is_met) {
            buf_printf(&line, ": %s", condition->reason);
        }
        if (condition->is_evaluated) {
            char duration[FORMAT_DURATION_SIZE];
            format_duration(condition->duration_ns, duration);
            buf_printf(&line, " (%s)", duration);
        }
        buf_append_string(&line, "\n");
        buf_append_string(drawing->out, buf_string(&line));
    }
}

static void add_facts(const struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    auto_buf struct buf text = {0};
    if (summary->state.checkpoint_number > 0) {
        buf_printf(&text, "%" PRIu64 ", after iteration %" PRIu64, summary->state.checkpoint_number,
                   summary->state.checkpoint_iteration);
        add_line(drawing, "checkpoint", buf_string(&text));
    }
    if (summary->state.tokens > 0 || summary->state.cost_micro > 0) {
        buf_clear(&text);
        text_count(summary->state.tokens, &text);
        buf_append_string(&text, " tokens, cost ");
        text_money(summary->state.cost_micro, &text);
        add_line(drawing, "used", buf_string(&text));
    }
}

static void add_storage(const struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    if (summary->storage_failures == 0 && summary->storage_message == NULL) {
        return;
    }
    auto_buf struct buf text = {0};
    buf_append_string(&text, "STORAGE TROUBLE: ");
    if (summary->storage_failures > 0) {
        buf_printf(&text, "the store failed %" PRIu64 " time%s; ", summary->storage_failures,
                   summary->storage_failures == 1 ? "" : "s");
    }
    if (summary->storage_message != NULL) {
        buf_printf(&text, "the run went on without checkpoints for a time (%s); ",
                   summary->storage_message);
    }
    buf_append_string(&text, "check the disk with `rondo doctor`");
    auto_buf struct buf wrapped = {0};
    text_wrap(buf_string(&text), 2, drawing->columns, 2, &wrapped);
    buf_append_string(drawing->out, "  ");
    style_append(drawing->style, COLOUR_RED, buf_string(&wrapped), drawing->out);
    buf_append_string(drawing->out, "\n");
}

static void add_next(const struct drawing *drawing, const struct session *session)
{
    const struct summary *summary = drawing->summary;
    enum rondo_status status = summary->run.summary.status;
    auto_buf struct buf hint = {0};
    session_hint(session, "show", summary->run.id, &hint);
    add_line(drawing, "next", buf_string(&hint));
    buf_clear(&hint);
    session_hint(session, "logs", summary->run.id, &hint);
    add_line(drawing, "", buf_string(&hint));
    if (status == RONDO_COMPLETED) {
        return;
    }
    buf_clear(&hint);
    session_hint(session, "resume", summary->run.id, &hint);
    if (status == RONDO_MAX_ITERATIONS) {
        buf_printf(&hint, " --max-iterations %" PRId64, summary->spec.max_iterations * 2);
    } else if (status == RONDO_TIMEOUT) {
        buf_append_string(&hint, " --time-limit ...");
    } else if (status == RONDO_BUDGET_EXCEEDED) {
        bool is_cost = summary->limit_name != NULL && strcmp(summary->limit_name, "cost") == 0;
        buf_append_string(&hint, is_cost ? " --max-cost ..." : " --max-tokens ...");
    }
    add_line(drawing, "", buf_string(&hint));
}

void summary_text(const struct summary *summary, const struct session *session,
                  const struct style *style, size_t columns, bool is_quiet, struct buf *ret_buf)
{
    struct drawing drawing = {summary, style, columns, ret_buf};
    add_head(&drawing);
    add_storage(&drawing);
    if (is_quiet) {
        return;
    }
    add_meaning(&drawing);
    add_conditions(&drawing);
    add_facts(&drawing);
    add_next(&drawing, session);
}
