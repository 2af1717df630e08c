// SPDX-License-Identifier: Apache-2.0
/* The thread of a queue: when to look at the forge, whose turn it is, and what is waited for. */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Most effects on one item in a row, before others have their turn. */
#define MOST_EFFECTS 12
/** Longest wait, so that runs that others end are noticed. */
#define MOST_WAIT_NS (2 * NS_PER_S)

void queue_say(struct issue_queue *queue, const struct queue_slot *slot, const char *format, ...)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf line = {0};
    auto_buf struct buf clean = {0};
    char *words = NULL;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&words, format, arguments);
    va_end(arguments);
    if (len < 0) {
        return;
    }
    text_clean(words, (size_t)len, &clean);
    free(words);
    if (slot != NULL) {
        buf_printf(&line, "%s#%" PRId64 ": ", queue->options.place->name, slot->item.number);
    }
    buf_append_string(&line, buf_string(&clean));
    if (queue->options.log != NULL) {
        queue->options.log(queue->options.context, buf_string(&line));
    }
    if (queue->options.event != NULL) {
        struct json_writer writer = json_writer(&text);
        json_begin_object(&writer, NULL);
        json_write_time(&writer, "time", clock_now(queue->options.clock));
        json_write_string(&writer, "repository", queue->repository);
        if (slot != NULL) {
            json_write_int(&writer, "issue", slot->item.number);
            json_write_string(&writer, "state", item_state_name(slot->item.state));
            json_write_string(&writer, "reason", item_reason_name(slot->item.reason));
            json_write_string(&writer, "run", slot->item.run_id);
            json_write_string(&writer, "pull_url", slot->item.pull_url);
        }
        json_write_string(&writer, "message", buf_string(&clean));
        json_end_object(&writer);
        queue->options.event(queue->options.context, buf_string(&text));
    }
}

void queue_fail(struct issue_queue *queue, const struct rondo_error *err)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->fault.code == 0) {
        queue->fault = *err;
    }
    queue->is_stopping = true;
    pthread_mutex_unlock(&queue->lock);
}

bool queue_is_stopping(struct issue_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool is_stopping = queue->is_stopping;
    pthread_mutex_unlock(&queue->lock);
    return is_stopping || cancel_is_set(&queue->cancel);
}

/** A token that is refused, or a repository that is gone, will not mend itself within a run that a
 *  person waits for. */
static bool is_final(enum forge_end end)
{
    return end == FORGE_AUTH || end == FORGE_ABSENT || end == FORGE_MOVED || end == FORGE_GONE;
}

void queue_note_failure(struct issue_queue *queue, struct issue_circuit *circuit)
{
    issue_circuit_failed(circuit, QUEUE_FAILURES, queue->options.poll_ns,
                         clock_monotonic(queue->options.clock));
}

bool queue_forge_ended(struct issue_queue *queue, enum forge_end end)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    if (end == FORGE_UNAVAILABLE || end == FORGE_AUTH || end == FORGE_UNCERTAIN) {
        queue_note_failure(queue, &queue->forge_circuit);
    } else if (end == FORGE_LIMITED) {
        int64_t wait_ns = forge_outcome(queue->forge)->until_ns - forge_now(queue->forge);
        queue->forge_circuit.open_until_ns = now_ns + (wait_ns > 0 ? wait_ns : 0);
    } else if (end != FORGE_CANCELLED) {
        issue_circuit_worked(&queue->forge_circuit);
    }
    return end == FORGE_OK;
}

void queue_git_ended(struct issue_queue *queue, enum git_claim_end end, const char *reason)
{
    if (end == GIT_CLAIM_DONE || end == GIT_CLAIM_LOST) {
        issue_circuit_worked(&queue->git_circuit);
        queue_untrouble(queue, QUEUE_TROUBLE_GIT);
        return;
    }
    if (queue_is_stopping(queue)) {
        return;
    }
    const char *what = end == GIT_CLAIM_AUTH      ? "git has no valid credentials for the remote"
                       : end == GIT_CLAIM_REFUSED ? "the git remote refuses"
                                                  : "the git remote does not answer";
    bool has_reason = reason != NULL && reason[0] != '\0';
    queue_trouble(queue, QUEUE_TROUBLE_GIT, "%s%s%s", what, has_reason ? ": " : "",
                  has_reason ? reason : "");
    issue_circuit_failed(&queue->git_circuit, QUEUE_FAILURES, QUEUE_GIT_PAUSE_NS,
                         clock_monotonic(queue->options.clock));
}

bool queue_git_lets(const struct issue_queue *queue)
{
    return issue_circuit_lets(&queue->git_circuit, clock_monotonic(queue->options.clock));
}

/* ---- Items ---------------------------------------------------------------------------------- */

struct queue_slot *queue_find(struct issue_queue *queue, int64_t number)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (queue->slots[i]->item.number == number) {
            return queue->slots[i];
        }
    }
    return NULL;
}

struct queue_slot *queue_add(struct issue_queue *queue, struct item *item)
{
    struct queue_slot *slot = memory_new_zero(1, sizeof(*slot));
    slot->item = *item;
    *item = (struct item){0};
    queue->slots = memory_resize(queue->slots, queue->count + 1, sizeof(struct queue_slot *));
    queue->slots[queue->count++] = slot;
    return slot;
}

static void free_slot(struct queue_slot *slot)
{
    item_fini(&slot->item);
    queue_outcome_fini(&slot->outcome);
    queue_let_go(slot);
    free(slot->failure);
    free(slot);
}

static void drop_ended(struct issue_queue *queue)
{
    size_t kept = 0;
    for (size_t i = 0; i < queue->count; i++) {
        if (queue->slots[i]->is_ended) {
            free_slot(queue->slots[i]);
        } else {
            queue->slots[kept++] = queue->slots[i];
        }
    }
    queue->count = kept;
}

bool queue_save(struct issue_queue *queue, struct queue_slot *slot)
{
    struct rondo_error err = {0};
    if (!slot->is_swept) {
        pthread_mutex_lock(&queue->lock);
        queue->last.number = slot->item.number;
        queue->last.state = slot->item.state;
        queue->last.reason = slot->item.reason;
        pthread_mutex_unlock(&queue->lock);
    }
    slot->item.updated_ns = clock_now(queue->options.clock);
    int r = item_save(queue->options.store, &slot->item, &err);
    if (r < 0) {
        error_prefix(&err, "issue #%" PRId64 " cannot be recorded", slot->item.number);
        queue_fail(queue, &err);
    }
    return r == 0;
}

void queue_clear_request(struct issue_queue *queue, struct queue_slot *slot)
{
    /* One that came meanwhile has another version, and stays. */
    if (slot->request_version > 0) {
        item_request_clear(queue->options.store, slot->item.key, slot->request_version, NULL);
    }
    queue_forget_heard(queue, slot->item.number);
    slot->request_version = 0;
    slot->is_asked_released = false;
    slot->is_asked_retry = false;
}

/* ---- The thread ----------------------------------------------------------------------------- */

/** Look at an item and do what is next, until it waits. */
static void advance(struct issue_queue *queue, struct queue_slot *slot)
{
    bool has_done = true;
    for (int i = 0; has_done && !slot->is_ended && i < MOST_EFFECTS; i++) {
        queue_see(queue, slot);
        if (queue_is_stopping(queue)) {
            return;
        }
        struct item_action action = item_next(&slot->item, &slot->facts, &queue->options.item);
        if (action.act == ITEM_ACT_WAIT && action.at_ns < queue->next_due_ns) {
            queue->next_due_ns = action.at_ns;
        }
        has_done = queue_do(queue, slot, &action);
    }
}

/** Once: the issue that was taken needs no more, or there was none. Older ones may be in review. */
static bool is_finished(const struct issue_queue *queue)
{
    bool is_all = !queue->is_pass_cut && queue->unjudged == 0;
    bool has_tried = queue->has_issues && (queue->was_taken || is_all);
    if (!queue->options.is_once || !has_tried) {
        return false;
    }
    for (size_t i = 0; i < queue->count; i++) {
        const struct item *item = &queue->slots[i]->item;
        bool is_told = item->mirrored == item->state || item->state == ITEM_FENCED;
        if (item->state != ITEM_IN_REVIEW || !is_told) {
            return false;
        }
    }
    return true;
}

static void look(struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    pthread_mutex_lock(&queue->lock);
    bool is_hinted = queue->wants_poll && now_ns - queue->polled_ns >= QUEUE_HINT_GAP_NS;
    bool polls = is_hinted || now_ns >= queue->next_poll_ns;
    if (queue->wants_poll && !polls) {
        int64_t due_ns = queue->polled_ns + QUEUE_HINT_GAP_NS;
        queue->next_poll_ns = due_ns < queue->next_poll_ns ? due_ns : queue->next_poll_ns;
    }
    queue->wants_poll = false;
    queue->is_woken = false;
    pthread_mutex_unlock(&queue->lock);
    if (polls && issue_circuit_lets(&queue->forge_circuit, now_ns)) {
        queue->polled_ns = now_ns;
        queue_poll(queue);
        queue_sweep(queue);
    }
    queue->next_due_ns = INT64_MAX;
    for (size_t i = 0; i < queue->count && !queue_is_stopping(queue); i++) {
        advance(queue, queue->slots[i]);
    }
    drop_ended(queue);
    while (!queue_is_stopping(queue) && queue_take(queue)) {
        advance(queue, queue->slots[queue->count - 1]);
        drop_ended(queue);
    }
    queue_show_trouble(queue);
}

/** Monotonic: the forge is not asked before its circuit lets. */
static int64_t next_look_ns(const struct issue_queue *queue)
{
    int64_t open_ns = queue->forge_circuit.open_until_ns;
    return queue->is_pass_late ? 0 : open_ns > queue->next_poll_ns ? open_ns : queue->next_poll_ns;
}

static void wait(struct issue_queue *queue)
{
    const struct clock *clock = queue->options.clock;
    int64_t wait_ns = next_look_ns(queue) - clock_monotonic(clock);
    int64_t due_ns =
        queue->next_due_ns == INT64_MAX ? INT64_MAX : queue->next_due_ns - forge_now(queue->forge);
    wait_ns = due_ns < wait_ns ? due_ns : wait_ns;
    wait_ns = queue->count > 0 && wait_ns > MOST_WAIT_NS ? MOST_WAIT_NS : wait_ns;
    wait_ns = wait_ns < 10 * NS_PER_MS ? 10 * NS_PER_MS : wait_ns;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t until_ns = (int64_t)until.tv_sec * NS_PER_S + until.tv_nsec + wait_ns;
    until = (struct timespec){.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    pthread_mutex_lock(&queue->lock);
    while (!queue->is_woken && !queue->is_stopping &&
           pthread_cond_timedwait(&queue->changed, &queue->lock, &until) == 0) {
    }
    pthread_mutex_unlock(&queue->lock);
}

/** Nothing is due for some time. @return whether the thread ends until then */
static bool park(struct issue_queue *queue)
{
    const struct issue_queue_options *options = &queue->options;
    int64_t until_ns = next_look_ns(queue);
    int64_t wait_ns = until_ns - clock_monotonic(options->clock);
    if (options->parked == NULL || queue->count > 0 || wait_ns < QUEUE_PARK_NS) {
        return false;
    }
    pthread_mutex_lock(&queue->lock);
    bool is_parked = !queue->is_woken && !queue->is_stopping;
    queue->is_parked = is_parked;
    queue->parked_until_ns = until_ns;
    pthread_mutex_unlock(&queue->lock);
    if (is_parked) {
        options->parked(options->context);
    }
    return is_parked;
}

/** Nobody has to find out that this process is gone. */
static void leave(struct issue_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        queue->slots[i]->item.owner[0] = '\0';
        item_save(queue->options.store, &queue->slots[i]->item, NULL);
    }
}

static void *queue_main(void *context)
{
    struct issue_queue *queue = context;
    bool begins = !queue->is_begun && (queue_read_facts(queue) || !queue->options.is_once);
    bool is_well = begins || queue->is_begun;
    queue->is_begun = true;
    if (begins) {
        queue_adopt(queue);
    }
    while (is_well && !queue_is_stopping(queue)) {
        look(queue);
        if (is_finished(queue)) {
            break;
        }
        if (park(queue)) {
            return NULL;
        }
        wait(queue);
    }
    leave(queue);
    queue_end_troubles(queue);
    pthread_mutex_lock(&queue->lock);
    queue->is_over = true;
    pthread_mutex_unlock(&queue->lock);
    if (queue->options.ended != NULL) {
        queue->options.ended(queue->options.context);
    }
    return NULL;
}

/** Those who may push claim by references, others by comments. @return whether that is known */
static bool choose_medium(struct issue_queue *queue)
{
    struct rondo_error err = {0};
    if (queue->options.fork == NULL) {
        return true;
    }
    int r = queue_fork_open(queue, &err);
    if (r == 0 && !queue->facts.can_push && queue->facts.login == NULL) {
        r = error_set(&err, RONDO_ERR_DENIED, "%s does not report the login of the token",
                      queue->options.place->host);
    }
    if (r < 0) {
        queue_say(queue, NULL, "%s", err.message);
    }
    if (r < 0 && (r != RONDO_ERR_IO || queue->options.is_once)) {
        queue_fail(queue, &err);
    }
    queue->medium = queue->facts.can_push ? &queue_refs : &queue_comments;
    return r == 0;
}

bool queue_read_facts(struct issue_queue *queue)
{
    if (queue->has_facts) {
        return true;
    }
    enum forge_end end = forge_read_repository(queue->forge, &queue->facts);
    queue->has_facts = queue_forge_ended(queue, end);
    queue->options.filter.login = queue->facts.login; /* What is assigned to us is ours to do. */
    if (queue->has_facts && queue->facts.is_archived) {
        struct rondo_error err = {0};
        error_set(&err, RONDO_ERR_DENIED, "%s is archived: it is read-only", queue->repository);
        queue_fail(queue, &err);
    }
    if (queue->has_facts && !choose_medium(queue)) {
        forge_repository_fini(&queue->facts);
        queue->options.filter.login = NULL;
        queue->medium = NULL;
        queue->has_facts = false;
        return false;
    }
    if (queue->has_facts && queue->base == NULL) {
        queue->base = memory_dup_string(queue->facts.default_branch);
    }
    if (!queue->has_facts) {
        struct rondo_error err = {0};
        error_set(&err, is_final(end) ? RONDO_ERR_NOT_FOUND : RONDO_ERR_IO, "%s: %s",
                  queue->repository, forge_outcome(queue->forge)->message);
        queue_trouble(queue, QUEUE_TROUBLE_FORGE, "%s", err.message);
        if (queue->options.is_once || is_final(end)) {
            queue_fail(queue, &err);
        }
    }
    return queue->has_facts;
}

/* ---- From outside --------------------------------------------------------------------------- */

static int open_forge(struct issue_queue *queue, struct rondo_error *err)
{
    const struct issue_queue_options *options = &queue->options;
    const struct forge_options forge = {.place = options->place,
                                        .token = options->token,
                                        .http = options->http,
                                        .clock = options->clock,
                                        .random = options->random,
                                        .cancel = &queue->cancel,
                                        .paces = options->paces,
                                        .write_gap_ns = options->write_gap_ns};
    auto_buf struct buf name = {0};
    buf_printf(&name, "%s/%s/%s", options->place->host, options->place->owner,
               options->place->name);
    queue->repository = buf_steal(&name);
    queue->base = memory_dup_string(options->base);
    queue->git = (struct git){.repository = options->repository,
                              .cancel = &queue->cancel,
                              .supervisor = options->supervisor};
    int r = cancel_init(&queue->cancel, err);
    return r < 0 ? r : forge_open(&forge, &queue->forge, err);
}

void queue_free(struct issue_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        free_slot(queue->slots[i]);
    }
    queue_unreserve(queue);
    queue_end_troubles(queue); /* of one that was parked, or previewed */
    free(queue->slots);
    free(queue->heard);
    free(queue->odd);
    free(queue->tags);
    issue_window_fini(&queue->window);
    forge_close(queue->forge);
    forge_repository_fini(&queue->facts);
    forge_issues_fini(&queue->issues);
    git_claims_fini(&queue->claims);
    issue_cooling_free(queue->cooling);
    cancel_fini(&queue->cancel);
    free(queue->base);
    free(queue->fork_url);
    free(queue->fork_origin);
    free(queue->repository);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed);
    free(queue);
}

static struct issue_queue *make(const struct issue_queue_options *options, struct rondo_error *err)
{
    struct issue_queue *queue = memory_new_zero(1, sizeof(*queue));
    pthread_condattr_t attributes;
    queue->options = *options;
    queue->medium = options->fork == NULL ? &queue_refs : NULL;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (open_forge(queue, err) < 0) {
        queue_free(queue);
        return NULL;
    }
    return queue;
}

static void join_thread(struct issue_queue *queue)
{
    if (queue->has_thread) {
        pthread_join(queue->thread, NULL);
    }
    queue->has_thread = false;
}

/** @return an error of the system; 0 = none */
static int start_thread(struct issue_queue *queue)
{
    int failure = pthread_create(&queue->thread, NULL, queue_main, queue);
    queue->has_thread = failure == 0;
    return failure;
}

int issue_queue_start(const struct issue_queue_options *options, struct issue_queue **ret_queue,
                      struct rondo_error *err)
{
    struct rondo_error own = {0};
    err = err == NULL ? &own : err;
    struct issue_queue *queue = make(options, err);
    if (queue == NULL) {
        return err->code;
    }
    int failure = start_thread(queue);
    if (failure != 0) {
        queue_free(queue);
        return error_set_errno(err, RONDO_ERR_SYSTEM, failure, "a thread cannot be started");
    }
    *ret_queue = queue;
    return 0;
}

int64_t issue_queue_tend(struct issue_queue *queue)
{
    int64_t now_ns = clock_monotonic(queue->options.clock);
    pthread_mutex_lock(&queue->lock);
    int64_t until_ns = queue->is_parked ? queue->parked_until_ns : INT64_MAX;
    bool is_due = queue->is_parked && (queue->is_woken || until_ns <= now_ns);
    bool was_parked = queue->is_parked;
    queue->is_parked = was_parked && !is_due;
    pthread_mutex_unlock(&queue->lock);
    if (was_parked) {
        join_thread(queue); /* That is when its stack is given back. */
    }
    if (!is_due || start_thread(queue) == 0) {
        return is_due ? INT64_MAX : until_ns;
    }
    pthread_mutex_lock(&queue->lock);
    queue->is_parked = true;
    queue->is_woken = false; /* There is no room for a thread just now. */
    queue->parked_until_ns = now_ns + QUEUE_PARK_NS;
    pthread_mutex_unlock(&queue->lock);
    return now_ns + QUEUE_PARK_NS;
}

void issue_queue_wake(struct issue_queue *queue, bool polls)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_woken = true;
    queue->wants_poll = queue->wants_poll || polls;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool issue_queue_is_over(struct issue_queue *queue, struct issue_queue_end *ret_end)
{
    pthread_mutex_lock(&queue->lock);
    bool is_over = queue->is_over;
    *ret_end = queue->last;
    ret_end->fault = queue->fault;
    pthread_mutex_unlock(&queue->lock);
    return is_over;
}

void issue_queue_stop(struct issue_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&queue->lock);
    queue->is_stopping = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    cancel_set(&queue->cancel, CANCEL_GRACEFUL);
    join_thread(queue);
    queue_free(queue);
}

int issue_queue_preview(const struct issue_queue_options *options, struct buf *ret_text,
                        bool *ret_by_comments, struct rondo_error *err)
{
    struct rondo_error own = {0};
    err = err == NULL ? &own : err;
    struct issue_queue *queue = make(options, err);
    if (queue == NULL) {
        return err->code;
    }
    if (queue_read_facts(queue)) {
        queue_preview(queue, ret_text);
        *ret_by_comments = queue->medium->is_comment;
    }
    *err = queue->fault;
    int code = queue->fault.code;
    queue_free(queue);
    return code;
}
