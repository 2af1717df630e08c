// SPDX-License-Identifier: Apache-2.0
/* The begin of a handoff, what time does to it, and the way to the command. */
#include "handoff/step.h"

#include "handoff/step_internal.h"
#include "handoff/timer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BY_TIME "system:timeout"

static const char *const fact_names[FACT_COUNT] = {
    [FACT_REQUESTED] = "handoff.requested",
    [FACT_ROUTED] = "handoff.routed",
    [FACT_REMINDED] = "handoff.reminded",
    [FACT_ESCALATED] = "handoff.escalated",
    [FACT_DEESCALATED] = "handoff.deescalated",
    [FACT_CLAIMED] = "handoff.claimed",
    [FACT_RELEASED] = "handoff.released",
    [FACT_APPROVED_PARTLY] = "handoff.approved_partly",
    [FACT_APPROVED] = "handoff.approved",
    [FACT_REJECTED] = "handoff.rejected",
    [FACT_REROUTED] = "handoff.rerouted",
    [FACT_ASKED] = "handoff.needs_info",
    [FACT_WITHDRAWN] = "handoff.questions_withdrawn",
    [FACT_RESUBMITTED] = "handoff.resubmitted",
    [FACT_SUPERSEDED] = "handoff.superseded",
    [FACT_EXPIRED] = "handoff.expired",
    [FACT_CANCELLED] = "handoff.cancelled",
    [FACT_DEAD_LETTERED] = "handoff.dead_lettered",
    [FACT_REPLAYED] = "handoff.replayed",
    [FACT_TAKEN] = "application.leased",
    [FACT_LEASE_ENDED] = "application.lease_ended",
    [FACT_STARTED] = "application.started",
    [FACT_APPLIED] = "application.applied",
    [FACT_RETURNED] = "application.returned",
    [FACT_LAPSED] = "application.lapsed",
    [FACT_IN_DOUBT] = "application.in_doubt",
    [FACT_APPLY_FAILED] = "application.failed",
};

static const char *const outcome_names[HANDOFF_OUTCOME_COUNT] = {
    [HANDOFF_DONE] = "done",
    [HANDOFF_REPEATED] = "repeated",
    [HANDOFF_PARTIAL] = "more_approvals_required",
    [HANDOFF_DECIDED] = "already_decided",
    [HANDOFF_WAITS_FOR_AGENT] = "waiting_on_agent",
    [HANDOFF_NOT_OPEN] = "not_open",
    [HANDOFF_NOT_YOURS] = "not_yours",
    [HANDOFF_NOT_PERMITTED] = "not_permitted",
    [HANDOFF_SELF_APPROVAL] = "self_approval",
    [HANDOFF_SECOND_PERSON] = "second_person_required",
    [HANDOFF_OTHER_VERSION] = "version_changed",
    [HANDOFF_OTHER_REVISION] = "revision_changed",
    [HANDOFF_OTHER_ACTION] = "action_changed",
    [HANDOFF_TEXT_MISSING] = "text_missing",
    [HANDOFF_REROUTE_LOOP] = "reroute_loop",
    [HANDOFF_TOO_MANY_QUESTIONS] = "rework_exhausted",
    [HANDOFF_NO_APPLICATION] = "nothing_to_apply",
    [HANDOFF_LEASE_ENDED] = "lease_ended",
    [HANDOFF_INTEGRITY] = "integrity_failed",
    [HANDOFF_TOO_LATE] = "too_late",
    [HANDOFF_FULL] = "queue_full",
    [HANDOFF_JOINED] = "joined",
};

const char *handoff_fact_name(enum handoff_fact fact)
{
    return fact_names[fact];
}

const char *handoff_outcome_name(enum handoff_outcome outcome)
{
    return outcome_names[outcome];
}

/* ---- Shared --------------------------------------------------------------------------------- */

void step_note(struct handoff *handoff, struct handoff_facts *facts, enum handoff_fact fact)
{
    assert(facts->count < HANDOFF_MOST_FACTS);
    facts->are_of_time[facts->count] = false;
    facts->facts[facts->count++] = fact;
    handoff->version++;
}

void step_copy(char *ret_name, size_t size, const char *name)
{
    size_t len = strlen(name);
    assert(len < size);
    memcpy(ret_name, name, len + 1);
}

static void clear_claim(struct handoff *handoff)
{
    handoff->claimed_by[0] = '\0';
    handoff->claim_until_ns = 0;
}

void step_decide(struct handoff *handoff, enum handoff_state state, const char *by, int64_t now_ns)
{
    handoff->state = state;
    handoff->decided_ns = now_ns;
    step_copy(handoff->decided_by, sizeof(handoff->decided_by), by);
    clear_claim(handoff);
}

void step_escalate(struct handoff *handoff, const struct handoff_rules *rules,
                   struct handoff_facts *facts)
{
    if (handoff->escalation_level >= rules->levels) {
        step_note(handoff, facts, FACT_REMINDED);
        return;
    }
    handoff->state = HANDOFF_ESCALATED;
    handoff->escalation_level++;
    if (handoff->priority < HANDOFF_CRITICAL) {
        handoff->priority++;
    }
    /* Escalated by a person or by time: the ladder has each level once. */
    if (handoff->ladder_done < handoff->escalation_level + 1) {
        handoff->ladder_done = handoff->escalation_level + 1;
    }
    step_note(handoff, facts, FACT_ESCALATED);
}

void step_begin_sla(struct handoff *handoff, const struct handoff_rules *rules, int64_t now_ns)
{
    handoff->sla_begin_ns = now_ns;
    handoff->sla_due_ns = now_ns + rules->sla_ns[handoff->priority];
    if (handoff->required_by_ns != 0 && handoff->sla_due_ns > handoff->required_by_ns) {
        handoff->sla_due_ns = handoff->required_by_ns;
    }
}

enum handoff_outcome handoff_begin(const struct handoff_request *request,
                                   const struct handoff_rules *rules, int64_t now_ns,
                                   struct handoff *ret_handoff, struct handoff_facts *facts)
{
    if (request->required_by_ns != 0 &&
        request->required_by_ns - now_ns < rules->shortest_request_ns) {
        return HANDOFF_TOO_LATE;
    }
    struct handoff handoff = {
        .state = HANDOFF_REQUESTED,
        .risk = request->risk,
        .priority = request->priority,
        .revision = 1,
        .requested_ns = now_ns,
        .required_by_ns = request->required_by_ns,
        .is_idempotent = request->is_idempotent,
        .is_foreign = request->is_foreign,
    };
    step_copy(handoff.request_id, sizeof(handoff.request_id), request->request_id);
    step_copy(handoff.agent_id, sizeof(handoff.agent_id), request->agent_id);
    step_copy(handoff.lane_id, sizeof(handoff.lane_id), request->lane_id);
    step_copy(handoff.action_digest, sizeof(handoff.action_digest), request->action_digest);
    step_copy(handoff.first_digest, sizeof(handoff.first_digest), request->body_digest);
    step_copy(handoff.answer_digest, sizeof(handoff.answer_digest), request->body_digest);
    if (request->parent_id != NULL) {
        step_copy(handoff.parent_id, sizeof(handoff.parent_id), request->parent_id);
    }
    if (request->owner != NULL) {
        step_copy(handoff.owner, sizeof(handoff.owner), request->owner);
    }
    if (request->state_hash != NULL) {
        step_copy(handoff.state_hash, sizeof(handoff.state_hash), request->state_hash);
    }
    step_begin_sla(&handoff, rules, now_ns);
    step_note(&handoff, facts, FACT_REQUESTED);
    *ret_handoff = handoff;
    return HANDOFF_DONE;
}

/* ---- Time ----------------------------------------------------------------------------------- */

static void climb(struct handoff *handoff, const struct handoff_rules *rules,
                  struct handoff_facts *facts)
{
    bool is_reminder = handoff->ladder_done == 0 || handoff->ladder_done > rules->levels;
    handoff->ladder_done++;
    if (is_reminder) {
        step_note(handoff, facts, FACT_REMINDED);
    } else {
        step_escalate(handoff, rules, facts);
    }
}

static void end_lease(struct handoff *handoff, struct handoff_facts *facts)
{
    bool is_started = handoff->application == APPLICATION_STARTED;
    handoff->application = is_started ? APPLICATION_IN_DOUBT : APPLICATION_AVAILABLE;
    handoff->lease_until_ns = 0;
    if (!is_started) {
        handoff->consumer[0] = '\0';
    }
    step_note(handoff, facts, is_started ? FACT_IN_DOUBT : FACT_LEASE_ENDED);
}

/** Whether a desk can be added: it is another one, and there is room for it and for people's own.
 */
static bool can_reroute(const struct handoff *handoff, const char *desk)
{
    bool is_new = handoff->desk_count > 0 && handoff->desk_count < HANDOFF_MOST_DESKS;
    for (uint32_t i = 0; i < handoff->desk_count && is_new; i++) {
        is_new = strcmp(handoff->desks[i], desk) != 0;
    }
    return is_new;
}

/** The time to decide begins anew, on another desk or a higher level. @return whether it does */
static bool extend(struct handoff *handoff, const struct handoff_rules *rules, int64_t due_ns,
                   struct handoff_facts *facts)
{
    bool is_open = handoff_is_open(handoff) || handoff->state == HANDOFF_NEEDS_INFO;
    bool is_rerouted = rules->on_timeout == ON_TIMEOUT_REROUTE;
    if (!is_open || handoff->is_extended || rules->on_timeout == ON_TIMEOUT_EXPIRE ||
        (is_rerouted && !can_reroute(handoff, rules->timeout_desk))) {
        return false;
    }
    handoff->is_extended = true;
    handoff->info_begin_ns = 0;
    handoff->info_due_ns = 0;
    clear_claim(handoff);
    if (is_rerouted) {
        step_copy(handoff->desks[handoff->desk_count++], HANDOFF_NAME_SIZE, rules->timeout_desk);
        handoff->state = HANDOFF_REROUTED;
        step_note(handoff, facts, FACT_REROUTED);
    } else {
        handoff->state = HANDOFF_ESCALATED;
        step_escalate(handoff, rules, facts);
    }
    step_begin_sla(handoff, rules, due_ns);
    return true;
}

/** Nobody has decided, or the agent has not answered. */
static void time_out(struct handoff *handoff, const struct handoff_rules *rules, int64_t due_ns,
                     struct handoff_facts *facts)
{
    if (!extend(handoff, rules, due_ns, facts)) {
        step_decide(handoff, HANDOFF_EXPIRED, BY_TIME, due_ns);
        step_note(handoff, facts, FACT_EXPIRED);
    }
}

static void fire(struct handoff *handoff, const struct handoff_rules *rules,
                 const struct timer *timer, struct handoff_facts *facts)
{
    switch (timer->kind) {
    case TIMER_NONE:
        return;
    case TIMER_SLA:
    case TIMER_INFO:
        time_out(handoff, rules, timer->due_ns, facts);
        return;
    case TIMER_REQUIRED:
        step_decide(handoff, HANDOFF_EXPIRED, BY_TIME, timer->due_ns);
        step_note(handoff, facts, FACT_EXPIRED);
        return;
    case TIMER_VALID:
        handoff->application = APPLICATION_LAPSED;
        handoff->lease_until_ns = 0;
        step_note(handoff, facts, FACT_LAPSED);
        return;
    case TIMER_LEASE:
        end_lease(handoff, facts);
        return;
    case TIMER_CLAIM:
        clear_claim(handoff);
        step_note(handoff, facts, FACT_RELEASED);
        return;
    case TIMER_LADDER:
        climb(handoff, rules, facts);
        return;
    }
}

bool handoff_advance(struct handoff *handoff, const struct handoff_rules *rules, int64_t now_ns,
                     struct handoff_facts *facts)
{
    uint64_t version = handoff->version;
    struct timer timer = handoff_timer(handoff, rules);
    while (timer.kind != TIMER_NONE && timer.due_ns <= now_ns) {
        size_t first = facts->count;
        fire(handoff, rules, &timer, facts);
        for (size_t i = first; i < facts->count; i++) {
            facts->are_of_time[i] = true;
        }
        timer = handoff_timer(handoff, rules);
    }
    return handoff->version != version;
}

enum handoff_outcome handoff_step(struct handoff *handoff, const struct handoff_rules *rules,
                                  const struct handoff_command *command, int64_t now_ns,
                                  struct handoff_facts *facts)
{
    static step_fn *const steps[HANDOFF_COMMAND_COUNT] = {
        [HANDOFF_RESUBMIT] = step_resubmit,
        [HANDOFF_CANCEL] = step_cancel,
        [HANDOFF_TAKE] = step_take,
        [HANDOFF_START] = step_start,
        [HANDOFF_FINISH] = step_finish,
        [HANDOFF_RETURN] = step_return,
        [HANDOFF_ROUTE] = step_route,
        [HANDOFF_SHED] = step_shed,
        [HANDOFF_CLAIM] = step_claim,
        [HANDOFF_RELEASE] = step_release,
        [HANDOFF_APPROVE] = step_approve,
        [HANDOFF_REJECT] = step_reject,
        [HANDOFF_REROUTE] = step_reroute,
        [HANDOFF_ASK] = step_ask,
        [HANDOFF_WITHDRAW] = step_withdraw,
        [HANDOFF_ESCALATE] = step_escalate_now,
        [HANDOFF_DEESCALATE] = step_deescalate,
        [HANDOFF_REPLAY] = step_replay,
    };
    struct step step = {handoff, rules, command, now_ns, facts};
    bool is_other = command->if_version != 0 && command->if_version != handoff->version;
    handoff_advance(handoff, rules, now_ns, facts);
    if (is_other && handoff_is_waiting(handoff)) {
        return HANDOFF_OTHER_VERSION; /* Else the answer is what was decided. */
    }
    enum handoff_outcome outcome = steps[command->kind](&step);
    handoff_advance(handoff, rules, now_ns, facts); /* a shorter time may have passed a step */
    return outcome;
}
