// SPDX-License-Identifier: Apache-2.0
/*
 * Exit conditions that a tool verifies, one of the agent's own or of a shared MCP server. What
 * counts is the exit code in the tool's structured result: a result without one, or one that is an
 * error, leaves the condition not met.
 */
#include "agent/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/trace.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static void not_run(struct verify_result *result, const char *message)
{
    result->status = RONDO_NOT_MET;
    result->reason = RONDO_REASON_NOT_RUN;
    snprintf(result->message, sizeof(result->message), "%s", message);
}

static void call_shared(const struct agent *agent, const struct loop_condition *condition,
                        const struct tool_call *call, struct tool_result *ret_result)
{
    struct mcp_client *client = NULL;
    auto_json struct json_object *result = NULL;
    struct rondo_error err = {0};
    int r = mcp_shared_client(agent->shared, condition->server, &client, &err);
    if (r == 0) {
        r = mcp_call_tool_in_trace(client, condition->tool, call->arguments, call->traceparent,
                                   call->deadline_ns, 0, call->cancel, &result, &err);
    }
    if (r < 0) {
        tool_fail(ret_result, "Error: %s", err.message);
    } else {
        mcp_read_result(result, ret_result);
    }
}

static void call_own(const struct agent *agent, const struct loop_condition *condition,
                     struct tool_call *call, struct tool_result *ret_result)
{
    struct json_object *arguments = NULL;
    if (toolbox_prepare(agent->toolbox, condition->tool, condition->arguments, &arguments,
                        ret_result) != TOOL_READY) {
        ret_result->is_error = true;
        return;
    }
    call->arguments = arguments;
    toolbox_call(agent->toolbox, toolbox_find(agent->toolbox, condition->tool), call, ret_result);
    json_object_put(arguments);
}

/** The end of the text, which is what a verifier's output is kept as. */
static void keep_output(const struct tool_result *result, struct verify_result *ret_result)
{
    size_t len = result->text.len;
    size_t kept = len < LIMIT_VERIFIER_OUTPUT_BYTES ? len : LIMIT_VERIFIER_OUTPUT_BYTES;
    ret_result->output_total = len;
    if (kept > 0) {
        ret_result->output = memory_dup_bytes(result->text.data + len - kept, kept);
        ret_result->output_len = kept;
    }
}

static void judge(const struct tool_result *result, bool is_late, struct verify_result *ret_result)
{
    keep_output(result, ret_result);
    ret_result->status = RONDO_NOT_MET;
    if (is_late) {
        ret_result->reason = RONDO_REASON_TIMED_OUT;
        snprintf(ret_result->message, sizeof(ret_result->message), "no answer in time");
    } else if (result->is_error) {
        not_run(ret_result, "the tool reports an error");
    } else if (!result->has_exit_code) {
        not_run(ret_result, "the tool's result has no exit code");
    } else {
        ret_result->exit_code = result->exit_code;
        ret_result->reason = result->exit_code == 0 ? RONDO_REASON_PASSED : RONDO_REASON_FAILED;
        ret_result->status = result->exit_code == 0 ? RONDO_MET : RONDO_NOT_MET;
    }
}

static void evaluate(const struct verifier *verifier, const struct loop_condition *condition,
                     int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result)
{
    const struct agent *agent = verifier->context;
    const struct clock *clock = runtime_clock(agent->runtime);
    auto_json struct json_object *arguments = NULL;
    json_parse(condition->arguments, strlen(condition->arguments), &arguments, NULL);
    int64_t begin_ns = clock_monotonic(clock);
    char parent[TRACE_PARENT_SIZE];
    const struct run_state *state = loop_state(agent->loop);
    trace_parent(loop_run_id(agent->loop), TRACE_ITERATION, state->iteration, state->attempt,
                 parent);
    struct tool_call call = {
        .id = condition->name,
        .idempotency_key = condition->name,
        .traceparent = parent,
        .arguments = arguments,
        .deadline_ns = timeout_ns > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + timeout_ns,
        .cancel = cancel,
    };
    struct tool_result result = {0};
    if (condition->server != NULL) {
        call_shared(agent, condition, &call, &result);
    } else {
        call_own(agent, condition, &call, &result);
    }
    int64_t end_ns = clock_monotonic(clock);
    judge(&result, result.is_error && end_ns >= call.deadline_ns, ret_result);
    if (cancel_is_set(cancel)) {
        ret_result->status = RONDO_NOT_MET;
        ret_result->reason = RONDO_REASON_CANCELLED;
    }
    ret_result->duration_ns = end_ns - begin_ns;
    tool_result_fini(&result);
}

struct verifier agent_verifier(const struct agent *agent)
{
    return (struct verifier){.evaluate = evaluate, .context = agent, .is_concurrent = true};
}
