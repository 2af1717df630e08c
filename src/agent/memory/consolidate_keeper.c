// SPDX-License-Identifier: Apache-2.0
/*
 * The thread of a server. It sleeps until a run has ended, what has failed before is due again, or
 * what another process has may be done. Where nothing of this is known it still looks once an
 * hour: a process may have died between the end of its run and the consolidation of that.
 */
#include "agent/memory/consolidate.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

/** Longest sleep. */
#define LONGEST_NS (INT64_C(3600) * NS_PER_S)
/** Sleep after a failure of the store, and the shortest one. */
#define FAILURE_NS  (INT64_C(60) * NS_PER_S)
#define SHORTEST_NS NS_PER_S

struct consolidation_keeper {
    struct consolidation_parts parts;
    struct cancel cancel; /* ends the thread and its request */
    pthread_t thread;
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    bool is_woken;
    bool is_ending;
};

int64_t consolidation_sleep_ns(int64_t next_ns, int64_t now_ns)
{
    int64_t sleep_ns = next_ns == 0 ? LONGEST_NS : next_ns - now_ns;
    return sleep_ns > LONGEST_NS ? LONGEST_NS : sleep_ns < SHORTEST_NS ? SHORTEST_NS : sleep_ns;
}

/** @return whether there is more to do; false = the thread ends */
static bool wait_for_work(struct consolidation_keeper *keeper, int64_t sleep_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (sleep_ns + NS_PER_S - 1) / NS_PER_S;
    pthread_mutex_lock(&keeper->lock);
    int r = 0;
    while (!keeper->is_woken && !keeper->is_ending && r == 0) {
        r = pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
    }
    bool goes_on = !keeper->is_ending;
    keeper->is_woken = false;
    pthread_mutex_unlock(&keeper->lock);
    return goes_on;
}

static void *keep(void *context)
{
    struct consolidation_keeper *keeper = context;
    int64_t sleep_ns;
    do {
        struct consolidation_report report;
        struct rondo_error err = {0};
        int r = consolidation_work(&keeper->parts, NULL, &report, &err);
        if (r < 0 && keeper->parts.log != NULL) {
            keeper->parts.log(keeper->parts.log_context, err.message);
        }
        int64_t now_ns = clock_now(runtime_clock(keeper->parts.runtime));
        sleep_ns = r < 0 ? FAILURE_NS : consolidation_sleep_ns(report.next_ns, now_ns);
    } while (wait_for_work(keeper, sleep_ns));
    return NULL;
}

static void init_sync(struct consolidation_keeper *keeper)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&keeper->lock, NULL);
}

static void release(struct consolidation_keeper *keeper)
{
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
    cancel_fini(&keeper->cancel);
    free(keeper);
}

int consolidation_keeper_start(const struct consolidation_parts *parts,
                               struct consolidation_keeper **ret_keeper, struct rondo_error *err)
{
    struct consolidation_keeper *keeper = memory_new_zero(1, sizeof(*keeper));
    int r = cancel_init(&keeper->cancel, err);
    if (r < 0) {
        free(keeper);
        return r;
    }
    init_sync(keeper);
    keeper->parts = *parts;
    keeper->parts.cancel = &keeper->cancel;
    if (pthread_create(&keeper->thread, NULL, keep, keeper) != 0) {
        release(keeper);
        return error_set(err, RONDO_ERR_IO, "no thread can be started");
    }
    *ret_keeper = keeper;
    return 0;
}

void consolidation_keeper_wake(struct consolidation_keeper *keeper)
{
    if (keeper != NULL) {
        pthread_mutex_lock(&keeper->lock);
        keeper->is_woken = true;
        pthread_cond_signal(&keeper->changed);
        pthread_mutex_unlock(&keeper->lock);
    }
}

void consolidation_keeper_stop(struct consolidation_keeper *keeper)
{
    if (keeper == NULL) {
        return;
    }
    pthread_mutex_lock(&keeper->lock);
    keeper->is_ending = true;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    cancel_set(&keeper->cancel, CANCEL_NOW);
    pthread_join(keeper->thread, NULL);
    release(keeper);
}
