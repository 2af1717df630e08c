// SPDX-License-Identifier: Apache-2.0
/* Gathering what the display shows, and the line of an iteration. */
#include "cli/progress/view.h"

#include "base/parse.h"
#include "cli/progress/event_line.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void view_init(struct view *view, const struct loop_spec *spec)
{
    *view = (struct view){
        .limit_tokens = spec->max_tokens,
        .limit_cost_micro = spec->max_cost_micro,
        .condition_count = (uint32_t)spec->condition_count,
    };
    /* The maximum counts as no limit. */
    view->state.limit =
        spec->max_iterations < LIMIT_MAX_ITERATIONS ? (uint64_t)spec->max_iterations : 0;
    for (uint32_t i = 0; i < view->condition_count; i++) {
        view->conditions[i].name = spec->conditions[i].name;
    }
}

static struct view_condition *find(struct view *view, const char *name)
{
    for (uint32_t i = 0; i < view->condition_count; i++) {
        if (name != NULL && strcmp(view->conditions[i].name, name) == 0) {
            return &view->conditions[i];
        }
    }
    return NULL;
}

static void take_finished(struct view *view, const struct event_iteration_finished *event)
{
    const char *outcome = event->outcome == NULL ? "" : event->outcome;
    const char *message = event->message == NULL ? "" : event->message;
    view->has_finished = true;
    view->finished_iteration = event->iteration;
    view->finished_duration_ns = event->duration_ns;
    view->is_finished_ok = strcmp(outcome, "ok") == 0;
    snprintf(view->finished_outcome, sizeof(view->finished_outcome), "%s", outcome);
    auto_buf struct buf clean = {0};
    text_clean(message, strlen(message), &clean);
    if (clean.len == 0 && event->exit_code > 0) {
        buf_printf(&clean, "exit code %" PRId64, event->exit_code);
    }
    snprintf(view->finished_message, sizeof(view->finished_message), "%s", buf_string(&clean));
}

static void take_evaluated(struct view *view, const struct event_condition_evaluated *event)
{
    struct view_condition *condition = find(view, event->condition);
    if (condition == NULL) {
        return;
    }
    auto_buf struct buf reason = {0};
    event_condition_reason(event, &reason);
    condition->is_evaluated = true;
    condition->is_met = event->status != NULL && strcmp(event->status, "met") == 0;
    condition->duration_ns = event->duration_ns;
    snprintf(condition->reason, sizeof(condition->reason), "%s",
             condition->is_met ? "" : buf_string(&reason));
}

static void take_round(struct view *view, const struct journal_event *event)
{
    view->verify_started_ns = event->time_ns;
    for (uint32_t i = 0; i < view->condition_count; i++) {
        if (event->verification_started.condition == NULL ||
            strcmp(event->verification_started.condition, view->conditions[i].name) == 0) {
            view->conditions[i].is_evaluated = false;
        }
    }
}

void view_apply(struct view *view, const struct journal_entry *entry)
{
    const struct journal_event *event = &entry->event;
    uint64_t limit = view->state.limit;
    if (!entry->is_known || run_fold(&view->state, event, NULL) < 0) {
        view->state.seq = event->seq;
        return;
    }
    if (view->state.limit == 0) {
        view->state.limit = limit; /* As asked for, until a gate has said what is in force. */
    }
    if (event->type == JOURNAL_ITERATION_STARTED) {
        view->body_started_ns = event->time_ns;
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        take_finished(view, &event->iteration_finished);
    } else if (event->type == JOURNAL_VERIFICATION_STARTED) {
        take_round(view, event);
    } else if (event->type == JOURNAL_CONDITION_EVALUATED) {
        take_evaluated(view, &event->condition_evaluated);
    }
}

bool view_line_is_due(const struct view *view, const struct journal_entry *entry)
{
    if (!view->has_finished) {
        return false;
    }
    bool is_part = entry->is_known && (entry->event.type == JOURNAL_VERIFICATION_STARTED ||
                                       entry->event.type == JOURNAL_CONDITION_EVALUATED ||
                                       entry->event.type == JOURNAL_ITERATION_FINISHED);
    return !is_part || view->condition_count == 0;
}

/** Name of a condition, shortened for one-line lists ("tests"). */
static const char *view_short_name(const char *name)
{
    static const char *const names[][2] = {
        {"all_tests_pass", "tests"},
        {"build_succeeds", "build"},
        {"linting_clean", "lint"},
        {"security_scan_clean", "security"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i][0], name) == 0) {
            return names[i][1];
        }
    }
    return name;
}

static int digits_of(uint64_t number)
{
    int digits = 1;
    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

void view_take_line(struct view *view, const struct style *style, struct buf *ret_buf)
{
    char duration[FORMAT_DURATION_SIZE];
    format_duration(view->finished_duration_ns, duration);
    int digits = digits_of(view->state.limit);
    buf_printf(ret_buf, "  %*" PRId64 "  ", digits, view->finished_iteration);
    style_append(style, view->is_finished_ok ? COLOUR_PLAIN : COLOUR_YELLOW, view->finished_outcome,
                 ret_buf);
    buf_append_string(ret_buf, "  ");
    style_append(style, COLOUR_DIM, duration, ret_buf);
    if (view->finished_message[0] != '\0') {
        buf_printf(ret_buf, "  %s", view->finished_message);
    }
    for (uint32_t i = 0; i < view->condition_count; i++) {
        const struct view_condition *condition = &view->conditions[i];
        if (!condition->is_evaluated) {
            continue;
        }
        buf_printf(ret_buf, i == 0 ? "   " : " %s ", style_mark(style, MARK_SEPARATOR));
        buf_printf(ret_buf, "%s ", view_short_name(condition->name));
        style_append(style, condition->is_met ? COLOUR_GREEN : COLOUR_RED,
                     condition->is_met ? "met" : "not met", ret_buf);
    }
    view->has_finished = false;
}
