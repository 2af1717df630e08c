// SPDX-License-Identifier: Apache-2.0
/* How an agent stands with its budgets, for the command line and the API. Pure; any thread. */
#pragma once

#include "agent/budget/budget.h"
#include "base/json/json.h"

enum budget_state {
    BUDGET_UNLIMITED = 0, /**< its role has no budgets */
    BUDGET_LEFT,
    BUDGET_NEARLY_USED, /**< at least 80 % of one is used */
    BUDGET_USED_UP,     /**< no run of the agent may begin a request */
    BUDGET_STATE_COUNT
};

/** An agent and its ledger at a moment. The ledger is borrowed. */
struct budget_view {
    const char *agent_id;
    const struct budget_ledger *ledger;
    int64_t day; /**< in the role's zone */
    enum budget_state state;
    struct budget_standing standing; /**< BUDGET_USED_UP: of the limit that decides */
    int64_t until_ns;                /**< BUDGET_USED_UP: until then, wall clock; 0 = for good */
};

struct budget_view budget_view(const char *agent_id, const struct budget_ledger *ledger,
                               int64_t now_ns);

/** Write the members of an object that is open (docs/api.md). */
void budget_show_members(const struct budget_view *view, struct json_writer *writer);
