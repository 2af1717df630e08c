// SPDX-License-Identifier: Apache-2.0
/* Folding events into the state of a run. Pure; any thread. */
#include "journal/state.h"

#include "base/error.h"
#include "base/status.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const finish_names[] = {
    [FINISH_NONE] = NULL,
    [FINISH_COMPLETED] = "completed",
    [FINISH_BLOCKED] = "blocked",
    [FINISH_FAILED] = "failed",
};

const char *run_finish_name(enum run_finish finish)
{
    return finish_names[finish];
}

bool run_finish_from_name(const char *name, enum run_finish *ret_finish)
{
    for (enum run_finish finish = FINISH_COMPLETED; finish <= FINISH_FAILED; finish++) {
        if (strcmp(finish_names[finish], name) == 0) {
            *ret_finish = finish;
            return true;
        }
    }
    return false;
}

const char *run_limit_name(enum run_limit limit)
{
    static const char *const names[] = {"iterations", "tokens", "cost", "time"};
    return names[limit];
}

/** A run without exit conditions stays in BODY_DONE; verifying begins with an event. */
static bool is_between_bodies(const struct run_state *state)
{
    return state->phase == PHASE_READY || state->phase == PHASE_BODY_DONE;
}

bool run_stands_still(const struct run_state *state)
{
    return state->is_paused && is_between_bodies(state);
}

int64_t run_active_from_ns(const struct run_state *state)
{
    return is_between_bodies(state) && state->waits_until_ns > state->last_event_ns
               ? state->waits_until_ns
               : state->last_event_ns;
}

uint64_t run_current_iteration(const struct run_state *state)
{
    return state->phase == PHASE_IN_BODY ? state->iteration : state->finished;
}

int64_t run_cost(const struct run_state *state)
{
    return state->is_cost_unknown ? COST_UNKNOWN : state->cost_micro;
}

uint32_t run_conditions_met(const struct run_state *state)
{
    uint32_t met = 0;
    for (uint32_t i = 0; i < state->condition_count; i++) {
        met += state->conditions[i].status == RONDO_MET;
    }
    return met;
}

/** Sum that stays at its largest value instead of wrapping: a limit must never come undone. */
static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return b > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

/**
 * Count the time since the event before. A claim, or a fork, begins a new stretch: of the time
 * before it only the part counts in which the former owner was alive. What is recorded of a run
 * that nobody executes takes no time of it. A pause that was asked for in a body begins after it.
 * Waiting for a person does not count, nor does what run_active_from_ns() leaves out.
 */
static void fold_time(struct run_state *state, const struct journal_event *event)
{
    int64_t until = event->time_ns;
    if (event->type == JOURNAL_RUN_CLAIMED) {
        until = event->run_claimed.alive_ns;
    } else if (event->type == JOURNAL_RUN_FORKED || event->type == JOURNAL_CONSOLIDATION_STARTED ||
               event->type == JOURNAL_CONSOLIDATION_FINISHED) {
        until = 0; /* Nobody executed the run. */
    } else if (event->type == JOURNAL_PERSON_ANSWERED && event->person_answered.waited_ns > 0) {
        until = add_saturating(until, -event->person_answered.waited_ns);
    } else if (event->type == JOURNAL_TIME_SKIPPED) {
        until = 0; /* The owner has measured it by another clock. */
        int64_t active_ns = event->time_skipped.active_ns;
        state->active_ns = active_ns > state->active_ns ? active_ns : state->active_ns;
    }
    int64_t from = run_active_from_ns(state);
    bool is_counted = state->last_event_ns != 0 && !run_stands_still(state);
    if (is_counted && until > from) {
        state->active_ns = add_saturating(state->active_ns, add_saturating(until, -from));
    }
    state->last_event_ns = event->time_ns;
}

/** A run that ended before its last iteration was verified is verified first when it is reopened.
 */
static enum run_phase phase_of_reopened(const struct run_state *state)
{
    bool is_verified = state->verified == state->finished;
    return state->iteration == state->finished && !is_verified ? PHASE_BODY_DONE : PHASE_READY;
}

/* ---- One function for each type that is folded ------------------------------------------------
 * The seq and the time of the event are in the state already. */

/** Other options: what was verified under the former ones does not count. */
static void use_options(struct run_state *state)
{
    state->spec_seq = state->seq;
    state->condition_count = 0;
    state->verified = 0;
}

static void fold_run_created(struct run_state *state, const struct event_run_created *event)
{
    (void)event;
    use_options(state);
}

/** Options with a name are limits that somebody changed: what was verified stays so. */
static void fold_run_options(struct run_state *state, const struct event_run_options *event)
{
    if (event->by == NULL) {
        use_options(state);
    }
    state->spec_seq = state->seq;
}

static void fold_run_claimed(struct run_state *state, const struct event_run_claimed *event)
{
    state->epoch = (uint64_t)event->epoch;
    if (state->phase == PHASE_ENDED) {
        state->phase = phase_of_reopened(state);
        state->status = RONDO_RUNNING;
        state->finish = FINISH_NONE;
        state->consecutive_failures = 0;
    }
    state->denied = RONDO_RUNNING;
    state->is_stop_requested = false;
}

static void fold_run_stop_requested(struct run_state *state,
                                    const struct event_run_stop_requested *event)
{
    (void)event;
    state->is_stop_requested = true;
}

static void fold_run_paused(struct run_state *state, const struct event_run_paused *event)
{
    state->is_paused = true;
    state->is_waiting = event->handoffs != NULL;
}

static void fold_run_continued(struct run_state *state, const struct event_run_continued *event)
{
    (void)event;
    state->is_paused = false;
    state->is_waiting = false;
}

/** A fork begins at the checkpoint, without what ended the other run; nobody has claimed it yet. */
static void fold_run_forked(struct run_state *state, const struct event_run_forked *event)
{
    (void)event;
    state->epoch = 0;
    state->checkpoint_number = 0;
    state->finish = FINISH_NONE;
    state->consecutive_failures = 0;
    state->denied = RONDO_RUNNING;
    state->is_stop_requested = false;
    state->is_paused = false;
    state->is_waiting = false;
}

static void fold_run_finished(struct run_state *state, const struct event_run_finished *event)
{
    state->phase = PHASE_ENDED;
    state->is_paused = false;
    state->is_waiting = false;
    if (event->status == NULL || !status_from_name(event->status, &state->status)) {
        state->status = RONDO_ERROR;
    }
}

static void fold_policy_changed(struct run_state *state, const struct event_policy_changed *event)
{
    snprintf(state->policy_sha256, sizeof(state->policy_sha256), "%s",
             event->sha256 == NULL ? "" : event->sha256);
}

static void fold_limit_warning(struct run_state *state, const struct event_limit_warning *event)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT && event->limit_name != NULL; i++) {
        if (strcmp(run_limit_name(i), event->limit_name) == 0) {
            state->warned[i] = event->limit > 0 ? event->limit : 0;
        }
    }
    state->warnings++;
}

static void fold_gate_denied(struct run_state *state, const struct event_gate_denied *event)
{
    enum rondo_status status;
    bool is_final = event->status != NULL && status_from_name(event->status, &status) &&
                    status != RONDO_RUNNING && status != RONDO_COMPLETED;
    state->denied = is_final ? status : RONDO_POLICY_VIOLATION;
}

/** A denied finish takes the worker's word back as well. */
static void fold_step_denied(struct run_state *state, const struct event_step_denied *event)
{
    if (event->action != NULL && strcmp(event->action, "finish") == 0) {
        state->finish_denied = state->finished;
        state->finish = FINISH_NONE;
    }
}

static void fold_iteration_started(struct run_state *state,
                                   const struct event_iteration_started *event)
{
    state->phase = PHASE_IN_BODY;
    state->iteration = (uint64_t)event->iteration;
    state->attempt = (uint64_t)event->attempt;
    state->waits_until_ns = 0;
    state->limit = (uint64_t)event->limit;
    state->finish = FINISH_NONE;
}

/** What a body reports may hold replies that were counted when they came. */
static void fold_body_usage(struct run_state *state, const struct event_iteration_finished *event)
{
    if (event->tokens > state->body_tokens) {
        state->tokens = add_saturating(state->tokens, event->tokens - state->body_tokens);
    }
    if (event->cost_micro > state->body_cost_micro) {
        state->cost_micro =
            add_saturating(state->cost_micro, event->cost_micro - state->body_cost_micro);
    }
    state->is_cost_unknown = state->is_cost_unknown || event->cost_micro < 0;
    state->body_tokens = 0;
    state->body_cost_micro = 0;
    state->is_body_cost_unknown = false;
}

/** A round inside the body is as good as one after it when nothing came between. */
static void fold_body_verified(struct run_state *state)
{
    if (state->is_body_verified && state->consecutive_failures == 0) {
        state->phase = PHASE_READY;
        state->verified = state->finished;
    }
    state->is_body_verified = false;
}

static void fold_iteration_finished(struct run_state *state,
                                    const struct event_iteration_finished *event)
{
    state->phase = PHASE_BODY_DONE;
    state->finished = (uint64_t)event->iteration;
    fold_body_usage(state, event);
    state->last_finished_ns = state->last_event_ns;
    const char *outcome = event->outcome == NULL ? "" : event->outcome;
    bool is_ok = strcmp(outcome, "ok") == 0;
    if (strcmp(outcome, "error") == 0) {
        state->denied = RONDO_ERROR;
    }
    state->consecutive_failures = is_ok ? 0 : state->consecutive_failures + 1;
    state->finish = FINISH_NONE;
    if (event->finish != NULL) {
        run_finish_from_name(event->finish, &state->finish);
    }
    state->is_guarded = event->guard != NULL && strcmp(event->guard, RUN_GUARD_SPIN) == 0;
    fold_body_verified(state);
}

static void fold_iteration_interrupted(struct run_state *state,
                                       const struct event_iteration_interrupted *event)
{
    (void)event;
    state->phase = PHASE_READY;
    state->is_body_verified = false;
}

/** Steps of an agent may change what was verified before. */
static void fold_model_requested(struct run_state *state, const struct event_model_requested *event)
{
    state->is_body_verified = false;
    state->turn = (uint64_t)event->turn;
}

static void fold_tool_requested(struct run_state *state, const struct event_tool_requested *event)
{
    (void)event;
    state->is_body_verified = false;
}

/** @param cost COST_UNKNOWN = not known */
static void count_usage(struct run_state *state, int64_t used, int64_t cost)
{
    int64_t tokens = used > 0 ? used : 0;
    int64_t cost_micro = cost > 0 ? cost : 0;
    state->tokens = add_saturating(state->tokens, tokens);
    state->cost_micro = add_saturating(state->cost_micro, cost_micro);
    state->body_tokens = add_saturating(state->body_tokens, tokens);
    state->body_cost_micro = add_saturating(state->body_cost_micro, cost_micro);
    state->is_cost_unknown = state->is_cost_unknown || cost < 0;
    state->is_body_cost_unknown = state->is_body_cost_unknown || cost < 0;
}

static void fold_model_replied(struct run_state *state, const struct event_model_replied *event)
{
    count_usage(state, event->tokens, event->cost_micro);
}

static void fold_model_embedded(struct run_state *state, const struct event_model_embedded *event)
{
    count_usage(state, event->tokens, event->cost_micro);
}

static void fold_delegation_finished(struct run_state *state,
                                     const struct event_delegation_finished *event)
{
    count_usage(state, event->tokens, event->cost_micro);
}

static void fold_worker_finished(struct run_state *state, const struct event_worker_finished *event)
{
    count_usage(state, event->tokens, event->cost_micro);
    state->is_body_verified = false;
    state->waits_until_ns = event->until_ns > 0 ? event->until_ns : 0;
}

static void fold_task_ended(struct run_state *state, const struct event_task_ended *event)
{
    count_usage(state, event->tokens, event->cost_micro);
}

static void fold_history_compacted(struct run_state *state,
                                   const struct event_history_compacted *event)
{
    int64_t in = event->tokens_in > 0 ? event->tokens_in : 0;
    int64_t out = event->tokens_out > 0 ? event->tokens_out : 0;
    count_usage(state, add_saturating(in, out), event->cost_micro);
}

static struct run_condition *find_condition(struct run_state *state, const char *name)
{
    for (uint32_t i = 0; i < state->condition_count; i++) {
        if (strcmp(state->conditions[i].name, name) == 0) {
            return &state->conditions[i];
        }
    }
    if (state->condition_count == LIMIT_CONDITIONS) {
        return NULL;
    }
    struct run_condition *condition = &state->conditions[state->condition_count++];
    snprintf(condition->name, sizeof(condition->name), "%s", name);
    return condition;
}

/**
 * A whole round forgets every earlier status: a stale "met" never counts. An evaluation on demand
 * names its one condition and leaves the phase alone, because it happens inside a body; what it
 * finds cannot complete a round that was over before.
 */
static void fold_verification_started(struct run_state *state,
                                      const struct event_verification_started *event)
{
    state->verified = 0;
    if (event->condition != NULL) {
        struct run_condition *condition = find_condition(state, event->condition);
        if (condition != NULL) {
            condition->status = RONDO_NOT_MET;
            condition->reason = RONDO_REASON_NOT_EVALUATED;
        }
        return;
    }
    /* An agent that reports completion has its conditions evaluated inside its body. */
    if (state->phase != PHASE_IN_BODY) {
        state->phase = PHASE_IN_VERIFYING;
    }
    state->is_body_verified = false;
    state->round_seq = state->seq;
    state->condition_count = 0;
}

static void fold_condition_evaluated(struct run_state *state,
                                     const struct event_condition_evaluated *event)
{
    if (event->condition == NULL || event->status == NULL || event->reason == NULL) {
        return;
    }
    struct run_condition *condition = find_condition(state, event->condition);
    if (condition == NULL) {
        return;
    }
    condition->status = strcmp(event->status, "met") == 0 ? RONDO_MET : RONDO_NOT_MET;
    condition_reason_from_name(event->reason, &condition->reason);
}

static void fold_verification_finished(struct run_state *state,
                                       const struct event_verification_finished *event)
{
    (void)event;
    if (state->phase == PHASE_IN_BODY) {
        state->is_body_verified = true;
        return;
    }
    state->phase = PHASE_READY;
    state->verified = state->finished;
}

static void fold_finish_rejected(struct run_state *state, const struct event_finish_rejected *event)
{
    (void)event;
    state->finish = FINISH_NONE;
}

static void fold_checkpoint_saved(struct run_state *state,
                                  const struct event_checkpoint_saved *event)
{
    state->checkpoint_number = (uint64_t)event->number;
    state->checkpoint_iteration = state->finished;
}

static void fold_by_type(struct run_state *state, const struct journal_event *event)
{
#define DO_FOLD(id)    fold_##id(state, &event->id)
#define DO_NO_FOLD(id) (void)0
    switch (event->type) {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) \
    case JOURNAL_##ID:                                   \
        DO_##FOLD(id);                                   \
        break;
#include "journal/events.def"
    case JOURNAL_TYPE_COUNT:
        break;
    }
}

int run_fold(struct run_state *state, const struct journal_event *event, struct rondo_error *err)
{
    if (event->seq != state->seq + 1) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the journal has event %" PRIu64 " where %" PRIu64 " was expected",
                         event->seq, state->seq + 1);
    }
    state->seq = event->seq;
    fold_time(state, event);
    fold_by_type(state, event);
    return 0;
}
