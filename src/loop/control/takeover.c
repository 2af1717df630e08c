// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that nobody executes: closed, cancelled, parked or taken over. They are rebuilt as for a
 * resume, so the journal has the claim, the iteration that was interrupted, and the end, in this
 * order.
 */
#include "loop/control/control.h"

#include "base/error.h"
#include "loop/driver/internal.h"

static int end_as(struct loop *loop, enum rondo_status status, const char *message,
                  struct rondo_error *err)
{
    struct journal_event event = {
        .type = JOURNAL_RUN_FINISHED,
        .run_finished = {.status = rondo_status_name(status),
                         .iterations = (int64_t)loop->state.finished,
                         .message = message},
    };
    int r = loop_can_record(loop, err);
    if (r < 0) {
        return r;
    }
    loop_record_interrupted(loop, "the run was closed");
    loop->is_in_body = false;
    loop_prepare_checkpoint(loop, "final");
    loop_record(loop, &event);
    r = loop_flush(loop, FLUSH_RELEASE, err);
    if (r == 0) {
        runtime_unregister(loop->runtime, loop->run_id, loop->state.epoch);
        loop->is_registered = false;
        loop->is_over = true;
    }
    return r;
}

int loop_close(struct loop *loop, const char *message, struct rondo_error *err)
{
    return end_as(loop, RONDO_ERROR, message, err);
}

/** Claim it. @return enum loop_controlled, or a negative code; *ret_loop set for LOOP_CONTROL_DONE
 */
static int claim_run(const struct loop_parts *parts, const char *run_id, struct loop **ret_loop,
                     struct rondo_error *err)
{
    struct loop_taking taking = {
        .run_id = run_id,
        .on_corrupt = ON_CORRUPT_PREVIOUS,
        .has_no_gate = true, /* Policies may be missing or wrong by now, and are not used. */
    };
    struct store *store = runtime_store(parts->runtime);
    struct loop_opening opening;
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == 0 && run.summary.status != RONDO_RUNNING) {
        return LOOP_CONTROL_NOTHING;
    }
    if (r == 0) {
        r = loop_take(parts, &taking, ret_loop, &opening, err);
    }
    return r < 0 ? r : opening.is_held ? LOOP_CONTROL_HELD : LOOP_CONTROL_DONE;
}

int loop_close_run(const struct loop_parts *parts, const char *run_id, const char *message,
                   struct rondo_error *err)
{
    struct loop *loop = NULL;
    int r = claim_run(parts, run_id, &loop, err);
    if (r != LOOP_CONTROL_DONE) {
        return r;
    }
    r = loop_close(loop, message, err);
    loop_free(loop);
    return r;
}

int loop_cancel_parked(const struct loop_parts *parts, const char *run_id, const char *message,
                       struct rondo_error *err)
{
    struct loop *loop = NULL;
    int r = claim_run(parts, run_id, &loop, err);
    if (r != LOOP_CONTROL_DONE) {
        return r;
    }
    bool is_wanted = loop->state.is_paused || loop->is_orphan;
    r = is_wanted ? loop_park(loop, err) : end_as(loop, RONDO_CANCELLED, message, err);
    loop_free(loop);
    return r < 0 ? r : is_wanted ? LOOP_CONTROL_NOTHING : LOOP_CONTROL_DONE;
}

int loop_park_run(const struct loop_parts *parts, const char *run_id, struct rondo_error *err)
{
    struct loop *loop = NULL;
    int r = claim_run(parts, run_id, &loop, err);
    if (r != LOOP_CONTROL_DONE) {
        return r;
    }
    r = loop_park(loop, err);
    loop_free(loop);
    return r;
}

int loop_take_over(const struct loop_parts *parts, const char *run_id, const char *how,
                   struct loop **ret_loop, struct loop_opening *ret_opening,
                   struct rondo_error *err)
{
    struct loop_taking taking = {
        .run_id = run_id,
        .how = how,
        .on_corrupt = -1,
        .heeds_stops = true,
    };
    return loop_take(parts, &taking, ret_loop, ret_opening, err);
}
