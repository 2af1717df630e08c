// SPDX-License-Identifier: Apache-2.0
/* The sentences about the steps of an agent: requests to its model, tool calls, its plan. */
#include "base/clock.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/text/plain.h"
#include "journal/describe_internal.h"
#include "journal/model_stop.h"
#include "net/client/retry.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

void describe_model_requested(const struct event_model_requested *event, struct buf *out)
{
    describe_add_subject("asking ", event->model, "the model", out);
    buf_printf(out, ", turn %" PRId64 ", %" PRId64 " message%s", event->turn, event->messages,
               event->messages == 1 ? "" : "s");
    if (event->attempt > 1) {
        buf_printf(out, ", again (%" PRId64 ")", event->attempt);
    }
}

void describe_model_retrying(const struct event_model_retrying *event, struct buf *out)
{
    char delay[FORMAT_DURATION_SIZE];
    format_duration(event->delay_ns, delay);
    buf_append_string(out, "model");
    describe_add_message(": ", event->message, out);
    buf_printf(out, ", next attempt in %s (%" PRId64 " of %u)", delay, event->attempts + 1,
               retry_policy_default().max_attempts);
}

/** The list in a field of the kind JSON; NULL when it is not one. */
static struct json_object *read_list(const char *json, struct json_object **ret_root)
{
    bool is_list = json != NULL && json_parse(json, strlen(json), ret_root, NULL) == 0 &&
                   json_object_is_type(*ret_root, json_type_array);
    return is_list ? *ret_root : NULL;
}

/** Names of the calls that a reply makes. */
static void add_calls(const char *calls, struct buf *out)
{
    auto_json struct json_object *root = NULL;
    struct json_object *list = read_list(calls, &root);
    const char *separator = ", calls ";
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        const char *name = json_get_string(json_object_array_get_idx(list, i), "name", "");
        describe_add_name(separator, name, out);
        separator = ", ";
    }
}

static void add_tokens(int64_t in, int64_t out_tokens, struct buf *out)
{
    if (in > 0 || out_tokens > 0) {
        buf_printf(out, ", tokens %" PRId64 "in/%" PRId64 "out", in, out_tokens);
    }
}

static void add_cost(int64_t cost_micro, struct buf *out)
{
    if (cost_micro != 0) {
        buf_append_string(out, ", cost ");
        text_cost(cost_micro, out);
    }
}

static void add_usage(const struct event_model_replied *event, struct buf *out)
{
    add_tokens(event->tokens_in, event->tokens_out, out);
    if (event->tokens_cached > 0) {
        buf_printf(out, " (%" PRId64 " cached)", event->tokens_cached);
    }
    add_cost(event->cost_micro, out);
}

/** Why a reply ended, where that makes it less than an answer; NULL = it does not. */
static const char *shortcoming(const char *name)
{
    enum model_stop stop = MODEL_STOP_END;
    bool is_short = model_stop_from_name(name, &stop) && !model_stop_is_answer(stop);
    return is_short ? model_stop_meaning(stop) : NULL;
}

static bool is_failed(const char *outcome)
{
    return outcome != NULL && strcmp(outcome, "ok") != 0;
}

void describe_model_replied(const struct event_model_replied *event, struct buf *out)
{
    bool has_failed = is_failed(event->outcome);
    buf_append_string(out, has_failed ? "model failed" : "model replied");
    describe_add_duration(event->duration_ns, out);
    add_usage(event, out);
    if (has_failed) {
        describe_add_name(": ", event->outcome, out);
        describe_add_message(", ", event->message, out);
        return;
    }
    add_calls(event->calls, out);
    describe_add_name(", ", shortcoming(event->stop), out);
    describe_add_name(": ", event->text, out);
}

enum event_level level_model_replied(const struct event_model_replied *event)
{
    return is_failed(event->outcome) ? EVENT_LEVEL_FAILURE : EVENT_LEVEL_INFO;
}

void describe_content_filtered(const struct event_content_filtered *event, struct buf *out)
{
    describe_add_subject("", event->subject, "text", out);
    describe_add_subject(" ", event->action, "filtered", out);
    describe_add_message(": ", event->message, out);
}

enum event_level level_content_filtered(const struct event_content_filtered *event)
{
    return describe_is(event->action, "blocked") ? EVENT_LEVEL_FAILURE : EVENT_LEVEL_NOTICE;
}

void describe_tool_requested(const struct event_tool_requested *event, struct buf *out)
{
    describe_add_subject("calling ", event->tool, "a tool", out);
    describe_add_name(" ", event->arguments, out);
    buf_append_string(out, event->attempt > 1 ? ", again" : "");
}

void describe_tool_finished(const struct event_tool_finished *event, struct buf *out)
{
    buf_append_string(out, "tool");
    describe_add_name(" ", event->tool, out);
    describe_add_subject(": ", event->outcome, "finished", out);
    buf_printf(out, " (%" PRId64 "ms)", event->duration_ns / NS_PER_MS);
    describe_add_name(": ", is_failed(event->outcome) ? event->output : NULL, out);
}

enum event_level level_tool_finished(const struct event_tool_finished *event)
{
    return is_failed(event->outcome) ? EVENT_LEVEL_FAILURE : EVENT_LEVEL_INFO;
}

void describe_person_answered(const struct event_person_answered *event, struct buf *out)
{
    char waited[FORMAT_DURATION_SIZE];
    format_duration(event->waited_ns, waited);
    buf_printf(out, "waited %s for a person", waited);
    describe_add_name(": ", event->tool, out);
    describe_add_name(", ", event->tool == NULL ? NULL : event->answer, out);
}

/** Digits of an id by which people name a handoff. */
#define SHOWN_ID_LEN 13

void describe_handoff_requested(const struct event_handoff_requested *event, struct buf *out)
{
    buf_append_string(out, "waits for the decision of a person: ");
    describe_add_subject("", event->tool, "a call", out);
    describe_add_name(", ", event->reason, out);
    if (event->request != NULL) {
        buf_printf(out, " (%.*s)", SHOWN_ID_LEN, event->request);
    }
}

enum event_level level_handoff_decided(const struct event_handoff_decided *event)
{
    bool is_approved = event->decision != NULL && strcmp(event->decision, "approved") == 0;
    return is_approved ? EVENT_LEVEL_INFO : EVENT_LEVEL_NOTICE;
}

void describe_handoff_decided(const struct event_handoff_decided *event, struct buf *out)
{
    describe_add_subject("", event->tool, "a call", out);
    describe_add_name(": ", event->decision, out);
    describe_add_name(" by ", event->by, out);
}

void describe_plan_updated(const struct event_plan_updated *event, struct buf *out)
{
    auto_json struct json_object *root = NULL;
    struct json_object *list = read_list(event->plan, &root);
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    size_t done = 0;
    const char *now = NULL;
    for (size_t i = 0; i < count; i++) {
        struct json_object *step = json_object_array_get_idx(list, i);
        const char *status = json_get_string(step, "status", "");
        done += strcmp(status, "completed") == 0;
        if (strcmp(status, "in_progress") == 0) {
            now = json_get_string(step, "description", NULL);
        }
    }
    buf_printf(out, "plan: %zu of %zu step%s done", done, count, count == 1 ? "" : "s");
    describe_add_name(", now: ", now, out);
}

int64_t event_dropped_messages(const struct event_history_trimmed *event)
{
    if (event->dropped > 0) {
        return event->dropped;
    }
    return event->messages_before > event->window && event->window >= 0
               ? event->messages_before - event->window
               : 0;
}

void describe_history_trimmed(const struct event_history_trimmed *event, struct buf *out)
{
    int64_t dropped = event_dropped_messages(event);
    buf_printf(out, "conversation trimmed: %" PRId64 " message%s dropped, %" PRId64 " kept",
               dropped, dropped == 1 ? "" : "s", event->messages_before - dropped);
}

static void add_counted(int64_t count, const char *noun, struct buf *out)
{
    buf_printf(out, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

enum event_level level_delegation_finished(const struct event_delegation_finished *event)
{
    return describe_is(event->outcome, "completed") ? EVENT_LEVEL_INFO : EVENT_LEVEL_NOTICE;
}

void describe_delegation_finished(const struct event_delegation_finished *event, struct buf *out)
{
    describe_add_subject("", event->agent, "another agent", out);
    describe_add_name(": ", event->outcome, out);
    describe_add_duration(event->duration_ns, out);
    if (event->tokens > 0) {
        buf_printf(out, ", %" PRId64 " tokens", event->tokens);
    }
    add_cost(event->cost_micro, out);
    describe_add_name(", run ", event->run, out);
}

void describe_history_compacting(const struct event_history_compacting *event, struct buf *out)
{
    buf_append_string(out, "summarising ");
    add_counted(event->replaced, "old message", out);
    describe_add_name(" with ", event->model, out);
}

enum event_level level_history_compacted(const struct event_history_compacted *event)
{
    return event->replaced > 0 ? EVENT_LEVEL_INFO : EVENT_LEVEL_NOTICE;
}

void describe_history_compacted(const struct event_history_compacted *event, struct buf *out)
{
    if (event->replaced > 0) {
        buf_append_string(out, "conversation compacted: a summary replaces ");
        add_counted(event->replaced, "message", out);
    } else {
        buf_append_string(out, "conversation not compacted, only trimmed");
        describe_add_message(": ", event->message, out);
    }
    if (event->duration_ns > 0) {
        describe_add_duration(event->duration_ns, out);
    }
    add_tokens(event->tokens_in, event->tokens_out, out);
    add_cost(event->cost_micro, out);
}

void describe_model_embedded(const struct event_model_embedded *event, struct buf *out)
{
    buf_append_string(out, "vectors for ");
    add_counted(event->texts, "text", out);
    describe_add_name(" from ", event->model, out);
    describe_add_duration(event->duration_ns, out);
    add_tokens(event->tokens, 0, out);
    add_cost(event->cost_micro, out);
}

void describe_consolidation_started(const struct event_consolidation_started *event,
                                    struct buf *out)
{
    buf_append_string(out, "deriving facts from ");
    add_counted(event->episodes, "episode", out);
    describe_add_name(" with ", event->model, out);
    if (event->attempt > 1) {
        buf_printf(out, ", attempt %" PRId64, event->attempt);
    }
}

void describe_consolidation_finished(const struct event_consolidation_finished *event,
                                     struct buf *out)
{
    bool has_failed = is_failed(event->outcome);
    if (has_failed) {
        buf_append_string(out, "no facts derived from ");
    } else {
        buf_append_string(out, "derived ");
        add_counted(event->facts, "fact", out);
        buf_append_string(out, " from ");
    }
    add_counted(event->episodes, "episode", out);
    if (event->duration_ns > 0) {
        describe_add_duration(event->duration_ns, out);
    }
    add_tokens(event->tokens_in, event->tokens_out, out);
    add_cost(event->cost_micro, out);
    describe_add_message(": ", has_failed ? event->message : NULL, out);
}

enum event_level level_consolidation_finished(const struct event_consolidation_finished *event)
{
    return is_failed(event->outcome) ? EVENT_LEVEL_FAILURE : EVENT_LEVEL_INFO;
}
