// SPDX-License-Identifier: Apache-2.0
/*
 * The timers of a handoff. None is stored: each follows from the record, so that a record and its
 * timers can never disagree, and a restart has nothing to restore.
 */
#pragma once

#include "handoff/handoff.h"

/** What is due. Of two at the same time the earlier one here comes first. */
enum timer_kind {
    TIMER_NONE = 0,
    TIMER_REQUIRED, /**< the decision is useless from now on */
    TIMER_SLA,      /**< the time to decide is over */
    TIMER_INFO,     /**< the agent did not answer */
    TIMER_VALID,    /**< the approval was not used */
    TIMER_LEASE,    /**< the agent was lost, before or after the grant */
    TIMER_CLAIM,    /**< the person does not work on it any more */
    TIMER_LADDER,   /**< reminder or escalation */
};

struct timer {
    enum timer_kind kind;
    int64_t due_ns; /**< 0 with TIMER_NONE */
};

/** What time does to the record next, if nobody is faster. */
struct timer handoff_timer(const struct handoff *handoff, const struct handoff_rules *rules);

/** Steps of the ladder: the first reminds the desk, the next `levels` escalate, the rest remind. */
uint32_t handoff_ladder_length(const struct handoff_rules *rules);
