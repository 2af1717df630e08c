// SPDX-License-Identifier: Apache-2.0
/* Exit conditions as the caller sees them. The loop's own thread. */
#include "api/internal.h"
#include "base/error.h"

#include <string.h>

int rondo_loop_add_condition(struct rondo_loop *loop, const struct rondo_condition *condition,
                             struct rondo_error *err)
{
    struct condition_choice choice = {0};
    int r = api_choose_command(loop_spec(loop->loop)->workspace, condition, &choice, err);
    if (r == 0) {
        r = loop_add_condition(loop->loop, choice.name, choice.command, choice.origin,
                               choice.timeout_ns, err);
    }
    condition_choice_fini(&choice);
    return r;
}

size_t rondo_loop_condition_count(const struct rondo_loop *loop)
{
    return loop_spec(loop->loop)->condition_count;
}

/** The condition in the run's state; NULL while nobody has asked for it. */
static const struct run_condition *find_state(const struct rondo_loop *loop, const char *name)
{
    const struct run_state *state = loop_state(loop->loop);
    for (uint32_t i = 0; i < state->condition_count; i++) {
        if (strcmp(state->conditions[i].name, name) == 0) {
            return &state->conditions[i];
        }
    }
    return NULL;
}

int rondo_loop_condition(const struct rondo_loop *loop, size_t index,
                         struct rondo_condition_state *ret_state)
{
    if (index >= rondo_loop_condition_count(loop)) {
        return RONDO_ERR_NOT_FOUND;
    }
    const struct loop_condition *condition = &loop_spec(loop->loop)->conditions[index];
    const struct run_condition *state = find_state(loop, condition->name);
    const struct verify_result *result = loop_result(loop->loop, index);
    *ret_state = (struct rondo_condition_state){
        .name = condition->name,
        .command = condition->command,
        .status = state == NULL ? RONDO_NOT_MET : state->status,
        .reason = state == NULL ? RONDO_REASON_NOT_EVALUATED : state->reason,
        .exit_code = result->exit_code,
        .duration_ns = result->duration_ns,
        .output = result->output == NULL ? "" : result->output,
    };
    return 0;
}

int rondo_loop_evaluate(struct rondo_loop *loop, const char *name,
                        struct rondo_condition_state *ret_state, struct rondo_error *err)
{
    const struct verify_result *result = NULL;
    int r = loop_evaluate(loop->loop, name, &result, err);
    for (size_t i = 0; r == 0 && ret_state != NULL && i < rondo_loop_condition_count(loop); i++) {
        if (strcmp(loop_spec(loop->loop)->conditions[i].name, name) == 0) {
            r = rondo_loop_condition(loop, i, ret_state);
        }
    }
    return r;
}

int rondo_loop_evaluate_all(struct rondo_loop *loop, bool *ret_all_met, struct rondo_error *err)
{
    int r = loop_evaluate_all(loop->loop, err);
    if (r == 0) {
        *ret_all_met = rondo_loop_all_met(loop);
    }
    return r;
}

bool rondo_loop_all_met(const struct rondo_loop *loop)
{
    size_t count = rondo_loop_condition_count(loop);
    return count > 0 && run_conditions_met(loop_state(loop->loop)) == count;
}
