// SPDX-License-Identifier: Apache-2.0
/* The life of a loop. One thread a loop. */
#include "api/internal.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "store/find.h"

#include <stdlib.h>
#include <string.h>

static int say_held(const struct loop_opening *opening, struct rondo_error *err)
{
    char holder[OWNER_DESCRIPTION_SIZE];
    owner_describe(&opening->holder, holder);
    return error_set(err, RONDO_ERR_BUSY, "run %s of agent %s is being executed by %s",
                     opening->holder.id, opening->holder.agent_id, holder);
}

/** Wrap a loop, or release what there is of it and give NULL. */
static struct rondo_loop *wrap(struct rondo *rondo, struct loop *loop)
{
    struct rondo_loop *wrapped = memory_new_zero(1, sizeof(*wrapped));
    wrapped->rondo = rondo;
    wrapped->loop = loop;
    return wrapped;
}

struct rondo_loop *rondo_loop_start(struct rondo *rondo, const struct rondo_loop_options *options,
                                    struct rondo_error *err)
{
    struct loop_parts parts = {.runtime = rondo->runtime};
    struct loop_opening opening;
    struct loop_spec spec;
    struct loop *loop = NULL;
    if (options == NULL || options->agent_id == NULL) {
        error_set(err, RONDO_ERR_INVALID, "a loop needs options with an agent_id");
        return NULL;
    }
    if (api_make_spec(options, &spec, err) < 0) {
        return NULL;
    }
    int r = loop_start(&parts, &spec, &loop, &opening, err);
    loop_spec_fini(&spec);
    if (r == 0 && opening.is_held) {
        r = say_held(&opening, err);
    }
    return r < 0 ? NULL : wrap(rondo, loop);
}

static int resume(struct rondo *rondo, const char *run_id, struct api_changes *changes,
                  struct loop **ret_loop, struct rondo_error *err)
{
    struct loop_parts parts = {.runtime = rondo->runtime};
    struct loop_opening opening;
    bool has_changes = changes->options != NULL;
    int on_corrupt = has_changes && changes->options->on_corrupt != RONDO_USE_PREVIOUS
                         ? (int)changes->options->on_corrupt
                         : -1;
    int r = loop_resume(&parts, run_id, has_changes ? api_change_spec : NULL, changes, on_corrupt,
                        ret_loop, &opening, err);
    return r == 0 && opening.is_held ? say_held(&opening, err) : r;
}

static int prepare(struct rondo *rondo, const char *run_id,
                   const struct rondo_loop_options *options, struct api_changes *ret_changes,
                   struct rondo_error *err)
{
    *ret_changes = (struct api_changes){0};
    if (options == NULL) {
        return 0;
    }
    struct loop_spec recorded;
    int r = loop_recorded_spec(rondo->store, run_id, &recorded, err);
    if (r == 0) {
        r = api_prepare_changes(options, &recorded, ret_changes, err);
        loop_spec_fini(&recorded);
    }
    return r;
}

struct rondo_loop *rondo_loop_resume(struct rondo *rondo, const char *run_id,
                                     const struct rondo_loop_options *options,
                                     struct rondo_error *err)
{
    struct store_run run;
    struct api_changes changes;
    struct loop *loop = NULL;
    int r =
        store_find_run(rondo->store, run_id, options == NULL ? NULL : options->agent_id, &run, err);
    if (r < 0 || prepare(rondo, run.id, options, &changes, err) < 0) {
        return NULL;
    }
    r = resume(rondo, run.id, &changes, &loop, err);
    api_changes_fini(&changes);
    return r < 0 ? NULL : wrap(rondo, loop);
}

/** Hand what the body said to the driver. */
static void report_body(struct rondo_loop *loop)
{
    loop->body.message = loop->message;
    loop->body.summary = loop->summary;
    loop_report(loop->loop, &loop->body);
    loop->body = (struct loop_body_result){0};
    free(loop->message);
    loop->message = NULL;
    free(loop->summary);
    loop->summary = NULL;
    loop->is_in_body = false;
}

static enum rondo_turn turn_of(struct rondo_loop *loop, int driven)
{
    if (driven < 0) {
        return RONDO_BROKEN;
    }
    if (driven == LOOP_BODY) {
        loop->is_in_body = true;
        return RONDO_CONTINUE;
    }
    return loop_violation(loop->loop) != NULL ? RONDO_POLICY_VIOLATED : RONDO_DONE;
}

enum rondo_turn rondo_loop_next(struct rondo_loop *loop)
{
    if (loop->is_in_body) {
        report_body(loop);
    }
    loop->error = (struct rondo_error){0};
    loop->turn = turn_of(loop, loop_next_unpaused(loop->loop, &loop->error));
    if (loop->turn != RONDO_BROKEN) {
        loop->error = (struct rondo_error){0}; /* What was tried again in the end went well. */
    }
    return loop->turn;
}

/** A body that was left without a word about its result is one that was cut off. */
static void interrupt_body(struct rondo_loop *loop)
{
    bool has_result = loop->body.finish != FINISH_NONE || loop->body.outcome != LOOP_OK;
    if (loop->is_in_body && !has_result) {
        loop->body.outcome = LOOP_INTERRUPTED;
    }
}

void rondo_loop_free(struct rondo_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (loop->turn != RONDO_BROKEN && rondo_loop_status(loop) == RONDO_RUNNING) {
        interrupt_body(loop);
        loop_stop(loop->loop, CANCEL_GRACEFUL);
        rondo_loop_next(loop);
    }
    loop_free(loop->loop);
    free(loop->message);
    free(loop->summary);
    free(loop);
}

const char *rondo_loop_run_id(const struct rondo_loop *loop)
{
    return loop_run_id(loop->loop);
}

uint64_t rondo_loop_iteration(const struct rondo_loop *loop)
{
    return loop_state(loop->loop)->iteration;
}

enum rondo_status rondo_loop_status(const struct rondo_loop *loop)
{
    const struct run_state *state = loop_state(loop->loop);
    return state->phase == PHASE_ENDED ? state->status : RONDO_RUNNING;
}

const char *rondo_loop_status_name(const struct rondo_loop *loop)
{
    return rondo_status_name(rondo_loop_status(loop));
}

const struct rondo_error *rondo_loop_error(const struct rondo_loop *loop)
{
    return &loop->error;
}

bool rondo_loop_violation(const struct rondo_loop *loop, struct rondo_violation *ret_violation)
{
    const struct policy_verdict *verdict = loop_violation(loop->loop);
    if (verdict == NULL) {
        return false;
    }
    const struct policy_limit *limit = policy_verdict_limit(verdict);
    *ret_violation = (struct rondo_violation){
        .policy_id = verdict->policy,
        .limit_name = limit == NULL ? "" : run_limit_name(verdict->counter),
        .limit = limit == NULL ? 0 : limit->limit,
        .value = limit == NULL ? 0 : limit->value,
        .iteration = loop_state(loop->loop)->finished + 1,
        .message = verdict->message,
        .reason = verdict->text,
        .code = verdict_reason_name(verdict->reason),
        .policy_sha256 = verdict->sha256,
        .needs_approval = verdict->outcome == VERDICT_ASK,
    };
    return true;
}
