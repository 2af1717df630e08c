// SPDX-License-Identifier: Apache-2.0
/*
 * What a journal may contain. Every event is checked when it is committed, against rules that are
 * written down here once more and independently of run_fold and of the step.
 */
#include "sim.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The clocks of a run may differ by less than that. */
#define UNNOTICED_NS (NS_PER_S / 2)

struct sim_run *sim_find_run(struct sim_world *world, const char *run_id)
{
    for (unsigned i = 0; i < world->run_count; i++) {
        if (strcmp(world->runs[i].id, run_id) == 0) {
            return &world->runs[i];
        }
    }
    return NULL;
}

void model_fini(struct sim_run *run)
{
    for (size_t i = 0; i <= run->checkpoints; i++) {
        free(run->states[i]);
    }
    loop_spec_fini(&run->spec);
    free(run->feedback);
}

#define require(condition, ...) sim_require(condition, run->world, run, __VA_ARGS__)

static void take_spec(struct sim_run *run, const struct journal_event *event)
{
    loop_spec_fini(&run->spec);
    struct rondo_error err;
    const char *spec = journal_event_spec(event);
    require(spec != NULL && loop_spec_decode(spec, strlen(spec), &run->spec, &err) == 0,
            "options that cannot be read");
    if (event->type == JOURNAL_RUN_CREATED || event->run_options.by == NULL) {
        run->is_round_met = false;
    } else {
        run->world->counters->limits_changed++;
    }
}

static void check_pause(struct sim_run *run, const struct journal_event *event)
{
    bool is_pause = event->type == JOURNAL_RUN_PAUSED;
    require(run->is_paused != is_pause, "%s twice", journal_type_name(event->type));
    run->is_paused = is_pause;
    run->world->counters->pauses += is_pause;
}

/**
 * Count the time up to an event, by a clock that cannot be set. Bodies and verification continue
 * during a pause. When an owner died is not in the journal: the next claim counts up to when it was
 * seen last, by the wall clock.
 */
static void count_time(struct sim_run *run, const struct journal_event *event)
{
    const struct sim_world *world = run->world;
    uint64_t era = 0;
    int64_t now_ns = world_true_time(world, event->time_ns, &era);
    require(now_ns >= run->event_ns, "an event before the one before it");
    bool stands_still =
        run->is_ended || (run->is_paused && !run->is_in_body && !run->is_round_open);
    int64_t passed_ns = stands_still ? 0 : now_ns - run->event_ns;
    if (event->type == JOURNAL_RUN_CLAIMED) {
        int64_t jump_ns = world->skews_ns[era] - world->skews_ns[run->event_era];
        for (uint64_t i = run->event_era; i <= era; i++) {
            int64_t forward_ns = world->skews_ns[i] - world->skews_ns[run->event_era];
            jump_ns = forward_ns > jump_ns ? forward_ns : jump_ns;
        }
        run->active_most_ns += passed_ns + (stands_still || jump_ns < 0 ? 0 : jump_ns);
    } else {
        passed_ns -= stands_still ? 0 : world_frozen_ns(run->executor, run->event_ns, now_ns);
        run->active_least_ns += passed_ns;
        run->active_most_ns += passed_ns;
    }
    run->event_ns = now_ns;
    run->event_era = era;
}

/** How far the loop may be off: by what it need not notice of each change. An owner takes over what
 * those before it have counted. */
static int64_t time_tolerance_ns(const struct sim_run *run)
{
    const struct sim_world *world = run->world;
    int64_t freezes = run->executor->freeze_count + run->former_freezes;
    int64_t changes = world->era == 0 ? 0 : (int64_t)world->era + (int64_t)run->epoch;
    return freezes * 2 * NS_PER_S + changes * UNNOTICED_NS;
}

static void check_skipped(struct sim_run *run, const struct journal_event *event)
{
    int64_t off_ns = time_tolerance_ns(run);
    require(off_ns > 0, "time is skipped, and nobody has set the clock or was frozen");
    require(event->time_skipped.skipped_ns >= UNNOTICED_NS, "%lld ns are skipped",
            (long long)event->time_skipped.skipped_ns);
    require(event->time_skipped.active_ns <= run->active_most_ns + off_ns &&
                event->time_skipped.active_ns >= run->active_least_ns - off_ns,
            "%lld ns of active time, not %lld to %lld", (long long)event->time_skipped.active_ns,
            (long long)run->active_least_ns, (long long)run->active_most_ns);
    run->world->counters->times_skipped++;
}

static void check_claimed(struct sim_run *run, const struct journal_event *event, uint64_t epoch)
{
    require((uint64_t)event->run_claimed.epoch == epoch, "a claim of epoch %lld by epoch %llu",
            (long long)event->run_claimed.epoch, (unsigned long long)epoch);
    require(epoch > run->epoch || run->seq == 2, "epoch %llu is claimed after %llu",
            (unsigned long long)epoch, (unsigned long long)run->epoch);
    run->epoch = epoch;
    if (run->executor != NULL && run->executor != run->world->acting) {
        run->former_freezes += run->executor->freeze_count;
    }
    run->executor = run->world->acting;
    if (run->is_ended) {
        run->world->counters->reopens++;
        run->failures_in_a_row = 0;
        run->finish = FINISH_NONE;
    }
    run->world->counters->takeovers += strcmp(event->run_claimed.how, "takeover") == 0;
    run->world->counters->controlled += strcmp(event->run_claimed.how, "control") == 0;
    run->is_ended = false;
    run->is_denied = false;
    run->is_stopping = false;
    run->is_broken_by_body = false;
    run->is_round_open = false;
}

/** Rules of pace: they do not hold while a store fails in best-effort mode. */
static void check_pace(const struct sim_run *run)
{
    const struct loop_spec *spec = &run->spec;
    int64_t off_ns = run->world->era == 0 ? 0 : UNNOTICED_NS;
    require(spec->time_limit_ns == 0 ||
                run->active_least_ns - time_tolerance_ns(run) < spec->time_limit_ns,
            "an iteration begins after the time limit");
    require(run->finished == 0 || run->finished_era != run->event_era ||
                run->event_ns - run->finished_ns + off_ns >= spec->delay_ns,
            "an iteration begins before the delay is over");
    require(spec->durability != DURABILITY_STRICT ||
                run->finished - run->checkpoint_finished < (uint64_t)spec->checkpoint_interval,
            "an iteration begins though a checkpoint is due");
}

static void check_started(struct sim_run *run, const struct journal_event *event)
{
    uint64_t n = (uint64_t)event->iteration_started.iteration;
    const struct loop_spec *spec = &run->spec;
    require(n == run->finished + 1, "iteration %llu begins after %llu were finished",
            (unsigned long long)n, (unsigned long long)run->finished);
    require(n <= SIM_MAX_ITERATIONS, "too many iterations for the model");
    require(!run->is_in_body, "iteration %llu begins inside another", (unsigned long long)n);
    require(!run->is_denied && !run->is_broken_by_body, "an iteration begins after a denial");
    require(!run->is_paused, "an iteration begins in a pause");
    require(!run->is_stopping, "an iteration begins after a stop was requested");
    require(!run->is_round_met, "an iteration begins though all conditions are met");
    require(!run->is_round_open, "an iteration begins inside a round of verification");
    require(run->finish == FINISH_NONE, "an iteration begins though the worker finished");
    require(run->failures_in_a_row < (uint64_t)spec->max_failures, "too many failures in a row");
    require((uint64_t)event->iteration_started.attempt == run->attempts[n] + 1,
            "attempt %lld of iteration %llu", (long long)event->iteration_started.attempt,
            (unsigned long long)n);
    require(spec->max_tokens == 0 || run->tokens < spec->max_tokens,
            "an iteration begins though the budget is used up");
    require(n <= (uint64_t)spec->max_iterations, "iteration %llu of %lld", (unsigned long long)n,
            (long long)spec->max_iterations);
    require(event->iteration_started.limit == 0 || n <= (uint64_t)event->iteration_started.limit,
            "iteration %llu of %lld", (unsigned long long)n,
            (long long)event->iteration_started.limit);
    check_pace(run);
    run->attempts[n]++;
    run->started = n;
    run->is_in_body = true;
}

static void check_finished(struct sim_run *run, const struct journal_event *event)
{
    require(run->is_in_body && (uint64_t)event->iteration_finished.iteration == run->started &&
                run->started == run->finished + 1,
            "iteration %lld finishes after %llu", (long long)event->iteration_finished.iteration,
            (unsigned long long)run->finished);
    run->is_in_body = false;
    run->finished = run->started;
    run->finished_ns = run->event_ns;
    run->finished_era = run->event_era;
    run->tokens += event->iteration_finished.tokens;
    run->is_round_met = false;
    bool is_ok = strcmp(event->iteration_finished.outcome, "ok") == 0;
    run->failures_in_a_row = is_ok ? 0 : run->failures_in_a_row + 1;
    run->is_broken_by_body = strcmp(event->iteration_finished.outcome, "error") == 0;
    run->finish = FINISH_NONE;
    if (event->iteration_finished.finish != NULL) {
        require(run_finish_from_name(event->iteration_finished.finish, &run->finish), "finish %s",
                event->iteration_finished.finish);
    }
}

static void check_verification(struct sim_run *run, const struct journal_event *event)
{
    switch (event->type) {
    case JOURNAL_VERIFICATION_STARTED:
        run->is_round_met = false;
        if (event->verification_started.condition != NULL) {
            return;
        }
        require(!run->is_in_body, "a round inside a body");
        run->is_round_open = true;
        run->round_seq = event->seq;
        run->round_met = 0;
        run->round_total = 0;
        break;
    case JOURNAL_CONDITION_EVALUATED:
        if (run->is_round_open) {
            run->round_total++;
            run->round_met += strcmp(event->condition_evaluated.status, "met") == 0;
        }
        break;
    default:
        require(run->is_round_open, "the end of a round that was not begun");
        require(run->round_total == run->spec.condition_count, "a round of %u conditions",
                run->round_total);
        run->is_round_open = false;
        run->is_round_met = run->round_met == run->round_total;
        break;
    }
}

/** Whether the journal gives the reason for a final status. */
static bool is_earned(const struct sim_run *run, enum rondo_status status)
{
    switch (status) {
    case RONDO_COMPLETED:
        return run->spec.condition_count > 0 ? run->is_round_met && run->started == run->finished
                                             : run->finish == FINISH_COMPLETED;
    case RONDO_BLOCKED:
        return run->finish == FINISH_BLOCKED;
    case RONDO_FAILED:
        return run->finish == FINISH_FAILED ||
               run->failures_in_a_row >= (uint64_t)run->spec.max_failures;
    case RONDO_MAX_ITERATIONS:
    case RONDO_POLICY_VIOLATION:
    case RONDO_BUDGET_EXCEEDED:
        return run->is_denied;
    case RONDO_TIMEOUT:
        return run->spec.time_limit_ns > 0 &&
               run->active_most_ns + time_tolerance_ns(run) >= run->spec.time_limit_ns;
    case RONDO_CANCELLED:
        return run->is_stopping;
    case RONDO_ERROR:
        return run->is_broken_by_body || run->has_failed_store;
    case RONDO_RUNNING:
    case RONDO_STATUS_COUNT:
        break;
    }
    return false;
}

static void check_run_finished(struct sim_run *run, const struct journal_event *event)
{
    enum rondo_status status = RONDO_RUNNING;
    require(status_from_name(event->run_finished.status, &status), "status %s",
            event->run_finished.status);
    require(is_earned(run, status), "the journal does not explain the status %s",
            event->run_finished.status);
    require(status == RONDO_ERROR || run->spec.durability != DURABILITY_STRICT ||
                (run->checkpoints > 0 && run->checkpoint_finished == run->finished),
            "no final checkpoint");
    run->is_ended = true;
    run->is_paused = false;
    run->status = status;
    run->is_round_open = false;
    if (run->is_in_body) {
        run->interruptions[run->started]++;
        run->is_in_body = false;
    }
}

static void check_place(const struct sim_run *run, const struct journal_event *event,
                        uint64_t epoch)
{
    require(event->type == JOURNAL_RUN_CLAIMED || event->type == JOURNAL_RUN_CREATED ||
                epoch == run->epoch,
            "epoch %llu writes in epoch %llu", (unsigned long long)epoch,
            (unsigned long long)run->epoch);
    require(!run->is_ended || event->type == JOURNAL_RUN_CLAIMED, "%s behind the end",
            journal_type_name(event->type));
}

/** Warned in time, and not twice about one value, whatever crashed in between. */
static void check_warning(struct sim_run *run, const struct journal_event *event)
{
    enum run_limit limit = RUN_LIMIT_ITERATIONS;
    while (limit < RUN_LIMIT_COUNT &&
           strcmp(run_limit_name(limit), event->limit_warning.limit_name) != 0) {
        limit++;
    }
    require(limit < RUN_LIMIT_COUNT, "a warning of %s", event->limit_warning.limit_name);
    require(event->limit_warning.value * 100 >= event->limit_warning.limit * 80,
            "a warning at %lld of %lld", (long long)event->limit_warning.value,
            (long long)event->limit_warning.limit);
    require(run->warned[limit] != event->limit_warning.limit, "a second warning about %lld",
            (long long)event->limit_warning.limit);
    run->warned[limit] = event->limit_warning.limit;
    run->warnings++;
}

static void check_interrupted(struct sim_run *run)
{
    require(run->is_in_body, "an interruption outside of a body");
    run->interruptions[run->started]++;
    run->is_in_body = false;
}

static void check_rejected(struct sim_run *run)
{
    require(run->finish == FINISH_COMPLETED && !run->is_round_met, "a wrong rejection");
    run->finish = FINISH_NONE;
    run->world->counters->rejected_finishes++;
}

/** Why the run will end. */
static void note_end(struct sim_run *run, const struct journal_event *event)
{
    run->is_stopping = run->is_stopping || event->type == JOURNAL_RUN_STOP_REQUESTED;
    run->is_denied = run->is_denied || event->type == JOURNAL_GATE_DENIED;
}

static void check_degraded(struct sim_run *run)
{
    require(run->spec.durability == DURABILITY_BEST_EFFORT, "degraded in strict mode");
    run->degraded_count++;
    run->world->counters->degraded++;
}

static void check_iteration(struct sim_run *run, const struct journal_event *event)
{
    if (event->type == JOURNAL_ITERATION_STARTED) {
        check_started(run, event);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        check_finished(run, event);
    } else {
        check_interrupted(run);
    }
}

/* long: one line an event type */
static void check_event(struct sim_run *run, const struct journal_event *event, uint64_t epoch)
{
    switch (event->type) {
    case JOURNAL_RUN_CREATED:
    case JOURNAL_RUN_OPTIONS:
        require(event->type == JOURNAL_RUN_OPTIONS || event->seq == 1, "created twice");
        take_spec(run, event);
        break;
    case JOURNAL_RUN_CLAIMED:
        check_claimed(run, event, epoch);
        break;
    case JOURNAL_RUN_STOP_REQUESTED:
    case JOURNAL_GATE_DENIED:
        note_end(run, event);
        break;
    case JOURNAL_RUN_PAUSED:
    case JOURNAL_RUN_CONTINUED:
        check_pause(run, event);
        break;
    case JOURNAL_LIMIT_WARNING:
        check_warning(run, event);
        break;
    case JOURNAL_POLICY_CHANGED:
        require(run->has_policy && event->policy_changed.sha256 != NULL,
                "policies that nobody wrote");
        break;
    case JOURNAL_POLICY_REFUSED:
    case JOURNAL_STEP_DENIED:
    case JOURNAL_RUN_FORKED:
    case JOURNAL_MODEL_REQUESTED:
    case JOURNAL_MODEL_RETRYING:
    case JOURNAL_MODEL_REPLIED:
    case JOURNAL_MODEL_EMBEDDED:
    case JOURNAL_TOOL_REQUESTED:
    case JOURNAL_TOOL_FINISHED:
    case JOURNAL_DELEGATION_FINISHED:
    case JOURNAL_PERSON_ANSWERED:
    case JOURNAL_HANDOFF_REQUESTED:
    case JOURNAL_HANDOFF_DECIDED:
    case JOURNAL_WORKER_STARTED:
    case JOURNAL_WORKER_MESSAGE:
    case JOURNAL_WORKER_TOOL:
    case JOURNAL_WORKER_FINISHED:
    case JOURNAL_TASKS_READ:
    case JOURNAL_TASK_STARTED:
    case JOURNAL_TASK_CHECKED:
    case JOURNAL_TASK_COMMITTING:
    case JOURNAL_TASK_COMMITTED:
    case JOURNAL_TASK_ENDED:
    case JOURNAL_TASK_FAILED:
    case JOURNAL_TASK_BLOCKED:
    case JOURNAL_WORK_ARCHIVED:
    case JOURNAL_WORK_PUSHED:
    case JOURNAL_PLAN_UPDATED:
    case JOURNAL_HISTORY_TRIMMED:
    case JOURNAL_HISTORY_COMPACTING:
    case JOURNAL_HISTORY_COMPACTED:
    case JOURNAL_CONSOLIDATION_STARTED:
    case JOURNAL_CONSOLIDATION_FINISHED:
    case JOURNAL_CONTENT_FILTERED:
        require(false, "%s without an agent, or of good policies", journal_type_name(event->type));
        break;
    case JOURNAL_ITERATION_STARTED:
    case JOURNAL_ITERATION_FINISHED:
    case JOURNAL_ITERATION_INTERRUPTED:
        check_iteration(run, event);
        break;
    case JOURNAL_VERIFICATION_STARTED:
    case JOURNAL_CONDITION_EVALUATED:
    case JOURNAL_VERIFICATION_FINISHED:
        check_verification(run, event);
        break;
    case JOURNAL_FINISH_REJECTED:
        check_rejected(run);
        break;
    case JOURNAL_TIME_SKIPPED:
        check_skipped(run, event);
        break;
    case JOURNAL_STORAGE_DEGRADED:
        check_degraded(run);
        break;
    case JOURNAL_RUN_FINISHED:
        check_run_finished(run, event);
        break;
    case JOURNAL_CHECKPOINT_SAVED:
    case JOURNAL_CHECKPOINT_CORRUPT:
    case JOURNAL_NOTE:
    case JOURNAL_TYPE_COUNT:
        break;
    }
}

static void take_state(struct sim_run *run, const struct store_checkpoint *checkpoint)
{
    auto_buf struct buf state = {0};
    if (checkpoint->is_packed) {
        zip_unpack(checkpoint->state, checkpoint->state_len, checkpoint->state_size, &state, NULL);
    } else {
        buf_append(&state, checkpoint->state, checkpoint->state_len);
    }
    snprintf(run->saved, sizeof(run->saved), "%s", buf_string(&state));
}

/** The state that the body of a finished iteration left is that of the loop which commits it. */
static void take_finished_state(struct sim_run *run, uint64_t epoch, uint64_t iteration)
{
    struct sim_world *world = run->world;
    size_t index = (size_t)(run - world->runs);
    for (unsigned i = 0; i < SIM_OWNERS; i++) {
        const struct sim_owner *owner = &world->owners[i];
        if (owner->loops[index] != NULL && loop_state(owner->loops[index])->epoch == epoch) {
            memcpy(run->state, owner->states[index][iteration], sizeof(run->state));
            return;
        }
    }
    require(false, "an iteration is finished by nobody");
}

/** A checkpoint is the fold of the journal up to its event, neither more nor less. */
static void check_checkpoint(struct sim_run *run, const struct journal_event *event,
                             const struct store_checkpoint *checkpoint)
{
    require(checkpoint != NULL, "checkpoint.saved without a checkpoint");
    uint64_t number = (uint64_t)event->checkpoint_saved.number;
    require(number == run->checkpoints + 1 && number == checkpoint->number,
            "checkpoint %llu follows %llu", (unsigned long long)number,
            (unsigned long long)run->checkpoints);
    require(number <= SIM_MAX_CHECKPOINTS, "too many checkpoints for the model");
    uint64_t iteration = run->is_in_body ? run->started : run->finished;
    require(checkpoint->seq == event->seq && checkpoint->iteration == iteration,
            "checkpoint %llu is not where its event is", (unsigned long long)number);
    char sha256[DIGEST_HEX_SIZE];
    digest_hex(checkpoint->sha256, sha256);
    require(strcmp(sha256, event->checkpoint_saved.sha256) == 0, "the event names another digest");
    auto_buf struct buf expected = {0};
    run_state_encode(&run->fold, &expected);
    require(strcmp(checkpoint->fold, buf_string(&expected)) == 0,
            "checkpoint %llu is no fold of the journal:\n%s\n%s", (unsigned long long)number,
            checkpoint->fold, buf_string(&expected));
    take_state(run, checkpoint);
    bool is_demand = strcmp(event->checkpoint_saved.how, "demand") == 0;
    require(is_demand || run->is_state_lost || strcmp(run->saved, run->state) == 0,
            "checkpoint %llu holds the state '%s', not '%s'", (unsigned long long)number,
            run->saved, run->state);
    memcpy(run->state, run->saved, sizeof(run->state)); /* On demand a body says what counts. */
    run->states[number] = memory_dup_string(run->saved);
    run->checkpoints = number;
    run->checkpoint_finished = run->finished;
    run->has_interim = false;
}

/** What an interim holds is the fold up to the last event of its commit. */
static void check_interim(struct sim_run *run, const struct store_checkpoint *interim)
{
    auto_buf struct buf expected = {0};
    run_state_encode(&run->fold, &expected);
    require(interim->number == 0 && interim->seq == run->seq &&
                strcmp(interim->fold, buf_string(&expected)) == 0,
            "the interim is no fold of the journal:\n%s\n%s", interim->fold, buf_string(&expected));
    take_state(run, interim);
    run->has_interim = true;
    run->is_interim_damaged = false;
}

/** Events of one batch. @return how many of them say checkpoint.saved */
static unsigned take_events(struct sim_run *run, uint64_t epoch, const struct store_event *events,
                            size_t count, const struct store_checkpoint *checkpoint)
{
    unsigned saved = 0;
    for (size_t i = 0; i < count; i++) {
        struct journal_event event;
        struct rondo_error err = {0};
        auto_json struct json_object *root = NULL;
        int r =
            journal_decode(events[i].type, events[i].data, events[i].data_len, &event, &root, &err);
        require(r == 0, "an event that cannot be read: %s", err.message);
        event.seq = ++run->seq;
        event.time_ns = events[i].time_ns;
        sim_trace(run->world, "    %llu.%llu %s %s", (unsigned long long)epoch,
                  (unsigned long long)event.seq, events[i].type, events[i].data);
        check_place(run, &event, epoch);
        count_time(run, &event);
        check_event(run, &event, epoch);
        run->is_state_lost = run->is_state_lost || event.type == JOURNAL_CHECKPOINT_CORRUPT;
        if (event.type == JOURNAL_ITERATION_FINISHED) {
            run->is_state_lost = false;
            take_finished_state(run, epoch, (uint64_t)event.iteration_finished.iteration);
        }
        require(run_fold(&run->fold, &event, &err) == 0, "%s", err.message);
        if (event.type == JOURNAL_CHECKPOINT_SAVED) {
            check_checkpoint(run, &event, checkpoint);
            saved++;
        }
        run->world->counters->events++;
    }
    return saved;
}

void model_created(struct sim_world *world, const struct store_run *row,
                   const struct store_event *events, size_t count)
{
    sim_require(world->run_count < SIM_RUNS, world, NULL, "too many runs for the model");
    struct sim_run *run = &world->runs[world->run_count++];
    memcpy(run->id, row->id, sizeof(run->id));
    run->is_created = true;
    run->executor = world->acting;
    run->event_ns = world_true_time(world, events[0].time_ns, &run->event_era);
    run->epoch = 1;
    sim_trace(world, "  created %s", row->id);
    take_events(run, 1, events, count, NULL);
}

void model_claimed(struct sim_world *world, const char *run_id,
                   const struct store_claim_result *claim)
{
    struct sim_run *run = sim_find_run(world, run_id);
    require(claim->epoch > run->epoch, "a claim gives epoch %llu after %llu",
            (unsigned long long)claim->epoch, (unsigned long long)run->epoch);
    require(claim->run.owner[0] == '\0' || run->held_until_ns <= world->now_ns,
            "a running lease was taken");
}

void model_held(struct sim_run *run, int64_t lease_ns)
{
    run->held_until_ns = run->world->now_ns + lease_ns;
}

void model_committed(struct sim_world *world, const struct store_batch *batch,
                     const struct store_run *before, const struct store_run *after)
{
    struct sim_run *run = sim_find_run(world, batch->run_id);
    require(run != NULL, "a commit for an unknown run");
    require(batch->epoch == before->epoch, "epoch %llu commits in epoch %llu",
            (unsigned long long)batch->epoch, (unsigned long long)before->epoch);
    require(batch->event_count == 0 || batch->first_seq == run->seq + 1,
            "event %llu behind event %llu", (unsigned long long)batch->first_seq,
            (unsigned long long)run->seq);
    uint64_t finished = run->finished;
    unsigned saved =
        take_events(run, batch->epoch, batch->events, batch->event_count, batch->checkpoint);
    require(saved == (batch->checkpoint != NULL), "%u events for a checkpoint", saved);
    if (batch->interim != NULL) {
        check_interim(run, batch->interim);
    }
    require(run->finished == finished || strcmp(run->saved, run->state) == 0,
            "%llu iterations are finished, but the store holds the state '%s', not '%s'",
            (unsigned long long)run->finished, run->saved, run->state);
    require(after->last_seq == run->seq, "the row counts %llu events of %llu",
            (unsigned long long)after->last_seq, (unsigned long long)run->seq);
    enum rondo_status status = run->is_ended ? run->status : RONDO_RUNNING;
    require(after->summary.status == status, "the row says %s, the journal %s",
            rondo_status_name(after->summary.status), rondo_status_name(status));
    require(after->summary.is_paused == run->is_paused, "the row says %s",
            run->is_paused ? "running" : "paused");
    require(after->summary.warnings == run->warnings, "the row counts %u warnings of %llu",
            after->summary.warnings, (unsigned long long)run->warnings);
    require(after->summary.iteration == run->started, "the row says iteration %llu, not %llu",
            (unsigned long long)after->summary.iteration, (unsigned long long)run->started);
}

void model_check_loop(struct sim_run *run, const struct loop *loop)
{
    auto_buf struct buf expected = {0};
    auto_buf struct buf actual = {0};
    run_state_encode(&run->fold, &expected);
    run_state_encode(loop_state(loop), &actual);
    require(strcmp(buf_string(&expected), buf_string(&actual)) == 0,
            "the loop is not the fold of its journal:\n%s\n%s", buf_string(&actual),
            buf_string(&expected));
}

struct sim_event_count {
    struct sim_run *run;
    uint64_t seq;
    uint64_t checkpoints;
};

static bool count_event(const struct store_event *event, void *context)
{
    struct sim_event_count *counting = context;
    struct sim_run *run = counting->run;
    counting->seq++;
    require(event->seq == counting->seq, "event %llu where %llu should be",
            (unsigned long long)event->seq, (unsigned long long)counting->seq);
    return true;
}

static bool count_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct sim_event_count *counting = context;
    struct sim_run *run = counting->run;
    require(checkpoint->number == run->checkpoints - counting->checkpoints,
            "checkpoint %llu in the store", (unsigned long long)checkpoint->number);
    counting->checkpoints++;
    return true;
}

void model_check_store(struct sim_run *run)
{
    struct store *memory = run->world->memory;
    struct sim_event_count counting = {.run = run};
    memory->ops->read_events(memory, run->id, 0, 0, count_event, &counting, NULL);
    require(counting.seq == run->seq, "%llu events of %llu", (unsigned long long)counting.seq,
            (unsigned long long)run->seq);
    memory->ops->list_checkpoints(memory, run->id, count_checkpoint, &counting, NULL);
    require(counting.checkpoints == run->checkpoints, "%llu checkpoints of %llu",
            (unsigned long long)counting.checkpoints, (unsigned long long)run->checkpoints);
}
