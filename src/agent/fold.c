// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of an agent is the fold of its events: what is recorded while it runs and what is read
 * when it is resumed go through the same functions, so that a resumed agent knows exactly what the
 * first one knew.
 */
#include "agent/internal.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget_calls(struct agent_memory *memory)
{
    for (size_t i = 0; i < memory->call_count; i++) {
        free(memory->calls[i].call.id);
        free(memory->calls[i].call.name);
        free(memory->calls[i].call.arguments);
        buf_fini(&memory->calls[i].answer);
    }
    free(memory->calls);
    memory->calls = NULL;
    memory->call_count = 0;
}

void agent_memory_fini(struct agent_memory *memory)
{
    forget_calls(memory);
    history_fini(&memory->history);
    plan_fini(&memory->plan);
    free(memory->summary);
    free(memory->words);
    for (size_t i = 0; i < AGENT_SAID; i++) {
        free(memory->said[i]);
    }
    free(memory->blocked);
    *memory = (struct agent_memory){0};
}

void agent_begin_iteration(struct agent_memory *memory, uint64_t iteration)
{
    if (memory->iteration == iteration) {
        return; /* It continues where it was interrupted. */
    }
    memory->iteration = iteration;
    memory->usage = (struct agent_usage){0};
    memory->has_words = false;
    memory->is_answered = false;
    memory->finish = FINISH_NONE;
    free(memory->summary);
    memory->summary = NULL;
    free(memory->blocked);
    memory->blocked = NULL;
}

void agent_end_iteration(struct agent_memory *memory)
{
    memory->idle = memory->usage.tool_calls == 0 ? memory->idle + 1 : 0;
}

static void keep_said(struct agent_memory *memory, const char *words)
{
    char **place = &memory->said[memory->said_count++ % AGENT_SAID];
    free(*place);
    *place = memory_dup_bytes(words, strnlen(words, AGENT_SAID_BYTES));
}

static void fold_requested(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    const struct event_model_requested *request = &event->model_requested;
    memory->is_request_open = true;
    memory->attempt = request->attempt;
    if (request->attempt <= 1 || request->prompt != NULL) {
        memory->usage.requests++;
    }
    if (request->prompt != NULL) {
        struct model_message message;
        model_write_user(agent->model, request->prompt, &message);
        history_add(&memory->history, &message, event->seq);
        memory->has_words = true;
        keep_said(memory, request->prompt);
    }
}

static void take_calls(struct agent_memory *memory, const char *json)
{
    auto_json struct json_object *list = NULL;
    forget_calls(memory);
    if (json == NULL || json_parse(json, strlen(json), &list, NULL) < 0 ||
        !json_object_is_type(list, json_type_array)) {
        return;
    }
    memory->call_count = json_object_array_length(list);
    memory->calls = memory_new_zero(memory->call_count, sizeof(*memory->calls));
    for (size_t i = 0; i < memory->call_count; i++) {
        struct json_object *call = json_object_array_get_idx(list, i);
        memory->calls[i].call = (struct model_call){
            .id = memory_dup_string(json_get_string(call, "id", "")),
            .name = memory_dup_string(json_get_string(call, "name", "")),
            .arguments = memory_dup_string(json_get_string(call, "arguments", "")),
        };
    }
}

/** The reply as a message; what is borrowed for it lives until the end of the call. */
static void add_reply(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    struct model_call *calls = memory_new_zero(memory->call_count + 1, sizeof(*calls));
    for (size_t i = 0; i < memory->call_count; i++) {
        calls[i] = memory->calls[i].call;
    }
    struct model_reply reply = {
        .text = memory->words,
        .thinking = (char *)"",
        .calls = calls,
        .call_count = memory->call_count,
        .native = (char *)event->model_replied.native,
    };
    struct model_message message;
    model_write_assistant(agent->model, &reply, &message);
    history_add(&memory->history, &message, event->seq);
    free(calls);
}

/** @return MODEL_STOP_END where an older version did not say */
static enum model_stop stop_of(const char *name)
{
    enum model_stop stop = MODEL_STOP_END;
    model_stop_from_name(name, &stop);
    return stop;
}

static bool is_ok(const char *outcome)
{
    return outcome != NULL && strcmp(outcome, "ok") == 0;
}

static void fold_replied(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    const struct event_model_replied *reply = &event->model_replied;
    memory->usage.tokens_in += reply->tokens_in;
    memory->usage.tokens_out += reply->tokens_out;
    if (reply->tokens_in > memory->usage.largest_in) {
        memory->usage.largest_in = reply->tokens_in;
    }
    if (!is_ok(reply->outcome)) {
        return; /* The request is still open: it is the same turn that is tried again. */
    }
    memory->is_request_open = false;
    memory->turn = (uint64_t)reply->turn;
    memory->stop = stop_of(reply->stop);
    free(memory->words);
    size_t len = journal_output_len(reply->text, reply->text_len);
    memory->words = memory_dup_bytes(reply->text == NULL ? "" : reply->text, len);
    take_calls(memory, reply->calls);
    memory->is_answered = memory->call_count == 0;
    memory->usage.tool_calls += (int64_t)memory->call_count;
    add_reply(agent, event);
}

/** Once all calls are answered, the answers are a message. */
static void add_answers(struct agent *agent, uint64_t seq)
{
    struct agent_memory *memory = &agent->memory;
    struct model_answer *answers = memory_new_zero(memory->call_count, sizeof(*answers));
    for (size_t i = 0; i < memory->call_count; i++) {
        const struct agent_call *call = &memory->calls[i];
        if (!call->is_answered) {
            free(answers);
            return;
        }
        answers[i] = (struct model_answer){
            .call_id = call->call.id,
            .name = call->call.name,
            .text = buf_string(&call->answer),
            .text_len = call->answer.len,
            .is_error = call->is_error,
        };
    }
    struct model_message message;
    model_write_answers(agent->model, answers, memory->call_count, &message);
    history_add(&memory->history, &message, seq);
    free(answers);
    forget_calls(memory);
}

static struct agent_call *find_call(struct agent_memory *memory, int64_t turn, int64_t index)
{
    bool is_known =
        turn == (int64_t)memory->turn && index >= 0 && (uint64_t)index < memory->call_count;
    return is_known ? &memory->calls[index] : NULL;
}

/** The run has the agent's word. */
static void take_finish(struct agent_memory *memory, const struct agent_call *call)
{
    auto_json struct json_object *arguments = NULL;
    json_parse(call->call.arguments, strlen(call->call.arguments), &arguments, NULL);
    if (!agent_read_finish(arguments, &memory->finish)) {
        return; /* accepted by a version that did not look */
    }
    free(memory->summary);
    const char *summary = json_get_string(arguments, "summary", "");
    memory->summary = summary[0] == '\0' ? NULL : memory_dup_string(summary);
}

static void fold_tool_requested(struct agent *agent, const struct event_tool_requested *event)
{
    struct agent_call *call = find_call(&agent->memory, event->turn, event->index);
    if (call != NULL) {
        call->is_begun = true;
        call->attempt = event->attempt;
    }
}

/** Questions are answered by the next request, or by a decision. */
static void end_questions(struct agent_memory *memory, const char *request)
{
    if (request != NULL && strcmp(memory->asked, request) == 0) {
        memory->asked[0] = '\0';
    }
}

static void fold_handoff_requested(struct agent *agent, const struct event_handoff_requested *event)
{
    struct agent_call *call = find_call(&agent->memory, event->turn, event->index);
    end_questions(&agent->memory, event->request);
    if (call != NULL && event->request != NULL) {
        snprintf(call->request, sizeof(call->request), "%s", event->request);
        call->is_waiting = true;
    }
}

static void fold_handoff_decided(struct agent *agent, const struct event_handoff_decided *event)
{
    struct agent_call *call = find_call(&agent->memory, event->turn, event->index);
    bool is_question = event->decision != NULL && strcmp(event->decision, "needs_info") == 0;
    if (call != NULL) {
        call->is_waiting = false;
    }
    end_questions(&agent->memory, event->request);
    if (is_question && event->request != NULL) {
        snprintf(agent->memory.asked, sizeof(agent->memory.asked), "%s", event->request);
        agent->memory.evidence_calls = 0;
    }
}

static void fold_tool_finished(struct agent *agent, const struct event_tool_finished *event,
                               uint64_t seq)
{
    struct agent_memory *memory = &agent->memory;
    struct agent_call *call = find_call(memory, event->turn, event->index);
    if (call == NULL) {
        return;
    }
    if (is_ok(event->outcome) && strcmp(call->call.name, "finish_task") == 0) {
        take_finish(memory, call);
    }
    if (strcmp(call->call.name, "finish_task") == 0 && event->output != NULL &&
        strategy_is_reflection(event->output)) {
        memory->reflections++;
    }
    memory->evidence_calls++;
    call->is_answered = true;
    call->is_error = !is_ok(event->outcome);
    buf_clear(&call->answer);
    buf_append(&call->answer, event->output == NULL ? "" : event->output,
               journal_output_len(event->output, event->output_len));
    add_answers(agent, seq);
}

/** A blocked answer ends the iteration; what else was blocked is only not there. */
static void fold_filtered(struct agent_memory *memory, const struct event_content_filtered *event)
{
    const char *subject = event->subject == NULL ? "" : event->subject;
    bool is_answer = strcmp(subject, "answer") == 0 || strcmp(subject, "summary") == 0;
    bool is_blocked = event->action != NULL && strcmp(event->action, "blocked") == 0;
    if (is_answer && is_blocked && memory->blocked == NULL) {
        memory->blocked = memory_dup_string(event->message == NULL ? "" : event->message);
    }
}

static void fold_plan(struct agent *agent, const struct event_plan_updated *event)
{
    auto_json struct json_object *steps = NULL;
    if (event->plan != NULL && json_parse(event->plan, strlen(event->plan), &steps, NULL) == 0) {
        plan_load(&agent->memory.plan, steps);
    }
}

static void write_summary(const struct agent *agent, const struct event_history_compacted *event,
                          struct model_message *ret_message)
{
    auto_buf struct buf text = {0};
    buf_append(&text, event->summary == NULL ? "" : event->summary,
               journal_output_len(event->summary, event->summary_len));
    model_write_user(agent->model, buf_string(&text), ret_message);
}

void agent_add_summary(struct agent *agent, const struct journal_event *event)
{
    struct model_message message;
    write_summary(agent, &event->history_compacted, &message);
    history_add(&agent->memory.history, &message, event->seq);
    agent->memory.history.head = agent->memory.history.count;
}

static void fold_compacted(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    const struct event_history_compacted *compacted = &event->history_compacted;
    size_t head = agent->carried > 0 ? 0 : 1;
    size_t count = memory->history.count;
    struct model_message message;
    memory->is_compacting = false;
    memory->compacted = (uint64_t)compacted->iteration;
    memory->usage.tokens_in += compacted->tokens_in;
    memory->usage.tokens_out += compacted->tokens_out;
    if (compacted->replaced <= 0 || count < head || (size_t)compacted->replaced > count - head) {
        return;
    }
    write_summary(agent, compacted, &message);
    history_compact(&memory->history, head, (size_t)compacted->replaced, &message, event->seq);
    if (agent->carried > 0) {
        agent->carried = memory->history.count; /* The run has no messages of its own yet. */
    }
}

void agent_fold(struct agent *agent, const struct journal_event *event)
{
    if (event->type == JOURNAL_RUN_FINISHED) {
        agent->memory.idle = 0; /* A resume gives it another chance. */
    } else if (event->type == JOURNAL_ITERATION_STARTED) {
        agent_begin_iteration(&agent->memory, (uint64_t)event->iteration_started.iteration);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        agent_end_iteration(&agent->memory);
    } else if (event->type == JOURNAL_MODEL_REQUESTED) {
        fold_requested(agent, event);
    } else if (event->type == JOURNAL_MODEL_REPLIED) {
        fold_replied(agent, event);
    } else if (event->type == JOURNAL_CONTENT_FILTERED) {
        fold_filtered(&agent->memory, &event->content_filtered);
    } else if (event->type == JOURNAL_TOOL_REQUESTED) {
        fold_tool_requested(agent, &event->tool_requested);
    } else if (event->type == JOURNAL_TOOL_FINISHED) {
        fold_tool_finished(agent, &event->tool_finished, event->seq);
    } else if (event->type == JOURNAL_HANDOFF_REQUESTED) {
        fold_handoff_requested(agent, &event->handoff_requested);
    } else if (event->type == JOURNAL_HANDOFF_DECIDED) {
        fold_handoff_decided(agent, &event->handoff_decided);
    } else if (event->type == JOURNAL_PLAN_UPDATED) {
        fold_plan(agent, &event->plan_updated);
    } else if (event->type == JOURNAL_HISTORY_COMPACTING) {
        agent->memory.is_compacting = true;
        agent->memory.compacted = (uint64_t)event->history_compacting.iteration;
        agent->memory.usage.requests++;
    } else if (event->type == JOURNAL_HISTORY_COMPACTED) {
        fold_compacted(agent, event);
    } else if (event->type == JOURNAL_HISTORY_TRIMMED) {
        history_trim(&agent->memory.history, event->history_trimmed.window);
    }
}

void agent_record(struct agent *agent, const struct journal_event *event)
{
    loop_record(agent->loop, event);
    struct journal_event recorded = *event;
    recorded.seq = loop_state(agent->loop)->seq;
    agent_fold(agent, &recorded);
}
