// SPDX-License-Identifier: Apache-2.0
/* Drawing the live area from a view: pure text, no terminal. */
#include "cli/progress/view.h"

#include "base/clock.h"
#include "base/parse.h"
#include "cli/terminal/text.h"
#include "loop/step.h"

#include <inttypes.h>
#include <stdio.h>

#define BAR_COLUMNS_MAX 30
#define BAR_COLUMNS_MIN 6
/** Lines of the frame that are no conditions, and one that the cursor needs. */
#define OTHER_LINES 5

/** Close a line: cut it to the columns. The last column stays free, or terminals would wrap. */
static void end_line(const struct frame_info *info, const struct buf *line, struct buf *ret_buf)
{
    text_fit(buf_string(line), info->columns > 1 ? info->columns - 1 : 1, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

static void add_bar(const struct frame_info *info, uint64_t done, uint64_t total, size_t columns,
                    struct buf *line)
{
    size_t full = done >= total ? columns : (size_t)(done * columns / total);
    buf_append_string(line, style_begin(info->style, COLOUR_GREEN));
    for (size_t i = 0; i < full; i++) {
        buf_append_string(line, style_mark(info->style, MARK_BAR_FULL));
    }
    buf_append_string(line, style_end(info->style));
    buf_append_string(line, style_begin(info->style, COLOUR_DIM));
    for (size_t i = full; i < columns; i++) {
        buf_append_string(line, style_mark(info->style, MARK_BAR_EMPTY));
    }
    buf_append_string(line, style_end(info->style));
}

/** "iteration 7 of 60  [####------]  12 %  42 s": the bar takes what the rest leaves. */
static void add_head(const struct view *view, const struct frame_info *info, struct buf *ret_buf)
{
    const struct run_state *state = &view->state;
    auto_buf struct buf line = {0};
    auto_buf struct buf tail = {0};
    uint64_t done = info->head != NULL ? info->head_done : state->iteration;
    uint64_t total = info->head != NULL ? info->head_total : state->limit;
    bool has_limit = total > 0;
    done = done < total ? done : total;
    if (info->head != NULL) {
        buf_append_string(&line, info->head);
    } else {
        buf_printf(&line, "iteration %" PRIu64, state->iteration);
    }
    if (has_limit && info->head == NULL) {
        buf_printf(&line, " of %" PRIu64, state->limit);
    }
    if (has_limit) {
        buf_printf(&tail, "  %" PRIu64 " %%", done * 100 / total);
    }
    char elapsed[FORMAT_DURATION_SIZE];
    format_duration(loop_step_active_ns(state, info->now_ns) / NS_PER_S * NS_PER_S, elapsed);
    if (loop_step_active_ns(state, info->now_ns) < NS_PER_S) {
        snprintf(elapsed, sizeof(elapsed), "0.0 s");
    }
    buf_printf(&tail, "  %s", elapsed);
    size_t used = text_width(buf_string(&line)) + text_width(buf_string(&tail)) + 5;
    if (has_limit && used + BAR_COLUMNS_MIN <= info->columns) {
        size_t room = info->columns - used;
        buf_append_string(&line, "  [");
        add_bar(info, done, total, room < BAR_COLUMNS_MAX ? room : BAR_COLUMNS_MAX, &line);
        buf_append_string(&line, "]");
    }
    buf_append_string(&line, buf_string(&tail));
    end_line(info, &line, ret_buf);
}

static bool is_verifying(const struct view *view, const struct view_condition *condition)
{
    return view->state.phase == PHASE_IN_VERIFYING && !condition->is_evaluated;
}

static void add_mark(const struct view *view, const struct view_condition *condition,
                     const struct frame_info *info, struct buf *line)
{
    if (is_verifying(view, condition)) {
        style_append(info->style, COLOUR_BLUE, style_spinner(info->style, info->tick), line);
    } else if (!condition->is_evaluated) {
        style_append(info->style, COLOUR_DIM, style_mark(info->style, MARK_UNKNOWN), line);
    } else if (condition->is_met) {
        style_append(info->style, COLOUR_GREEN, style_mark(info->style, MARK_MET), line);
    } else {
        style_append(info->style, COLOUR_RED, style_mark(info->style, MARK_NOT_MET), line);
    }
}

static void add_condition(const struct view *view, const struct view_condition *condition,
                          size_t name_columns, const struct frame_info *info, struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    buf_append_string(&line, "  ");
    add_mark(view, condition, info, &line);
    buf_append_string(&line, " ");
    text_pad(condition->name, name_columns, &line);
    bool is_running = is_verifying(view, condition);
    if (is_running || condition->is_evaluated) {
        char duration[FORMAT_DURATION_SIZE];
        int64_t running_ns = info->now_ns - view->verify_started_ns;
        format_duration(is_running ? (running_ns > 0 ? running_ns : 0) : condition->duration_ns,
                        duration);
        buf_printf(&line, "  %8s", duration);
    }
    if (!is_running && condition->is_evaluated && !condition->is_met) {
        buf_append_string(&line, "  ");
        style_append(info->style, COLOUR_DIM, condition->reason, &line);
    }
    end_line(info, &line, ret_buf);
}

/** More conditions than the terminal has rows: one line says how many are met. */
static void add_condition_count(const struct view *view, const struct frame_info *info,
                                struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "  %" PRIu32 " of %" PRIu32 " exit conditions met",
               run_conditions_met(&view->state), view->condition_count);
    end_line(info, &line, ret_buf);
}

static void add_conditions(const struct view *view, const struct frame_info *info,
                           struct buf *ret_buf)
{
    size_t name_columns = 0;
    for (uint32_t i = 0; i < view->condition_count; i++) {
        size_t width = text_width(view->conditions[i].name);
        name_columns = width > name_columns ? width : name_columns;
    }
    if (view->condition_count + OTHER_LINES > info->rows) {
        add_condition_count(view, info, ret_buf);
        return;
    }
    for (uint32_t i = 0; i < view->condition_count; i++) {
        add_condition(view, &view->conditions[i], name_columns, info, ret_buf);
    }
}

static void add_usage(const struct view *view, const struct frame_info *info, struct buf *ret_buf)
{
    const struct run_state *state = &view->state;
    if (state->tokens == 0 && run_cost(state) == 0) {
        return;
    }
    auto_buf struct buf line = {0};
    buf_append_string(&line, "  ");
    text_count(state->tokens, &line);
    if (view->limit_tokens > 0) {
        buf_append_string(&line, " of ");
        text_count(view->limit_tokens, &line);
    }
    buf_printf(&line, " tokens %s cost ", style_mark(info->style, MARK_SEPARATOR));
    text_cost(run_cost(state), &line);
    if (view->limit_cost_micro > 0) {
        buf_append_string(&line, " of ");
        text_money(view->limit_cost_micro, &line);
    }
    end_line(info, &line, ret_buf);
}

/** The current activity, with the spinner that shows that we are alive. */
static void add_activity(const struct view *view, const struct frame_info *info,
                         struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    style_append(info->style, COLOUR_BLUE, style_spinner(info->style, info->tick), &line);
    buf_append_string(&line, " ");
    if (info->is_stopping) {
        style_append(info->style, COLOUR_YELLOW,
                     "stopping after a final checkpoint; press again to stop at once", &line);
    } else if (info->activity != NULL && view->state.phase != PHASE_IN_VERIFYING) {
        buf_append_string(&line, info->activity);
    } else if (view->state.phase == PHASE_IN_VERIFYING || view->state.phase == PHASE_BODY_DONE) {
        buf_append_string(&line, "verifying");
    } else if (view->state.phase == PHASE_IN_BODY) {
        auto_buf struct buf clean = {0};
        text_clean(info->worker_line, info->worker_line_len, &clean);
        style_append(info->style, COLOUR_DIM, clean.len > 0 ? clean.data : "worker runs", &line);
    } else {
        buf_append_string(&line, "waiting");
    }
    end_line(info, &line, ret_buf);
}

void view_frame(const struct view *view, const struct frame_info *info, struct buf *ret_buf)
{
    add_head(view, info, ret_buf);
    if (view->condition_count > 0) {
        add_conditions(view, info, ret_buf);
    }
    add_usage(view, info, ret_buf);
    if (info->is_store_failing) {
        auto_buf struct buf line = {0};
        style_append(info->style, COLOUR_RED, "! the store fails: progress is not being saved",
                     &line);
        end_line(info, &line, ret_buf);
    }
    buf_append_string(ret_buf, info->lines == NULL ? "" : info->lines);
    add_activity(view, info, ret_buf);
}

size_t view_frame_rows(const struct view *view, const struct frame_info *info)
{
    bool is_counted = view->condition_count + OTHER_LINES > info->rows;
    return OTHER_LINES + (is_counted ? 1 : view->condition_count);
}
