// SPDX-License-Identifier: Apache-2.0
/*
 * Steering: a letter for the living owner, or the change made here. Whoever posts a letter looks at
 * the run once more: an owner that gave it up meanwhile has not read it, so it is made here then.
 */
#include "loop/control/control.h"

#include "base/error.h"
#include "base/json/json.h"
#include "loop/control/orphan.h"
#include "loop/control/stop.h"
#include "loop/driver/internal.h"

#include <string.h>

/** Times that a run may change hands while it is being steered. */
#define CONTROL_TRIES 8

/** One wish, and what it would change. */
struct wish {
    const char *letter; /* "pause", "continue", "limits" */
    const char *by;
    const struct loop_limits *limits; /* of "limits" */
};

static bool is_wish(const struct wish *wish, const char *letter)
{
    return strcmp(wish->letter, letter) == 0;
}

static void write_letter(const struct wish *wish, struct buf *ret_data)
{
    struct json_writer writer = json_writer(ret_data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "by", wish->by);
    if (wish->limits != NULL) {
        json_write_int(&writer, "max_iterations", wish->limits->max_iterations);
        json_write_int(&writer, "max_tokens", wish->limits->max_tokens);
        json_write_int(&writer, "max_cost_micro", wish->limits->max_cost_micro);
        json_write_int(&writer, "time_limit_ns", wish->limits->time_limit_ns);
    }
    json_end_object(&writer);
}

static int post(struct store *store, const char *run_id, const struct wish *wish,
                struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    write_letter(wish, &data);
    return store->ops->post(store, run_id, wish->letter, buf_string(&data), err);
}

static bool record_wish(struct loop *loop, const struct wish *wish)
{
    return wish->limits != NULL ? loop_record_limits(loop, wish->limits, wish->by)
                                : loop_record_paused(loop, is_wish(wish, "pause"), wish->by);
}

/** Besides enum loop_controlled: look at the run again. */
#define LOOK_AGAIN 100

/** Nobody asks the gate until the run goes on, but people may want to know before. */
static void warn_of_changed_limits(struct loop *loop)
{
    if (loop->state.phase != PHASE_ENDED && loop_open_gate(loop, false, NULL) == 0) {
        loop_warn_at_end(loop);
    }
}

/** Nobody executes the run: take it just long enough to record the wish. */
static int change_here(const struct loop_parts *parts, const char *run_id, const struct wish *wish,
                       struct rondo_error *err)
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
    bool is_changed = record_wish(loop, wish);
    if (is_changed && wish->limits != NULL) {
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
static bool is_so_already(const struct store_run *run, const struct wish *wish)
{
    return wish->limits == NULL && run->summary.is_paused == is_wish(wish, "pause");
}

static int try_control(const struct loop_parts *parts, const char *run_id, const struct wish *wish,
                       bool *is_posted, struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0) {
        return r;
    }
    bool is_executed = loop_is_executed(parts->runtime, &run);
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
        r = post(store, run_id, wish, err);
        *is_posted = r == 0;
        return r < 0 ? r : LOOK_AGAIN;
    }
    r = is_so_already(&run, wish) ? LOOP_CONTROL_NOTHING : change_here(parts, run_id, wish, err);
    /* What was posted and is so now was done by it. */
    return r == LOOP_CONTROL_NOTHING && *is_posted ? LOOP_CONTROL_DONE : r;
}

static int control(const struct loop_parts *parts, const char *run_id, const struct wish *wish,
                   struct rondo_error *err)
{
    bool is_posted = false;
    for (int i = 0; i < CONTROL_TRIES; i++) {
        int r = try_control(parts, run_id, wish, &is_posted, err);
        if (r != LOOK_AGAIN) {
            return r;
        }
    }
    return error_set(err, RONDO_ERR_BUSY, "run %s changes hands all the time", run_id);
}

int loop_pause_run(const struct loop_parts *parts, const char *run_id, const char *by,
                   struct rondo_error *err)
{
    return control(parts, run_id, &(struct wish){.letter = "pause", .by = by}, err);
}

int loop_continue_run(const struct loop_parts *parts, const char *run_id, const char *by,
                      struct rondo_error *err)
{
    return control(parts, run_id, &(struct wish){.letter = "continue", .by = by}, err);
}

int loop_limits_check(const struct loop_limits *limits, struct rondo_error *err)
{
    const int64_t wanted[] = {limits->max_iterations, limits->max_tokens, limits->max_cost_micro,
                              limits->time_limit_ns};
    bool is_any = false;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (wanted[i] < -1) {
            return error_set(err, RONDO_ERR_INVALID, "a limit must not be negative");
        }
        is_any = is_any || wanted[i] != 0;
    }
    if (!is_any) {
        return error_set(err, RONDO_ERR_INVALID, "no limit is given");
    }
    char plain[] = "x";
    char root[] = "/";
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = plain;
    spec.kind = plain;
    spec.workspace = root;
    loop_limits_apply(limits, &spec);
    return loop_spec_check(&spec, err);
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
    struct wish wish = {.letter = "limits", .by = by, .limits = limits};
    if (r == 0 && parts->check_limits != NULL) {
        r = check_body(parts, run_id, limits, err);
    }
    return r < 0 ? r : control(parts, run_id, &wish, err);
}
