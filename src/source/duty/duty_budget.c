// SPDX-License-Identifier: Apache-2.0
/*
 * Budgets of roles on duty. When one is used up, the role's events wait until its day or week ends,
 * or are refused, as the role says. What waits is tried again when the period ends, when something
 * happens in this process (a reset over the API, a changed role), and once a minute, because
 * another process may have reset the ledger.
 */
#include "agent/budget/budget.h"
#include "source/duty/duty_internal.h"

#include <stdio.h>
#include <string.h>

static void hold(struct duty *duty, struct duty_role *role, const struct budget_reply *reply)
{
    char until[CLOCK_UTC_SIZE];
    clock_format_utc(reply->at_ns, until);
    if (!role->is_held) {
        duty_log(duty, "%s: %s; its events wait until %s", role->plan.name, reply->reason, until);
    }
    role->is_held = true;
    role->held_until_ns = reply->at_ns;
    intake_hold_role(duty->intake, role->plan.name, true);
}

static void release(struct duty *duty, struct duty_role *role)
{
    duty_tell(duty, "%s: its budgets have something left; what waits is started", role->plan.name);
    role->is_held = false;
    intake_hold_role(duty->intake, role->plan.name, false);
}

int duty_ask_budget(struct duty *duty, struct duty_role *role, struct budget_reply *ret_reply,
                    struct rondo_error *err)
{
    int r = budget_allows(duty->store, role->plan.name, &role->plan.budgets, clock_now(duty->clock),
                          ret_reply, err);
    if (r == 0 && ret_reply->answer == BUDGET_NOT_BEFORE) {
        hold(duty, role, ret_reply);
    }
    return r;
}

void duty_release_held(struct duty *duty)
{
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        struct rondo_error err = {0};
        struct budget_reply reply;
        if (!role->is_held || !role->is_used) {
            continue;
        }
        int r = duty_ask_budget(duty, role, &reply, &err);
        if (r == 0 && reply.answer != BUDGET_NOT_BEFORE) {
            release(duty, role);
        }
    }
}

bool duty_is_holding(const struct duty *duty, int64_t *due_ns)
{
    bool is_holding = false;
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        if (role->is_held) {
            is_holding = true;
            *due_ns = *due_ns == SOURCE_NEVER || role->held_until_ns < *due_ns ? role->held_until_ns
                                                                               : *due_ns;
        }
    }
    return is_holding;
}

void duty_note_budgets(struct duty *duty, const struct duty_role *role)
{
    struct rondo_error err = {0};
    if (budget_note_rules(duty->store, role->plan.name, &role->plan.budgets, &err) < 0) {
        duty_log(duty, "%s", err.message);
    }
}
