// SPDX-License-Identifier: Apache-2.0
/* Lines about the steps of an agent: requests to its model, calls of tools, its plan. */
#include "cli/progress/event_telling.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/terminal/text.h"
#include "model/model.h"
#include "net/client/retry.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

/** Columns of arguments and words in a line. */
#define SHOWN_COLUMNS 100

void telling_add_cut(const struct telling *telling, const char *before, const char *words,
                     size_t columns)
{
    if (words == NULL || words[0] == '\0') {
        return;
    }
    auto_buf struct buf clean = {0};
    /* No character has more than four bytes; some have no width, so that twice as many do. */
    text_clean(words, strnlen(words, columns * 8), &clean);
    buf_append_string(telling->out, before);
    text_fit(buf_string(&clean), columns, telling->out);
}

void tell_model_requested(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    telling_add_words(telling, "asking ", event->model == NULL ? "the model" : event->model);
    buf_printf(telling->out, ", turn %" PRId64 ", %" PRId64 " message%s", event->turn,
               event->messages, event->messages == 1 ? "" : "s");
    if (event->attempt > 1) {
        buf_printf(telling->out, ", again (%" PRId64 ")", event->attempt);
    }
}

void tell_model_retrying(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    char delay[FORMAT_DURATION_SIZE];
    auto_buf struct buf line = {0};
    struct telling inner = {.event = event, .style = telling->style, .out = &line};
    format_duration(event->delay_ns, delay);
    buf_append_string(&line, "model");
    telling_add_words(&inner, ": ", event->message);
    /* The event counts the attempts that were made. */
    buf_printf(&line, ", next attempt in %s (%" PRId64 " of %u)", delay, event->attempt + 1,
               retry_policy_default().max_attempts);
    style_append(telling->style, COLOUR_YELLOW, buf_string(&line), telling->out);
}

/** Names of the calls that a reply makes. */
static void add_calls(const struct telling *telling)
{
    const char *calls = telling->event->calls;
    auto_json struct json_object *root = NULL;
    if (calls == NULL || json_parse(calls, strlen(calls), &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_array)) {
        return;
    }
    const char *separator = ", calls ";
    for (size_t i = 0; i < json_object_array_length(root); i++) {
        const char *name = json_get_string(json_object_array_get_idx(root, i), "name", "");
        telling_add_cut(telling, separator, name, SHOWN_COLUMNS);
        separator = ", ";
    }
}

static void add_usage(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    if (event->tokens_in > 0 || event->tokens_out > 0) {
        buf_printf(telling->out, ", tokens %" PRId64 "in/%" PRId64 "out", event->tokens_in,
                   event->tokens_out);
    }
    if (event->tokens_cached > 0) {
        buf_printf(telling->out, " (%" PRId64 " cached)", event->tokens_cached);
    }
    if (event->cost_micro != 0) {
        buf_append_string(telling->out, ", cost ");
        text_cost(event->cost_micro, telling->out);
    }
}

void tell_model_replied(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    bool is_ok = event->outcome == NULL || strcmp(event->outcome, "ok") == 0;
    char duration[FORMAT_DURATION_SIZE];
    format_duration(event->duration_ns, duration);
    buf_append_string(telling->out, "model ");
    if (is_ok) {
        buf_append_string(telling->out, "replied");
    } else {
        style_append(telling->style, COLOUR_RED, "failed", telling->out);
    }
    buf_printf(telling->out, " in %s", duration);
    add_usage(telling);
    if (!is_ok) {
        telling_add_words(telling, ": ", event->outcome);
        telling_add_words(telling, ", ", event->message);
        return;
    }
    add_calls(telling);
    enum model_stop stop = MODEL_STOP_END;
    bool is_told = model_stop_from_name(event->stop, &stop) && !model_stop_is_answer(stop);
    telling_add_words(telling, ", ", is_told ? model_stop_meaning(stop) : NULL);
    telling_add_cut(telling, ": ", event->output, SHOWN_COLUMNS);
}

void tell_tool_requested(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    telling_add_cut(telling, "calling ", event->name, SHOWN_COLUMNS);
    telling_add_cut(telling, " ", event->arguments, SHOWN_COLUMNS);
    if (event->attempt > 1) {
        buf_append_string(telling->out, ", again");
    }
}

void tell_tool_outcome(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    const char *outcome = event->outcome == NULL ? "" : event->outcome;
    bool is_ok = strcmp(outcome, "ok") == 0;
    bool is_error = strcmp(outcome, "error") == 0;
    auto_buf struct buf clean = {0};
    text_clean(outcome, strlen(outcome), &clean);
    style_append(telling->style,
                 is_ok      ? COLOUR_GREEN
                 : is_error ? COLOUR_RED
                            : COLOUR_YELLOW,
                 buf_string(&clean), telling->out);
    buf_printf(telling->out, " (%" PRId64 "ms)", event->duration_ns / NS_PER_MS);
}

void tell_tool_finished(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    telling_add_cut(telling, "tool ", event->name == NULL ? "?" : event->name, SHOWN_COLUMNS);
    buf_append_string(telling->out, ": ");
    tell_tool_outcome(telling);
    bool is_ok = event->outcome != NULL && strcmp(event->outcome, "ok") == 0;
    telling_add_cut(telling, ": ", is_ok ? NULL : event->output, SHOWN_COLUMNS);
}

void tell_person_answered(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    char waited[FORMAT_DURATION_SIZE];
    format_duration(event->duration_ns, waited);
    buf_printf(telling->out, "waited %s for a person", waited);
    telling_add_cut(telling, ": ", event->name, SHOWN_COLUMNS);
    telling_add_words(telling, ", ", event->name == NULL ? NULL : event->outcome);
}

void tell_time_skipped(const struct telling *telling)
{
    char skipped[FORMAT_DURATION_SIZE];
    format_duration(telling->event->duration_ns, skipped);
    buf_printf(telling->out, "%s do not count as active time", skipped);
    telling_add_words(telling, ": ", telling->event->message);
}

void tell_plan_updated(const struct telling *telling)
{
    const char *plan = telling->event->plan;
    auto_json struct json_object *root = NULL;
    bool is_read = plan != NULL && json_parse(plan, strlen(plan), &root, NULL) == 0 &&
                   json_object_is_type(root, json_type_array);
    size_t count = is_read ? json_object_array_length(root) : 0;
    size_t done = 0;
    const char *now = NULL;
    for (size_t i = 0; i < count; i++) {
        struct json_object *step = json_object_array_get_idx(root, i);
        const char *status = json_get_string(step, "status", "");
        done += strcmp(status, "completed") == 0;
        if (strcmp(status, "in_progress") == 0) {
            now = json_get_string(step, "description", NULL);
        }
    }
    buf_printf(telling->out, "plan: %zu of %zu step%s done", done, count, count == 1 ? "" : "s");
    telling_add_cut(telling, ", now: ", now, SHOWN_COLUMNS);
}

void tell_history_trimmed(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    buf_printf(telling->out, "history trimmed to the last %" PRId64 " messages", event->value);
}
