// SPDX-License-Identifier: Apache-2.0
/* From options and folded state to a request. */
#include "loop/policy_request.h"

#include "loop/step.h"

struct policy_run loop_policy_run(const struct loop_spec *spec, const char *run_id)
{
    return (struct policy_run){
        .agent_id = spec->agent_id,
        .run_id = run_id,
        .kind = spec->kind,
        .workspace = spec->workspace,
        .max_iterations = spec->max_iterations,
        .max_tokens = spec->max_tokens,
        .max_cost_micro = spec->max_cost_micro,
        .max_elapsed_ns = spec->time_limit_ns,
    };
}

struct policy_request loop_policy_request(const struct run_state *state,
                                          const struct loop_spec *spec, int64_t active_until_ns,
                                          int64_t now_ns)
{
    return (struct policy_request){
        .action = ACTION_ITERATE,
        .iteration = (int64_t)state->finished,
        .elapsed_ns = loop_step_active_ns(state, active_until_ns),
        .tokens = state->tokens,
        .cost_micro = state->cost_micro,
        .consecutive_failures = (int64_t)state->consecutive_failures,
        .conditions_met = run_conditions_met(state),
        .conditions_total = (int64_t)spec->condition_count,
        .now_ns = now_ns,
    };
}

void loop_write_request(const struct summary *summary, struct written_request *written)
{
    struct policy_run run = loop_policy_run(&summary->spec, summary->run.id);
    struct policy_request situation =
        loop_policy_request(&summary->state, &summary->spec, summary->state.last_event_ns, 0);
    written_request_set_run(written, &run, &situation);
}
