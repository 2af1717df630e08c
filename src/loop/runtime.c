// SPDX-License-Identifier: Apache-2.0
/*
 * The shared part of a process's loops. The registry has one lock, held only for look-ups; the
 * keeper never holds it while it talks to the store.
 */
#include "loop/runtime.h"

#include "base/error.h"
#include "base/memory.h"
#include "handoff/desks/reach.h"
#include "handoff/storage/clock.h"
#include "loop/owner.h"
#include "loop/policy_history.h"
#include "loop/runtime_internal.h"
#include "loop/spec.h"
#include "os/host.h"
#include "os/state_folder.h"
#include "os/trust.h"
#include "policy/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** The keeper's thread needs room for SQLite's calls, not more. */
#define KEEPER_STACK_BYTES ((size_t)256 * 1024)
/** Without a beat for so long, and so long while the keeper waits for the store, it was frozen. */
#define FREEZE_NS      NS_PER_S
#define KEEPER_BUSY_NS (30 * NS_PER_S)
/** Bodies are ended so much of the lease before its end when it cannot be renewed. */
#define LEASE_MARGIN 10
struct runtime_entry {
    char run_id[ID_SIZE];
    uint64_t epoch;
    struct cancel *cancel; /* NULL for abandoned runs */
    bool has_mail;
    bool is_waiting; /* its commit waits for the store */
    bool is_late;    /* its token was set because its lease could not be renewed */
    int64_t held_ns; /* its lease began then, or later; monotonic. Of remote stores only */
    UT_hash_handle hh;
};

/** Policies that loops of this process use. */
struct policies {
    struct policies *next;
    char *path; /* as asked for; NULL = the runtime's */
    struct watch *watch;
};

struct runtime {
    struct store *store;
    struct writer *writer;
    const struct clock *clock;
    struct random *random;
    int64_t lease_ns;
    char owner[STORE_OWNER_SIZE];
    char boot[HOST_BOOT_SIZE];
    char *supervisor;
    char **hide_paths;
    bool has_keeper;

    pthread_mutex_t lock;            /* guards the next four */
    struct runtime_entry *entries;   /* loops that run here */
    struct runtime_entry *abandoned; /* runs whose leases must be ended */
    bool is_keeper_running;
    pthread_cond_t keeper_needed; /* with the lock: there is an entry of either kind, or an end */
    pthread_t keeper;

    char *policy;
    struct desks_watch *desks;
    struct handoff_clock handoff_clock;
    bool is_policy_optional;
    bool is_policy_named;
    struct policies *policies; /* guarded by the lock, too */

    bool is_store_remote;
    runtime_store_fn *store_away;
    void *store_away_context;
    bool is_store_away; /* somebody was told; guarded by listen_lock */

    pthread_mutex_t listen_lock; /* guards the next two; held while the listener is called */
    void (*listener)(void *context);
    void *listener_context;

    pthread_mutex_t beat_lock; /* guards the next three */
    int64_t beat_ns;           /* monotonic time when a thread last showed that this process runs */
    int64_t active_ns;         /* runtime_active_ns at that time */
    bool has_beats;            /* the keeper has begun */
    bool is_keeper_busy;       /* it may wait for the store long, without a beat */

    struct cancel keeper_stop;
    _Atomic int64_t renewed_ns; /* monotonic time of the last renewal */
    bool has_guard;
    pthread_t guard; /* of leases in a remote store; runs when the keeper does */
};

static char **dup_paths(const char *const *paths)
{
    size_t count = 0;
    while (paths != NULL && paths[count] != NULL) {
        count++;
    }
    char **copy = memory_new_zero(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = memory_dup_string(paths[i]);
    }
    return copy;
}

int runtime_new(const struct runtime_options *options, struct runtime **ret_runtime,
                struct rondo_error *err)
{
    int64_t lease_ns = options->lease_ns == 0 ? RUNTIME_DEFAULT_LEASE_NS : options->lease_ns;
    if (lease_ns < RUNTIME_MIN_LEASE_NS) {
        return error_set(err, RONDO_ERR_INVALID, "the lease must be at least 500 ms");
    }
    struct runtime *runtime = memory_new_zero(1, sizeof(*runtime));
    int r = cancel_init(&runtime->keeper_stop, err);
    if (r < 0) {
        free(runtime);
        return r;
    }
    runtime->store = options->store;
    runtime->writer = writer_new(options->store);
    runtime->clock = options->clock == NULL ? clock_system() : options->clock;
    runtime->random = options->random == NULL ? random_system() : options->random;
    runtime->lease_ns = lease_ns;
    runtime->supervisor = memory_dup_string(options->supervisor);
    runtime->hide_paths = dup_paths(options->hide_paths);
    runtime->policy = memory_dup_string(options->policy);
    runtime->desks = desks_watch_new(options->desks);
    handoff_clock_init(&runtime->handoff_clock, runtime->store, runtime->clock);
    runtime->is_policy_optional = options->is_policy_optional;
    runtime->is_store_remote = options->is_store_remote;
    runtime->store_away = options->store_away;
    runtime->store_away_context = options->store_away_context;
    runtime->is_policy_named = options->is_policy_named;
    runtime->has_keeper = !options->has_no_keeper;
    runtime->renewed_ns = clock_monotonic(runtime->clock);
    pthread_mutex_init(&runtime->lock, NULL);
    pthread_cond_init(&runtime->keeper_needed, NULL);
    pthread_mutex_init(&runtime->listen_lock, NULL);
    pthread_mutex_init(&runtime->beat_lock, NULL);
    runtime->beat_ns = runtime->renewed_ns;
    owner_new(runtime->random, runtime->owner);
    host_boot(runtime->boot);
    *ret_runtime = runtime;
    return 0;
}

static void free_entries(struct runtime_entry **entries)
{
    struct runtime_entry *next = *entries;
    HASH_CLEAR(hh, *entries);
    while (next != NULL) {
        struct runtime_entry *entry = next;
        next = entry->hh.next;
        free(entry);
    }
}

static void free_policies(struct runtime *runtime)
{
    while (runtime->policies != NULL) {
        struct policies *policies = runtime->policies;
        runtime->policies = policies->next;
        watch_free(policies->watch);
        free(policies->path);
        free(policies);
    }
    free(runtime->policy);
}

void runtime_free(struct runtime *runtime)
{
    if (runtime == NULL) {
        return;
    }
    pthread_mutex_lock(&runtime->lock);
    cancel_set(&runtime->keeper_stop, CANCEL_GRACEFUL);
    pthread_cond_broadcast(&runtime->keeper_needed);
    pthread_mutex_unlock(&runtime->lock);
    if (runtime->is_keeper_running) {
        pthread_join(runtime->keeper, NULL);
    }
    if (runtime->has_guard) {
        pthread_join(runtime->guard, NULL);
    }
    free_entries(&runtime->entries);
    free_entries(&runtime->abandoned);
    free_policies(runtime);
    desks_watch_free(runtime->desks);
    cancel_fini(&runtime->keeper_stop);
    pthread_mutex_destroy(&runtime->lock);
    pthread_cond_destroy(&runtime->keeper_needed);
    pthread_mutex_destroy(&runtime->listen_lock);
    pthread_mutex_destroy(&runtime->beat_lock);
    writer_free(runtime->writer);
    for (size_t i = 0; runtime->hide_paths[i] != NULL; i++) {
        free(runtime->hide_paths[i]);
    }
    free(runtime->hide_paths);
    free(runtime->supervisor);
    free(runtime);
}

struct store *runtime_store(struct runtime *runtime)
{
    return runtime->store;
}

struct writer *runtime_writer(struct runtime *runtime)
{
    return runtime->writer;
}

void runtime_listen(struct runtime *runtime, void (*listener)(void *context), void *context)
{
    pthread_mutex_lock(&runtime->listen_lock);
    runtime->listener = listener;
    runtime->listener_context = context;
    pthread_mutex_unlock(&runtime->listen_lock);
}

void runtime_notify(struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->listen_lock);
    if (runtime->listener != NULL) {
        runtime->listener(runtime->listener_context);
    }
    pthread_mutex_unlock(&runtime->listen_lock);
}

bool runtime_waits_for_store(const struct runtime *runtime)
{
    return runtime->is_store_remote;
}

/** Tell people once for all loops. */
static void note_store(struct runtime *runtime, const char *problem)
{
    bool is_away = problem != NULL;
    pthread_mutex_lock(&runtime->listen_lock);
    if (runtime->is_store_away != is_away && runtime->store_away != NULL) {
        runtime->store_away(runtime->store_away_context, problem);
    }
    runtime->is_store_away = is_away;
    pthread_mutex_unlock(&runtime->listen_lock);
}

void runtime_note_waiting(struct runtime *runtime, const char *run_id, const char *problem)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    if (entry != NULL) {
        entry->is_waiting = problem != NULL;
    }
    pthread_mutex_unlock(&runtime->lock);
    note_store(runtime, problem);
}

const struct clock *runtime_clock(struct runtime *runtime)
{
    return runtime->clock;
}

struct random *runtime_random(struct runtime *runtime)
{
    return runtime->random;
}

const char *runtime_owner(struct runtime *runtime)
{
    return runtime->owner;
}

const char *runtime_boot(struct runtime *runtime)
{
    return runtime->boot;
}

int64_t runtime_lease_ns(struct runtime *runtime)
{
    return runtime->lease_ns;
}

const char *runtime_supervisor(struct runtime *runtime)
{
    return runtime->supervisor;
}

const char *const *runtime_hide_paths(struct runtime *runtime)
{
    return (const char *const *)runtime->hide_paths;
}

static bool is_same_path(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/** Called with the lock held. */
static struct watch *add_policies(struct runtime *runtime, const char *path)
{
    struct policies *policies = memory_new_zero(1, sizeof(*policies));
    policies->path = memory_dup_string(path);
    policies->watch = watch_new(&(struct watch_options){
        .path = path == NULL ? runtime->policy : path,
        .is_optional = path == NULL && runtime->is_policy_optional,
        .shared = runtime->store,
        .loaded = policy_history_enter,
        .context = runtime->store,
    });
    policies->next = runtime->policies;
    runtime->policies = policies;
    return policies->watch;
}

struct watch *runtime_policies(struct runtime *runtime, const char *path)
{
    pthread_mutex_lock(&runtime->lock);
    struct policies *policies = runtime->policies;
    while (policies != NULL && !is_same_path(policies->path, path)) {
        policies = policies->next;
    }
    struct watch *watch = policies != NULL ? policies->watch : add_policies(runtime, path);
    pthread_mutex_unlock(&runtime->lock);
    return watch;
}

/**
 * Whether a path lies in one of the folders that no sandbox shows and no tool writes. It is not
 * resolved: a link elsewhere that leads there could be turned.
 */
static bool is_hidden(const struct runtime *runtime, const char *path)
{
    for (size_t i = 0; runtime->hide_paths[i] != NULL; i++) {
        size_t len = strlen(runtime->hide_paths[i]);
        if (strncmp(path, runtime->hide_paths[i], len) == 0 && path[len] == '/' &&
            strstr(path + len, "/../") == NULL) {
            return true;
        }
    }
    return false;
}

bool runtime_policies_in_reach(struct runtime *runtime, const struct loop_spec *spec)
{
    const char *path = spec->policy == NULL ? runtime->policy : spec->policy;
    const char *const workspace[] = {spec->workspace, NULL};
    return path != NULL && !is_hidden(runtime, path) &&
           (watch_is_shared_path(path) || trust_is_in_reach(path, workspace) ||
            trust_is_in_reach(path, (const char *const *)spec->write_paths) ||
            state_is_in_project(path) || trust_stamp(TRUST_POLICY, path) != 0);
}

struct desks_watch *runtime_desks(struct runtime *runtime)
{
    return runtime->desks;
}

struct handoff_store runtime_handoffs(struct runtime *runtime)
{
    struct handoff_store handoffs =
        desks_store(runtime->store, desks_look(runtime->store, runtime->desks));
    handoffs.clock = &runtime->handoff_clock;
    return handoffs;
}

int runtime_guard_desks(struct runtime *runtime, const struct loop_spec *spec,
                        struct rondo_error *err)
{
    const char *path = desks_watch_path(runtime->desks);
    const char *const workspace[] = {spec->workspace, NULL};
    bool is_in_reach = path != NULL && !is_hidden(runtime, path) &&
                       (trust_is_in_reach(path, workspace) ||
                        trust_is_in_reach(path, (const char *const *)spec->write_paths) ||
                        state_is_in_project(path));
    return is_in_reach ? desks_guard(runtime->store, runtime->desks, err) : 0;
}

void runtime_settle_policies(struct runtime *runtime, struct loop_spec *spec)
{
    char *path = NULL;
    if (spec->policy != NULL && runtime_policies_in_reach(runtime, spec) &&
        trust_path(spec->policy, &path, NULL) == 0) {
        free(spec->policy);
        spec->policy = path;
    }
}

bool runtime_policies_are_named(struct runtime *runtime, const struct loop_spec *spec)
{
    return spec->policy != NULL || runtime->is_policy_named;
}

/**
 * Count the time since the last beat. With the keeper there is one at each tick; where they are
 * missing for long, no thread of this process could run.
 */
static int64_t beat(struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->beat_lock);
    int64_t now_ns = clock_monotonic(runtime->clock);
    int64_t passed_ns = now_ns - runtime->beat_ns;
    int64_t longest_ns = runtime->is_keeper_busy ? KEEPER_BUSY_NS : FREEZE_NS;
    bool was_frozen = runtime->has_beats && passed_ns > longest_ns;
    runtime->active_ns += was_frozen ? RUNTIME_TICK_NS : passed_ns;
    runtime->beat_ns = now_ns;
    int64_t active_ns = runtime->active_ns;
    pthread_mutex_unlock(&runtime->beat_lock);
    return active_ns;
}

int64_t runtime_active_ns(struct runtime *runtime)
{
    return beat(runtime);
}

static void set_keeper_busy(struct runtime *runtime, bool is_busy)
{
    beat(runtime);
    pthread_mutex_lock(&runtime->beat_lock);
    runtime->is_keeper_busy = is_busy;
    runtime->has_beats = true;
    pthread_mutex_unlock(&runtime->beat_lock);
}

void runtime_beat(struct runtime *runtime)
{
    set_keeper_busy(runtime, false);
}

/** No beats come while the keeper sleeps, which is no freeze. */
static void stop_beats(struct runtime *runtime)
{
    beat(runtime);
    pthread_mutex_lock(&runtime->beat_lock);
    runtime->has_beats = false;
    pthread_mutex_unlock(&runtime->beat_lock);
}

/** Called with the lock held. */
static bool is_keeper_needed(const struct runtime *runtime)
{
    return runtime->entries != NULL || runtime->abandoned != NULL ||
           cancel_is_set(&runtime->keeper_stop);
}

/** Sleep while no loop runs here. Leases of loops that begin meanwhile are new. */
static void keeper_sleep(struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    if (!is_keeper_needed(runtime)) {
        stop_beats(runtime);
        while (!is_keeper_needed(runtime)) {
            pthread_cond_wait(&runtime->keeper_needed, &runtime->lock);
        }
        runtime->renewed_ns = clock_monotonic(runtime->clock);
    }
    pthread_mutex_unlock(&runtime->lock);
}

static void *keeper_main(void *argument)
{
    struct runtime *runtime = argument;
    keeper_sleep(runtime);
    while (!cancel_wait(&runtime->keeper_stop, RUNTIME_TICK_NS)) {
        set_keeper_busy(runtime, true);
        runtime_tick(runtime);
        set_keeper_busy(runtime, false);
        keeper_sleep(runtime);
    }
    return NULL;
}

/** Another machine may claim a run as soon as its lease is over: no body of it is active then. */
static void end_late_bodies(struct runtime *runtime)
{
    int64_t oldest_ns =
        clock_monotonic(runtime->clock) - (runtime->lease_ns - runtime->lease_ns / LEASE_MARGIN);
    if (runtime->renewed_ns > oldest_ns) {
        return;
    }
    pthread_mutex_lock(&runtime->lock);
    for (struct runtime_entry *entry = runtime->entries; entry != NULL; entry = entry->hh.next) {
        if (!entry->is_waiting && entry->held_ns <= oldest_ns && !cancel_is_set(entry->cancel)) {
            entry->is_late = true; /* Before the token: nobody takes it for a stop. */
            cancel_set(entry->cancel, CANCEL_NOW);
        }
    }
    pthread_mutex_unlock(&runtime->lock);
}

/**
 * The keeper may wait for a store that is cut off for longer than the lease. This thread never
 * talks to the store.
 */
static void *guard_main(void *argument)
{
    struct runtime *runtime = argument;
    do {
        pthread_mutex_lock(&runtime->lock);
        while (!is_keeper_needed(runtime)) {
            pthread_cond_wait(&runtime->keeper_needed, &runtime->lock);
        }
        pthread_mutex_unlock(&runtime->lock);
        end_late_bodies(runtime);
    } while (!cancel_wait(&runtime->keeper_stop, RUNTIME_TICK_NS));
    return NULL;
}

/** Called with the lock held. */
static int start_keeper(struct runtime *runtime, struct rondo_error *err)
{
    if (!runtime->has_keeper || runtime->is_keeper_running) {
        return 0;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, KEEPER_STACK_BYTES);
    int failure = 0;
    if (runtime->is_store_remote && !runtime->has_guard) {
        failure = pthread_create(&runtime->guard, &attributes, guard_main, runtime);
        runtime->has_guard = failure == 0;
    }
    if (failure == 0) {
        failure = pthread_create(&runtime->keeper, &attributes, keeper_main, runtime);
    }
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, failure, "cannot start the lease keeper");
    }
    runtime->is_keeper_running = true;
    return 0;
}

/** Called with the lock held. */
static struct runtime_entry *add_entry(struct runtime_entry **entries, const char *run_id,
                                       uint64_t epoch, struct cancel *cancel)
{
    struct runtime_entry *entry = memory_new_zero(1, sizeof(*entry));
    memcpy(entry->run_id, run_id, sizeof(entry->run_id));
    entry->epoch = epoch;
    entry->cancel = cancel;
    HASH_ADD_STR(*entries, run_id, entry);
    return entry;
}

/** Called with the lock held. @param epoch 0 = whichever */
static void drop_entry(struct runtime_entry **entries, const char *run_id, uint64_t epoch)
{
    struct runtime_entry *entry = NULL;
    HASH_FIND_STR(*entries, run_id, entry);
    if (entry != NULL && (epoch == 0 || entry->epoch == epoch)) {
        HASH_DEL(*entries, entry);
        free(entry);
    }
}

void runtime_forget_abandoned(struct runtime *runtime, const char *run_id)
{
    pthread_mutex_lock(&runtime->lock);
    drop_entry(&runtime->abandoned, run_id, 0);
    pthread_mutex_unlock(&runtime->lock);
}

/** Called with the lock held: an older loop of the run can do nothing any more. */
static void end_predecessor(struct runtime *runtime, const char *run_id)
{
    struct runtime_entry *entry = NULL;
    HASH_FIND_STR(runtime->entries, run_id, entry);
    if (entry != NULL) {
        cancel_set(entry->cancel, CANCEL_NOW);
        drop_entry(&runtime->entries, run_id, 0);
    }
}

int runtime_register(struct runtime *runtime, const char *run_id, uint64_t epoch,
                     struct cancel *cancel, struct rondo_error *err)
{
    pthread_mutex_lock(&runtime->lock);
    if (runtime->is_store_remote && !is_keeper_needed(runtime)) {
        runtime->renewed_ns = clock_monotonic(runtime->clock); /* What was before is over. */
    }
    end_predecessor(runtime, run_id);
    int r = start_keeper(runtime, err);
    if (r == 0 && HASH_COUNT(runtime->entries) >= LIMIT_LOOPS_PER_PROCESS) {
        r = error_set(err, RONDO_ERR_LIMIT, "%d loops run in this process already",
                      LIMIT_LOOPS_PER_PROCESS);
    }
    if (r == 0) {
        add_entry(&runtime->entries, run_id, epoch, cancel)->held_ns =
            clock_monotonic(runtime->clock);
        pthread_cond_broadcast(&runtime->keeper_needed);
    }
    pthread_mutex_unlock(&runtime->lock);
    return r;
}

void runtime_note_held(struct runtime *runtime, const char *run_id, int64_t since_ns)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    if (entry != NULL) {
        entry->held_ns = since_ns;
    }
    pthread_mutex_unlock(&runtime->lock);
}

bool runtime_is_late(struct runtime *runtime, const char *run_id, bool forgets)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    bool is_late = entry != NULL && entry->is_late;
    if (is_late && forgets) {
        entry->is_late = false;
    }
    pthread_mutex_unlock(&runtime->lock);
    return is_late;
}

void runtime_unregister(struct runtime *runtime, const char *run_id, uint64_t epoch)
{
    pthread_mutex_lock(&runtime->lock);
    drop_entry(&runtime->entries, run_id, epoch);
    pthread_mutex_unlock(&runtime->lock);
}

bool runtime_has_mail(struct runtime *runtime, const char *run_id)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    bool has_mail = entry != NULL && entry->has_mail;
    if (has_mail) {
        entry->has_mail = false;
    }
    pthread_mutex_unlock(&runtime->lock);
    return has_mail;
}

bool runtime_is_running_here(struct runtime *runtime, const char *run_id)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    pthread_mutex_unlock(&runtime->lock);
    return entry != NULL;
}

bool runtime_is_abandoned(struct runtime *runtime, const char *run_id, uint64_t epoch)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->abandoned, run_id, entry);
    bool is_abandoned = entry != NULL && (entry->epoch == epoch || entry->epoch == 0);
    pthread_mutex_unlock(&runtime->lock);
    return is_abandoned;
}

/** End an abandoned run's lease if it is still ours. @return whether nothing is left to do */
static bool end_lease(struct runtime *runtime, const struct runtime_entry *entry)
{
    struct store *store = runtime->store;
    uint64_t epoch = entry->epoch;
    if (epoch == 0) {
        struct store_run run;
        int r = store->ops->get_run(store, entry->run_id, &run, NULL);
        if (r < 0) {
            return r == RONDO_ERR_NOT_FOUND;
        }
        if (strcmp(run.owner, runtime->owner) != 0 || runtime_is_running_here(runtime, run.id)) {
            return true;
        }
        epoch = run.epoch;
    }
    return store->ops->expire_lease(store, entry->run_id, epoch, NULL) == 0;
}

void runtime_abandon(struct runtime *runtime, const char *run_id, uint64_t epoch)
{
    pthread_mutex_lock(&runtime->lock);
    if (epoch != 0) {
        drop_entry(&runtime->entries, run_id, epoch);
    }
    drop_entry(&runtime->abandoned, run_id, 0);
    add_entry(&runtime->abandoned, run_id, epoch, NULL);
    pthread_cond_broadcast(&runtime->keeper_needed);
    int r = start_keeper(runtime, NULL);
    (void)r; /* Without a thread the lease ends with the process. */
    pthread_mutex_unlock(&runtime->lock);
}

/** A copy of one abandoned entry: the lock is not held while the store is asked. */
static bool next_abandoned(struct runtime *runtime, struct runtime_entry *ret_entry)
{
    pthread_mutex_lock(&runtime->lock);
    bool is_there = runtime->abandoned != NULL;
    if (is_there) {
        *ret_entry = *runtime->abandoned;
    }
    pthread_mutex_unlock(&runtime->lock);
    return is_there;
}

static void end_abandoned(struct runtime *runtime)
{
    struct runtime_entry entry;
    while (next_abandoned(runtime, &entry) && end_lease(runtime, &entry)) {
        runtime_forget_abandoned(runtime, entry.run_id);
    }
}

/** Only a stop ends a body; everything else is taken at a boundary. */
static bool deliver(const struct store_letter *letter, void *context)
{
    struct runtime *runtime = context;
    pthread_mutex_lock(&runtime->lock);
    struct runtime_entry *entry = NULL;
    HASH_FIND_STR(runtime->entries, letter->run_id, entry);
    if (entry != NULL) {
        entry->has_mail = true;
    }
    if (entry != NULL && strcmp(letter->kind, "stop") == 0) {
        cancel_set(entry->cancel, CANCEL_GRACEFUL);
    }
    pthread_mutex_unlock(&runtime->lock);
    return true;
}

/** Run ids of all loops, NUL-separated by array; the caller frees. */
static char (*snapshot_ids(struct runtime *runtime, size_t *ret_count))[ID_SIZE]
{
    pthread_mutex_lock(&runtime->lock);
    char(*ids)[ID_SIZE] = memory_new_zero(HASH_COUNT(runtime->entries), sizeof(*ids));
    size_t count = 0;
    for (struct runtime_entry *entry = runtime->entries; entry != NULL; entry = entry->hh.next) {
        memcpy(ids[count++], entry->run_id, ID_SIZE);
    }
    pthread_mutex_unlock(&runtime->lock);
    *ret_count = count;
    return ids;
}

static void cancel_if_lost(struct runtime *runtime, const char *run_id)
{
    struct store_run run;
    if (runtime->store->ops->get_run(runtime->store, run_id, &run, NULL) < 0) {
        return;
    }
    pthread_mutex_lock(&runtime->lock);
    struct runtime_entry *entry = NULL;
    HASH_FIND_STR(runtime->entries, run_id, entry);
    if (entry != NULL && entry->epoch != run.epoch) {
        cancel_set(entry->cancel, CANCEL_NOW); /* Its next commit will be refused anyway. */
    }
    pthread_mutex_unlock(&runtime->lock);
}

/** After a freeze or a long outage: end the bodies of runs that somebody else has taken over. */
static void look_for_lost_runs(struct runtime *runtime)
{
    size_t count = 0;
    char(*ids)[ID_SIZE] = snapshot_ids(runtime, &count);
    for (size_t i = 0; i < count; i++) {
        cancel_if_lost(runtime, ids[i]);
    }
    free(ids);
}

void runtime_tick(struct runtime *runtime)
{
    struct store *store = runtime->store;
    int64_t before_ns = clock_monotonic(runtime->clock);
    int64_t since = before_ns - runtime->renewed_ns;
    if (since >= runtime->lease_ns / 3) {
        /* A failure is not reported here: the loops meet it themselves at their next commit. */
        if (store->ops->renew_leases(store, runtime->owner, runtime->lease_ns, NULL) == 0) {
            /* A distant store has begun the lease at any moment of the call. */
            runtime->renewed_ns =
                runtime->is_store_remote ? before_ns : clock_monotonic(runtime->clock);
        } else if (runtime->is_store_remote) {
            end_late_bodies(runtime);
        }
        if (since >= runtime->lease_ns) {
            look_for_lost_runs(runtime);
        }
    }
    end_abandoned(runtime);
    store->ops->read_mail(store, NULL, runtime->owner, deliver, runtime, NULL);
}
