// SPDX-License-Identifier: Apache-2.0
#include "server/stream/waiters.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/memory.h"
#include "handoff/storage/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

/** Calls that wait at once: others than those that wait need connections, too. */
#define MOST_WAITING 512
/** How often the audit chain is looked at while a call waits. */
#define LOOK_NS (20 * NS_PER_MS)
/** How often evaluations are written. */
#define IDLE_NS (250 * NS_PER_MS)

struct waiter {
    LIST_ENTRY(waiter) link;
    char request_id[ID_SIZE];
    int64_t until_ns;
    const struct waiter_ops *ops;
    void *context;
    bool is_due; /* something happened to its handoff */
};

LIST_HEAD(waiter_list, waiter);

struct waiters {
    struct store *store;
    struct evaluation_log *evaluations;
    pthread_t thread;
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t changed;  /* of the monotonic clock */
    struct waiter_list list; /* the thread alone removes */
    size_t count;
    bool is_draining;
    bool is_stopping;
    /* The thread's own. */
    uint64_t position;
};

/* ---- Looking -------------------------------------------------------------------------------- */

/** An entry of the audit chain: wake who waits for its handoff. */
static bool mark(uint64_t number, const char *kind, const char *request_id, void *context)
{
    struct waiters *waiters = context;
    struct waiter *waiter = NULL;
    (void)kind;
    pthread_mutex_lock(&waiters->lock);
    LIST_FOREACH(waiter, &waiters->list, link)
    {
        if (request_id != NULL && strcmp(waiter->request_id, request_id) == 0) {
            waiter->is_due = true;
        }
    }
    pthread_mutex_unlock(&waiters->lock);
    waiters->position = number;
    return true;
}

/** What cannot be read is looked at again; those who wait are answered when their time is over. */
static void look(struct waiters *waiters)
{
    struct handoff_store handoffs = {.store = waiters->store, .rules = &handoff_default_rules};
    uint64_t position = 0;
    if (handoff_read_position(&handoffs, &position, NULL) == 0 && position != waiters->position) {
        (void)handoff_read_changes(&handoffs, waiters->position, mark, waiters, NULL);
    }
}

/* ---- Answering ------------------------------------------------------------------------------ */

/** Take one that must be answered out of the list. NULL = there is none. */
static struct waiter *take_due(struct waiters *waiters)
{
    int64_t now_ns = clock_monotonic(clock_system());
    struct waiter *waiter = NULL;
    pthread_mutex_lock(&waiters->lock);
    LIST_FOREACH(waiter, &waiters->list, link)
    {
        if (waiter->is_due || waiters->is_draining || waiter->until_ns <= now_ns) {
            LIST_REMOVE(waiter, link);
            break;
        }
    }
    pthread_mutex_unlock(&waiters->lock);
    return waiter;
}

static void answer_due(struct waiters *waiters)
{
    struct waiter *waiter = NULL;
    while ((waiter = take_due(waiters)) != NULL) {
        waiter->is_due = false;
        bool waits = waiter->ops->ask_again(waiter->context);
        pthread_mutex_lock(&waiters->lock);
        waits = waits && !waiters->is_draining;
        if (waits) {
            LIST_INSERT_HEAD(&waiters->list, waiter, link);
        }
        pthread_mutex_unlock(&waiters->lock);
        if (!waits) {
            waiter->ops->finish(waiter->context);
            free(waiter);
            pthread_mutex_lock(&waiters->lock);
            waiters->count--;
            pthread_cond_broadcast(&waiters->changed);
            pthread_mutex_unlock(&waiters->lock);
        }
    }
}

static void sleep_until(struct waiters *waiters, int64_t time_ns)
{
    struct timespec until = {.tv_sec = time_ns / NS_PER_S, .tv_nsec = time_ns % NS_PER_S};
    pthread_cond_timedwait(&waiters->changed, &waiters->lock, &until);
}

static void *work(void *context)
{
    struct waiters *waiters = context;
    bool is_over = false;
    while (!is_over) {
        pthread_mutex_lock(&waiters->lock);
        if (!waiters->is_stopping && !waiters->is_draining) {
            int64_t pause_ns = waiters->count > 0 ? LOOK_NS : IDLE_NS;
            sleep_until(waiters, clock_monotonic(clock_system()) + pause_ns);
        }
        is_over = waiters->is_stopping;
        bool has_any = waiters->count > 0;
        bool must_wait = waiters->is_draining && !has_any && !is_over;
        if (must_wait) {
            pthread_cond_wait(&waiters->changed, &waiters->lock);
        }
        pthread_mutex_unlock(&waiters->lock);
        if (has_any) {
            look(waiters);
            answer_due(waiters);
        }
        (void)evaluation_log_flush(waiters->evaluations, NULL); /* Tried again. */
    }
    return NULL;
}

/* ---- From outside --------------------------------------------------------------------------- */

int waiters_start(struct store *store, struct evaluation_log *evaluations,
                  struct waiters **ret_waiters, struct rondo_error *err)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    struct waiters *waiters = memory_new_zero(1, sizeof(*waiters));
    pthread_condattr_t attributes;
    waiters->store = store;
    waiters->evaluations = evaluations;
    LIST_INIT(&waiters->list);
    pthread_mutex_init(&waiters->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiters->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    (void)handoff_read_position(&handoffs, &waiters->position, NULL); /* Else from the start. */
    int problem = pthread_create(&waiters->thread, NULL, work, waiters);
    if (problem != 0) {
        pthread_cond_destroy(&waiters->changed);
        pthread_mutex_destroy(&waiters->lock);
        free(waiters);
        return error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start a thread");
    }
    *ret_waiters = waiters;
    return 0;
}

bool waiters_add(struct waiters *waiters, const char *request_id, int64_t until_ns,
                 const struct waiter_ops *ops, void *context)
{
    struct waiter *waiter = memory_new_zero(1, sizeof(*waiter));
    snprintf(waiter->request_id, sizeof(waiter->request_id), "%s", request_id);
    waiter->until_ns = until_ns;
    waiter->ops = ops;
    waiter->context = context;
    waiter->is_due = true; /* It may have been decided since the handler looked. */
    pthread_mutex_lock(&waiters->lock);
    bool has_room = !waiters->is_draining && waiters->count < MOST_WAITING;
    if (has_room) {
        ops->park(context);
        LIST_INSERT_HEAD(&waiters->list, waiter, link);
        waiters->count++;
        pthread_cond_broadcast(&waiters->changed);
    }
    pthread_mutex_unlock(&waiters->lock);
    if (!has_room) {
        free(waiter);
    }
    return has_room;
}

void waiters_wake(struct waiters *waiters)
{
    pthread_mutex_lock(&waiters->lock);
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->lock);
}

void waiters_drain(struct waiters *waiters)
{
    if (waiters == NULL) {
        return;
    }
    pthread_mutex_lock(&waiters->lock);
    waiters->is_draining = true;
    pthread_cond_broadcast(&waiters->changed);
    while (waiters->count > 0) {
        pthread_cond_wait(&waiters->changed, &waiters->lock);
    }
    pthread_mutex_unlock(&waiters->lock);
}

void waiters_stop(struct waiters *waiters)
{
    if (waiters == NULL) {
        return;
    }
    pthread_mutex_lock(&waiters->lock);
    waiters->is_stopping = true;
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->lock);
    pthread_join(waiters->thread, NULL);
    pthread_cond_destroy(&waiters->changed);
    pthread_mutex_destroy(&waiters->lock);
    free(waiters);
}
