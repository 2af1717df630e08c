// SPDX-License-Identifier: Apache-2.0
/* The agent's part of the live area, its lines where there is no terminal, header and summary. */
#include "cli/progress/agent_view.h"

#include "base/clock.h"
#include "base/parse.h"
#include "cli/progress/event_line.h"
#include "cli/progress/summary.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/markdown_text.h"
#include "cli/terminal/panel.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <string.h>

/** Lines of the words that are streaming in. */
#define TAIL_ROWS 4
/** Calls under way that are shown. */
#define CALL_ROWS 4

void agent_view_header(const struct loop_spec *spec, const struct style *style, struct buf *ret_buf)
{
    if (!agent_view_is_autonomous(spec)) {
        return;
    }
    buf_append_string(ret_buf, style_begin(style, COLOUR_BOLD));
    buf_append_string(ret_buf, "Autonomous mode");
    buf_append_string(ret_buf, style_end(style));
    buf_append_string(ret_buf, style->is_unicode ? " \u2014 agent: " : " - agent: ");
    text_clean(spec->agent_id, strlen(spec->agent_id), ret_buf);
    buf_append_string(ret_buf, "\n");
    if (spec->max_iterations > 0) {
        buf_printf(ret_buf, "  Max iterations: %" PRId64 "\n", spec->max_iterations);
    }
    if (spec->max_tokens > 0) {
        buf_append_string(ret_buf, "  Token budget: ");
        text_count(spec->max_tokens, ret_buf);
        buf_append_string(ret_buf, "\n");
    }
}

static void add_elapsed(int64_t since_ns, const struct frame_info *info, struct buf *ret_buf)
{
    int64_t elapsed_ns = info->now_ns - since_ns;
    if (since_ns > 0 && elapsed_ns >= NS_PER_S) {
        char duration[FORMAT_DURATION_SIZE];
        format_duration(elapsed_ns, duration);
        buf_append_string(ret_buf, "  ");
        style_append(info->style, COLOUR_DIM, duration, ret_buf);
    }
}

/** "  (spinner) run_shell  3.2 s  {"command": ...}" */
static void add_call(const struct agent_view_call *call, const struct frame_info *info,
                     struct buf *ret_lines)
{
    auto_buf struct buf line = {0};
    buf_append_string(&line, "  ");
    style_append(info->style, COLOUR_BLUE, style_spinner(info->style, info->tick), &line);
    buf_printf(&line, " tool %s", buf_string(&call->name));
    add_elapsed(call->started_ns, info, &line);
    buf_append_string(&line, "  ");
    style_append(info->style, COLOUR_DIM, buf_string(&call->arguments), &line);
    text_fit(buf_string(&line), info->columns > 1 ? info->columns - 1 : 1, ret_lines);
    buf_append(ret_lines, "\n", 1);
}

/** The last lines of the words that are streaming in. */
static void add_tail(const struct agent_view *agent, const struct frame_info *info, size_t rows,
                     struct buf *ret_lines)
{
    auto_buf struct buf raw = {0};
    auto_buf struct buf clean = {0};
    agent_tail_copy(agent->tail, &raw);
    markdown_clean(buf_string(&raw), raw.len, &clean);
    struct markdown_text words = {0};
    markdown_text_add_verbatim(&words, buf_string(&clean), clean.len, MARKDOWN_FAINT);
    struct markdown_line lines[TAIL_ROWS];
    struct markdown_line line = {0};
    size_t count = 0;
    size_t columns = info->columns > 8 ? info->columns - 3 : 5;
    while (markdown_text_line(&words, line.next, columns, false, &line)) {
        if (line.end > line.begin) {
            lines[count++ % TAIL_ROWS] = line;
        }
    }
    size_t shown = count < TAIL_ROWS ? count : TAIL_ROWS;
    shown = shown < rows ? shown : rows;
    for (size_t i = count - shown; i < count; i++) {
        buf_append_string(ret_lines, "  ");
        markdown_text_write(&words, &lines[i % TAIL_ROWS], 0, info->style, ret_lines);
        buf_append(ret_lines, "\n", 1);
    }
    markdown_text_fini(&words);
}

void agent_view_lines(const struct agent_view *agent, const struct frame_info *info, size_t rows,
                      struct buf *ret_lines)
{
    size_t calls = agent->call_count < CALL_ROWS ? agent->call_count : CALL_ROWS;
    calls = calls < rows ? calls : rows;
    size_t rest = rows - calls;
    size_t plan = agent->step_count <= rest ? agent->step_count : rest - rest / 4;
    agent_view_plan(agent, info->style, info->columns, plan, ret_lines);
    for (size_t i = 0; i < calls; i++) {
        add_call(&agent->calls[i], info, ret_lines);
    }
    if (agent->activity == AGENT_VIEW_THINKS) {
        add_tail(agent, info, rest - plan, ret_lines);
    }
}

/** @return whether there is a pause before the next attempt */
static bool add_retry(const struct agent_view *agent, const struct frame_info *info,
                      struct buf *ret_text)
{
    int64_t left_s = (agent->retry_ns - info->now_ns + NS_PER_S - 1) / NS_PER_S;
    if (agent->retry.len == 0 || left_s <= 0) {
        return false;
    }
    auto_buf struct buf text = {0};
    buf_printf(&text, "model: %s, next attempt in %" PRId64 " s", buf_string(&agent->retry),
               left_s);
    style_append(info->style, COLOUR_YELLOW, buf_string(&text), ret_text);
    return true;
}

void agent_view_activity(const struct agent_view *agent, const struct view *view,
                         const struct frame_info *info, struct buf *ret_text)
{
    switch (agent->activity) {
    case AGENT_VIEW_THINKS:
        if (add_retry(agent, info, ret_text)) {
            return;
        }
        buf_append_string(ret_text, "Thinking");
        if (agent->is_numbered) {
            buf_append_string(ret_text, " (");
            agent_view_place(view, ret_text);
            buf_append_string(ret_text, ")");
        }
        buf_append_string(ret_text, "...");
        add_elapsed(agent->since_ns, info, ret_text);
        break;
    case AGENT_VIEW_CALLS_TOOLS:
        if (agent->call_count > 0) {
            buf_printf(ret_text, "%zu tool%s running", agent->call_count,
                       agent->call_count == 1 ? "" : "s");
        } else {
            buf_append_string(ret_text, "working");
        }
        break;
    case AGENT_VIEW_VERIFIES:
        buf_append_string(ret_text, "verifying");
        break;
    case AGENT_VIEW_WAITS:
        buf_append_string(ret_text, "waiting");
        break;
    }
}

/** Whether it begins what an event about the result follows, and not for another time. */
static bool is_first_intent(const struct journal_event *event)
{
    return (event->type == JOURNAL_MODEL_REQUESTED && event->model_requested.attempt <= 1) ||
           (event->type == JOURNAL_TOOL_REQUESTED && event->tool_requested.attempt <= 1);
}

void agent_view_plain(const struct agent_view *agent, const struct journal_entry *entry,
                      const struct style *style, struct buf *ret_buf)
{
    const struct journal_event *event = &entry->event;
    (void)agent;
    if (entry->is_known && is_first_intent(event)) {
        return; /* The result follows. */
    }
    struct journal_entry shown = *entry;
    const char *words = NULL;
    size_t len = 0;
    if (entry->is_known && event->type == JOURNAL_MODEL_REPLIED) {
        words = journal_event_output(event, &len);
        shown.event.model_replied.text = NULL; /* It follows as a whole. */
    }
    event_line(&shown, style, ret_buf);
    buf_append_string(ret_buf, "\n");
    if (words != NULL) {
        event_output(words, len, ret_buf);
    }
}

static void add_counts(const struct summary *summary, struct buf *ret_buf)
{
    buf_printf(ret_buf, " | Iterations: %" PRIu64, summary->state.finished);
    uint64_t limit =
        summary->state.limit > 0 ? summary->state.limit : (uint64_t)summary->spec.max_iterations;
    if (limit > 0) {
        buf_printf(ret_buf, "/%" PRIu64, limit);
    }
    buf_append_string(ret_buf, " | Tokens: ");
    text_count(summary->state.tokens, ret_buf);
}

/** The agent's own words about its end, or the runtime's. */
static void add_summary(const struct summary *summary, const struct style *style, size_t columns,
                        struct buf *ret_buf)
{
    const char *words = summary->words != NULL && summary->words[0] != '\0' ? summary->words
                        : summary->denied_message != NULL && summary->denied_message[0] != '\0'
                            ? summary->denied_message
                        : summary->message != NULL ? summary->message
                                                   : "";
    if (words[0] == '\0') {
        return;
    }
    auto_buf struct buf text = {0};
    buf_printf(&text, "Summary: %s", words);
    markdown_render(text.data, text.len, style, columns, ret_buf);
}

void agent_view_summary(const struct summary *summary, const struct style *style, size_t columns,
                        struct buf *ret_buf)
{
    enum rondo_status status = summary->run.summary.status;
    auto_buf struct buf body = {0};
    size_t room = columns > 1 ? columns - 1 : 1;
    buf_append_string(&body, "Status: ");
    style_append(style, style_of_status(status), summary->display_status, &body);
    add_counts(summary, &body);
    buf_append_string(&body, "\n");
    if (style->is_terminal && panel_body_columns(room) < text_width(body.data)) {
        auto_buf struct buf wrapped = {0};
        text_wrap(body.data, 0, panel_body_columns(room), 0, &wrapped);
        buf_clear(&body);
        buf_append(&body, wrapped.data, wrapped.len);
    }
    add_summary(summary, style, panel_body_columns(room), &body);
    if (!style->is_terminal) {
        buf_printf(ret_buf, "Autonomous Run Complete\n%s", body.data);
        return;
    }
    struct panel panel = {
        .title = "Autonomous Run Complete", .body = body.data, .colour = style_of_status(status)};
    panel_render(&panel, style, room, ret_buf);
}
