// SPDX-License-Identifier: Apache-2.0
/*
 * The life of an orchestrator, and its scheduler: one thread that begins what waits and looks at
 * the store. Running loops have threads of their own (executor.c); requests of people and programs
 * are in commands.c.
 */
#include "orchestrator/orchestrator.h"

#include "agent/spec/options.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "handoff/inbox/index.h"
#include "handoff/storage/clock.h"
#include "orchestrator/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEDULER_STACK_BYTES ((size_t)512 * 1024)
/** How often the scheduler looks at the queue though nobody calls it, unless it can rest. */
#define TURN_NS (200 * NS_PER_MS)
/** After the end of a lease, within such a time servers look whether the run is free. */
#define LEASE_END_SPREAD_NS (200 * NS_PER_MS)
/** The same while runs are paused: one that a decision continues must not wait for long. */
#define DECISION_TURN_NS (15 * NS_PER_MS)

static void log_line(const struct orchestrator *orchestrator, const char *format, va_list arguments)
{
    char line[1024];
    if (orchestrator->options.log != NULL) {
        vsnprintf(line, sizeof(line), format, arguments);
        orchestrator->options.log(orchestrator->options.log_context, line);
    }
}

void orchestrator_log(const struct orchestrator *orchestrator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(orchestrator, format, arguments);
    va_end(arguments);
}

void orchestrator_tell(const struct orchestrator *orchestrator, const char *format, ...)
{
    va_list arguments;
    if (orchestrator->options.is_quiet) {
        return;
    }
    va_start(arguments, format);
    log_line(orchestrator, format, arguments);
    va_end(arguments);
}

void orchestrator_wait(struct orchestrator *orchestrator, int64_t longest_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = until.tv_nsec + longest_ns;
    until.tv_sec += at_ns / NS_PER_S;
    until.tv_nsec = at_ns % NS_PER_S;
    pthread_cond_timedwait(&orchestrator->changed, &orchestrator->lock, &until);
}

/* ---- Scheduler ------------------------------------------------------------------------------ */

static void check_machine(struct orchestrator *orchestrator)
{
    struct admission_room room = admission_share(admission_look(), orchestrator->options.shares);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->admission =
        admission_decide(orchestrator->options.max_loops, orchestrator->running, &room);
    pthread_mutex_unlock(&orchestrator->lock);
}

/** Write something of no meaning: whether that works. */
static int probe_store(struct orchestrator *orchestrator)
{
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = "probe",
        .key = "store",
        .data = "{}",
        .data_len = 2,
        .if_version = STORE_ANY_VERSION,
    };
    struct store *store = orchestrator_store(orchestrator);
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, NULL);
}

/** A disk that is full can still be read: after a failure it is seen whether writing works. */
static void check_writing(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    bool is_failing = orchestrator->is_writing_failing;
    pthread_mutex_unlock(&orchestrator->lock);
    if (!is_failing || probe_store(orchestrator) < 0) {
        return;
    }
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->is_writing_failing = false;
    pthread_mutex_unlock(&orchestrator->lock);
    orchestrator_log(orchestrator, "the store can be written again");
}

static void check_store(struct orchestrator *orchestrator)
{
    struct rondo_error err = {0};
    orchestrator->lease_end_ns = INT64_MAX / 2; /* Unless the scan finds one. */
    int r = decisions_scan(orchestrator, &err);
    if (r == 0) {
        audit_heads_scan(orchestrator);
        r = waiting_scan(orchestrator, &err);
    }
    if (r == 0) {
        r = orphans_scan(orchestrator, &err);
    }
    pthread_mutex_lock(&orchestrator->lock);
    bool is_new = orchestrator->is_store_failing != (r < 0);
    orchestrator->is_store_failing = r < 0;
    pthread_mutex_unlock(&orchestrator->lock);
    if (is_new) {
        orchestrator_log(orchestrator, r < 0 ? "the store fails: %s" : "the store works again%s",
                         r < 0 ? err.message : "");
    }
}

/** Begin what waits, here and while others live in any server. The lock is held, and let go in
 * between. */
static void take_queued(struct orchestrator *orchestrator)
{
    executor_begin_queued(orchestrator);
    pthread_mutex_unlock(&orchestrator->lock);
    (void)shared_queue_take(orchestrator,
                            NULL); /* The next look at the store says what is wrong. */
    pthread_mutex_lock(&orchestrator->lock);
}

/** Between two looks at the store: runs about which somebody has decided are continued at once. The
 * lock is held, and let go in between. */
static void look_at_decisions(struct orchestrator *orchestrator)
{
    if (orchestrator->paused == 0) {
        return;
    }
    pthread_mutex_unlock(&orchestrator->lock);
    if (decisions_are_new(orchestrator)) {
        (void)decisions_scan(orchestrator, NULL); /* The next look says what is wrong. */
    }
    pthread_mutex_lock(&orchestrator->lock);
    take_queued(orchestrator);
}

/**
 * When to look at the store next: after a while, or when the lease of a run that another process
 * has is over. Leases that are renewed end later by then. Each server looks at a moment of
 * its own, so that not all of them claim the same runs at once.
 */
static int64_t next_look(const struct orchestrator *orchestrator)
{
    int64_t now_ns = clock_monotonic(clock_system());
    int64_t scan_ns = now_ns + orchestrator->options.scan_ns;
    uint64_t share = random_u64(random_system()) % (uint64_t)LEASE_END_SPREAD_NS;
    int64_t lease_ns = orchestrator->lease_end_ns + (int64_t)share;
    lease_ns = lease_ns < now_ns + TURN_NS ? now_ns + TURN_NS : lease_ns;
    return lease_ns < scan_ns ? lease_ns : scan_ns;
}

/** One turn. The lock is held, and let go in between. @return when to look at the store next */
static int64_t take_turn(struct orchestrator *orchestrator, int64_t look_ns)
{
    executor_join_ended(orchestrator);
    take_queued(orchestrator);
    int64_t now_ns = clock_monotonic(clock_system());
    if (orchestrator->is_draining) {
        return look_ns;
    }
    if (now_ns < look_ns) {
        look_at_decisions(orchestrator);
        return look_ns;
    }
    pthread_mutex_unlock(&orchestrator->lock);
    check_machine(orchestrator);
    check_writing(orchestrator);
    registration_beat(orchestrator);
    registration_look(orchestrator); /* What the store shows depends on which servers live. */
    check_store(orchestrator);
    pthread_mutex_lock(&orchestrator->lock);
    take_queued(orchestrator);
    return next_look(orchestrator);
}

/** Whether nothing waits for this thread but changes of the store. The lock is held. */
static bool can_rest(const struct orchestrator *orchestrator)
{
    return orchestrator->queued == 0 && orchestrator->running == 0 && orchestrator->ended == NULL &&
           orchestrator->others == 0 && !orchestrator->is_store_failing &&
           !orchestrator->is_writing_failing;
}

/** How long to wait for the next turn. The lock is held. */
static int64_t pause_ns(const struct orchestrator *orchestrator)
{
    struct writer *writer = runtime_writer(orchestrator->options.runtime);
    int64_t turn_ns = orchestrator->paused > 0 ? DECISION_TURN_NS : TURN_NS;
    return can_rest(orchestrator) ? writer_pace(writer, turn_ns) : turn_ns;
}

void orchestrator_wake(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
}

static void end_quiet(void *context)
{
    orchestrator_wake(context);
}

/** Until the next turn. Others see by the beats that this server lives: they continue while it
 * rests. The lock is held, and let go in between. */
static void wait_for_turn(struct orchestrator *orchestrator)
{
    const struct clock *clock = clock_system();
    int64_t until_ns = clock_monotonic(clock) + pause_ns(orchestrator);
    while (!orchestrator->is_stopping) {
        int64_t begun_ns = clock_monotonic(clock);
        int64_t most_ns = pause_ns(orchestrator);
        int64_t left_ns = until_ns - begun_ns < most_ns ? until_ns - begun_ns : most_ns;
        int64_t beat_ns = registration_rest_ns(orchestrator);
        if (left_ns <= beat_ns) {
            orchestrator_wait(orchestrator, left_ns > 0 ? left_ns : 0);
            return;
        }
        orchestrator_wait(orchestrator, beat_ns);
        if (clock_monotonic(clock) - begun_ns < beat_ns) {
            return; /* It was called. */
        }
        pthread_mutex_unlock(&orchestrator->lock);
        registration_beat(orchestrator);
        pthread_mutex_lock(&orchestrator->lock);
    }
}

static void *scheduler_main(void *argument)
{
    struct orchestrator *orchestrator = argument;
    int64_t look_ns = 0;
    pthread_mutex_lock(&orchestrator->lock);
    while (!orchestrator->is_stopping) {
        look_ns = take_turn(orchestrator, look_ns);
        if (!orchestrator->is_stopping) {
            wait_for_turn(orchestrator);
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return NULL;
}

/* ---- Start and end -------------------------------------------------------------------------- */

static void set_options(struct orchestrator *orchestrator,
                        const struct orchestrator_options *options)
{
    struct orchestrator_options *own = &orchestrator->options;
    *own = *options;
    own->max_queue = own->max_queue == 0 ? ORCHESTRATOR_DEFAULT_QUEUE : own->max_queue;
    own->scan_ns = own->scan_ns == 0 ? ORCHESTRATOR_SCAN_NS : own->scan_ns;
    own->retry_ns = own->retry_ns == 0 ? ORCHESTRATOR_RETRY_NS : own->retry_ns;
    own->overload_ns = own->overload_ns == 0 ? ORCHESTRATOR_OVERLOAD_NS : own->overload_ns;
    own->drain_ns = own->drain_ns == 0 ? ORCHESTRATOR_DEFAULT_DRAIN_NS : own->drain_ns;
    own->close_after_ns =
        own->close_after_ns == 0 ? ORCHESTRATOR_DEFAULT_CLOSE_NS : own->close_after_ns;
    orchestrator->work_folder = memory_dup_string(options->work_folder);
    orchestrator->config_folder = memory_dup_string(options->config_folder);
    orchestrator->prices_file = memory_dup_string(options->prices_file);
    snprintf(orchestrator->server.name, sizeof(orchestrator->server.name), "%s",
             options->name == NULL ? "" : options->name);
    snprintf(orchestrator->server.pool, sizeof(orchestrator->server.pool), "%s",
             options->pool == NULL ? "" : options->pool);
    own->name = NULL; /* All of them are kept there. */
    own->pool = NULL;
    own->shared_folders = NULL;
    orchestrator->shared_folders = memory_dup_list(options->shared_folders);
    orchestrator->parts = (struct loop_parts){
        .runtime = options->runtime,
        .check_limits = agent_check_limits,
    };
}

static void init_lock(struct orchestrator *orchestrator)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&orchestrator->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&orchestrator->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int start_scheduler(struct orchestrator *orchestrator, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SCHEDULER_STACK_BYTES);
    int failure =
        pthread_create(&orchestrator->scheduler, &attributes, scheduler_main, orchestrator);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, failure, "cannot start the orchestrator");
    }
    orchestrator->has_scheduler = true;
    orchestrator->listener = (struct writer_listener){.call = end_quiet, .context = orchestrator};
    writer_listen(runtime_writer(orchestrator->options.runtime), &orchestrator->listener);
    return 0;
}

int orchestrator_start(const struct orchestrator_options *options,
                       struct orchestrator **ret_orchestrator, struct rondo_error *err)
{
    int r = registration_check(options, err);
    if (r < 0) {
        return r;
    }
    struct orchestrator *orchestrator = memory_new_zero(1, sizeof(*orchestrator));
    set_options(orchestrator, options);
    init_lock(orchestrator);
    orchestrator->handoffs = handoff_index_new();
    /* What cannot be written now holds for this process alone. */
    (void)handoff_clock_begin(runtime_handoffs(options->runtime).clock, NULL);
    admission_raise_descriptors();
    check_machine(orchestrator);
    r = cancel_init(&orchestrator->opening, err);
    if (r == 0) {
        r = registration_begin(orchestrator, err);
    }
    if (r == 0) {
        r = orphans_adopt(orchestrator, true, err);
    }
    if (r == 0) {
        r = start_scheduler(orchestrator, err);
    }
    if (r < 0) {
        orchestrator_stop(orchestrator);
        return r;
    }
    *ret_orchestrator = orchestrator;
    return 0;
}

/** Ask every loop to park. The lock is held. */
static void park_all(struct orchestrator *orchestrator, bool is_now)
{
    for (struct run_entry *entry = orchestrator->entries; entry != NULL; entry = entry->hh.next) {
        if (entry->loop != NULL) {
            loop_request_park(entry->loop, is_now);
        }
    }
}

void orchestrator_drain(struct orchestrator *orchestrator)
{
    int64_t until_ns = clock_monotonic(clock_system());
    until_ns += orchestrator->options.drain_ns > 0 ? orchestrator->options.drain_ns : 0;
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->is_draining = true;
    cancel_set(&orchestrator->opening, CANCEL_NOW);
    park_all(orchestrator, false);
    pthread_cond_broadcast(&orchestrator->changed);
    int64_t left_ns;
    while (orchestrator->running > 0 && !orchestrator->is_cutting &&
           (left_ns = until_ns - clock_monotonic(clock_system())) > 0) {
        orchestrator_wait(orchestrator, left_ns < TURN_NS ? left_ns : TURN_NS);
    }
    orchestrator->is_cutting = true;
    park_all(orchestrator, true);
    while (orchestrator->running > 0) {
        pthread_cond_wait(&orchestrator->changed, &orchestrator->lock);
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

static void free_entries(struct orchestrator *orchestrator)
{
    while (orchestrator->entries != NULL) {
        entry_remove(orchestrator, orchestrator->entries);
    }
}

void orchestrator_stop(struct orchestrator *orchestrator)
{
    if (orchestrator == NULL) {
        return;
    }
    orchestrator_drain(orchestrator);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->is_stopping = true;
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
    if (orchestrator->has_scheduler) {
        pthread_join(orchestrator->scheduler, NULL);
        writer_unlisten(runtime_writer(orchestrator->options.runtime), &orchestrator->listener);
    }
    pthread_mutex_lock(&orchestrator->lock);
    executor_join_ended(orchestrator);
    free_entries(orchestrator);
    pthread_mutex_unlock(&orchestrator->lock);
    registration_end(orchestrator);
    orphans_forget(orchestrator);
    pthread_cond_destroy(&orchestrator->changed);
    pthread_mutex_destroy(&orchestrator->lock);
    cancel_fini(&orchestrator->opening);
    handoff_index_free(orchestrator->handoffs);
    turns_fini(&orchestrator->turns);
    memory_free_list(orchestrator->shared_folders);
    free(orchestrator->work_folder);
    free(orchestrator->config_folder);
    free(orchestrator->prices_file);
    free(orchestrator);
}
/* ---- Looking -------------------------------------------------------------------------------- */

bool orchestrator_is_executing(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    const struct run_entry *entry = entry_find(orchestrator, run_id);
    bool is_executing = entry != NULL && entry->state != ENTRY_PAUSED;
    pthread_mutex_unlock(&orchestrator->lock);
    return is_executing;
}

bool orchestrator_is_queued(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    const struct run_entry *entry = entry_find(orchestrator, run_id);
    bool is_queued = entry != NULL && entry->state == ENTRY_QUEUED;
    bool may_be_elsewhere = entry == NULL && orchestrator->has_peers;
    pthread_mutex_unlock(&orchestrator->lock);
    struct assignment assignment;
    return is_queued ||
           (may_be_elsewhere &&
            assignment_read(orchestrator_store(orchestrator), run_id, &assignment, NULL) == 1 &&
            assignment.state == ASSIGNMENT_QUEUED);
}

void orchestrator_explain_waiting(struct orchestrator *orchestrator, const struct store_run *run,
                                  struct buf *ret_text)
{
    struct assignment assignment;
    if (run->summary.status != RONDO_RUNNING || run->summary.is_paused ||
        !run_is_interrupted(run)) {
        return;
    }
    struct store *store = orchestrator_store(orchestrator);
    bool is_assigned = assignment_read(store, run->id, &assignment, NULL) == 1;
    pthread_mutex_lock(&orchestrator->lock);
    servers_explain_waiting(store, orchestrator->servers, orchestrator->server_count, run,
                            is_assigned ? &assignment : NULL, ret_text);
    pthread_mutex_unlock(&orchestrator->lock);
}

size_t orchestrator_take_queued(struct orchestrator *orchestrator, char (*ret_run_ids)[ID_SIZE],
                                size_t size)
{
    size_t count = 0;
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = orchestrator->queue;
    for (; entry != NULL && orchestrator->new_queued > 0 && count < size; entry = entry->next) {
        if (entry->is_new) {
            memcpy(ret_run_ids[count++], entry->run_id, ID_SIZE);
            entry->is_new = false;
            orchestrator->new_queued--;
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return count;
}

struct orchestrator_state orchestrator_state(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    struct orchestrator_state state = {
        .running = orchestrator->running,
        .queued = orchestrator->queued,
        .paused = orchestrator->paused,
        .max_loops = orchestrator->admission.max_loops,
        .max_queue = orchestrator->options.max_queue,
        .taken_over = orchestrator->taken_over,
        .closed = orchestrator->closed,
        .is_draining = orchestrator->is_draining,
        .is_chain_broken = orchestrator->is_chain_broken,
        .is_store_failing = orchestrator->is_store_failing || orchestrator->is_writing_failing,
    };
    memcpy(state.limited_by, orchestrator->admission.limited_by, sizeof(state.limited_by));
    pthread_mutex_unlock(&orchestrator->lock);
    return state;
}

struct handoff_index *orchestrator_handoffs(struct orchestrator *orchestrator)
{
    return orchestrator->handoffs;
}

const char *orchestrator_prices_file(const struct orchestrator *orchestrator)
{
    return orchestrator->prices_file;
}

const struct loop_parts *orchestrator_parts(const struct orchestrator *orchestrator)
{
    return &orchestrator->parts;
}

const char *orchestrator_config_folder(const struct orchestrator *orchestrator)
{
    return orchestrator->config_folder;
}
