// SPDX-License-Identifier: Apache-2.0
/*
 * An agent's requests and the budgets of its role (agent/budget): each request is reserved in the
 * commit of its intent and settled in the commit of its reply, so budgets cost no commit. An agent
 * without budgets does nothing here.
 */
#pragma once

#include "agent/budget/budget.h"
#include "loop/driver/body_ports.h"

struct agent;
struct model;
struct model_message;
struct model_reply;

struct agent_spending {
    bool is_limited;
    struct budget_rules rules;
    char *agent_id;
    struct budget_ledger *ledger; /* as last read; NULL = there are no budgets */

    int64_t day; /* in the role's zone, between these times */
    int64_t day_begin_ns;
    int64_t day_end_ns;

    /* What the ledger is to be told with the next commit. */
    struct loop_update update;
    unsigned change;  /* number of the present content of what follows */
    unsigned written; /* the one that was handed to the store last */
    bool is_settling;
    uint64_t settled_number;
    struct budget_amount settled;
    struct budget_amount added;   /* used beside requests of the conversation */
    struct budget_amount entered; /* of it, with what was written last */
    int64_t added_day;
    bool is_reserving;
    struct ledger_request request; /* the last one */
    enum budget_verdict verdict;   /* of the last try to reserve */
    struct rondo_error problem;    /* the ledger cannot be read; code 0 = it can */
};

/** Read the budgets of the agent's role, while it has its normal form. */
int spending_open(struct agent *agent, const char *agent_id, struct rondo_error *err);
void spending_fini(struct agent_spending *spending);

/**
 * Wait while others have reserved what is left. When a budget is used up, the run ends.
 * @return enum agent_next or a negative code
 */
int spending_wait(struct agent *agent, struct rondo_error *err);

/**
 * Reserve the request whose intent was recorded last, with the next commit.
 * @param model    the one that is asked
 * @param messages that it is sent
 */
void spending_reserve(struct agent *agent, const struct model *model,
                      const struct model_message *messages, size_t count);

/**
 * After that commit: what was free before may be reserved by others now. Then wait, and try again.
 * @return enum agent_next or a negative code
 */
int spending_confirm(struct agent *agent, struct rondo_error *err);

/** Settle the request with the next commit. Warns of a budget that is nearly used up. */
int spending_settle(struct agent *agent, const struct model_reply *reply, struct rondo_error *err);

/**
 * What the budgets leave at the moment: tokens, and millionths; INT64_MAX where none limits them.
 * Never below 1, so that it can be the limit of a run.
 */
struct budget_amount spending_left(struct agent *agent);

/** Count what was used beside requests of the conversation, with the next commit. */
void spending_add(struct agent *agent, struct budget_amount used);
