// SPDX-License-Identifier: Apache-2.0
/*
 * The decisions of the loop. Everything here is a pure function of its arguments: the simulator and
 * a resume after a crash depend on that.
 */
#include "loop/step.h"

#include <string.h>

int64_t loop_step_active_ns(const struct run_state *state, int64_t now_ns)
{
    int64_t active_ns = 0;
    if (state->last_event_ns == 0 || now_ns <= state->last_event_ns || run_stands_still(state)) {
        return state->active_ns;
    }
    bool is_too_large = __builtin_sub_overflow(now_ns, state->last_event_ns, &active_ns) ||
                        __builtin_add_overflow(active_ns, state->active_ns, &active_ns);
    return is_too_large ? INT64_MAX : active_ns;
}

int64_t loop_step_time_left_ns(const struct run_state *state, const struct loop_spec *spec,
                               int64_t now_ns)
{
    if (spec->time_limit_ns == 0) {
        return INT64_MAX;
    }
    int64_t left = spec->time_limit_ns - loop_step_active_ns(state, now_ns);
    return left > 0 ? left : 0;
}

/**
 * Whether all conditions were met when they were evaluated after the latest iteration. One that was
 * begun and cut off since then may have changed anything.
 */
static bool is_verified(const struct run_state *state, const struct loop_spec *spec)
{
    return spec->condition_count > 0 && state->verified == state->finished && state->finished > 0 &&
           state->iteration == state->finished && state->condition_count == spec->condition_count &&
           run_conditions_met(state) == state->condition_count;
}

/** The final status that the run has earned, or RONDO_RUNNING; `*ret_message` says why. */
static enum rondo_status ending(const struct run_state *state, const struct loop_spec *spec,
                                int64_t now_ns, const char **ret_message)
{
    bool may_complete = state->finish_denied != state->finished || state->finished == 0;
    if (may_complete && is_verified(state, spec)) {
        *ret_message = "all exit conditions are met";
        return RONDO_COMPLETED;
    }
    if (state->finish == FINISH_COMPLETED && spec->condition_count == 0) {
        *ret_message = "the agent says that it is done; there are no exit conditions to verify";
        return RONDO_COMPLETED;
    }
    if (state->denied != RONDO_RUNNING) {
        *ret_message = state->denied == RONDO_ERROR ? "the body failed beyond recovery"
                                                    : "the next iteration was denied";
        return state->denied;
    }
    if (state->is_stop_requested) {
        *ret_message = "stopped on request";
        return RONDO_CANCELLED;
    }
    if (state->finish == FINISH_BLOCKED) {
        *ret_message = state->is_guarded
                           ? "stopped by Rondo: iterations in a row without a tool call"
                           : "the agent says that it is blocked";
        return RONDO_BLOCKED;
    }
    if (state->finish == FINISH_FAILED) {
        *ret_message = "the agent says that it failed";
        return RONDO_FAILED;
    }
    if (state->consecutive_failures >= (uint64_t)spec->max_failures) {
        *ret_message = "too many iterations in a row failed";
        return RONDO_FAILED;
    }
    if (loop_step_time_left_ns(state, spec, now_ns) == 0) {
        *ret_message = "the time limit of the run is used up";
        return RONDO_TIMEOUT;
    }
    return RONDO_RUNNING;
}

static bool is_checkpoint_stale(const struct run_state *state)
{
    return state->checkpoint_number == 0 || state->checkpoint_iteration != state->finished;
}

static void step_end(const struct run_state *state, enum rondo_status status, const char *message,
                     bool can_save, struct loop_effect *ret_effect)
{
    if (can_save && is_checkpoint_stale(state)) {
        ret_effect->kind = EFFECT_CHECKPOINT;
        ret_effect->how = "final";
        return;
    }
    ret_effect->kind = EFFECT_RECORD;
    ret_effect->event = (struct journal_event){
        .type = JOURNAL_RUN_FINISHED,
        .run_finished = {.status = rondo_status_name(status),
                         .iterations = (int64_t)state->finished,
                         .message = message},
    };
}

static void step_reject_finish(const struct run_state *state, struct loop_effect *ret_effect)
{
    ret_effect->kind = EFFECT_RECORD;
    ret_effect->event = (struct journal_event){
        .type = JOURNAL_FINISH_REJECTED,
        .finish_rejected = {.iteration = (int64_t)state->finished,
                            .met = run_conditions_met(state),
                            .total = state->condition_count},
    };
}

static bool is_checkpoint_due(const struct run_state *state, const struct loop_spec *spec)
{
    return state->finished - state->checkpoint_iteration >= (uint64_t)spec->checkpoint_interval;
}

/** How long to wait still before the next iteration. */
static int64_t delay_left(const struct run_state *state, const struct loop_spec *spec,
                          int64_t now_ns)
{
    if (spec->delay_ns == 0 || state->finished == 0) {
        return 0;
    }
    int64_t left = state->last_finished_ns + spec->delay_ns - now_ns;
    int64_t time_left = loop_step_time_left_ns(state, spec, now_ns);
    if (left > spec->delay_ns) {
        /* A clock that was set back tells nothing; waiting for it could take for ever. */
        left = left - spec->delay_ns > LOOP_CLOCKS_DIFFER_NS ? 0 : spec->delay_ns;
    }
    return left < time_left ? left : time_left;
}

static void step_ready(const struct run_state *state, const struct loop_spec *spec, int64_t now_ns,
                       bool can_save, struct loop_effect *ret_effect)
{
    const char *message = NULL;
    enum rondo_status status = ending(state, spec, now_ns, &message);
    if (status != RONDO_RUNNING) {
        step_end(state, status, message, can_save, ret_effect);
    } else if (state->finish == FINISH_COMPLETED) {
        step_reject_finish(state, ret_effect);
    } else if (can_save && is_checkpoint_due(state, spec)) {
        ret_effect->kind = EFFECT_CHECKPOINT;
        ret_effect->how = "interval";
    } else if (state->is_paused) {
        ret_effect->kind = EFFECT_PAUSE;
    } else if (delay_left(state, spec, now_ns) > 0) {
        ret_effect->kind = EFFECT_DELAY;
        ret_effect->delay_ns = delay_left(state, spec, now_ns);
    } else {
        ret_effect->kind = EFFECT_GATE;
    }
}

/** Whether it makes sense to run the verifiers now. */
static bool wants_verifying(const struct run_state *state, const struct loop_spec *spec,
                            int64_t now_ns)
{
    return spec->condition_count > 0 && !state->is_stop_requested &&
           state->denied == RONDO_RUNNING && loop_step_time_left_ns(state, spec, now_ns) > 0;
}

void loop_step(const struct run_state *state, const struct loop_spec *spec, int64_t now_ns,
               bool can_save, struct loop_effect *ret_effect)
{
    *ret_effect = (struct loop_effect){0};
    switch (state->phase) {
    case PHASE_ENDED:
        ret_effect->kind = EFFECT_END;
        break;
    case PHASE_IN_BODY:
        ret_effect->kind = EFFECT_BODY;
        break;
    case PHASE_BODY_DONE:
    case PHASE_IN_VERIFYING:
        if (wants_verifying(state, spec, now_ns)) {
            ret_effect->kind = EFFECT_VERIFY;
            break;
        }
        step_ready(state, spec, now_ns, can_save, ret_effect);
        break;
    case PHASE_READY:
        step_ready(state, spec, now_ns, can_save, ret_effect);
        break;
    }
}

struct gate_request loop_step_request(const struct run_state *state, const struct loop_spec *spec,
                                      const char *run_id, int64_t now_ns)
{
    return (struct gate_request){
        .action = ACTION_ITERATE,
        .run_id = run_id,
        .agent_id = spec->agent_id,
        .completed_iterations = state->finished,
        .elapsed_ns = loop_step_active_ns(state, now_ns),
        .tokens = state->tokens,
        .cost_micro = state->cost_micro,
        .consecutive_failures = state->consecutive_failures,
        .conditions_met = run_conditions_met(state),
        .conditions_total = (uint32_t)spec->condition_count,
        .now_ns = now_ns,
    };
}

/** A gate that denies without saying more denies as a policy does. */
static enum rondo_status denial_status(const struct gate_decision *decision)
{
    bool is_final = decision->status != RONDO_RUNNING && decision->status != RONDO_COMPLETED;
    return is_final ? decision->status : RONDO_POLICY_VIOLATION;
}

static const char *estimate_of(const struct gate_limit *limit)
{
    return limit->is_known && limit->is_estimated ? "monotone" : NULL;
}

/** The largest limit that can be asked for is none to speak of. */
static int64_t shown_limit(uint64_t limit)
{
    return limit < LIMIT_MAX_ITERATIONS ? (int64_t)limit : 0;
}

static const char *unless_empty(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

struct journal_event loop_step_gate(const struct run_state *state,
                                    const struct gate_decision *decision)
{
    int64_t next = (int64_t)state->finished + 1;
    if (decision->is_allowed) {
        bool is_again = state->iteration == (uint64_t)next;
        return (struct journal_event){
            .type = JOURNAL_ITERATION_STARTED,
            .iteration_started = {.iteration = next,
                                  .attempt = is_again ? (int64_t)state->attempt + 1 : 1,
                                  .limit = shown_limit(decision->iteration_limit),
                                  .estimate = estimate_of(&decision->limits[RUN_LIMIT_ITERATIONS])},
        };
    }
    return (struct journal_event){
        .type = JOURNAL_GATE_DENIED,
        .gate_denied = {.iteration = next,
                        .status = rondo_status_name(denial_status(decision)),
                        .policy = decision->policy,
                        .limit_name = decision->limit_name,
                        .limit = decision->limit,
                        .value = decision->value,
                        .reason = unless_empty(decision->reason),
                        .message = decision->message,
                        .action = vocabulary_action_name(ACTION_ITERATE),
                        .verdict = decision->needs_approval ? "ask" : "deny",
                        .decision = unless_empty(decision->decision),
                        .policies = unless_empty(decision->policies),
                        .errors = unless_empty(decision->errors),
                        .policy_sha256 = unless_empty(decision->sha256)},
    };
}

struct journal_event loop_step_denied(const struct run_state *state, enum vocabulary_action action,
                                      const struct gate_decision *decision)
{
    return (struct journal_event){
        .type = JOURNAL_STEP_DENIED,
        .step_denied = {.iteration = (int64_t)run_current_iteration(state),
                        .action = vocabulary_action_name(action),
                        .policy = decision->policy,
                        .reason = unless_empty(decision->reason),
                        .message = decision->message,
                        .verdict = decision->needs_approval ? "ask" : "deny",
                        .decision = unless_empty(decision->decision),
                        .policies = unless_empty(decision->policies),
                        .errors = unless_empty(decision->errors),
                        .policy_sha256 = unless_empty(decision->sha256)},
    };
}

bool loop_step_warning(const struct run_state *state, enum run_limit counter,
                       const struct gate_limit *limit, bool begins, struct journal_event *ret_event)
{
    /* An iteration is reached when it begins; of the others so much is used up. */
    int64_t reached = limit->value + (begins && counter == RUN_LIMIT_ITERATIONS ? 1 : 0);
    __extension__ typedef __int128 wide;
    bool is_near = limit->is_known && limit->limit > 0 &&
                   (wide)reached * 100 >= (wide)limit->limit * limit->warn_at;
    if (!is_near || state->warned[counter] == limit->limit) {
        return false;
    }
    *ret_event = (struct journal_event){
        .type = JOURNAL_LIMIT_WARNING,
        .limit_warning = {.iteration = (int64_t)state->finished + (begins ? 1 : 0),
                          .limit_name = run_limit_name(counter),
                          .limit = limit->limit,
                          .value = reached,
                          .estimate = estimate_of(limit)},
    };
    return true;
}
