// SPDX-License-Identifier: Apache-2.0
/* What happens inside an iteration: model, tools, conditions, checkpoints, policies. */
#include "telemetry/spans_internal.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "telemetry/otlp_json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Model calls ---------------------------------------------------------------------------- */

/** Names of the GenAI conventions for the providers whose own names differ. */
static const char *provider_name(const char *prefix)
{
    static const char *const names[][2] = {
        {"azure", "azure.ai.openai"},
        {"bedrock", "aws.bedrock"},
        {"gemini", "gcp.gemini"},
        {"google", "gcp.gemini"},
        {"mistral", "mistral_ai"},
        {"vertex", "gcp.vertex_ai"},
        {"xai", "x_ai"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i][0], prefix) == 0) {
            return names[i][1];
        }
    }
    return prefix;
}

static const char *finish_reason(const char *stop)
{
    static const char *const names[][2] = {{"end", "stop"},
                                           {"tools", "tool_call"},
                                           {"length", "length"},
                                           {"filtered", "content_filter"},
                                           {"refused", "content_filter"},
                                           {"empty", "stop"}};
    for (size_t i = 0; stop != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i][0], stop) == 0) {
            return names[i][1];
        }
    }
    return stop;
}

static void forget_call(struct span_run *run)
{
    free(run->call.prompt);
    run->call = (struct model_span){0};
}

/** Whose turn of which conversation a span belongs to. */
static void add_turn(const struct span_run *run, uint64_t turn, struct span *span)
{
    attributes_text(&span->attributes, "gen_ai.conversation.id", run->run_id);
    attributes_text(&span->attributes, "gen_ai.agent.name", run->agent_id);
    attributes_int(&span->attributes, "loop.turn", (int64_t)turn);
    if (run->iteration.number > 0) {
        attributes_int(&span->attributes, "loop.iteration", (int64_t)run->iteration.number);
    }
}

/** The span of a model call with what was known when it began. */
static struct span begin_chat(const struct span_run *run, char ret_provider[SPANS_NAME_SIZE],
                              uint64_t turn, int64_t start_ns, int64_t end_ns)
{
    const char *colon = strchr(run->model, ':');
    const char *model = colon == NULL ? run->model : colon + 1;
    snprintf(ret_provider, SPANS_NAME_SIZE, "%.*s", colon == NULL ? 0 : (int)(colon - run->model),
             run->model);
    uint64_t attempt = run->call.is_open ? run->call.attempt : 1;
    struct span span = spans_begin(run, TRACE_MODEL, turn, attempt, start_ns, end_ns);
    span.kind = SPAN_CLIENT;
    snprintf(span.name, sizeof(span.name), "chat %s", model);
    attributes_text(&span.attributes, "gen_ai.operation.name", "chat");
    attributes_text(&span.attributes, "gen_ai.provider.name", provider_name(ret_provider));
    attributes_text(&span.attributes, "gen_ai.request.model", model);
    add_turn(run, turn, &span);
    attributes_some(&span.attributes, "loop.model.retries", run->call.retries);
    return span;
}

/** The answer was lost, with the process or by itself. */
static void cut_call(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    if (!run->call.is_open) {
        return;
    }
    char provider[SPANS_NAME_SIZE];
    struct span span = begin_chat(run, provider, run->call.turn, run->call.start_ns, end_ns);
    spans_set_error(&span, "interrupted");
    spans_emit(spans, &span);
    forget_call(run);
}

void spans_model_requested(struct spans *spans, struct span_run *run,
                           const struct journal_event *event)
{
    const struct event_model_requested *request = &event->model_requested;
    cut_call(spans, run, event->time_ns);
    snprintf(run->model, sizeof(run->model), "%s", request->model == NULL ? "" : request->model);
    run->call = (struct model_span){
        .is_open = true,
        .turn = (uint64_t)request->turn,
        .attempt = request->attempt < 1 ? 1 : (uint64_t)request->attempt,
        .start_ns = event->time_ns,
        .prompt = request->prompt == NULL
                      ? NULL
                      : spans_content_keep(spans, request->prompt, strlen(request->prompt)),
    };
}

static void add_reply_usage(struct span_run *run, const struct event_model_replied *event,
                            struct attributes *attributes)
{
    attributes_int(attributes, "gen_ai.usage.input_tokens", event->tokens_in);
    attributes_int(attributes, "gen_ai.usage.output_tokens", event->tokens_out);
    attributes_some(attributes, "gen_ai.usage.cache_read.input_tokens", event->tokens_cached);
    attributes_some(attributes, "gen_ai.usage.reasoning.output_tokens", event->tokens_reasoning);
    if (event->cost_micro > 0) {
        attributes_double(attributes, "loop.cost", (double)event->cost_micro / 1e6);
    }
    run->iteration.tokens_in += event->tokens_in;
    run->iteration.tokens_out += event->tokens_out;
    run->execution.tokens_in += event->tokens_in;
    run->execution.tokens_out += event->tokens_out;
}

void spans_model_replied(struct spans *spans, struct span_run *run,
                         const struct journal_event *event)
{
    const struct event_model_replied *reply = &event->model_replied;
    char provider[SPANS_NAME_SIZE];
    int64_t start_ns = reply->duration_ns > 0 ? event->time_ns - reply->duration_ns
                       : run->call.is_open    ? run->call.start_ns
                                              : event->time_ns;
    struct span span = begin_chat(run, provider, (uint64_t)reply->turn, start_ns, event->time_ns);
    add_reply_usage(run, reply, &span.attributes);
    attributes_text(&span.attributes, "gen_ai.response.id", reply->request_id);
    attributes_text(&span.attributes, "gen_ai.response.model", reply->response_model);
    const char *reasons[2] = {finish_reason(reply->stop), NULL};
    if (reasons[0] != NULL) {
        attributes_add(&span.attributes, (struct attribute){.key = "gen_ai.response.finish_reasons",
                                                            .kind = ATTRIBUTE_TEXTS,
                                                            .texts = reasons});
    }
    if (reply->outcome != NULL && strcmp(reply->outcome, "ok") != 0) {
        spans_set_error(&span, reply->outcome);
    }
    auto_buf struct buf input = {0};
    auto_buf struct buf output = {0};
    spans_content_prompt(spans, run->call.prompt, &input);
    spans_content_reply(spans, reply, reasons[0], &output);
    attributes_text(&span.attributes, "gen_ai.input.messages", buf_string(&input));
    attributes_text(&span.attributes, "gen_ai.output.messages", buf_string(&output));
    spans_emit(spans, &span);
    forget_call(run);
}

/* ---- Tool calls ----------------------------------------------------------------------------- */

static struct tool_span *find_tool(struct span_run *run, int64_t turn, int64_t index)
{
    for (size_t i = 0; i < run->tool_count; i++) {
        if (run->tools[i].turn == (uint64_t)turn && run->tools[i].index == (uint64_t)index) {
            return &run->tools[i];
        }
    }
    return NULL;
}

static void forget_tool(struct span_run *run, struct tool_span *call)
{
    free(call->arguments);
    *call = run->tools[--run->tool_count];
}

void spans_tool_requested(struct spans *spans, struct span_run *run,
                          const struct journal_event *event)
{
    const struct event_tool_requested *request = &event->tool_requested;
    struct tool_span *call = find_tool(run, request->turn, request->index);
    if (call != NULL) {
        forget_tool(run, call);
    }
    if (run->tool_count == SPANS_MAX_CALLS) {
        return; /* tool.finished alone makes the span too, only without arguments */
    }
    run->tools = memory_resize(run->tools, run->tool_count + 1, sizeof(run->tools[0]));
    call = &run->tools[run->tool_count++];
    *call = (struct tool_span){
        .turn = (uint64_t)request->turn,
        .index = (uint64_t)request->index,
        .start_ns = event->time_ns,
    };
    snprintf(call->name, sizeof(call->name), "%s", request->tool == NULL ? "" : request->tool);
    snprintf(call->call_id, sizeof(call->call_id), "%s",
             request->call_id == NULL ? "" : request->call_id);
    if (request->arguments != NULL) {
        call->arguments = spans_content_keep(spans, request->arguments, strlen(request->arguments));
    }
}

static struct span begin_tool(const struct span_run *run, uint64_t turn, uint64_t index,
                              const char *name, const char *call_id)
{
    struct span span = spans_begin(run, TRACE_TOOL, turn, index, 0, 0);
    snprintf(span.name, sizeof(span.name), "execute_tool %s", name == NULL ? "?" : name);
    attributes_text(&span.attributes, "gen_ai.operation.name", "execute_tool");
    attributes_text(&span.attributes, "gen_ai.tool.name", name);
    attributes_text(&span.attributes, "gen_ai.tool.call.id", call_id);
    add_turn(run, turn, &span);
    return span;
}

static void set_times(const struct span_run *run, struct span *span, int64_t start_ns,
                      int64_t end_ns)
{
    int64_t floor_ns = run->iteration.is_parent ? run->iteration.start_ns : run->execution.start_ns;
    span->start_ns = start_ns < floor_ns ? floor_ns : start_ns;
    span->end_ns = end_ns;
}

void spans_tool_finished(struct spans *spans, struct span_run *run,
                         const struct journal_event *event)
{
    const struct event_tool_finished *result = &event->tool_finished;
    struct tool_span *call = find_tool(run, result->turn, result->index);
    int64_t start_ns = result->duration_ns > 0 ? event->time_ns - result->duration_ns
                       : call != NULL          ? call->start_ns
                                               : event->time_ns;
    struct span span = begin_tool(run, (uint64_t)result->turn, (uint64_t)result->index,
                                  result->tool, result->call_id);
    set_times(run, &span, start_ns, event->time_ns);
    attributes_text(&span.attributes, "loop.tool.outcome", result->outcome);
    attributes_some(&span.attributes, "loop.tool.output_bytes", result->output_bytes);
    if (result->outcome != NULL && strcmp(result->outcome, "ok") != 0) {
        spans_set_error(&span,
                        strcmp(result->outcome, "error") == 0 ? "tool_error" : result->outcome);
    }
    size_t len = journal_output_len(result->output, result->output_len);
    auto_free char *kept = len == 0 ? NULL : spans_content_keep(spans, result->output, len);
    attributes_text(&span.attributes, "gen_ai.tool.call.arguments",
                    call == NULL ? NULL : call->arguments);
    attributes_text(&span.attributes, "gen_ai.tool.call.result", kept);
    spans_emit(spans, &span);
    if (call != NULL) {
        forget_tool(run, call);
    }
}

static void cut_tools(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    while (run->tool_count > 0) {
        struct tool_span *call = &run->tools[run->tool_count - 1];
        struct span span = begin_tool(run, call->turn, call->index, call->name, call->call_id);
        set_times(run, &span, call->start_ns, end_ns);
        spans_set_error(&span, "interrupted");
        spans_emit(spans, &span);
        forget_tool(run, call);
    }
}

/* ---- Conditions ----------------------------------------------------------------------------- */

static void end_verification(struct spans *spans, struct span_run *run, int64_t end_ns,
                             bool is_complete)
{
    struct verification *verification = &run->verification;
    if (!verification->is_open) {
        return;
    }
    verification->is_open = false;
    struct span span =
        spans_begin(run, TRACE_VERIFICATION, verification->seq, 0, verification->start_ns, end_ns);
    snprintf(span.name, sizeof(span.name), "loop.verification");
    attributes_some(&span.attributes, "loop.iteration", verification->iteration);
    if (is_complete && !verification->is_single) {
        attributes_int(&span.attributes, "loop.conditions.met", run->met);
        attributes_int(&span.attributes, "loop.conditions.total", run->total);
    } else if (!is_complete) {
        spans_set_error(&span, "interrupted");
    }
    spans_emit(spans, &span);
}

void spans_verification_started(struct spans *spans, struct span_run *run,
                                const struct journal_event *event)
{
    end_verification(spans, run, event->time_ns, false);
    run->verification = (struct verification){
        .is_open = true,
        .is_single = event->verification_started.condition != NULL,
        .seq = event->seq,
        .iteration = event->verification_started.iteration,
        .start_ns = event->time_ns,
    };
}

/** The verdict in the form that the GenAI conventions have for evaluations. */
static void add_evaluation(const struct journal_event *event, bool is_met, struct buf *ret_events)
{
    struct span_event told = {.time_ns = event->time_ns, .name = "gen_ai.evaluation.result"};
    attributes_text(&told.attributes, "gen_ai.evaluation.name",
                    event->condition_evaluated.condition);
    attributes_double(&told.attributes, "gen_ai.evaluation.score.value", is_met ? 1 : 0);
    attributes_text(&told.attributes, "gen_ai.evaluation.score.label",
                    event->condition_evaluated.status);
    attributes_text(&told.attributes, "gen_ai.evaluation.explanation",
                    event->condition_evaluated.reason);
    otlp_write_event(&told, ret_events);
}

void spans_condition_evaluated(struct spans *spans, struct span_run *run,
                               const struct journal_event *event)
{
    const struct event_condition_evaluated *result = &event->condition_evaluated;
    struct span span = spans_begin(run, TRACE_CONDITION, event->seq, 0,
                                   event->time_ns - result->duration_ns, event->time_ns);
    if (run->verification.is_open) {
        trace_span_id(run->run_id, TRACE_VERIFICATION, run->verification.seq, 0, span.parent_id);
        if (span.start_ns < run->verification.start_ns) {
            span.start_ns = run->verification.start_ns;
        }
    }
    bool is_met = result->status != NULL && strcmp(result->status, "met") == 0;
    snprintf(span.name, sizeof(span.name), "loop.exit_condition %s",
             result->condition == NULL ? "?" : result->condition);
    attributes_text(&span.attributes, "loop.exit_condition.name", result->condition);
    attributes_text(&span.attributes, "loop.exit_condition.status", result->status);
    attributes_text(&span.attributes, "loop.exit_condition.reason", result->reason);
    attributes_some(&span.attributes, "loop.iteration", result->iteration);
    attributes_int(&span.attributes, "process.exit.code", result->exit_code);
    attributes_some(&span.attributes, "loop.exit_condition.signal", result->signal);
    bool is_verdict = result->reason == NULL || strcmp(result->reason, "passed") == 0 ||
                      strcmp(result->reason, "failed") == 0;
    if (!is_verdict) { /* not met because it could not be found out */
        spans_set_error(&span, result->reason);
    }
    auto_buf struct buf events = {0};
    add_evaluation(event, is_met, &events);
    span.events = buf_string(&events);
    spans_emit(spans, &span);
    if (run->verification.is_open && run->verification.is_single) {
        end_verification(spans, run, event->time_ns, true);
    }
}

void spans_verification_finished(struct spans *spans, struct span_run *run,
                                 const struct journal_event *event)
{
    run->met = event->verification_finished.met;
    run->total = event->verification_finished.total;
    end_verification(spans, run, event->time_ns, true);
}

/* ---- Checkpoints and policies -----------------------------------------------------------------
 */

void spans_checkpoint_saved(struct spans *spans, struct span_run *run,
                            const struct journal_event *event)
{
    const struct event_checkpoint_saved *saved = &event->checkpoint_saved;
    struct span span = spans_begin(run, TRACE_CHECKPOINT, (uint64_t)saved->number, 0,
                                   event->time_ns - saved->duration_ns, event->time_ns);
    snprintf(span.name, sizeof(span.name), "loop.checkpoint.save");
    attributes_int(&span.attributes, "loop.checkpoint.id", saved->number);
    attributes_int(&span.attributes, "loop.checkpoint.iteration", saved->iteration);
    attributes_int(&span.attributes, "loop.checkpoint.bytes", saved->bytes);
    attributes_text(&span.attributes, "loop.checkpoint.sha256", saved->sha256);
    attributes_text(&span.attributes, "loop.checkpoint.how", saved->how);
    spans_emit(spans, &span);
}

/** Texts of a JSON list. @param ret_texts room for `size` with the NULL */
static void list_texts(struct json_object *list, const char **ret_texts, size_t size)
{
    size_t count = 0;
    size_t len = json_length(list);
    for (size_t i = 0; i < len && count + 1 < size; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string)) {
            ret_texts[count++] = json_object_get_string(item);
        }
    }
    ret_texts[count] = NULL;
}

/** What gate.denied and step.denied have in common, and what only one of them has. */
struct policy_denial {
    int64_t iteration;
    const char *action;
    const char *resource; /* of a step */
    const char *policy;
    const char *reason;
    const char *verdict;
    const char *decision;
    const char *policies;
    const char *policy_sha256;
    const char *status; /* of a gate, as the next ones */
    const char *limit_name;
    int64_t limit;
    int64_t value;
};

static struct policy_denial denial_of(const struct journal_event *event)
{
    if (event->type == JOURNAL_STEP_DENIED) {
        const struct event_step_denied *step = &event->step_denied;
        return (struct policy_denial){.iteration = step->iteration,
                                      .action = step->action,
                                      .resource = step->resource,
                                      .policy = step->policy,
                                      .reason = step->reason,
                                      .verdict = step->verdict,
                                      .decision = step->decision,
                                      .policies = step->policies,
                                      .policy_sha256 = step->policy_sha256};
    }
    const struct event_gate_denied *gate = &event->gate_denied;
    return (struct policy_denial){.iteration = gate->iteration,
                                  .action = gate->action,
                                  .policy = gate->policy,
                                  .reason = gate->reason,
                                  .verdict = gate->verdict,
                                  .decision = gate->decision,
                                  .policies = gate->policies,
                                  .policy_sha256 = gate->policy_sha256,
                                  .status = gate->status,
                                  .limit_name = gate->limit_name,
                                  .limit = gate->limit,
                                  .value = gate->value};
}

static void add_decision(const struct policy_denial *denial, struct span *span)
{
    struct attributes *attributes = &span->attributes;
    attributes_text(attributes, "aws.agentcore.policy.authorization_decision",
                    denial->decision == NULL ? "deny" : denial->decision);
    attributes_text(attributes, "aws.agentcore.policy.authorization_reason", denial->reason);
    attributes_text(attributes, "loop.policy.action", denial->action);
    attributes_text(attributes, "loop.policy.verdict", denial->verdict);
    attributes_text(attributes, "loop.policy.id", denial->policy);
    attributes_text(attributes, "loop.policy.resource", denial->resource);
    attributes_some(attributes, "loop.iteration", denial->iteration);
    attributes_text(attributes, "loop.limit.name", denial->limit_name);
    attributes_some(attributes, "loop.limit", denial->limit);
    attributes_some(attributes, "loop.limit.value", denial->value);
    attributes_text(attributes, "loop.status", denial->status);
}

/** A decision against a run or a step is something that people look for in its execution too. */
static void add_violation(struct span_run *run, int64_t time_ns, const struct policy_denial *denial)
{
    bool is_asked = denial->verdict != NULL && strcmp(denial->verdict, "ask") == 0;
    struct span_event told = {
        .time_ns = time_ns,
        .name = is_asked ? "loop.hitl.requested" : "loop.policy.violation",
    };
    attributes_text(&told.attributes, "loop.policy.id", denial->policy);
    attributes_text(&told.attributes, "loop.policy.action", denial->action);
    attributes_text(&told.attributes, "loop.limit.name", denial->limit_name);
    attributes_some(&told.attributes, "loop.iteration", denial->iteration);
    spans_add_event(run, &told);
}

void spans_denied(struct spans *spans, struct span_run *run, const struct journal_event *event)
{
    struct policy_denial denial = denial_of(event);
    struct span span =
        spans_begin(run, TRACE_POLICY, event->seq, 0, event->time_ns, event->time_ns);
    snprintf(span.name, sizeof(span.name), "loop.policy.evaluate");
    add_decision(&denial, &span);
    attributes_text(&span.attributes, "loop.policy.digest",
                    denial.policy_sha256 == NULL ? run->policy_sha256 : denial.policy_sha256);
    auto_json struct json_object *policies = NULL;
    const char *ids[17] = {NULL};
    if (denial.policies != NULL &&
        json_parse(denial.policies, strlen(denial.policies), &policies, NULL) == 0) {
        list_texts(policies, ids, sizeof(ids) / sizeof(ids[0]));
    }
    if (ids[0] != NULL) {
        attributes_add(&span.attributes,
                       (struct attribute){.key = "aws.agentcore.policy.determining_policies",
                                          .kind = ATTRIBUTE_TEXTS,
                                          .texts = ids});
    }
    spans_emit(spans, &span);
    add_violation(run, event->time_ns, &denial);
}

void spans_cut_parts(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    cut_call(spans, run, end_ns);
    cut_tools(spans, run, end_ns);
    end_verification(spans, run, end_ns, false);
}

void spans_forget_parts(struct span_run *run)
{
    forget_call(run);
    while (run->tool_count > 0) {
        forget_tool(run, &run->tools[run->tool_count - 1]);
    }
    run->verification.is_open = false;
}
