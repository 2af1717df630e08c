// SPDX-License-Identifier: Apache-2.0
/* Reserving and settling of requests. On the loop's thread, but for change_ledger. */
#include "agent/spending.h"

#include "agent/budget/period.h"
#include "agent/internal.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Longest pause before a budget is looked at again, and dead runs are looked for. */
#define LOOK_AGAIN_NS (NS_PER_S / 2)
/** Attempts to note a warning in a ledger that others change at the same time. */
#define WARN_TRIES 20

/* ---- The update ----------------------------------------------------------------------------- */

static void add_beside(const struct agent_spending *spending)
{
    if (spending->added.tokens != 0 || spending->added.cost_micro != 0) {
        ledger_add(spending->ledger, spending->added_day, spending->added);
    }
}

/** In the store's transaction, on the thread that commits; the loop's thread waits for it. */
static bool change_ledger(void *context, const char *data, size_t len, struct buf *ret_data)
{
    struct agent_spending *spending = context;
    struct budget_ledger *ledger = spending->ledger;
    spending->written = spending->change;
    spending->problem = (struct rondo_error){0};
    spending->entered = (struct budget_amount){0};
    if (ledger_read(data, len, ledger, &spending->problem) < 0) {
        return false;
    }
    if (spending->is_settling) {
        ledger_settle(ledger, spending->request.run_id, spending->settled_number,
                      spending->settled);
    }
    add_beside(spending);
    spending->entered = spending->added;
    if (spending->is_reserving) {
        ledger->rules = spending->rules;
        spending->verdict = ledger_reserve(ledger, &spending->rules.limits, &spending->request);
    }
    ledger_write(ledger, ret_data);
    return true;
}

static bool is_committed(void *context)
{
    struct agent_spending *spending = context;
    spending->added.tokens -= spending->entered.tokens;
    spending->added.cost_micro -= spending->entered.cost_micro;
    spending->entered = (struct budget_amount){0};
    if (spending->written != spending->change) {
        return true;
    }
    spending->is_settling = false;
    spending->is_reserving = false;
    return false;
}

static void attach_update(struct agent *agent)
{
    agent->spending.change++;
    loop_set_update(agent->loop, &agent->spending.update);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/** A cost budget protects only where it is known what the model costs. */
static int check_price(const struct agent *agent, struct rondo_error *err)
{
    if (!budget_rules_limit_cost(&agent->spending.rules) || model_has_price(agent->model)) {
        return 0;
    }
    auto_buf struct buf why = {0};
    loop_explain_unpriced(agent->model_id, &why);
    return error_set(err, RONDO_ERR_INVALID, "%s", buf_string(&why));
}

/** Find the day that it is in the role's zone, once a day. */
static int find_day(struct agent *agent, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    int64_t now_ns = clock_now(runtime_clock(agent->runtime));
    const char *zone = spending->rules.zone;
    if (now_ns >= spending->day_begin_ns && now_ns < spending->day_end_ns) {
        return 0;
    }
    if (!period_day(zone, now_ns, &spending->day)) {
        return error_set(err, RONDO_ERR_INVALID, "budget_timezone: this machine has no zone %s",
                         zone);
    }
    spending->day_begin_ns = period_begin_ns(zone, spending->day);
    spending->day_end_ns = period_begin_ns(zone, spending->day + 1);
    return 0;
}

int spending_open(struct agent *agent, const char *agent_id, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    budget_rules_read(agent->config.role->normal, &spending->rules);
    spending->is_limited = budget_rules_are_set(&spending->rules) && !agent->config.is_dry_run;
    if (!spending->is_limited) {
        return 0;
    }
    spending->agent_id = memory_dup_string(agent_id);
    spending->ledger = memory_new_zero(1, sizeof(*spending->ledger));
    spending->update = (struct loop_update){
        .change = {.collection = BUDGET_COLLECTION,
                   .key = spending->agent_id,
                   .change = change_ledger,
                   .context = spending},
        .committed = is_committed,
    };
    int r = check_price(agent, err);
    return r < 0 ? r : find_day(agent, err);
}

void spending_fini(struct agent_spending *spending)
{
    free(spending->agent_id);
    free(spending->ledger);
}

/* ---- Before a request ----------------------------------------------------------------------- */

/** Read the ledger as it will be when this run has settled its last request. */
static int look(struct agent *agent, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    int r = find_day(agent, err);
    if (r == 0) {
        r = budget_load(runtime_store(agent->runtime), spending->agent_id, spending->ledger, NULL,
                        err);
    }
    if (r == 0 && spending->is_settling) {
        ledger_settle(spending->ledger, spending->request.run_id, spending->settled_number,
                      spending->settled);
    }
    if (r == 0) {
        add_beside(spending);
    }
    return r;
}

static int end_exhausted(struct agent *agent, const struct budget_standing *standing)
{
    char message[256];
    budget_describe(standing, message, sizeof(message));
    struct loop_budget budget = {
        .name = budget_kinds[standing->kind].name,
        .is_cost = budget_kinds[standing->kind].is_cost,
        .limit = standing->limit,
        .used = standing->used,
        .message = message,
    };
    loop_end_by_budget(agent->loop, &budget);
    return AGENT_BODY_CUT;
}

/** Until somebody has committed something, or dead runs may be found. */
static int pause_reserved(struct agent *agent, struct rondo_error *err)
{
    struct store *store = runtime_store(agent->runtime);
    uint64_t position = 0;
    int r = store->ops->last_position(store, &position, err);
    if (r == 0) {
        r = budget_release_dead(store, agent->spending.agent_id, runtime_clock(agent->runtime),
                                err);
    }
    if (r == 0) {
        writer_wait(runtime_writer(agent->runtime), position, LOOK_AGAIN_NS, agent_cancel(agent));
    }
    return r < 0 ? r : 0;
}

int spending_wait(struct agent *agent, struct rondo_error *err)
{
    const struct agent_spending *spending = &agent->spending;
    int next = AGENT_CONTINUE;
    while (spending->is_limited && next == AGENT_CONTINUE) {
        int r = look(agent, err);
        if (r < 0) {
            return r;
        }
        struct budget_standing standing = ledger_standing(spending->ledger, &spending->rules.limits,
                                                          spending->day, loop_run_id(agent->loop));
        if (standing.verdict == BUDGET_FREE) {
            return AGENT_CONTINUE;
        }
        if (standing.verdict == BUDGET_EXHAUSTED) {
            return end_exhausted(agent, &standing);
        }
        r = pause_reserved(agent, err);
        next = r < 0                                ? r
               : cancel_is_set(agent_cancel(agent)) ? AGENT_BODY_CUT
                                                    : agent_check_limits_left(agent);
    }
    return next;
}

void spending_reserve(struct agent *agent, const struct model *model,
                      const struct model_message *messages, size_t count)
{
    struct agent_spending *spending = &agent->spending;
    if (!spending->is_limited) {
        return;
    }
    struct ledger_request *request = &spending->request;
    snprintf(request->run_id, sizeof(request->run_id), "%s", loop_run_id(agent->loop));
    request->epoch = loop_state(agent->loop)->epoch;
    request->number = loop_state(agent->loop)->seq;
    request->day = spending->day;
    request->reserved.tokens =
        model_estimate(model, messages, count, &request->reserved.cost_micro);
    spending->is_reserving = true;
    spending->verdict = BUDGET_RESERVED;
    attach_update(agent);
}

/** Whether the last commit has entered the request. @return 1, 0 when there was no room, or a code
 */
static int is_entered(struct agent *agent, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    int r = spending->is_reserving ? loop_commit_update(agent->loop, err) : 0;
    if (r < 0) {
        return r;
    }
    if (spending->problem.code < 0) {
        return error_set(err, spending->problem.code, "the budgets of %s: %s", spending->agent_id,
                         spending->problem.message);
    }
    if (spending->is_reserving) {
        return error_set(err, RONDO_ERR_IO, "the store fails, so the budgets of %s cannot be kept",
                         spending->agent_id);
    }
    return spending->verdict == BUDGET_FREE ? 1 : 0;
}

int spending_confirm(struct agent *agent, struct rondo_error *err)
{
    int next = AGENT_CONTINUE;
    while (agent->spending.is_limited && next == AGENT_CONTINUE) {
        int entered = is_entered(agent, err);
        if (entered != 0) {
            return entered < 0 ? entered : AGENT_CONTINUE;
        }
        next = spending_wait(agent, err);
        if (next == AGENT_CONTINUE) {
            agent->spending.request.day = agent->spending.day;
            agent->spending.is_reserving = true;
            attach_update(agent);
        }
    }
    return next;
}

/* ---- After a reply -------------------------------------------------------------------------- */

/** A reply that does not say what it used counts as estimated. */
static struct budget_amount used_by(const struct agent_spending *spending,
                                    const struct model_reply *reply)
{
    bool is_reported = reply->usage.input > 0 || reply->usage.output > 0;
    if (reply->failure == MODEL_OK && !is_reported) {
        return spending->request.reserved;
    }
    return (struct budget_amount){
        .tokens = reply->usage.input + reply->usage.output,
        .cost_micro = reply->has_cost ? reply->cost_micro : 0,
    };
}

static void record_near(struct agent *agent, enum budget_kind kind)
{
    const struct agent_spending *spending = &agent->spending;
    const struct budget_kind_row *row = &budget_kinds[kind];
    int64_t limit = spending->rules.limits.limits[kind];
    int64_t used = ledger_used(spending->ledger, kind, spending->request.day);
    char message[192];
    if (row->is_cost) {
        snprintf(message, sizeof(message), "$%.15g of $%.15g of the role's %s", (double)used / 1e6,
                 (double)limit / 1e6, row->name);
    } else {
        snprintf(message, sizeof(message), "%" PRId64 " of %" PRId64 " tokens of the role's %s",
                 used, limit, row->name);
    }
    struct journal_event event = {
        .type = JOURNAL_LIMIT_WARNING,
        .limit_warning = {.iteration = (int64_t)agent->memory.iteration,
                          .limit_name = row->name,
                          .limit = limit,
                          .value = used,
                          .message = message},
    };
    agent_record(agent, &event);
}

/** Note in the ledger which limits are warned of. @return their bits; 0 = none, or others do it */
static int claim_warnings(struct agent *agent, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    struct store *store = runtime_store(agent->runtime);
    for (int i = 0; i < WARN_TRIES; i++) {
        uint64_t version;
        int near = 0;
        int r = budget_load(store, spending->agent_id, spending->ledger, &version, err);
        if (r < 0) {
            return r;
        }
        for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
            if (ledger_is_near(spending->ledger, &spending->rules.limits, kind,
                               spending->request.day, spending->settled)) {
                near |= 1 << kind;
                ledger_note_warned(spending->ledger, &spending->rules.limits, kind,
                                   spending->request.day);
            }
        }
        r = near == 0 ? 0 : budget_save(store, spending->agent_id, spending->ledger, version, err);
        if (near == 0 || r != 0) {
            return r < 0 ? r : near;
        }
    }
    return 0;
}

int spending_settle(struct agent *agent, const struct model_reply *reply, struct rondo_error *err)
{
    struct agent_spending *spending = &agent->spending;
    if (!spending->is_limited) {
        return 0;
    }
    spending->is_settling = true;
    spending->settled_number = spending->request.number;
    spending->settled = used_by(spending, reply);
    attach_update(agent);
    int near = claim_warnings(agent, err);
    if (near <= 0) {
        return near;
    }
    ledger_settle(spending->ledger, spending->request.run_id, spending->settled_number,
                  spending->settled);
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        if ((near & (1 << kind)) != 0) {
            record_near(agent, kind);
        }
    }
    return loop_commit(agent->loop, err);
}

struct budget_amount spending_left(struct agent *agent)
{
    const struct agent_spending *spending = &agent->spending;
    struct budget_amount left = {INT64_MAX, INT64_MAX};
    if (!spending->is_limited || look(agent, NULL) < 0) {
        return left; /* What cannot be read ends the run with its next request. */
    }
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        int64_t limit = spending->rules.limits.limits[kind];
        int64_t *place = budget_kinds[kind].is_cost ? &left.cost_micro : &left.tokens;
        int64_t free = limit - ledger_used(spending->ledger, kind, spending->day);
        free = free < 1 ? 1 : free;
        *place = limit > 0 && free < *place ? free : *place;
    }
    return left;
}

void spending_add(struct agent *agent, struct budget_amount used)
{
    struct agent_spending *spending = &agent->spending;
    if (!spending->is_limited || (used.tokens == 0 && used.cost_micro == 0)) {
        return;
    }
    /* A day that cannot be found leaves the last one: the run's next request says why. */
    find_day(agent, NULL);
    spending->added_day = spending->day;
    spending->added.tokens += used.tokens;
    spending->added.cost_micro += used.cost_micro;
    attach_update(agent);
}
