// SPDX-License-Identifier: Apache-2.0
/*
 * What people see on the issue: one label of the state, an assignee, one comment that is edited.
 * They follow from the item and decide nothing. A new label is put on before an old one is taken
 * off, so that an issue never looks free while it is not.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/memory.h"
#include "loop/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Color and meaning of each label, for people who see it for the first time. */
static const struct {
    const char *color, *meaning;
} labels[ITEM_STATE_COUNT] = {
    [ITEM_ASSIGNED] = {"bfd4f2", "Claimed; the agent has not begun yet"},
    [ITEM_IN_PROGRESS] = {"1d76db", "An agent is at work"},
    [ITEM_IN_REVIEW] = {"5319e7", "There is a pull request to review"},
    [ITEM_RETRY_LATER] = {"fbca04", "A failure that is probably temporary; Rondo will try again"},
    [ITEM_BLOCKED] = {"d93f0b", "A person has to do something; remove this label to try again"},
    [ITEM_NEEDS_HUMAN] = {"e99695", "The agent found nothing to change; a person has to decide"},
};

static char *label_name(const struct issue_queue *queue, enum item_state state)
{
    struct buf name = {0};
    buf_printf(&name, "%s%s", queue->options.filter.prefix, item_state_name(state));
    return buf_steal(&name);
}

void queue_report(struct issue_queue *queue, const struct queue_slot *slot,
                  struct item_report *ret_report)
{
    *ret_report = (struct item_report){
        .summary = slot->outcome.summary,
        .checks = slot->outcome.checks,
        .check_count = slot->outcome.check_count,
        .log = slot->outcome.log,
        .max_attempts = queue->options.item.max_attempts,
        .prefix = queue->options.filter.prefix,
        .agent = queue->options.agent,
        .closes = queue->facts.default_branch != NULL && slot->item.base_branch != NULL &&
                  strcmp(queue->facts.default_branch, slot->item.base_branch) == 0,
    };
}

void queue_write_status(struct issue_queue *queue, const struct queue_slot *slot,
                        struct buf *ret_text)
{
    struct item_report report;
    char owner[OWNER_DESCRIPTION_SIZE];
    queue_report(queue, slot, &report);
    owner_name(queue->options.owner, owner);
    report.owner = owner;
    item_write_comment(&slot->item, &report, ret_text);
}

static void digest_comment(struct issue_queue *queue, const struct queue_slot *slot,
                           char ret_digest[DIGEST_HEX_SIZE])
{
    auto_buf struct buf text = {0};
    unsigned char bytes[DIGEST_SIZE];
    queue_write_status(queue, slot, &text);
    struct digest digest = digest_begin();
    digest_add(&digest, text.data, text.len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_digest);
}

bool queue_is_told(struct issue_queue *queue, struct queue_slot *slot)
{
    char digest[DIGEST_HEX_SIZE];
    if (slot->item.mirrored != slot->item.state) {
        return false;
    }
    digest_comment(queue, slot, digest);
    return slot->item.mirrored_digest != NULL && strcmp(digest, slot->item.mirrored_digest) == 0;
}

/* ---- Telling -------------------------------------------------------------------------------- */

/** Make the label of a state where the repository does not have it: once is enough. */
static bool make_label(struct issue_queue *queue, enum item_state state, const char *name)
{
    if ((queue->made_labels & 1U << state) != 0) {
        return true;
    }
    enum forge_end end =
        forge_ensure_label(queue->forge, name, labels[state].color, labels[state].meaning);
    bool is_well = queue_forge_ended(queue, end) || end == FORGE_FORBIDDEN;
    queue->made_labels |= is_well ? 1U << state : 0;
    return is_well;
}

bool queue_may_label(const struct issue_queue *queue)
{
    return !queue->has_facts || queue->facts.can_triage;
}

/** Labels of other states go; those of people stay. */
static bool tell_labels(struct issue_queue *queue, struct queue_slot *slot)
{
    struct forge_issue issue = {0};
    enum item_state state = slot->item.state;
    auto_free char *own = label_name(queue, state);
    bool is_well = true;
    if (!queue_may_label(queue)) {
        return true;
    }
    if (item_state_has_label(state)) {
        is_well = make_label(queue, state, own) && queue_prove(queue, slot) &&
                  queue_forge_ended(queue, forge_add_label(queue->forge, slot->item.number, own));
    }
    is_well = is_well &&
              queue_forge_ended(queue, forge_read_issue(queue->forge, slot->item.number, &issue));
    for (int i = 0; is_well && i < ITEM_STATE_COUNT; i++) {
        auto_free char *name = label_name(queue, (enum item_state)i);
        if (issue_has_label(&issue, name) && item_state_has_label((enum item_state)i) &&
            (enum item_state)i != state) {
            is_well =
                queue_prove(queue, slot) &&
                queue_forge_ended(queue, forge_remove_label(queue->forge, slot->item.number, name));
        }
    }
    forge_issue_fini(&issue);
    return is_well;
}

/** A token without that right works all the same: the assignee is for people. */
static bool tell_assignee(struct issue_queue *queue, struct queue_slot *slot)
{
    const char *login = queue->facts.login;
    enum item_state state = slot->item.state;
    if (login == NULL || slot->item.mirrored == state || !queue_may_label(queue)) {
        return true;
    }
    if (!queue_prove(queue, slot)) {
        return false;
    }
    enum forge_end end = FORGE_OK;
    if (state == ITEM_ASSIGNED) {
        end = forge_assign(queue->forge, slot->item.number, login);
    } else if (item_state_is_over(state)) {
        end = forge_unassign(queue->forge, slot->item.number, login);
    }
    queue_forge_ended(queue, end);
    return end != FORGE_UNCERTAIN && end != FORGE_UNAVAILABLE && end != FORGE_LIMITED &&
           end != FORGE_CANCELLED;
}

/** The comment of a process before this one, which died before it had noted it. */
static bool find_comment(struct issue_queue *queue, struct queue_slot *slot)
{
    struct forge_comments comments = {0};
    enum forge_end end = forge_list_comments(queue->forge, slot->item.number, 0, &comments);
    for (size_t i = 0; end == FORGE_OK && i < comments.count; i++) {
        const struct forge_comment *comment = &comments.items[i];
        bool is_known = queue->facts.login == NULL && slot->item.comment_id == 0 &&
                        item_comment_has_nonce(comment->body, &slot->item);
        if (is_known || (queue_is_by_us(queue, comment) &&
                         item_comment_is_ours(comment->body, slot->item.number))) {
            slot->item.comment_id = comment->id;
        }
    }
    forge_comments_fini(&comments);
    return queue_forge_ended(queue, end);
}

/** The comment has the claim: both are written at once. */
static bool tell_claim(struct issue_queue *queue, struct queue_slot *slot)
{
    queue_comments_tidy(queue, slot);
    return queue_write_claim(queue, slot, slot->item.claim_id, 0, NULL) == GIT_CLAIM_DONE;
}

/** Before the comment is written: whose it is can be told by that alone, if the forge does not say
 *  which login a token has. */
static bool have_nonce(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    if (queue->facts.login != NULL || item->comment_id != 0 || item->comment_nonce[0] != '\0') {
        return true;
    }
    id_new(clock_now(queue->options.clock), queue->options.random, item->comment_nonce);
    return queue_save(queue, slot);
}

static bool tell_comment(struct issue_queue *queue, struct queue_slot *slot)
{
    auto_buf struct buf text = {0};
    if (queue->medium->is_comment) {
        return tell_claim(queue, slot);
    }
    if (slot->item.comment_id == 0 && (!find_comment(queue, slot) || !have_nonce(queue, slot))) {
        return false;
    }
    queue_write_status(queue, slot, &text);
    enum forge_end end;
    if (!queue_prove(queue, slot)) {
        return false;
    }
    if (slot->item.comment_id != 0) {
        end = forge_edit_comment(queue->forge, slot->item.number, slot->item.comment_id,
                                 buf_string(&text));
        if (slot->claim != CLAIM_OURS) {
            return false;
        }
        if (end != FORGE_ABSENT && end != FORGE_GONE) {
            return queue_forge_ended(queue, end);
        }
        slot->item.comment_id = 0; /* A person has deleted it; copies of it may be left. */
        slot->item.comment_nonce[0] = '\0';
        if (!have_nonce(queue, slot)) {
            return false;
        }
        buf_clear(&text);
        queue_write_status(queue, slot, &text);
    }
    if (!queue_prove(queue, slot)) {
        return false;
    }
    end = forge_add_comment(queue->forge, slot->item.number, buf_string(&text),
                            &slot->item.comment_id);
    return queue_forge_ended(queue, end);
}

bool queue_tell(struct issue_queue *queue, struct queue_slot *slot)
{
    char digest[DIGEST_HEX_SIZE];
    bool is_gone = slot->item.reason == ITEM_ISSUE_GONE;
    if (!is_gone && (!tell_labels(queue, slot) || !tell_comment(queue, slot))) {
        enum forge_end end = forge_outcome(queue->forge)->end;
        if (slot->claim != CLAIM_OURS) {
            return false;
        }
        if (end != FORGE_ABSENT && end != FORGE_GONE && end != FORGE_MOVED &&
            end != FORGE_FORBIDDEN && end != FORGE_CONFLICT) {
            return false;
        }
        queue_say(queue, slot, "the issue cannot be updated: %s",
                  forge_outcome(queue->forge)->message);
    }
    if (!is_gone && !tell_assignee(queue, slot)) {
        return false;
    }
    digest_comment(queue, slot, digest);
    slot->item.mirrored = slot->item.state;
    slot->told_at_list = queue->lists;
    free(slot->item.mirrored_digest);
    slot->item.mirrored_digest = memory_dup_string(digest);
    return true;
}
