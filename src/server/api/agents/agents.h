// SPDX-License-Identifier: Apache-2.0
/* What the routes for agents share. */
#pragma once

#include "handoff/inbox/inbox.h"
#include "policy/profile/watch.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"

/** Count something in a metric of agents. @param labels in the order of its row */
void agents_count(const struct call *call, const char *metric, const char *const *labels,
                  double number);
/** The same, with one label: relaytrace_verify_failures_total{reason}, ... */
void agents_count_one(const struct call *call, const char *metric, const char *label);

/** The time of handoffs. */
int64_t agents_now(const struct call *call);

/** Whether the token is for an agent. @return false: the answer is a problem */
bool agents_covers(struct call *call, const char *agent_id);

/** A member that names an agent, which the token is for. @return false: the answer is a problem */
bool agents_member(struct call *call, const char **ret_agent_id);

/** A member that is a name (wire_is_name). @return false: the answer is a problem */
bool agents_name(struct call *call, const char *name, const char **ret_name);

/** A member that is a digest. @param ret_digest "" when absent @return false: a problem */
bool agents_digest(struct call *call, const char *name, bool is_needed, char *ret_digest);

/**
 * The handoff of the path. Those of agents that the token is not for do not exist for it.
 * @return false: the answer is a problem
 */
bool agents_find(struct call *call, struct handoff *ret_handoff);

/** Answer with a handoff as its agent sees it. */
void agents_answer(struct call *call, unsigned status, const struct handoff *handoff);

/** Answer with what became of a command. */
void agents_answer_result(struct call *call, int r, const struct handoff_result *result,
                          const struct rondo_error *err);

/** What an approval of a handoff means for the profiles. @return false: nothing was approved */
bool agents_approval(const struct handoff *handoff, const char *action_digest, int64_t now_ns,
                     struct profile_approval *ret_approval);
