// SPDX-License-Identifier: Apache-2.0
/* Which timer of a record is due next. */
#include "handoff/timer.h"

#include <stddef.h>

uint32_t handoff_ladder_length(const struct handoff_rules *rules)
{
    return 1 + rules->levels + rules->reminders;
}

/** A part of the time to decide, after its begin. */
static int64_t part_of(const struct handoff *handoff, uint32_t numerator, uint32_t denominator)
{
    __extension__ typedef __int128 wide;
    wide window = (wide)handoff->sla_due_ns - handoff->sla_begin_ns;
    return handoff->sla_begin_ns + (int64_t)(window * numerator / denominator);
}

/** When the next step of the ladder is due: what follows the first escalation is spread evenly over
 * the time that is left then. */
static int64_t ladder_due(const struct handoff *handoff, const struct handoff_rules *rules)
{
    if (handoff->ladder_done == 0) {
        return part_of(handoff, rules->notify_percent, 100);
    }
    uint32_t later = rules->levels + rules->reminders;
    uint32_t step = handoff->ladder_done - 1;
    return part_of(handoff,
                   rules->escalate_percent * later + (100 - rules->escalate_percent) * step,
                   100 * later);
}

static void offer(struct timer *next, enum timer_kind kind, int64_t due_ns)
{
    bool is_sooner = next->kind == TIMER_NONE || due_ns < next->due_ns ||
                     (due_ns == next->due_ns && kind < next->kind);
    if (due_ns != 0 && is_sooner) {
        *next = (struct timer){.kind = kind, .due_ns = due_ns};
    }
}

struct timer handoff_timer(const struct handoff *handoff, const struct handoff_rules *rules)
{
    struct timer next = {0};
    bool is_open = handoff_is_open(handoff);
    if (handoff_is_waiting(handoff)) {
        offer(&next, TIMER_REQUIRED, handoff->required_by_ns);
        offer(&next, handoff->state == HANDOFF_NEEDS_INFO ? TIMER_INFO : TIMER_SLA,
              handoff->state == HANDOFF_NEEDS_INFO ? handoff->info_due_ns : handoff->sla_due_ns);
    }
    if (is_open && handoff->claimed_by[0] != '\0') {
        offer(&next, TIMER_CLAIM, handoff->claim_until_ns);
    }
    if (is_open && handoff->ladder_done < handoff_ladder_length(rules)) {
        offer(&next, TIMER_LADDER, ladder_due(handoff, rules));
    }
    bool is_taken = handoff->application == APPLICATION_LEASED;
    if (is_taken || handoff->application == APPLICATION_AVAILABLE) {
        offer(&next, TIMER_VALID, handoff->valid_until_ns);
    }
    if (is_taken || handoff->application == APPLICATION_STARTED) {
        offer(&next, TIMER_LEASE, handoff->lease_until_ns);
    }
    return next;
}
