// SPDX-License-Identifier: Apache-2.0
/*
 * From start requests to runs. The run's id is the request's, so a request whose run exists was
 * started before a crash; its document is deleted then. What cannot be started now (the store
 * fails, the server is full) waits; what never can is refused and recorded.
 */
#include "agent/spec/carry.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "orchestrator/assignment.h"
#include "orchestrator/orchestrator.h"
#include "source/duty/duty_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What executes -------------------------------------------------------------------------- */

static void count_run(struct duty *duty, const struct store_run *run)
{
    struct loop_spec spec = {0};
    auto_free char *source = NULL;
    auto_free char *conversation = NULL;
    if (loop_recorded_spec(duty->store, run->id, &spec, NULL) == 0) {
        carry_find(&spec, &source, &conversation);
    }
    intake_count_running(duty->intake, run->agent_id, run->id, source, conversation);
    loop_spec_fini(&spec);
}

int duty_count_running(struct duty *duty, struct rondo_error *err)
{
    struct assignment *assignments = NULL;
    size_t count = 0;
    int r = assignment_list(duty->store, &assignments, &count, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct store_run run;
        if (assignments[i].state != ASSIGNMENT_PAUSED &&
            duty->store->ops->get_run(duty->store, assignments[i].run_id, &run, NULL) == 0) {
            count_run(duty, &run);
        }
    }
    assignment_list_free(assignments, count);
    return r;
}

struct running_list {
    char (*ids)[ID_SIZE];
    size_t count;
};

static void add_id(void *context, const char *run_id)
{
    struct running_list *list = context;
    list->ids = memory_resize(list->ids, list->count + 1, ID_SIZE);
    memcpy(list->ids[list->count++], run_id, ID_SIZE);
}

static void note_ended(struct duty *duty)
{
    struct running_list list = {0};
    intake_list_running(duty->intake, add_id, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (!orchestrator_is_executing(duty->options.orchestrator, list.ids[i])) {
            intake_ended(duty->intake, list.ids[i]);
        }
    }
    free(list.ids);
}

/* ---- Starting ------------------------------------------------------------------------------- */

static struct duty_role *find_role(const struct duty *duty, const char *name)
{
    struct duty_role *role = duty->roles;
    while (role != NULL && (!role->is_used || strcmp(role->plan.name, name) != 0)) {
        role = role->next;
    }
    return role;
}

/** The run of a request may exist: it was created before a crash. */
static bool has_run(const struct duty *duty, const struct start_request *request)
{
    struct store_run run;
    return duty->store->ops->get_run(duty->store, request->id, &run, NULL) == 0;
}

/** Whether trying again can help. */
static bool may_pass(int code)
{
    return code == RONDO_ERR_IO || code == RONDO_ERR_FULL || code == RONDO_ERR_BUSY ||
           code == RONDO_ERR_TIMEOUT || code == RONDO_ERR_SYSTEM;
}

static void wait_to_start(struct duty *duty, const char *reason)
{
    duty->restart_at_ns = clock_monotonic(duty->clock) + DUTY_RETRY_NS;
    if (!duty->is_start_failing) {
        duty_log(duty, "start requests wait: %s", reason);
    }
    duty->is_start_failing = true;
}

/** @return 0, or why it is no run @param ret_is_early the turn before has no answer yet */
static int create_run(struct duty *duty, const struct duty_role *role,
                      const struct start_request *request, bool *ret_is_early,
                      struct rondo_error *err)
{
    char by[64];
    struct loop_spec spec;
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    duty_plan_spec(&role->plan, request, &spec);
    snprintf(by, sizeof(by), "%s trigger", request->kind);
    int r = request->mode == START_CONVERSATION && !has_run(duty, request)
                ? duty_continue(duty, request, &spec, err)
                : 0;
    *ret_is_early = r == RONDO_ERR_BUSY;
    if (r == 0) {
        r = orchestrator_queue_run(duty->options.orchestrator, &spec, by, &answer, err);
    }
    loop_spec_fini(&spec);
    if (r == 0 && answer == ORCHESTRATOR_HELD) {
        return error_set(err, RONDO_ERR_BUSY, "another run of the exclusive agent %s executes",
                         request->role);
    }
    if (r == 0 && answer != ORCHESTRATOR_QUEUED) {
        return error_set(err, RONDO_ERR_BUSY, "the server takes no more runs now");
    }
    return r;
}

/**
 * Create the run of a request, if the role's budgets let it.
 * @return 1, 0 when it waits: for a budget with all events of the role, or for the turn before; or
 * why it is no run
 */
static int try_request(struct duty *duty, const struct start_request *request,
                       struct rondo_error *err)
{
    struct budget_reply reply = {.answer = BUDGET_YES};
    struct duty_role *role = find_role(duty, request->role);
    if (role == NULL) { /* It left just now; the request waits until it returns. */
        return error_set(err, RONDO_ERR_BUSY, "the role %s is not on duty", request->role);
    }
    int r = budget_rules_are_set(&role->plan.budgets) && !has_run(duty, request)
                ? duty_ask_budget(duty, role, &reply, err)
                : 0;
    if (r == 0 && reply.answer == BUDGET_NOT_BEFORE) {
        return 0;
    }
    if (r == 0 && reply.answer == BUDGET_NEVER) {
        return error_set(err, RONDO_ERR_LIMIT, "%s", reply.reason);
    }
    bool is_early = false;
    r = r < 0 ? r : create_run(duty, role, request, &is_early, err);
    if (is_early) {
        intake_defer(duty->intake, request->id);
        return 0;
    }
    return r < 0 ? r : 1;
}

/** @return whether the next one may be tried at once */
static bool start_request(struct duty *duty, const struct start_request *request)
{
    struct rondo_error err = {0};
    int r = try_request(duty, request, &err);
    if (r == 0) {
        intake_postpone(duty->intake, request->id);
        return true;
    }
    if (r < 0 && may_pass(r)) {
        intake_postpone(duty->intake, request->id);
        wait_to_start(duty, err.message);
        return false;
    }
    if (r < 0) {
        r = intake_refuse(duty->intake, request, err.message, &err);
    } else {
        r = intake_started(duty->intake, request, &err);
    }
    if (r < 0) { /* The run may exist; then the next try finds it. */
        wait_to_start(duty, err.message);
        return false;
    }
    duty->is_start_failing = false;
    return true;
}

void duty_start_requests(struct duty *duty)
{
    note_ended(duty);
    int64_t now_ns = clock_monotonic(duty->clock);
    if (duty->restart_at_ns > now_ns) {
        return;
    }
    duty->restart_at_ns = 0;
    bool may_continue = true;
    while (may_continue) {
        struct rondo_error err = {0};
        struct start_request request = {0};
        int r = intake_next(duty->intake, &request, &err);
        if (r < 0) {
            wait_to_start(duty, err.message);
        }
        may_continue = r == 1 && start_request(duty, &request);
        start_request_fini(&request);
    }
}
