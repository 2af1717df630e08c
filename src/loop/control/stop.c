// SPDX-License-Identifier: Apache-2.0
/*
 * A stop is a letter in the run's mailbox. Where no living process will read it, this one claims
 * the run and reads it itself, so that who asked is journalled the same way in both cases.
 */
#include "loop/control/stop.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "loop/control/owner.h"
#include "loop/driver/internal.h"

static int post_stop(struct store *store, const char *run_id, const char *by,
                     struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "by", by);
    json_end_object(&writer);
    return store->ops->post(store, run_id, "stop", buf_string(&data), err);
}

bool loop_is_executed(struct runtime *runtime, const struct store_run *run)
{
    return run->owner[0] != '\0' && !owner_is_dead(run->owner) &&
           run->lease_until_ns > clock_now(runtime_clock(runtime));
}

/**
 * Nobody executes the run: take it just long enough to end it. The letter is posted after the
 * claim, which drops older ones.
 */
static int end_here(const struct loop_parts *parts, const char *run_id, const char *by,
                    struct rondo_error *err)
{
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct loop_taking taking = {.run_id = run_id, .on_corrupt = -1};
    int r = loop_take(parts, &taking, &loop, &opening, err);
    if (r < 0) {
        return r;
    }
    r = post_stop(runtime_store(parts->runtime), run_id, by, err);
    if (opening.is_held || r < 0) {
        loop_free(loop); /* Held: somebody was faster, and will find the letter. */
        return r < 0 ? r : LOOP_STOP_POSTED;
    }
    loop_stop(loop, CANCEL_GRACEFUL);
    r = loop_next(loop, err);
    if (r == LOOP_BODY) {
        r = error_set(err, RONDO_ERR_STATE, "the run went on although it was asked to stop");
    }
    loop_free(loop);
    return r < 0 ? r : LOOP_STOP_ENDED;
}

int loop_stop_run(const struct loop_parts *parts, const char *run_id, const char *by,
                  struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0) {
        return r;
    }
    bool executed = loop_is_executed(parts->runtime, &run);
    if (run.summary.status != RONDO_RUNNING && !executed) {
        return error_set(err, RONDO_ERR_STATE, "run %s has ended already: %s", run_id,
                         rondo_status_name(run.summary.status));
    }
    if (!executed) {
        return end_here(parts, run_id, by, err);
    }
    r = post_stop(store, run_id, by, err);
    return r < 0 ? r : LOOP_STOP_POSTED;
}
