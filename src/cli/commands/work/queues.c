// SPDX-License-Identifier: Apache-2.0
/*
 * The keeper of a server's queues. Its thread alone opens and closes queues, without the lock; the
 * lock guards which queue a slot has while other threads may wake it.
 */
#include "cli/commands/work/queues.h"
#include "cli/commands/work/hint.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "issues/trouble.h"

#include "source/source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Before a queue that failed is opened again; doubled each time, up to the second. */
#define RETRY_NS      (30 * NS_PER_S)
#define RETRY_MOST_NS (600 * NS_PER_S)
/** How often one is looked at that was opened again, until it works. */
#define LOOK_NS (5 * NS_PER_S)

/** One repository. */
struct queue_place {
    struct work_queues *queues;
    struct queue_values values; /* of `queue` */
    struct option_set set;
    bool has_values;
    struct work_queue *queue; /* under the lock; NULL = it is not open */
    int64_t next_ns;          /* monotonic: when it is opened (again) */
    int64_t wait_ns;          /* last wait */
    char *failure;            /* why it did not work last, as it was told; or NULL */
    char *failed_name;        /* of the repository that `failure` is about */
};

struct work_queues {
    struct work_file *file;
    struct work_queue_parts parts;
    struct queue_place *places;
    size_t count;
    struct cancel cancel; /* ends clones and requests under way */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next ones, and each place's queue */
    pthread_cond_t changed;
    bool is_stopping;
    bool has_news; /* a queue has ended, or is parked, or was woken while it was */
};

/** A queue has failed, or cannot be opened: tell it once for each reason, and show it. */
static void note_failure(struct work_queues *queues, struct queue_place *place,
                         const struct rondo_error *err)
{
    auto_buf struct buf line = {0};
    const char *name = place->has_values ? place->values.repository : "";
    if (place->failure != NULL && strcmp(place->failure, err->message) == 0) {
        return;
    }
    free(place->failure);
    free(place->failed_name);
    place->failure = memory_dup_string(err->message);
    place->failed_name = memory_dup_string(name);
    buf_printf(&line, "work on %s: %s", name, err->message);
    queues->parts.log(queues->parts.context, buf_string(&line));
    struct work_trouble trouble = {
        .repository = name, .message = err->message, .since_ns = clock_now(clock_system())};
    snprintf(trouble.owner, sizeof(trouble.owner), "%s", runtime_owner(queues->parts.runtime));
    work_trouble_put(runtime_store(queues->parts.runtime), &trouble, NULL);
}

static void clear_failure(struct work_queues *queues, struct queue_place *place)
{
    if (place->failure != NULL) {
        work_trouble_clear(runtime_store(queues->parts.runtime), place->failed_name, NULL);
    }
    free(place->failure);
    free(place->failed_name);
    place->failure = NULL;
    place->failed_name = NULL;
}

/** Under the lock. */
static void wake_keeper(struct work_queues *queues)
{
    queues->has_news = true;
    pthread_cond_signal(&queues->changed);
}

/** A queue has ended by itself, or is parked: its thread tells. */
static void note_change(void *context)
{
    struct work_queues *queues = ((struct queue_place *)context)->queues;
    pthread_mutex_lock(&queues->lock);
    wake_keeper(queues);
    pthread_mutex_unlock(&queues->lock);
}

/** Several repositories may have the same name. */
static void log_line(void *context, const char *text)
{
    const struct queue_place *place = context;
    const struct work_queues *queues = place->queues;
    auto_buf struct buf line = {0};
    buf_printf(&line, "work on %s: %s", place->values.repository, text);
    queues->parts.log(queues->parts.context, buf_string(&line));
}

static void close_place(struct work_queues *queues, struct queue_place *place)
{
    pthread_mutex_lock(&queues->lock);
    struct work_queue *queue = place->queue;
    place->queue = NULL;
    pthread_mutex_unlock(&queues->lock);
    work_queue_close(queue);
    if (place->has_values) {
        queue_values_fini(&place->values, &place->set);
        place->has_values = false;
    }
}

/** Open a place. Takes as long as a clone. */
static int open_queue(struct work_queues *queues, struct queue_place *place, size_t index,
                      struct rondo_error *err)
{
    struct work_site site = {0};
    struct work_queue *queue = NULL;
    struct work_queue_parts parts = queues->parts;
    parts.log = log_line;
    parts.event = NULL;
    parts.ended = note_change;
    parts.parked = note_change;
    parts.is_patient = true;
    parts.context = place;
    int r = work_file_values(queues->file, index, &place->values, &place->set, err);
    if (r < 0) {
        return r;
    }
    place->has_values = true;
    const struct work_site_parts site_parts = {.http = parts.http,
                                               .paces = parts.paces,
                                               .cancel = &queues->cancel,
                                               .base = place->values.base};
    r = work_site_find(&place->values, false, &site, err);
    r = r < 0 ? r : work_site_open(&site, &site_parts, err);
    r = r < 0 ? r : work_queue_open(&place->values, &place->set, &parts, &site, &queue, err);
    work_site_fini(&site);
    pthread_mutex_lock(&queues->lock);
    place->queue = queue;
    pthread_mutex_unlock(&queues->lock);
    if (queue != NULL) {
        work_queue_wake(queue); /* A run may have ended meanwhile. */
    }
    return r;
}

static void plan_again(struct queue_place *place, int64_t now_ns)
{
    place->wait_ns = place->wait_ns == 0 ? RETRY_NS : 2 * place->wait_ns;
    place->wait_ns = place->wait_ns > RETRY_MOST_NS ? RETRY_MOST_NS : place->wait_ns;
    place->next_ns = now_ns + place->wait_ns;
}

/** One that was opened may fail at once for the same reason: only what has worked is well.
 *  @return when to look again */
static int64_t judge_open(struct work_queues *queues, struct queue_place *place,
                          const struct issue_queue_end *end, int64_t now_ns)
{
    if (end->has_worked) {
        clear_failure(queues, place);
        place->wait_ns = 0;
    }
    int64_t tend_ns = work_queue_tend(place->queue);
    int64_t look_ns = place->failure == NULL && place->wait_ns == 0 ? INT64_MAX : now_ns + LOOK_NS;
    return look_ns < tend_ns ? look_ns : tend_ns;
}

/** Open what is due, start again what was parked, and close what has ended. @return when it is due
 *  to look again */
static int64_t tend(struct work_queues *queues, size_t index)
{
    struct queue_place *place = &queues->places[index];
    struct issue_queue_end end = {0};
    struct rondo_error err = {0};
    int64_t now_ns = clock_monotonic(clock_system());
    if (place->queue != NULL && work_queue_is_over(place->queue, &end)) {
        note_failure(queues, place, &end.fault);
        close_place(queues, place);
        plan_again(place, now_ns);
    } else if (place->queue == NULL && place->next_ns <= now_ns) {
        if (open_queue(queues, place, index, &err) == 0) {
            return judge_open(queues, place, &end, now_ns);
        }
        if (!cancel_is_set(&queues->cancel)) {
            note_failure(queues, place, &err);
        }
        close_place(queues, place);
        plan_again(place, now_ns);
    } else if (place->queue != NULL) {
        return judge_open(queues, place, &end, now_ns);
    }
    return place->next_ns;
}

/** @param due_ns monotonic; INT64_MAX = only when something happens @return whether to continue */
static bool wait_until(struct work_queues *queues, int64_t due_ns)
{
    struct timespec until = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};
    int r = 0;
    pthread_mutex_lock(&queues->lock);
    while (!queues->is_stopping && !queues->has_news && r == 0) {
        r = due_ns == INT64_MAX ? pthread_cond_wait(&queues->changed, &queues->lock)
                                : pthread_cond_timedwait(&queues->changed, &queues->lock, &until);
    }
    queues->has_news = false;
    bool continues = !queues->is_stopping;
    pthread_mutex_unlock(&queues->lock);
    return continues;
}

static void *keep(void *context)
{
    struct work_queues *queues = context;
    int64_t due_ns;
    do {
        due_ns = INT64_MAX;
        for (size_t i = 0; i < queues->count && !cancel_is_set(&queues->cancel); i++) {
            int64_t next_ns = tend(queues, i);
            due_ns = next_ns < due_ns ? next_ns : due_ns;
        }
    } while (wait_until(queues, due_ns));
    for (size_t i = 0; i < queues->count; i++) {
        close_place(queues, &queues->places[i]);
        clear_failure(queues, &queues->places[i]);
    }
    return NULL;
}

static void release(struct work_queues *queues)
{
    forge_paces_free(queues->parts.paces);
    work_file_free(queues->file);
    cancel_fini(&queues->cancel);
    pthread_mutex_destroy(&queues->lock);
    pthread_cond_destroy(&queues->changed);
    free(queues->places);
    free(queues);
}

static void init_lock(struct work_queues *queues)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&queues->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queues->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

int work_queues_start(struct work_file *file, const struct work_queue_parts *parts,
                      struct work_queues **ret_queues, struct rondo_error *err)
{
    struct work_queues *queues = memory_new_zero(1, sizeof(*queues));
    queues->file = file;
    queues->parts = *parts;
    queues->parts.paces = forge_paces_new();
    queues->count = work_file_count(file);
    queues->places = memory_new_zero(queues->count, sizeof(*queues->places));
    for (size_t i = 0; i < queues->count; i++) {
        queues->places[i].queues = queues;
    }
    init_lock(queues);
    int r = cancel_init(&queues->cancel, err);
    int failure = r < 0 ? 0 : pthread_create(&queues->thread, NULL, keep, queues);
    if (failure != 0) {
        r = error_set_errno(err, RONDO_ERR_SYSTEM, failure, "a thread cannot be started");
    }
    if (r < 0) {
        release(queues);
        return r;
    }
    *ret_queues = queues;
    return 0;
}

void work_queues_wake(struct work_queues *queues)
{
    if (queues == NULL) {
        return;
    }
    pthread_mutex_lock(&queues->lock);
    for (size_t i = 0; i < queues->count; i++) {
        if (queues->places[i].queue != NULL) {
            work_queue_wake(queues->places[i].queue);
        }
    }
    wake_keeper(queues);
    pthread_mutex_unlock(&queues->lock);
}

void work_queues_receive(struct work_queues *queues, const struct source_delivery *delivery,
                         struct source_answer *ret_answer)
{
    struct work_hint hint = {.delivery = delivery};
    bool is_genuine = false;
    pthread_mutex_lock(&queues->lock);
    for (size_t i = 0; i < queues->count; i++) {
        struct work_queue *queue = queues->places[i].queue;
        is_genuine = (queue != NULL && work_queue_hint(queue, &hint)) || is_genuine;
    }
    if (is_genuine) {
        wake_keeper(queues);
    }
    pthread_mutex_unlock(&queues->lock);
    ret_answer->status = is_genuine ? 202 : 401;
    snprintf(ret_answer->message, sizeof(ret_answer->message), "%s",
             is_genuine ? "" : "the signature is missing or wrong");
}

void work_queues_stop(struct work_queues *queues)
{
    if (queues == NULL) {
        return;
    }
    pthread_mutex_lock(&queues->lock);
    queues->is_stopping = true;
    pthread_cond_signal(&queues->changed);
    pthread_mutex_unlock(&queues->lock);
    cancel_set(&queues->cancel, CANCEL_NOW);
    pthread_join(queues->thread, NULL);
    release(queues);
}
