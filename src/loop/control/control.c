// SPDX-License-Identifier: Apache-2.0
/* Letters for living owners, and the changes that are made here. */
#include "loop/control/control.h"

#include "base/error.h"
#include "base/json/json.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/clock.h"
#include "loop/driver/internal.h"
#include "loop/owner.h"

#include <string.h>

/** Times that a run may change hands while it is being steered. */
#define CONTROL_TRIES 8

/** One request, and what it would change. */
struct control_request {
    const char *letter; /* "stop", "pause", "continue", "limits" */
    const char *by;
    const struct loop_limits *limits; /* of "limits" */
};

static bool is_letter(const struct control_request *request, const char *letter)
{
    return strcmp(request->letter, letter) == 0;
}

static void write_letter(const struct control_request *request, struct buf *ret_data)
{
    struct json_writer writer = json_writer(ret_data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "by", request->by);
    if (request->limits != NULL) {
        json_write_int(&writer, "max_iterations", request->limits->max_iterations);
        json_write_int(&writer, "max_tokens", request->limits->max_tokens);
        json_write_int(&writer, "max_cost_micro", request->limits->max_cost_micro);
        json_write_int(&writer, "time_limit_ns", request->limits->time_limit_ns);
    }
    json_end_object(&writer);
}

static int post(struct store *store, const char *run_id, const struct control_request *request,
                struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    write_letter(request, &data);
    return store->ops->post(store, run_id, request->letter, buf_string(&data), err);
}

static bool record_request(struct loop *loop, const struct control_request *request)
{
    return request->limits != NULL
               ? loop_record_limits(loop, request->limits, request->by)
               : loop_record_paused(loop, is_letter(request, "pause"), request->by);
}

/** Besides enum loop_controlled: look at the run again. */
#define LOOK_AGAIN 100

/** The gate decides only when the run continues, but people may want to know before. */
static void warn_of_changed_limits(struct loop *loop)
{
    if (loop->state.phase != PHASE_ENDED && loop_open_gate(loop, false, NULL) == 0) {
        loop_warn_at_end(loop);
    }
}

/** Nobody executes the run: take it just long enough to record the request. */
static int change_here(const struct loop_parts *parts, const char *run_id,
                       const struct control_request *request, struct rondo_error *err)
{
    struct loop_taking taking = {
        .run_id = run_id,
        .how = "control",
        .is_momentary = true,
        .on_corrupt = ON_CORRUPT_PREVIOUS,
        .has_no_gate = true,
    };
    struct loop_opening opening;
    struct loop *loop = NULL;
    int r = loop_take(parts, &taking, &loop, &opening, err);
    if (r < 0) {
        return r;
    }
    if (opening.is_held) {
        return LOOK_AGAIN;
    }
    bool is_changed = record_request(loop, request);
    if (is_changed && request->limits != NULL) {
        warn_of_changed_limits(loop);
    }
    if (loop->is_orphan) {
        r = orphan_mark(runtime_store(parts->runtime), run_id, err);
    }
    r = r < 0 ? r : loop_park(loop, err);
    loop_free(loop);
    return r < 0 ? r : is_changed ? LOOP_CONTROL_DONE : LOOP_CONTROL_NOTHING;
}

/** What the row already shows. A letter under way may say otherwise, so only where nobody owns it.
 */
static bool is_so_already(const struct store_run *run, const struct control_request *request)
{
    bool is_paused = run->summary.is_paused && !run->summary.is_waiting;
    return request->limits == NULL &&
           (is_letter(request, "pause") ? is_paused : !run->summary.is_paused);
}

static int try_control(const struct loop_parts *parts, const char *run_id,
                       const struct control_request *request, bool *is_posted,
                       struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0) {
        return r;
    }
    bool is_executed = run_is_executed(&run, clock_now(runtime_clock(parts->runtime)));
    if (run.summary.status != RONDO_RUNNING && *is_posted) {
        return LOOP_CONTROL_POSTED; /* It has ended since: there is nothing left to steer. */
    }
    if (run.summary.status != RONDO_RUNNING) {
        return error_set(err, RONDO_ERR_STATE, "run %s has ended already: %s", run_id,
                         rondo_status_name(run.summary.status));
    }
    if (is_executed && *is_posted) {
        return LOOP_CONTROL_POSTED;
    }
    if (is_executed) {
        r = post(store, run_id, request, err);
        *is_posted = r == 0;
        return r < 0 ? r : LOOK_AGAIN;
    }
    r = is_so_already(&run, request) ? LOOP_CONTROL_NOTHING
                                     : change_here(parts, run_id, request, err);
    /* What was posted and is so now was done by it. */
    return r == LOOP_CONTROL_NOTHING && *is_posted ? LOOP_CONTROL_DONE : r;
}

static int control(const struct loop_parts *parts, const char *run_id,
                   const struct control_request *request, struct rondo_error *err)
{
    bool is_posted = false;
    for (int i = 0; i < CONTROL_TRIES; i++) {
        int r = try_control(parts, run_id, request, &is_posted, err);
        if (r != LOOK_AGAIN) {
            return r;
        }
    }
    return error_set(err, RONDO_ERR_BUSY, "run %s changes hands all the time", run_id);
}

int loop_pause_run(const struct loop_parts *parts, const char *run_id, const char *by,
                   struct rondo_error *err)
{
    return control(parts, run_id, &(struct control_request){.letter = "pause", .by = by}, err);
}

int loop_continue_run(const struct loop_parts *parts, const char *run_id, const char *by,
                      struct rondo_error *err)
{
    return control(parts, run_id, &(struct control_request){.letter = "continue", .by = by}, err);
}

/** A limit that cannot hold is not set. A run that cannot be read is reported by control(). */
static int check_body(const struct loop_parts *parts, const char *run_id,
                      const struct loop_limits *limits, struct rondo_error *err)
{
    struct loop_spec spec;
    if (loop_recorded_spec(runtime_store(parts->runtime), run_id, &spec, NULL) < 0) {
        return 0;
    }
    loop_limits_apply(limits, &spec);
    int r = parts->check_limits(&spec, err);
    loop_spec_fini(&spec);
    return r;
}

int loop_change_limits(const struct loop_parts *parts, const char *run_id,
                       const struct loop_limits *limits, const char *by, struct rondo_error *err)
{
    int r = loop_limits_check(limits, err);
    struct control_request request = {.letter = "limits", .by = by, .limits = limits};
    if (r == 0 && parts->check_limits != NULL) {
        r = check_body(parts, run_id, limits, err);
    }
    return r < 0 ? r : control(parts, run_id, &request, err);
}

/* ---- Stopping ------------------------------------------------------------------------------- */

/**
 * Nobody executes the run: take it just long enough to end it. The letter is posted after the
 * claim, which drops older ones.
 */
static int end_here(const struct loop_parts *parts, const char *run_id,
                    const struct control_request *request, struct rondo_error *err)
{
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct loop_taking taking = {.run_id = run_id, .on_corrupt = -1};
    int r = loop_take(parts, &taking, &loop, &opening, err);
    if (r < 0) {
        return r;
    }
    r = post(runtime_store(parts->runtime), run_id, request, err);
    if (opening.is_held || r < 0) {
        loop_free(loop); /* Held: somebody was faster, and will find the letter. */
        return r < 0 ? r : LOOP_CONTROL_POSTED;
    }
    loop_stop(loop, CANCEL_GRACEFUL);
    r = loop_next(loop, err);
    if (r == LOOP_BODY) {
        r = error_set(err, RONDO_ERR_STATE, "the run continued although a stop was requested");
    }
    loop_free(loop);
    return r < 0 ? r : LOOP_CONTROL_DONE;
}

/** What a run that waited has asked people is theirs no more. */
static void take_back_requests(const struct loop_parts *parts)
{
    struct handoff_store handoffs = runtime_handoffs(parts->runtime);
    inbox_cancel_ended(&handoffs, handoff_now(&handoffs));
}

int loop_stop_run(const struct loop_parts *parts, const char *run_id, const char *by,
                  struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct control_request request = {.letter = "stop", .by = by};
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0) {
        return r;
    }
    bool is_executed = run_is_executed(&run, clock_now(runtime_clock(parts->runtime)));
    if (run.summary.status != RONDO_RUNNING && !is_executed) {
        return error_set(err, RONDO_ERR_STATE, "run %s has ended already: %s", run_id,
                         rondo_status_name(run.summary.status));
    }
    if (!is_executed) {
        r = end_here(parts, run_id, &request, err);
        if (r == LOOP_CONTROL_DONE) {
            take_back_requests(parts);
        }
        return r;
    }
    r = post(store, run_id, &request, err);
    return r < 0 ? r : LOOP_CONTROL_POSTED;
}
