// SPDX-License-Identifier: Apache-2.0
/*
 * Claims that are references of the git remote (git/claims/claims.h): they move by compare and
 * swap, a branch of the same repository together with them.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void name_claim(int64_t number, char ret_name[32])
{
    snprintf(ret_name, 32, "%" PRId64, number);
}

void queue_former_fini(struct queue_former *former)
{
    claim_fini(&former->claim);
    former->id[0] = '\0';
}

/* ---- Changing ------------------------------------------------------------------------------- */

static void note_change(struct issue_queue *queue, struct queue_slot *slot,
                        const struct queue_claim_change *change, const char *id)
{
    snprintf(slot->item.claim_id, sizeof(slot->item.claim_id), "%s", id);
    slot->item.renewed_ns = forge_now(queue->forge);
    slot->item.claimed_pull = change->claim == NULL ? 0 : slot->item.pull;
    slot->proven_ns = clock_monotonic(queue->options.clock);
    slot->claim = change->claim == NULL ? CLAIM_ABSENT : CLAIM_OURS;
}

static enum git_claim_end change(struct issue_queue *queue, struct queue_slot *slot,
                                 const struct queue_claim_change *change, char **ret_reason)
{
    struct git_claim_result result = {0};
    struct rondo_error err = {0};
    auto_buf struct buf text = {0};
    char name[32];
    struct git_claim_change push = {.name = name, .old_id = change->old_id};
    if (!queue_git_lets(queue)) {
        if (ret_reason != NULL) {
            *ret_reason = memory_dup_string("the git remote did not answer a moment ago");
        }
        return GIT_CLAIM_NETWORK;
    }
    name_claim(slot->item.number, name);
    if (change->claim != NULL) {
        claim_encode(change->claim, &text);
        push.text = buf_string(&text);
    }
    if (change->has_branch) {
        push.branch = slot->item.branch;
        push.commit = slot->item.commit;
    }
    int r = git_claim_change(&queue->git, &queue->options.access, &push, &result, &err);
    enum git_claim_end end = r < 0 ? GIT_CLAIM_NETWORK : result.end;
    queue_git_ended(queue, end == GIT_CLAIM_NETWORK ? end : GIT_CLAIM_DONE,
                    r < 0 ? err.message : result.reason);
    if (ret_reason != NULL) {
        *ret_reason = memory_dup_string(r < 0 ? err.message : result.reason);
    }
    if (end == GIT_CLAIM_DONE) {
        note_change(queue, slot, change, result.id);
    }
    git_claim_result_fini(&result);
    return end;
}

/* ---- Asking --------------------------------------------------------------------------------- */

/** Whose the claim at the remote is. A renewal of ours whose answer was lost is ours, too. */
static enum claim_fact judge_owner(struct item *item, const struct git_claims *claims)
{
    struct claim claim = {0};
    if (claims->count == 0) {
        return CLAIM_ABSENT;
    }
    bool is_ours = item->claim_id[0] != '\0' && strcmp(claims->items[0].id, item->claim_id) == 0;
    if (!is_ours && claims->items[0].text != NULL &&
        claim_decode(item->number, claims->items[0].text, &claim, NULL) == 0 &&
        strcmp(claim.nonce, item->nonce) == 0) {
        is_ours = true;
        snprintf(item->claim_id, sizeof(item->claim_id), "%s", claims->items[0].id);
        item->claimed_pull = claim.pull;
    }
    claim_fini(&claim);
    return is_ours ? CLAIM_OURS : CLAIM_FOREIGN;
}

bool queue_read_claims(struct issue_queue *queue, const char *name, struct git_claims *ret_claims)
{
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    struct rondo_error err = {0};
    if (!queue_git_lets(queue)) {
        return false;
    }
    int r = git_claims_read(&queue->git, &queue->options.access, name, ret_claims, &end, &err);
    queue_git_ended(queue, r == 0 ? end : GIT_CLAIM_NETWORK, err.message);
    if (r < 0 || end != GIT_CLAIM_DONE) {
        git_claims_fini(ret_claims);
        return false;
    }
    return true;
}

static void ask(struct issue_queue *queue, struct queue_slot *slot)
{
    int64_t begin_ns = clock_monotonic(queue->options.clock);
    struct git_claims claims = {0};
    char name[32];
    name_claim(slot->item.number, name);
    bool is_read = queue_read_claims(queue, name, &claims);
    slot->claim = is_read ? judge_owner(&slot->item, &claims) : CLAIM_UNKNOWN;
    slot->proven_ns = is_read ? begin_ns : 0;
    git_claims_fini(&claims);
}

/* ---- Those of others ------------------------------------------------------------------------ */

bool queue_read_references(struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    struct git_claims claims = {0};
    if (queue->claims_ns != 0 && now_ns - queue->claims_ns < QUEUE_CLAIMS_NS) {
        return true;
    }
    if (!queue_read_claims(queue, NULL, &claims)) {
        return false;
    }
    git_claims_fini(&queue->claims);
    queue->claims = claims;
    queue->claims_ns = now_ns;
    return true;
}

static const struct git_claim *find_claim(const struct issue_queue *queue, int64_t number)
{
    char name[32];
    name_claim(number, name);
    for (size_t i = 0; i < queue->claims.count; i++) {
        if (strcmp(queue->claims.items[i].name, name) == 0) {
            return &queue->claims.items[i];
        }
    }
    return NULL;
}

/** Whether a claim that a pull request keeps has none any more: its worker is gone. It would have
 *  given the claim back. */
static bool is_left_over(struct issue_queue *queue, const struct claim *claim)
{
    struct forge_pull pull = {0};
    if (claim->pull == 0 || !claim_lease_is_over(claim, forge_now(queue->forge))) {
        return false;
    }
    enum forge_end end = forge_read_pull(queue->forge, claim->pull, &pull);
    queue_forge_ended(queue, end);
    bool is_open = end == FORGE_OK && pull.state == FORGE_PULL_OPEN;
    forge_pull_fini(&pull);
    return (end == FORGE_OK && !is_open) || end == FORGE_ABSENT;
}

static bool is_over(struct issue_queue *queue, const struct claim *claim)
{
    return claim_is_expired(claim, forge_now(queue->forge)) || is_left_over(queue, claim);
}

static bool read_claim(int64_t number, const struct git_claim *claim, struct claim *ret_claim)
{
    return claim->text != NULL && claim_decode(number, claim->text, ret_claim, NULL) == 0;
}

bool queue_find_reference(struct issue_queue *queue, int64_t number,
                          const struct git_claim **ret_claim)
{
    bool is_known = queue_read_references(queue);
    *ret_claim = is_known ? find_claim(queue, number) : NULL;
    return is_known;
}

bool queue_reference_is_over(struct issue_queue *queue, int64_t number,
                             const struct git_claim *claim)
{
    struct claim read = {0};
    bool is_it = read_claim(number, claim, &read) && is_over(queue, &read);
    claim_fini(&read);
    return is_it;
}

/** Whether a claim that cannot be read, or not be believed, was seen for as long as one endures
 *  without a renewal. */
static bool is_odd_stale(struct issue_queue *queue, const char *id)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    if (queue->odd == NULL) {
        queue->odd = memory_new_zero(QUEUE_ODD_CLAIMS, sizeof(*queue->odd));
    }
    for (size_t i = 0; i < queue->odd_count; i++) {
        if (strcmp(queue->odd[i].id, id) == 0) {
            return now_ns - queue->odd[i].since_ns > CLAIM_ENDURES_NS;
        }
    }
    size_t place = queue->odd_count < QUEUE_ODD_CLAIMS ? queue->odd_count++ : 0;
    snprintf(queue->odd[place].id, sizeof(queue->odd[place].id), "%s", id);
    queue->odd[place].since_ns = now_ns;
    return false;
}

static enum issue_verdict judge(struct issue_queue *queue, const struct forge_issue *issue,
                                struct queue_former *ret_former)
{
    const struct git_claim *claim = NULL;
    if (!queue_find_reference(queue, issue->number, &claim)) {
        return ISSUE_COOLING;
    }
    if (claim == NULL) {
        return ISSUE_ELIGIBLE;
    }
    const struct claim *former = &ret_former->claim;
    int64_t now_ns = forge_now(queue->forge);
    snprintf(ret_former->id, sizeof(ret_former->id), "%s", claim->id);
    bool is_read = read_claim(issue->number, claim, &ret_former->claim);
    bool is_odd = !is_read || former->lease_ns - now_ns > CLAIM_LEASE_NS * 2;
    if (is_odd ? is_odd_stale(queue, claim->id) : is_over(queue, former)) {
        return ISSUE_ELIGIBLE;
    }
    return claim_is_released(former, now_ns) ? ISSUE_RELEASED : ISSUE_CLAIMED;
}

const struct queue_medium queue_refs = {.change = change, .ask = ask, .judge = judge};
