// SPDX-License-Identifier: Apache-2.0
/*
 * Evaluating exit conditions: the round that the step requires, and single evaluations that a body
 * requests. Intent and result of each are in the journal; the latest results are kept for the
 * caller, with their output.
 */
#include "loop/driver/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "loop/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct round_context {
    struct loop *loop;
    int result;
    struct rondo_error *err;
};

/** Keep the result for loop_result, taking its output over. */
static void keep_result(struct loop *loop, size_t index, struct verify_result *result)
{
    if (loop->results == NULL) {
        loop->results = memory_new_zero(LIMIT_CONDITIONS, sizeof(*loop->results));
    }
    verify_result_fini(&loop->results[index]);
    loop->results[index] = *result;
    result->output = NULL;
    result->output_len = 0;
}

static void record_evaluated(struct loop *loop, size_t index, struct verify_result *result)
{
    struct journal_event event = {
        .type = JOURNAL_CONDITION_EVALUATED,
        .condition_evaluated = {.iteration = (int64_t)loop->state.iteration,
                                .condition = loop->spec.conditions[index].name,
                                .status = rondo_condition_status_name(result->status),
                                .reason = rondo_condition_reason_name(result->reason),
                                .exit_code = result->exit_code,
                                .signal = result->signal,
                                .duration_ns = result->duration_ns,
                                .message = result->message[0] == '\0' ? NULL : result->message,
                                .output_bytes = (int64_t)result->output_total,
                                .output = result->output_len > 0 ? result->output : NULL,
                                .output_len = result->output_len},
    };
    loop_record(loop, &event);
    loop_feedback_add(loop, &event.condition_evaluated);
    keep_result(loop, index, result);
}

/** The last result of a round is committed together with what follows from it. */
static void on_verified(void *context, size_t index, struct verify_result *result,
                        size_t still_running)
{
    struct round_context *round = context;
    struct loop *loop = round->loop;
    record_evaluated(loop, index, result);
    if (still_running > 0 && round->result == 0) {
        round->result = loop_flush(loop, FLUSH_NORMAL, round->err);
        if (round->result < 0) {
            cancel_set(&loop->cancel, CANCEL_NOW); /* Nothing of this round can be used. */
        }
    }
}

/**
 * Ask whether a condition's verifier may run. Asked here and not by the verifier, because that may
 * run on a thread of its own.
 */
static void ask_to_verify(struct loop *loop, size_t index)
{
    struct policy_verdict verdict;
    if (loop->verify_denials == NULL) {
        loop->verify_denials = memory_new_zero(LIMIT_CONDITIONS, sizeof(*loop->verify_denials));
    }
    free(loop->verify_denials[index]);
    loop->verify_denials[index] = NULL;
    if (!loop_ask(loop, ACTION_VERIFY, loop->spec.conditions[index].name, &verdict)) {
        loop->verify_denials[index] = memory_dup_string(verdict.message);
    }
}

/** The verifier under the policies: what they deny is not run, and so is not met. */
static void evaluate_if_allowed(const struct verifier *verifier,
                                const struct loop_condition *condition, int64_t timeout_ns,
                                struct cancel *cancel, struct verify_result *ret_result)
{
    const struct loop *loop = verifier->context;
    const char *denial = loop->verify_denials[condition - loop->spec.conditions];
    const struct verifier *inner = condition->tool == NULL ? &loop->verifier : &loop->tool_verifier;
    if (denial == NULL && inner->evaluate != NULL) {
        inner->evaluate(inner, condition, timeout_ns, cancel, ret_result);
        return;
    }
    ret_result->status = RONDO_NOT_MET;
    ret_result->reason = denial == NULL ? RONDO_REASON_NOT_RUN : RONDO_REASON_DENIED;
    ret_result->exit_code = -1;
    snprintf(ret_result->message, sizeof(ret_result->message), "%s",
             denial == NULL ? "only an agent has tools" : denial);
}

static struct verifier allowed_verifier(const struct loop *loop)
{
    return (struct verifier){.evaluate = evaluate_if_allowed,
                             .context = loop,
                             .is_concurrent = loop->verifier.is_concurrent};
}

void loop_set_tool_verifier(struct loop *loop, struct verifier verifier)
{
    loop->tool_verifier = verifier;
}

/** Whether the round says nothing about the conditions, because the run must be parked. */
static bool was_cut_off(const struct loop *loop)
{
    bool is_cut_off = false;
    for (size_t i = 0; i < loop->spec.condition_count; i++) {
        is_cut_off = is_cut_off || loop->results[i].reason == RONDO_REASON_CANCELLED;
    }
    return is_cut_off && !loop->is_in_body &&
           (loop->parking == PARKING_NOW || loop_is_only_late(loop));
}

/** Verifiers run on threads of their own; their input is written before. */
static void set_trace(struct loop *loop)
{
    trace_parent(loop->run_id, TRACE_ITERATION, run_current_iteration(&loop->state),
                 loop->state.attempt, loop->verify_context.traceparent);
}

int loop_verify(struct loop *loop, struct rondo_error *err)
{
    uint64_t iteration = run_current_iteration(&loop->state);
    struct journal_event started = {
        .type = JOURNAL_VERIFICATION_STARTED,
        .verification_started = {.iteration = (int64_t)iteration,
                                 .total = (int64_t)loop->spec.condition_count},
    };
    loop_record(loop, &started);
    for (size_t i = 0; i < loop->spec.condition_count; i++) {
        ask_to_verify(loop, i);
    }
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    set_trace(loop);
    loop_feedback_begin(loop, iteration);
    struct round_context round = {.loop = loop, .err = err};
    int64_t left_ns = loop_time_left_ns(loop);
    struct verifier verifier = allowed_verifier(loop);
    verify_all(&verifier, loop->spec.conditions, loop->spec.condition_count,
               runtime_clock(loop->runtime), left_ns, &loop->cancel, on_verified, &round);
    loop_feedback_end(loop);
    if (round.result < 0) {
        return round.result;
    }
    if (was_cut_off(loop)) {
        return 0; /* The resume repeats the round. */
    }
    struct journal_event finished = {
        .type = JOURNAL_VERIFICATION_FINISHED,
        .verification_finished = {.iteration = (int64_t)iteration,
                                  .met = run_conditions_met(&loop->state),
                                  .total = (int64_t)loop->spec.condition_count},
    };
    loop_record(loop, &finished);
    return 0;
}

int loop_verify_in_body(struct loop *loop, struct rondo_error *err)
{
    int r = loop_verify(loop, err);
    return r < 0 ? r : loop_flush(loop, FLUSH_NORMAL, err);
}

static void record_intent(struct loop *loop, const char *name)
{
    struct journal_event started = {
        .type = JOURNAL_VERIFICATION_STARTED,
        .verification_started = {.iteration = (int64_t)loop->state.iteration,
                                 .total = 1,
                                 .condition = name},
    };
    loop_record(loop, &started);
}

static int find_condition(const struct loop *loop, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < loop->spec.condition_count; i++) {
        if (strcmp(loop->spec.conditions[i].name, name) == 0) {
            *ret_index = i;
            return 0;
        }
    }
    return RONDO_ERR_NOT_FOUND;
}

/** Evaluate `count` conditions from `first` on, each as one asked for by the caller. */
static int evaluate_on_demand(struct loop *loop, size_t first, size_t count,
                              struct rondo_error *err)
{
    int r = loop_can_record(loop, err);
    if (r < 0) {
        return r;
    }
    loop_record_options(loop);
    for (size_t i = 0; i < count; i++) {
        record_intent(loop, loop->spec.conditions[first + i].name);
        ask_to_verify(loop, first + i);
    }
    r = loop_flush(loop, FLUSH_NORMAL, err);
    set_trace(loop);
    struct verifier verifier = allowed_verifier(loop);
    for (size_t i = 0; i < count && r == 0; i++) {
        struct verify_result result = {.exit_code = -1};
        const struct loop_condition *condition = &loop->spec.conditions[first + i];
        verifier.evaluate(&verifier, condition, condition->timeout_ns, &loop->cancel, &result);
        record_evaluated(loop, first + i, &result);
        verify_result_fini(&result);
        r = loop_flush(loop, FLUSH_NORMAL, err);
    }
    return r;
}

int loop_evaluate(struct loop *loop, const char *name, const struct verify_result **ret_result,
                  struct rondo_error *err)
{
    size_t index = 0;
    if (find_condition(loop, name, &index) < 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "the run has no exit condition '%s'", name);
    }
    int r = evaluate_on_demand(loop, index, 1, err);
    if (r == 0) {
        *ret_result = &loop->results[index];
    }
    return r;
}

int loop_evaluate_all(struct loop *loop, struct rondo_error *err)
{
    return evaluate_on_demand(loop, 0, loop->spec.condition_count, err);
}

const struct verify_result *loop_result(const struct loop *loop, size_t index)
{
    static const struct verify_result none = {.exit_code = -1};
    if (loop->results == NULL || index >= loop->spec.condition_count ||
        loop->results[index].reason == RONDO_REASON_NOT_EVALUATED) {
        return &none;
    }
    return &loop->results[index];
}

int loop_add_condition(struct loop *loop, const char *name, const char *command, const char *origin,
                       int64_t timeout_ns, struct rondo_error *err)
{
    if (loop->is_begun) {
        return error_set(err, RONDO_ERR_STATE, "the loop has begun; its conditions are fixed");
    }
    int r = loop_spec_add_condition(&loop->spec, name, command, origin, timeout_ns, err);
    loop->has_new_options = loop->has_new_options || r == 0;
    return r;
}

void loop_record_options(struct loop *loop)
{
    if (!loop->has_new_options) {
        return;
    }
    loop->has_new_options = false;
    auto_buf struct buf spec = {0};
    loop_spec_encode(&loop->spec, &spec);
    struct journal_event event = {
        .type = JOURNAL_RUN_OPTIONS,
        .run_options = {.spec = buf_string(&spec)},
    };
    loop_record(loop, &event);
}
