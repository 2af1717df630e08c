// SPDX-License-Identifier: Apache-2.0
/* The monitor's life: its thread, its rounds, and what others may ask of it. */
#include "alert/monitor.h"

#include "alert/monitor_internal.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/owner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** Least time between two rounds: so often at most does the monitor commit. */
#define ROUND_NS (200 * NS_PER_MS)
/** Longest time between two rounds: stalled runs make no event. */
#define WAIT_NS NS_PER_S
/** Pause when the store fails. */
#define FAILURE_PAUSE_NS NS_PER_S
#define THREAD_STACK     ((size_t)512 * 1024)

void monitor_say(struct monitor *monitor, const char *format, ...)
{
    char line[RONDO_ERROR_MESSAGE_SIZE + 128];
    va_list arguments;
    if (monitor->log == NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    monitor->log(monitor->log_context, line);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static int read_all(struct monitor *monitor, struct rondo_error *err)
{
    bool is_more = true;
    int r = 0;
    while (r == 0 && is_more && !cancel_is_set(&monitor->cancel)) {
        r = monitor_load(monitor, err);
        r = r < 0 ? r : monitor_read_page(monitor, &is_more, err);
        /* Silence can be judged only after everything was read. */
        r = r < 0 || is_more ? r : monitor_find_stalled(monitor, err);
        r = r < 0 || is_more ? r : monitor_read_notices(monitor, err);
        is_more = is_more || monitor->notice_count == MONITOR_NOTICES;
        r = r < 0 ? r : monitor_commit(monitor, false, err);
        is_more = is_more || !monitor->is_loaded; /* lost: once more from the new cursor */
        atomic_store(&monitor->position, monitor->reached);
        if (HASH_COUNT(monitor->notes) > MONITOR_NOTES) {
            monitor_forget_notes(monitor);
        }
    }
    return r;
}

int monitor_tick(struct monitor *monitor, struct rondo_error *err)
{
    int r = read_all(monitor, err);
    if (r < 0) {
        monitor->is_loaded = false; /* What was found is found again. */
        error_prefix(err, "while looking for warnings");
        return r;
    }
    monitor_tell(monitor);
    return monitor->has_no_thread ? monitor_deliver_due(monitor, NULL, err) : 0;
}

int monitor_send_results(struct monitor *monitor, const char *run_id, uint64_t *ret_waiting,
                         struct rondo_error *err)
{
    int r = read_all(monitor, err);
    r = r < 0 ? r : monitor_deliver_due(monitor, run_id, err);
    return r < 0 ? r : delivery_count_of(monitor->store, run_id, ret_waiting, err);
}

static void say_failure(struct monitor *monitor, int r, const struct rondo_error *err)
{
    if (r < 0 && !monitor->is_failing) {
        monitor_say(monitor, "%s", err->message);
    } else if (r == 0 && monitor->is_failing) {
        monitor_say(monitor, "warnings are created again");
    }
    monitor->is_failing = r < 0;
}

/** Until the next round when there are no events. */
static int64_t rest_ns(struct monitor *monitor)
{
    int64_t quiet_ns = writer_pace(monitor->writer, WAIT_NS);
    int64_t scan_ns = monitor_stall_pause_ns(monitor);
    return scan_ns > 0 && scan_ns < quiet_ns ? scan_ns : quiet_ns;
}

static void *watch(void *context)
{
    struct monitor *monitor = context;
    const struct clock *clock = clock_system();
    while (!cancel_is_set(&monitor->cancel)) {
        struct rondo_error err = {0};
        int64_t begun_ns = clock_monotonic(clock);
        int r = monitor_tick(monitor, &err);
        say_failure(monitor, r, &err);
        if (r < 0) {
            cancel_wait(&monitor->cancel, FAILURE_PAUSE_NS);
            continue;
        }
        writer_wait(monitor->writer, monitor->reached, rest_ns(monitor), &monitor->cancel);
        int64_t left_ns = ROUND_NS - (clock_monotonic(clock) - begun_ns);
        if (left_ns > 0) {
            cancel_wait(&monitor->cancel, left_ns);
        }
    }
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static struct monitor *make(const struct monitor_options *options)
{
    struct monitor *monitor = memory_new_zero(1, sizeof(*monitor));
    monitor->writer = options->writer;
    monitor->store = writer_store(options->writer);
    monitor->http = options->http;
    monitor->runtime = options->runtime;
    monitor->supervisor = memory_dup_string(options->supervisor);
    monitor->base_url = memory_dup_string(options->base_url);
    monitor->clock = options->clock == NULL ? clock_system() : options->clock;
    monitor->random = options->random == NULL ? random_system() : options->random;
    owner_new(random_system(), monitor->owner);
    monitor->stall_ns = options->stall_ns == 0 ? MONITOR_DEFAULT_STALL_NS : options->stall_ns;
    monitor->has_no_thread = options->has_no_thread;
    monitor->log = options->log;
    monitor->log_context = options->log_context;
    monitor->on_warning = options->on_warning;
    monitor->on_warning_context = options->on_warning_context;

    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = pthread_cond_init(&monitor->changed, &attributes);
    assert(r == 0);
    pthread_condattr_destroy(&attributes);
    r = pthread_mutex_init(&monitor->lock, NULL);
    assert(r == 0);
    return monitor;
}

static void release(struct monitor *monitor)
{
    monitor_forget_notes(monitor);
    cancel_fini(&monitor->cancel);
    pthread_mutex_destroy(&monitor->lock);
    pthread_cond_destroy(&monitor->changed);
    monitor_forget_results(monitor);
    free(monitor->results);
    free(monitor->found.items);
    free(monitor->found.epochs);
    free(monitor->supervisor);
    warning_follow_free(monitor->follow);
    free(monitor->base_url);
    free(monitor);
}

/** Others may have made deliveries: the leading thread looks again. */
static void end_quiet(void *context)
{
    monitor_wake_deliveries(context, 0);
}

static int start_threads(struct monitor *monitor, struct rondo_error *err)
{
    monitor->listener = (struct writer_listener){.call = end_quiet, .context = monitor};
    writer_listen(monitor->writer, &monitor->listener);
    int r = monitor_start_deliveries(monitor, err);
    if (r < 0) {
        return r;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    r = pthread_create(&monitor->reader, &attributes, watch, monitor);
    pthread_attr_destroy(&attributes);
    return r == 0 ? 0
                  : error_set_errno(err, RONDO_ERR_SYSTEM, r, "cannot start the monitor's thread");
}

static void stop_listening(struct monitor *monitor)
{
    if (monitor->listener.call != NULL) {
        writer_unlisten(monitor->writer, &monitor->listener);
    }
}

int monitor_start(const struct monitor_options *options, struct monitor **ret_monitor,
                  struct rondo_error *err)
{
    struct monitor *monitor = make(options);
    int r = cancel_init(&monitor->cancel, err);
    if (r == 0 && !monitor->has_no_thread) {
        r = start_threads(monitor, err);
    }
    if (r < 0) {
        cancel_set(&monitor->cancel, CANCEL_NOW);
        monitor_end_deliveries(monitor);
        stop_listening(monitor);
        release(monitor);
        return r;
    }
    *ret_monitor = monitor;
    return 0;
}

void monitor_stop(struct monitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    cancel_set(&monitor->cancel, CANCEL_NOW);
    if (!monitor->has_no_thread) {
        pthread_join(monitor->reader, NULL);
        monitor_end_deliveries(monitor);
        stop_listening(monitor);
    }
    if (monitor->is_loaded) {
        /* So that the next one has little to read again; without it, it reads more. */
        monitor_commit(monitor, true, NULL);
    }
    release(monitor);
}

/** Position of the last event that was looked at. */
static uint64_t monitor_position(struct monitor *monitor)
{
    return atomic_load(&monitor->position);
}

struct monitor_state monitor_state(struct monitor *monitor)
{
    struct monitor_state state = {
        .position = monitor_position(monitor),
        .deliveries_ok = atomic_load(&monitor->deliveries_ok),
        .deliveries_failed = atomic_load(&monitor->deliveries_failed),
        .deliveries_dead = atomic_load(&monitor->deliveries_dead),
    };
    for (size_t i = 0; i < WARNING_KIND_COUNT; i++) {
        state.warnings[i] = atomic_load(&monitor->made[i]);
    }
    monitor_count_deliveries(monitor, &state.pending, &state.dead);
    return state;
}
