// SPDX-License-Identifier: Apache-2.0
/*
 * Recording: what a body reported becomes an event, and events get into the store. A commit whose
 * outcome is unknown is handed in again unchanged (the store recognises it), so later events wait
 * in a batch of their own.
 */
#include "loop/driver/internal.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "loop/runtime_internal.h"
#include "loop/step.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Tries of one commit, with growing pauses, before the store counts as failed. */
#define FLUSH_TRIES 7
/** First pause; each further one is twice as long, plus jitter of up to as much again. */
#define FLUSH_PAUSE_NS (20 * NS_PER_MS)
/** The pause does not grow after so many failures. */
#define FLUSH_DOUBLINGS 5
/** Old checkpoints are pruned once in so many. */
#define PRUNE_EVERY 32

bool loop_is_store_failure(int code)
{
    return code == RONDO_ERR_IO || code == RONDO_ERR_FULL || code == RONDO_ERR_BUSY ||
           code == RONDO_ERR_TIMEOUT;
}

struct store_summary loop_summary_of(const struct run_state *state, size_t condition_count)
{
    return (struct store_summary){
        .status = state->phase == PHASE_ENDED ? state->status : RONDO_RUNNING,
        .iteration = state->iteration,
        .iteration_limit = state->limit,
        .conditions_met = run_conditions_met(state),
        .conditions_total = (uint32_t)condition_count,
        .tokens = state->tokens,
        .cost_micro = run_cost(state),
        .warnings = state->warnings < UINT32_MAX ? (uint32_t)state->warnings : UINT32_MAX,
        .is_paused = state->is_paused,
        .is_waiting = state->is_waiting,
    };
}

/** The agent's state as the last finished iteration left it. */
static const struct buf *finished_state(const struct loop *loop)
{
    return loop->has_former_state ? &loop->former_state : &loop->agent_state;
}

/** finished_state goes into the next commit. */
static void note_saved(struct loop *loop)
{
    loop->is_state_unsaved = false;
    if (loop->has_former_state) {
        loop->was_state_changed = false;
    } else {
        loop->is_state_changed = false;
    }
}

/** The checkpoint, when it belongs to the first `count` pending events. */
static const struct store_checkpoint *checkpoint_for(const struct loop *loop, size_t count)
{
    return loop->checkpoint != NULL && loop->checkpoint_at < count ? &loop->checkpoint->stored
                                                                   : NULL;
}

static struct store_event *stored_events(const struct loop *loop, size_t count)
{
    struct store_event *events = memory_new_zero(count, sizeof(*events));
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct store_event){
            .time_ns = loop->pending[i].time_ns,
            .type = journal_type_name(loop->pending[i].type),
            .data = loop->pending[i].data,
            .data_len = loop->pending[i].data_len,
        };
    }
    return events;
}

static int try_commit(struct loop *loop, size_t count, bool is_release,
                      struct store_commit_result *ret_result, struct rondo_error *err)
{
    struct store_event *events = stored_events(loop, count);
    const struct store_checkpoint *checkpoint = checkpoint_for(loop, count);
    bool is_pruning = checkpoint != NULL && checkpoint->number % PRUNE_EVERY == 0;
    struct store_batch batch = {
        .run_id = loop->run_id,
        .epoch = loop->state.epoch,
        .first_seq = loop->state.seq + 1 - loop->pending_count,
        .events = events,
        .event_count = count,
        .checkpoint = checkpoint,
        .interim = loop->interim == NULL ? NULL : &loop->interim->stored,
        .update = loop->update == NULL ? NULL : &loop->update->change,
        .premise = loop->reliance == NULL ? NULL : &loop->reliance->premise,
        .memories = loop->memories,
        .memory_count = loop->tried_memories,
        .summary = loop->tried_summary,
        .lease_ns = is_release ? 0 : runtime_lease_ns(loop->runtime),
        .mail_taken = loop->tried_mail,
        .keep_checkpoints = is_pruning ? LIMIT_CHECKPOINTS_KEPT : 0,
    };
    int r = writer_commit(runtime_writer(loop->runtime), &batch, ret_result, err);
    free(events);
    return r;
}

static void drop_committed(struct loop *loop, size_t count)
{
    if (checkpoint_for(loop, count) != NULL) {
        checkpoint_record_free(loop->checkpoint);
        loop->checkpoint = NULL;
    } else if (loop->checkpoint != NULL) {
        loop->checkpoint_at -= count;
    }
    for (size_t i = 0; i < count; i++) {
        loop->pending_bytes -= loop->pending[i].data_len;
        free(loop->pending[i].data);
    }
    checkpoint_record_free(loop->interim);
    loop->interim = NULL;
    loop_drop_memories(loop, loop->tried_memories);
    loop->tried_memories = 0;
    loop->pending_count -= count;
    memmove(loop->pending, loop->pending + count, loop->pending_count * sizeof(*loop->pending));
    loop->tried_count = 0;
}

int loop_create(struct loop *loop, const struct store_run *row,
                struct store_claim_result *ret_claim, struct rondo_error *err)
{
    struct store_event *events = stored_events(loop, loop->pending_count);
    int r = runtime_claim(loop->runtime, loop->run_id, row, events, loop->pending_count, ret_claim,
                          err);
    free(events);
    if (r == 0 && ret_claim->outcome == STORE_CLAIMED) {
        drop_committed(loop, loop->pending_count);
    }
    return r;
}

/** The pause grows with each failure; jitter keeps many loops from coming back as one. */
static void pause_after(struct loop *loop, int failures)
{
    int64_t pause_ns = FLUSH_PAUSE_NS << (failures < FLUSH_DOUBLINGS ? failures : FLUSH_DOUBLINGS);
    pause_ns += (int64_t)random_below(runtime_random(loop->runtime), (uint64_t)pause_ns);
    clock_sleep(runtime_clock(loop->runtime), pause_ns, NULL);
}

/** A database that is away may come back: the next effect waits for it, unless somebody stops the
 * run. @param since_ns monotonic time of the first failure */
static bool may_wait_longer(struct loop *loop, int64_t since_ns, const struct rondo_error *err)
{
    int64_t now_ns = clock_monotonic(runtime_clock(loop->runtime));
    if (!runtime_waits_for_store(loop->runtime) ||
        (loop->spec.durability == DURABILITY_BEST_EFFORT && !loop->is_lease_in_doubt) ||
        (cancel_is_set(&loop->cancel) && !loop_is_only_late(loop)) ||
        now_ns - since_ns >= RUNTIME_STORE_PATIENCE_NS) {
        return false;
    }
    runtime_note_waiting(loop->runtime, loop->run_id, err->message);
    loop->is_waiting_for_store = true;
    return true;
}

static void end_waiting(struct loop *loop)
{
    if (loop->is_waiting_for_store) {
        runtime_note_waiting(loop->runtime, loop->run_id, NULL);
        loop->is_waiting_for_store = false;
    }
}

/**
 * No commit says that an iteration is finished without holding the state that it left. When no
 * checkpoint comes with it (verification follows first, the interval is not over, or the store has
 * failed), the state goes into an interim.
 */
static void add_interim(struct loop *loop)
{
    if (!loop->is_state_unsaved) {
        return;
    }
    loop->interim = memory_new_zero(1, sizeof(*loop->interim));
    checkpoint_interim_init(loop->interim, loop->run_id, &loop->state, finished_state(loop),
                            loop->custom_data, clock_now(runtime_clock(loop->runtime)));
    note_saved(loop);
}

/** What is handed in again after a failure must say the same, whatever was recorded since. */
static void freeze(struct loop *loop, size_t count)
{
    if (loop->tried_count == 0) {
        if (loop->is_limit_ahead_old) {
            loop_look_ahead(loop);
        }
        loop->tried_count = count;
        loop->tried_summary = loop_summary_of(&loop->state, loop->spec.condition_count);
        loop->tried_summary.iteration_limit = loop->limit_ahead;
        loop->tried_mail = loop->mail_taken;
        loop->tried_memories = loop->memory_count;
        add_interim(loop);
    }
}

/** The body learns what became of its document. */
static void settle_update(struct loop *loop)
{
    const struct loop_update *update = loop->update;
    if (update != NULL && !update->committed(update->change.context)) {
        loop->update = NULL;
    }
}

/** Commit the first `count` events, trying again while that can help. */
static int try_hard(struct loop *loop, size_t count, bool is_release, int tries,
                    enum store_commit_outcome *ret_outcome, struct rondo_error *err)
{
    int r = 0;
    int64_t since_ns = clock_monotonic(runtime_clock(loop->runtime));
    freeze(loop, count);
    for (int i = 0; i < tries || may_wait_longer(loop, since_ns, err); i++) {
        struct store_commit_result result = {0};
        int64_t sent_ns = clock_monotonic(runtime_clock(loop->runtime));
        r = try_commit(loop, count, is_release, &result, err);
        if (r == 0 && result.outcome == STORE_FENCED) {
            return error_set(err, RONDO_ERR_FENCED,
                             "run %s was taken over by another process; this one stops here",
                             loop->run_id);
        }
        if (r == 0 && result.outcome == STORE_OUTDATED) {
            *ret_outcome = result.outcome;
            return 0;
        }
        if (r == 0) {
            runtime_note_held(loop->runtime, loop->run_id, sent_ns);
            loop->is_lease_in_doubt = false;
            drop_committed(loop, count);
            settle_update(loop);
            loop_forget_reliance(loop);
            loop->has_mail = result.has_mail;
            *ret_outcome = result.outcome;
            return 0;
        }
        loop->storage_failures++;
        if (!loop_is_store_failure(r)) {
            return r;
        }
        if (i + 1 < tries || runtime_waits_for_store(loop->runtime)) {
            pause_after(loop, i);
        }
    }
    error_prefix(err, "the store failed %d times in a row", tries);
    return r;
}

static int commit_leading(struct loop *loop, size_t count, bool is_release, int tries,
                          enum store_commit_outcome *ret_outcome, struct rondo_error *err)
{
    int r = try_hard(loop, count, is_release, tries, ret_outcome, err);
    end_waiting(loop);
    return r;
}

static int degrade(struct loop *loop, int r, struct rondo_error *err)
{
    if (loop->spec.durability != DURABILITY_BEST_EFFORT || !loop_is_store_failure(r)) {
        return r;
    }
    if (loop->pending_count > LIMIT_PENDING_EVENTS || loop->pending_bytes > LIMIT_PENDING_BYTES) {
        error_prefix(err, "more than %d events wait for the failing store", LIMIT_PENDING_EVENTS);
        return r;
    }
    if (!loop->is_degraded) {
        loop->is_degraded = true;
        loop->degraded_failures = 0;
        loop->degraded_since_ns = clock_now(runtime_clock(loop->runtime));
    }
    loop->degraded_failures++;
    snprintf(loop->degraded_message, sizeof(loop->degraded_message), "%s",
             err == NULL ? "" : err->message);
    return 0;
}

void loop_record_degraded(struct loop *loop)
{
    struct journal_event event = {
        .type = JOURNAL_STORAGE_DEGRADED,
        .storage_degraded = {.failures = (int64_t)loop->degraded_failures,
                             .duration_ns =
                                 clock_now(runtime_clock(loop->runtime)) - loop->degraded_since_ns,
                             .message = loop->degraded_message},
    };
    loop_record(loop, &event);
}

void loop_record_trouble(struct loop *loop, uint64_t failures, int64_t since_ns,
                         const char *message)
{
    int64_t duration_ns = clock_now(runtime_clock(loop->runtime)) - since_ns;
    struct journal_event event = {
        .type = JOURNAL_STORAGE_DEGRADED,
        .storage_degraded = {.failures = (int64_t)failures,
                             .duration_ns = duration_ns < 0 ? 0 : duration_ns,
                             .message = message},
    };
    loop_record(loop, &event);
}

/** A process that was frozen in a commit, or met a slow disk, may have lost the run by its end. */
static bool may_be_taken_over(const struct loop *loop, int64_t since_ns)
{
    return clock_monotonic(runtime_clock(loop->runtime)) - since_ns >=
           runtime_lease_ns(loop->runtime);
}

/** What follows may have effects: a lease in doubt is made sure of by a second commit. */
static int flush_all(struct loop *loop, int tries, bool is_forced, struct rondo_error *err)
{
    bool was_in_doubt = false;
    while (is_forced || loop->pending_count > 0) {
        int64_t since_ns = clock_monotonic(runtime_clock(loop->runtime));
        size_t count = loop->tried_count > 0 ? loop->tried_count : loop->pending_count;
        enum store_commit_outcome outcome = STORE_COMMITTED;
        int r = commit_leading(loop, count, false, tries, &outcome, err);
        if (r < 0) {
            return degrade(loop, r, err);
        }
        if (outcome == STORE_OUTDATED) {
            loop_take_back(loop);
            return 0;
        }
        if (loop->pending_count == 0 && loop->is_degraded) {
            loop->is_degraded = false;
            loop_record_degraded(loop);
        }
        is_forced = !was_in_doubt && may_be_taken_over(loop, since_ns);
        was_in_doubt = was_in_doubt || is_forced;
    }
    return 0;
}

/**
 * Commit what waits and give the run up with the last batch. A batch that had gone through before
 * was not a release then, so another one without events has to follow; by that time the run may
 * have a new owner, which is as good.
 */
static int flush_and_release(struct loop *loop, struct rondo_error *err)
{
    bool is_released = false;
    while (!is_released) {
        bool is_empty = loop->pending_count == 0;
        size_t count = loop->tried_count > 0 ? loop->tried_count : loop->pending_count;
        bool is_last = count == loop->pending_count;
        enum store_commit_outcome outcome = STORE_COMMITTED;
        int r = commit_leading(loop, count, is_last, FLUSH_TRIES, &outcome, err);
        if (r < 0) {
            return r == RONDO_ERR_FENCED && is_empty ? 0 : r;
        }
        is_released = is_last && (is_empty || outcome == STORE_COMMITTED);
    }
    return 0;
}

int loop_flush(struct loop *loop, enum flush_mode mode, struct rondo_error *err)
{
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    if (mode == FLUSH_RELEASE) {
        return flush_and_release(loop, err);
    }
    /* While the store is down each boundary tries once; the end of the run tries hard again. */
    int tries = loop->is_degraded && mode != FLUSH_HARD ? 1 : FLUSH_TRIES;
    return flush_all(loop, tries, mode == FLUSH_HOLD, err);
}

int loop_commit(struct loop *loop, struct rondo_error *err)
{
    return loop_flush(loop, FLUSH_NORMAL, err);
}

void loop_set_update(struct loop *loop, const struct loop_update *update)
{
    loop->update = update;
}

int loop_commit_update(struct loop *loop, struct rondo_error *err)
{
    return loop_flush(loop, FLUSH_HOLD, err);
}

int loop_can_record(const struct loop *loop, struct rondo_error *err)
{
    if (loop->broken.code < 0) {
        return error_set(err, loop->broken.code, "%s", loop->broken.message);
    }
    if (loop->is_over) {
        return error_set(err, RONDO_ERR_STATE, "the run has ended");
    }
    return 0;
}

int64_t loop_now(const struct loop *loop)
{
    return runtime_active_ns(loop->runtime) + loop->clock_offset_ns;
}

/** @param waited_ns of the time before, which does not count either */
static void note_skipped_time(struct loop *loop, int64_t waited_ns)
{
    int64_t now_ns = loop_now(loop);
    int64_t skipped_ns = clock_now(runtime_clock(loop->runtime)) - now_ns;
    if (skipped_ns < LOOP_CLOCKS_DIFFER_NS && skipped_ns > -LOOP_CLOCKS_DIFFER_NS) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_TIME_SKIPPED,
        .time_skipped =
            {.active_ns = loop_step_active_ns(&loop->state, now_ns - waited_ns),
             .skipped_ns = skipped_ns > 0 ? skipped_ns : -skipped_ns,
             .message =
                 skipped_ns > 0
                     ? "the clock was set forward, or the process or the machine was suspended"
                     : "the clock was set back"},
    };
    loop->clock_offset_ns += skipped_ns;
    loop_record(loop, &event);
}

void loop_note_skipped_time(struct loop *loop)
{
    note_skipped_time(loop, 0);
}

/** Whether an event's place in time has to be right by itself. */
static bool is_measured(const struct journal_event *event)
{
    return event->type != JOURNAL_TIME_SKIPPED && event->type != JOURNAL_CHECKPOINT_SAVED &&
           event->type != JOURNAL_RUN_CLAIMED && event->type != JOURNAL_RUN_CREATED;
}

void loop_record(struct loop *loop, const struct journal_event *event)
{
    if (is_measured(event)) {
        bool is_wait = event->type == JOURNAL_PERSON_ANSWERED;
        note_skipped_time(loop, is_wait ? event->person_answered.waited_ns : 0);
    }
    struct journal_event complete = *event;
    if (complete.time_ns == 0) {
        complete.time_ns = clock_now(runtime_clock(loop->runtime));
    }
    complete.seq = loop->state.seq + 1;
    auto_buf struct buf data = {0};
    journal_encode(&complete, &data);
    if (loop->pending_count == loop->pending_room) {
        loop->pending_room = loop->pending_room == 0 ? 8 : 2 * loop->pending_room;
        loop->pending = memory_resize(loop->pending, loop->pending_room, sizeof(*loop->pending));
    }
    struct pending_event *pending = &loop->pending[loop->pending_count++];
    pending->time_ns = complete.time_ns;
    pending->type = complete.type;
    pending->data_len = data.len;
    pending->data = buf_steal(&data);
    loop->pending_bytes += pending->data_len;
    if (complete.type == JOURNAL_ITERATION_STARTED) {
        loop->limit_ahead = (uint64_t)complete.iteration_started.limit;
        loop->is_limit_ahead_old = false;
    }
    int r = run_fold(&loop->state, &complete, NULL);
    assert(r == 0); /* The seq was made to fit. */
    (void)r;
}

/* ---- What a body reported ----------------------------------------------------------------------
 */

static const char *const outcome_names[] = {
    [LOOP_OK] = "ok",           [LOOP_FAILED] = "failed",       [LOOP_TIMED_OUT] = "timeout",
    [LOOP_CRASHED] = "crashed", [LOOP_UNRECOVERABLE] = "error", [LOOP_INTERRUPTED] = "interrupted",
};

/** A body's words are bounded, because an event is. */
static char *dup_cut(const char *text)
{
    return text == NULL ? NULL : memory_dup_bytes(text, strnlen(text, LIMIT_SUMMARY_BYTES));
}

void loop_report(struct loop *loop, const struct loop_body_result *result)
{
    loop->body = *result;
    loop->body.summary = NULL;
    loop->body.message = NULL;
    loop->body.output = NULL;
    loop->body.custom_data = NULL;
    buf_clear(&loop->body_output);
    if (result->output_len > 0) {
        buf_append(&loop->body_output, result->output, result->output_len);
    }
    loop->body.tokens = result->tokens > 0 ? result->tokens : 0;
    loop->body.cost_micro = result->cost_micro < 0 ? COST_UNKNOWN : result->cost_micro;
    free(loop->body_summary);
    loop->body_summary = dup_cut(result->summary);
    free(loop->body_message);
    loop->body_message = dup_cut(result->message);
    loop->has_custom_data = loop->has_custom_data || result->custom_data != NULL;
    if (result->custom_data != NULL) {
        free(loop->custom_data);
        loop->custom_data = memory_dup_string(result->custom_data);
    }
}

static void record_finished(struct loop *loop)
{
    const struct loop_body_result *body = &loop->body;
    int64_t measured = clock_monotonic(runtime_clock(loop->runtime)) - loop->body_started_ns;
    struct journal_event event = {
        .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = (int64_t)loop->state.iteration,
                               .outcome = outcome_names[body->outcome],
                               .exit_code = body->exit_code,
                               .signal = body->signal,
                               .duration_ns = body->duration_ns > 0 ? body->duration_ns : measured,
                               .tokens = body->tokens,
                               .cost_micro = body->cost_micro,
                               .finish = run_finish_name(body->finish),
                               .guard = body->is_guarded ? RUN_GUARD_SPIN : NULL,
                               .summary = loop->body_summary,
                               .message = loop->body_message,
                               .output_bytes = (int64_t)body->output_total,
                               .output = loop->body_output.len > 0 ? loop->body_output.data : NULL,
                               .output_len = loop->body_output.len,
                               .custom_data = loop->has_custom_data ? loop->custom_data : NULL},
    };
    loop_record(loop, &event);
    loop_keep_state(loop);
    loop->is_state_unsaved = loop->is_state_unsaved || loop->is_state_changed;
}

static void record_body(struct loop *loop)
{
    loop->is_in_body = false;
    if (loop->body.outcome == LOOP_INTERRUPTED) {
        struct journal_event event = {
            .type = JOURNAL_ITERATION_INTERRUPTED,
            .iteration_interrupted = {.iteration = (int64_t)loop->state.iteration,
                                      .attempt = (int64_t)loop->state.attempt,
                                      .reason = loop->parking == PARKING_NOW ? "the run was parked"
                                                : loop_is_only_late(loop)
                                                    ? "the lease could not be renewed"
                                                : loop->state.is_waiting ? "a person must decide"
                                                : loop->body_message != NULL ? loop->body_message
                                                                             : "stopped"},
        };
        loop_record(loop, &event);
        loop_take_back_state(loop);
    } else {
        record_finished(loop);
    }
    loop->body = (struct loop_body_result){0};
    loop->has_custom_data = false;
    buf_clear(&loop->body_output);
}

void loop_end_body(struct loop *loop)
{
    if (loop->is_in_body) {
        record_body(loop);
    }
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

void loop_prepare_checkpoint(struct loop *loop, const char *how)
{
    if (loop->checkpoint != NULL) {
        return; /* One waits for the failing store already. */
    }
    loop_note_skipped_time(loop); /* The fold in the checkpoint ends with its own event. */
    const struct clock *clock = runtime_clock(loop->runtime);
    int64_t begun_ns = clock_monotonic(clock);
    struct run_state after = loop->state;
    struct journal_event event = {
        .type = JOURNAL_CHECKPOINT_SAVED,
        .seq = after.seq + 1,
        .time_ns = clock_now(clock),
        .checkpoint_saved = {.number = (int64_t)loop->state.checkpoint_number + 1,
                             .iteration = (int64_t)run_current_iteration(&loop->state),
                             .bytes = (int64_t)finished_state(loop)->len,
                             .how = how},
    };
    run_fold(&after, &event, NULL);
    if (strcmp(how, "demand") == 0) {
        loop_keep_state(loop);
    }
    loop->checkpoint = memory_new_zero(1, sizeof(*loop->checkpoint));
    checkpoint_record_init(loop->checkpoint, loop->run_id, &after, finished_state(loop),
                           loop->custom_data, event.time_ns);
    note_saved(loop);
    char sha256[65];
    digest_hex(loop->checkpoint->stored.sha256, sha256);
    event.checkpoint_saved.sha256 = sha256;
    event.checkpoint_saved.duration_ns = clock_monotonic(clock) - begun_ns;
    loop->checkpoint_at = loop->pending_count;
    loop_record(loop, &event);
}

int loop_record_checkpoint(struct loop *loop, const char *how, struct rondo_error *err)
{
    int r = loop->checkpoint == NULL ? 0 : loop_flush(loop, FLUSH_NORMAL, err);
    if (r == 0) {
        loop_prepare_checkpoint(loop, how);
    }
    return r;
}
