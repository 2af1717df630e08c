// SPDX-License-Identifier: Apache-2.0
/* What people decide, and where a request is. */
#include "handoff/step_internal.h"

#include <assert.h>
#include <string.h>

/* ---- Routing -------------------------------------------------------------------------------- */

static void add_desk(struct handoff *handoff, const char *desk)
{
    assert(handoff->desk_count < HANDOFF_MOST_DESKS);
    step_copy(handoff->desks[handoff->desk_count++], HANDOFF_NAME_SIZE, desk);
}

/** Who passed it on meant a desk that does not exist: it returns, and is escalated. */
static void return_to_desk(struct step *step)
{
    step->handoff->desk_count--;
    step->handoff->state = HANDOFF_ROUTED;
    step_note(step->handoff, step->facts, FACT_ROUTED);
    step_escalate(step->handoff, step->rules, step->facts);
}

enum handoff_outcome step_route(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *desk = step->command->desk;
    bool is_new = handoff->state == HANDOFF_REQUESTED;
    if (!is_new && handoff->state != HANDOFF_REROUTED) {
        return handoff_is_waiting(handoff) ? HANDOFF_REPEATED : HANDOFF_DECIDED;
    }
    if (desk == NULL && is_new) {
        step_decide(handoff, HANDOFF_DEAD_LETTERED, "system:router", step->now_ns);
        step_note(handoff, step->facts, FACT_DEAD_LETTERED);
    } else if (desk == NULL) {
        return_to_desk(step);
    } else {
        if (is_new) {
            add_desk(handoff, desk);
        }
        handoff->state = HANDOFF_ROUTED;
        step_note(handoff, step->facts, FACT_ROUTED);
    }
    return HANDOFF_DONE;
}

enum handoff_outcome step_shed(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const struct handoff_actor *actor = &step->command->actor;
    if (!actor->is_admin) {
        return HANDOFF_NOT_PERMITTED;
    }
    if (!handoff_is_waiting(handoff)) {
        return HANDOFF_DECIDED;
    }
    if (handoff->priority != HANDOFF_LOW) {
        return HANDOFF_NOT_OPEN;
    }
    step_decide(handoff, HANDOFF_EXPIRED, actor->id, step->now_ns);
    step_note(handoff, step->facts, FACT_EXPIRED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_replay(struct step *step)
{
    struct handoff *handoff = step->handoff;
    if (!step->command->actor.is_admin) {
        return HANDOFF_NOT_PERMITTED;
    }
    if (handoff->state != HANDOFF_DEAD_LETTERED) {
        return handoff_is_waiting(handoff) ? HANDOFF_REPEATED : HANDOFF_DECIDED;
    }
    if (handoff->required_by_ns != 0 &&
        handoff->required_by_ns - step->now_ns < step->rules->shortest_request_ns) {
        return HANDOFF_TOO_LATE;
    }
    handoff->state = HANDOFF_REQUESTED;
    handoff->decided_by[0] = '\0';
    handoff->decided_ns = 0;
    handoff->ladder_done = 0;
    step_begin_sla(handoff, step->rules, step->now_ns);
    step_note(handoff, step->facts, FACT_REPLAYED);
    return HANDOFF_DONE;
}

/* ---- What comes before every decision ------------------------------------------------------- */

/** Whether this person may act on it at all. */
static enum handoff_outcome check_person(const struct step *step)
{
    const struct handoff_actor *actor = &step->command->actor;
    if (actor->is_requester || handoff_is_own(step->handoff, actor->id)) {
        return HANDOFF_SELF_APPROVAL;
    }
    return actor->is_assignee ? HANDOFF_DONE : HANDOFF_NOT_YOURS;
}

/** Whether the person decides about what is requested now. */
static enum handoff_outcome check_subject(const struct step *step)
{
    const struct handoff_command *command = step->command;
    if (!command->actor.may_decide) {
        return HANDOFF_NOT_PERMITTED;
    }
    if (command->revision != step->handoff->revision) {
        return HANDOFF_OTHER_REVISION;
    }
    return strcmp(command->action_digest, step->handoff->action_digest) == 0 ? HANDOFF_DONE
                                                                             : HANDOFF_OTHER_ACTION;
}

/** Whether it is where people can act. */
static enum handoff_outcome check_open(const struct handoff *handoff)
{
    if (handoff_is_open(handoff)) {
        return HANDOFF_DONE;
    }
    if (!handoff_is_waiting(handoff)) {
        return HANDOFF_DECIDED;
    }
    return handoff->state == HANDOFF_NEEDS_INFO ? HANDOFF_WAITS_FOR_AGENT : HANDOFF_NOT_OPEN;
}

/** All of them. */
static enum handoff_outcome check(const struct step *step)
{
    enum handoff_outcome outcome = check_person(step);
    outcome = outcome != HANDOFF_DONE ? outcome : check_open(step->handoff);
    return outcome != HANDOFF_DONE ? outcome : check_subject(step);
}

/* ---- Decisions ------------------------------------------------------------------------------ */

static bool has_approved(const struct handoff *handoff, const char *operator_id)
{
    for (uint32_t i = 0; i < handoff->approval_count; i++) {
        if (strcmp(handoff->approvals[i].operator_id, operator_id) == 0) {
            return true;
        }
    }
    return false;
}

enum handoff_outcome step_approve(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *id = step->command->actor.id;
    enum handoff_outcome outcome = check(step);
    bool is_own = has_approved(handoff, id) && step->command->revision == handoff->revision;
    if (outcome == HANDOFF_DECIDED && handoff->state == HANDOFF_APPROVED && is_own) {
        return HANDOFF_REPEATED;
    }
    if (outcome != HANDOFF_DONE) {
        return outcome;
    }
    if (is_own) {
        return HANDOFF_SECOND_PERSON;
    }
    assert(handoff->approval_count < HANDOFF_MOST_APPROVALS);
    struct handoff_approval *approval = &handoff->approvals[handoff->approval_count++];
    *approval = (struct handoff_approval){.time_ns = step->now_ns};
    step_copy(approval->operator_id, sizeof(approval->operator_id), id);
    if (handoff->approval_count < handoff_quorum(handoff, step->rules)) {
        step_note(handoff, step->facts, FACT_APPROVED_PARTLY);
        return HANDOFF_PARTIAL;
    }
    step_decide(handoff, HANDOFF_APPROVED, id, step->now_ns);
    handoff->application = APPLICATION_AVAILABLE;
    handoff->valid_until_ns = step->now_ns + step->rules->longest_valid_ns;
    step_note(handoff, step->facts, FACT_APPROVED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_reject(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *id = step->command->actor.id;
    enum handoff_outcome outcome = check(step);
    if (outcome == HANDOFF_WAITS_FOR_AGENT) {
        outcome = check_subject(step);
    }
    if (outcome == HANDOFF_DECIDED && handoff->state == HANDOFF_REJECTED &&
        strcmp(handoff->decided_by, id) == 0) {
        return HANDOFF_REPEATED;
    }
    if (outcome != HANDOFF_DONE) {
        return outcome;
    }
    if (!step->command->has_text) {
        return HANDOFF_TEXT_MISSING;
    }
    step_decide(handoff, HANDOFF_REJECTED, id, step->now_ns);
    step_note(handoff, step->facts, FACT_REJECTED);
    return HANDOFF_DONE;
}

static bool was_on_desk(const struct handoff *handoff, const char *desk)
{
    for (uint32_t i = 0; i < handoff->desk_count; i++) {
        if (strcmp(handoff->desks[i], desk) == 0) {
            return true;
        }
    }
    return false;
}

enum handoff_outcome step_reroute(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *desk = step->command->desk;
    enum handoff_outcome outcome = check(step);
    if (outcome != HANDOFF_DONE) {
        return outcome;
    }
    if (handoff->hops >= step->rules->most_hops || handoff->desk_count >= HANDOFF_MOST_DESKS ||
        was_on_desk(handoff, desk)) {
        step_escalate(handoff, step->rules, step->facts);
        return HANDOFF_REROUTE_LOOP;
    }
    handoff->state = HANDOFF_REROUTED;
    handoff->hops++;
    handoff->claimed_by[0] = '\0';
    handoff->claim_until_ns = 0;
    add_desk(handoff, desk);
    step_note(handoff, step->facts, FACT_REROUTED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_ask(struct step *step)
{
    struct handoff *handoff = step->handoff;
    enum handoff_outcome outcome = check(step);
    if (outcome != HANDOFF_DONE) {
        return outcome;
    }
    if (!step->command->has_text) {
        return HANDOFF_TEXT_MISSING;
    }
    if (handoff->revision > step->rules->most_revisions) {
        return HANDOFF_TOO_MANY_QUESTIONS;
    }
    handoff->state = HANDOFF_NEEDS_INFO;
    handoff->info_begin_ns = step->now_ns;
    handoff->info_due_ns = step->now_ns + step->rules->info_ns;
    step_copy(handoff->asked_by, sizeof(handoff->asked_by), step->command->actor.id);
    step_note(handoff, step->facts, FACT_ASKED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_withdraw(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const struct handoff_actor *actor = &step->command->actor;
    if (handoff->state != HANDOFF_NEEDS_INFO) {
        return handoff_is_waiting(handoff) ? HANDOFF_NOT_OPEN : HANDOFF_DECIDED;
    }
    if (strcmp(actor->id, handoff->asked_by) != 0 && !actor->is_admin) {
        return HANDOFF_NOT_YOURS;
    }
    handoff->state = HANDOFF_ROUTED;
    step_resume_sla(step);
    step_note(handoff, step->facts, FACT_WITHDRAWN);
    return HANDOFF_DONE;
}

/* ---- Working on it -------------------------------------------------------------------------- */

enum handoff_outcome step_claim(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *id = step->command->actor.id;
    enum handoff_outcome outcome = check_person(step);
    outcome = outcome != HANDOFF_DONE ? outcome : check_open(handoff);
    if (outcome != HANDOFF_DONE) {
        return outcome;
    }
    bool is_own = strcmp(handoff->claimed_by, id) == 0;
    if (!is_own && handoff->claimed_by[0] != '\0') {
        return HANDOFF_NOT_YOURS;
    }
    handoff->claim_until_ns = step->now_ns + step->rules->claim_ns;
    if (is_own) {
        handoff->version++;
        return HANDOFF_REPEATED;
    }
    step_copy(handoff->claimed_by, sizeof(handoff->claimed_by), id);
    step_note(handoff, step->facts, FACT_CLAIMED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_release(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const struct handoff_actor *actor = &step->command->actor;
    if (handoff->claimed_by[0] == '\0') {
        return HANDOFF_REPEATED;
    }
    if (strcmp(handoff->claimed_by, actor->id) != 0 && !actor->is_admin) {
        return HANDOFF_NOT_YOURS;
    }
    handoff->claimed_by[0] = '\0';
    handoff->claim_until_ns = 0;
    step_note(handoff, step->facts, FACT_RELEASED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_escalate_now(struct step *step)
{
    enum handoff_outcome outcome = check_person(step);
    outcome = outcome != HANDOFF_DONE ? outcome : check_open(step->handoff);
    if (outcome == HANDOFF_DONE) {
        step_escalate(step->handoff, step->rules, step->facts);
    }
    return outcome;
}

enum handoff_outcome step_deescalate(struct step *step)
{
    struct handoff *handoff = step->handoff;
    enum handoff_outcome outcome =
        step->command->actor.is_admin ? HANDOFF_DONE : check_person(step);
    if (outcome == HANDOFF_DONE && handoff->state != HANDOFF_ESCALATED) {
        outcome = handoff_is_waiting(handoff) ? HANDOFF_NOT_OPEN : HANDOFF_DECIDED;
    }
    if (outcome == HANDOFF_DONE && !step->command->has_text) {
        outcome = HANDOFF_TEXT_MISSING;
    }
    if (outcome == HANDOFF_DONE) {
        handoff->state = HANDOFF_ROUTED;
        step_note(handoff, step->facts, FACT_DEESCALATED);
    }
    return outcome;
}
