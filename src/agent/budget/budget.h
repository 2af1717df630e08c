// SPDX-License-Identifier: Apache-2.0
/*
 * The budgets of an agent over all its runs: fields of spec.guardrails in its role, and the ledgers
 * of a store (collection "budgets", key: the agent's id). Any thread.
 */
#pragma once

#include "agent/budget/ledger.h"
#include "store/store.h"

struct clock;
struct json_object;

#define BUDGET_COLLECTION "budgets"

/** Read the budgets of a role. @param normal the role's normal form */
void budget_rules_read(struct json_object *normal, struct budget_rules *ret_rules);
/** Whether there is any limit. */
bool budget_rules_are_set(const struct budget_rules *rules);
/** Whether there is a limit of cost. */
bool budget_rules_limit_cost(const struct budget_rules *rules);

/**
 * Read an agent's ledger.
 * @param ret_version of the document, 0 = there is none; may be NULL
 */
int budget_load(struct store *store, const char *agent_id, struct budget_ledger *ret_ledger,
                uint64_t *ret_version, struct rondo_error *err);

/** Replace a ledger. @param version of the one that was read @return 1, 0 when it changed, or a
 * code */
int budget_save(struct store *store, const char *agent_id, const struct budget_ledger *ledger,
                uint64_t version, struct rondo_error *err);

/**
 * Keep in the ledger what an agent's role says, so that lists can show it before a run does. A role
 * without limits gets no ledger.
 */
int budget_note_rules(struct store *store, const char *agent_id, const struct budget_rules *rules,
                      struct rondo_error *err);

/** Whether a run may start. */
enum budget_answer {
    BUDGET_YES = 0,
    BUDGET_NOT_BEFORE, /**< at ret_at_ns something is left again */
    BUDGET_NEVER,      /**< until the role or the ledger is changed */
};

struct budget_reply {
    enum budget_answer answer;
    int64_t at_ns;    /**< BUDGET_NOT_BEFORE: wall clock */
    char reason[192]; /**< not BUDGET_YES: for people */
};

/**
 * Whether a role's budgets let a run start now. It may still end by them: this reserves nothing.
 * A role that says `when_budget_exhausted: refuse` gets BUDGET_NEVER in place of BUDGET_NOT_BEFORE.
 */
int budget_allows(struct store *store, const char *agent_id, const struct budget_rules *rules,
                  int64_t now_ns, struct budget_reply *ret_reply, struct rondo_error *err);

/** Put in words that a limit is used up: "daemon_daily_token_budget: 1200 of 1000 tokens ...". */
void budget_describe(const struct budget_standing *standing, char *ret_text, size_t size);

/** When the period of a limit ends. @return wall clock, ns; 0 = never */
int64_t budget_period_end_ns(const struct budget_rules *rules, enum budget_kind kind, int64_t day);

/**
 * Take back what dead runs have reserved: their row says that they ended, that another process has
 * them, or that nobody has. @param clock the wall clock of leases
 * @return whether anything was taken back, or a negative code
 */
int budget_release_dead(struct store *store, const char *agent_id, const struct clock *clock,
                        struct rondo_error *err);

/**
 * Forget what an agent has used: of its life and all days. Requests under way stay.
 * RONDO_ERR_NOT_FOUND when it has no ledger.
 */
int budget_reset(struct store *store, const char *agent_id, struct rondo_error *err);

/** Called for each ledger; must not call the store. @return false to end the listing */
typedef bool budget_list_fn(const char *agent_id, const struct budget_ledger *ledger,
                            void *context);
/** List the ledgers of a store by agent. One that cannot be read is an error. */
int budget_list(struct store *store, budget_list_fn *fn, void *context, struct rondo_error *err);
