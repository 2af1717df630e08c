// SPDX-License-Identifier: Apache-2.0
/* What is true of an item now. Nothing is changed here, neither outside nor in the item. */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The claim ------------------------------------------------------------------------------ */

static bool is_proven(const struct issue_queue *queue, const struct queue_slot *slot)
{
    return slot->claim == CLAIM_OURS && slot->proven_ns != 0 &&
           clock_monotonic(queue->options.clock) - slot->proven_ns < QUEUE_PROOF_NS;
}

bool queue_prove(struct issue_queue *queue, struct queue_slot *slot)
{
    for (int i = 0; i < QUEUE_PROOFS && !is_proven(queue, slot); i++) {
        queue->medium->ask(queue, slot);
        if (slot->claim != CLAIM_OURS) {
            return false;
        }
    }
    return is_proven(queue, slot);
}

/** Whether the comment must be read again: people may have deleted it. */
static bool is_watch_due(const struct issue_queue *queue, const struct queue_slot *slot)
{
    int64_t age_ns = clock_monotonic(queue->options.clock) - slot->proven_ns;
    bool is_slow = slot->item.state == ITEM_IN_REVIEW && queue->options.poll_ns < QUEUE_PULL_NS;
    return queue->medium->is_comment && !item_state_is_over(slot->item.state) &&
           age_ns >= (is_slow ? QUEUE_PULL_NS : queue->options.poll_ns);
}

/** It is asked once, unless people can change it; what is done with it asks again. */
static enum claim_fact see_claim(struct issue_queue *queue, struct queue_slot *slot)
{
    bool is_asked = slot->claim != CLAIM_UNKNOWN && slot->proven_ns != 0;
    if (slot->item.nonce[0] == '\0' || (slot->item.is_released && slot->item.claim_id[0] == '\0')) {
        return slot->claim == CLAIM_FOREIGN ? CLAIM_FOREIGN : CLAIM_ABSENT;
    }
    if (queue->medium == NULL) {
        return CLAIM_UNKNOWN;
    }
    if (!is_asked || is_watch_due(queue, slot)) {
        slot->proven_ns = 0;
        queue_prove(queue, slot);
    }
    if (queue->medium->is_comment && slot->claim == CLAIM_ABSENT &&
        slot->item.claim_id[0] != '\0' && !item_state_is_over(slot->item.state)) {
        slot->is_asked_released = true; /* A person has deleted it, or taken the claim out. */
    }
    return slot->claim;
}

/* ---- The issue ------------------------------------------------------------------------------ */

const struct forge_issue *queue_find_listed(const struct issue_queue *queue, int64_t number)
{
    for (size_t i = 0; i < queue->issues.count; i++) {
        if (queue->issues.items[i].number == number) {
            return &queue->issues.items[i];
        }
    }
    return NULL;
}

/** Whether the list is newer than our last change of the labels, which showed this state. */
static bool is_label_told(const struct issue_queue *queue, const struct queue_slot *slot)
{
    return queue_may_label(queue) && slot->item.mirrored == slot->item.state &&
           slot->told_at_list < queue->lists;
}

/** A person has removed the label of the state, which we had added. */
static bool is_label_off(const struct issue_queue *queue, const struct queue_slot *slot,
                         const struct forge_issue *issue)
{
    auto_buf struct buf label = {0};
    if (!is_label_told(queue, slot)) {
        return false;
    }
    buf_printf(&label, "%s%s", queue->options.filter.prefix, item_state_name(slot->item.state));
    return !issue_has_label(issue, buf_string(&label));
}

/** Somebody has removed the label of the state, or added that of another one: it is repaired. */
static bool is_label_wrong(const struct issue_queue *queue, const struct queue_slot *slot)
{
    const struct forge_issue *issue = queue_find_listed(queue, slot->item.number);
    enum item_state state;
    size_t place = 0;
    if (issue == NULL || !is_label_told(queue, slot) || item_state_is_over(slot->item.state)) {
        return false;
    }
    while (issue_state_of(issue, queue->options.filter.prefix, &place, &state)) {
        if (state != slot->item.state) {
            return true;
        }
    }
    return is_label_off(queue, slot, issue);
}

static enum issue_fact judge(struct issue_queue *queue, struct queue_slot *slot,
                             const struct forge_issue *issue)
{
    char digest[DIGEST_HEX_SIZE];
    item_digest(issue, digest);
    bool is_waiting_for_person =
        slot->item.state == ITEM_BLOCKED || slot->item.state == ITEM_NEEDS_HUMAN;
    if (!issue->is_open) {
        return ISSUE_FACT_CLOSED;
    }
    if (!issue_has_labels(&queue->options.filter, issue) && queue->options.number == 0) {
        return ISSUE_FACT_UNLABELLED;
    }
    if (is_waiting_for_person) {
        return is_label_off(queue, slot, issue) ? ISSUE_FACT_RETRY : ISSUE_FACT_WANTED;
    }
    if (issue_is_others(&queue->options.filter, issue)) {
        return ISSUE_FACT_REASSIGNED;
    }
    bool is_edited =
        slot->item.content_digest != NULL && strcmp(digest, slot->item.content_digest) != 0;
    return is_edited ? ISSUE_FACT_EDITED : ISSUE_FACT_WANTED;
}

/** The list has open issues with our labels only: of another one it is asked why. */
static enum issue_fact see_issue(struct issue_queue *queue, struct queue_slot *slot)
{
    const struct forge_issue *listed = queue_find_listed(queue, slot->item.number);
    struct item_request request;
    if (item_request_read(queue->options.store, slot->item.key, &request, NULL) == 1) {
        slot->is_asked_released = request.kind == ITEM_REQUEST_RELEASE;
        slot->is_asked_retry = request.kind == ITEM_REQUEST_RETRY;
        slot->request_version = request.version;
    }
    if (listed != NULL) {
        enum item_command command = queue_hear(queue, listed, false, &slot->item.read_comment_id);
        slot->is_asked_released = slot->is_asked_released || command == ITEM_COMMAND_RELEASE;
        slot->is_asked_retry = slot->is_asked_retry || command == ITEM_COMMAND_RETRY;
    }
    if (slot->is_asked_released) {
        return ISSUE_FACT_RELEASED;
    }
    if (slot->is_asked_retry) {
        return ISSUE_FACT_RETRY;
    }
    if (listed != NULL) {
        return judge(queue, slot, listed);
    }
    if (!queue->has_issues || slot->asked_at_poll == queue->polls) {
        return slot->facts.issue;
    }
    struct forge_issue issue = {0};
    enum forge_end end = forge_read_issue(queue->forge, slot->item.number, &issue);
    slot->asked_at_poll = queue->polls;
    queue_forge_ended(queue, end);
    enum issue_fact fact = end == FORGE_OK ? judge(queue, slot, &issue)
                           : end == FORGE_ABSENT || end == FORGE_GONE || end == FORGE_MOVED
                               ? ISSUE_FACT_GONE
                               : ISSUE_FACT_UNKNOWN;
    forge_issue_fini(&issue);
    return fact;
}

/* ---- The pull request ----------------------------------------------------------------------- */

/** Whether people, or checks that failed, ask for changes since they were last followed up. */
static bool wants_changes(struct issue_queue *queue, const struct item *item,
                          const struct forge_pull *pull)
{
    struct forge_comments comments = {0};
    enum forge_checks checks = FORGE_CHECKS_NONE;
    auto_free char *failed = NULL;
    bool is_asked = false;
    if (item->follow_ups >= queue->options.item.most_follow_ups) {
        return false;
    }
    enum forge_end end =
        forge_read_reviews(queue->forge, pull->number, item->review_ns, &comments, &is_asked);
    bool is_read = queue_forge_ended(queue, end);
    forge_comments_fini(&comments);
    if (is_read && !is_asked && pull->head_id != NULL && strcmp(pull->head_id, item->commit) == 0) {
        end = forge_read_checks(queue->forge, pull->head_id, &checks, &failed);
        queue_forge_ended(queue, end);
    }
    return is_read && (is_asked || checks == FORGE_CHECKS_FAILED);
}

static enum pull_fact judge_pull(struct issue_queue *queue, const struct item *item,
                                 const struct forge_pull *pull)
{
    switch (pull->state) {
    case FORGE_PULL_MERGED:
        return PULL_MERGED;
    case FORGE_PULL_CLOSED:
        return PULL_CLOSED;
    case FORGE_PULL_OPEN:
        break;
    }
    return wants_changes(queue, item, pull) ? PULL_WANTS_CHANGES : PULL_OPEN;
}

/** Reviews and checks of one that has not changed may be new all the same. */
static enum pull_fact judge_known(struct issue_queue *queue, const struct queue_slot *slot)
{
    auto_free char *head_id = memory_dup_string(slot->pull_head);
    const struct forge_pull known = {
        .number = slot->item.pull, .state = FORGE_PULL_OPEN, .head_id = head_id};
    bool is_open = slot->pull == PULL_OPEN || slot->pull == PULL_WANTS_CHANGES;
    return is_open ? judge_pull(queue, &slot->item, &known) : slot->pull;
}

static enum pull_fact read_pull(struct issue_queue *queue, struct queue_slot *slot)
{
    struct forge_pull pull = {0};
    if (slot->pull_read != slot->item.pull) { /* What is known is of another one. */
        slot->pull_read = slot->item.pull;
        slot->pull_etag[0] = '\0';
    }
    enum forge_end end = forge_reread_pull(queue->forge, slot->item.pull, slot->pull_etag, &pull);
    if (queue_forge_ended(queue, end)) {
        snprintf(slot->pull_head, sizeof(slot->pull_head), "%s",
                 pull.head_id == NULL ? "" : pull.head_id);
        slot->pull = judge_pull(queue, &slot->item, &pull);
    } else if (end == FORGE_NOT_MODIFIED) {
        slot->pull = judge_known(queue, slot);
    } else if (end == FORGE_ABSENT) {
        slot->pull = PULL_NONE;
        slot->pull_etag[0] = '\0';
    }
    forge_pull_fini(&pull);
    return slot->pull;
}

static enum pull_fact see_pull(struct issue_queue *queue, struct queue_slot *slot)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    int64_t gap_ns =
        queue->options.poll_ns < QUEUE_PULL_NS ? queue->options.poll_ns : QUEUE_PULL_NS;
    gap_ns *= 1 + (int64_t)queue->count / QUEUE_PULL_SHARE;
    if (slot->item.pull == 0) {
        return PULL_UNKNOWN;
    }
    if (slot->pull_seen_ns != 0 && now_ns - slot->pull_seen_ns < gap_ns) {
        return slot->pull;
    }
    slot->pull_seen_ns = now_ns;
    return read_pull(queue, slot);
}

void queue_see(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item_facts *facts = &slot->facts;
    facts->now_ns = forge_now(queue->forge);
    facts->claim = see_claim(queue, slot);
    facts->issue = see_issue(queue, slot);
    queue_run_see(queue, slot);
    facts->run = slot->outcome.fact;
    facts->pull = see_pull(queue, slot);
    facts->is_remote_at_commit = slot->item.is_pushed;
    facts->is_stopping = queue_is_stopping(queue);
    facts->is_forge_open =
        issue_circuit_lets(&queue->forge_circuit, clock_monotonic(queue->options.clock));
    bool has_place = queue_hold(queue, slot);
    facts->may_start =
        has_place &&
        issue_circuit_lets(&queue->model_circuit, clock_monotonic(queue->options.clock)) &&
        !queue_is_day_spent(queue);
    facts->is_mirror_right = queue_is_told(queue, slot) && !is_label_wrong(queue, slot);
}
