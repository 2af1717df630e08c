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

enum handoff_level handoff_level_of(enum policy_severity severity)
{
    static const enum handoff_level levels[] = {
        [SEVERITY_LOW] = HANDOFF_LOW,
        [SEVERITY_MEDIUM] = HANDOFF_MEDIUM,
        [SEVERITY_HIGH] = HANDOFF_HIGH,
        [SEVERITY_CRITICAL] = HANDOFF_CRITICAL,
    };
    return levels[severity];
}

const char *handoff_on_timeout_name(enum handoff_on_timeout on_timeout)
{
    static const char *const names[ON_TIMEOUT_COUNT] = {"auto_expire", "reroute", "escalate"};
    return names[on_timeout];
}

/** Without "user:". */
static const char *bare(const char *name)
{
    return strncmp(name, "user:", 5) == 0 ? name + 5 : name;
}

bool handoff_is_own(const struct handoff *handoff, const char *name)
{
    const char *own[] = {handoff->agent_id, handoff->parent_id, handoff->owner};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (own[i][0] != '\0' && strcmp(bare(own[i]), bare(name)) == 0) {
            return true;
        }
    }
    return false;
}

const char *handoff_run_id(const struct handoff *handoff)
{
    return handoff->is_foreign ? NULL : handoff->lane_id;
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
