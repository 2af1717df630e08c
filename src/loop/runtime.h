// SPDX-License-Identifier: Apache-2.0
/*
 * What the loops of one process share: the store and its writer, the clock, the name under which
 * they hold runs, and the keeper, one thread that renews leases and delivers letters ("stop") to
 * loops whose threads are busy in a body.
 */
#pragma once

#include "base/cancel.h"
#include "base/clock.h"
#include "base/random.h"
#include "handoff/storage/store.h"
#include "store/writer.h"

/** Lease when none is asked for: how long a frozen or unreachable owner keeps a run. */
#define RUNTIME_DEFAULT_LEASE_NS INT64_C(30000000000)
/** Shortest lease that is accepted. */
#define RUNTIME_MIN_LEASE_NS INT64_C(500000000)
/** How often the keeper looks for letters. */
#define RUNTIME_TICK_NS INT64_C(200000000)

/** How long commits wait for a database that is away. */
#define RUNTIME_STORE_PATIENCE_NS (3600 * NS_PER_S)

typedef void runtime_store_fn(void *context, const char *problem);

struct runtime_options {
    struct store *store;           /**< stays the caller's, must outlive the runtime */
    const struct clock *clock;     /**< NULL = the machine's */
    struct random *random;         /**< NULL = the kernel's */
    int64_t lease_ns;              /**< 0 = RUNTIME_DEFAULT_LEASE_NS */
    const char *supervisor;        /**< program for os/spawn's supervisor, or NULL */
    const char *const *hide_paths; /**< hidden from sandboxed commands; NULL-terminated or NULL */
    const char *policy;            /**< policy file of runs that name none; NULL = built in */
    bool is_policy_optional;       /**< that file may be missing, which means built in */
    bool is_policy_named;          /**< a person named it: see loop_open_gate() */
    const char *desks;             /**< desk file; NULL = none */
    bool has_no_keeper;            /**< tests call runtime_tick themselves */
    /**
     * The store is in a database, which may be away for a while and come back: commits wait for it
     * (RUNTIME_STORE_PATIENCE_NS), and bodies that may have been taken over by another machine
     * meanwhile are ended.
     */
    bool is_store_remote;
    /** Called when a commit begins to wait, with the reason, and with NULL when the store is back;
     *  any thread, one call at a time. NULL = nobody is told. */
    runtime_store_fn *store_away;
    void *store_away_context;
};

struct loop_spec;
struct runtime;
struct watch;

/** @param ret_runtime runtime_free() after the last loop. Texts in `options` are copied. */
int runtime_new(const struct runtime_options *options, struct runtime **ret_runtime,
                struct rondo_error *err);
void runtime_free(struct runtime *runtime);

struct store *runtime_store(struct runtime *runtime);
struct writer *runtime_writer(struct runtime *runtime);
/**
 * A clock that runs only while this process does: it leaves out time during which the
 * process was stopped (SIGSTOP, a frozen control group) or the machine suspended, and it cannot
 * be set. Begins anywhere. Any thread.
 */
int64_t runtime_active_ns(struct runtime *runtime);
/** Does what the keeper does five times a second, where there is none: note that this process runs.
 * Any thread.
 */
void runtime_beat(struct runtime *runtime);

/**
 * Have a function called when something in this process has changed what new runs come from: an
 * agent has scheduled one. There is one listener; it must be quick, and must not call the runtime.
 * @param listener any thread; NULL = nobody listens any more, and no call is under way on return
 */
void runtime_listen(struct runtime *runtime, void (*listener)(void *context), void *context);
/** Call the listener, if there is one. Any thread. */
void runtime_notify(struct runtime *runtime);

const struct clock *runtime_clock(struct runtime *runtime);
struct random *runtime_random(struct runtime *runtime);
const char *runtime_owner(struct runtime *runtime);
int64_t runtime_lease_ns(struct runtime *runtime);
const char *runtime_supervisor(struct runtime *runtime);
const char *const *runtime_hide_paths(struct runtime *runtime);

/** Whether commits wait for a store that is away. Any thread. */
bool runtime_waits_for_store(const struct runtime *runtime);
/**
 * Note that a run's commit waits for the store, or does not any more. Its body has no effects then,
 * so it is not ended when the lease may be over. Any thread.
 * @param problem why the store cannot be used; NULL = it can be used again, or nobody waits
 */
void runtime_note_waiting(struct runtime *runtime, const char *run_id, const char *problem);

/** The handoffs of the store, with the desks as they are now. It reads the store, so it must not be
 * called from a callback of the store. Any thread. */
struct handoff_store runtime_handoffs(struct runtime *runtime);
/** The desk file, watched for all that use it. */
struct desks_watch *runtime_desks(struct runtime *runtime);
/** Guard the desk file, in all processes, if the agents of a run could write it. Any thread. */
int runtime_guard_desks(struct runtime *runtime, const struct loop_spec *spec,
                        struct rondo_error *err);

/**
 * The policies at a path, watched for all loops of this process. Changes are entered in the store's
 * history of policies, which gives the name of their author.
 * @param path absolute path of a file or folder; NULL = the runtime's
 * @return the runtime's own; any thread
 */
struct watch *runtime_policies(struct runtime *runtime, const char *path);

/**
 * Whether the agents of a run could write its policies: they are in its workspace or in a folder
 * that it may write, and not in one that is hidden from all of them. Those that somebody has
 * confirmed are in the reach of another run. Any thread.
 */
bool runtime_policies_in_reach(struct runtime *runtime, const struct loop_spec *spec);

/**
 * Name the policies of a spec that a person has just made by their canonical path, where agents can
 * write them: then turning a link on the way to them is noticed.
 */
void runtime_settle_policies(struct runtime *runtime, struct loop_spec *spec);

/** Whether a person named the policies of a new run: in its spec, or for the runtime. */
bool runtime_policies_are_named(struct runtime *runtime, const struct loop_spec *spec);

/**
 * Make a running loop known to the keeper. Starts the keeper's thread at the first one. A loop of
 * the same run that is known already has lost it: the claim went to the new one.
 * @param cancel set by the keeper when a letter waits or the lease was lost; the loop's own
 * @return RONDO_ERR_LIMIT when LIMIT_LOOPS_PER_PROCESS loops run already. Any thread.
 */
int runtime_register(struct runtime *runtime, const char *run_id, uint64_t epoch,
                     struct cancel *cancel, struct rondo_error *err);
/** The loop ended or was released. Unknown runs and other epochs are ignored. Any thread. */
void runtime_unregister(struct runtime *runtime, const char *run_id, uint64_t epoch);

/**
 * Whether the keeper has seen letters for a loop of this process since this was asked last. For
 * loops that wait: others learn of letters by their commits. Any thread.
 */
bool runtime_has_mail(struct runtime *runtime, const char *run_id);

/**
 * A loop is dropped without having given its run up. The keeper ends the lease as soon as the store
 * lets it; otherwise this process, being alive, would hold the run for ever.
 * @param epoch of the claim; 0 = unknown, because the claim's own answer was lost
 */
void runtime_abandon(struct runtime *runtime, const char *run_id, uint64_t epoch);

/**
 * One round of the keeper: renew leases when it is time, end those of abandoned runs, deliver
 * letters. One thread at a time.
 */
void runtime_tick(struct runtime *runtime);

/**
 * Claim a run, taking it over at once from a holder that is certainly dead. A store that fails for
 * a moment is asked again.
 * STORE_HELD in the result means that a living process is in the way: see its holder.
 * @param run_id the run; with `new_run` not NULL a run is created instead, with `first` events
 */
int runtime_claim(struct runtime *runtime, const char *run_id, const struct store_run *new_run,
                  const struct store_event *first, size_t first_count,
                  struct store_claim_result *ret_result, struct rondo_error *err);
