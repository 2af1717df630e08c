// SPDX-License-Identifier: Apache-2.0
/* Finding work: the list of issues, and which of them is taken next. */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "loop/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOUR_NS INT64_C(3600000000000)

static bool is_with_own_text(enum forge_end end)
{
    return end != FORGE_OK && end != FORGE_NOT_MODIFIED && end != FORGE_CANCELLED;
}

/* ---- The list ------------------------------------------------------------------------------- */

/** Only the issue that was asked for. @return how the read went */
static enum forge_end read_one(struct issue_queue *queue, struct forge_issues *ret_issues)
{
    struct forge_issue issue = {0};
    enum forge_end end = forge_read_issue(queue->forge, queue->options.number, &issue);
    if (end == FORGE_OK) {
        ret_issues->items = memory_new_zero(1, sizeof(issue));
        ret_issues->items[0] = issue;
        ret_issues->count = 1;
    }
    return end;
}

static enum forge_end read_issues(struct issue_queue *queue, struct forge_issues *ret_issues)
{
    return queue->options.number > 0
               ? read_one(queue, ret_issues)
               : forge_list_issues(queue->forge, queue->options.filter.labels, ret_issues);
}

/** An issue that was asked for and is not there is a fault, never another issue. */
static void fail_without_issue(struct issue_queue *queue, enum forge_end end)
{
    struct rondo_error err = {0};
    if (queue->options.number > 0 && queue->count == 0 &&
        (end == FORGE_ABSENT || end == FORGE_GONE || end == FORGE_MOVED)) {
        error_set(&err, RONDO_ERR_NOT_FOUND, "%s has no issue #%" PRId64 ": %s", queue->repository,
                  queue->options.number, forge_outcome(queue->forge)->message);
        queue_fail(queue, &err);
    }
}

static void plan_next(struct issue_queue *queue)
{
    const struct issue_queue_options *options = &queue->options;
    int64_t now_ns = clock_monotonic(options->clock);
    queue->next_poll_ns = now_ns + issue_poll_ns(queue->idle, options->poll_ns,
                                                 options->most_poll_ns, 0, options->random);
    if (queue->forge_circuit.open_until_ns > queue->next_poll_ns) {
        queue->next_poll_ns = queue->forge_circuit.open_until_ns;
    }
}

void queue_poll(struct issue_queue *queue)
{
    struct forge_issues issues = {0};
    if (!queue_read_facts(queue)) {
        plan_next(queue);
        return;
    }
    enum forge_end end = read_issues(queue, &issues);
    queue_forge_ended(queue, end);
    queue->polls++;
    if (end == FORGE_OK) {
        forge_issues_fini(&queue->issues);
        queue->issues = issues;
        issue_sort(&queue->options.filter, &queue->issues);
        queue->has_issues = true;
        queue->lists++;
        queue_untrouble(queue, QUEUE_TROUBLE_FORGE);
        pthread_mutex_lock(&queue->lock);
        queue->last.has_worked = true;
        pthread_mutex_unlock(&queue->lock);
    } else if (is_with_own_text(end)) {
        queue_trouble(queue, QUEUE_TROUBLE_FORGE, "the issues cannot be read: %s",
                      forge_outcome(queue->forge)->message);
        fail_without_issue(queue, end);
    }
    queue->idle = queue->count > 0 ? 0 : queue->idle;
    plan_next(queue);
    queue->idle++; /* until work is found */
}

/* ---- Which one ------------------------------------------------------------------------------ */

/** A forge may tell only those who may push what others may do. Who put a label on may change
 *  issues, but for the author, who gets the labels of a template as well. */
static enum forge_trust guess_trust(const struct forge_issue *issue, const char *login)
{
    bool is_author = issue->author == NULL || strcasecmp(issue->author, login) == 0;
    return is_author ? issue->author_trust : FORGE_MEMBER;
}

/** Whether the words that would start work are those of people who may start it. */
static enum issue_verdict judge_people(struct issue_queue *queue, const struct forge_issue *issue)
{
    const struct issue_filter *filter = &queue->options.filter;
    for (size_t i = 0; filter->labels != NULL && filter->labels[i] != NULL; i++) {
        auto_free char *login = NULL;
        enum forge_trust trust = FORGE_STRANGER;
        enum forge_end end =
            forge_find_labeller(queue->forge, issue->number, filter->labels[i], &login);
        if (end == FORGE_OK && login != NULL) {
            end = forge_read_trust(queue->forge, login, &trust);
        }
        queue_forge_ended(queue, end);
        if (end == FORGE_LIMITED || end == FORGE_UNAVAILABLE || end == FORGE_CANCELLED) {
            return ISSUE_COOLING;
        }
        if (end == FORGE_FORBIDDEN && login != NULL && !queue->facts.can_push) {
            trust = guess_trust(issue, login);
            end = FORGE_OK;
        }
        if (end != FORGE_OK || trust < filter->least_trust) { /* also when nobody is named */
            return ISSUE_UNTRUSTED;
        }
    }
    return ISSUE_ELIGIBLE;
}

/** What the label of a state means for those who do not have the claim. */
static enum item_state labelled_state(const struct issue_queue *queue,
                                      const struct forge_issue *issue)
{
    enum item_state state = ITEM_STATE_COUNT;
    enum item_state found;
    size_t place = 0;
    while (issue_state_of(issue, queue->options.filter.prefix, &place, &found)) {
        if (state == ITEM_STATE_COUNT || item_state_is_over(found) || found == ITEM_IN_REVIEW) {
            state = found;
        }
    }
    return state;
}

/** Whether somebody is at work, or was. */
static bool is_working(enum item_state state)
{
    return state == ITEM_ASSIGNED || state == ITEM_IN_PROGRESS || state == ITEM_RETRY_LATER;
}

bool queue_is_asked(struct issue_queue *queue, const struct forge_issue *issue)
{
    struct item_request request;
    struct item item = {0};
    auto_free char *key = item_key(queue->repository, issue->number);
    int64_t read_id = 0;
    if (queue->options.store != NULL && item_load(queue->options.store, key, &item, NULL) == 1) {
        read_id = item.read_comment_id > item.comment_id ? item.read_comment_id : item.comment_id;
    }
    item_fini(&item);
    if (queue_hear_retry(queue, issue, read_id == 0, &read_id)) {
        return true;
    }
    return queue->options.store != NULL && /* a preview has none */
           item_request_read(queue->options.store, key, &request, NULL) == 1 &&
           request.kind == ITEM_REQUEST_RETRY;
}

/**
 * Labels only tell: the claim decides whether anybody is at work. An issue whose owner is gone is
 * taken over, and one that waits for a person is left to that person.
 */
static bool may_take_labelled(struct issue_queue *queue, const struct forge_issue *issue)
{
    enum item_state state = labelled_state(queue, issue);
    return is_working(state) ||
           ((state == ITEM_BLOCKED || state == ITEM_NEEDS_HUMAN) && queue_is_asked(queue, issue));
}

enum issue_verdict queue_judge(struct issue_queue *queue, const struct forge_issue *issue,
                               struct queue_former *ret_former)
{
    int64_t blockers = 0;
    enum issue_verdict verdict =
        issue_judge(&queue->options.filter, issue, forge_now(queue->forge));
    if (verdict == ISSUE_HAS_STATE && may_take_labelled(queue, issue)) {
        verdict = ISSUE_ELIGIBLE; /* Whatever else has to be true has to be true of it as well. */
    }
    if (verdict != ISSUE_ELIGIBLE) {
        return verdict;
    }
    verdict = queue->medium->judge(queue, issue, ret_former);
    if (verdict == ISSUE_RELEASED && (queue->options.number > 0 || queue_is_asked(queue, issue))) {
        verdict = ISSUE_ELIGIBLE; /* A person wants it after all. */
    }
    if (verdict != ISSUE_ELIGIBLE) {
        return verdict;
    }
    enum forge_end end = forge_count_blockers(queue->forge, issue->number, &blockers);
    if (!queue_forge_ended(queue, end)) {
        queue_say(queue, NULL, "issue #%" PRId64 " has to wait: %s", issue->number,
                  forge_outcome(queue->forge)->message);
        return ISSUE_COOLING;
    }
    return blockers > 0 ? ISSUE_BLOCKED_BY : judge_people(queue, issue);
}

/* ---- Room ----------------------------------------------------------------------------------- */

/** Whether claims may be made: not while they are refused. */
static bool may_claim(const struct issue_queue *queue)
{
    return issue_circuit_lets(&queue->claim_circuit, clock_monotonic(queue->options.clock));
}

static bool has_room(struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    int64_t working = 0;
    for (size_t i = 0; i < queue->count; i++) {
        enum item_state state = queue->slots[i]->item.state;
        working += state == ITEM_ASSIGNED || state == ITEM_IN_PROGRESS ? 1 : 0;
    }
    return queue->has_issues && working < queue->options.most_running &&
           !(queue->options.is_once && queue->was_taken) &&
           issue_circuit_lets(&queue->forge_circuit, now_ns) &&
           issue_circuit_lets(&queue->model_circuit, now_ns) &&
           issue_circuit_lets(&queue->gate_circuit, now_ns) && may_claim(queue) &&
           issue_window_next(&queue->window, (size_t)queue->options.most_per_hour, HOUR_NS,
                             now_ns) <= now_ns &&
           !queue_is_day_spent(queue);
}

/* ---- Taking --------------------------------------------------------------------------------- */

/**
 * One that was not taken goes to the back: it is judged again after the next polls. By the clock of
 * this machine: that of a forge may jump.
 */
static void cool(struct issue_queue *queue, int64_t number, enum issue_verdict verdict)
{
    bool has_requests = verdict == ISSUE_UNTRUSTED || verdict == ISSUE_BLOCKED_BY;
    bool is_costly = has_requests || verdict == ISSUE_ELIGIBLE || verdict == ISSUE_CLAIMED;
    int64_t share_ns = (int64_t)queue->issues.count * QUEUE_COOL_SHARE_NS;
    int64_t wait_ns = is_costly ? QUEUE_COOL_NS : queue->options.poll_ns / 2;
    wait_ns = has_requests && share_ns > wait_ns ? share_ns : wait_ns;
    issue_cooling_add(&queue->cooling, number, clock_monotonic(queue->options.clock) + wait_ns);
}

bool queue_make_item(struct issue_queue *queue, const struct forge_issue *issue,
                     struct item *ret_item)
{
    struct rondo_error err = {0};
    char digest[DIGEST_HEX_SIZE];
    auto_free char *key = item_key(queue->repository, issue->number);
    int r = item_load(queue->options.store, key, ret_item, &err);
    if (r == RONDO_ERR_CORRUPT || r == RONDO_ERR_VERSION) {
        queue_say(queue, NULL, "left alone: %s", err.message);
        return false;
    }
    if (r < 0) {
        queue_fail(queue, &err);
        return false;
    }
    struct item *item = ret_item;
    item_digest(issue, digest);
    if (r == 0) {
        *item = (struct item){.key = steal_pointer(&key),
                              .repository = memory_dup_string(queue->repository),
                              .number = issue->number,
                              .mirrored = ITEM_STATE_COUNT};
    }
    free(item->title);
    free(item->url);
    free(item->content_digest);
    item->title = memory_dup_string(issue->title);
    item->url = memory_dup_string(issue->url);
    item->content_digest = memory_dup_string(digest);
    snprintf(item->owner, sizeof(item->owner), "%s", queue->options.owner);
    return true;
}

/** What the issue itself says now: the list may be from before somebody else worked on it, or a
 *  person changed it. @return ISSUE_COOLING when it cannot be read, or has another text */
static enum issue_verdict judge_now(struct issue_queue *queue, const struct forge_issue *listed)
{
    char digest[DIGEST_HEX_SIZE];
    char listed_digest[DIGEST_HEX_SIZE];
    struct forge_issue issue = {0};
    enum issue_verdict verdict = ISSUE_COOLING;
    enum forge_end end = forge_read_issue(queue->forge, listed->number, &issue);
    if (queue_forge_ended(queue, end)) {
        verdict = issue_judge(&queue->options.filter, &issue, forge_now(queue->forge));
        enum item_state state = labelled_state(queue, &issue);
        if (verdict == ISSUE_HAS_STATE &&
            (is_working(state) || state == labelled_state(queue, listed))) {
            verdict = ISSUE_ELIGIBLE;
        }
        item_digest(&issue, digest);
        item_digest(listed, listed_digest);
        bool is_same = strcmp(digest, listed_digest) == 0;
        verdict = verdict == ISSUE_ELIGIBLE && !is_same ? ISSUE_COOLING : verdict;
    }
    forge_issue_fini(&issue);
    return verdict;
}

/** What was asked of the issue before it was taken is done by that. */
static void clear_old_request(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item_request request;
    if (item_request_read(queue->options.store, slot->item.key, &request, NULL) == 1) {
        slot->request_version = request.version;
        queue_clear_request(queue, slot);
    }
}

/** @return ISSUE_ELIGIBLE when it was taken, else why not */
static enum issue_verdict take(struct issue_queue *queue, const struct forge_issue *issue,
                               const struct queue_former *former)
{
    struct item item = {0};
    if (!queue_make_item(queue, issue, &item)) {
        return ISSUE_UNREADABLE;
    }
    struct queue_slot *slot = queue_add(queue, &item);
    bool is_ours = queue_claim(queue, slot, former);
    if (!is_ours && item_state_is_over(slot->item.state)) {
        slot->is_ended = true;
        return ISSUE_CLAIMED;
    }
    enum issue_verdict verdict = is_ours ? judge_now(queue, issue) : ISSUE_COOLING;
    if (verdict != ISSUE_ELIGIBLE && verdict != ISSUE_COOLING) {
        queue_give_back(queue, slot);
        return verdict;
    }
    clear_old_request(queue, slot);
    queue_skip_heard(queue, issue, &slot->item.read_comment_id);
    issue_window_add(&queue->window, clock_monotonic(queue->options.clock));
    queue->was_taken = true;
    queue->idle = 0;
    return ISSUE_ELIGIBLE;
}

static bool is_any_circuit_open(const struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    return !issue_circuit_lets(&queue->forge_circuit, now_ns) ||
           !issue_circuit_lets(&queue->model_circuit, now_ns) ||
           !issue_circuit_lets(&queue->git_circuit, now_ns) || !may_claim(queue);
}

/** Whether to judge another issue in this pass, which began then. */
static bool may_judge(struct issue_queue *queue, int64_t begin_ns)
{
    queue->is_pass_late = clock_monotonic(queue->options.clock) - begin_ns >= QUEUE_PASS_NS;
    queue->is_pass_cut =
        queue->is_pass_late || is_any_circuit_open(queue) || queue_is_stopping(queue);
    return !queue->is_pass_cut;
}

/** Remember one issue that may be work, so that nobody says there is none. */
static void note_judged(struct issue_queue *queue, int64_t number, enum issue_verdict verdict)
{
    if (verdict == ISSUE_COOLING) {
        queue->unjudged = number;
    } else if (queue->unjudged == number) {
        queue->unjudged = 0;
    }
}

/** Whether one is left alone for now, for us or after it was not taken a short time ago. */
static bool is_left_alone(struct issue_queue *queue, int64_t number)
{
    return queue_find(queue, number) != NULL ||
           issue_cooling_has(queue->cooling, number, clock_monotonic(queue->options.clock));
}

/** The only issue that was asked for is not to be had. */
static void fail_with(struct issue_queue *queue, int64_t number, enum issue_verdict verdict)
{
    struct rondo_error err = {0};
    error_set(&err, RONDO_ERR_STATE, "issue #%" PRId64 " is not worked on: %s", number,
              issue_verdict_text(verdict));
    queue_fail(queue, &err);
}

bool queue_take(struct issue_queue *queue)
{
    int64_t begin_ns = clock_monotonic(queue->options.clock);
    bool is_there = false;
    queue->is_pass_late = false;
    queue->is_pass_cut = is_any_circuit_open(queue);
    if (!has_room(queue)) {
        return false;
    }
    for (size_t i = 0; i < queue->issues.count; i++) {
        const struct forge_issue *issue = &queue->issues.items[i];
        auto_former struct queue_former former = {0};
        is_there = is_there || issue->number == queue->unjudged;
        if (is_left_alone(queue, issue->number)) {
            continue;
        }
        if (!may_judge(queue, begin_ns)) {
            return false;
        }
        enum issue_verdict verdict = queue_judge(queue, issue, &former);
        verdict = verdict == ISSUE_ELIGIBLE ? judge_now(queue, issue) : verdict;
        note_judged(queue, issue->number, verdict);
        is_there = is_there || issue->number == queue->unjudged;
        if (verdict == ISSUE_ELIGIBLE && !queue_reserve(queue)) {
            cool(queue, issue->number, ISSUE_COOLING);
            queue->is_pass_cut = true;
            return false;
        }
        uint64_t refused = queue->claim_circuit.failures;
        enum issue_verdict obstacle =
            verdict == ISSUE_ELIGIBLE ? take(queue, issue, &former) : verdict;
        if (obstacle == ISSUE_ELIGIBLE) {
            return true; /* Its first look takes the place. */
        }
        queue_unreserve(queue);
        /* When claims are refused, that is not because of this issue. */
        bool is_refused = queue->claim_circuit.failures > refused;
        cool(queue, issue->number, is_refused ? ISSUE_COOLING : verdict);
        if (queue->options.number > 0 && verdict != ISSUE_COOLING) {
            fail_with(queue, issue->number, obstacle);
        }
    }
    queue->unjudged = is_there ? queue->unjudged : 0;
    return false;
}

/* ---- After a restart ------------------------------------------------------------------------ */

struct left_items {
    const struct issue_queue *queue;
    char **keys;
    size_t count;
};

static bool is_left(const struct issue_queue *queue, const struct item *item)
{
    bool is_ours = item->owner[0] == '\0' || strcmp(item->owner, queue->options.owner) == 0;
    bool is_finished =
        item_state_is_over(item->state) && item->mirrored == item->state && item->is_released;
    return !is_finished && item->state != ITEM_FENCED && (is_ours || owner_is_dead(item->owner));
}

static bool note_left(const struct item *item, void *context)
{
    struct left_items *left = context;
    int64_t number = left->queue->options.number;
    if (is_left(left->queue, item) && (number == 0 || number == item->number)) {
        left->keys = memory_resize(left->keys, left->count + 1, sizeof(*left->keys));
        left->keys[left->count++] = memory_dup_string(item->key);
    }
    return true;
}

static void adopt(struct issue_queue *queue, const char *key)
{
    struct item item = {0};
    struct rondo_error err = {0};
    int r = item_load(queue->options.store, key, &item, &err);
    if (r < 0) {
        queue_fail(queue, &err);
    }
    if (r <= 0) {
        return;
    }
    bool is_work = item.state != ITEM_IN_REVIEW && !item_state_is_over(item.state);
    item_adopt(&item, queue->options.owner, forge_now(queue->forge));
    struct queue_slot *slot = queue_add(queue, &item);
    if (queue_save(queue, slot)) {
        queue->was_taken = queue->was_taken || is_work;
        queue_say(queue, slot, "taken up again; it was %s", item_state_name(slot->item.state));
    }
}

void queue_adopt(struct issue_queue *queue)
{
    struct left_items left = {.queue = queue};
    struct rondo_error err = {0};
    int r = items_read(queue->options.store, queue->repository, note_left, &left, &err);
    if (r == RONDO_ERR_CORRUPT || r == RONDO_ERR_VERSION) {
        queue_say(queue, NULL, "left alone: %s", err.message); /* All others were read. */
    } else if (r < 0) {
        queue_fail(queue, &err);
    }
    for (size_t i = 0; i < left.count; i++) {
        adopt(queue, left.keys[i]);
        free(left.keys[i]);
    }
    free(left.keys);
}

/* ---- Preview -------------------------------------------------------------------------------- */

/** "left alone, released by a person until 2026-11-29T12:00:00Z". */
static void add_obstacle(enum issue_verdict verdict, const struct queue_former *former,
                         struct buf *ret_text)
{
    char time[CLOCK_UTC_SIZE];
    buf_printf(ret_text, "left alone, %s", issue_verdict_text(verdict));
    if (verdict == ISSUE_RELEASED) {
        clock_format_utc(former->claim.released_until_ns, time);
        buf_printf(ret_text, " until %s", time);
    }
}

void queue_preview(struct issue_queue *queue, struct buf *ret_text)
{
    enum forge_end end = read_issues(queue, &queue->issues);
    if (end != FORGE_OK) {
        struct rondo_error err = {0};
        error_set(&err, RONDO_ERR_IO, "the issues cannot be read: %s",
                  forge_outcome(queue->forge)->message);
        fail_without_issue(queue, end);
        queue_fail(queue, &err);
        return;
    }
    issue_sort(&queue->options.filter, &queue->issues);
    bool is_first = true;
    for (size_t i = 0; i < queue->issues.count; i++) {
        const struct forge_issue *issue = &queue->issues.items[i];
        auto_buf struct buf branch = {0};
        auto_former struct queue_former former = {0};
        enum issue_verdict verdict = queue_judge(queue, issue, &former);
        item_write_branch(issue->number, issue->title, &branch);
        buf_printf(ret_text, "#%" PRId64 " ", issue->number);
        text_clean(issue->title, strlen(issue->title), ret_text);
        if (verdict != ISSUE_ELIGIBLE) {
            buf_append_string(ret_text, ": ");
            add_obstacle(verdict, &former, ret_text);
            buf_append_string(ret_text, "\n");
        } else {
            buf_printf(ret_text, ": %s on branch %s, based on %s\n",
                       is_first ? "would be worked on next"
                                : "waits for its turn; would be worked on",
                       buf_string(&branch), queue->base);
            is_first = false;
        }
    }
    if (queue->issues.count == 0) {
        buf_append_string(ret_text, "no open issue has all the labels\n");
    }
}
