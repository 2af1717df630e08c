// SPDX-License-Identifier: Apache-2.0
/* What the agent does: answer, give up, and apply what was approved. */
#include "handoff/step_internal.h"

#include <stdio.h>
#include <string.h>

static bool is_agent(const struct step *step)
{
    return strcmp(step->command->actor.id, step->handoff->agent_id) == 0;
}

/* ---- The request ---------------------------------------------------------------------------- */

void step_resume_sla(struct step *step)
{
    struct handoff *handoff = step->handoff;
    int64_t paused_ns = step->now_ns - handoff->info_begin_ns;
    paused_ns = paused_ns > 0 ? paused_ns : 0;
    handoff->sla_begin_ns += paused_ns;
    handoff->sla_due_ns += paused_ns;
    if (handoff->sla_due_ns < step->now_ns + step->rules->shortest_rest_ns) {
        handoff->sla_due_ns = step->now_ns + step->rules->shortest_rest_ns;
    }
    if (handoff->required_by_ns != 0 && handoff->sla_due_ns > handoff->required_by_ns) {
        handoff->sla_due_ns = handoff->required_by_ns;
    }
    handoff->info_begin_ns = 0;
    handoff->info_due_ns = 0;
}

/** A new revision: nobody has seen it, so nothing that was approved counts. It returns to the
 * operator who asked. */
static enum handoff_outcome accept_answers(struct step *step)
{
    struct handoff *handoff = step->handoff;
    handoff->revision++;
    handoff->state = HANDOFF_ROUTED;
    handoff->approval_count = 0;
    handoff->hops = 0;
    memmove(handoff->desks[0], handoff->desks[handoff->desk_count - 1], HANDOFF_NAME_SIZE);
    handoff->desk_count = 1;
    memcpy(handoff->claimed_by, handoff->asked_by, sizeof(handoff->claimed_by));
    handoff->claim_until_ns = step->now_ns + step->rules->claim_ns;
    step_copy(handoff->answer_digest, sizeof(handoff->answer_digest), step->command->text_digest);
    step_resume_sla(step);
    step_note(handoff, step->facts, FACT_RESUBMITTED);
    return HANDOFF_DONE;
}

static enum handoff_outcome supersede(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *new_request = step->command->new_request;
    if (handoff->state == HANDOFF_SUPERSEDED) {
        return strcmp(handoff->superseded_by, new_request) == 0 ? HANDOFF_REPEATED
                                                                : HANDOFF_DECIDED;
    }
    if (handoff->state != HANDOFF_NEEDS_INFO) {
        return handoff_is_waiting(handoff) ? HANDOFF_NOT_OPEN : HANDOFF_DECIDED;
    }
    step_copy(handoff->superseded_by, sizeof(handoff->superseded_by), new_request);
    step_decide(handoff, HANDOFF_SUPERSEDED, handoff->agent_id, step->now_ns);
    step_note(handoff, step->facts, FACT_SUPERSEDED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_resubmit(struct step *step)
{
    const struct handoff *handoff = step->handoff;
    const struct handoff_command *command = step->command;
    bool is_same_action = strcmp(command->action_digest, handoff->action_digest) == 0;
    if (!is_agent(step)) {
        return HANDOFF_NOT_YOURS;
    }
    if (!is_same_action) {
        return command->new_request == NULL ? HANDOFF_OTHER_ACTION : supersede(step);
    }
    if (command->revision == handoff->revision && handoff->revision > 1) {
        return strcmp(command->text_digest, handoff->answer_digest) == 0 ? HANDOFF_REPEATED
                                                                         : HANDOFF_OTHER_REVISION;
    }
    if (!handoff_is_waiting(handoff)) {
        return HANDOFF_DECIDED;
    }
    if (handoff->state != HANDOFF_NEEDS_INFO) {
        return HANDOFF_NOT_OPEN;
    }
    return command->revision == handoff->revision + 1 ? accept_answers(step)
                                                      : HANDOFF_OTHER_REVISION;
}

enum handoff_outcome step_cancel(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const struct handoff_actor *actor = &step->command->actor;
    if (!is_agent(step) && !actor->is_admin) {
        return HANDOFF_NOT_YOURS;
    }
    if (!handoff_is_waiting(handoff)) {
        return handoff->state == HANDOFF_CANCELLED ? HANDOFF_REPEATED : HANDOFF_DECIDED;
    }
    step_decide(handoff, HANDOFF_CANCELLED, actor->id, step->now_ns);
    step_note(handoff, step->facts, FACT_CANCELLED);
    return HANDOFF_DONE;
}

/* ---- The application ------------------------------------------------------------------------ */

static bool is_consumer(const struct step *step)
{
    return strcmp(step->command->consumer, step->handoff->consumer) == 0;
}

static enum handoff_outcome renew(struct step *step)
{
    if (!is_consumer(step)) {
        return HANDOFF_NOT_YOURS;
    }
    step->handoff->lease_until_ns = step->now_ns + step->rules->lease_ns;
    step->handoff->version++;
    return HANDOFF_REPEATED;
}

static enum handoff_outcome lease(struct step *step)
{
    struct handoff *handoff = step->handoff;
    int64_t soon_ns = step->now_ns + step->rules->valid_ns;
    if (handoff->deliveries == 0 && soon_ns < handoff->valid_until_ns) {
        handoff->valid_until_ns = soon_ns;
    }
    handoff->deliveries++;
    handoff->application = APPLICATION_LEASED;
    handoff->lease_until_ns = step->now_ns + step->rules->lease_ns;
    step_copy(handoff->consumer, sizeof(handoff->consumer), step->command->consumer);
    step_note(handoff, step->facts, FACT_TAKEN);
    return HANDOFF_DONE;
}

static enum handoff_outcome fail(struct step *step)
{
    step->handoff->application = APPLICATION_FAILED;
    step->handoff->lease_until_ns = 0;
    step_note(step->handoff, step->facts, FACT_APPLY_FAILED);
    return HANDOFF_DONE;
}

/** After a doubt only what may be done twice is taken again, and only while the approval is valid.
 */
static bool may_take_again(const struct step *step)
{
    const struct handoff *handoff = step->handoff;
    return handoff->application == APPLICATION_IN_DOUBT && handoff->is_idempotent &&
           step->now_ns < handoff->valid_until_ns;
}

enum handoff_outcome step_take(struct step *step)
{
    const struct handoff *handoff = step->handoff;
    if (!is_agent(step)) {
        return HANDOFF_NOT_YOURS;
    }
    if (handoff->application == APPLICATION_LEASED || handoff->application == APPLICATION_STARTED) {
        return renew(step);
    }
    if (handoff->application != APPLICATION_AVAILABLE && !may_take_again(step)) {
        return HANDOFF_NO_APPLICATION;
    }
    if (handoff->deliveries >= step->rules->most_deliveries) {
        fail(step);
        return HANDOFF_NO_APPLICATION;
    }
    return lease(step);
}

/** What was checked when the action was approved is checked again before it is made. */
static bool is_as_approved(const struct step *step)
{
    const struct handoff *handoff = step->handoff;
    const struct handoff_command *command = step->command;
    const char *state_hash = command->state_hash == NULL ? "" : command->state_hash;
    return strcmp(command->action_digest, handoff->action_digest) == 0 &&
           strcmp(state_hash, handoff->state_hash) == 0 && command->is_allowed;
}

enum handoff_outcome step_start(struct step *step)
{
    struct handoff *handoff = step->handoff;
    bool is_started = handoff->application == APPLICATION_STARTED;
    if (!is_agent(step)) {
        return HANDOFF_NOT_YOURS;
    }
    if (!is_started && handoff->application != APPLICATION_LEASED) {
        return is_consumer(step) ? HANDOFF_LEASE_ENDED : HANDOFF_NO_APPLICATION;
    }
    if (!is_consumer(step)) {
        return HANDOFF_NOT_YOURS;
    }
    if (!is_as_approved(step)) {
        if (!is_started) {
            fail(step);
        }
        return HANDOFF_INTEGRITY;
    }
    if (is_started) {
        return renew(step);
    }
    handoff->application = APPLICATION_STARTED;
    handoff->lease_until_ns = step->now_ns + step->rules->lease_ns;
    step_note(handoff, step->facts, FACT_STARTED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_finish(struct step *step)
{
    struct handoff *handoff = step->handoff;
    const char *result = step->command->text_digest;
    if (!is_agent(step) || (handoff->consumer[0] != '\0' && !is_consumer(step))) {
        return HANDOFF_NOT_YOURS;
    }
    if (handoff->application == APPLICATION_APPLIED) {
        return strcmp(handoff->result_digest, result) == 0 ? HANDOFF_REPEATED : HANDOFF_DECIDED;
    }
    /* A late result ends the doubt. */
    if (handoff->application != APPLICATION_STARTED &&
        handoff->application != APPLICATION_IN_DOUBT) {
        return HANDOFF_NO_APPLICATION;
    }
    handoff->application = APPLICATION_APPLIED;
    handoff->lease_until_ns = 0;
    step_copy(handoff->result_digest, sizeof(handoff->result_digest), result);
    step_note(handoff, step->facts, FACT_APPLIED);
    return HANDOFF_DONE;
}

enum handoff_outcome step_return(struct step *step)
{
    struct handoff *handoff = step->handoff;
    if (!is_agent(step) || (handoff->consumer[0] != '\0' && !is_consumer(step))) {
        return HANDOFF_NOT_YOURS;
    }
    if (handoff->application != APPLICATION_LEASED) {
        return HANDOFF_NO_APPLICATION;
    }
    if (!step->command->is_transient || handoff->deliveries >= step->rules->most_deliveries) {
        return fail(step);
    }
    handoff->application = APPLICATION_AVAILABLE;
    handoff->consumer[0] = '\0';
    handoff->lease_until_ns = 0;
    step_note(handoff, step->facts, FACT_RETURNED);
    return HANDOFF_DONE;
}
