// SPDX-License-Identifier: Apache-2.0
/*
 * Handing requests out, and what became of them. A request's document is deleted when its run
 * exists, and only then or with its refusal; a process that was taken for dead finds another
 * version there, and forgets the request.
 */
#include "base/error.h"
#include "orchestrator/assignment.h"
#include "source/intake/dedupe.h"
#include "source/intake/intake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Take the next entry that may start, and count its run. */
static bool take_next(struct intake *intake, char ret_id[ID_SIZE])
{
    pthread_mutex_lock(&intake->lock);
    struct intake_entry *entry = intake_entry_next(intake);
    if (entry != NULL) {
        intake_entry_take(intake, entry);
        intake_entry_count_running(intake, entry);
        memcpy(ret_id, entry->id, ID_SIZE);
    }
    pthread_mutex_unlock(&intake->lock);
    return entry != NULL;
}

void intake_ended(struct intake *intake, const char *run_id)
{
    bool is_found = false;
    pthread_mutex_lock(&intake->lock);
    struct intake_entry *entry = intake_entry_find_id(intake, run_id);
    if (entry != NULL && entry->is_counted) {
        intake_entry_count_ended(intake, entry);
        intake_entry_free(intake, entry);
        is_found = true;
    }
    pthread_mutex_unlock(&intake->lock);
    if (is_found && intake->on_ready != NULL) {
        intake->on_ready(intake->context);
    }
}

/** Before a place that other daemons have, or a turn that waits for theirs, is looked at again. */
#define DEFER_NS NS_PER_S

/** @param is_deferred not at once @param is_role nor another one of the role */
static void wait_again(struct intake *intake, const char *run_id, bool is_deferred, bool is_role)
{
    int64_t retry_ns = is_deferred ? clock_monotonic(intake->clock) + DEFER_NS : 0;
    pthread_mutex_lock(&intake->lock);
    struct intake_entry *entry = intake_entry_find_id(intake, run_id);
    if (entry != NULL && entry->is_counted) {
        intake_entry_count_ended(intake, entry);
        intake_entry_wait(intake, entry);
        entry->retry_ns = is_role ? entry->retry_ns : retry_ns;
        entry->queue->retry_ns = is_role ? retry_ns : entry->queue->retry_ns;
        intake->retry_ns = is_deferred ? retry_ns : intake->retry_ns;
    }
    pthread_mutex_unlock(&intake->lock);
}

void intake_postpone(struct intake *intake, const char *run_id)
{
    wait_again(intake, run_id, false, false);
}

void intake_defer(struct intake *intake, const char *run_id)
{
    wait_again(intake, run_id, true, false);
}

int64_t intake_retry_ns(struct intake *intake)
{
    pthread_mutex_lock(&intake->lock);
    int64_t retry_ns = intake->retry_ns;
    pthread_mutex_unlock(&intake->lock);
    return retry_ns;
}

/** End the document of a request as a refusal. @return 1, 0 when it is another's now, or a code */
static int delete_as_refusal(struct intake *intake, const char *id, int64_t version,
                             struct start_refusal *refusal, struct rondo_error *err)
{
    struct intake_changes changes = {0};
    intake_changes_delete(&changes, START_REQUEST_COLLECTION, id, version);
    if (refusal->role[0] != '\0') {
        intake_changes_end_claim(&changes, refusal->role, id);
    }
    intake_changes_add_refusal(intake, &changes, refusal, id);
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    if (r == 1) {
        intake_note(intake, refusal);
    }
    return r;
}

/** A document that cannot be read. */
static int refuse_unreadable(struct intake *intake, const char *id, struct rondo_error *err)
{
    struct start_refusal refusal = {.kind = REFUSAL_REFUSED, .time_ns = clock_now(intake->clock)};
    memcpy(refusal.run_id, id, ID_SIZE);
    snprintf(refusal.reason, sizeof(refusal.reason), "the stored request cannot be read");
    int r = delete_as_refusal(intake, id, STORE_ANY_VERSION, &refusal, err);
    return r < 0 ? r : 0;
}

/** What was deferred until now may be tried. */
static void forget_retry(struct intake *intake)
{
    pthread_mutex_lock(&intake->lock);
    intake->retry_ns = intake->retry_ns <= clock_monotonic(intake->clock) ? 0 : intake->retry_ns;
    pthread_mutex_unlock(&intake->lock);
}

int intake_next(struct intake *intake, struct start_request *ret_request, struct rondo_error *err)
{
    char id[ID_SIZE];
    forget_retry(intake);
    while (take_next(intake, id)) {
        struct start_request request = {0};
        int r = start_request_find(intake->store, id, &request, err);
        if (r == 1 && strcmp(request.owner, intake->owner) == 0) {
            r = intake_claim(intake, &request, err);
            if (r == 1) {
                *ret_request = request;
                return 1;
            }
            start_request_fini(&request);
            wait_again(intake, id, r == 0, r == 0);
            if (r < 0) {
                return r;
            }
            continue;
        }
        start_request_fini(&request);
        r = r == RONDO_ERR_CORRUPT ? refuse_unreadable(intake, id, err) : r;
        if (r < 0) {
            intake_postpone(intake, id);
            return r;
        }
        intake_ended(intake, id); /* Gone, or another process has it. */
    }
    return 0;
}

int intake_started(struct intake *intake, const struct start_request *request,
                   struct rondo_error *err)
{
    struct intake_changes changes = {0};
    intake_changes_delete(&changes, START_REQUEST_COLLECTION, request->id,
                          (int64_t)request->version);
    intake_changes_end_claim(&changes, request->role, request->id);
    pthread_mutex_lock(&intake->lock);
    intake->counts.started++;
    pthread_mutex_unlock(&intake->lock);
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    return r < 0 ? r : 0;
}

int intake_refuse(struct intake *intake, const struct start_request *request, const char *reason,
                  struct rondo_error *err)
{
    struct start_refusal refusal = {.kind = REFUSAL_REFUSED, .time_ns = clock_now(intake->clock)};
    memcpy(refusal.run_id, request->id, ID_SIZE);
    memcpy(refusal.source, request->source, sizeof(refusal.source));
    memcpy(refusal.role, request->role, sizeof(refusal.role));
    snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
    int r = delete_as_refusal(intake, request->id, (int64_t)request->version, &refusal, err);
    if (r < 0) {
        intake_postpone(intake, request->id);
        return r;
    }
    intake_ended(intake, request->id);
    return 0;
}

/** Its run exists: the document goes. If the store fails, intake_adopt finds it once more. */
static void forget_request(struct intake *intake, const char *id, uint64_t version)
{
    struct intake_changes changes = {0};
    intake_changes_delete(&changes, START_REQUEST_COLLECTION, id, (int64_t)version);
    (void)intake_changes_commit(intake, &changes, NULL);
    intake_changes_fini(&changes);
}

void intake_count_running(struct intake *intake, const char *role, const char *run_id,
                          const char *source, const char *conversation)
{
    uint64_t version = 0; /* 0: no request waits */
    pthread_mutex_lock(&intake->submitting);
    pthread_mutex_lock(&intake->lock);
    struct intake_entry *entry = intake_entry_find_id(intake, run_id);
    if (entry == NULL) {
        entry = intake_entry_add(intake, intake_queue_of(intake, role), run_id);
        intake_entry_set_conversation(entry, source, conversation);
        intake_entry_count_running(intake, entry);
    } else if (!entry->is_counted) {
        intake_entry_take(intake, entry);
        intake_entry_count_running(intake, entry);
        version = entry->version;
    }
    pthread_mutex_unlock(&intake->lock);
    if (version != 0) {
        forget_request(intake, run_id, version);
    }
    pthread_mutex_unlock(&intake->submitting);
}

bool intake_is_pending(struct intake *intake, const char *run_id)
{
    pthread_mutex_lock(&intake->lock);
    bool is_pending = intake_entry_find_id(intake, run_id) != NULL;
    pthread_mutex_unlock(&intake->lock);
    return is_pending;
}

/** Whether a server executes a run, or is to. */
static int is_assigned(struct intake *intake, const char *run_id, struct rondo_error *err)
{
    struct assignment assignment;
    struct store_run run;
    int r = assignment_read(intake->store, run_id, &assignment, err);
    if (r <= 0 || assignment.state == ASSIGNMENT_PAUSED) {
        return r < 0 ? r : 0;
    }
    r = intake->store->ops->get_run(intake->store, run_id, &run, err);
    return r < 0 && r != RONDO_ERR_NOT_FOUND ? r : r == 0 && run.summary.status == RONDO_RUNNING;
}

int intake_is_pending_anywhere(struct intake *intake, const char *run_id, struct rondo_error *err)
{
    struct start_request request = {0};
    if (intake_is_pending(intake, run_id)) {
        return 1;
    }
    int r = start_request_find(intake->store, run_id, &request, err);
    start_request_fini(&request);
    return r == 0 ? is_assigned(intake, run_id, err) : r == RONDO_ERR_CORRUPT ? 1 : r;
}

int intake_find_run(struct intake *intake, const char *source, const char *key,
                    char ret_run_id[ID_SIZE], struct rondo_error *err)
{
    return dedupe_find(intake->store, clock_now(intake->clock), source, key, ret_run_id, err);
}

void intake_list_running(struct intake *intake, intake_running_fn *fn, void *context)
{
    pthread_mutex_lock(&intake->lock);
    for (struct intake_entry *entry = intake->entries; entry != NULL; entry = entry->hh.next) {
        if (entry->is_counted) {
            fn(context, entry->id);
        }
    }
    pthread_mutex_unlock(&intake->lock);
}

struct intake_state intake_state(struct intake *intake)
{
    pthread_mutex_lock(&intake->lock);
    struct intake_state state = intake->counts;
    state.running = intake->running;
    state.max_running = intake->max_running;
    pthread_mutex_unlock(&intake->lock);
    return state;
}

bool intake_queue_state(struct intake *intake, const char *role, struct queue_state *ret_state)
{
    struct role_queue *queue = NULL;
    pthread_mutex_lock(&intake->lock);
    HASH_FIND_STR(intake->queues, role, queue);
    if (queue != NULL) {
        *ret_state = (struct queue_state){
            .is_open = queue->is_open,
            .options = queue->options,
            .waiting = queue->waiting_count,
            .running = queue->running,
        };
    }
    pthread_mutex_unlock(&intake->lock);
    return queue != NULL;
}
