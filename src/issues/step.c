// SPDX-License-Identifier: Apache-2.0
/*
 * The state machine of a work item. One function a state says what is next; what holds for several
 * states comes before them. Nothing is done outside that the claim does not cover: an effect needs
 * CLAIM_OURS, as observed just before.
 */
#include "issues/step.h"

#include "issues/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of the wait for a retry, by chance: an outage must not end with everybody at once. */
#define JITTER_PERCENT 10

static struct item_action act(enum item_act act)
{
    return (struct item_action){.act = act};
}

static struct item_action wait_until(int64_t at_ns)
{
    return (struct item_action){.act = ITEM_ACT_WAIT, .at_ns = at_ns};
}

static struct item_action set(enum item_state state, enum item_reason reason)
{
    return (struct item_action){.act = ITEM_ACT_SET, .state = state, .reason = reason};
}

/* ---- What several states ask ---------------------------------------------------------------- */

static int64_t renewal_ns(const struct item *item)
{
    return item->renewed_ns + CLAIM_HEARTBEAT_NS;
}

/** A wait during which the claim is kept alive. */
static struct item_action wait_held(const struct item *item, int64_t at_ns)
{
    int64_t renew_ns = renewal_ns(item);
    return wait_until(renew_ns < at_ns ? renew_ns : at_ns);
}

static bool is_renewal_due(const struct item *item, const struct item_facts *facts)
{
    bool is_ahead =
        item->renewed_ns > facts->now_ns + CLAIM_HEARTBEAT_NS; /* a clock was set back */
    return facts->now_ns >= renewal_ns(item) || is_ahead || item->claimed_pull != item->pull;
}

static bool may_begin(const struct item_facts *facts)
{
    return facts->may_start && !facts->is_stopping;
}

static bool is_wanted(const struct item_facts *facts)
{
    return facts->issue == ISSUE_FACT_WANTED || facts->issue == ISSUE_FACT_RETRY;
}

/** Why a person's change of the issue ends the work on it; NONE = it does not. */
static enum item_reason find_cancel(enum issue_fact issue)
{
    switch (issue) {
    case ISSUE_FACT_GONE:
        return ITEM_ISSUE_GONE;
    case ISSUE_FACT_CLOSED:
        return ITEM_ISSUE_CLOSED;
    case ISSUE_FACT_UNLABELLED:
        return ITEM_UNLABELLED;
    case ISSUE_FACT_REASSIGNED:
        return ITEM_REASSIGNED;
    case ISSUE_FACT_EDITED:
        return ITEM_EDITED;
    case ISSUE_FACT_RELEASED:
        return ITEM_BY_PERSON;
    case ISSUE_FACT_UNKNOWN:
    case ISSUE_FACT_WANTED:
    case ISSUE_FACT_RETRY:
        return ITEM_REASON_NONE;
    }
    return ITEM_REASON_NONE;
}

static bool is_time_over(const struct item *item, const struct item_options *options)
{
    return item->active_ns >= options->max_active_ns;
}

/* ---- Work ----------------------------------------------------------------------------------- */

/** Begin a run, or continue it, if there are attempts and time left for it. */
static struct item_action next_start(const struct item *item, const struct item_facts *facts,
                                     const struct item_options *options)
{
    if (item->attempts >= options->max_attempts) {
        return set(ITEM_BLOCKED, ITEM_ATTEMPTS_SPENT);
    }
    if (is_time_over(item, options)) {
        return set(ITEM_BLOCKED, ITEM_TIME_OVER);
    }
    return may_begin(facts) && is_wanted(facts) ? act(ITEM_ACT_START) : wait_held(item, INT64_MAX);
}

static struct item_action next_assigned(const struct item *item, const struct item_facts *facts,
                                        const struct item_options *options)
{
    if (facts->claim == CLAIM_ABSENT && item->claim_id[0] != '\0') {
        return set(ITEM_FENCED, ITEM_REASON_NONE);
    }
    if (facts->claim == CLAIM_ABSENT) {
        return may_begin(facts) && is_wanted(facts) ? act(ITEM_ACT_CLAIM) : wait_until(INT64_MAX);
    }
    if (is_renewal_due(item, facts)) {
        return act(ITEM_ACT_RENEW);
    }
    if (!facts->is_mirror_right) {
        return facts->is_forge_open && is_wanted(facts) ? act(ITEM_ACT_MIRROR)
                                                        : wait_held(item, INT64_MAX);
    }
    return facts->run == RUN_FACT_NONE ? next_start(item, facts, options)
                                       : set(ITEM_IN_PROGRESS, ITEM_REASON_NONE);
}

/** Checks pass and there is a commit: branch, pull request, and a claim that names it. */
static struct item_action next_publish(const struct item *item, const struct item_facts *facts)
{
    if (!is_wanted(facts)) {
        return wait_held(item, INT64_MAX);
    }
    if (!item->is_pushed && !facts->is_remote_at_commit) {
        return act(ITEM_ACT_PUSH);
    }
    if (item->pull == 0) {
        return facts->is_forge_open ? act(ITEM_ACT_PULL) : wait_held(item, INT64_MAX);
    }
    return set(ITEM_IN_REVIEW, ITEM_REASON_NONE);
}

/** Nothing had to be changed: a person decides, unless it was a review that asked for more. */
static struct item_action next_no_change(const struct item *item)
{
    return item->pull > 0 ? set(ITEM_IN_REVIEW, ITEM_REASON_NONE)
                          : set(ITEM_NEEDS_HUMAN, ITEM_REASON_NONE);
}

static struct item_action next_active(const struct item *item, const struct item_facts *facts,
                                      const struct item_options *options)
{
    if (is_time_over(item, options)) {
        return set(ITEM_BLOCKED, ITEM_TIME_OVER);
    }
    return !facts->is_mirror_right && facts->is_forge_open && is_wanted(facts)
               ? act(ITEM_ACT_MIRROR)
               : wait_held(item, INT64_MAX);
}

static struct item_action next_in_progress(const struct item *item, const struct item_facts *facts,
                                           const struct item_options *options)
{
    if (facts->claim == CLAIM_ABSENT) {
        return set(ITEM_FENCED, ITEM_REASON_NONE);
    }
    if (is_renewal_due(item, facts)) {
        return act(ITEM_ACT_RENEW);
    }
    switch (facts->run) {
    case RUN_FACT_NONE:
    case RUN_FACT_IDLE:
        return next_start(item, facts, options);
    case RUN_FACT_ACTIVE:
        return next_active(item, facts, options);
    case RUN_FACT_DONE:
        return item->commit[0] != '\0' ? next_publish(item, facts) : next_no_change(item);
    case RUN_FACT_NO_CHANGE:
        return next_no_change(item);
    case RUN_FACT_TRANSIENT:
        return item->retries >= ITEM_MOST_RETRIES ? set(ITEM_BLOCKED, ITEM_MODEL_FAILED)
                                                  : set(ITEM_RETRY_LATER, ITEM_MODEL_FAILED);
    case RUN_FACT_FAILED:
        return set(ITEM_BLOCKED, ITEM_ATTEMPTS_SPENT);
    case RUN_FACT_TIME_OVER:
        return set(ITEM_BLOCKED, ITEM_TIME_OVER);
    case RUN_FACT_BUDGET_SPENT:
        return set(ITEM_BLOCKED, ITEM_BUDGET_SPENT);
    case RUN_FACT_DENIED:
        return set(ITEM_BLOCKED, ITEM_DENIED);
    case RUN_FACT_AUTH:
        return set(ITEM_BLOCKED, ITEM_AUTH);
    case RUN_FACT_CONFLICT:
        return set(ITEM_BLOCKED, ITEM_CONFLICT);
    case RUN_FACT_STOPPED:
        return set(ITEM_BLOCKED, ITEM_STOPPED);
    case RUN_FACT_UNREADABLE:
        break;
    }
    return wait_held(item, INT64_MAX);
}

static struct item_action next_retry_later(const struct item *item, const struct item_facts *facts,
                                           const struct item_options *options)
{
    /* A time that is further away was written by a clock that was wrong. */
    bool is_due =
        facts->now_ns >= item->next_ns || item->next_ns - facts->now_ns > options->retry_most_ns;
    if (facts->issue == ISSUE_FACT_RETRY && !is_due) {
        return set(ITEM_RETRY_LATER, ITEM_BY_PERSON);
    }
    if (facts->claim == CLAIM_ABSENT && !item->is_released) {
        return act(ITEM_ACT_RELEASE); /* It is gone already: only to be recorded. */
    }
    if (!item->is_released && is_renewal_due(item, facts)) {
        return act(ITEM_ACT_RENEW);
    }
    if (!item->is_released && !facts->is_mirror_right) {
        return facts->is_forge_open && is_wanted(facts) ? act(ITEM_ACT_MIRROR)
                                                        : wait_held(item, INT64_MAX);
    }
    bool is_kept = !options->releases_claim || item->pull > 0;
    if (!is_due && !item->is_released && !is_kept) {
        return act(ITEM_ACT_RELEASE);
    }
    if (!is_due || !may_begin(facts) || !is_wanted(facts)) {
        int64_t at_ns = is_due ? INT64_MAX : item->next_ns;
        return item->is_released ? wait_until(at_ns) : wait_held(item, at_ns);
    }
    return facts->claim == CLAIM_ABSENT ? act(ITEM_ACT_CLAIM)
                                        : set(ITEM_ASSIGNED, ITEM_REASON_NONE);
}

/* ---- Review --------------------------------------------------------------------------------- */

static bool is_follow_up_due(const struct item *item, const struct item_facts *facts,
                             const struct item_options *options)
{
    return facts->pull == PULL_WANTS_CHANGES && item->follow_ups < options->most_follow_ups &&
           may_begin(facts) && facts->issue != ISSUE_FACT_UNKNOWN &&
           facts->issue != ISSUE_FACT_CLOSED;
}

/** The claim has no lease here: it names the pull request, which keeps it. */
static struct item_action next_in_review(const struct item *item, const struct item_facts *facts,
                                         const struct item_options *options)
{
    if (facts->claim == CLAIM_ABSENT) { /* deleted, though the pull request is open: made again */
        return facts->is_stopping ? wait_until(INT64_MAX) : act(ITEM_ACT_CLAIM);
    }
    if (item->claimed_pull != item->pull) {
        return act(ITEM_ACT_RENEW);
    }
    if (!facts->is_mirror_right && facts->is_forge_open && facts->pull != PULL_UNKNOWN) {
        return act(ITEM_ACT_MIRROR);
    }
    return is_follow_up_due(item, facts, options) ? act(ITEM_ACT_FOLLOW_UP) : wait_until(INT64_MAX);
}

/** What became of the pull request; false = nothing. Needs no claim: only the item changes. */
static bool judge_pull(const struct item *item, enum pull_fact pull, struct item_action *ret_action)
{
    bool is_review = item->state == ITEM_IN_REVIEW;
    bool is_open = !item_state_is_over(item->state);
    if (item->pull == 0 || (!is_open && (item->state != ITEM_BLOCKED || item->is_released))) {
        return false;
    }
    if (pull == PULL_MERGED) {
        *ret_action = set(ITEM_DONE, ITEM_REASON_NONE);
        return true;
    }
    if (is_open && (pull == PULL_CLOSED || (pull == PULL_NONE && is_review))) {
        *ret_action = set(ITEM_BLOCKED, ITEM_CLOSED_UNMERGED);
        return true;
    }
    return false;
}

/* ---- Over ----------------------------------------------------------------------------------- */

static bool is_pull_open(const struct item *item, const struct item_facts *facts)
{
    return item->pull > 0 && facts->pull != PULL_CLOSED && facts->pull != PULL_MERGED &&
           facts->pull != PULL_NONE;
}

static bool is_gone(const struct item *item, const struct item_facts *facts)
{
    return item->reason == ITEM_ISSUE_GONE || facts->issue == ISSUE_FACT_GONE;
}

/** The claim was given back. Labels that must go all the same need it once more: without it
 *  another worker's could be taken off. */
static struct item_action next_released(const struct item *item, const struct item_facts *facts)
{
    bool has_labels = item->state == ITEM_CANCELLED && item->mirrored != ITEM_CANCELLED &&
                      item->mirrored != ITEM_STATE_COUNT && !is_gone(item, facts);
    if (!has_labels || facts->claim == CLAIM_FOREIGN) {
        return act(ITEM_ACT_END);
    }
    return facts->claim == CLAIM_ABSENT && !facts->is_stopping ? act(ITEM_ACT_CLAIM)
                                                               : wait_until(INT64_MAX);
}

/** Tell people, then give the claim back, unless an open pull request keeps it. */
static struct item_action next_over(const struct item *item, const struct item_facts *facts)
{
    if (item->is_released && item->crashes >= 2) {
        return act(ITEM_ACT_END);
    }
    if (item->is_released && facts->claim != CLAIM_OURS) {
        return next_released(item, facts);
    }
    if (facts->claim == CLAIM_UNKNOWN) {
        return wait_until(INT64_MAX);
    }
    if (facts->claim == CLAIM_ABSENT) {
        return act(ITEM_ACT_RELEASE); /* It is gone already: only to be recorded. */
    }
    if (!facts->is_mirror_right && !is_gone(item, facts)) {
        if (is_renewal_due(item, facts)) {
            return act(ITEM_ACT_RENEW);
        }
        return facts->is_forge_open ? act(ITEM_ACT_MIRROR) : wait_held(item, INT64_MAX);
    }
    if (item->state == ITEM_BLOCKED && is_pull_open(item, facts)) {
        return item->claimed_pull != item->pull ? act(ITEM_ACT_RENEW) : wait_until(INT64_MAX);
    }
    return act(ITEM_ACT_RELEASE);
}

static struct item_action next_done(const struct item *item, const struct item_facts *facts)
{
    if (item->is_released) {
        return act(ITEM_ACT_END);
    }
    if (facts->claim == CLAIM_UNKNOWN || !facts->is_forge_open) {
        return wait_until(INT64_MAX);
    }
    /* The pull request keeps the claim no longer: one that does not move is swept up by others. */
    if (facts->claim == CLAIM_OURS && is_renewal_due(item, facts)) {
        return act(ITEM_ACT_RENEW);
    }
    bool is_told = facts->is_mirror_right || is_gone(item, facts) || facts->claim == CLAIM_ABSENT;
    return act(is_told ? ITEM_ACT_CLEAN : ITEM_ACT_MIRROR);
}

/* ---- The machine ---------------------------------------------------------------------------- */

/** What somebody else's claim and people's changes come to, whatever else is true. */
static bool judge_others(const struct item *item, const struct item_facts *facts,
                         struct item_action *ret_action)
{
    bool is_over = item_state_is_over(item->state);
    enum item_reason cancel = find_cancel(facts->issue);
    bool is_review = item->state == ITEM_IN_REVIEW;
    bool is_final = cancel == ITEM_ISSUE_GONE || cancel == ITEM_BY_PERSON;
    if (facts->claim == CLAIM_FOREIGN && item->state != ITEM_FENCED &&
        !(is_over && item->is_released)) {
        *ret_action = set(ITEM_FENCED, ITEM_REASON_NONE);
        return true;
    }
    if (cancel != ITEM_REASON_NONE && !is_over && (!is_review || is_final)) {
        *ret_action = set(ITEM_CANCELLED, cancel);
        ret_action->at_ns = cancel == ITEM_BY_PERSON ? facts->now_ns + CLAIM_RELEASED_NS : 0;
        return true;
    }
    bool is_kept_free = item->state == ITEM_CANCELLED && item->released_until_ns > 0;
    if (is_kept_free && !item->is_released && facts->issue == ISSUE_FACT_RETRY) {
        *ret_action =
            set(ITEM_CANCELLED, ITEM_BY_PERSON); /* The person has thought better of it. */
        return true;
    }
    bool waits_for_person = item->state == ITEM_BLOCKED || item->state == ITEM_NEEDS_HUMAN;
    if (waits_for_person && facts->issue == ISSUE_FACT_RETRY) {
        *ret_action = set(ITEM_CANCELLED, ITEM_BY_PERSON); /* Anybody may claim it again. */
        return true;
    }
    return false;
}

struct item_action item_next(const struct item *item, const struct item_facts *facts,
                             const struct item_options *options)
{
    struct item_action action;
    if (judge_pull(item, facts->pull, &action) || judge_others(item, facts, &action)) {
        return action;
    }
    if (item_state_is_over(item->state) && facts->run == RUN_FACT_ACTIVE) {
        return act(ITEM_ACT_STOP);
    }
    if (facts->claim == CLAIM_UNKNOWN && !item_state_is_over(item->state)) {
        bool is_later = item->state == ITEM_RETRY_LATER && item->next_ns > facts->now_ns;
        return wait_until(is_later ? item->next_ns : INT64_MAX);
    }
    switch (item->state) {
    case ITEM_ASSIGNED:
        return next_assigned(item, facts, options);
    case ITEM_IN_PROGRESS:
        return next_in_progress(item, facts, options);
    case ITEM_IN_REVIEW:
        return next_in_review(item, facts, options);
    case ITEM_RETRY_LATER:
        return next_retry_later(item, facts, options);
    case ITEM_BLOCKED:
    case ITEM_NEEDS_HUMAN:
    case ITEM_CANCELLED:
        return next_over(item, facts);
    case ITEM_DONE:
        return next_done(item, facts);
    case ITEM_FENCED:
    case ITEM_STATE_COUNT:
        return act(ITEM_ACT_END);
    }
    return act(ITEM_ACT_END);
}

/* ---- Changes of the item -------------------------------------------------------------------- */

static int64_t retry_ns(const struct item *item, const struct item_options *options,
                        struct random *random)
{
    int64_t ns = options->retry_base_ns;
    for (int64_t i = 0; i < item->retries && ns < options->retry_most_ns; i++) {
        ns *= 2;
    }
    ns = ns < options->retry_most_ns ? ns : options->retry_most_ns;
    int64_t jitter = ns / 100 * JITTER_PERCENT;
    return ns - (jitter > 0 ? (int64_t)random_below(random, (uint64_t)jitter) : 0);
}

static void forget_run(struct item *item)
{
    item->run_id[0] = '\0';
    item->commit[0] = '\0';
    item->is_pushed = false;
}

static void forget_crashes(struct item *item)
{
    item->crashed_step = ITEM_STEP_NONE;
    item->crashes = 0;
}

static void set_retry(struct item *item, enum item_reason reason,
                      const struct item_options *options, struct random *random, int64_t now_ns)
{
    if (reason == ITEM_BY_PERSON) {
        item->next_ns = now_ns;
        item->retries = 0;
        item->attempts = 0;
    } else {
        item->next_ns = now_ns + retry_ns(item, options, random);
        item->retries++;
    }
}

void item_set(struct item *item, const struct item_action *action,
              const struct item_options *options, struct random *random, int64_t now_ns)
{
    bool was_at_work = item->state == ITEM_IN_PROGRESS;
    item->state = action->state;
    item->reason = action->reason;
    item->released_until_ns = action->state == ITEM_CANCELLED ? action->at_ns : 0;
    free(item->message);
    item->message = NULL;
    if (was_at_work && item->crashed_step == ITEM_STEP_START) {
        forget_crashes(item);
    }
    if (action->state == ITEM_RETRY_LATER) {
        set_retry(item, action->reason, options, random, now_ns);
    }
    if (action->state == ITEM_ASSIGNED && item->commit[0] == '\0') {
        forget_run(item); /* What failed is not continued; what only has to be published is. */
    }
    if (action->state == ITEM_ASSIGNED) {
        item->is_released = false;
    }
    if (action->state == ITEM_IN_REVIEW) {
        item->retries = 0;
    }
    item_note(item, now_ns, "%s%s%s", item_state_name(item->state),
              item->reason == ITEM_REASON_NONE ? "" : ": ",
              item->reason == ITEM_REASON_NONE ? "" : item_reason_name(item->reason));
}

static void forget_counters(struct item *item)
{
    item->attempts = 0;
    item->retries = 0;
    item->active_ns = 0;
    item->next_ns = 0;
    forget_crashes(item);
    forget_run(item);
    free(item->message);
    item->message = NULL;
    item->reason = ITEM_REASON_NONE;
}

void item_begin_anew(struct item *item, const char *nonce, int64_t now_ns)
{
    forget_counters(item);
    item->state = ITEM_ASSIGNED;
    item->step = ITEM_STEP_NONE;
    snprintf(item->nonce, sizeof(item->nonce), "%s", nonce);
    item->claim_id[0] = '\0';
    item->renewed_ns = 0;
    item->claimed_pull = 0;
    item->pull = 0;
    free(item->pull_url);
    item->pull_url = NULL;
    item->claimed_ns = now_ns;
    item->is_released = false;
    item->released_until_ns = 0;
    item->follow_ups = 0;
    item_note(item, now_ns, item->note_count > 0 ? "claimed anew" : "claimed");
}

void item_begin_follow_up(struct item *item, int64_t review_ns, int64_t now_ns)
{
    forget_counters(item);
    item->state = ITEM_IN_PROGRESS;
    item->review_ns = review_ns;
    item->follow_ups++;
    item_note(item, now_ns, "following up a review");
}

/* ---- Crashes -------------------------------------------------------------------------------- */

/** What the dead process was doing. A run counts as one long step until there is a commit. */
static enum item_step find_crash(const struct item *item)
{
    bool is_running =
        item->state == ITEM_IN_PROGRESS && item->run_id[0] != '\0' && item->commit[0] == '\0';
    return item->step != ITEM_STEP_NONE ? item->step
           : is_running                 ? ITEM_STEP_START
                                        : ITEM_STEP_NONE;
}

static void block_crashed(struct item *item, enum item_step step, int64_t now_ns)
{
    if (item_state_is_over(item->state)) {
        item->is_released = true; /* The claim ends by itself, or with the next start-up sweep. */
    } else {
        item->state = ITEM_BLOCKED;
        item->reason = ITEM_CRASHED_TWICE;
        free(item->message);
        item->message = NULL;
    }
    item_note(item, now_ns, "the process died twice at the step %s", item_step_name(step));
}

void item_adopt(struct item *item, const char *owner, int64_t now_ns)
{
    bool has_died = item->owner[0] != '\0' && strcmp(item->owner, owner) != 0;
    enum item_step step = has_died ? find_crash(item) : ITEM_STEP_NONE;
    snprintf(item->owner, sizeof(item->owner), "%s", owner);
    item->step = ITEM_STEP_NONE;
    if (step == ITEM_STEP_NONE) {
        return;
    }
    item->crashes = step == item->crashed_step ? item->crashes + 1 : 1;
    item->crashed_step = step;
    if (item->crashes >= 2) {
        block_crashed(item, step, now_ns);
    }
}

void item_begin_step(struct item *item, enum item_step step)
{
    if (step == ITEM_STEP_NONE && item->step == item->crashed_step &&
        item->step != ITEM_STEP_START) {
        forget_crashes(item);
    }
    item->step = step;
}
