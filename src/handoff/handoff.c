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

/** @return the place of a name, or `count` */
static size_t find_name(const char *name, const char *const *names, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(name, names[i]) != 0) {
        i++;
    }
    return i;
}

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

bool handoff_state_from_name(const char *name, enum handoff_state *ret_state)
{
    size_t i = find_name(name, state_names, HANDOFF_STATE_COUNT);
    if (i < HANDOFF_STATE_COUNT) {
        *ret_state = (enum handoff_state)i;
    }
    return i < HANDOFF_STATE_COUNT;
}

bool handoff_application_from_name(const char *name, enum handoff_application *ret_application)
{
    size_t i = find_name(name, application_names, APPLICATION_COUNT);
    if (i < APPLICATION_COUNT) {
        *ret_application = (enum handoff_application)i;
    }
    return i < APPLICATION_COUNT;
}

bool handoff_level_from_name(const char *name, enum handoff_level *ret_level)
{
    size_t i = find_name(name, level_names, HANDOFF_LEVEL_COUNT);
    if (i < HANDOFF_LEVEL_COUNT) {
        *ret_level = (enum handoff_level)i;
    }
    return i < HANDOFF_LEVEL_COUNT;
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
