// SPDX-License-Identifier: Apache-2.0
/*
 * Making deliveries: some threads, of which one at a time looks for what is due while the others
 * wait or are busy. A sink has at most one attempt under way, so one that does not answer holds one
 * thread and no other sink.
 *
 * Threads: the members of struct monitor after `lock`. The lock is held while the leading thread
 * looks into the store, never during an attempt. Lock order: it is taken last.
 */
#include "alert/monitor_internal.h"

#include "alert/result.h"
#include "alert/webhook.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/** How often other processes' deliveries are looked for, unless the store is quiet. */
#define LOOK_NS NS_PER_S
/** Pause when the store fails, and tries of a record. */
#define FAILURE_PAUSE_NS (200 * NS_PER_MS)
#define SETTLE_TRIES     4
#define THREAD_STACK     ((size_t)512 * 1024)

/* ---- One attempt ---------------------------------------------------------------------------- */

static void try_sink(struct monitor *monitor, struct delivery *delivery,
                     struct webhook_result *ret_result)
{
    struct webhook_ports ports = {
        .http = monitor->http,
        .supervisor = monitor->supervisor,
        .base_url = monitor->base_url,
        .cancel = &monitor->cancel,
    };
    struct sink sink = {0};
    struct rondo_error err = {0};
    if (result_is_sink(delivery->sink)) {
        result_attempt(&ports, monitor->store, delivery, clock_now(monitor->clock), ret_result);
        return;
    }
    int r = sink_find(monitor->store, delivery->sink, &sink, NULL, &err);
    *ret_result = (struct webhook_result){.outcome = DELIVERY_OK};
    if (r == RONDO_ERR_NOT_FOUND) {
        ret_result->outcome = DELIVERY_DROPPED;
    } else if (r < 0) {
        ret_result->outcome = DELIVERY_FAILED;
        warning_set_text(ret_result->error, sizeof(ret_result->error), "the sink cannot be read");
    } else if (sink.disabled != NULL) {
        ret_result->outcome = DELIVERY_DEAD;
        warning_set_text(ret_result->error, sizeof(ret_result->error), "the sink is disabled");
    } else {
        webhook_attempt(&ports, &sink, delivery, clock_now(monitor->clock), ret_result);
    }
    sink_fini(&sink);
}

static void record(struct monitor *monitor, struct delivery *delivery,
                   const struct webhook_result *result)
{
    struct rondo_error err = {0};
    bool is_dead = false;
    int r = -1;
    for (int i = 0; r < 0 && i < SETTLE_TRIES; i++) {
        if (i > 0) {
            clock_sleep(monitor->clock, FAILURE_PAUSE_NS, &monitor->cancel);
        }
        r = delivery_settle(monitor->store, delivery, result->outcome, result->wait_ns,
                            clock_now(monitor->clock), monitor->random, &is_dead, &err);
    }
    if (r < 0) {
        monitor_say(monitor, "cannot record a delivery to sink %s: %s", delivery->sink,
                    err.message);
    } else if (is_dead) {
        atomic_fetch_add(&monitor->deliveries_dead, 1);
        monitor_say(monitor, "delivery to sink %s is now a dead letter: %s", delivery->sink,
                    delivery->error);
    }
}

static void attempt(struct monitor *monitor, struct delivery *delivery)
{
    struct webhook_result result;
    struct rondo_error err = {0};
    try_sink(monitor, delivery, &result);
    if (result.outcome == DELIVERY_OK) {
        atomic_fetch_add(&monitor->deliveries_ok, 1);
    } else if (result.error[0] != '\0' && result.outcome != DELIVERY_CANCELLED) {
        atomic_fetch_add(&monitor->deliveries_failed, 1);
        memcpy(delivery->error, result.error, sizeof(delivery->error));
    }
    if (result.is_gone && !result_is_sink(delivery->sink)) {
        monitor_say(monitor, "sink %s is disabled: it answered with status 410 (gone)",
                    delivery->sink);
        if (sink_disable(monitor->store, delivery->sink, result.error, &err) < 0) {
            monitor_say(monitor, "cannot disable sink %s: %s", delivery->sink, err.message);
        }
    }
    record(monitor, delivery, &result);
    delivery_fini(delivery);
}

int monitor_deliver_due(struct monitor *monitor, const char *run_id, struct rondo_error *err)
{
    for (;;) {
        struct delivery_busy nobody = {.by = monitor->owner, .only = run_id};
        struct delivery delivery;
        bool is_found = false;
        int64_t next_ns = 0;
        int r = delivery_claim(monitor->store, clock_now(monitor->clock), &nobody, &is_found,
                               &delivery, &next_ns, err);
        if (r < 0 || !is_found) {
            return r;
        }
        attempt(monitor, &delivery);
    }
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void wait_ns(struct monitor *monitor, int64_t duration_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = until.tv_sec * NS_PER_S + until.tv_nsec + duration_ns;
    until = (struct timespec){.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
    pthread_cond_timedwait(&monitor->changed, &monitor->lock, &until);
}

/** How long to wait before looking again, when nothing is due before `next_ns`. */
static int64_t pause_until(const struct monitor *monitor, int64_t next_ns)
{
    int64_t look_ns = writer_pace(monitor->writer, LOOK_NS);
    if (next_ns == INT64_MAX) {
        return look_ns;
    }
    int64_t left_ns = next_ns - clock_now(monitor->clock);
    left_ns = left_ns < NS_PER_MS ? NS_PER_MS : left_ns;
    return left_ns < look_ns ? left_ns : look_ns;
}

/** Lead: look until something is found or this process ends. The lock is held. */
static bool find_due(struct monitor *monitor, struct delivery *ret_delivery)
{
    bool is_found = false;
    while (!monitor->is_ending && !is_found) {
        struct delivery_busy busy = {
            .by = monitor->owner,
            .marks = (const char(*)[SINK_MARK_SIZE])monitor->busy,
            .count = monitor->busy_count,
        };
        int64_t next_ns = INT64_MAX;
        int r = delivery_claim(monitor->store, clock_now(monitor->clock), &busy, &is_found,
                               ret_delivery, &next_ns, NULL);
        if (r < 0) {
            wait_ns(monitor, FAILURE_PAUSE_NS);
        } else if (!is_found) {
            wait_ns(monitor, pause_until(monitor, next_ns));
        }
    }
    return is_found;
}

static void set_busy(struct monitor *monitor, const char *sink)
{
    assert(monitor->busy_count < MONITOR_DELIVERIES);
    sink_mark(sink, monitor->busy[monitor->busy_count++]);
}

static void clear_busy(struct monitor *monitor, const char *sink)
{
    char mark[SINK_MARK_SIZE];
    sink_mark(sink, mark);
    for (size_t i = 0; i < monitor->busy_count; i++) {
        if (strcmp(monitor->busy[i], mark) == 0) {
            monitor->busy_count--;
            memmove(monitor->busy[i], monitor->busy[monitor->busy_count], SINK_MARK_SIZE);
            break;
        }
    }
}

static void *deliver(void *context)
{
    struct monitor *monitor = context;
    pthread_mutex_lock(&monitor->lock);
    while (!monitor->is_ending) {
        if (monitor->is_led) {
            pthread_cond_wait(&monitor->changed, &monitor->lock);
            continue;
        }
        struct delivery delivery;
        monitor->is_led = true;
        bool is_found = find_due(monitor, &delivery);
        monitor->is_led = false;
        pthread_cond_broadcast(&monitor->changed);
        if (is_found) {
            char sink[SINK_NAME_LEN + 1];
            memcpy(sink, delivery.sink, sizeof(sink));
            set_busy(monitor, sink);
            pthread_mutex_unlock(&monitor->lock);
            attempt(monitor, &delivery);
            pthread_mutex_lock(&monitor->lock);
            clear_busy(monitor, sink);
            pthread_cond_broadcast(&monitor->changed);
        }
    }
    pthread_mutex_unlock(&monitor->lock);
    return NULL;
}

int monitor_start_deliveries(struct monitor *monitor, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    int r = 0;
    for (size_t i = 0; r == 0 && i < MONITOR_DELIVERIES; i++) {
        r = pthread_create(&monitor->threads[i], &attributes, deliver, monitor);
        monitor->thread_count += r == 0;
    }
    pthread_attr_destroy(&attributes);
    return r == 0
               ? 0
               : error_set_errno(err, RONDO_ERR_SYSTEM, r, "cannot start a thread for deliveries");
}

void monitor_wake_deliveries(struct monitor *monitor, uint64_t count)
{
    pthread_mutex_lock(&monitor->lock);
    monitor->waiting += count;
    pthread_cond_broadcast(&monitor->changed);
    pthread_mutex_unlock(&monitor->lock);
}

void monitor_end_deliveries(struct monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
    monitor->is_ending = true;
    pthread_cond_broadcast(&monitor->changed);
    pthread_mutex_unlock(&monitor->lock);
    for (size_t i = 0; i < monitor->thread_count; i++) {
        pthread_join(monitor->threads[i], NULL);
    }
    monitor->thread_count = 0;
}

void monitor_count_deliveries(struct monitor *monitor, uint64_t *ret_waiting, uint64_t *ret_dead)
{
    pthread_mutex_lock(&monitor->lock);
    int64_t now_ns = clock_monotonic(clock_system());
    if (monitor->has_no_thread || monitor->counted_ns == 0 ||
        now_ns - monitor->counted_ns >= NS_PER_S) {
        if (delivery_count(monitor->store, &monitor->waiting, &monitor->dead, NULL) == 0) {
            monitor->counted_ns = now_ns;
        }
    }
    *ret_waiting = monitor->waiting;
    *ret_dead = monitor->dead;
    pthread_mutex_unlock(&monitor->lock);
}
