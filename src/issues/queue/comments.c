// SPDX-License-Identifier: Apache-2.0
/*
 * Claims that are comments (issues/claim_comment.h), for those who may not push. The claim is a
 * line of the status comment, which is written whole each time.
 *
 * Forges show comments late, and have no compare and swap: who claims waits for those of others to
 * be seen, and looks again. A proof is younger (QUEUE_PROOF_NS) than that wait is long, so a
 * program that takes an expired claim over acts only after the last moment at which its former
 * owner, who did not see that, may have. Claims that are references outrank these: their owners may
 * push.
 */
#include "issues/claim_comment.h"
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Looks for a comment that was written and is not shown. */
#define MOST_LOOKS 3
/** Pull requests named by claims that are read in one look; further ones keep nothing. */
#define MOST_PULLS 10

static void set_reason(char **ret_reason, const char *text)
{
    if (ret_reason != NULL) {
        free(*ret_reason);
        *ret_reason = memory_dup_string(text);
    }
}

static void name_claim(int64_t comment_id, char ret_id[GIT_ID_SIZE])
{
    snprintf(ret_id, GIT_ID_SIZE, "%" PRId64, comment_id);
}

/** @return false when this process ends */
static bool wait_settled(struct issue_queue *queue, int64_t wait_ns)
{
    clock_sleep(queue->options.clock, wait_ns, &queue->cancel);
    return !queue_is_stopping(queue);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** Pull requests that claims name: anybody can write any number, so not many are read. */
struct keeper {
    struct issue_queue *queue;
    int64_t number; /* of the issue */
    struct {
        int64_t number;
        bool is_open;
    } pulls[MOST_PULLS];
    size_t count;
};

/** Whether it is there for this issue. What cannot be read now is taken for open. */
static bool read_is_open(const struct keeper *keeper, int64_t number)
{
    struct issue_queue *queue = keeper->queue;
    struct forge_pull pull = {0};
    enum forge_end end = forge_read_pull(queue->forge, number, &pull);
    queue_forge_ended(queue, end);
    bool is_open = end == FORGE_OK && pull.state == FORGE_PULL_OPEN && pull.head != NULL &&
                   claim_is_branch_of(pull.head, keeper->number);
    forge_pull_fini(&pull);
    return is_open || (end != FORGE_OK && end != FORGE_ABSENT && end != FORGE_GONE);
}

static bool keeps(void *context, int64_t number)
{
    struct keeper *keeper = context;
    for (size_t i = 0; i < keeper->count; i++) {
        if (keeper->pulls[i].number == number) {
            return keeper->pulls[i].is_open;
        }
    }
    if (keeper->count == MOST_PULLS) {
        return false;
    }
    bool is_open = read_is_open(keeper, number);
    keeper->pulls[keeper->count].number = number;
    keeper->pulls[keeper->count++].is_open = is_open;
    return is_open;
}

/** The comments of an issue, and who looks at them. */
struct comment_look {
    struct forge_comments all;
    struct claim_comments comments;
    struct keeper keeper;
    struct claim_asker asker;
};

static void comment_look_fini(struct comment_look *look)
{
    claim_comments_fini(&look->comments);
    forge_comments_fini(&look->all);
}
#define auto_comment_look __attribute__((cleanup(comment_look_fini)))

/** @param item whose claim is ours; NULL = none is */
static enum forge_end read_comments(struct issue_queue *queue, int64_t number,
                                    const struct item *item, struct comment_look *ret_look)
{
    comment_look_fini(ret_look);
    enum forge_end end = forge_list_comments(queue->forge, number, 0, &ret_look->all);
    if (!queue_forge_ended(queue, end)) {
        return end;
    }
    claim_comments_read(number, &ret_look->all, &ret_look->comments);
    ret_look->keeper = (struct keeper){.queue = queue, .number = number};
    ret_look->asker = (struct claim_asker){.login = queue->facts.login,
                                           .nonce = item == NULL ? "" : item->nonce,
                                           .now_ns = forge_now(queue->forge),
                                           .keeps = keeps,
                                           .context = &ret_look->keeper};
    if (item != NULL && item->claim_id[0] != '\0') {
        ret_look->asker.comment_id = item->comment_id;
    }
    return end;
}

/** @return FOREIGN, ABSENT or UNKNOWN */
static enum claim_fact ask_reference(struct issue_queue *queue, int64_t number)
{
    struct git_claims claims = {0};
    char name[32];
    snprintf(name, sizeof(name), "%" PRId64, number);
    if (!queue_read_claims(queue, name, &claims)) {
        return CLAIM_UNKNOWN;
    }
    bool is_foreign = claims.count > 0 && !queue_reference_is_over(queue, number, &claims.items[0]);
    git_claims_fini(&claims);
    return is_foreign ? CLAIM_FOREIGN : CLAIM_ABSENT;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static bool is_by_us(const struct claim_comment *comment, const struct comment_look *look)
{
    return comment->author != NULL && strcasecmp(comment->author, look->asker.login) == 0;
}

/** Comments of ours that tell of an earlier tenure. */
static void note_old(struct queue_slot *slot, const struct comment_look *look,
                     const struct claim_comment *own)
{
    slot->old_count = 0;
    for (size_t i = 0; i < look->comments.count && slot->old_count < QUEUE_OLD_COMMENTS; i++) {
        const struct claim_comment *comment = &look->comments.items[i];
        if (is_by_us(comment, look) && comment != own &&
            !claim_comment_is_alive(comment, &look->asker)) {
            slot->old_ids[slot->old_count++] = comment->id;
        }
    }
}

static void note_own(struct queue_slot *slot, const struct comment_look *look,
                     const struct claim_comment *own, enum claim_fact fact)
{
    struct item *item = &slot->item;
    item->comment_id = own->id;
    slot->superseded_count = own->claim.superseded_count;
    memcpy(slot->superseded, own->claim.superseded, sizeof(slot->superseded));
    if (fact == CLAIM_OURS) {
        item->claimed_pull = own->claim.pull;
        slot->confirmed_ns = slot->is_settled ? slot->confirmed_ns : own->claim.written_ns;
        note_old(slot, look, own);
    }
}

/** How long our claim has to be looked at still, before it counts. */
static int64_t unsettled_ns(const struct issue_queue *queue, const struct comment_look *look,
                            const struct claim_comment *own)
{
    int64_t settle_ns = queue->options.settle_ns;
    for (size_t i = 0; i < look->all.count; i++) {
        if (look->all.items[i].id == own->id) {
            int64_t left_ns = look->all.items[i].created_ns + settle_ns - look->asker.now_ns;
            return left_ns > settle_ns ? settle_ns : left_ns;
        }
    }
    return 0;
}

/** The issue is deleted, or moved away: when that is known, so is the claim. */
static enum claim_fact judge_unread(const struct queue_slot *slot, enum forge_end end)
{
    bool is_gone = end == FORGE_ABSENT || end == FORGE_GONE || end == FORGE_MOVED;
    return is_gone && slot->facts.issue == ISSUE_FACT_GONE ? CLAIM_ABSENT : CLAIM_UNKNOWN;
}

/** Others may have found it over since: the last lease that was certainly written has ended. An
 * edit whose answer was lost may have renewed it since, and too late. */
static bool may_have_lapsed(const struct issue_queue *queue, const struct queue_slot *slot)
{
    return slot->is_settled && slot->item.claimed_pull == 0 &&
           forge_now(queue->forge) - slot->confirmed_ns > CLAIM_LEASE_NS;
}

/** By the comments alone. @param ret_begin_ns when they were read */
static enum claim_fact ask_comments(struct issue_queue *queue, struct queue_slot *slot,
                                    int64_t *ret_begin_ns)
{
    struct item *item = &slot->item;
    bool is_won = item->claim_id[0] != '\0';
    for (int i = 0; i < MOST_LOOKS; i++) {
        auto_comment_look struct comment_look read = {0};
        *ret_begin_ns = clock_monotonic(queue->options.clock);
        enum forge_end end = read_comments(queue, item->number, item, &read);
        if (end != FORGE_OK) {
            return judge_unread(slot, end);
        }
        if (read.comments.is_full) {
            return CLAIM_FOREIGN; /* Whose it is cannot be told any more. */
        }
        read.asker.is_settled = slot->is_settled;
        read.asker.has_lapsed = slot->has_lapsed || may_have_lapsed(queue, slot);
        enum claim_fact fact = claim_comments_judge(&read.comments, &read.asker);
        const struct claim_comment *own = claim_comments_find(&read.comments, &read.asker);
        if (fact == CLAIM_ABSENT && is_won && i == 0) {
            continue; /* What others delete while pages are read may have hidden it. */
        }
        int64_t wait_ns = own == NULL || is_won ? 0 : unsettled_ns(queue, &read, own);
        if (fact != CLAIM_OURS || wait_ns <= 0) {
            if (own != NULL) {
                note_own(slot, &read, own, fact);
            }
            return fact;
        }
        if (!wait_settled(queue, wait_ns)) {
            break;
        }
    }
    return CLAIM_UNKNOWN;
}

static void ask(struct issue_queue *queue, struct queue_slot *slot)
{
    int64_t begin_ns = clock_monotonic(queue->options.clock);
    slot->claim = CLAIM_UNKNOWN;
    slot->proven_ns = 0;
    if (!issue_circuit_lets(&queue->forge_circuit, begin_ns)) {
        return;
    }
    enum claim_fact fact = ask_comments(queue, slot, &begin_ns);
    if (fact == CLAIM_OURS) {
        enum claim_fact reference = ask_reference(queue, slot->item.number);
        fact = reference == CLAIM_ABSENT ? CLAIM_OURS : reference;
    }
    if (fact == CLAIM_OURS) {
        name_claim(slot->item.comment_id, slot->item.claim_id);
        slot->is_settled = true;
        slot->has_lapsed = false;
    }
    slot->claim = fact;
    slot->proven_ns = fact == CLAIM_UNKNOWN ? 0 : begin_ns;
}

/* ---- Changing ------------------------------------------------------------------------------- */

static enum git_claim_end judge_write(const struct issue_queue *queue, enum forge_end end,
                                      char **ret_reason)
{
    set_reason(ret_reason, forge_outcome(queue->forge)->message);
    switch (end) {
    case FORGE_OK:
        return GIT_CLAIM_DONE;
    case FORGE_ABSENT:
    case FORGE_GONE:
    case FORGE_MOVED:
    case FORGE_FORBIDDEN: /* The conversation is locked, or we are not welcome. */
    case FORGE_CONFLICT:
        return GIT_CLAIM_LOST;
    case FORGE_NOT_MODIFIED:
    case FORGE_AUTH:
    case FORGE_LIMITED:
    case FORGE_UNAVAILABLE:
    case FORGE_UNCERTAIN:
    case FORGE_CANCELLED:
        break;
    }
    return GIT_CLAIM_NETWORK;
}

/** A comment that cannot be changed: a conversation that is locked may be unlocked. */
static bool is_refused(enum forge_end end)
{
    return end == FORGE_FORBIDDEN || end == FORGE_CONFLICT;
}

static void note_change(struct issue_queue *queue, struct queue_slot *slot, bool is_claim)
{
    slot->item.renewed_ns = forge_now(queue->forge);
    slot->item.claimed_pull = is_claim ? slot->item.pull : 0;
    slot->claim = is_claim ? CLAIM_OURS : CLAIM_ABSENT;
}

/** The lease begins when the claim was seen to be ours: a text that was written long before it
 *  arrives promises no longer lease. */
static void write_text(struct issue_queue *queue, const struct queue_slot *slot,
                       const struct claim *claim, struct buf *ret_text)
{
    auto_buf struct buf status = {0};
    struct claim own = *claim; /* shares its texts */
    int64_t age_ns = clock_monotonic(queue->options.clock) - slot->proven_ns;
    if (slot->proven_ns != 0 && age_ns > 0 && claim->released_until_ns == 0) {
        own.written_ns -= age_ns;
        own.lease_ns -= age_ns;
    }
    own.superseded_count = slot->superseded_count;
    memcpy(own.superseded, slot->superseded, sizeof(own.superseded));
    queue_write_status(queue, slot, &status);
    claim_comment_write(buf_string(&status), &own, ret_text);
}

static enum git_claim_end renew(struct issue_queue *queue, struct queue_slot *slot,
                                const struct claim *claim, char **ret_reason)
{
    auto_buf struct buf text = {0};
    if (!queue_prove(queue, slot)) {
        set_reason(ret_reason, "the claim cannot be confirmed");
        return slot->claim == CLAIM_UNKNOWN ? GIT_CLAIM_NETWORK : GIT_CLAIM_LOST;
    }
    write_text(queue, slot, claim, &text);
    enum forge_end end = forge_edit_comment(queue->forge, slot->item.number, slot->item.comment_id,
                                            buf_string(&text));
    queue_forge_ended(queue, end);
    enum git_claim_end result = judge_write(queue, end, ret_reason);
    if (result == GIT_CLAIM_DONE) {
        /* Frozen after the proof: others may have had the issue meanwhile. */
        slot->has_lapsed = may_have_lapsed(queue, slot);
        slot->confirmed_ns = claim->written_ns;
        slot->proven_ns = slot->has_lapsed ? 0 : slot->proven_ns;
        note_change(queue, slot, true);
    }
    return is_refused(end) ? GIT_CLAIM_REFUSED : result;
}

/** The comment of one who has lost is of no use to anybody. */
static void withdraw(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    if (item->comment_id != 0 && item->claim_id[0] == '\0') {
        queue_forge_ended(queue,
                          forge_delete_comment(queue->forge, item->number, item->comment_id));
        item->comment_id = 0;
    }
}

/** What the comment was written for: whether ours is the first. */
static enum git_claim_end settle(struct issue_queue *queue, struct queue_slot *slot, bool is_sure)
{
    for (int i = 0; i < MOST_LOOKS; i++) {
        if (!wait_settled(queue, queue->options.settle_ns)) {
            return GIT_CLAIM_NETWORK;
        }
        ask(queue, slot);
        if (slot->claim == CLAIM_OURS) {
            note_change(queue, slot, true);
            return GIT_CLAIM_DONE;
        }
        if (slot->claim == CLAIM_FOREIGN || (slot->claim == CLAIM_ABSENT && !is_sure)) {
            break;
        }
    }
    if (slot->claim != CLAIM_FOREIGN && !(slot->claim == CLAIM_ABSENT && is_sure)) {
        return GIT_CLAIM_NETWORK;
    }
    withdraw(queue, slot);
    return GIT_CLAIM_LOST;
}

/** Write a comment of its own for each try: an old one that arrives late is nobody's. */
static enum git_claim_end make(struct issue_queue *queue, struct queue_slot *slot,
                               const struct claim *claim, char **ret_reason)
{
    auto_comment_look struct comment_look read = {0};
    auto_buf struct buf text = {0};
    struct claim own = *claim;
    struct item *item = &slot->item;
    item->comment_id = 0;
    slot->proven_ns = 0;
    slot->is_settled = false;
    slot->has_lapsed = false;
    enum forge_end end = read_comments(queue, item->number, NULL, &read);
    if (end != FORGE_OK) {
        return judge_write(queue, end, ret_reason);
    }
    if (read.comments.is_full || claim_comments_holder(&read.comments, &read.asker) != NULL) {
        set_reason(ret_reason, "somebody else has claimed it");
        return GIT_CLAIM_LOST;
    }
    claim_comments_supersede(&read.comments, &read.asker, &own);
    slot->superseded_count = own.superseded_count;
    memcpy(slot->superseded, own.superseded, sizeof(slot->superseded));
    write_text(queue, slot, claim, &text);
    int64_t id = 0;
    end = forge_add_comment(queue->forge, item->number, buf_string(&text), &id);
    queue_forge_ended(queue, end);
    if (is_refused(end)) { /* Nobody else has it: without this, no reason would be shown. */
        queue_say(queue, slot, "no comment can be written: %s",
                  forge_outcome(queue->forge)->message);
    }
    if (end != FORGE_OK && end != FORGE_UNCERTAIN) {
        return judge_write(queue, end, ret_reason);
    }
    item->comment_id = id;
    enum git_claim_end result =
        queue_save(queue, slot) ? settle(queue, slot, end == FORGE_OK) : GIT_CLAIM_NETWORK;
    set_reason(ret_reason, result == GIT_CLAIM_LOST ? "somebody else was faster"
                                                    : "the claim cannot be confirmed");
    return result;
}

/** Give it back: the comment stays, and says what has become of the issue. */
static enum git_claim_end drop(struct issue_queue *queue, struct queue_slot *slot, bool is_untold,
                               char **ret_reason)
{
    auto_buf struct buf text = {0};
    struct item *item = &slot->item;
    enum forge_end end = FORGE_OK;
    if (!queue_prove(queue, slot)) {
        return slot->claim == CLAIM_UNKNOWN ? GIT_CLAIM_NETWORK : GIT_CLAIM_LOST;
    }
    if (is_untold) {
        end = forge_delete_comment(queue->forge, item->number, item->comment_id);
        item->comment_id = end == FORGE_OK ? 0 : item->comment_id;
    } else {
        queue_write_status(queue, slot, &text);
        end = forge_edit_comment(queue->forge, item->number, item->comment_id, buf_string(&text));
    }
    queue_forge_ended(queue, end);
    enum git_claim_end result = judge_write(queue, end, ret_reason);
    if (result == GIT_CLAIM_DONE) {
        note_change(queue, slot, false);
        item->claim_id[0] = '\0';
    }
    return is_refused(end) ? GIT_CLAIM_REFUSED : result;
}

static enum git_claim_end change(struct issue_queue *queue, struct queue_slot *slot,
                                 const struct queue_claim_change *change, char **ret_reason)
{
    if (change->claim == NULL) {
        return drop(queue, slot, change->is_untold, ret_reason);
    }
    return slot->item.claim_id[0] != '\0' ? renew(queue, slot, change->claim, ret_reason)
                                          : make(queue, slot, change->claim, ret_reason);
}

void queue_comments_tidy(struct issue_queue *queue, struct queue_slot *slot)
{
    static const char pointer[] = "Rondo reports on its work in a later comment.\n";
    for (size_t i = 0; i < slot->old_count && queue_prove(queue, slot); i++) {
        int64_t number = slot->item.number;
        enum forge_end end = forge_delete_comment(queue->forge, number, slot->old_ids[i]);
        queue_forge_ended(queue, end);
        if (end == FORGE_FORBIDDEN) {
            queue_forge_ended(queue,
                              forge_edit_comment(queue->forge, number, slot->old_ids[i], pointer));
        }
    }
    slot->old_count = 0;
}

/* ---- Those of others ------------------------------------------------------------------------ */

/** What our account has told of the issue last. */
static enum item_state find_told(const struct comment_look *look)
{
    enum item_state state = ITEM_STATE_COUNT;
    for (size_t i = 0; i < look->comments.count; i++) {
        const struct claim_comment *comment = &look->comments.items[i];
        if (is_by_us(comment, look)) {
            state = comment->state;
        }
    }
    return state;
}

/** Whether a person has released the issue from one of our account, whose word alone counts. */
static bool is_released(const struct comment_look *look)
{
    for (size_t i = 0; i < look->comments.count; i++) {
        const struct claim_comment *comment = &look->comments.items[i];
        if (is_by_us(comment, look) &&
            comment->updated_ns + CLAIM_RELEASED_NS > look->asker.now_ns &&
            claim_is_released(&comment->claim, look->asker.now_ns)) {
            return true;
        }
    }
    return false;
}

/** What is taken over: the words of others about attempts and branches do not count. */
static void find_former(const struct comment_look *look, int64_t number,
                        struct queue_former *ret_former)
{
    auto_buf struct buf json = {0};
    const struct claim_comment *last = NULL;
    for (size_t i = 0; i < look->comments.count; i++) {
        const struct claim_comment *comment = &look->comments.items[i];
        bool is_claim = comment->has_claim && comment->claim.released_until_ns == 0;
        if (is_by_us(comment, look) && is_claim && !comment->is_ended) {
            last = comment;
        }
    }
    if (last != NULL) {
        name_claim(last->id, ret_former->id);
        claim_encode(&last->claim, &json);
        claim_decode(number, buf_string(&json), &ret_former->claim, NULL);
    }
}

static enum issue_verdict judge(struct issue_queue *queue, const struct forge_issue *issue,
                                struct queue_former *ret_former)
{
    auto_comment_look struct comment_look read = {0};
    const struct git_claim *reference = NULL;
    if (!queue_find_reference(queue, issue->number, &reference)) {
        return ISSUE_COOLING;
    }
    if (reference != NULL && !queue_reference_is_over(queue, issue->number, reference)) {
        return ISSUE_CLAIMED;
    }
    if (read_comments(queue, issue->number, NULL, &read) != FORGE_OK) {
        return ISSUE_COOLING;
    }
    if (read.comments.is_full) {
        return ISSUE_CROWDED;
    }
    if (claim_comments_holder(&read.comments, &read.asker) != NULL) {
        return ISSUE_CLAIMED;
    }
    enum item_state told = find_told(&read);
    bool waits = told == ITEM_BLOCKED || told == ITEM_NEEDS_HUMAN || told == ITEM_IN_REVIEW ||
                 told == ITEM_DONE;
    if (waits && !queue_is_asked(queue, issue)) {
        return ISSUE_HAS_STATE;
    }
    find_former(&read, issue->number, ret_former);
    return is_released(&read) ? ISSUE_RELEASED : ISSUE_ELIGIBLE;
}

const struct queue_medium queue_comments = {
    .change = change, .ask = ask, .judge = judge, .withdraw = withdraw, .is_comment = true};
