// SPDX-License-Identifier: Apache-2.0
/*
 * Accepting events. All that belongs to one event is one transaction: the request, the key by which
 * it is recognised, the mark of its source, and the refusal of a request that it replaces.
 */
#include "source/intake/intake.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "source/intake/dedupe.h"
#include "source/intake/intake_internal.h"
#include "source/intake/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Times that another process may be faster with the same event. */
#define MOST_TRIES 3

static const char *const rule_names[QUEUE_RULE_COUNT] = {"queue", "coalesce", "drop_oldest",
                                                         "refuse"};
static const char *const outcome_names[INTAKE_OUTCOME_COUNT] = {
    "accepted", "duplicate", "coalesced", "refused", "full", "overtaken"};

const char *queue_rule_name(enum queue_rule rule)
{
    return rule_names[rule];
}

bool queue_rule_from_name(const char *name, enum queue_rule *ret_rule)
{
    for (enum queue_rule i = QUEUE_WAIT; i < QUEUE_RULE_COUNT; i++) {
        if (strcmp(name, rule_names[i]) == 0) {
            *ret_rule = i;
            return true;
        }
    }
    return false;
}

const char *intake_outcome_name(enum intake_outcome outcome)
{
    return outcome_names[outcome];
}

/* ---- Opening -------------------------------------------------------------------------------- */

int intake_open(const struct intake_options *options, struct intake **ret_intake,
                struct rondo_error *err)
{
    struct intake *intake = memory_new_zero(1, sizeof(*intake));
    intake->store = options->store;
    intake->clock = options->clock == NULL ? clock_system() : options->clock;
    intake->random = options->random == NULL ? random_system() : options->random;
    snprintf(intake->owner, sizeof(intake->owner), "%s", options->owner);
    intake->max_running = options->max_running == 0 ? INTAKE_DEFAULT_RUNNING : options->max_running;
    intake->on_ready = options->on_ready;
    intake->on_notice = options->on_notice;
    intake->is_dead = options->is_dead;
    intake->context = options->context;
    pthread_mutex_init(&intake->submitting, NULL);
    pthread_mutex_init(&intake->lock, NULL);
    int r = intake_adopt(intake, err);
    if (r < 0) {
        intake_close(intake);
        return r;
    }
    *ret_intake = intake;
    return 0;
}

void intake_close(struct intake *intake)
{
    if (intake == NULL) {
        return;
    }
    intake_index_free(intake);
    pthread_mutex_destroy(&intake->lock);
    pthread_mutex_destroy(&intake->submitting);
    free(intake);
}

static void tell_ready(struct intake *intake)
{
    if (intake->on_ready != NULL) {
        intake->on_ready(intake->context);
    }
}

int intake_adopt(struct intake *intake, struct rondo_error *err)
{
    pthread_mutex_lock(&intake->submitting);
    uint64_t waiting = intake_state(intake).waiting;
    int r = intake_load(intake, err);
    bool has_more = intake_state(intake).waiting > waiting;
    pthread_mutex_unlock(&intake->submitting);
    if (has_more) {
        tell_ready(intake);
    }
    return r;
}

int intake_purge(struct intake *intake, struct rondo_error *err)
{
    int r;
    do {
        r = dedupe_purge(intake->store, clock_now(intake->clock), err);
    } while (r > 0);
    return r < 0 ? r : refusals_prune(intake->store, err);
}

/* ---- Roles ---------------------------------------------------------------------------------- */

void intake_set_role(struct intake *intake, const char *role, const struct queue_options *options)
{
    pthread_mutex_lock(&intake->lock);
    struct role_queue *queue = intake_queue_of(intake, role);
    queue->options = *options;
    queue->is_open = true;
    pthread_mutex_unlock(&intake->lock);
    tell_ready(intake);
}

void intake_remove_role(struct intake *intake, const char *role)
{
    pthread_mutex_lock(&intake->lock);
    intake_queue_of(intake, role)->is_open = false;
    pthread_mutex_unlock(&intake->lock);
}

void intake_hold_role(struct intake *intake, const char *role, bool is_held)
{
    pthread_mutex_lock(&intake->lock);
    intake_queue_of(intake, role)->is_held = is_held;
    pthread_mutex_unlock(&intake->lock);
}

/* ---- Marks ---------------------------------------------------------------------------------- */

/** The mark of an event replaces the one that the source has read. */
static void add_mark(struct intake_changes *changes, const struct intake_event *event)
{
    int64_t version = event->mark_version == 0 ? STORE_ANY_VERSION : (int64_t)event->mark_version;
    buf_append_string(intake_changes_put(changes, SOURCE_MARK_COLLECTION, event->source, version),
                      event->mark);
}

int intake_begin_mark(struct intake *intake, const char *source, const char *mark, char **ret_mark,
                      struct rondo_error *err)
{
    struct intake_changes changes = {0};
    buf_append_string(intake_changes_put(&changes, SOURCE_MARK_COLLECTION, source, 0), mark);
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    return r < 0 ? r : source_mark_read(intake->store, source, ret_mark, NULL, err);
}

int intake_replace_mark(struct intake *intake, const char *source, const char *mark,
                        uint64_t *version, struct rondo_error *err)
{
    struct intake_changes changes = {0};
    buf_append_string(
        intake_changes_put(&changes, SOURCE_MARK_COLLECTION, source, (int64_t)*version), mark);
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    *version += r == 1 ? 1 : 0;
    return r;
}

const char *intake_owner(const struct intake *intake)
{
    return intake->owner;
}

int intake_set_mark(struct intake *intake, const char *source, const char *mark,
                    struct rondo_error *err)
{
    struct intake_changes changes = {0};
    if (mark == NULL) {
        intake_changes_delete(&changes, SOURCE_MARK_COLLECTION, source, STORE_ANY_VERSION);
    } else {
        buf_append_string(
            intake_changes_put(&changes, SOURCE_MARK_COLLECTION, source, STORE_ANY_VERSION), mark);
    }
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    return r < 0 ? r : 0;
}

/* ---- Submitting ----------------------------------------------------------------------------- */

/** What is to be done with one event. */
struct submission {
    const struct intake_event *event;
    int64_t now_ns;
    enum intake_outcome outcome;
    struct intake_entry *replaced; /* coalesced with, or dropped; taken out of its queue */
    bool is_drop;
    struct start_refusal refusal; /* of this event or of the one that is dropped; is_noted */
    bool is_noted;
    struct start_refusal late; /* it comes late; is_late */
    bool is_late;
    char run_id[ID_SIZE];
};

static bool is_too_long(const char *text, size_t limit)
{
    return text != NULL && strlen(text) > limit;
}

/** @return why an event cannot be accepted, or NULL */
static const char *find_fault(const struct intake_event *event)
{
    if (is_too_long(event->prompt, LIMIT_START_PROMPT_BYTES)) {
        return "the prompt is longer than 128 KiB";
    }
    if (is_too_long(event->key, LIMIT_START_KEY_BYTES) ||
        is_too_long(event->group, LIMIT_START_KEY_BYTES) ||
        is_too_long(event->conversation, LIMIT_START_KEY_BYTES)) {
        return "the key of the event is longer than 1 KiB";
    }
    if (is_too_long(event->context, LIMIT_START_CONTEXT_BYTES)) {
        return "the description of the event is longer than 16 KiB";
    }
    if (event->prompt[0] == '\0') {
        return "the prompt is empty";
    }
    return NULL;
}

static struct start_refusal make_refusal(const struct intake_event *event, enum refusal_kind kind,
                                         int64_t now_ns, const char *run_id, const char *reason)
{
    struct start_refusal refusal = {.kind = kind, .time_ns = now_ns};
    snprintf(refusal.run_id, sizeof(refusal.run_id), "%s", run_id);
    snprintf(refusal.source, sizeof(refusal.source), "%s", event->source);
    snprintf(refusal.role, sizeof(refusal.role), "%s", event->role);
    snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
    return refusal;
}

static void set_refusal(struct submission *submission, enum refusal_kind kind, const char *run_id,
                        const char *reason)
{
    submission->refusal = make_refusal(submission->event, kind, submission->now_ns, run_id, reason);
    submission->is_noted = true;
}

static void refuse_event(struct submission *submission, const char *reason)
{
    submission->outcome = INTAKE_REFUSED;
    set_refusal(submission, REFUSAL_REFUSED, "", reason);
}

/** Decide what a full queue does. The lock is held. @param waiting without those that can start */
static void decide_full(struct intake *intake, struct role_queue *queue, uint64_t waiting,
                        struct submission *submission)
{
    char reason[REFUSAL_REASON_SIZE];
    snprintf(reason, sizeof(reason), "the queue is full (%llu wait)", (unsigned long long)waiting);
    switch (queue->options.rule) {
    case QUEUE_WAIT:
        set_refusal(submission, REFUSAL_FULL, "", reason);
        submission->outcome = INTAKE_FULL;
        submission->is_noted = !queue->is_full_noted;
        queue->is_full_noted = true;
        return;
    case QUEUE_DROP_OLDEST:
        if (queue->waiting != NULL) {
            submission->replaced = queue->waiting;
            submission->is_drop = true;
            intake_entry_take(intake, submission->replaced);
            set_refusal(submission, REFUSAL_DROPPED, submission->replaced->id,
                        "a newer event took its place in the full queue");
            snprintf(submission->refusal.source, sizeof(submission->refusal.source), "%s",
                     submission->replaced->source);
            return;
        }
        break;
    case QUEUE_COALESCE:
    case QUEUE_REFUSE:
    case QUEUE_RULE_COUNT:
        break;
    }
    refuse_event(submission, reason);
}

/** Decide by the role's queue. The lock is held. */
static void decide(struct intake *intake, struct submission *submission)
{
    const struct intake_event *event = submission->event;
    struct role_queue *queue = NULL;
    HASH_FIND_STR(intake->queues, event->role, queue);
    if (queue == NULL || !queue->is_open) {
        refuse_event(submission, "no such role is on duty");
        return;
    }
    unsigned char group[DIGEST_SIZE];
    group_digest(event->source, event->group, group);
    /* Each turn of a conversation has its answer. */
    bool may_coalesce = queue->options.rule == QUEUE_COALESCE && event->conversation == NULL;
    struct intake_entry *same = may_coalesce ? intake_entry_find_group(queue, group) : NULL;
    if (same != NULL) {
        submission->outcome = INTAKE_COALESCED;
        submission->replaced = same;
        intake_entry_take(intake, same);
        memcpy(submission->run_id, same->id, ID_SIZE);
        set_refusal(submission, REFUSAL_COALESCED, same->id,
                    "an event of the same source was waiting; it has this prompt now");
        return;
    }
    uint64_t free_places =
        queue->options.max_running -
        (queue->running < queue->options.max_running ? queue->running : queue->options.max_running);
    if (queue->waiting_count >= queue->options.max_waiting + free_places) {
        decide_full(intake, queue, queue->waiting_count - free_places, submission);
    } else {
        queue->is_full_noted = false;
    }
}

/** Whether the event comes late, and for how many times. It has its run or its refusal. */
static void find_late(struct submission *submission)
{
    const struct intake_event *event = submission->event;
    int64_t late_ns = event->due_ns == 0 ? 0 : submission->now_ns - event->due_ns;
    if (submission->outcome == INTAKE_FULL || submission->outcome == INTAKE_DUPLICATE ||
        (late_ns <= INTAKE_LATE_NS && event->missed == 0)) {
        return;
    }
    char reason[REFUSAL_REASON_SIZE];
    char duration[FORMAT_DURATION_SIZE];
    format_duration(late_ns, duration);
    if (event->missed == 0) {
        snprintf(reason, sizeof(reason), "its event comes %s after its time", duration);
    } else {
        snprintf(reason, sizeof(reason),
                 "%" PRId64 " time%s passed without an event; this one counts for all",
                 event->missed, event->missed == 1 ? "" : "s");
    }
    submission->late =
        make_refusal(event, REFUSAL_LATE, submission->now_ns, submission->run_id, reason);
    submission->is_late = true;
}

static void add_refusal(struct intake *intake, struct intake_changes *changes,
                        struct start_refusal *refusal)
{
    char id[ID_SIZE];
    id_new(refusal->time_ns, intake->random, id);
    intake_changes_add_refusal(intake, changes, refusal, id);
}

static void write_request(struct intake *intake, const struct submission *submission,
                          int64_t received_ns, struct buf *ret_json)
{
    const struct intake_event *event = submission->event;
    struct start_request request = {
        .mode = event->mode,
        .received_ns = received_ns,
        .kind = (char *)event->kind,
        .prompt = (char *)event->prompt,
        .key = (char *)event->key,
        .group = (char *)event->group,
        .context = (char *)event->context,
        .conversation = (char *)event->conversation,
        .idle_s = event->idle_s,
    };
    snprintf(request.source, sizeof(request.source), "%s", event->source);
    snprintf(request.role, sizeof(request.role), "%s", event->role);
    memcpy(request.owner, intake->owner, sizeof(request.owner));
    start_request_encode(&request, ret_json);
}

/** The key of an event that is accepted, which no server has yet. */
static void add_key(const struct submission *submission, struct intake_changes *changes)
{
    const struct intake_event *event = submission->event;
    char key[DEDUPE_KEY_SIZE];
    dedupe_key(submission->now_ns, event->source, event->key, key);
    dedupe_encode(submission->now_ns, submission->run_id,
                  intake_changes_put(changes, DEDUPE_COLLECTION, key, 0));
    if (dedupe_other_key(submission->now_ns, event->source, event->key, key)) {
        dedupe_encode(submission->now_ns, submission->run_id,
                      intake_changes_put(changes, DEDUPE_COLLECTION, key, 0));
    }
}

static void write_changes(struct intake *intake, struct submission *submission,
                          struct intake_changes *changes)
{
    const struct intake_event *event = submission->event;
    const struct intake_entry *replaced = submission->replaced;
    bool is_kept =
        submission->outcome == INTAKE_ACCEPTED || submission->outcome == INTAKE_COALESCED;
    if (is_kept) {
        bool is_new = submission->outcome == INTAKE_ACCEPTED;
        write_request(intake, submission, is_new ? submission->now_ns : replaced->received_ns,
                      intake_changes_put(changes, START_REQUEST_COLLECTION, submission->run_id,
                                         is_new ? 0 : (int64_t)replaced->version));
    }
    if (is_kept && event->key != NULL) {
        add_key(submission, changes);
    }
    if (submission->is_drop) {
        intake_changes_delete(changes, START_REQUEST_COLLECTION, replaced->id,
                              (int64_t)replaced->version);
    }
    if (submission->is_noted) {
        add_refusal(intake, changes, &submission->refusal);
    }
    if (submission->is_late) {
        add_refusal(intake, changes, &submission->late);
    }
    if (event->mark != NULL && submission->outcome != INTAKE_FULL) {
        add_mark(changes, event);
    }
}

/** The index after the transaction. @param is_applied it was committed */
static void update_index(struct intake *intake, struct submission *submission, bool is_applied)
{
    struct intake_entry *replaced = submission->replaced;
    pthread_mutex_lock(&intake->lock);
    if (replaced != NULL && submission->is_drop && is_applied) {
        intake_entry_free(intake, replaced);
    } else if (replaced != NULL) {
        replaced->version += is_applied ? 1 : 0;
        intake_entry_wait(intake, replaced);
    }
    if (is_applied && submission->outcome == INTAKE_ACCEPTED) {
        const struct intake_event *event = submission->event;
        struct intake_entry *entry =
            intake_entry_add(intake, intake_queue_of(intake, event->role), submission->run_id);
        entry->received_ns = submission->now_ns;
        entry->version = 1;
        entry->source = memory_dup_string(event->source);
        group_digest(event->source, event->group, entry->group);
        intake_entry_set_conversation(entry, event->source, event->conversation);
        intake_entry_wait(intake, entry);
    }
    if (is_applied) {
        intake->counts.outcomes[submission->outcome]++;
    }
    pthread_mutex_unlock(&intake->lock);
}

/** Whether another server has changed the mark since the source has read it: 1, 0, or a code. */
static int is_overtaken(struct intake *intake, const struct intake_event *event,
                        struct rondo_error *err)
{
    auto_free char *mark = NULL;
    uint64_t version = 0;
    if (event->mark == NULL || event->mark_version == 0) {
        return 0;
    }
    int r = source_mark_read(intake->store, event->source, &mark, &version, err);
    return r < 0 ? r : version != event->mark_version;
}

/** @return 1 done, 0 another process was faster, or a code */
static int try_submit(struct intake *intake, struct submission *submission, struct rondo_error *err)
{
    const struct intake_event *event = submission->event;
    struct intake_changes changes = {0};
    const char *fault = find_fault(event);
    int r = fault != NULL || event->key == NULL
                ? 0
                : dedupe_find(intake->store, submission->now_ns, event->source, event->key,
                              submission->run_id, err);
    if (r < 0) {
        return r;
    }
    submission->outcome = r == 1 ? INTAKE_DUPLICATE : INTAKE_ACCEPTED;
    if (fault != NULL) {
        refuse_event(submission, fault);
    } else if (r == 0) {
        id_new(submission->now_ns, intake->random, submission->run_id);
        pthread_mutex_lock(&intake->lock);
        decide(intake, submission);
        pthread_mutex_unlock(&intake->lock);
    }
    find_late(submission);
    write_changes(intake, submission, &changes);
    r = changes.count == 0 ? 1 : intake_changes_commit(intake, &changes, err);
    update_index(intake, submission, r == 1);
    intake_changes_fini(&changes);
    return r;
}

static void write_result(const struct submission *submission, struct intake_result *ret_result)
{
    *ret_result = (struct intake_result){.outcome = submission->outcome};
    if (submission->outcome == INTAKE_REFUSED || submission->outcome == INTAKE_FULL) {
        memcpy(ret_result->reason, submission->refusal.reason, sizeof(ret_result->reason));
    } else {
        memcpy(ret_result->run_id, submission->run_id, ID_SIZE);
    }
}

int intake_submit(struct intake *intake, const struct intake_event *event,
                  struct intake_result *ret_result, struct rondo_error *err)
{
    struct submission submission = {0};
    pthread_mutex_lock(&intake->submitting);
    int r = intake->is_unsure ? intake_load(intake, err) : 0;
    intake->is_unsure = r < 0;
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        int64_t now_ns = clock_now(intake->clock);
        now_ns = now_ns > intake->last_received_ns ? now_ns : intake->last_received_ns + 1;
        submission = (struct submission){.event = event, .now_ns = now_ns};
        r = try_submit(intake, &submission, err);
        intake->last_received_ns = now_ns;
        if (r == 0 && (r = is_overtaken(intake, event, err)) == 1) {
            submission = (struct submission){.event = event, .outcome = INTAKE_OVERTAKEN};
        }
    }
    intake->is_unsure = intake->is_unsure || r < 0;
    pthread_mutex_unlock(&intake->submitting);
    if (r == 0) {
        r = error_set(err, RONDO_ERR_BUSY, "another process submits the same events");
    }
    if (r < 0) {
        return r;
    }
    if (submission.is_noted) {
        intake_note(intake, &submission.refusal);
    }
    if (submission.is_late) {
        intake_note(intake, &submission.late);
    }
    if (submission.outcome == INTAKE_ACCEPTED) {
        tell_ready(intake);
    }
    write_result(&submission, ret_result);
    return 0;
}

int intake_skip(struct intake *intake, const struct intake_event *event, const char *reason,
                struct rondo_error *err)
{
    struct intake_changes changes = {0};
    struct start_refusal late =
        make_refusal(event, REFUSAL_LATE, clock_now(intake->clock), "", reason);
    pthread_mutex_lock(&intake->submitting); /* guards the random numbers */
    add_refusal(intake, &changes, &late);
    pthread_mutex_unlock(&intake->submitting);
    add_mark(&changes, event);
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    if (r == 1) {
        intake_note(intake, &late);
    }
    return r < 0 ? r : 0;
}
