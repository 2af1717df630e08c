// SPDX-License-Identifier: Apache-2.0
/*
 * The shared part of a process's loops. The registry has one lock, held only for look-ups; the
 * keeper never holds it while it talks to the store.
 */
#include "loop/runtime.h"

#include "base/error.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "loop/policy_history.h"
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
/** Dead holders that one claim may clear out of the way. */
#define CLAIM_TRIES 16

/** Times that a claim is tried when the store fails, and the first pause, doubled each time. */
#define CLAIM_FAILURES 4
#define CLAIM_PAUSE_NS (20 * NS_PER_MS)

struct runtime_entry {
    char run_id[ID_SIZE];
    uint64_t epoch;
    struct cancel *cancel; /* NULL for abandoned runs */
    bool has_mail;
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
    bool is_policy_optional;
    bool is_policy_named;
    struct policies *policies; /* guarded by the lock, too */

    pthread_mutex_t listen_lock; /* guards the next two; held while the listener is called */
    void (*listener)(void *context);
    void *listener_context;

    pthread_mutex_t beat_lock; /* guards the next three */
    int64_t beat_ns;           /* monotonic time when a thread last showed that this process runs */
    int64_t active_ns;         /* runtime_active_ns at that time */
    bool has_beats;            /* the keeper has begun */
    bool is_keeper_busy;       /* it may wait for the store long, without a beat */

    struct cancel keeper_stop;
    int64_t renewed_ns; /* keeper's thread only: monotonic time of the last renewal */
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
    runtime->is_policy_optional = options->is_policy_optional;
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
    if (runtime->is_keeper_running) {
        pthread_mutex_lock(&runtime->lock);
        cancel_set(&runtime->keeper_stop, CANCEL_GRACEFUL);
        pthread_cond_signal(&runtime->keeper_needed);
        pthread_mutex_unlock(&runtime->lock);
        pthread_join(runtime->keeper, NULL);
    }
    free_entries(&runtime->entries);
    free_entries(&runtime->abandoned);
    free_policies(runtime);
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

/** Called with the lock held. */
static int start_keeper(struct runtime *runtime, struct rondo_error *err)
{
    if (!runtime->has_keeper || runtime->is_keeper_running) {
        return 0;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, KEEPER_STACK_BYTES);
    int failure = pthread_create(&runtime->keeper, &attributes, keeper_main, runtime);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, failure, "cannot start the lease keeper");
    }
    runtime->is_keeper_running = true;
    return 0;
}

/** Called with the lock held. */
static void add_entry(struct runtime_entry **entries, const char *run_id, uint64_t epoch,
                      struct cancel *cancel)
{
    struct runtime_entry *entry = memory_new_zero(1, sizeof(*entry));
    memcpy(entry->run_id, run_id, sizeof(entry->run_id));
    entry->epoch = epoch;
    entry->cancel = cancel;
    HASH_ADD_STR(*entries, run_id, entry);
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

static void forget_abandoned(struct runtime *runtime, const char *run_id)
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
    end_predecessor(runtime, run_id);
    int r = start_keeper(runtime, err);
    if (r == 0 && HASH_COUNT(runtime->entries) >= LIMIT_LOOPS_PER_PROCESS) {
        r = error_set(err, RONDO_ERR_LIMIT, "%d loops run in this process already",
                      LIMIT_LOOPS_PER_PROCESS);
    }
    if (r == 0) {
        add_entry(&runtime->entries, run_id, epoch, cancel);
        pthread_cond_signal(&runtime->keeper_needed);
    }
    pthread_mutex_unlock(&runtime->lock);
    return r;
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

static bool is_running_here(struct runtime *runtime, const char *run_id)
{
    struct runtime_entry *entry = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->entries, run_id, entry);
    pthread_mutex_unlock(&runtime->lock);
    return entry != NULL;
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
        if (strcmp(run.owner, runtime->owner) != 0 || is_running_here(runtime, run.id)) {
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
    pthread_cond_signal(&runtime->keeper_needed);
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
        forget_abandoned(runtime, entry.run_id);
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
    int64_t since = clock_monotonic(runtime->clock) - runtime->renewed_ns;
    if (since >= runtime->lease_ns / 3) {
        /* A failure is not reported here: the loops meet it themselves at their next commit. */
        if (store->ops->renew_leases(store, runtime->owner, runtime->lease_ns, NULL) == 0) {
            runtime->renewed_ns = clock_monotonic(runtime->clock);
        }
        if (since >= runtime->lease_ns) {
            look_for_lost_runs(runtime);
        }
    }
    end_abandoned(runtime);
    store->ops->read_mail(store, NULL, runtime->owner, deliver, runtime, NULL);
}

/** One claim as it is tried. */
struct claiming {
    struct runtime *runtime;
    const char *run_id;
    const struct store_run *new_run; /* NULL = claim an existing one */
    const struct store_event *first;
    size_t first_count;
    int failures; /* tries whose outcome is unknown: one of them may have taken effect */
    char dead_owner[STORE_OWNER_SIZE]; /* of the run, whose lease was ended here; "" = none */
};

/** A creation whose answer was lost is there on the second try. */
static int recognise_created(const struct claiming *claiming, struct store_claim_result *ret_result,
                             struct rondo_error *err)
{
    struct store *store = claiming->runtime->store;
    struct store_run run;
    int r = store->ops->get_run(store, claiming->run_id, &run, err);
    if (r == 0 && strcmp(run.owner, claiming->runtime->owner) != 0) {
        r = error_set(err, RONDO_ERR_INVALID, "there is a run %s already", claiming->run_id);
    }
    if (r == 0) {
        *ret_result =
            (struct store_claim_result){.outcome = STORE_CLAIMED, .epoch = run.epoch, .run = run};
    }
    return r;
}

static int ask_store(const struct claiming *claiming, struct store_claim_result *ret_result,
                     struct rondo_error *err)
{
    struct runtime *runtime = claiming->runtime;
    struct store *store = runtime->store;
    struct store_claim claim = {
        .owner = runtime->owner, .lease_ns = runtime->lease_ns, .boot = runtime->boot};
    if (claiming->new_run == NULL) {
        return store->ops->claim_run(store, claiming->run_id, &claim, ret_result, err);
    }
    int r = store->ops->create_run(store, claiming->new_run, claiming->first, claiming->first_count,
                                   &claim, ret_result, err);
    return r == RONDO_ERR_INVALID && claiming->failures > 0
               ? recognise_created(claiming, ret_result, err)
               : r;
}

/** Whether the holder is no living loop: a dead process, or this one without knowing it. */
static bool may_take_over(const struct claiming *claiming, const struct store_run *holder)
{
    struct runtime *runtime = claiming->runtime;
    if (strcmp(holder->owner, runtime->owner) != 0) {
        return owner_is_dead(holder->owner);
    }
    if (is_running_here(runtime, holder->id)) {
        return false;
    }
    struct runtime_entry *abandoned = NULL;
    pthread_mutex_lock(&runtime->lock);
    HASH_FIND_STR(runtime->abandoned, holder->id, abandoned);
    bool is_abandoned =
        abandoned != NULL && (abandoned->epoch == holder->epoch || abandoned->epoch == 0);
    pthread_mutex_unlock(&runtime->lock);
    bool may_be_ours = claiming->failures > 0 && strcmp(holder->id, claiming->run_id) == 0;
    return is_abandoned || may_be_ours;
}

/** The store forgets the holder of a lease that is ended. */
static int end_lease_of(struct claiming *claiming, const struct store_run *holder,
                        struct rondo_error *err)
{
    struct store *store = claiming->runtime->store;
    bool is_others = strcmp(holder->owner, claiming->runtime->owner) != 0;
    if (is_others && strcmp(holder->id, claiming->run_id) == 0) {
        snprintf(claiming->dead_owner, sizeof(claiming->dead_owner), "%s", holder->owner);
    }
    int r = 0;
    if (is_others && strcmp(holder->id, claiming->run_id) != 0) {
        /* A run of an exclusive agent, whose place is taken: it waits for somebody, too. */
        r = orphan_mark(store, holder->id, err);
    }
    return r < 0 ? r : store->ops->expire_lease(store, holder->id, holder->epoch, err);
}

/** The row as it was before the claim names the process that died holding the run. */
static void report_dead_owner(const struct claiming *claiming, struct store_run *run)
{
    if (run->owner[0] == '\0') {
        memcpy(run->owner, claiming->dead_owner, sizeof(run->owner));
    }
}

static bool should_ask_again(struct claiming *claiming, int r)
{
    bool may_pass =
        r == RONDO_ERR_IO || r == RONDO_ERR_FULL || r == RONDO_ERR_BUSY || r == RONDO_ERR_TIMEOUT;
    if (!may_pass || ++claiming->failures >= CLAIM_FAILURES) {
        return false;
    }
    clock_sleep(claiming->runtime->clock, CLAIM_PAUSE_NS << claiming->failures, NULL);
    return true;
}

int runtime_claim(struct runtime *runtime, const char *run_id, const struct store_run *new_run,
                  const struct store_event *first, size_t first_count,
                  struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct claiming claiming = {.runtime = runtime,
                                .run_id = run_id,
                                .new_run = new_run,
                                .first = first,
                                .first_count = first_count};
    for (int i = 0; i < CLAIM_TRIES; i++) {
        int r = ask_store(&claiming, ret_result, err);
        if (r == 0 && ret_result->outcome == STORE_CLAIMED) {
            forget_abandoned(runtime, run_id);
            report_dead_owner(&claiming, &ret_result->run);
            return 0;
        }
        if (r == 0 && !may_take_over(&claiming, &ret_result->holder)) {
            return 0;
        }
        if (r == 0) {
            r = end_lease_of(&claiming, &ret_result->holder, err);
        }
        if (r < 0 && !should_ask_again(&claiming, r)) {
            if (claiming.failures > 0) {
                runtime_abandon(runtime, run_id, 0); /* One of the tries may have taken effect. */
            }
            return r;
        }
    }
    return 0;
}
