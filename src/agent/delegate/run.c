// SPDX-License-Identifier: Apache-2.0
/*
 * Work for another role of this machine: a run of its own, with its own journal, which this call
 * executes and waits for. Its id follows from the call, so that a call that is repeated after a
 * crash finds it, and continues it or has its answer. It is under the policies and limits of the
 * run that gave it away as well as its own, and ends with it.
 */
#include "agent/delegate/remote.h"
#include "agent/internal.h"
#include "agent/spec/delegates.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"
#include "journal/run_answer.h"
#include "loop/driver/passing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Until the lease of a process is looked at again that may be dead. */
#define HELD_PAUSE_NS (NS_PER_S / 5)

struct order_run {
    struct agent *outer;
    const struct agent_order *order;
    const struct tool_call *call;
    char id[ID_SIZE];
    struct loop_spec spec;
    struct agent *agent;
    struct loop *loop;
    bool is_over;    /* it had ended before this call */
    bool is_foreign; /* a run with its id is another agent's */
    struct rondo_error err;
};

/* ---- Opening --------------------------------------------------------------------------------- */

/** Time for the run: the tool's, or what is left of the call's. */
static int64_t time_for(const struct order_run *run)
{
    int64_t now_ns = clock_monotonic(runtime_clock(run->outer->runtime));
    int64_t left_ns = run->call->deadline_ns - now_ns;
    int64_t most_ns = run->order->timeout_ns;
    left_ns = left_ns < most_ns ? left_ns : most_ns;
    return left_ns > 0 ? left_ns : 1;
}

/** @param limit of the run; 0 = none */
static void cap(int64_t *limit, int64_t most)
{
    *limit = most != INT64_MAX && (*limit == 0 || most < *limit) ? most : *limit;
}

static int make_spec(struct order_run *run)
{
    struct agent *outer = run->outer;
    const struct budget_amount left = spending_left(outer);
    const struct delegated_run wanted = {
        .delegates = outer->config.delegates,
        .servers = outer->config.servers,
        .path = run->order->path,
        .parent = loop_run_id(outer->loop),
        .depth = run->order->depth,
        .prompt = run->order->prompt,
        .workspace = outer->workspace,
        .memory_path = run->order->memory_path,
        .max_memories = run->order->max_memories,
        .prices_file = outer->parts.prices_file,
        .accepts_unprotected = outer->config.accepts_unprotected,
    };
    int r = delegates_spec(&wanted, &run->spec, &run->err);
    if (r == 0) {
        int64_t time_ns = time_for(run);
        int64_t own_ns = run->spec.time_limit_ns;
        run->spec.time_limit_ns = own_ns > 0 && own_ns < time_ns ? own_ns : time_ns;
        cap(&run->spec.max_tokens, left.tokens);
        cap(&run->spec.max_cost_micro, left.cost_micro);
        snprintf(run->spec.run_id, sizeof(run->spec.run_id), "%s", run->id);
    }
    return r;
}

static int open_agent(struct order_run *run)
{
    const struct agent_parts *from = &run->outer->parts;
    const struct agent_parts parts = {
        .http = from->http,
        .config_folder = from->config_folder,
        .ask_person = from->ask_person,
        .ask_words = from->ask_words,
        .ask_form = from->ask_form,
        .ask_context = from->ask_context,
        .prices_file = from->prices_file,
        .cancel = run->call->cancel,
        .is_inside = true,
    };
    return agent_open(run->outer->runtime, &run->spec, &parts, &run->agent, &run->err);
}

static struct loop_parts loop_parts_of(const struct order_run *run)
{
    return (struct loop_parts){
        .runtime = run->outer->runtime,
        .by = loop_spec(run->outer->loop)->agent_id,
        .check_limits = agent_check_limits,
    };
}

static int begin(struct order_run *run)
{
    struct loop_parts parts = loop_parts_of(run);
    struct loop_opening opening = {0};
    int r = make_spec(run);
    r = r < 0 ? r : open_agent(run);
    r = r < 0 ? r : loop_start(&parts, &run->spec, &run->loop, &opening, &run->err);
    return r == 0 && opening.is_held
               ? error_set(&run->err, RONDO_ERR_STATE, "another run of the agent is in the way")
               : r;
}

/** Continue a run whose process died; one that may be alive is waited for. */
static int resume(struct order_run *run)
{
    struct loop_parts parts = loop_parts_of(run);
    const struct clock *clock = runtime_clock(run->outer->runtime);
    struct store *store = runtime_store(run->outer->runtime);
    struct loop_opening opening = {.is_held = true};
    int r = loop_recorded_spec(store, run->id, &run->spec, &run->err);
    r = r < 0 ? r : open_agent(run);
    while (r == 0 && opening.is_held) {
        r = loop_resume(&parts, run->id, NULL, NULL, -1, &run->loop, &opening, &run->err);
        bool is_late = clock_monotonic(clock) >= run->call->deadline_ns;
        if (r == 0 && opening.is_held &&
            (is_late || cancel_wait(run->call->cancel, HELD_PAUSE_NS))) {
            r = error_set(&run->err, RONDO_ERR_TIMEOUT, "another process has its run");
        }
    }
    return r;
}

/**
 * Refuse a run of another agent: on a store that tenants share, one of them may have made it to be
 * executed or read here. Nobody makes runs of agents that it has no right for.
 */
static int check_agent(struct order_run *run, const struct store_run *row)
{
    int r = make_spec(run);
    run->is_foreign = r == 0 && strcmp(row->agent_id, run->spec.agent_id) != 0;
    if (run->is_foreign) {
        r = error_set(&run->err, RONDO_ERR_STATE, "the run %s is there already, and is one of %s",
                      run->id, row->agent_id);
    }
    loop_spec_fini(&run->spec);
    run->spec = (struct loop_spec){0};
    return r;
}

static int open_run(struct order_run *run)
{
    struct store *store = runtime_store(run->outer->runtime);
    struct store_run row;
    int r = store->ops->get_run(store, run->id, &row, &run->err);
    bool is_there = r == 0;
    r = is_there ? check_agent(run, &row) : r;
    if (!is_there && r == RONDO_ERR_NOT_FOUND) {
        r = begin(run);
    } else if (r == 0 && row.ended_ns == 0) {
        r = resume(run);
    } else if (r == 0) {
        run->is_over = true;
        return 0;
    }
    if (r == 0) {
        loop_set_outer(run->loop, run->outer->loop);
        r = agent_attach(run->agent, run->loop, &run->err);
    }
    return r;
}

/* ---- Executing ------------------------------------------------------------------------------- */

/** To its end: nobody but this call can continue it, so a pause ends it. */
static int execute(struct order_run *run)
{
    int turn = LOOP_BODY;
    while (turn == LOOP_BODY || turn == LOOP_PAUSED) {
        turn = loop_next(run->loop, &run->err);
        if (turn == LOOP_BODY) {
            int r = agent_run(run->agent, NULL, &run->err);
            turn = r < 0 ? r : turn;
        } else if (turn == LOOP_PAUSED) {
            loop_stop(run->loop, CANCEL_GRACEFUL);
        }
    }
    return turn < 0 ? turn : 0;
}

static int work(struct order_run *run)
{
    int r = open_run(run);
    if (r < 0 || run->is_over) {
        return r;
    }
    struct loop_passing passing = {.from = run->call->cancel, .to = run->loop};
    r = loop_passing_begin(&passing, &run->err);
    r = r < 0 ? r : execute(run);
    loop_passing_end(&passing);
    return r;
}

/* ---- The result ------------------------------------------------------------------------------ */

static void note_usage(const struct order_run *run, int64_t begin_ns)
{
    struct agent_delegation *done = &run->outer->delegation;
    struct store *store = runtime_store(run->outer->runtime);
    struct store_run row;
    if (run->is_foreign || store->ops->get_run(store, run->id, &row, NULL) < 0) {
        return; /* It was never made. */
    }
    *done = (struct agent_delegation){
        .is_done = true,
        .tokens = row.summary.tokens,
        .cost_micro = row.summary.cost_micro,
        .duration_ns = clock_monotonic(runtime_clock(run->outer->runtime)) - begin_ns,
    };
    snprintf(done->name, sizeof(done->name), "%s", run->order->name);
    snprintf(done->run_id, sizeof(done->run_id), "%s", run->id);
    snprintf(done->outcome, sizeof(done->outcome), "%s",
             row.ended_ns == 0 ? "interrupted" : rondo_status_name(row.summary.status));
}

static void answer(const struct order_run *run, int r, struct tool_result *ret_result)
{
    struct run_answer answer = {0};
    struct store *store = runtime_store(run->outer->runtime);
    struct rondo_error err = run->err;
    r = r < 0 ? r : run_answer_read(store, run->id, &answer, &err);
    if (r < 0) {
        tool_fail(ret_result, DELEGATION_ERROR "agent '%s': %s", run->order->name, err.message);
    } else if (!answer.is_completed) {
        const struct buf *why = answer.why.len > 0 ? &answer.why : &answer.text;
        tool_fail(ret_result, DELEGATION_ERROR "agent '%s' ended as %s%s%s (run %s)",
                  run->order->name, answer.is_ended ? answer.status : "interrupted",
                  why->len > 0 ? ": " : "", buf_string(why), run->id);
    } else {
        run_answer_write(&answer, &ret_result->text);
    }
    run_answer_fini(&answer);
}

void agent_run_order(struct agent *outer, const struct agent_order *order,
                     const struct tool_call *call, struct tool_result *ret_result)
{
    struct order_run run = {.outer = outer, .order = order, .call = call};
    int64_t begin_ns = clock_monotonic(runtime_clock(outer->runtime));
    id_from_name(loop_run_id(outer->loop), call->idempotency_key, strlen(call->idempotency_key),
                 run.id);
    int r = work(&run);
    agent_free(run.agent);
    loop_free(run.loop);
    loop_spec_fini(&run.spec);
    agent_tell_policies(outer); /* They were asked about the other one's tools. */
    note_usage(&run, begin_ns);
    answer(&run, r, ret_result);
}
