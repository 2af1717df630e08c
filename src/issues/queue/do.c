// SPDX-License-Identifier: Apache-2.0
/*
 * What is done with an item. Each effect outside lies between two durable changes of the item, so
 * that a process which takes it up knows which one may have happened; and each looks first whether
 * it has happened.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/commit.h"
#include "git/worktree.h"
#include "loop/owner.h"
#include "os/file_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Somebody else has the claim, or nobody: the item has to be looked at again. */
static bool is_lost(const struct queue_slot *slot)
{
    return slot->claim == CLAIM_FOREIGN || slot->claim == CLAIM_ABSENT;
}

static bool begin_step(struct issue_queue *queue, struct queue_slot *slot, enum item_step step)
{
    item_begin_step(&slot->item, step);
    return queue_save(queue, slot);
}

static bool end_step(struct issue_queue *queue, struct queue_slot *slot)
{
    item_begin_step(&slot->item, ITEM_STEP_NONE);
    return queue_save(queue, slot);
}

static void set_text(char **slot, const char *text)
{
    char *copy = memory_dup_string(text);
    free(*slot);
    *slot = copy;
}

/** A person has to do something: the item says so, and nothing more is done. */
static void block(struct issue_queue *queue, struct queue_slot *slot, enum item_reason reason,
                  const char *message)
{
    slot->item.state = ITEM_BLOCKED;
    slot->item.reason = reason;
    set_text(&slot->item.message, message);
    item_note(&slot->item, forge_now(queue->forge), "blocked: %s", message);
    queue_say(queue, slot, "blocked: %s", message);
    end_step(queue, slot);
}

/* ---- The claim ------------------------------------------------------------------------------ */

/** What the claim of an item says; its texts are the item's and `owner`. */
static struct claim make_text(struct issue_queue *queue, const struct queue_slot *slot,
                              int64_t takeovers, char owner[OWNER_DESCRIPTION_SIZE])
{
    int64_t now_ns = forge_now(queue->forge);
    const struct item *item = &slot->item;
    owner_name(queue->options.owner, owner);
    struct claim claim = {.number = item->number,
                          .owner = owner,
                          .written_ns = now_ns,
                          .lease_ns = now_ns + CLAIM_LEASE_NS,
                          .attempts = item->attempts,
                          .takeovers = takeovers,
                          .pull = item->pull,
                          .branch = item->branch};
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", item->nonce);
    snprintf(claim.run_id, sizeof(claim.run_id), "%s", item->run_id);
    return claim;
}

enum git_claim_end queue_write_claim(struct issue_queue *queue, struct queue_slot *slot,
                                     const char *old_id, int64_t takeovers, char **ret_reason)
{
    char owner[OWNER_DESCRIPTION_SIZE];
    const struct claim claim = make_text(queue, slot, takeovers, owner);
    const struct queue_claim_change change = {.old_id = old_id, .claim = &claim};
    return queue->medium->change(queue, slot, &change, ret_reason);
}

static enum git_claim_end drop_claim(struct issue_queue *queue, struct queue_slot *slot,
                                     bool is_untold, char **ret_reason)
{
    const struct queue_claim_change change = {.old_id = slot->item.claim_id,
                                              .is_untold = is_untold};
    return queue->medium->change(queue, slot, &change, ret_reason);
}

/** A person has released the issue: a mark takes the place of the claim. */
static enum git_claim_end mark_claim(struct issue_queue *queue, struct queue_slot *slot,
                                     char **ret_reason)
{
    const struct item *item = &slot->item;
    struct claim mark = {.number = item->number, .branch = item->branch};
    claim_make_mark(&mark, forge_now(queue->forge), item->released_until_ns);
    snprintf(mark.nonce, sizeof(mark.nonce), "%s", item->nonce);
    const struct queue_claim_change change = {.old_id = item->claim_id, .claim = &mark};
    return queue->medium->change(queue, slot, &change, ret_reason);
}

static void begin_item(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    char nonce[ID_SIZE];
    id_new(clock_now(queue->options.clock), queue->options.random, nonce);
    item_begin_anew(item, nonce, forge_now(queue->forge));
    snprintf(item->owner, sizeof(item->owner), "%s", queue->options.owner);
    if (item->branch == NULL) {
        auto_buf struct buf branch = {0};
        item_write_branch(item->number, item->title, &branch);
        item->branch = buf_steal(&branch);
    }
    set_text(&item->base_branch, queue->base);
    item->comment_id = queue->medium->is_comment ? 0 : item->comment_id;
    queue_outcome_fini(&slot->outcome);
    slot->claim = CLAIM_UNKNOWN;
    slot->proven_ns = 0;
}

/** Nothing can be claimed until a person mends that: the queue ends, or waits for it. */
static void refuse_claims(struct issue_queue *queue, struct queue_slot *slot,
                          enum git_claim_end end, const char *reason)
{
    struct rondo_error err = {0};
    error_set(&err, RONDO_ERR_DENIED,
              "%s: issues cannot be claimed, because a reference cannot be pushed: %s; see "
              "`rondo work doctor`%s",
              queue->repository, reason,
              queue->facts.can_push ? ""
                                    : "; without the right to push, name a fork of yours with "
                                      "--fork OWNER/NAME");
    slot->item.reason = end == GIT_CLAIM_AUTH ? ITEM_AUTH : ITEM_REFUSED;
    set_text(&slot->item.message, reason);
    if (!queue->options.is_patient) {
        queue_fail(queue, &err);
        return;
    }
    queue_trouble(queue, QUEUE_TROUBLE_CLAIM, "%s", err.message);
    issue_circuit_failed(&queue->claim_circuit, 1, queue->options.poll_ns,
                         clock_monotonic(queue->options.clock));
}

/** Make the claim of an item that has none, with a nonce of its own. @return NETWORK also when
 *  the item cannot be saved */
static enum git_claim_end make_claim(struct issue_queue *queue, struct queue_slot *slot,
                                     const char *expired, int64_t takeovers)
{
    auto_free char *reason = NULL;
    bool is_again =
        slot->item.claim_id[0] == '\0' && !slot->item.is_released && !queue->medium->is_comment;
    if (!is_again || slot->item.nonce[0] == '\0') { /* else an earlier try may yet arrive */
        id_new(clock_now(queue->options.clock), queue->options.random, slot->item.nonce);
    }
    if (!begin_step(queue, slot, ITEM_STEP_CLAIM)) {
        return GIT_CLAIM_NETWORK;
    }
    enum git_claim_end end = queue_write_claim(queue, slot, expired, takeovers, &reason);
    if (end == GIT_CLAIM_DONE) {
        issue_circuit_worked(&queue->claim_circuit);
        queue_untrouble(queue, QUEUE_TROUBLE_CLAIM);
        slot->item.is_released = false;
        return end_step(queue, slot) ? GIT_CLAIM_DONE : GIT_CLAIM_NETWORK;
    }
    if (end == GIT_CLAIM_AUTH || end == GIT_CLAIM_REFUSED) {
        refuse_claims(queue, slot, end, reason);
    } else if (end != GIT_CLAIM_LOST) {
        queue_say(queue, slot, "cannot be claimed: %s", reason);
    }
    slot->proven_ns = 0; /* The next look asks whose it is. */
    slot->claim = end == GIT_CLAIM_LOST && slot->item.is_released ? CLAIM_FOREIGN : slot->claim;
    return end;
}

/** Others were faster, or it is refused: the work on the item ends here. */
static void lose_claim(struct issue_queue *queue, struct queue_slot *slot, enum git_claim_end end)
{
    bool is_refused = end == GIT_CLAIM_AUTH || end == GIT_CLAIM_REFUSED;
    slot->item.state = is_refused ? ITEM_CANCELLED : ITEM_FENCED;
    slot->item.is_released = true;
    slot->item.mirrored = is_refused ? ITEM_CANCELLED : ITEM_STATE_COUNT;
    end_step(queue, slot);
}

/** A push whose answer was lost may have made the claim. @return whether it is ours */
static bool find_out(struct issue_queue *queue, struct queue_slot *slot, enum git_claim_end end)
{
    bool is_ours = slot->item.step == ITEM_STEP_CLAIM && queue_prove(queue, slot);
    if (!is_ours && (end != GIT_CLAIM_NETWORK || slot->claim == CLAIM_FOREIGN)) {
        lose_claim(queue, slot, end);
    }
    return is_ours && end_step(queue, slot);
}

bool queue_claim(struct issue_queue *queue, struct queue_slot *slot,
                 const struct queue_former *former)
{
    const char *branch = former->claim.branch;
    bool is_taken_over = former->id[0] != '\0' && former->claim.released_until_ns == 0;
    int64_t takeovers = is_taken_over ? former->claim.takeovers + 1 : 0;
    begin_item(queue, slot);
    if (takeovers > 0) { /* An issue that kills machines must not be passed on without end. */
        slot->item.attempts = former->claim.attempts + 1;
    }
    if (branch != NULL && git_branch_check_name(branch, NULL) == 0) {
        set_text(&slot->item.branch, branch);
    }
    enum git_claim_end end = make_claim(queue, slot, former->id, takeovers);
    if (end != GIT_CLAIM_DONE) {
        return find_out(queue, slot, end);
    }
    queue_say(queue, slot, "%s: %s", takeovers > 0 ? "taken over" : "claimed", slot->item.title);
    return true;
}

/** Labels and comment are the former owner's: whatever they say has to be brought in line. */
static void begin_ending(struct issue_queue *queue, struct queue_slot *slot,
                         const struct claim *former, const struct queue_ending *ending)
{
    struct item *item = &slot->item;
    begin_item(queue, slot);
    item->state = ending->state;
    item->reason = ending->reason;
    item->attempts = former->attempts;
    item->pull = former->pull;
    item->mirrored = item_state_is_over(ending->state) ? ITEM_ASSIGNED : ITEM_STATE_COUNT;
    item->updated_ns = clock_now(queue->options.clock);
    if (former->branch != NULL) {
        set_text(&item->branch, former->branch);
        snprintf(item->commit, sizeof(item->commit), "%s", ending->commit);
    }
    item_note(item, forge_now(queue->forge), "taken over to end it: its owner is gone (%s)",
              former->owner);
}

void queue_take_over(struct issue_queue *queue, struct queue_slot *slot,
                     const struct queue_former *former, const struct queue_ending *ending)
{
    auto_free char *reason = NULL;
    struct rondo_error err = {0};
    begin_ending(queue, slot, &former->claim, ending);
    item_begin_step(&slot->item, ITEM_STEP_CLAIM);
    if (item_save(queue->options.store, &slot->item, &err) < 0) {
        slot->item.is_released = true; /* Another process of this store was faster. */
        return;
    }
    enum git_claim_end end =
        queue_write_claim(queue, slot, former->id, former->claim.takeovers + 1, &reason);
    if (end == GIT_CLAIM_DONE ? end_step(queue, slot) : find_out(queue, slot, end)) {
        queue_say(queue, slot, "taken over to end it: its owner is gone");
    } else if (end != GIT_CLAIM_LOST && end != GIT_CLAIM_DONE) {
        queue_say(queue, slot, "its old claim cannot be ended now: %s", reason);
    }
}

/** What fails again and again for the same reason is told once. A refusal is for the item's
 *  history, too: it does not pass by itself. */
static void tell_failure(struct issue_queue *queue, struct queue_slot *slot, const char *what,
                         enum git_claim_end end, const char *reason)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "the claim cannot be %s: %s", what, reason);
    if (slot->failure != NULL && strcmp(slot->failure, buf_string(&text)) == 0) {
        return;
    }
    set_text(&slot->failure, buf_string(&text));
    queue_say(queue, slot, "%s", slot->failure);
    if (end != GIT_CLAIM_NETWORK) {
        item_note(&slot->item, forge_now(queue->forge), "%s", slot->failure);
        queue_save(queue, slot);
    }
}

static bool renew(struct issue_queue *queue, struct queue_slot *slot)
{
    auto_free char *reason = NULL;
    enum git_claim_end end = queue_write_claim(queue, slot, slot->item.claim_id, 0, &reason);
    if (end == GIT_CLAIM_DONE) {
        set_text(&slot->failure, NULL);
        return queue_save(queue, slot);
    }
    slot->proven_ns = 0; /* The next look asks the remote. */
    if (end == GIT_CLAIM_LOST) {
        return true;
    }
    tell_failure(queue, slot, "renewed", end, reason);
    slot->item.renewed_ns = forge_now(queue->forge) - CLAIM_HEARTBEAT_NS + 30 * NS_PER_S;
    return false;
}

/** The claim stays: it is tried again, less and less often. With is_once, the item is left to the
 *  next start after QUEUE_FAILURES refusals. */
static bool keep_claim(struct issue_queue *queue, struct queue_slot *slot, enum git_claim_end end,
                       const char *reason)
{
    slot->proven_ns = 0;
    if (end == GIT_CLAIM_NETWORK) {
        return false;
    }
    tell_failure(queue, slot, "given back", end, reason);
    issue_circuit_failed(&slot->release_circuit, 1, queue->options.poll_ns,
                         clock_monotonic(queue->options.clock));
    slot->is_ended = queue->options.is_once && slot->release_circuit.failures >= QUEUE_FAILURES;
    return false;
}

static bool release(struct issue_queue *queue, struct queue_slot *slot)
{
    auto_free char *reason = NULL;
    enum git_claim_end end = GIT_CLAIM_LOST;
    if (!issue_circuit_lets(&slot->release_circuit, clock_monotonic(queue->options.clock))) {
        return false;
    }
    if (!begin_step(queue, slot, ITEM_STEP_RELEASE)) {
        return false;
    }
    int64_t left_ns = slot->item.released_until_ns - forge_now(queue->forge);
    if (slot->claim != CLAIM_ABSENT) {
        end = left_ns > 0 ? mark_claim(queue, slot, &reason)
                          : drop_claim(queue, slot, false, &reason);
    }
    if (end != GIT_CLAIM_DONE && end != GIT_CLAIM_LOST) {
        return keep_claim(queue, slot, end, reason);
    }
    if (slot->claim == CLAIM_ABSENT && end == GIT_CLAIM_LOST && queue->medium->is_comment &&
        !queue_may_label(queue)) {
        slot->item.mirrored = slot->item.state; /* The comment that told it is gone. */
    }
    bool is_marked = left_ns > 0 && end == GIT_CLAIM_DONE;
    if (left_ns > 0 && !is_marked) { /* Nobody is told: at least this process knows. */
        issue_cooling_add(&queue->cooling, slot->item.number,
                          clock_monotonic(queue->options.clock) + left_ns);
    }
    queue->claims_ns = 0; /* The list is out of date, and would have it taken again at once. */
    slot->claim = is_marked ? CLAIM_FOREIGN : CLAIM_ABSENT;
    slot->item.is_released = true;
    slot->item.claim_id[0] = '\0';
    return end_step(queue, slot);
}

void queue_give_back(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    const struct item_action action = {.act = ITEM_ACT_SET, .state = ITEM_CANCELLED};
    item_set(item, &action, &queue->options.item, queue->options.random, forge_now(queue->forge));
    item->mirrored = ITEM_CANCELLED; /* Labels and comment are the former owner's. */
    item->is_released = true;
    if (end_step(queue, slot)) {
        /* A claim that stays after a lost connection ends with its lease. */
        drop_claim(queue, slot, true, NULL);
    }
    queue_say(queue, slot, "given back: the issue has changed in the meantime");
    slot->is_ended = true;
}

/* ---- Branch and pull request ---------------------------------------------------------------- */

/** The git server refuses the push. With a token that has expired nothing can be told either: the
 *  item waits until it is renewed. */
static bool refuse_push(struct issue_queue *queue, struct queue_slot *slot, enum git_claim_end end,
                        const char *reason)
{
    struct forge_repository facts = {0};
    bool is_known = queue_forge_ended(queue, forge_read_repository(queue->forge, &facts));
    bool is_archived = is_known && facts.is_archived;
    forge_repository_fini(&facts);
    if (end == GIT_CLAIM_AUTH && !is_known) {
        queue_say(queue, slot, "cannot be pushed now: %s", reason);
        return false;
    }
    block(queue, slot,
          is_archived             ? ITEM_READ_ONLY
          : end == GIT_CLAIM_AUTH ? ITEM_AUTH
                                  : ITEM_REFUSED,
          reason);
    return true;
}

/** A base that was replaced by force would get its old commits back. @return whether it is as it
 *  was, or has more commits */
static bool check_base(struct issue_queue *queue, struct queue_slot *slot)
{
    struct rondo_error err = {0};
    bool endures = false;
    if (queue_base_endures(queue, slot, &endures, &err) < 0) {
        queue_say(queue, slot, "cannot be pushed now: %s", err.message);
    } else if (!endures) {
        block(queue, slot, ITEM_CONFLICT,
              "the base branch was deleted or replaced by another history in the meantime; remove "
              "the label of this state to begin again from the new history");
    }
    return endures;
}

static bool note_push(struct issue_queue *queue, struct queue_slot *slot)
{
    slot->item.is_pushed = true;
    item_note(&slot->item, forge_now(queue->forge), "pushed %.12s to %s", slot->item.commit,
              slot->item.branch);
    queue_say(queue, slot, "pushed to %s", slot->item.branch);
    return end_step(queue, slot);
}

/** Where an answer was lost, HTTP libraries push again by themselves, and git is told that both
 *  references are there already: by whom, it does not know. */
static bool is_at_commit(struct issue_queue *queue, const struct item *item)
{
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    char id[GIT_ID_SIZE];
    int r = git_fetch_branch(&queue->git, queue_branch_access(queue), item->branch, id, &end, NULL);
    return r == 0 && end == GIT_CLAIM_DONE && strcmp(id, item->commit) == 0;
}

/** Branch and claim change together, or not at all; but for a branch in a fork. */
static bool push(struct issue_queue *queue, struct queue_slot *slot)
{
    auto_free char *reason = NULL;
    char owner[OWNER_DESCRIPTION_SIZE];
    if (!check_base(queue, slot)) {
        return slot->item.state == ITEM_BLOCKED;
    }
    if (!queue_prove(queue, slot) || !begin_step(queue, slot, ITEM_STEP_PUSH)) {
        return is_lost(slot);
    }
    const struct claim claim = make_text(queue, slot, 0, owner);
    const struct queue_claim_change change = {
        .old_id = slot->item.claim_id, .claim = &claim, .has_branch = true};
    enum git_claim_end end = queue->options.fork != NULL
                                 ? queue_fork_push(queue, slot, &reason)
                                 : queue->medium->change(queue, slot, &change, &reason);
    if (end == GIT_CLAIM_DONE) {
        return note_push(queue, slot);
    }
    slot->proven_ns = 0;
    if (end == GIT_CLAIM_LOST && !queue_prove(queue, slot)) {
        return is_lost(slot);
    }
    if (end == GIT_CLAIM_LOST && is_at_commit(queue, &slot->item)) {
        return note_push(queue, slot);
    }
    if (end == GIT_CLAIM_LOST) {
        block(
            queue, slot, ITEM_CONFLICT,
            "the branch has commits at the remote that are not from this run; merge or delete it, "
            "then remove the label of this state");
    } else if (end == GIT_CLAIM_AUTH || end == GIT_CLAIM_REFUSED) {
        return refuse_push(queue, slot, end, reason);
    }
    return end != GIT_CLAIM_NETWORK;
}

static bool take_pull(struct issue_queue *queue, struct queue_slot *slot,
                      const struct forge_pull *pull)
{
    slot->item.pull = pull->number;
    set_text(&slot->item.pull_url, pull->url);
    slot->pull_seen_ns = 0;
    item_note(&slot->item, forge_now(queue->forge), "pull request %s", pull->url);
    queue_say(queue, slot, "pull request %s", pull->url);
    return end_step(queue, slot) && renew(queue, slot); /* The claim stays until it is closed. */
}

static enum forge_end create_pull(struct issue_queue *queue, struct queue_slot *slot,
                                  struct forge_pull *ret_pull)
{
    auto_buf struct buf title = {0};
    auto_buf struct buf body = {0};
    struct item_report report;
    queue_report(queue, slot, &report);
    item_write_pull_title(&slot->item, &title);
    item_write_pull_body(&slot->item, &report, &body);
    const struct forge_new_pull pull = {.title = buf_string(&title),
                                        .fork = queue->options.fork,
                                        .head = slot->item.branch,
                                        .base = slot->item.base_branch,
                                        .body = buf_string(&body),
                                        .is_draft = queue->options.is_draft};
    return forge_create_pull(queue->forge, &pull, ret_pull);
}

/** Find it, or open it: a process before may have done so. */
static bool open_pull(struct issue_queue *queue, struct queue_slot *slot)
{
    struct forge_pull pull = {0};
    if (!queue_prove(queue, slot) || !begin_step(queue, slot, ITEM_STEP_PULL)) {
        return is_lost(slot);
    }
    enum forge_end end =
        forge_find_pull(queue->forge, queue->options.fork, slot->item.branch, &pull);
    bool is_old = end == FORGE_OK && pull.state != FORGE_PULL_OPEN &&
                  (pull.head_id == NULL || strcmp(pull.head_id, slot->item.commit) != 0);
    if (end == FORGE_ABSENT || is_old) {
        forge_pull_fini(&pull);
        pull = (struct forge_pull){0};
        end = queue_prove(queue, slot) ? create_pull(queue, slot, &pull) : FORGE_CANCELLED;
    }
    bool is_done = queue_forge_ended(queue, end) && take_pull(queue, slot, &pull);
    forge_pull_fini(&pull);
    if (end == FORGE_FORBIDDEN || end == FORGE_CONFLICT || end == FORGE_ABSENT ||
        end == FORGE_GONE || end == FORGE_MOVED) {
        block(queue, slot, end == FORGE_FORBIDDEN ? ITEM_AUTH : ITEM_REFUSED,
              forge_outcome(queue->forge)->message);
        return true;
    }
    return is_done || is_lost(slot);
}

/** The branch here, unless a person has it checked out, or has added commits. */
static void delete_local(struct issue_queue *queue, const struct item *item)
{
    auto_free char *where = NULL;
    int r = git_worktree_of_branch(queue->options.repository, item->branch, NULL, &where, NULL);
    if (r == 0 && where == NULL) {
        git_branch_delete(&queue->git, item->branch, item->commit, NULL);
    }
}

/** Merged: nothing of it stays but what people see. */
static bool clean(struct issue_queue *queue, struct queue_slot *slot)
{
    enum git_claim_end end = GIT_CLAIM_DONE;
    struct item *item = &slot->item;
    auto_buf struct buf folder = {0};
    if (!queue_prove(queue, slot)) {
        item->is_released = is_lost(slot);
        return is_lost(slot) && queue_save(queue, slot);
    }
    if (!begin_step(queue, slot, ITEM_STEP_CLEAN) || !queue_tell(queue, slot)) {
        return false;
    }
    if (item->commit[0] != '\0' && item->branch != NULL) {
        if (!queue_prove(queue, slot)) {
            return is_lost(slot);
        }
        git_delete_remote_branch(&queue->git, queue_branch_access(queue), item->branch,
                                 item->commit, &end, NULL);
        delete_local(queue, item);
    }
    buf_printf(&folder, "%s/%" PRId64, queue->options.folder, item->number);
    /* opens: the folder of tasks is the user's, and out of the reach of sandboxed workers */
    file_remove_tree(buf_string(&folder), NULL);
    return end != GIT_CLAIM_NETWORK && release(queue, slot);
}

/* ---- The run -------------------------------------------------------------------------------- */

/** Why a run was not started, when that passes. */
static bool is_passing(int code)
{
    return code == RONDO_ERR_BUSY || code == RONDO_ERR_FULL || code == RONDO_ERR_CANCELLED ||
           code == RONDO_ERR_IO || code == RONDO_ERR_TIMEOUT;
}

/** What a run begins with cannot be had now: it is tried again later, and less and less often. */
static bool put_off(struct issue_queue *queue, struct queue_slot *slot, const char *message)
{
    const struct item_action action = {
        .act = ITEM_ACT_SET, .state = ITEM_RETRY_LATER, .reason = ITEM_FORGE_FAILED};
    item_set(&slot->item, &action, &queue->options.item, queue->options.random,
             forge_now(queue->forge));
    set_text(&slot->item.message, message);
    slot->failed_starts = 0;
    return end_step(queue, slot);
}

static bool start(struct issue_queue *queue, struct queue_slot *slot)
{
    struct rondo_error err = {0};
    if (!queue_prove(queue, slot)) {
        return is_lost(slot);
    }
    queue_run_name(queue, slot);
    if (!begin_step(queue, slot, ITEM_STEP_START)) {
        return is_lost(slot);
    }
    int r = queue_run_start(queue, slot, &err);
    if (is_passing(r)) {
        bool is_outside = r == RONDO_ERR_IO || r == RONDO_ERR_TIMEOUT;
        bool is_begun = slot->outcome.fact == RUN_FACT_IDLE;
        queue_say(queue, slot, "its run cannot be started now: %s", err.message);
        slot->failed_starts += is_outside && !is_begun && !queue_is_stopping(queue) ? 1 : 0;
        return slot->failed_starts >= QUEUE_FAILED_STARTS ? put_off(queue, slot, err.message)
                                                          : false;
    }
    if (r < 0) {
        block(queue, slot, r == RONDO_ERR_DENIED ? ITEM_DENIED : ITEM_REFUSED, err.message);
        return true;
    }
    slot->failed_starts = 0;
    if (slot->item.state != ITEM_IN_PROGRESS) {
        slot->item.state = ITEM_IN_PROGRESS;
        slot->item.reason = ITEM_REASON_NONE;
        item_note(&slot->item, forge_now(queue->forge), "run %s", slot->item.run_id);
        queue_say(queue, slot, "at work, run %s", slot->item.run_id);
    }
    return end_step(queue, slot);
}

static bool stop(struct issue_queue *queue, struct queue_slot *slot)
{
    struct rondo_error err = {0};
    const struct issue_port *port = queue->options.port;
    if (port->stop(port->context, slot->item.run_id, &err) < 0) {
        queue_say(queue, slot, "its run cannot be stopped: %s", err.message);
    }
    return false; /* It ends by itself, and wakes the queue. */
}

static bool set(struct issue_queue *queue, struct queue_slot *slot,
                const struct item_action *action)
{
    struct item *item = &slot->item;
    auto_free char *message = NULL;
    if (item->state == ITEM_IN_PROGRESS && action->state != ITEM_IN_PROGRESS) {
        message = memory_dup_string(slot->outcome.message);
        if (action->reason == ITEM_MODEL_FAILED) {
            queue_note_failure(queue, &queue->model_circuit);
        } else if (action->state == ITEM_IN_REVIEW) {
            issue_circuit_worked(&queue->model_circuit);
        }
        if (action->reason == ITEM_ATTEMPTS_SPENT && slot->outcome.gate_print != 0) {
            queue_gates_failed(queue, slot);
        } else if (action->state == ITEM_IN_REVIEW || action->state == ITEM_NEEDS_HUMAN) {
            queue_gates_worked(queue);
        }
    }
    item_set(item, action, &queue->options.item, queue->options.random, forge_now(queue->forge));
    if (message != NULL && item->state != ITEM_IN_REVIEW) {
        set_text(&item->message, message);
    }
    queue_say(queue, slot, "%s%s%s%s%s", item_state_name(item->state),
              item->reason == ITEM_REASON_NONE ? "" : ", ",
              item->reason == ITEM_REASON_NONE ? "" : item_reason_name(item->reason),
              item->message == NULL ? "" : ": ", item->message == NULL ? "" : item->message);
    if (item->state == ITEM_FENCED && queue->medium->withdraw != NULL) {
        queue->medium->withdraw(queue, slot);
    }
    bool is_saved = queue_save(queue, slot);
    if (is_saved) {
        queue_clear_request(queue, slot);
    }
    return is_saved;
}

/** A run that follows up a review begins from the branch of the pull request. */
static bool prepare_follow_up(struct issue_queue *queue, struct queue_slot *slot)
{
    int64_t now_ns = forge_now(queue->forge);
    item_begin_follow_up(&slot->item, now_ns, now_ns);
    queue_outcome_fini(&slot->outcome);
    return queue_save(queue, slot);
}

/** Once more, after a try that nobody knows about, or what there was is gone. */
static bool claim(struct issue_queue *queue, struct queue_slot *slot)
{
    enum git_claim_end end =
        queue_git_lets(queue) ? make_claim(queue, slot, "", 0) : GIT_CLAIM_NETWORK;
    if (end == GIT_CLAIM_LOST && queue->medium->is_comment) {
        lose_claim(queue, slot, end);
    }
    return end == GIT_CLAIM_DONE;
}

bool queue_do(struct issue_queue *queue, struct queue_slot *slot, const struct item_action *action)
{
    switch (action->act) {
    case ITEM_ACT_CLAIM:
        return claim(queue, slot);
    case ITEM_ACT_RENEW:
        return renew(queue, slot);
    case ITEM_ACT_MIRROR:
        return queue_prove(queue, slot) ? begin_step(queue, slot, ITEM_STEP_MIRROR) &&
                                              queue_tell(queue, slot) && end_step(queue, slot)
                                        : is_lost(slot);
    case ITEM_ACT_START:
        return start(queue, slot);
    case ITEM_ACT_FOLLOW_UP:
        return prepare_follow_up(queue, slot);
    case ITEM_ACT_STOP:
        return stop(queue, slot);
    case ITEM_ACT_PUSH:
        return push(queue, slot);
    case ITEM_ACT_PULL:
        return open_pull(queue, slot);
    case ITEM_ACT_SET:
        return set(queue, slot, action);
    case ITEM_ACT_RELEASE:
        return release(queue, slot);
    case ITEM_ACT_CLEAN:
        return clean(queue, slot);
    case ITEM_ACT_END:
        slot->is_ended = true;
        return false;
    case ITEM_ACT_WAIT:
        break;
    }
    return false;
}
