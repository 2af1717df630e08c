// SPDX-License-Identifier: Apache-2.0
/*
 * Performing what the step decides. This file never decides anything about the course of a run by
 * itself: what is not in an event does not happen again on resume.
 */
#include "loop/driver_internal.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/step.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_names[] = {
    [LOOP_OK] = "ok",           [LOOP_FAILED] = "failed",       [LOOP_TIMED_OUT] = "timeout",
    [LOOP_CRASHED] = "crashed", [LOOP_UNRECOVERABLE] = "error", [LOOP_INTERRUPTED] = "interrupted",
};

static void record_finished(struct loop *loop)
{
    const struct loop_body_result *body = &loop->body;
    int64_t measured = clock_monotonic(runtime_clock(loop->runtime)) - loop->body_started_ns;
    struct journal_event event = {
        .type = JOURNAL_ITERATION_FINISHED,
        .iteration = (int64_t)loop->state.iteration,
        .outcome = outcome_names[body->outcome],
        .exit_code = body->exit_code,
        .signal = body->signal,
        .duration_ns = body->duration_ns > 0 ? body->duration_ns : measured,
        .tokens = body->tokens,
        .cost_micro = body->cost_micro,
        .finish = run_finish_name(body->finish),
        .summary = loop->body_summary,
        .message = loop->body_message,
        .output_bytes = (int64_t)body->output_total,
        .output = loop->body_output.len > 0 ? loop->body_output.data : NULL,
        .output_len = loop->body_output.len,
        .custom_data = body->custom_data != NULL ? loop->custom_data : NULL,
    };
    loop_record(loop, &event);
}

static void record_body(struct loop *loop)
{
    loop->is_in_body = false;
    if (loop->body.outcome == LOOP_INTERRUPTED) {
        struct journal_event event = {
            .type = JOURNAL_ITERATION_INTERRUPTED,
            .iteration = (int64_t)loop->state.iteration,
            .attempt = (int64_t)loop->state.attempt,
            .reason = "stopped",
        };
        loop_record(loop, &event);
    } else {
        record_finished(loop);
    }
    loop->body = (struct loop_body_result){0};
    buf_clear(&loop->body_output);
    free(loop->body_summary);
    loop->body_summary = NULL;
    free(loop->body_message);
    loop->body_message = NULL;
}

static void record_stop(struct loop *loop, const char *by)
{
    if (loop->state.is_stop_requested) {
        return;
    }
    struct journal_event event = {.type = JOURNAL_STOP_REQUESTED, .by = by};
    loop_record(loop, &event);
}

static bool take_letter(const struct store_letter *letter, void *context)
{
    struct loop *loop = context;
    loop->mail_taken = letter->id;
    if (strcmp(letter->kind, "stop") == 0) {
        auto_json struct json_object *data = NULL;
        json_parse(letter->data, strlen(letter->data), &data, NULL);
        record_stop(loop, json_get_string(data, "by", "another process"));
    }
    return true;
}

/** Read letters when some may wait, and turn a cancelled token into a recorded request. */
static int take_mail(struct loop *loop, struct rondo_error *err)
{
    bool is_cancelled = cancel_is_set(&loop->cancel);
    if (loop->has_mail || (is_cancelled && !loop->state.is_stop_requested)) {
        struct store *store = runtime_store(loop->runtime);
        int r = store->ops->read_mail(store, loop->run_id, NULL, take_letter, loop, err);
        if (r < 0 && !loop->is_degraded) {
            return r;
        }
        loop->has_mail = false;
    }
    if (is_cancelled) {
        record_stop(loop, "signal");
    }
    return 0;
}

static void ask_gate(struct loop *loop)
{
    struct gate_request request = loop_step_request(&loop->state, &loop->spec, loop->run_id,
                                                    clock_now(runtime_clock(loop->runtime)));
    struct gate_decision decision = {0};
    loop->gate.decide(&loop->gate, &request, &decision);
    struct journal_event event = loop_step_gate(&loop->state, &decision);
    loop_record(loop, &event);
    if (!decision.is_allowed) {
        loop->violation = decision;
        loop->has_violation = true;
    }
}

struct round_context {
    struct loop *loop;
    int result;
    struct rondo_error *err;
};

static void record_evaluated(struct loop *loop, const char *name,
                             const struct verify_result *result)
{
    struct journal_event event = {
        .type = JOURNAL_CONDITION_EVALUATED,
        .iteration = (int64_t)loop->state.iteration,
        .name = name,
        .status = rondo_condition_status_name(result->status),
        .reason = rondo_condition_reason_name(result->reason),
        .exit_code = result->exit_code,
        .signal = result->signal,
        .duration_ns = result->duration_ns,
        .message = result->message[0] == '\0' ? NULL : result->message,
        .output_bytes = (int64_t)result->output_total,
        .output = result->output_len > 0 ? result->output : NULL,
        .output_len = result->output_len,
    };
    loop_record(loop, &event);
    loop_feedback_add(loop, &event);
}

/** The last result of a round is committed together with what follows from it. */
static void on_verified(void *context, size_t index, struct verify_result *result,
                        size_t still_running)
{
    struct round_context *round = context;
    struct loop *loop = round->loop;
    record_evaluated(loop, loop->spec.conditions[index].name, result);
    if (still_running > 0 && round->result == 0) {
        round->result = loop_flush(loop, FLUSH_NORMAL, round->err);
        if (round->result < 0) {
            cancel_set(&loop->cancel, CANCEL_NOW); /* Nothing of this round can be used. */
        }
    }
}

static int verify_conditions(struct loop *loop, struct rondo_error *err)
{
    struct journal_event started = {
        .type = JOURNAL_VERIFICATION_STARTED,
        .iteration = (int64_t)loop->state.finished,
        .total = (int64_t)loop->spec.condition_count,
    };
    loop_record(loop, &started);
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    loop_feedback_begin(loop);
    struct round_context round = {.loop = loop, .err = err};
    int64_t left_ns =
        loop_step_time_left_ns(&loop->state, &loop->spec, clock_now(runtime_clock(loop->runtime)));
    verify_all(&loop->verifier, loop->spec.conditions, loop->spec.condition_count, left_ns,
               &loop->cancel, on_verified, &round);
    loop_feedback_end(loop);
    if (round.result < 0) {
        return round.result;
    }
    struct journal_event finished = {
        .type = JOURNAL_VERIFICATION_FINISHED,
        .iteration = (int64_t)loop->state.finished,
        .met = run_conditions_met(&loop->state),
        .total = (int64_t)loop->spec.condition_count,
    };
    loop_record(loop, &finished);
    return 0;
}

static int wait_between(struct loop *loop, int64_t delay_ns, struct rondo_error *err)
{
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    clock_sleep(runtime_clock(loop->runtime), delay_ns, &loop->cancel);
    return take_mail(loop, err);
}

static int record_decided(struct loop *loop, const struct journal_event *event,
                          struct rondo_error *err)
{
    bool is_end = event->type == JOURNAL_RUN_FINISHED;
    if (is_end && loop->is_degraded) {
        int r = loop_flush(loop, FLUSH_HARD, err);
        if (r < 0) {
            return r;
        }
        if (!loop->is_degraded) {
            return 0; /* It works again: the step may want its final checkpoint after all. */
        }
    }
    loop_record(loop, event);
    return 0;
}

static int begin_body(struct loop *loop, struct rondo_error *err)
{
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    loop->is_in_body = true;
    loop->body_started_ns = clock_monotonic(runtime_clock(loop->runtime));
    return LOOP_BODY;
}

static int end_run(struct loop *loop, struct rondo_error *err)
{
    int r = loop_flush(loop, FLUSH_RELEASE, err);
    runtime_unregister(loop->runtime, loop->run_id);
    loop->is_registered = false;
    loop->is_over = true;
    return r < 0 ? r : LOOP_ENDED;
}

/**
 * The store failed for good: try to leave the status `error` and a final checkpoint behind. When
 * that fails too, the caller gets the store's error and the run stays where it was last committed.
 */
static int fail_run(struct loop *loop, int code, struct rondo_error *err)
{
    if (!loop_is_store_failure(code) || loop->state.phase == PHASE_ENDED) {
        return code;
    }
    struct journal_event event = {
        .type = JOURNAL_RUN_FINISHED,
        .status = rondo_status_name(RONDO_ERROR),
        .iteration = (int64_t)loop->state.finished,
        .message = err->message,
    };
    loop_prepare_checkpoint(loop, "final");
    loop_record(loop, &event);
    struct rondo_error again = {0};
    return end_run(loop, &again) < 0 ? code : LOOP_ENDED;
}

static int advance(struct loop *loop, struct rondo_error *err)
{
    int r = take_mail(loop, err);
    if (r < 0) {
        return r;
    }
    if (loop->is_in_body) {
        record_body(loop);
    }
    for (;;) {
        struct loop_effect effect;
        loop_step(&loop->state, &loop->spec, clock_now(runtime_clock(loop->runtime)),
                  !loop->is_degraded, &effect);
        switch (effect.kind) {
        case EFFECT_RECORD:
            r = record_decided(loop, &effect.event, err);
            break;
        case EFFECT_CHECKPOINT:
            r = loop_record_checkpoint(loop, effect.how, err);
            break;
        case EFFECT_VERIFY:
            r = verify_conditions(loop, err);
            break;
        case EFFECT_DELAY:
            r = wait_between(loop, effect.delay_ns, err);
            break;
        case EFFECT_GATE:
            ask_gate(loop);
            break;
        case EFFECT_BODY:
            return begin_body(loop, err);
        case EFFECT_END:
            return end_run(loop, err);
        }
        if (r == 0) {
            r = take_mail(loop, err);
        }
        if (r < 0) {
            return r;
        }
    }
}

int loop_next(struct loop *loop, struct rondo_error *err)
{
    if (loop->is_over) {
        return LOOP_ENDED;
    }
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    int r = advance(loop, err);
    return r < 0 ? fail_run(loop, r, err) : r;
}

void loop_report(struct loop *loop, const struct loop_body_result *result)
{
    loop->body = *result;
    buf_clear(&loop->body_output);
    if (result->output_len > 0) {
        buf_append(&loop->body_output, result->output, result->output_len);
    }
    free(loop->body_summary);
    loop->body_summary = memory_dup_string(result->summary);
    free(loop->body_message);
    loop->body_message = memory_dup_string(result->message);
    if (result->custom_data != NULL) {
        free(loop->custom_data);
        loop->custom_data = memory_dup_string(result->custom_data);
    }
}

/** Parts of the public API that take JSON from the caller check it here. */
static int check_json_object(const char *json, size_t limit, const char *what,
                             struct rondo_error *err)
{
    size_t len = strlen(json);
    if (len > limit) {
        return error_set(err, RONDO_ERR_LIMIT, "%s of %zu bytes; the limit is %zu", what, len,
                         limit);
    }
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    if (r == 0 && !json_object_is_type(root, json_type_object)) {
        r = error_set(err, RONDO_ERR_INVALID, "not a JSON object");
    }
    if (r < 0) {
        error_prefix(err, "%s", what);
    }
    return r;
}

int loop_note(struct loop *loop, const char *name, const char *attributes, struct rondo_error *err)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > LIMIT_CONDITION_NAME_LEN) {
        return error_set(err, RONDO_ERR_INVALID, "a note needs a name of 1 to %d bytes",
                         LIMIT_CONDITION_NAME_LEN);
    }
    if (attributes != NULL) {
        int r =
            check_json_object(attributes, LIMIT_EVENT_ATTRIBUTES_BYTES, "event attributes", err);
        if (r < 0) {
            return r;
        }
    }
    struct journal_event event = {.type = JOURNAL_NOTE, .name = name, .attributes = attributes};
    loop_record(loop, &event);
    return 0;
}

int loop_evaluate(struct loop *loop, const char *name, struct verify_result *ret_result,
                  struct rondo_error *err)
{
    const struct loop_condition *condition = NULL;
    for (size_t i = 0; i < loop->spec.condition_count; i++) {
        if (strcmp(loop->spec.conditions[i].name, name) == 0) {
            condition = &loop->spec.conditions[i];
        }
    }
    if (condition == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "the run has no exit condition '%s'", name);
    }
    struct journal_event started = {
        .type = JOURNAL_VERIFICATION_STARTED,
        .iteration = (int64_t)loop->state.iteration,
        .total = 1,
        .name = condition->name,
    };
    loop_record(loop, &started);
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    struct verify_result result = {.exit_code = -1};
    loop->verifier.evaluate(&loop->verifier, condition, condition->timeout_ns, &loop->cancel,
                            &result);
    record_evaluated(loop, condition->name, &result);
    r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        verify_result_fini(&result);
        return r;
    }
    *ret_result = result;
    return 0;
}

int loop_save_checkpoint(struct loop *loop, const char *custom_data, struct rondo_error *err)
{
    if (custom_data != NULL) {
        int r = check_json_object(custom_data, LIMIT_CUSTOM_DATA_BYTES, "custom data", err);
        if (r < 0) {
            return r;
        }
        free(loop->custom_data);
        loop->custom_data = memory_dup_string(custom_data);
    }
    int r = loop_record_checkpoint(loop, "demand", err);
    return r < 0 ? r : loop_flush(loop, FLUSH_NORMAL, err);
}
