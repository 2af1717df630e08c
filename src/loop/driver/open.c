// SPDX-License-Identifier: Apache-2.0
/* Starting, parking and releasing loops. */
#include "loop/driver/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/version.h"
#include "loop/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A run is created claimed: promise of store_ops.create_run. */
#define FIRST_EPOCH 1

int loop_new(const struct loop_parts *parts, struct loop_spec *spec, struct loop **ret_loop,
             struct rondo_error *err)
{
    struct loop *loop = memory_new_zero(1, sizeof(*loop));
    int r = cancel_init(&loop->cancel, err);
    if (r < 0) {
        free(loop);
        return r;
    }
    loop->runtime = parts->runtime;
    loop->clock_offset_ns =
        clock_now(runtime_clock(loop->runtime)) - runtime_active_ns(loop->runtime);
    snprintf(loop->by, sizeof(loop->by), "%s", parts->by == NULL ? "" : parts->by);
    loop->spec = *spec;
    *spec = (struct loop_spec){0};
    loop->verify_context = (struct verify_command_context){
        .spec = &loop->spec,
        .supervisor = runtime_supervisor(parts->runtime),
        .hide_paths = runtime_hide_paths(parts->runtime),
    };
    loop->verifier =
        parts->verifier != NULL ? *parts->verifier : verify_by_command(&loop->verify_context);
    *ret_loop = loop;
    return 0;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (loop->is_registered) {
        if (loop->is_orphan && !loop->is_begun) {
            (void)orphan_mark(runtime_store(loop->runtime), loop->run_id, NULL);
        }
        runtime_abandon(loop->runtime, loop->run_id, loop->state.epoch);
    }
    for (size_t i = 0; i < LIMIT_CONDITIONS && loop->results != NULL; i++) {
        verify_result_fini(&loop->results[i]);
    }
    free(loop->results);
    for (size_t i = 0; i < loop->pending_count; i++) {
        free(loop->pending[i].data);
    }
    free(loop->pending);
    loop_drop_memories(loop, loop->memory_count);
    free(loop->memories);
    loop_forget_reliance(loop);
    checkpoint_record_free(loop->checkpoint);
    checkpoint_record_free(loop->interim);
    for (size_t i = 0; i < LIMIT_CONDITIONS && loop->verify_denials != NULL; i++) {
        free(loop->verify_denials[i]);
    }
    free(loop->verify_denials);
    free(loop->violation);
    free(loop->unpriced_model);
    policy_gate_free(loop->gate);
    loop_spec_fini(&loop->spec);
    cancel_fini(&loop->cancel);
    buf_fini(&loop->agent_state);
    buf_fini(&loop->former_state);
    buf_fini(&loop->feedback);
    buf_fini(&loop->body_output);
    free(loop->custom_data);
    free(loop->body_summary);
    free(loop->body_message);
    free(loop);
}

int loop_register(struct loop *loop, struct rondo_error *err)
{
    int r = runtime_register(loop->runtime, loop->run_id, loop->state.epoch, &loop->cancel, err);
    loop->is_registered = r == 0;
    return r;
}

static void record_created(struct loop *loop)
{
    auto_buf struct buf spec = {0};
    loop_spec_encode(&loop->spec, &spec);
    struct journal_event event = {
        .type = JOURNAL_RUN_CREATED,
        .run_created = {.format = JOURNAL_FORMAT,
                        .version = RONDO_VERSION,
                        .agent_id = loop->spec.agent_id,
                        .by = loop->by[0] == '\0' ? NULL : loop->by,
                        .spec = buf_string(&spec),
                        .origin = loop->spec.origin},
    };
    loop_record(loop, &event);
}

void loop_record_claimed(struct loop *loop, uint64_t epoch, const char *how, int64_t alive_ns,
                         uint64_t checkpoint)
{
    struct journal_event event = {
        .type = JOURNAL_RUN_CLAIMED,
        .run_claimed = {.epoch = (int64_t)epoch,
                        .owner = runtime_owner(loop->runtime),
                        .how = how,
                        .by = loop->by[0] == '\0' ? NULL : loop->by,
                        .alive_ns = alive_ns,
                        .checkpoint = (int64_t)checkpoint},
    };
    loop_record(loop, &event);
}

int loop_start(const struct loop_parts *parts, const struct loop_spec *spec, struct loop **ret_loop,
               struct loop_opening *ret_opening, struct rondo_error *err)
{
    *ret_opening = (struct loop_opening){.how = "start"};
    int r = loop_spec_check(spec, err);
    if (r < 0) {
        return r;
    }
    struct loop_spec copy = loop_spec_dup(spec);
    runtime_settle_policies(parts->runtime, &copy);
    struct loop *loop = NULL;
    r = loop_new(parts, &copy, &loop, err);
    if (r < 0) {
        loop_spec_fini(&copy);
        return r;
    }
    if (spec->run_id[0] != '\0') {
        memcpy(loop->run_id, spec->run_id, sizeof(loop->run_id));
    } else {
        id_new(clock_now(runtime_clock(loop->runtime)), runtime_random(loop->runtime),
               loop->run_id);
    }
    r = loop_open_gate(loop, true, err);
    if (r < 0) {
        loop_free(loop);
        return r;
    }
    struct store_run row = {.is_exclusive = spec->is_exclusive != 0};
    memcpy(row.id, loop->run_id, sizeof(row.id));
    snprintf(row.agent_id, sizeof(row.agent_id), "%s", spec->agent_id);
    snprintf(row.parent, sizeof(row.parent), "%s", parts->parent == NULL ? "" : parts->parent);
    loop->limit_ahead = (uint64_t)spec->max_iterations;
    row.summary.iteration_limit = loop->limit_ahead;
    row.summary.conditions_total = (uint32_t)spec->condition_count;
    record_created(loop);
    loop_record_claimed(loop, FIRST_EPOCH, "start", 0, 0);
    struct store_claim_result claim;
    r = loop_create(loop, &row, &claim, err);
    if (r == 0 && claim.outcome == STORE_HELD) {
        ret_opening->is_held = true;
        ret_opening->holder = claim.holder;
        loop_free(loop);
        return 0;
    }
    if (r == 0) {
        r = loop_register(loop, err);
        if (r < 0) {
            runtime_abandon(loop->runtime, loop->run_id, FIRST_EPOCH);
        }
    }
    if (r < 0) {
        loop_free(loop);
        return r;
    }
    *ret_loop = loop;
    return 0;
}

void loop_record_interrupted(struct loop *loop, const char *reason)
{
    if (loop->state.phase != PHASE_IN_BODY) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_ITERATION_INTERRUPTED,
        .iteration_interrupted = {.iteration = (int64_t)loop->state.iteration,
                                  .attempt = (int64_t)loop->state.attempt,
                                  .reason = reason},
    };
    loop_record(loop, &event);
}

/** The run was released while a letter came: claim it once more to act on that. */
static void heed_late_mail(struct loop *loop)
{
    struct loop_parts parts = {
        .runtime = loop->runtime,
        .verifier = &loop->verifier,
    };
    struct loop_taking taking = {
        .run_id = loop->run_id,
        .how = "control",
        .on_corrupt = ON_CORRUPT_PREVIOUS,
        .heeds_stops = true,
    };
    struct loop_opening opening;
    struct loop *again = NULL;
    int r = loop_take(&parts, &taking, &again, &opening, NULL);
    if (r < 0 || opening.is_held) {
        return; /* Held: its new owner has read them. Otherwise they wait for the next one. */
    }
    bool is_ending = again->state.is_stop_requested;
    r = is_ending ? loop_next(again, NULL) : loop_park(again, NULL);
    if (r == 0) {
        loop->state = again->state;
    }
    loop_free(again);
}

int loop_park(struct loop *loop, struct rondo_error *err)
{
    int r = loop_can_record(loop, err);
    if (r < 0) {
        return r;
    }
    if (loop->is_in_body) {
        loop_record_interrupted(loop, "the run was parked");
        loop_take_back_state(loop);
        loop->is_in_body = false;
    }
    if (loop->is_degraded) {
        loop_record_degraded(loop);
    }
    r = loop_flush(loop, FLUSH_RELEASE, err);
    if (r == 0) {
        runtime_unregister(loop->runtime, loop->run_id, loop->state.epoch);
        loop->is_registered = false;
        loop->is_over = true;
    }
    if (r == 0 && loop->has_mail) {
        heed_late_mail(loop);
    }
    return r;
}
