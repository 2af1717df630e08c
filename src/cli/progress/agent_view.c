// SPDX-License-Identifier: Apache-2.0
/* Gathering what is shown of an agent, and what each event leaves on the screen. */
#include "cli/progress/agent_view.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/progress/event_line.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/panel.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Columns of a name, of a reason, and of arguments that are remembered. */
#define NAME_COLUMNS      60
#define ARGUMENTS_COLUMNS 200

bool agent_view_is_for(const struct loop_spec *spec)
{
    return spec != NULL && spec->kind != NULL && strcmp(spec->kind, "role") == 0;
}

bool agent_view_is_autonomous(const struct loop_spec *spec)
{
    auto_json struct json_object *config = NULL;
    return agent_view_is_for(spec) && spec->agent != NULL &&
           json_parse(spec->agent, strlen(spec->agent), &config, NULL) == 0 &&
           strcmp(json_get_string(config, "mode", "autonomous"), "autonomous") == 0;
}

void agent_view_init(struct agent_view *agent, const struct loop_spec *spec)
{
    *agent = (struct agent_view){
        .tail = agent_tail_new(),
        .is_numbered = agent_view_is_autonomous(spec),
    };
}

static void forget_call(struct agent_view_call *call)
{
    buf_fini(&call->name);
    buf_fini(&call->arguments);
}

static void forget_calls(struct agent_view *agent)
{
    for (size_t i = 0; i < agent->call_count; i++) {
        forget_call(&agent->calls[i]);
    }
    agent->call_count = 0;
}

static void forget_plan(struct agent_view *agent)
{
    for (size_t i = 0; i < agent->step_count; i++) {
        free(agent->steps[i].text);
    }
    free(agent->steps);
    agent->steps = NULL;
    agent->step_count = 0;
}

void agent_view_fini(struct agent_view *agent)
{
    forget_plan(agent);
    forget_calls(agent);
    buf_fini(&agent->retry);
    buf_fini(&agent->words);
    agent_tail_free(agent->tail);
    agent->tail = NULL;
}

void agent_view_text(struct agent_view *agent, const char *text, size_t len)
{
    agent_tail_add(agent->tail, text, len);
}

void agent_view_place(const struct view *view, struct buf *ret_buf)
{
    buf_printf(ret_buf, "iteration %" PRIu64, view->state.iteration);
    if (view->state.limit > 0) {
        buf_printf(ret_buf, "/%" PRIu64, view->state.limit);
    }
}

static void begin_activity(struct agent_view *agent, enum agent_view_activity activity,
                           int64_t now_ns)
{
    agent->activity = activity;
    agent->since_ns = now_ns;
    buf_clear(&agent->retry);
}

/** Append words of others, cleaned and at most `columns` wide. */
static void add_cut(const char *words, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf clean = {0};
    /* No character has more than four bytes; some have no width, so that twice as many do. */
    text_clean(words == NULL ? "" : words, words == NULL ? 0 : strnlen(words, columns * 8), &clean);
    text_fit(buf_string(&clean), columns, ret_buf);
}

/* ---- Words ---------------------------------------------------------------------------------- */

/** Words between calls: as they are, indented, above the line of the call. */
static void show_words(struct agent_view *agent, const struct style *style, size_t columns,
                       struct buf *ret_buf)
{
    auto_buf struct buf lines = {0};
    markdown_render(buf_string(&agent->words), agent->words.len, style,
                    columns > 3 ? columns - 3 : 1, &lines);
    for (size_t at = 0; at < lines.len;) {
        size_t len = strcspn(lines.data + at, "\n");
        buf_append_string(ret_buf, len > 0 ? "  " : "");
        buf_append(ret_buf, lines.data + at, len + 1);
        at += len + 1;
    }
    buf_clear(&agent->words);
}

static void take_reply(struct agent_view *agent, const struct journal_event *event,
                       const struct style *style, size_t columns, struct buf *ret_buf)
{
    const struct event_model_replied *reply = &event->model_replied;
    agent->tokens_in += reply->tokens_in;
    agent->tokens_out += reply->tokens_out;
    agent->tokens_cached += reply->tokens_cached;
    agent->is_cost_unknown = agent->is_cost_unknown || reply->cost_micro < 0;
    agent->cost_micro += reply->cost_micro > 0 ? reply->cost_micro : 0;
    agent_tail_clear(agent->tail);
    begin_activity(agent, AGENT_VIEW_CALLS_TOOLS, event->time_ns);
    if (reply->text != NULL) {
        show_words(agent, style, columns, ret_buf);
        buf_append(&agent->words, reply->text, journal_output_len(reply->text, reply->text_len));
    }
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static bool is_text(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static void take_call(struct agent_view *agent, const struct journal_event *event,
                      const struct style *style, size_t columns, struct buf *ret_buf)
{
    const struct event_tool_requested *request = &event->tool_requested;
    /* Words beside that one belong into the panel. */
    if (!is_text(request->tool, "finish_task")) {
        show_words(agent, style, columns, ret_buf);
    }
    begin_activity(agent, AGENT_VIEW_CALLS_TOOLS, event->time_ns);
    if (agent->call_count == AGENT_VIEW_CALLS) {
        return;
    }
    struct agent_view_call *call = &agent->calls[agent->call_count++];
    *call = (struct agent_view_call){
        .turn = request->turn, .index = request->index, .started_ns = event->time_ns};
    add_cut(request->tool, NAME_COLUMNS, &call->name);
    add_cut(request->arguments, ARGUMENTS_COLUMNS, &call->arguments);
}

/** Forget a call that has ended. @return its arguments in `ret_arguments`, "" = unknown */
static void end_call(struct agent_view *agent, const struct event_tool_finished *event,
                     struct buf *ret_arguments)
{
    for (size_t i = 0; i < agent->call_count; i++) {
        struct agent_view_call *call = &agent->calls[i];
        if (call->turn == event->turn && call->index == event->index) {
            buf_append_string(ret_arguments, buf_string(&call->arguments));
            forget_call(call);
            agent->call_count--;
            memmove(call, call + 1, (agent->call_count - i) * sizeof(*call));
            return;
        }
    }
}

static void add_sentence(const struct journal_event *event, const struct style *style,
                         struct buf *ret_buf)
{
    auto_buf struct buf text = {0};
    event_sentence(event, &text);
    style_append(style, event_colour(event_level(event)), buf_string(&text), ret_buf);
}

/** "  tool run_shell: ok (12ms)  {"command": ...}". */
static void show_call(const struct journal_event *event, const char *arguments,
                      const struct style *style, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf line = {0};
    bool is_ok = is_text(event->tool_finished.outcome, "ok");
    buf_append_string(&line, "  ");
    add_sentence(event, style, &line);
    if (is_ok && arguments[0] != '\0' && strcmp(arguments, "{}") != 0) {
        buf_append_string(&line, "  ");
        style_append(style, COLOUR_DIM, arguments, &line);
    }
    text_fit(buf_string(&line), columns > 1 ? columns - 1 : 1, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

/** The plan and the panel show what these do when they work. */
static bool is_shown_elsewhere(const struct event_tool_finished *event)
{
    return is_text(event->outcome, "ok") &&
           (is_text(event->tool, "update_plan") || is_text(event->tool, "finish_task"));
}

static void take_result(struct agent_view *agent, const struct journal_event *event,
                        const struct style *style, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf arguments = {0};
    end_call(agent, &event->tool_finished, &arguments);
    if (!is_shown_elsewhere(&event->tool_finished)) {
        show_call(event, buf_string(&arguments), style, columns, ret_buf);
    }
    if (agent->call_count == 0) {
        begin_activity(agent, AGENT_VIEW_CALLS_TOOLS, event->time_ns);
    }
}

static void take_retry(struct agent_view *agent, const struct journal_event *event,
                       const struct style *style, struct buf *ret_buf)
{
    agent_tail_clear(agent->tail);
    begin_activity(agent, AGENT_VIEW_THINKS, event->time_ns);
    const char *message = event->model_retrying.message;
    add_cut(message == NULL ? "no answer" : message, NAME_COLUMNS, &agent->retry);
    agent->retry_ns = event->time_ns + event->model_retrying.delay_ns;
    buf_append_string(ret_buf, "  ");
    add_sentence(event, style, ret_buf);
    buf_append_string(ret_buf, "\n");
}

/* ---- The plan ------------------------------------------------------------------------------- */

static char mark_of(const char *status)
{
    static const struct {
        const char *status;
        char mark;
    } marks[] = {{"completed", 'x'}, {"in_progress", '>'}, {"failed", '!'}, {"skipped", '-'}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (strcmp(marks[i].status, status) == 0) {
            return marks[i].mark;
        }
    }
    return ' ';
}

static void take_plan(struct agent_view *agent, const struct event_plan_updated *event)
{
    auto_json struct json_object *root = NULL;
    if (event->plan == NULL || json_parse(event->plan, strlen(event->plan), &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_array)) {
        return;
    }
    forget_plan(agent);
    size_t count = json_object_array_length(root);
    count = count < AGENT_VIEW_STEPS ? count : AGENT_VIEW_STEPS;
    agent->steps = memory_new_zero(count + 1, sizeof(*agent->steps));
    for (size_t i = 0; i < count; i++) {
        struct json_object *step = json_object_array_get_idx(root, i);
        const char *text = json_get_string(step, "description", "");
        struct buf clean = {0};
        text_clean(text, strnlen(text, 1024), &clean);
        agent->steps[i].text = buf_steal(&clean);
        agent->steps[i].mark = mark_of(json_get_string(step, "status", ""));
    }
    agent->step_count = count;
}

static void add_step(const struct agent_view_step *step, const struct style *style, size_t columns,
                     struct buf *ret_buf)
{
    enum colour colour = step->mark == 'x'   ? COLOUR_GREEN
                         : step->mark == '>' ? COLOUR_BLUE
                         : step->mark == '!' ? COLOUR_RED
                         : step->mark == '-' ? COLOUR_DIM
                                             : COLOUR_PLAIN;
    char mark[] = {'[', step->mark, ']', '\0'};
    auto_buf struct buf line = {0};
    buf_append_string(&line, "  ");
    style_append(style, colour, mark, &line);
    buf_append_string(&line, " ");
    bool is_past = step->mark == 'x' || step->mark == '-';
    style_append(style, is_past ? COLOUR_DIM : COLOUR_PLAIN, step->text, &line);
    text_fit(buf_string(&line), columns > 1 ? columns - 1 : 1, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

/** First step of a window of `rows` that shows what is being done, with what comes next. */
static size_t window_begin(const struct agent_view *agent, size_t rows)
{
    size_t present = 0;
    while (present < agent->step_count && agent->steps[present].mark != '>' &&
           agent->steps[present].mark != ' ') {
        present++;
    }
    size_t begin = present > rows / 3 ? present - rows / 3 : 0;
    return begin + rows <= agent->step_count ? begin : agent->step_count - rows;
}

void agent_view_plan(const struct agent_view *agent, const struct style *style, size_t columns,
                     size_t rows, struct buf *ret_buf)
{
    if (agent->step_count <= rows) {
        for (size_t i = 0; i < agent->step_count; i++) {
            add_step(&agent->steps[i], style, columns, ret_buf);
        }
        return;
    }
    if (rows < 2) {
        return;
    }
    size_t begin = window_begin(agent, rows - 1);
    for (size_t i = begin; i < begin + rows - 1; i++) {
        add_step(&agent->steps[i], style, columns, ret_buf);
    }
    auto_buf struct buf line = {0};
    buf_printf(&line, "  (%zu steps in all)", agent->step_count);
    text_fit(line.data, columns > 1 ? columns - 1 : 1, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

/* ---- Iterations ----------------------------------------------------------------------------- */

static void add_cost(int64_t micro, struct buf *ret_buf)
{
    int64_t rounded = (micro + 50) / 100;
    buf_printf(ret_buf, "$%" PRId64 ".%04" PRId64, rounded / 10000, rounded % 10000);
}

static void add_figures(const struct agent_view *agent, const struct view *view,
                        const struct event_iteration_finished *event, struct buf *ret_buf)
{
    buf_printf(ret_buf, "tokens: %" PRId64 "in/%" PRId64 "out | %" PRId64 "ms", agent->tokens_in,
               agent->tokens_out, event->duration_ns / NS_PER_MS);
    if (view->limit_tokens > 0) {
        buf_append_string(ret_buf, " | budget: ");
        text_count(view->state.tokens, ret_buf);
        buf_append_string(ret_buf, "/");
        text_count(view->limit_tokens, ret_buf);
    }
    if (agent->tokens_cached > 0 && agent->tokens_in > 0) {
        double percent = (double)agent->tokens_cached * 100.0 / (double)agent->tokens_in;
        buf_printf(ret_buf, " | cache hit: %d%%", percent > 100.0 ? 100 : (int)percent);
    }
    if (agent->is_cost_unknown) {
        buf_append_string(ret_buf, " | cost unknown");
    } else if (agent->cost_micro > 0) {
        buf_append_string(ret_buf, " | ");
        add_cost(agent->cost_micro, ret_buf);
    }
}

/** What the panel holds: the words; without any what the agent or the runtime says of its end. */
static void add_body(const struct agent_view *agent, const struct event_iteration_finished *event,
                     bool is_ok, const struct style *style, size_t columns, struct buf *ret_buf)
{
    const char *message = event->message == NULL ? "" : event->message;
    const char *summary = event->summary == NULL ? "" : event->summary;
    if (!is_ok && message[0] != '\0') {
        markdown_wrap(message, strlen(message), style, columns, ret_buf);
    } else if (agent->words.len > 0) {
        markdown_render(agent->words.data, agent->words.len, style, columns, ret_buf);
    } else if (summary[0] != '\0') {
        markdown_render(summary, strlen(summary), style, columns, ret_buf);
    } else {
        style_append(style, COLOUR_DIM, "(no text)", ret_buf);
        buf_append_string(ret_buf, "\n");
    }
}

static void show_iteration(struct agent_view *agent, const struct view *view,
                           const struct event_iteration_finished *event, const struct style *style,
                           size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf title = {0};
    auto_buf struct buf figures = {0};
    auto_buf struct buf body = {0};
    bool is_ok = is_text(event->outcome, "ok");
    buf_append_string(&title, is_ok ? "Agent" : "Error");
    if (agent->is_numbered) {
        buf_append_string(&title, " (");
        agent_view_place(view, &title);
        buf_append_string(&title, ")");
    }
    add_figures(agent, view, event, &figures);
    /* The last column stays free: erasing after it would take its character. */
    size_t room = columns > 1 ? columns - 1 : 1;
    add_body(agent, event, is_ok, style, panel_body_columns(room), &body);
    struct panel panel = {
        .title = buf_string(&title),
        .subtitle = buf_string(&figures),
        .body = buf_string(&body),
        .colour = is_ok ? COLOUR_BLUE : COLOUR_RED,
    };
    panel_render(&panel, style, room, ret_buf);
    buf_clear(&agent->words);
}

static void begin_iteration(struct agent_view *agent, int64_t now_ns)
{
    agent->tokens_in = 0;
    agent->tokens_out = 0;
    agent->tokens_cached = 0;
    agent->cost_micro = 0;
    agent->is_cost_unknown = false;
    forget_calls(agent);
    buf_clear(&agent->words);
    agent_tail_clear(agent->tail);
    begin_activity(agent, AGENT_VIEW_THINKS, now_ns);
}

/** The plan leaves the live area with it; what became of it stays. */
static void show_end(struct agent_view *agent, const struct style *style, size_t columns,
                     struct buf *ret_buf)
{
    if (agent->step_count > 0) {
        agent_view_plan(agent, style, columns, AGENT_VIEW_STEPS, ret_buf);
        forget_plan(agent);
    }
    begin_activity(agent, AGENT_VIEW_WAITS, 0);
}

/* long: one case for each type of event that matters */
bool agent_view_apply(struct agent_view *agent, const struct view *view,
                      const struct journal_entry *entry, const struct style *style, size_t columns,
                      struct buf *ret_buf)
{
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return false;
    }
    if (event->type == JOURNAL_ITERATION_STARTED) {
        begin_iteration(agent, event->time_ns);
    } else if (event->type == JOURNAL_MODEL_REQUESTED ||
               event->type == JOURNAL_HISTORY_COMPACTING) {
        begin_activity(agent, AGENT_VIEW_THINKS, event->time_ns);
    } else if (event->type == JOURNAL_MODEL_RETRYING) {
        take_retry(agent, event, style, ret_buf);
    } else if (event->type == JOURNAL_MODEL_REPLIED) {
        take_reply(agent, event, style, columns, ret_buf);
    } else if (event->type == JOURNAL_TOOL_REQUESTED) {
        take_call(agent, event, style, columns, ret_buf);
    } else if (event->type == JOURNAL_TOOL_FINISHED) {
        take_result(agent, event, style, columns, ret_buf);
    } else if (event->type == JOURNAL_PLAN_UPDATED) {
        take_plan(agent, &event->plan_updated);
    } else if (event->type == JOURNAL_VERIFICATION_STARTED) {
        begin_activity(agent, AGENT_VIEW_VERIFIES, event->time_ns);
    } else if (event->type == JOURNAL_VERIFICATION_FINISHED) {
        begin_activity(agent, AGENT_VIEW_CALLS_TOOLS, event->time_ns);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        show_iteration(agent, view, &event->iteration_finished, style, columns, ret_buf);
        begin_activity(agent, AGENT_VIEW_WAITS, event->time_ns);
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        show_end(agent, style, columns, ret_buf);
    } else {
        return false;
    }
    return true;
}
