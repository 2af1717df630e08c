// SPDX-License-Identifier: Apache-2.0
/*
 * Claims of others that nobody will ever end: the machine is gone, or its store is, and the pull
 * request that keeps the claim is merged or closed, or the issue is closed and so in no list. Each
 * becomes an item of this store by compare and swap, and the state machine does the rest.
 */
#include "issues/queue/internal.h"

#include "base/memory.h"
#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** One look at all claims. */
struct sweeping {
    struct issue_queue *queue;
    int64_t begin_ns; /* monotonic */
    int looks;        /* claims that the forge, or the remote, was asked about */
    bool is_early; /* one could not be read, or was closed so lately that its owner has its turn */
};

/** A claim whose lease is over. */
struct left {
    int64_t number;
    struct queue_former former;
    enum pull_fact pull;
    char head_id[GIT_ID_SIZE]; /* of the pull request, if it is of the claim's branch */
};

/* ---- Without asking anybody ----------------------------------------------------------------- */

/** Whether it is an item that this store takes care of, or cannot be known. */
static bool is_of_store(struct issue_queue *queue, const struct left *left)
{
    struct item item = {0};
    if (queue_find(queue, left->number) != NULL) {
        return true;
    }
    char *key = item_key(queue->repository, left->number);
    int r = item_load(queue->options.store, key, &item, NULL);
    bool is_kept = r == 1 && (!item_state_is_over(item.state) ||
                              (item.state != ITEM_FENCED && !item.is_released &&
                               strcmp(item.nonce, left->former.claim.nonce) == 0));
    item_fini(&item);
    free(key);
    return r < 0 || is_kept;
}

/** Those of listed issues that no pull request keeps are judged when the issue is. */
static bool is_left(struct issue_queue *queue, const struct left *left)
{
    return claim_lease_is_over(&left->former.claim, forge_now(queue->forge)) &&
           (left->former.claim.pull > 0 || queue_find_listed(queue, left->number) == NULL) &&
           !is_of_store(queue, left);
}

/** @return false for what is no claim that can be read */
static bool read_claim(const struct git_claim *claim, struct left *ret_left)
{
    char name[sizeof(((struct issue_queue *)NULL)->swept)];
    int64_t number = 0;
    if (claim->text == NULL || parse_int(claim->name, 1, INT64_MAX, &number, NULL) < 0) {
        return false;
    }
    snprintf(name, sizeof(name), "%" PRId64, number);
    ret_left->number = number;
    snprintf(ret_left->former.id, sizeof(ret_left->former.id), "%s", claim->id);
    return strcmp(name, claim->name) == 0 &&
           claim_decode(number, claim->text, &ret_left->former.claim, NULL) == 0;
}

/* ---- The pull request ----------------------------------------------------------------------- */

static struct queue_tag *find_tag(struct issue_queue *queue, int64_t pull)
{
    for (size_t i = 0; i < queue->tag_count; i++) {
        if (queue->tags[i].pull == pull) {
            return &queue->tags[i];
        }
    }
    return NULL;
}

/** Remember that it was open, in place of one that was remembered long ago. */
static void keep_tag(struct issue_queue *queue, int64_t pull, const char *etag)
{
    struct queue_tag *tag = find_tag(queue, pull);
    if (queue->tags == NULL) {
        queue->tags = memory_new_zero(QUEUE_SWEEP_TAGS, sizeof(*queue->tags));
    }
    if (tag == NULL) {
        tag = &queue->tags[queue->tag_next];
        queue->tag_next = (queue->tag_next + 1) % QUEUE_SWEEP_TAGS;
        queue->tag_count += queue->tag_count < QUEUE_SWEEP_TAGS ? 1 : 0;
    }
    tag->pull = pull;
    snprintf(tag->etag, sizeof(tag->etag), "%s", etag);
}

static enum pull_fact judge_pull(const struct forge_pull *pull)
{
    return pull->state == FORGE_PULL_MERGED   ? PULL_MERGED
           : pull->state == FORGE_PULL_CLOSED ? PULL_CLOSED
                                              : PULL_OPEN;
}

static void read_pull(struct sweeping *sweeping, struct left *left)
{
    struct issue_queue *queue = sweeping->queue;
    struct forge_pull pull = {0};
    char etag[FORGE_ETAG_SIZE] = "";
    const struct claim *claim = &left->former.claim;
    const struct queue_tag *tag = find_tag(queue, claim->pull);
    if (tag != NULL) {
        snprintf(etag, sizeof(etag), "%s", tag->etag);
    }
    enum forge_end end = forge_reread_pull(queue->forge, claim->pull, etag, &pull);
    queue_forge_ended(queue, end);
    if (end == FORGE_OK) {
        left->pull = judge_pull(&pull);
        bool is_its = claim->branch != NULL && pull.head != NULL && pull.head_id != NULL &&
                      strcmp(pull.head, claim->branch) == 0 &&
                      git_id_is_valid(queue->options.repository, pull.head_id);
        snprintf(left->head_id, sizeof(left->head_id), "%s", is_its ? pull.head_id : "");
        keep_tag(queue, claim->pull, left->pull == PULL_OPEN ? etag : "");
    } else if (end == FORGE_NOT_MODIFIED) {
        left->pull = PULL_OPEN;
    } else if (end == FORGE_ABSENT || end == FORGE_GONE) {
        left->pull = PULL_NONE;
    } else {
        sweeping->is_early = true;
    }
    forge_pull_fini(&pull);
}

/* ---- The issue ------------------------------------------------------------------------------ */

/** Decide how it ends. @return false = it stays */
static bool judge_issue(struct sweeping *sweeping, const struct left *left,
                        const struct forge_issue *issue, struct queue_ending *ret_ending)
{
    const struct claim *claim = &left->former.claim;
    int64_t now_ns = forge_now(sweeping->queue->forge);
    bool is_pull = claim->pull > 0;
    if (is_pull && now_ns - issue->updated_ns < CLAIM_ENDURES_NS) {
        sweeping->is_early = true;
        return false;
    }
    if (is_pull && (left->pull == PULL_MERGED || issue->is_open)) {
        *ret_ending = (struct queue_ending){.state = ITEM_IN_REVIEW, .commit = left->head_id};
        return true;
    }
    bool is_unwanted = !issue_has_labels(&sweeping->queue->options.filter, issue) &&
                       now_ns - claim->lease_ns > QUEUE_SWEEP_UNWANTED_NS;
    *ret_ending =
        (struct queue_ending){.state = ITEM_CANCELLED,
                              .reason = issue->is_open ? ITEM_UNLABELLED : ITEM_ISSUE_CLOSED,
                              .commit = ""};
    return !issue->is_open || is_unwanted;
}

static void take_over(struct issue_queue *queue, const struct left *left,
                      const struct forge_issue *issue, const struct queue_ending *ending)
{
    struct item item = {0};
    if (!queue_make_item(queue, issue, &item)) {
        return;
    }
    struct queue_slot *slot = queue_add(queue, &item);
    slot->is_swept = true;
    queue_take_over(queue, slot, &left->former, ending);
    slot->is_ended = slot->item.is_released;
    queue->claims_ns = 0; /* The list is out of date. */
}

static void end_claim(struct sweeping *sweeping, const struct left *left)
{
    char none[] = "";
    struct issue_queue *queue = sweeping->queue;
    struct forge_issue issue = {0};
    struct queue_ending ending = {.state = ITEM_CANCELLED, .reason = ITEM_ISSUE_GONE, .commit = ""};
    enum forge_end end = forge_read_issue(queue->forge, left->number, &issue);
    queue_forge_ended(queue, end);
    if (end == FORGE_OK && judge_issue(sweeping, left, &issue, &ending)) {
        take_over(queue, left, &issue, &ending);
    } else if (end == FORGE_ABSENT || end == FORGE_GONE || end == FORGE_MOVED) {
        const struct forge_issue gone = {
            .number = left->number, .title = none, .body = none, .url = none};
        take_over(queue, left, &gone, &ending);
    } else if (end != FORGE_OK) {
        sweeping->is_early = true;
    }
    forge_issue_fini(&issue);
}

/* ---- All claims ----------------------------------------------------------------------------- */

/** A mark whose time is over tells nobody anything. */
static void drop_mark(struct issue_queue *queue, const struct left *left)
{
    struct queue_slot slot = {.item = {.number = left->number}};
    const struct queue_claim_change change = {.old_id = left->former.id};
    queue->medium->change(queue, &slot, &change, NULL);
}

static void look_at(struct sweeping *sweeping, const struct git_claim *claim)
{
    struct left left = {0};
    if (read_claim(claim, &left) && is_left(sweeping->queue, &left)) {
        sweeping->looks++;
        if (left.former.claim.released_until_ns > 0) {
            drop_mark(sweeping->queue, &left);
        } else if (left.former.claim.pull > 0) {
            read_pull(sweeping, &left);
            if (left.pull != PULL_UNKNOWN && left.pull != PULL_OPEN) {
                end_claim(sweeping, &left);
            }
        } else {
            end_claim(sweeping, &left);
        }
    }
    queue_former_fini(&left.former);
}

/** Nothing more can be done now: the search continues after the next poll. */
static bool is_stopped(struct issue_queue *queue)
{
    return queue_is_stopping(queue) || !queue_git_lets(queue) ||
           !issue_circuit_lets(&queue->forge_circuit, clock_monotonic(queue->options.clock));
}

/** Other items wait for their turn: a slow forge is asked about one claim at least. */
static bool is_enough(const struct sweeping *sweeping)
{
    int64_t now_ns = clock_monotonic(sweeping->queue->options.clock);
    bool is_late = sweeping->looks > 0 && now_ns - sweeping->begin_ns >= QUEUE_PASS_NS;
    return is_late || sweeping->looks >= QUEUE_SWEEP_LOOKS;
}

/** @return false = it was stopped */
static bool sweep_claims(struct sweeping *sweeping)
{
    struct issue_queue *queue = sweeping->queue;
    for (size_t i = 0; i < queue->claims.count; i++) {
        const struct git_claim *claim = &queue->claims.items[i];
        if (strlen(claim->name) >= sizeof(queue->swept) || strcmp(claim->name, queue->swept) <= 0) {
            continue;
        }
        if (is_stopped(queue)) {
            return false;
        }
        if (is_enough(sweeping)) {
            return true;
        }
        look_at(sweeping, claim);
        if (is_stopped(queue)) {
            return false; /* It was perhaps not found out: this one is asked for again. */
        }
        snprintf(queue->swept, sizeof(queue->swept), "%s", claim->name);
    }
    queue->swept[0] = '\0';
    return true;
}

void queue_sweep(struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    struct sweeping sweeping = {.queue = queue, .begin_ns = now_ns};
    if (now_ns < queue->sweep_ns || !queue->has_issues || queue->options.number > 0 ||
        queue->medium != &queue_refs || !queue->facts.can_push || is_stopped(queue) ||
        !queue_read_references(queue) || !sweep_claims(&sweeping)) {
        return;
    }
    int64_t gap_ns = sweeping.is_early ? CLAIM_ENDURES_NS : QUEUE_SWEEP_NS;
    queue->sweep_ns =
        now_ns + gap_ns + (int64_t)random_below(queue->options.random, (uint64_t)gap_ns / 4);
}
