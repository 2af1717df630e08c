// SPDX-License-Identifier: Apache-2.0
/*
 * Letters to a running loop: stop, pause, continue, limits. They are read at boundaries, and by
 * agents before a model request; each becomes an event, which is committed together with the
 * letter's removal. A request that changes nothing leaves no event.
 */
#include "loop/driver/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "loop/limits.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Bytes that are kept of the requester's name. */
#define BY_SIZE 256

/** Record a request, unless it changes nothing. */
static void loop_record_stop(struct loop *loop, const char *by)
{
    if (loop->state.is_stop_requested || loop->state.phase == PHASE_ENDED) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_RUN_STOP_REQUESTED,
        .run_stop_requested = {.by = by},
    };
    loop_record(loop, &event);
}

bool loop_record_paused(struct loop *loop, bool is_paused, const char *by)
{
    /* A person's pause of a run that waits is more than the wait: a decision does not end it. */
    bool is_new =
        is_paused ? !loop->state.is_paused || loop->state.is_waiting : loop->state.is_paused;
    if (!is_new || loop->state.phase == PHASE_ENDED) {
        return false;
    }
    struct journal_event event = {.type = JOURNAL_RUN_PAUSED, .run_paused = {.by = by}};
    if (!is_paused) {
        event = (struct journal_event){.type = JOURNAL_RUN_CONTINUED, .run_continued = {.by = by}};
    }
    loop_record(loop, &event);
    return true;
}

bool loop_record_limits(struct loop *loop, const struct loop_limits *limits, const char *by)
{
    struct loop_spec changed = loop->spec; /* borrows the texts */
    bool is_changed = loop_limits_apply(limits, &changed);
    if (loop->state.phase == PHASE_ENDED || !is_changed || loop_spec_check(&changed, NULL) < 0) {
        return false;
    }
    loop->spec = changed;
    auto_buf struct buf spec = {0};
    loop_spec_encode(&loop->spec, &spec);
    struct journal_event event = {
        .type = JOURNAL_RUN_OPTIONS,
        .run_options = {.spec = buf_string(&spec), .by = by},
    };
    loop_record(loop, &event);
    loop_use_limits(loop);
    loop->is_limit_ahead_old = true; /* A letter is read from the store, which is not to be used. */
    return true;
}

static void take_limits(struct loop *loop, struct json_object *data, const char *by)
{
    struct loop_limits limits = {
        .max_iterations = json_get_int(data, "max_iterations", 0),
        .max_tokens = json_get_int(data, "max_tokens", 0),
        .max_cost_micro = json_get_int(data, "max_cost_micro", 0),
        .time_limit_ns = json_get_int(data, "time_limit_ns", 0),
    };
    loop_record_limits(loop, &limits, by);
}

bool loop_take_letter(const struct store_letter *letter, void *context)
{
    struct loop *loop = context;
    if (letter->id <= loop->mail_taken) {
        return true; /* It is still there because nothing was committed since. */
    }
    loop->mail_taken = letter->id;
    auto_json struct json_object *data = NULL;
    json_parse(letter->data, strlen(letter->data), &data, NULL);
    char by[BY_SIZE];
    snprintf(by, sizeof(by), "%s", json_get_string(data, "by", "another process"));
    if (strcmp(letter->kind, "stop") == 0) {
        loop_record_stop(loop, by);
    } else if (strcmp(letter->kind, "pause") == 0) {
        loop_record_paused(loop, true, by);
    } else if (strcmp(letter->kind, "continue") == 0) {
        loop_record_paused(loop, false, by);
    } else if (strcmp(letter->kind, "limits") == 0) {
        take_limits(loop, data, by);
    }
    return true;
}

/**
 * Read letters when some may wait, and turn a cancelled token into a recorded request. A store that
 * cannot be read is no reason to stop: the letters wait for the next boundary.
 */
void loop_take_mail(struct loop *loop)
{
    bool is_cancelled = cancel_is_set(&loop->cancel);
    if (loop->has_mail || (is_cancelled && !loop->state.is_stop_requested)) {
        struct store *store = runtime_store(loop->runtime);
        int r = store->ops->read_mail(store, loop->run_id, NULL, loop_take_letter, loop, NULL);
        loop->has_mail = r < 0;
    }
    if (is_cancelled && loop->parking != PARKING_NOW && !loop_is_only_late(loop)) {
        loop_record_stop(loop, "signal");
    }
}

bool loop_look_for_mail(struct loop *loop)
{
    uint64_t seq = loop->state.seq;
    loop->has_mail = loop->has_mail || !loop->is_degraded;
    loop_take_mail(loop);
    return loop->state.seq != seq;
}

void loop_wait_with_mail(struct loop *loop, int64_t duration_ns)
{
    uint64_t seq = loop->state.seq;
    const struct clock *clock = runtime_clock(loop->runtime);
    while (duration_ns > 0 && loop->state.seq == seq && loop->parking == PARKING_NONE &&
           !cancel_is_set(&loop->cancel)) {
        int64_t part_ns = duration_ns < RUNTIME_TICK_NS ? duration_ns : RUNTIME_TICK_NS;
        clock_sleep(clock, part_ns, &loop->cancel);
        duration_ns -= part_ns;
        loop->has_mail = runtime_has_mail(loop->runtime, loop->run_id) || loop->has_mail;
        loop_take_mail(loop);
    }
}

int loop_wait_continued(struct loop *loop, struct rondo_error *err)
{
    const struct clock *clock = runtime_clock(loop->runtime);
    for (;;) {
        int r = loop_can_record(loop, err);
        if (r < 0) {
            return r;
        }
        loop->has_mail = true;
        loop_take_mail(loop);
        if (!loop->state.is_paused || loop->state.is_stop_requested) {
            return 0;
        }
        loop_forget_late(loop);
        clock_sleep(clock, RUNTIME_TICK_NS, &loop->cancel);
    }
}

int loop_next_unpaused(struct loop *loop, struct rondo_error *err)
{
    int turn = loop_next(loop, err);
    while (turn == LOOP_PAUSED) {
        int r = loop_wait_continued(loop, err);
        turn = r < 0 ? r : loop_next(loop, err);
    }
    return turn;
}
