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
    *memory = (struct agent_memory){0};
}

void agent_begin_iteration(struct agent_memory *memory, uint64_t iteration)
{
    if (memory->iteration == iteration) {
        return; /* It goes on where it was cut off. */
    }
    memory->iteration = iteration;
    memory->usage = (struct agent_usage){0};
    memory->has_words = false;
    memory->is_answered = false;
    memory->finish = FINISH_NONE;
    free(memory->summary);
    memory->summary = NULL;
}

void agent_end_iteration(struct agent_memory *memory)
{
    memory->idle = memory->usage.tool_calls == 0 ? memory->idle + 1 : 0;
}

static void fold_requested(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    memory->is_request_open = true;
    memory->attempt = event->attempt;
    if (event->attempt <= 1 || event->prompt != NULL) {
        memory->usage.requests++;
    }
    if (event->prompt != NULL) {
        struct model_message message;
        model_write_user(agent->model, event->prompt, &message);
        history_add(&memory->history, &message, event->seq);
        memory->has_words = true;
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
        .native = (char *)event->native,
    };
    struct model_message message;
    model_write_assistant(agent->model, &reply, &message);
    history_add(&memory->history, &message, event->seq);
    free(calls);
}

/** @return MODEL_STOP_END where an older version did not say */
static enum model_stop stop_of(const struct journal_event *event)
{
    enum model_stop stop = MODEL_STOP_END;
    model_stop_from_name(event->stop, &stop);
    return stop;
}

static bool was_ok(const struct journal_event *event)
{
    return event->outcome != NULL && strcmp(event->outcome, "ok") == 0;
}

static void fold_replied(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    memory->usage.tokens_in += event->tokens_in;
    memory->usage.tokens_out += event->tokens_out;
    if (!was_ok(event)) {
        return; /* The request is still open: it is the same turn that is tried again. */
    }
    memory->is_request_open = false;
    memory->turn = (uint64_t)event->turn;
    memory->stop = stop_of(event);
    free(memory->words);
    size_t len = event->output == NULL   ? 0
                 : event->output_len > 0 ? event->output_len
                                         : strlen(event->output);
    memory->words = memory_dup_bytes(event->output == NULL ? "" : event->output, len);
    take_calls(memory, event->calls);
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

static struct agent_call *find_call(struct agent_memory *memory, const struct journal_event *event)
{
    bool is_known = event->turn == (int64_t)memory->turn && event->index >= 0 &&
                    (uint64_t)event->index < memory->call_count;
    return is_known ? &memory->calls[event->index] : NULL;
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

static void fold_tool(struct agent *agent, const struct journal_event *event)
{
    struct agent_memory *memory = &agent->memory;
    struct agent_call *call = find_call(memory, event);
    if (call == NULL) {
        return;
    }
    if (event->type == JOURNAL_TOOL_REQUESTED) {
        call->is_begun = true;
        call->attempt = event->attempt;
        return;
    }
    if (was_ok(event) && strcmp(call->call.name, "finish_task") == 0) {
        take_finish(memory, call);
    }
    call->is_answered = true;
    call->is_error = !was_ok(event);
    buf_clear(&call->answer);
    if (event->output != NULL) {
        buf_append(&call->answer, event->output,
                   event->output_len > 0 ? event->output_len : strlen(event->output));
    }
    add_answers(agent, event->seq);
}

static void fold_plan(struct agent *agent, const struct journal_event *event)
{
    auto_json struct json_object *steps = NULL;
    if (event->plan != NULL && json_parse(event->plan, strlen(event->plan), &steps, NULL) == 0) {
        plan_replace(&agent->memory.plan, steps, PLAN_STEPS_MAX);
    }
}

void agent_fold(struct agent *agent, const struct journal_event *event)
{
    if (event->type == JOURNAL_RUN_FINISHED) {
        agent->memory.idle = 0; /* Whoever goes on with it gives it another chance. */
    } else if (event->type == JOURNAL_ITERATION_STARTED) {
        agent_begin_iteration(&agent->memory, (uint64_t)event->iteration);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        agent_end_iteration(&agent->memory);
    } else if (event->type == JOURNAL_MODEL_REQUESTED) {
        fold_requested(agent, event);
    } else if (event->type == JOURNAL_MODEL_REPLIED) {
        fold_replied(agent, event);
    } else if (event->type == JOURNAL_TOOL_REQUESTED || event->type == JOURNAL_TOOL_FINISHED) {
        fold_tool(agent, event);
    } else if (event->type == JOURNAL_PLAN_UPDATED) {
        fold_plan(agent, event);
    } else if (event->type == JOURNAL_HISTORY_TRIMMED) {
        history_trim(&agent->memory.history, event->value);
    }
}

void agent_record(struct agent *agent, const struct journal_event *event)
{
    loop_record(agent->loop, event);
    struct journal_event recorded = *event;
    recorded.seq = loop_state(agent->loop)->seq;
    agent_fold(agent, &recorded);
}
