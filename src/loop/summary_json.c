// SPDX-License-Identifier: Apache-2.0
/* The result of a run for programs. Members may be added; they are never renamed. */
#include "loop/summary.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"

#include <stdio.h>

static void write_conditions(const struct summary *summary, struct json_writer *writer)
{
    json_begin_object(writer, "conditions");
    for (size_t i = 0; i < summary->condition_count; i++) {
        json_write_string(writer, summary->conditions[i].name,
                          summary->conditions[i].is_met ? "met" : "not_met");
    }
    json_end_object(writer);
}

void summary_json_denial(const struct summary *summary, struct json_writer *writer)
{
    json_write_int(writer, "iteration", summary->denied_iteration);
    json_write_string(writer, "message", summary->denied_message);
    json_write_string(writer, "reason", summary->denied_reason);
    json_write_string(writer, "verdict", summary->verdict);
    json_write_string(writer, "policy_sha256", summary->policy_sha256);
}

static void write_violation(const struct summary *summary, struct json_writer *writer)
{
    if (summary->policy == NULL) {
        return;
    }
    json_begin_object(writer, "violation");
    json_write_string(writer, "policy", summary->policy);
    json_write_string(writer, "limit_name", summary->limit_name);
    json_write_int(writer, "limit", summary->limit);
    json_write_int(writer, "value", summary->value);
    summary_json_denial(summary, writer);
    json_end_object(writer);
}

void summary_json_members(const struct summary *summary, struct json_writer *writer)
{
    const struct run_state *state = &summary->state;
    uint64_t limit = summary->run.summary.iteration_limit;
    auto_buf struct buf cost = {0};
    text_cost_json(run_cost(state), &cost);
    json_write_string(writer, "run_id", summary->run.id);
    json_write_string(writer, "agent_id", summary->run.agent_id);
    json_write_string(writer, "status", summary->display_status);
    json_write_int(writer, "exit_code", rondo_status_exit_code(summary->run.summary.status));
    json_write_int(writer, "iterations", (int64_t)state->finished);
    json_write_int(writer, "iteration_limit",
                   limit > 0 ? (int64_t)limit : summary->spec.max_iterations);
    write_conditions(summary, writer);
    json_write_int(writer, "conditions_met", run_conditions_met(state));
    json_write_int(writer, "checkpoint", (int64_t)state->checkpoint_number);
    json_write_int(writer, "tokens", state->tokens);
    json_write_raw(writer, "cost", buf_string(&cost));
    json_write_int(writer, "duration_ms", state->active_ns / NS_PER_MS);
    json_write_string(writer, "message", summary->message);
    json_write_string(writer, "summary", summary->words);
    if (summary->answer != NULL) {
        json_write_string(writer, "output", summary->answer);
    }
    if (summary->stop != NULL) {
        json_write_string(writer, "stop", summary->stop);
    }
    write_violation(summary, writer);
    json_write_int(writer, "storage_failures", (int64_t)summary->storage_failures);
}

void summary_json(const struct summary *summary, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "result");
    summary_json_members(summary, &writer);
    json_end_object(&writer);
    buf_append(ret_buf, "\n", 1);
}
