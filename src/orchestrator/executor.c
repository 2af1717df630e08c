// SPDX-License-Identifier: Apache-2.0
/*
 * The thread of a running loop: it opens the run, executes it in straight code, records what became
 * of it, and begins the next one that waits.
 *
 * What cannot be opened is tried again, ever more slowly. A store that fails is waited for;
 * anything else (a key, a program or a file that is missing) ends the run with status error after
 * ORCHESTRATOR_ATTEMPTS tries, with the reason in the journal, so that nobody waits for it for ever
 * and a `resume` can put it right.
 */
#include "agent/spec/delegates.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/control/control.h"
#include "loop/owner.h"
#include "orchestrator/internal.h"
#include "work/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/**
 * An agent whose model is scripted uses 32 KiB of it (measured by
 * tests/unit/orchestrator/test_many.c); a call that is alone in its reply is made on this stack,
 * and call threads have as much. Only what is touched takes memory.
 */
#define STACK_BYTES ((size_t)512 * 1024)
/** Agents that are opened at the same time: reading a role takes memory for a moment, but most of
 *  the time goes into waiting for servers of tools. */
#define MOST_OPENERS 16
/** Doublings of the pause between tries. */
#define LONGEST_PAUSE 6
/** Somebody here holds the run for some transactions only. */
#define SHORT_PAUSE_NS (200 * NS_PER_MS)
/** Looks at a run that another process holds, before it is left to that: commands hold one for
 *  some transactions only. */
#define MOST_HOLDS 25
/** Entries of the queue that are compared to find whose turn it is. */
#define MOST_COMPARED 1000
/** Another run of an exclusive agent is in the way. */
#define EXCLUSIVE_PAUSE_NS (2 * NS_PER_S)

/** One execution. */
struct run_execution {
    struct orchestrator *orchestrator;
    struct task task;
    struct run_entry *entry; /* NULL until a new run exists */
    struct loop *loop;
    struct loop_opening opening;
    struct agent *agent;
    struct body body;
    struct rondo_error err;
};

/* ---- Opening -------------------------------------------------------------------------------- */

int executor_check(struct orchestrator *orchestrator, const struct loop_spec *spec,
                   struct rondo_error *err)
{
    char parent[ID_SIZE];
    if (delegates_find_parent(spec, parent) || work_find_parent(spec, parent)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "run %s has given this run away and continues it: resume that one",
                         parent);
    }
    if (!body_is_known(spec)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the run belongs to a program that uses librondo; resume it from there");
    }
    if (spec->agent != NULL && agent_recorded_mode(spec) == AGENT_CHAT) {
        return error_set(
            err, RONDO_ERR_UNSUPPORTED,
            "the run is a conversation with a person; continue it with `rondo resume`");
    }
    pthread_mutex_lock(&orchestrator->lock);
    bool is_known =
        (spec->condition_count == 0 || spec->verifier_tier == SANDBOX_NONE ||
         orchestrator->tiers[spec->verifier_tier] == TIER_WORKS) &&
        (spec->worker_tier == SANDBOX_NONE || orchestrator->tiers[spec->worker_tier] == TIER_WORKS);
    pthread_mutex_unlock(&orchestrator->lock);
    struct body_sandbox missing;
    if (!is_known && !body_has_sandbox(spec, &missing)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "%s cannot run: sandbox tier '%s' is not available here: %s",
                         missing.is_worker ? "the worker" : "the exit conditions",
                         sandbox_tier_name(missing.tier), missing.reason);
    }
    pthread_mutex_lock(&orchestrator->lock);
    if (spec->condition_count > 0) {
        orchestrator->tiers[spec->verifier_tier] = TIER_WORKS;
    }
    orchestrator->tiers[spec->worker_tier] = TIER_WORKS;
    pthread_mutex_unlock(&orchestrator->lock);
    return 0;
}

/** @return false: a drain began */
static bool begin_opening(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    while (orchestrator->openers >= MOST_OPENERS && !orchestrator->is_draining) {
        pthread_cond_wait(&orchestrator->changed, &orchestrator->lock);
    }
    bool may_open = !orchestrator->is_draining;
    orchestrator->openers += may_open ? 1 : 0;
    pthread_mutex_unlock(&orchestrator->lock);
    return may_open;
}

static void end_opening(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->openers--;
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
}

static bool is_store_failure(int code)
{
    return code == RONDO_ERR_IO || code == RONDO_ERR_FULL || code == RONDO_ERR_BUSY ||
           code == RONDO_ERR_TIMEOUT;
}

/** What an agent or a worker cannot be opened for is not the store's fault, nor the run's. */
static int as_missing(struct run_execution *execution, int r)
{
    bool is_misleading = is_store_failure(r) || r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_STATE;
    if (is_misleading) {
        execution->err.code = RONDO_ERR_UNSUPPORTED;
    }
    return is_misleading ? RONDO_ERR_UNSUPPORTED : r;
}

static int open_agent(struct run_execution *execution, const struct loop_spec *spec)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    if (spec->agent == NULL) {
        return 0;
    }
    struct agent_parts parts = {
        .http = orchestrator->options.http,
        .config_folder = orchestrator->config_folder,
        .prices_file = orchestrator->prices_file,
        .cancel = &orchestrator->opening,
    };
    if (!begin_opening(orchestrator)) {
        return error_set(&execution->err, RONDO_ERR_CANCELLED, "the server is shutting down");
    }
    int r =
        agent_open(orchestrator->options.runtime, spec, &parts, &execution->agent, &execution->err);
    end_opening(orchestrator);
    return as_missing(execution, r);
}

/** Add what is new to those that can be steered, and have a drain reach it. */
static void enter_running(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    pthread_mutex_lock(&orchestrator->lock);
    if (execution->entry == NULL) {
        execution->entry = entry_add(orchestrator, loop_run_id(execution->loop), ENTRY_RUNNING,
                                     execution->task.by);
    } else {
        entry_set(orchestrator, execution->entry, ENTRY_RUNNING);
    }
    const struct placement place = placement_of(loop_spec(execution->loop));
    entry_place(orchestrator, execution->entry, &place);
    orchestrator->taken_over += execution->entry->is_orphan ? 1 : 0;
    execution->entry->is_orphan = false;
    execution->entry->holds = 0;
    execution->entry->loop = execution->loop;
    if (orchestrator->is_draining) {
        loop_request_park(execution->loop, orchestrator->is_cutting);
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

/** @return 0, or a negative code; ORCHESTRATOR_HELD in ret_answer */
static int open_new(struct run_execution *execution, enum orchestrator_answer *ret_answer)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    const struct loop_spec *spec = &execution->task.spec;
    struct loop_parts parts = orchestrator->parts;
    parts.by = execution->task.by;
    int r = executor_check(orchestrator, spec, &execution->err);
    if (r == 0) {
        r = open_agent(execution, spec);
    }
    if (r == 0) {
        r = loop_start(&parts, spec, &execution->loop, &execution->opening, &execution->err);
    }
    if (r == 0 && execution->opening.is_held) {
        *ret_answer = ORCHESTRATOR_HELD;
        return 0;
    }
    if (r < 0) {
        return r;
    }
    const struct placement place = placement_of(spec);
    r = assignment_put(orchestrator, loop_run_id(execution->loop), ASSIGNMENT_RUNNING,
                       execution->task.by, &place, &execution->err);
    if (r < 0) {
        /* Nobody would know of it after a crash. */
        loop_close(execution->loop, "the run could not be recorded as one of this server", NULL);
    }
    return r;
}

static void change_limits(struct loop_spec *spec, void *context)
{
    loop_limits_apply(context, spec);
}

int executor_resume(struct orchestrator *orchestrator, const char *run_id, const char *by,
                    const struct loop_limits *limits, struct loop **ret_loop,
                    struct loop_opening *ret_opening, struct rondo_error *err)
{
    struct loop_limits own = *limits;
    struct loop_parts parts = orchestrator->parts;
    parts.by = by;
    return loop_resume(&parts, run_id, change_limits, &own, -1, ret_loop, ret_opening, err);
}

/** Unless it was taken from the queue of all servers: then the document says so already. */
static int record_running(struct run_execution *execution)
{
    struct run_entry *entry = execution->entry;
    const struct placement place = placement_of(loop_spec(execution->loop));
    int r = entry->is_recorded
                ? 0
                : assignment_put(execution->orchestrator, entry->run_id, ASSIGNMENT_RUNNING,
                                 entry->by, &place, &execution->err);
    entry->is_recorded = false;
    entry->is_taken = r == 0;
    return r;
}

static int open_existing(struct run_execution *execution, enum orchestrator_answer *ret_answer)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    const struct task *task = &execution->task;
    const char *run_id = task->entry->run_id;
    int r = task->is_resume
                ? executor_resume(orchestrator, run_id, task->entry->by, &task->limits,
                                  &execution->loop, &execution->opening, &execution->err)
                : loop_take_over(&orchestrator->parts, run_id,
                                 task->entry->is_orphan ? BY_TAKEOVER : NULL, &execution->loop,
                                 &execution->opening, &execution->err);
    if (r == 0 && execution->opening.is_held) {
        *ret_answer = ORCHESTRATOR_HELD;
        return 0;
    }
    if (r == 0) {
        r = executor_check(orchestrator, loop_spec(execution->loop), &execution->err);
    }
    if (r == 0) {
        r = open_agent(execution, loop_spec(execution->loop));
    }
    return r < 0 ? r : record_running(execution);
}

static void report_start(struct run_execution *execution, enum orchestrator_answer given, int r)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    struct starting *starting = execution->task.starting;
    if (starting == NULL) {
        return;
    }
    pthread_mutex_lock(&orchestrator->lock);
    starting->answer = given;
    starting->err = execution->err;
    starting->err.code = r;
    if (r == 0 && given == ORCHESTRATOR_STARTED) {
        snprintf(starting->run_id, sizeof(starting->run_id), "%s", loop_run_id(execution->loop));
    }
    starting->is_done = true; /* From here on it is gone. */
    execution->task.starting = NULL;
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
}

/* ---- What became of it ---------------------------------------------------------------------- */

static void forget(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    pthread_mutex_lock(&orchestrator->lock);
    entry_remove(orchestrator, execution->entry);
    execution->entry = NULL;
    pthread_mutex_unlock(&orchestrator->lock);
}

/** The run is no business of this server any more. */
static void settle(struct run_execution *execution)
{
    /* A record that stays is found to be of no use when the server starts again. */
    (void)assignment_remove(execution->orchestrator, execution->entry->run_id, NULL);
    forget(execution);
}

/** Put the run back in the queue. @param pause_ns before the next try */
static void try_again(struct run_execution *execution, int64_t pause_ns)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = execution->entry;
    entry->retry_ns =
        pause_ns == 0 ? 0 : clock_monotonic(orchestrator_clock(orchestrator)) + pause_ns;
    entry_set(orchestrator, entry, ENTRY_QUEUED);
    entry_first(orchestrator, entry);
    pthread_mutex_unlock(&orchestrator->lock);
}

/**
 * The same for a run that can be begun by nobody now. One that was taken, and is not claimed soon,
 * is taken by other servers, unless they know that it waits here.
 */
static void defer(struct run_execution *execution, int64_t pause_ns)
{
    struct run_entry *entry = execution->entry;
    const struct placement place = entry_placement(entry);
    bool is_ours = true; /* as far as the store can be reached */
    if (entry->is_recorded && assignment_defer(execution->orchestrator, entry->run_id, entry->by,
                                               &place, &is_ours, NULL) == 0) {
        entry->is_recorded = false;
    }
    if (is_ours) {
        try_again(execution, pause_ns);
    } else {
        forget(execution);
    }
}

static void try_later(struct run_execution *execution)
{
    unsigned doublings = execution->entry->attempts++;
    doublings = doublings < LONGEST_PAUSE ? doublings : LONGEST_PAUSE;
    defer(execution, execution->orchestrator->options.retry_ns << doublings);
}

/** End a run that cannot be executed here, with the reason in its journal. */
static void release_run(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    struct rondo_error err = {0};
    char message[RONDO_ERROR_MESSAGE_SIZE];
    snprintf(message, sizeof(message), "the run cannot be executed: %.450s",
             execution->err.message);
    loop_free(execution->loop);
    execution->loop = NULL;
    int r = loop_close_run(&orchestrator->parts, execution->entry->run_id, message, &err);
    orchestrator_log(orchestrator, "run %s: %s%s", execution->entry->run_id, message,
                     r == LOOP_CONTROL_DONE ? "; it is closed as error" : "");
    if (r == LOOP_CONTROL_DONE) {
        pthread_mutex_lock(&orchestrator->lock);
        orchestrator->closed++;
        pthread_mutex_unlock(&orchestrator->lock);
    }
    if (is_store_failure(r)) {
        try_later(execution);
    } else {
        settle(execution);
    }
}

/** The store failed: readiness is not reported until something could be written. */
static void note_store_failure(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    struct run_entry *entry = execution->entry;
    pthread_mutex_lock(&orchestrator->lock);
    bool is_new = !orchestrator->is_writing_failing;
    orchestrator->is_writing_failing = true;
    if (entry->store_failures++ == 0) {
        entry->store_failing_ns = clock_now(orchestrator_clock(orchestrator));
        snprintf(entry->store_problem, sizeof(entry->store_problem), "%.150s",
                 execution->err.message);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    if (is_new) {
        orchestrator_log(orchestrator, "the store fails: %s", execution->err.message);
    }
}

/** The run is open again: its journal says what kept it. */
static void log_failures(struct run_execution *execution)
{
    struct run_entry *entry = execution->entry;
    if (entry->store_failures > 0) {
        loop_record_trouble(execution->loop, entry->store_failures, entry->store_failing_ns,
                            entry->store_problem);
        entry->store_failures = 0;
    }
}

static bool is_draining(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    bool is_it = orchestrator->is_draining;
    pthread_mutex_unlock(&orchestrator->lock);
    return is_it;
}

/**
 * What to do with a run that could not be opened, or broke down, and that nobody waits for.
 * @param was_claimed the failure is not one of claiming the run
 */
static void handle_failure(struct run_execution *execution, int code, bool was_claimed)
{
    struct run_entry *entry = execution->entry;
    if (!was_claimed && (code == RONDO_ERR_STATE || code == RONDO_ERR_NOT_FOUND)) {
        settle(execution); /* It has ended, or is gone. */
        return;
    }
    if (code == RONDO_ERR_CANCELLED && is_draining(execution->orchestrator)) {
        try_again(execution, 0); /* by the next server */
        return;
    }
    if (code == RONDO_ERR_FENCED) {
        forget(execution); /* Its new owner has recorded what it means to do with it. */
        return;
    }
    if (is_store_failure(code)) {
        note_store_failure(execution);
    }
    if (entry->attempts == 0) {
        orchestrator_log(execution->orchestrator, "run %s waits: %s", entry->run_id,
                         execution->err.message);
    }
    if (is_store_failure(code) || entry->attempts + 1 < ORCHESTRATOR_ATTEMPTS) {
        try_later(execution);
    } else {
        release_run(execution);
    }
}

/** Another process holds the run: a command for a moment, or the one executing it. */
static void leave_to_holder(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    struct run_entry *entry = execution->entry;
    char who[OWNER_DESCRIPTION_SIZE];
    owner_describe(&execution->opening.holder, who);
    if (++entry->holds <= MOST_HOLDS) {
        if (entry->holds == 1) {
            orchestrator_tell(orchestrator, "run %s waits: it is executed by %s", entry->run_id,
                              who);
        }
        try_again(execution, SHORT_PAUSE_NS);
        return;
    }
    orchestrator_tell(orchestrator, "run %s is left to %s", entry->run_id, who);
    (void)assignment_disown(orchestrator, entry->run_id, NULL);
    forget(execution); /* When it dies there, its run is found as an orphan. */
}

/** Somebody living has the run, or the agent. */
static void handle_held(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    const struct store_run *holder = &execution->opening.holder;
    if (strcmp(holder->id, execution->entry->run_id) != 0) {
        defer(execution, EXCLUSIVE_PAUSE_NS);
    } else if (strcmp(holder->owner, runtime_owner(orchestrator->options.runtime)) == 0) {
        try_again(execution, SHORT_PAUSE_NS);
    } else {
        leave_to_holder(execution);
    }
}

static void stay_paused(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    struct run_entry *entry = execution->entry;
    const struct placement place = entry_placement(entry);
    entry->is_taken = false;
    if (assignment_put(orchestrator, entry->run_id, ASSIGNMENT_PAUSED, entry->by, &place, NULL) <
        0) {
        orchestrator_log(orchestrator, "run %s is paused, which could not be recorded",
                         entry->run_id);
    }
    pthread_mutex_lock(&orchestrator->lock);
    entry_set(orchestrator, entry, ENTRY_PAUSED);
    pthread_mutex_unlock(&orchestrator->lock);
}

/** The run was parked in good order, or could not be. */
static void handle_parked(struct run_execution *execution, int parked)
{
    const struct run_state *state = loop_state(execution->loop);
    bool has_ended = state->phase == PHASE_ENDED;
    bool is_paused = state->is_paused;
    loop_free(execution->loop);
    execution->loop = NULL;
    if (parked < 0) {
        handle_failure(execution, parked, true);
    } else if (has_ended) {
        settle(execution);
    } else if (is_paused) {
        stay_paused(execution);
    } else {
        try_again(execution, 0); /* A drain keeps it from being begun. */
    }
}

/** A run that continues without checkpoints records the reason in its own journal. */
static void note_degraded(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    if (loop_is_degraded(execution->loop)) {
        pthread_mutex_lock(&orchestrator->lock);
        orchestrator->is_writing_failing = true;
        pthread_mutex_unlock(&orchestrator->lock);
    }
}

/** Run bodies until something else must be done. @return enum loop_turn or a negative code */
static int run_bodies(struct run_execution *execution)
{
    int turn;
    while ((turn = loop_next(execution->loop, &execution->err)) == LOOP_BODY) {
        int r = body_run(&execution->body, &execution->err);
        if (r < 0) {
            return r;
        }
        execution->entry->attempts = 0;
        note_degraded(execution);
    }
    return turn;
}

static void stop_steering(struct run_execution *execution)
{
    pthread_mutex_lock(&execution->orchestrator->lock);
    execution->entry->loop = NULL;
    pthread_mutex_unlock(&execution->orchestrator->lock);
}

static int open_body(struct run_execution *execution)
{
    struct worker_options options = {.folder = execution->orchestrator->work_folder,
                                     .config_folder = execution->orchestrator->config_folder};
    int r =
        body_open(execution->loop, &options, execution->agent, &execution->body, &execution->err);
    return execution->agent == NULL ? as_missing(execution, r) : r; /* An agent reads the store. */
}

/** Execute what is open, and see to what becomes of it. */
static void execute(struct run_execution *execution)
{
    int r = open_body(execution);
    int turn = r < 0 ? r : run_bodies(execution);
    stop_steering(execution);
    body_close(&execution->body);
    if (turn == LOOP_ENDED) {
        loop_free(execution->loop);
        execution->loop = NULL;
        settle(execution);
    } else if (turn > 0) {
        handle_parked(execution, loop_park(execution->loop, &execution->err));
    } else {
        if (r < 0) {
            loop_park(execution->loop, NULL);
        }
        loop_free(execution->loop);
        execution->loop = NULL;
        handle_failure(execution, turn, true);
    }
}

/** Nothing was executed, and somebody knows why. */
static void drop(struct run_execution *execution)
{
    struct orchestrator *orchestrator = execution->orchestrator;
    pthread_mutex_lock(&orchestrator->lock);
    if (execution->entry != NULL && execution->task.was_paused) {
        entry_set(orchestrator, execution->entry, ENTRY_PAUSED);
    } else if (execution->entry != NULL) {
        entry_remove(orchestrator, execution->entry);
    }
    execution->entry = NULL;
    pthread_mutex_unlock(&orchestrator->lock);
}

static void open_and_execute(struct run_execution *execution)
{
    enum orchestrator_answer given = ORCHESTRATOR_STARTED;
    bool is_new = execution->task.spec.kind != NULL;
    bool is_waited_for = execution->task.starting != NULL;
    int r = is_new ? open_new(execution, &given) : open_existing(execution, &given);
    loop_spec_fini(&execution->task.spec);
    if (r == 0 && given == ORCHESTRATOR_STARTED) {
        enter_running(execution);
        log_failures(execution);
        report_start(execution, given, r);
        execute(execution);
        return;
    }
    bool was_claimed = execution->loop != NULL;
    loop_free(execution->loop);
    execution->loop = NULL;
    if (is_waited_for) {
        bool is_end = r == RONDO_ERR_CANCELLED && is_draining(execution->orchestrator);
        drop(execution);
        report_start(execution, is_end ? ORCHESTRATOR_DRAINING : given, is_end ? 0 : r);
    } else if (r < 0) {
        handle_failure(execution, r, was_claimed);
    } else {
        handle_held(execution);
    }
}

/** The thread ends: its place is free. */
static void leave(struct orchestrator *orchestrator)
{
    struct ended_thread *ended = memory_new_zero(1, sizeof(*ended));
    ended->thread = pthread_self();
    pthread_mutex_lock(&orchestrator->lock);
    ended->next = orchestrator->ended;
    orchestrator->ended = ended;
    orchestrator->running--;
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
}

static void *executor_main(void *argument)
{
    struct run_execution *execution = argument;
    struct orchestrator *orchestrator = execution->orchestrator;
    open_and_execute(execution);
    agent_free(execution->agent);
    free(execution);
    leave(orchestrator);
    return NULL;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static int begin_thread(struct run_execution *execution)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failure = pthread_create(&thread, &attributes, executor_main, execution);
    pthread_attr_destroy(&attributes);
    return failure;
}

int executor_begin(struct orchestrator *orchestrator, struct task *task, struct rondo_error *err)
{
    struct run_execution *execution = memory_new_zero(1, sizeof(*execution));
    execution->orchestrator = orchestrator;
    execution->task = *task;
    execution->entry = task->entry;
    int failure = begin_thread(execution);
    if (failure == 0) {
        task->spec = (struct loop_spec){0};
        return 0;
    }
    free(execution);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->running--;
    if (orchestrator->running > 0 && orchestrator->running < orchestrator->admission.max_loops) {
        orchestrator->admission.max_loops = orchestrator->running;
        snprintf(orchestrator->admission.limited_by, sizeof(orchestrator->admission.limited_by),
                 "threads");
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return error_set_errno(err, RONDO_ERR_LIMIT, failure, "cannot begin another thread");
}

bool executor_has_queued(const struct orchestrator *orchestrator)
{
    int64_t now_ns = clock_monotonic(orchestrator_clock(orchestrator));
    const struct run_entry *entry = orchestrator->queue;
    while (entry != NULL && (entry->retry_ns > now_ns || !entry->fits)) {
        entry = entry->next;
    }
    return entry != NULL;
}

/** Whether the run of an entry may be opened without asking other servers. */
static bool may_begin(const struct orchestrator *orchestrator, const struct run_entry *entry,
                      int64_t now_ns)
{
    return entry->retry_ns <= now_ns && entry->fits &&
           (!orchestrator->has_peers || entry->is_taken || entry->turn == NULL);
}

/** The one of the queue whose turn it is, or NULL. The lock is held. */
static struct run_entry *next_queued(const struct orchestrator *orchestrator)
{
    static const struct agent_turn nobody = {0};
    int64_t now_ns = clock_monotonic(orchestrator_clock(orchestrator));
    struct run_entry *best = NULL;
    size_t count = 0;
    for (struct run_entry *entry = orchestrator->queue; entry != NULL && count < MOST_COMPARED;
         entry = entry->next) {
        if (may_begin(orchestrator, entry, now_ns)) {
            count++;
            bool is_before =
                best == NULL || turn_is_before(entry->turn == NULL ? &nobody : entry->turn,
                                               best->turn == NULL ? &nobody : best->turn);
            best = is_before ? entry : best;
        }
    }
    return best;
}

void executor_begin_entry(struct orchestrator *orchestrator, struct run_entry *entry)
{
    struct task task = {.orchestrator = orchestrator, .entry = entry};
    entry_set(orchestrator, entry, ENTRY_OPENING);
    orchestrator->running++;
    pthread_mutex_unlock(&orchestrator->lock);
    int r = executor_begin(orchestrator, &task, NULL);
    pthread_mutex_lock(&orchestrator->lock);
    if (r < 0) {
        entry->retry_ns = clock_monotonic(orchestrator_clock(orchestrator)) + EXCLUSIVE_PAUSE_NS;
        entry_set(orchestrator, entry, ENTRY_QUEUED);
        entry_first(orchestrator, entry);
    }
}

void executor_begin_queued(struct orchestrator *orchestrator)
{
    struct run_entry *entry;
    while (!orchestrator->is_draining &&
           orchestrator->running < orchestrator->admission.max_loops &&
           (entry = next_queued(orchestrator)) != NULL) {
        executor_begin_entry(orchestrator, entry);
    }
}

void executor_join_ended(struct orchestrator *orchestrator)
{
    while (orchestrator->ended != NULL) {
        struct ended_thread *ended = orchestrator->ended;
        orchestrator->ended = ended->next;
        pthread_mutex_unlock(&orchestrator->lock);
        pthread_join(ended->thread, NULL);
        free(ended);
        pthread_mutex_lock(&orchestrator->lock);
    }
}
