// SPDX-License-Identifier: Apache-2.0
/*
 * Announcing to other processes that this one has written: NOTIFY on one channel for all stores of
 * a database, with the schema's name. A NOTIFY in the transaction of each commit would make commits
 * of all processes wait for each other, so a thread sends one for all that was written since the
 * last, outside of any commit, at most every ANNOUNCE_PACE_NS.
 *
 * It must never cost anything: the thread uses a connection that is open and free, else it tries
 * again later. An announcement that is lost is made up for by the comparisons of watch.c.
 *
 * Threads: everything in struct postgres_announcer is guarded by its mutex, which is not held while
 * the server is talked to. Lock order: it is taken last.
 */
#include "base/clock.h"
#include "store/postgres/internal.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

/** From one announcement to the next. */
#define ANNOUNCE_PACE_NS (25 * NS_PER_MS)
#define THREAD_STACK     ((size_t)256 * 1024)

/** Send it. @return false: no connection was free */
static bool send_now(struct postgres_store *store, const char *payload)
{
    struct postgres_connection *connection = postgres_begin_open(store);
    if (connection == NULL) {
        return false;
    }
    auto_query struct postgres_query query = {.which = PG_NOTIFY};
    postgres_add_text(&query, payload);
    (void)postgres_transact(connection, &query, 1, NULL, "announce a change", NULL);
    postgres_end(connection);
    return true;
}

/** Sleep for the pace, or until the end. The mutex is held. */
static void pause_announcing(struct postgres_announcer *announcer)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = until.tv_nsec + ANNOUNCE_PACE_NS;
    until.tv_sec += at_ns / NS_PER_S;
    until.tv_nsec = at_ns % NS_PER_S;
    int r = 0;
    while (!announcer->is_ending && r == 0) {
        r = pthread_cond_timedwait(&announcer->changed, &announcer->mutex, &until);
    }
}

static void *announce_main(void *context)
{
    struct postgres_store *store = context;
    struct postgres_announcer *announcer = &store->announcer;
    pthread_mutex_lock(&announcer->mutex);
    while (!announcer->is_ending) {
        if (!announcer->is_due) {
            pthread_cond_wait(&announcer->changed, &announcer->mutex);
            continue;
        }
        announcer->is_due = false;
        pthread_mutex_unlock(&announcer->mutex);
        bool is_sent = send_now(store, store->address.schema);
        pthread_mutex_lock(&announcer->mutex);
        announcer->is_due = announcer->is_due || !is_sent;
        pause_announcing(announcer);
    }
    pthread_mutex_unlock(&announcer->mutex);
    return NULL;
}

/** The mutex is held. Without the thread nothing is announced. */
static void start_thread(struct postgres_store *store)
{
    sigset_t all;
    sigset_t saved;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    store->announcer.has_thread =
        pthread_create(&store->announcer.thread, &attributes, announce_main, store) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

void postgres_announce(struct postgres_store *store)
{
    struct postgres_announcer *announcer = &store->announcer;
    if (store->is_silent) {
        return;
    }
    pthread_mutex_lock(&announcer->mutex);
    announcer->is_due = true;
    if (!announcer->has_thread) {
        start_thread(store);
    }
    pthread_cond_signal(&announcer->changed);
    pthread_mutex_unlock(&announcer->mutex);
}

void postgres_announcer_init(struct postgres_announcer *announcer)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = pthread_cond_init(&announcer->changed, &attributes);
    assert(r == 0);
    pthread_condattr_destroy(&attributes);
    r = pthread_mutex_init(&announcer->mutex, NULL);
    assert(r == 0);
}

void postgres_announcer_fini(struct postgres_store *store)
{
    struct postgres_announcer *announcer = &store->announcer;
    pthread_mutex_lock(&announcer->mutex);
    announcer->is_ending = true;
    pthread_cond_signal(&announcer->changed);
    pthread_mutex_unlock(&announcer->mutex);
    if (announcer->has_thread) {
        pthread_join(announcer->thread, NULL);
    }
    if (announcer->is_due) {
        (void)send_now(store, store->address.schema);
    }
    pthread_cond_destroy(&announcer->changed);
    pthread_mutex_destroy(&announcer->mutex);
}
