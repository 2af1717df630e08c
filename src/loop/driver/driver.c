// SPDX-License-Identifier: Apache-2.0
/*
 * Performing what the step decides. This file never decides anything about the course of a run by
 * itself: what is not in an event does not happen again on resume.
 */
#include "loop/driver/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/step.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** The words of a body outlive it: the end of the run repeats them. */
static void forget_body_texts(struct loop *loop)
{
    free(loop->body_summary);
    loop->body_summary = NULL;
    free(loop->body_message);
    loop->body_message = NULL;
}

/** Wait before the next iteration, unless there will be none. */
static int wait_between(struct loop *loop, int64_t delay_ns, struct rondo_error *err)
{
    if (loop_is_denied_already(loop)) {
        return 0;
    }
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    if (r < 0) {
        return r;
    }
    loop_wait_with_mail(loop, delay_ns);
    return 0;
}

/** Whether the run ends because of what its last body reported. */
static bool is_told_by_body(const struct loop *loop, const struct journal_event *event)
{
    const struct run_state *state = &loop->state;
    bool is_only_failure = state->finish == FINISH_NONE && state->consecutive_failures == 1 &&
                           strcmp(event->run_finished.status, rondo_status_name(RONDO_FAILED)) == 0;
    return loop->body_message != NULL && (state->denied == RONDO_ERROR || is_only_failure);
}

/** The end of the run in the words of its cause: the gate, or the body. */
static struct journal_event worded_end(const struct loop *loop, const struct journal_event *event)
{
    struct journal_event worded = *event;
    worded.run_finished.summary = loop->body_summary;
    if (loop->violation != NULL) {
        worded.run_finished.message = loop->violation->message;
    } else if (is_told_by_body(loop, event)) {
        worded.run_finished.message = loop->body_message;
    }
    return worded;
}

static bool is_completion(const struct journal_event *event)
{
    return event->type == JOURNAL_RUN_FINISHED &&
           strcmp(event->run_finished.status, rondo_status_name(RONDO_COMPLETED)) == 0;
}

static int record_decided(struct loop *loop, const struct journal_event *event,
                          struct rondo_error *err)
{
    if (event->type == JOURNAL_RUN_FINISHED && loop->is_degraded) {
        int r = loop_flush(loop, FLUSH_HARD, err);
        if (r < 0) {
            return r;
        }
        if (!loop->is_degraded) {
            return 0; /* It works again: the step may need its final checkpoint after all. */
        }
        loop_record_degraded(loop);
    }
    if (is_completion(event) && !loop_ask(loop, ACTION_FINISH, NULL, NULL)) {
        return 0;
    }
    if (event->type == JOURNAL_RUN_FINISHED) {
        loop_warn_at_end(loop);
    }
    struct journal_event worded =
        event->type == JOURNAL_RUN_FINISHED ? worded_end(loop, event) : *event;
    loop_record(loop, &worded);
    return 0;
}

/** @return LOOP_BODY; 0 when its beginning was taken back, or a negative code */
static int begin_body(struct loop *loop, struct rondo_error *err)
{
    int r = loop_flush(loop, FLUSH_NORMAL, err);
    loop_forget_reliance(loop); /* Without the store, too, the body begins now. */
    if (r < 0 || loop->state.phase != PHASE_IN_BODY) {
        return r;
    }
    loop_forget_late(loop); /* That commit has begun the lease anew. */
    forget_body_texts(loop);
    loop->is_in_body = true;
    loop->body_started_ns = clock_monotonic(runtime_clock(loop->runtime));
    return LOOP_BODY;
}

static int end_run(struct loop *loop, struct rondo_error *err)
{
    int r = loop_flush(loop, FLUSH_RELEASE, err);
    if (r < 0) {
        return r;
    }
    runtime_unregister(loop->runtime, loop->run_id, loop->state.epoch);
    loop->is_registered = false;
    loop->is_over = true;
    return LOOP_ENDED;
}

/** Try to leave the status `error` and a final checkpoint in a store that failed for good. */
static int end_with_error(struct loop *loop, const char *message)
{
    struct journal_event event = {
        .type = JOURNAL_RUN_FINISHED,
        .run_finished = {.status = rondo_status_name(RONDO_ERROR),
                         .iterations = (int64_t)loop->state.finished,
                         .message = message},
    };
    loop_prepare_checkpoint(loop, "final");
    loop_warn_at_end(loop);
    loop_record(loop, &event);
    return end_run(loop, NULL);
}

/**
 * This process cannot continue. When even the status cannot be stored, the caller gets the error
 * that began it, and the run stays where it was last committed: nothing reports what is not there.
 */
static int fail_run(struct loop *loop, int code, struct rondo_error *err)
{
    struct run_state before = loop->state;
    if (loop_is_store_failure(code) && before.phase != PHASE_ENDED &&
        end_with_error(loop, err->message) == LOOP_ENDED) {
        return LOOP_ENDED;
    }
    loop->state = before;
    if (before.phase == PHASE_ENDED) {
        loop->state.phase = PHASE_READY; /* the end that could not be committed */
        loop->state.status = RONDO_RUNNING;
    }
    loop->broken = *err;
    loop->broken.code = code;
    return code;
}

/** @return 0, an enum loop_turn or a negative code */
static int perform(struct loop *loop, const struct loop_effect *effect, struct rondo_error *err)
{
    int r = 0;
    switch (effect->kind) {
    case EFFECT_RECORD:
        return record_decided(loop, &effect->event, err);
    case EFFECT_CHECKPOINT:
        return loop_record_checkpoint(loop, effect->how, err);
    case EFFECT_VERIFY:
        return loop_verify(loop, err);
    case EFFECT_PAUSE:
        r = loop_flush(loop, FLUSH_HOLD, err);
        return r < 0 ? r : LOOP_PAUSED;
    case EFFECT_DELAY:
        return wait_between(loop, effect->delay_ns, err);
    case EFFECT_GATE:
        loop_ask_to_iterate(loop);
        return 0;
    case EFFECT_BODY:
        return begin_body(loop, err);
    case EFFECT_END:
        return end_run(loop, err);
    }
    return 0;
}

/** Whether the run must be parked rather than begin this. */
static bool is_parking_before(const struct loop *loop, enum loop_effect_kind kind)
{
    bool is_beginning = kind == EFFECT_GATE || kind == EFFECT_DELAY;
    return (is_beginning && loop->parking != PARKING_NONE) ||
           (kind == EFFECT_VERIFY && loop->parking == PARKING_NOW);
}

/** Whether this decides how the run continues, or that it does not. */
static bool is_decision(const struct loop_effect *effect)
{
    return effect->kind == EFFECT_GATE || effect->kind == EFFECT_DELAY ||
           (effect->kind == EFFECT_RECORD && effect->event.type == JOURNAL_RUN_FINISHED &&
            !is_completion(&effect->event));
}

/** Whether letters have to be read first. */
static bool must_look_before(const struct loop *loop, const struct loop_effect *effect)
{
    return is_decision(effect) && !(effect->kind == EFFECT_GATE && loop_can_rely(loop));
}

/** @return enum loop_turn or a negative code. */
static int advance(struct loop *loop, struct rondo_error *err)
{
    loop->has_mail = loop->has_mail || loop->state.is_paused; /* Nothing else would report it. */
    loop_take_mail(loop);
    loop_end_body(loop);
    for (;;) {
        struct loop_effect effect;
        loop->is_lease_in_doubt = loop->is_lease_in_doubt || loop_is_only_late(loop);
        loop_forget_late(loop);
        loop_step(&loop->state, &loop->spec, loop_now(loop), !loop->is_degraded, &effect);
        if (is_parking_before(loop, effect.kind)) {
            return LOOP_PARKING;
        }
        if (must_look_before(loop, &effect) && loop_look_for_mail(loop)) {
            continue;
        }
        int r = perform(loop, &effect, err);
        if (r != 0 || effect.kind == EFFECT_END || effect.kind == EFFECT_PAUSE) {
            return r;
        }
        if (loop->reliance == NULL) { /* What letters ask for must not be taken back. */
            loop_take_mail(loop);
        }
    }
}

int loop_next(struct loop *loop, struct rondo_error *err)
{
    if (loop->is_over) {
        return LOOP_ENDED;
    }
    if (loop->broken.code < 0) {
        return error_set(err, loop->broken.code, "%s", loop->broken.message);
    }
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    loop->is_begun = true;
    loop_record_options(loop);
    int r = advance(loop, err);
    return r < 0 ? fail_run(loop, r, err) : r;
}

/**
 * JSON from the caller becomes a member of an event, one level deeper, so it must be readable
 * there: what could be written and not read again would make the run impossible to resume.
 */
static int check_as_member(const char *json, struct rondo_error *err)
{
    auto_buf struct buf wrapped = {0};
    buf_printf(&wrapped, "{\"value\":%s}", json);
    auto_json struct json_object *root = NULL;
    return json_parse(wrapped.data, wrapped.len, &root, err);
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
    if (r == 0) {
        r = check_as_member(json, err);
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
    int r = loop_can_record(loop, err);
    if (r == 0) {
        struct journal_event event = {
            .type = JOURNAL_NOTE,
            .note = {.name = name, .attributes = attributes},
        };
        loop_record(loop, &event);
    }
    return r;
}

static int save_on_demand(struct loop *loop, struct rondo_error *err)
{
    int r = loop_record_checkpoint(loop, "demand", err);
    return r < 0 ? r : loop_flush(loop, FLUSH_NORMAL, err);
}

/** Whether a checkpoint may be saved on demand now. Nothing was changed when it may not. */
static int check_demand(struct loop *loop, const char *custom_data, struct rondo_error *err)
{
    struct policy_verdict verdict;
    int r = custom_data == NULL
                ? 0
                : check_json_object(custom_data, LIMIT_CUSTOM_DATA_BYTES, "custom data", err);
    if (r == 0) {
        r = loop_can_record(loop, err);
    }
    if (r == 0 && !loop_ask(loop, ACTION_CHECKPOINT, NULL, &verdict)) {
        r = error_set(err, RONDO_ERR_DENIED, "no checkpoint was saved: %s", verdict.message);
    }
    return r;
}

int loop_save_checkpoint(struct loop *loop, const char *custom_data, struct rondo_error *err)
{
    int r = check_demand(loop, custom_data, err);
    uint64_t number = loop->state.checkpoint_number;
    if (r == 0 && custom_data != NULL) {
        free(loop->custom_data);
        loop->custom_data = memory_dup_string(custom_data);
    }
    if (r == 0) {
        r = save_on_demand(loop, err);
    }
    if (r == 0 && !loop->is_degraded && loop->state.checkpoint_number == number) {
        r = save_on_demand(loop, err); /* An older one was waiting and has gone through now. */
    }
    if (r == 0 && loop->is_degraded) {
        r = error_set(err, RONDO_ERR_IO, "no checkpoint was saved, because the store fails: %s",
                      loop->degraded_message);
    }
    return r;
}
