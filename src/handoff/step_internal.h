// SPDX-License-Identifier: Apache-2.0
/* What the files of the step share. */
#pragma once

#include "handoff/step.h"

/** One command on its way. */
struct step {
    struct handoff *handoff;
    const struct handoff_rules *rules;
    const struct handoff_command *command;
    int64_t now_ns;
    struct handoff_facts *facts;
};

typedef enum handoff_outcome step_fn(struct step *step);

/** A fact: the record has changed. */
void step_note(struct handoff *handoff, struct handoff_facts *facts, enum handoff_fact fact);
/** Copy a name or digest that fits, which the caller has checked. */
void step_copy(char *ret_name, size_t size, const char *name);
/** The next level of escalation; a reminder when it is on the highest. */
void step_escalate(struct handoff *handoff, const struct handoff_rules *rules,
                   struct handoff_facts *facts);
/** A final state. */
void step_decide(struct handoff *handoff, enum handoff_state state, const char *by, int64_t now_ns);
/** Begin the time to decide. */
void step_begin_sla(struct handoff *handoff, const struct handoff_rules *rules, int64_t now_ns);
/** The time to decide continues after questions: the agent's time does not count. */
void step_resume_sla(struct step *step);

step_fn step_resubmit, step_cancel, step_take, step_start, step_finish, step_return;
step_fn step_route, step_shed, step_claim, step_release, step_approve, step_reject, step_reroute;
step_fn step_ask, step_withdraw, step_escalate_now, step_deescalate, step_replay;
