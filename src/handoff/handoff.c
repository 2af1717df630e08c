// SPDX-License-Identifier: Apache-2.0
/* Names, and what can be read off a record. */
#include "handoff/handoff.h"

#include "base/clock.h"

#include <string.h>

#define NS_PER_MINUTE (60 * NS_PER_S)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)

const struct handoff_rules handoff_default_rules = {
    .sla_ns = {[HANDOFF_LOW] = 7 * 24 * NS_PER_HOUR,
               [HANDOFF_MEDIUM] = 24 * NS_PER_HOUR,
               [HANDOFF_HIGH] = 4 * NS_PER_HOUR,
               [HANDOFF_CRITICAL] = NS_PER_HOUR},
    .shortest_request_ns = 30 * NS_PER_S,
    .claim_ns = 15 * NS_PER_MINUTE,
    .info_ns = 30 * NS_PER_MINUTE,
    .shortest_rest_ns = 10 * NS_PER_MINUTE,
    .lease_ns = 30 * NS_PER_S,
    .valid_ns = 15 * NS_PER_MINUTE,
    .longest_valid_ns = 24 * NS_PER_HOUR,
    .most_hops = 3,
    .most_revisions = 3,
    .critical_approvals = 2,
    .most_deliveries = 5,
    .notify_percent = 50,
    .escalate_percent = 75,
    .levels = 2,
    .reminders = 1,
};

static const char *const state_names[HANDOFF_STATE_COUNT] = {
    "requested", "routed",  "rerouted",  "escalated",  "needs_info",    "approved",
    "rejected",  "expired", "cancelled", "superseded", "dead_lettered",
};
static const char *const application_names[APPLICATION_COUNT] = {
    "none", "available", "leased", "started", "applied", "lapsed", "in_doubt", "apply_failed",
};
static const char *const level_names[HANDOFF_LEVEL_COUNT] = {"low", "medium", "high", "critical"};

const char *handoff_state_name(enum handoff_state state)
{
    return state_names[state];
}

const char *handoff_application_name(enum handoff_application application)
{
    return application_names[application];
}

const char *handoff_level_name(enum handoff_level level)
{
    return level_names[level];
}

bool handoff_is_open(const struct handoff *handoff)
{
    return handoff->state == HANDOFF_ROUTED || handoff->state == HANDOFF_REROUTED ||
           handoff->state == HANDOFF_ESCALATED;
}

bool handoff_is_waiting(const struct handoff *handoff)
{
    return handoff_is_open(handoff) || handoff->state == HANDOFF_REQUESTED ||
           handoff->state == HANDOFF_NEEDS_INFO;
}

uint32_t handoff_quorum(const struct handoff *handoff, const struct handoff_rules *rules)
{
    return handoff->risk == HANDOFF_CRITICAL ? rules->critical_approvals : 1;
}
