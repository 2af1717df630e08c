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
    int64_t from_ns = run_active_from_ns(state);
    if (state->last_event_ns == 0 || now_ns <= from_ns || run_stands_still(state)) {
        return state->active_ns;
    }
    bool is_too_large = __builtin_sub_overflow(now_ns, from_ns, &active_ns) ||
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

/** Whether the run executes a PRD: what it reports was verified task by task. */
static bool is_prd(const struct loop_spec *spec)
{
    return spec->kind != NULL && strcmp(spec->kind, "prd") == 0;
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
        *ret_message = is_prd(spec) ? "all tasks are done"
                                    : "the agent says that it is done; there are no exit "
                                      "conditions to verify";
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
                       : is_prd(spec) ? "no remaining task can be started"
                                      : "the agent says that it is blocked";
        return RONDO_BLOCKED;
    }
    if (state->finish == FINISH_FAILED) {
        *ret_message = is_prd(spec) ? "tasks failed" : "the agent says that it failed";
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

/** How long to wait still for what the last session of a coding agent ran into. */
static int64_t wait_left(const struct run_state *state, int64_t now_ns)
{
    int64_t left = 0;
    if (state->waits_until_ns <= now_ns ||
        __builtin_sub_overflow(state->waits_until_ns, now_ns, &left)) {
        return 0;
    }
    return left < LIMIT_CODING_WAIT_NS ? left : LIMIT_CODING_WAIT_NS;
}

/** The pause between iterations that the options demand, as far as it is not over. */
static int64_t pause_left(const struct run_state *state, const struct loop_spec *spec,
                          int64_t now_ns)
{
    if (spec->delay_ns == 0 || state->finished == 0) {
        return 0;
    }
    int64_t left = state->last_finished_ns + spec->delay_ns - now_ns;
    if (left > spec->delay_ns) {
        /* A clock that was set back proves nothing; waiting for it could take for ever. */
        left = left - spec->delay_ns > LOOP_CLOCKS_DIFFER_NS ? 0 : spec->delay_ns;
    }
    return left;
}

/** How long to wait still before the next iteration. */
static int64_t delay_left(const struct run_state *state, const struct loop_spec *spec,
                          int64_t now_ns)
{
    int64_t pause = pause_left(state, spec, now_ns);
    int64_t wait = wait_left(state, now_ns);
    int64_t left = pause > wait ? pause : wait;
    int64_t time_left = loop_step_time_left_ns(state, spec, now_ns);
    if (__builtin_add_overflow(time_left, wait, &time_left)) { /* The wait uses up nothing. */
        time_left = INT64_MAX;
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

static const char *estimate_of(const struct policy_limit *limit)
{
    return limit->is_known && limit->is_estimated ? "monotone" : NULL;
}

/** The maximum counts as no limit. */
static int64_t shown_limit(const struct policy_limit *limit)
{
    return limit->is_known && limit->limit < LIMIT_MAX_ITERATIONS ? limit->limit : 0;
}

static const char *unless_empty(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/** Cedar's plain decision; NULL = it was not asked. */
static const char *decision_of(const struct policy_verdict *verdict)
{
    return verdict->sha256[0] == '\0' ? NULL : verdict->is_allowed_by_cedar ? "allow" : "deny";
}

struct journal_event loop_step_gate(const struct run_state *state,
                                    const struct policy_verdict *verdict)
{
    int64_t next = (int64_t)state->finished + 1;
    const struct policy_limit *limit = &verdict->limits[RUN_LIMIT_ITERATIONS];
    if (verdict->outcome == VERDICT_ALLOW) {
        bool is_again = state->iteration == (uint64_t)next;
        return (struct journal_event){
            .type = JOURNAL_ITERATION_STARTED,
            .iteration_started = {.iteration = next,
                                  .attempt = is_again ? (int64_t)state->attempt + 1 : 1,
                                  .limit = shown_limit(limit),
                                  .estimate = estimate_of(limit)},
        };
    }
    limit = policy_verdict_limit(verdict);
    return (struct journal_event){
        .type = JOURNAL_GATE_DENIED,
        .gate_denied = {.iteration = next,
                        .status = rondo_status_name(policy_verdict_status(verdict)),
                        .policy = verdict->policy,
                        .limit_name = limit == NULL ? "" : run_limit_name(verdict->counter),
                        .limit = limit == NULL ? 0 : limit->limit,
                        .value = limit == NULL ? 0 : limit->value,
                        .reason = verdict_reason_name(verdict->reason),
                        .message = verdict->message,
                        .action = vocabulary_action_name(ACTION_ITERATE),
                        .verdict = verdict_outcome_name(verdict->outcome),
                        .decision = decision_of(verdict),
                        .policies = unless_empty(verdict->policies),
                        .errors = unless_empty(verdict->errors),
                        .policy_sha256 = unless_empty(verdict->sha256)},
    };
}

struct journal_event loop_step_denied(const struct run_state *state, enum vocabulary_action action,
                                      const struct policy_verdict *verdict)
{
    return (struct journal_event){
        .type = JOURNAL_STEP_DENIED,
        .step_denied = {.iteration = (int64_t)run_current_iteration(state),
                        .action = vocabulary_action_name(action),
                        .policy = verdict->policy,
                        .reason = verdict_reason_name(verdict->reason),
                        .message = verdict->message,
                        .verdict = verdict_outcome_name(verdict->outcome),
                        .decision = decision_of(verdict),
                        .policies = unless_empty(verdict->policies),
                        .errors = unless_empty(verdict->errors),
                        .policy_sha256 = unless_empty(verdict->sha256)},
    };
}

bool loop_step_warning(const struct run_state *state, enum run_limit counter,
                       const struct policy_limit *limit, bool begins,
                       struct journal_event *ret_event)
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
