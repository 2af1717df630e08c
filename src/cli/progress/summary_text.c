// SPDX-License-Identifier: Apache-2.0
/* The result of a run for people, and what to type next. */
#include "cli/progress/summary.h"

#include "base/parse.h"
#include "base/status.h"
#include "cli/progress/agent_view.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"

#include <inttypes.h>
#include <string.h>

/** "completed  12 of 60 iterations in 4.2 s". */
static void add_head(const struct summary *summary, struct fields *fields)
{
    char duration[FORMAT_DURATION_SIZE];
    format_duration(summary->state.active_ns, duration);
    enum rondo_status status = summary->run.summary.status;
    style_append(fields->style, style_of_status(status), summary->display_status, fields->out);
    buf_printf(fields->out, " after %" PRIu64 " iteration%s in %s", summary->state.finished,
               summary->state.finished == 1 ? "" : "s", duration);
    buf_append_string(fields->out, "\n");
}

static bool is_paused(const struct summary *summary)
{
    return summary->run.summary.status == RONDO_RUNNING && summary->run.summary.is_paused;
}

static bool is_queued(const struct summary *summary)
{
    return strcmp(summary->display_status, "queued") == 0;
}

/** "paused by ann@build7 812 at 2026-11-21 16:30:05". */
static void add_pause(const struct summary *summary, struct fields *fields)
{
    auto_buf struct buf text = {0};
    if (summary_is_waiting(summary)) {
        buf_append_string(&text, "calls wait for the decision of a person");
    } else {
        buf_append_string(&text, "paused");
    }
    if (!summary_is_waiting(summary) && summary->paused_by != NULL &&
        summary->paused_by[0] != '\0') {
        buf_printf(&text, " by %s", summary->paused_by);
    }
    if (summary->paused_ns > 0) {
        buf_append_string(&text, ", ");
        text_time(summary->paused_ns, &text);
    }
    fields_add(fields, "why", buf_string(&text));
}

static void add_turn(const struct summary *summary, struct fields *fields)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "queued in a server: %s", summary->server);
    fields_add(fields, "why", buf_string(&text));
}

static void add_meaning(const struct summary *summary, struct fields *fields)
{
    if (is_paused(summary)) {
        add_pause(summary, fields);
        return;
    }
    if (is_queued(summary)) {
        add_turn(summary, fields);
        return;
    }
    const char *meaning = status_meaning(summary->run.summary.status);
    if (summary->policy != NULL && summary->denied_message[0] != '\0') {
        meaning = summary->denied_message;
    } else if (summary->message != NULL) {
        meaning = summary->message;
    }
    fields_add(fields, "why", meaning);
}

static void add_words(const struct summary *summary, struct fields *fields)
{
    if (summary->words != NULL && summary->words[0] != '\0') {
        const char *name = summary->spec.work != NULL          ? "tasks"
                           : agent_view_is_for(&summary->spec) ? "agent"
                                                               : "worker";
        fields_add(fields, name, summary->words);
    }
}

void summary_condition_text(const struct summary_condition *condition, const struct style *style,
                            size_t name_columns, struct buf *ret_buf)
{
    enum mark mark = condition->is_met         ? MARK_MET
                     : condition->is_evaluated ? MARK_NOT_MET
                                               : MARK_UNKNOWN;
    buf_append_string(ret_buf, "  ");
    style_append(style, condition->is_met ? COLOUR_GREEN : COLOUR_RED, style_mark(style, mark),
                 ret_buf);
    buf_append_string(ret_buf, " ");
    text_pad(condition->name, name_columns, ret_buf);
    buf_append_string(ret_buf, condition->is_met ? "  met" : "  not met");
    if (!condition->is_met) {
        buf_printf(ret_buf, ": %s", condition->reason);
    }
    if (condition->is_evaluated) {
        char duration[FORMAT_DURATION_SIZE];
        format_duration(condition->duration_ns, duration);
        buf_printf(ret_buf, " (%s)", duration);
    }
}

static void add_conditions(const struct summary *summary, struct fields *fields)
{
    size_t width = 0;
    for (size_t i = 0; i < summary->condition_count; i++) {
        size_t own = text_width(summary->conditions[i].name);
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < summary->condition_count; i++) {
        summary_condition_text(&summary->conditions[i], fields->style, width, fields->out);
        buf_append_string(fields->out, "\n");
    }
}

static void add_facts(const struct summary *summary, struct fields *fields)
{
    auto_buf struct buf text = {0};
    if (summary->state.checkpoint_number > 0) {
        buf_printf(&text, "%" PRIu64 ", at iteration %" PRIu64, summary->state.checkpoint_number,
                   summary->state.checkpoint_iteration);
        fields_add(fields, "checkpoint", buf_string(&text));
    }
    if (summary->state.tokens > 0 || run_cost(&summary->state) != 0) {
        buf_clear(&text);
        text_count(summary->state.tokens, &text);
        buf_append_string(&text, " tokens, cost ");
        text_cost(run_cost(&summary->state), &text);
        fields_add(fields, "used", buf_string(&text));
    }
}

static void add_storage(const struct summary *summary, struct fields *fields)
{
    if (summary->storage_failures == 0 && summary->storage_message == NULL) {
        return;
    }
    auto_buf struct buf text = {0};
    buf_append_string(&text, "STORAGE FAILURE: ");
    if (summary->storage_failures > 0) {
        buf_printf(&text, "the store failed %" PRIu64 " time%s; ", summary->storage_failures,
                   summary->storage_failures == 1 ? "" : "s");
    }
    if (summary->storage_message != NULL) {
        buf_printf(&text, "the run continued without checkpoints for a time (%s); ",
                   summary->storage_message);
    }
    buf_append_string(&text, "check the disk with `rondo doctor`");
    auto_buf struct buf wrapped = {0};
    text_wrap(buf_string(&text), 2, fields->columns, 2, &wrapped);
    buf_append_string(fields->out, "  ");
    style_append(fields->style, COLOUR_RED, buf_string(&wrapped), fields->out);
    buf_append_string(fields->out, "\n");
}

/** Whether the limit that ended the run is one of its own options. */
static bool is_own_limit(const struct summary *summary)
{
    const struct loop_spec *spec = &summary->spec;
    const struct {
        const char *name;
        int64_t option;
    } options[] = {
        {"iterations", spec->max_iterations},
        {"tokens", spec->max_tokens},
        {"cost", spec->max_cost_micro},
        {"time", spec->time_limit_ns},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(summary->limit_name, options[i].name) == 0) {
            return options[i].option > 0 && options[i].option == summary->limit;
        }
    }
    return false;
}

static void add_next(const struct summary *summary, const struct session *session, bool is_show,
                     struct fields *fields)
{
    enum rondo_status status = summary->run.summary.status;
    auto_buf struct buf hint = {0};
    if (!is_show) {
        session_hint(session, "show", summary->run.id, &hint);
        fields_add(fields, "next", buf_string(&hint));
        buf_clear(&hint);
    }
    session_hint(session, "logs", summary->run.id, &hint);
    fields_add(fields, is_show ? "next" : "", buf_string(&hint));
    buf_clear(&hint);
    if (status == RONDO_COMPLETED || is_queued(summary)) {
        return;
    }
    if (is_paused(summary)) {
        bool continues =
            run_is_executed(&summary->run, clock_now(clock_system())) || summary->server != NULL;
        session_hint(session, continues ? "continue" : "resume", summary->run.id, &hint);
        fields_add(fields, "", buf_string(&hint));
        return;
    }
    bool is_by_file = summary->policy != NULL && summary->state.policy_sha256[0] != '\0' &&
                      !is_own_limit(summary);
    if (is_by_file) {
        session_hint(session, "policy explain --run", summary->run.id, &hint);
        fields_add(fields, "", buf_string(&hint));
        buf_clear(&hint);
    }
    session_hint(session, "resume", summary->run.id, &hint);
    if (is_by_file) {
        fields_add(fields, "", buf_string(&hint));
        return;
    }
    if (status == RONDO_MAX_ITERATIONS) {
        buf_printf(&hint, " --max-iterations %" PRId64, summary->limit * 2);
    } else if (status == RONDO_TIMEOUT) {
        buf_append_string(&hint, " --time-limit ...");
    } else if (status == RONDO_BUDGET_EXCEEDED) {
        bool is_cost = summary->limit_name != NULL && strcmp(summary->limit_name, "cost") == 0;
        buf_append_string(&hint, is_cost ? " --max-cost ..." : " --max-tokens ...");
    }
    fields_add(fields, "", buf_string(&hint));
}

void summary_text_head(const struct summary *summary, struct fields *fields)
{
    add_head(summary, fields);
    add_storage(summary, fields);
    add_meaning(summary, fields);
    add_words(summary, fields);
}

/** An autonomous agent's end: a panel with its own words, and why. */
static void add_agent_end(const struct summary *summary, struct fields *fields)
{
    char duration[FORMAT_DURATION_SIZE];
    agent_view_summary(summary, fields->style, fields->columns, fields->out);
    add_storage(summary, fields);
    add_meaning(summary, fields);
    format_duration(summary->state.active_ns, duration);
    fields_add(fields, "took", duration);
}

void summary_text_tail(const struct summary *summary, const struct session *session, bool is_show,
                       struct fields *fields)
{
    add_facts(summary, fields);
    add_next(summary, session, is_show, fields);
}

void summary_text(const struct summary *summary, const struct session *session,
                  const struct style *style, size_t columns, bool is_quiet, struct buf *ret_buf)
{
    struct fields fields = {.style = style, .columns = columns, .out = ret_buf};
    if (is_quiet) {
        add_head(summary, &fields);
        add_storage(summary, &fields);
        return;
    }
    if (agent_view_is_autonomous(&summary->spec)) {
        add_agent_end(summary, &fields);
    } else {
        summary_text_head(summary, &fields);
    }
    add_conditions(summary, &fields);
    summary_text_tail(summary, session, false, &fields);
}
