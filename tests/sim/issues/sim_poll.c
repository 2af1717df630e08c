// SPDX-License-Identifier: Apache-2.0
/* How a worker finds work: free issues, claims whose owner is gone, labels without a claim. */
#include "sim_issues.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum issue_verdict judge(const struct sim *sim, const struct sim_issue *issue)
{
    static const char *const wanted[] = {"code", NULL};
    static const struct issue_filter filter = {
        .labels = wanted, .prefix = "rondo:", .login = "bot", .least_trust = FORGE_MEMBER};
    char names[ITEM_STATE_COUNT][40];
    char *labels[ITEM_STATE_COUNT + 2];
    char *assignees[] = {issue->is_away ? "ann" : NULL, NULL};
    size_t count = 0;
    if (issue->is_labelled) {
        labels[count++] = "code";
    }
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        if ((issue->labels & sim_label(i)) != 0) {
            snprintf(names[i], sizeof(names[i]), "rondo:%s", item_state_name(i));
            labels[count++] = names[i];
        }
    }
    labels[count] = NULL;
    const struct forge_issue read = {.number = issue->number,
                                     .is_open = issue->is_open,
                                     .labels = labels,
                                     .assignees = assignees,
                                     .author_trust = FORGE_MEMBER};
    return issue_judge(&filter, &read, sim->now_ns);
}

static bool has_room(const struct sim_worker *worker)
{
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        const struct sim_slot *slot = &worker->slots[i];
        if (slot->is_loaded &&
            (slot->item.state == ITEM_ASSIGNED || slot->item.state == ITEM_IN_PROGRESS)) {
            return false;
        }
    }
    return true;
}

static bool is_seen_for(const struct sim *sim, const struct sim_slot *slot, int64_t ns)
{
    return sim->now_ns - slot->seen_ns > ns;
}

/** Note what is there, and since when it has been so. */
static void look(const struct sim *sim, struct sim_slot *slot, struct sim_issue *issue)
{
    bool has_open = sim_open_pull(issue) != NULL;
    const char *id = issue->claim == NULL ? "" : issue->claim_id;
    if (strcmp(slot->seen_id, id) != 0 || slot->seen_labels != issue->labels ||
        slot->has_seen_open != has_open || slot->seen_ns == 0) {
        slot->has_seen_open = has_open;
        snprintf(slot->seen_id, sizeof(slot->seen_id), "%s", id);
        slot->seen_labels = issue->labels;
        slot->seen_ns = sim->now_ns;
    }
}

/** An item for the issue in this state; the caller says what is different. */
static struct item *begin(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue,
                          enum item_state state)
{
    struct sim_slot *slot = sim_slot_of(sim, worker, issue);
    char nonce[ID_SIZE];
    if (!slot->is_loaded) {
        slot->item = (struct item){.key = item_key("sim/o/r", issue->number),
                                   .repository = memory_dup_string("sim/o/r"),
                                   .number = issue->number,
                                   .mirrored = ITEM_STATE_COUNT};
        slot->is_loaded = true;
    }
    sim_new_nonce(sim, nonce);
    item_begin_anew(&slot->item, nonce, sim->now_ns);
    slot->item.state = state;
    snprintf(slot->item.owner, sizeof(slot->item.owner), "w%u.%u", worker->number,
             worker->generation);
    free(slot->item.content_digest);
    char digest[32];
    snprintf(digest, sizeof(digest), "%d", issue->content);
    slot->item.content_digest = memory_dup_string(digest);
    slot->item.read_comment_id = issue->command_id;
    slot->run = (struct sim_attempt){0};
    slot->is_ended = false;
    slot->kills = 0;
    slot->killed_step = ITEM_STEP_NONE;
    worker->is_changed = true;
    return &slot->item;
}

/** Take a claim over by its id: the item is durable before. */
static void take_over(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue,
                      const struct claim *former, enum item_state state)
{
    struct item *item = begin(sim, worker, issue, state);
    item->attempts = former->attempts + 1;
    item->pull = former->pull;
    item->reason = state == ITEM_CANCELLED ? ITEM_INTERRUPTED : ITEM_REASON_NONE;
    item->mirrored = state == ITEM_CANCELLED ? ITEM_ASSIGNED : item->mirrored;
    worker->doing = (struct sim_doing){
        .issue = issue, .action = {.act = ITEM_ACT_CLAIM}, .seen_ns = sim->now_ns};
    snprintf(worker->doing.expected_id, sizeof(worker->doing.expected_id), "%s", issue->claim_id);
    sim->seen->takeovers++;
    sim_say(sim, "w%u #%" PRId64 " takes over as %s", worker->number, issue->number,
            item_state_name(state));
}

/** A claim of others: is its owner gone? @return whether it is taken over */
static bool judge_claimed(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue,
                          const struct sim_slot *slot)
{
    struct claim claim = {0};
    if (claim_decode(issue->number, issue->claim, &claim, NULL) < 0) {
        sim_fail(sim, "a claim cannot be read");
    }
    const struct sim_pull *pull = sim_find_pull(issue, claim.pull);
    bool is_closed = claim.pull > 0 &&
                     (pull == NULL || pull->state == PULL_MERGED || pull->state == PULL_CLOSED);
    bool is_stale = claim_is_expired(&claim, sim->now_ns) ||
                    (is_closed && is_seen_for(sim, slot, CLAIM_ENDURES_NS));
    bool waits = (issue->labels & (sim_label(ITEM_BLOCKED) | sim_label(ITEM_NEEDS_HUMAN))) != 0;
    enum issue_verdict verdict = judge(sim, issue);
    bool is_wanted = verdict == ISSUE_ELIGIBLE || verdict == ISSUE_HAS_STATE;
    bool is_taken = false;
    /* Its worker may not have read yet that people want it after all. */
    bool is_asked = issue->command == ITEM_COMMAND_RETRY && issue->released_until_ns == 0;
    if (claim.released_until_ns > 0) {
        bool is_free = is_stale || (is_asked && is_wanted);
        if (is_free && is_wanted && !waits && has_room(worker)) {
            claim.attempts = -1; /* Nobody has died. */
            take_over(sim, worker, issue, &claim, ITEM_ASSIGNED);
            is_taken = true;
        } else if (is_stale) {
            sim_change_claim(sim, issue, issue->claim_id, NULL, 0);
        }
    } else if (is_stale && claim.pull > 0) {
        take_over(sim, worker, issue, &claim, ITEM_IN_REVIEW);
        is_taken = true;
    } else if (is_stale && waits) {
        sim_change_claim(sim, issue, issue->claim_id, NULL, 0);
    } else if (is_stale && is_wanted && has_room(worker)) {
        take_over(sim, worker, issue, &claim, ITEM_ASSIGNED);
        is_taken = true;
    } else if (is_stale && !is_wanted) {
        take_over(sim, worker, issue, &claim, ITEM_CANCELLED);
        is_taken = true;
    }
    claim_fini(&claim);
    return is_taken;
}

/** A label of a state without a claim: its owner is gone, or a person has put it there. */
static void sweep_label(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue,
                        const struct sim_slot *slot)
{
    unsigned waits = sim_label(ITEM_BLOCKED) | sim_label(ITEM_NEEDS_HUMAN) | sim_label(ITEM_DONE);
    bool is_retry = (issue->labels & sim_label(ITEM_RETRY_LATER)) != 0;
    const struct sim_pull *pull = sim_open_pull(issue);
    if ((issue->labels & ~waits) == 0 ||
        !is_seen_for(sim, slot, is_retry ? SIM_RETRY_NS : SIM_LABEL_NS)) {
        return;
    }
    bool is_review = (issue->labels & sim_label(ITEM_IN_REVIEW)) != 0 && pull != NULL;
    struct item *item = begin(sim, worker, issue, is_review ? ITEM_IN_REVIEW : ITEM_CANCELLED);
    if (is_review) {
        item->pull = pull->number;
    } else {
        item->is_released = true;
        item->reason = ITEM_INTERRUPTED;
        item->mirrored = ITEM_ASSIGNED; /* Something is there that must go. */
    }
    sim_save(sim, worker, sim_slot_of(sim, worker, issue));
    sim->seen->sweeps++;
    sim_say(sim, "w%u #%" PRId64 " sweeps labels", worker->number, issue->number);
}

/** @return whether the worker has something to do now */
static bool look_at(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue)
{
    struct sim_slot *slot = sim_slot_of(sim, worker, issue);
    look(sim, slot, issue);
    bool is_busy = slot->is_loaded && !(item_state_is_over(slot->item.state) && slot->is_ended);
    if (is_busy || issue->is_gone) {
        return false;
    }
    if (issue->claim != NULL) {
        return judge_claimed(sim, worker, issue, slot);
    }
    enum issue_verdict verdict = judge(sim, issue);
    if (verdict == ISSUE_ELIGIBLE && has_room(worker)) {
        begin(sim, worker, issue, ITEM_ASSIGNED);
        sim_save(sim, worker, slot);
        sim_say(sim, "w%u #%" PRId64 " is taken", worker->number, issue->number);
        return true;
    }
    if (verdict != ISSUE_ELIGIBLE) {
        sweep_label(sim, worker, issue, slot);
    }
    return false;
}

void sim_poll(struct sim *sim, struct sim_worker *worker)
{
    bool has_found = false;
    unsigned first = sim_below(sim, SIM_ISSUES);
    for (unsigned i = 0; i < SIM_ISSUES && !has_found; i++) {
        has_found = look_at(sim, worker, &sim->issues[(first + i) % SIM_ISSUES]);
    }
    worker->idle = has_found ? 0 : worker->idle + 1;
    worker->poll_ns =
        sim->now_ns + issue_poll_ns(worker->idle, 30 * NS_PER_S, 300 * NS_PER_S, 0, &sim->random);
}
