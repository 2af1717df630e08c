// SPDX-License-Identifier: Apache-2.0
/*
 * Commands of people and programs for runs: execute, resume, stop, pause, change limits. Any
 * thread; a command keeps others away from the entry of its run meanwhile.
 */
#include "base/error.h"
#include "loop/control/control.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <string.h>

/** How often the end of a run's thread is looked for. */
#define LOOK_NS (200 * NS_PER_MS)
/** From the end of a run in the store to the end of its thread, at most. */
#define LONGEST_END_NS (5 * NS_PER_S)
/** Times that a run may be paused just while it is continued. */
#define RESUME_TRIES 4

/** Whether somebody is just about to put the entry in another state. */
static bool is_changing(const struct run_entry *entry)
{
    return entry->state == ENTRY_CHANGING || (entry->state == ENTRY_RUNNING && entry->loop == NULL);
}

/** The entry of a run, once nobody changes it. The lock is held, and let go while waiting. */
static struct run_entry *find_unchanging(struct orchestrator *orchestrator, const char *run_id)
{
    struct run_entry *entry = entry_find(orchestrator, run_id);
    while (entry != NULL && is_changing(entry)) {
        pthread_cond_wait(&orchestrator->changed, &orchestrator->lock);
        entry = entry_find(orchestrator, run_id);
    }
    return entry;
}

/** The same for a run that has ended, which its thread may not have noted yet. */
static struct run_entry *find_ended(struct orchestrator *orchestrator, const char *run_id)
{
    int64_t until_ns = clock_monotonic(clock_system()) + LONGEST_END_NS;
    struct run_entry *entry = find_unchanging(orchestrator, run_id);
    while (entry != NULL && entry->state == ENTRY_RUNNING &&
           clock_monotonic(clock_system()) < until_ns) {
        orchestrator_wait(orchestrator, LOOK_NS);
        entry = find_unchanging(orchestrator, run_id);
    }
    return entry;
}

/* ---- Executing ------------------------------------------------------------------------------ */

/**
 * Reserve a place on a thread or in the queue, which is counted then. The lock is held.
 * @param fits this server may execute the run; else it waits for another one
 */
static enum orchestrator_answer reserve(struct orchestrator *orchestrator, bool fits)
{
    if (orchestrator->is_draining) {
        return ORCHESTRATOR_DRAINING;
    }
    if (fits && orchestrator->running < orchestrator->admission.max_loops &&
        !executor_has_queued(orchestrator)) {
        orchestrator->running++;
        return ORCHESTRATOR_STARTED;
    }
    if (orchestrator->queued < orchestrator->options.max_queue) {
        orchestrator->queued++;
        return ORCHESTRATOR_QUEUED;
    }
    return ORCHESTRATOR_FULL;
}

/**
 * Have a thread execute it, and wait until it is open. The place is reserved.
 * @param ret_answer STARTED, HELD, or FULL when the machine has no thread left
 */
static int begin_and_wait(struct orchestrator *orchestrator, struct task *task,
                          enum orchestrator_answer *ret_answer, char ret_run_id[ID_SIZE],
                          struct rondo_error *err)
{
    struct starting starting = {0};
    // cppcheck-suppress autoVariables ; it is waited for here
    task->starting = &starting;
    int r = executor_begin(orchestrator, task, NULL);
    if (r < 0) {
        orchestrator_log(orchestrator, "cannot start another thread");
        *ret_answer = ORCHESTRATOR_FULL;
        return 0;
    }
    pthread_mutex_lock(&orchestrator->lock);
    while (!starting.is_done) {
        pthread_cond_wait(&orchestrator->changed, &orchestrator->lock);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    if (starting.err.code < 0) {
        if (err != NULL) {
            *err = starting.err;
        }
        return starting.err.code;
    }
    *ret_answer = starting.answer;
    if (ret_run_id != NULL && starting.answer == ORCHESTRATOR_STARTED) {
        memcpy(ret_run_id, starting.run_id, ID_SIZE);
    }
    return 0;
}

/**
 * Park a run that must wait, and put it in the queue. Its place there is reserved.
 * @param entry of a run that has one, or NULL; ENTRY_CHANGING
 */
static int queue_loop(struct orchestrator *orchestrator, struct loop *loop, struct run_entry *entry,
                      const char *by, struct rondo_error *err)
{
    const struct placement place = placement_of(loop_spec(loop));
    int r = assignment_hand_over(orchestrator->options.runtime, loop, by, err);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->queued--;
    if (r == 0 && entry == NULL) {
        entry = entry_find(orchestrator, loop_run_id(loop)); /* It may have been taken already. */
        entry = entry == NULL ? entry_add(orchestrator, loop_run_id(loop), ENTRY_QUEUED, by) : NULL;
    } else if (r == 0) {
        entry->is_taken = false;
        entry_set(orchestrator, entry, ENTRY_QUEUED);
    }
    if (r == 0 && entry != NULL) {
        entry_place(orchestrator, entry, &place);
    }
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
    return r;
}

static void release_queued(struct orchestrator *orchestrator)
{
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->queued--;
    pthread_mutex_unlock(&orchestrator->lock);
}

/** Create a run that waits. */
static int create_queued(struct orchestrator *orchestrator, const struct loop_spec *spec,
                         const char *by, enum orchestrator_answer *ret_answer,
                         char ret_run_id[ID_SIZE], struct rondo_error *err)
{
    struct loop *loop = NULL;
    struct loop_opening opening = {0};
    struct loop_parts parts = orchestrator->parts;
    parts.by = by;
    /* Whether another server can run the bodies is its affair. */
    int r = placement_fits(orchestrator, spec->pool) ? executor_check(orchestrator, spec, err) : 0;
    if (r == 0) {
        r = loop_start(&parts, spec, &loop, &opening, err);
    }
    if (r < 0 || opening.is_held) {
        release_queued(orchestrator);
        *ret_answer = r < 0 ? *ret_answer : ORCHESTRATOR_HELD;
        return r;
    }
    memcpy(ret_run_id, loop_run_id(loop), ID_SIZE);
    r = queue_loop(orchestrator, loop, NULL, by, err);
    loop_free(loop);
    return r;
}

int orchestrator_run(struct orchestrator *orchestrator, const struct loop_spec *spec,
                     const char *by, enum orchestrator_answer *ret_answer, char ret_run_id[ID_SIZE],
                     struct rondo_error *err)
{
    int r = loop_spec_check(spec, err);
    if (r < 0) {
        return r;
    }
    pthread_mutex_lock(&orchestrator->lock);
    enum orchestrator_answer place =
        reserve(orchestrator, placement_fits(orchestrator, spec->pool));
    pthread_mutex_unlock(&orchestrator->lock);
    if (place == ORCHESTRATOR_STARTED) {
        struct task task = {.orchestrator = orchestrator, .spec = loop_spec_dup(spec)};
        snprintf(task.by, sizeof(task.by), "%s", by);
        r = begin_and_wait(orchestrator, &task, &place, ret_run_id, err);
        loop_spec_fini(&task.spec);
    } else if (place == ORCHESTRATOR_QUEUED) {
        r = create_queued(orchestrator, spec, by, &place, ret_run_id, err);
    }
    if (r == 0) {
        *ret_answer = place;
    }
    return r;
}

int orchestrator_queue_run(struct orchestrator *orchestrator, const struct loop_spec *spec,
                           const char *by, enum orchestrator_answer *ret_answer,
                           struct rondo_error *err)
{
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_QUEUED;
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, spec->run_id, &run, err);
    if (r == 0) {
        *ret_answer = ORCHESTRATOR_QUEUED;
        return 0;
    }
    r = r == RONDO_ERR_NOT_FOUND ? loop_spec_check(spec, err) : r;
    if (r < 0) {
        return r;
    }
    pthread_mutex_lock(&orchestrator->lock);
    if (orchestrator->is_draining) {
        answer = ORCHESTRATOR_DRAINING;
    } else if (orchestrator->queued >= orchestrator->options.max_queue) {
        answer = ORCHESTRATOR_FULL;
    } else {
        orchestrator->queued++;
    }
    pthread_mutex_unlock(&orchestrator->lock);
    if (answer == ORCHESTRATOR_QUEUED) {
        r = create_queued(orchestrator, spec, by, &answer, run_id, err);
    }
    if (r == 0) {
        *ret_answer = answer;
    }
    return r;
}

/* ---- Resuming ------------------------------------------------------------------------------- */

/** The run has to be looked at again. */
#define RESUME_AGAIN 1

static bool find_pause(const struct store_letter *letter, void *context)
{
    bool *is_wanted = context;
    if (strcmp(letter->kind, "pause") == 0) {
        *is_wanted = true;
    } else if (strcmp(letter->kind, "continue") == 0) {
        *is_wanted = false;
    }
    return true;
}

/**
 * A run that is executed, here or elsewhere: at most it must be continued. @return
 * 0; RESUME_AGAIN when no process executes it any more
 */
static int resume_executed(struct orchestrator *orchestrator, const char *run_id,
                           const struct loop_limits *limits, const char *by,
                           enum orchestrator_answer *ret_answer, struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    bool is_paused = r == 0 && run.summary.is_paused;
    if (r == 0) {
        r = store->ops->read_mail(store, run_id, NULL, find_pause, &is_paused, err);
    }
    if (r < 0) {
        return r;
    }
    if (!is_paused) {
        *ret_answer = ORCHESTRATOR_HELD;
        return 0;
    }
    if (limits != NULL) {
        r = loop_change_limits(&orchestrator->parts, run_id, limits, by, err);
    }
    if (r >= 0) {
        r = loop_continue_run(&orchestrator->parts, run_id, by, err);
    }
    if (r == LOOP_CONTROL_DONE) {
        return RESUME_AGAIN;
    }
    *ret_answer = ORCHESTRATOR_STARTED;
    return r < 0 ? r : 0;
}

/** Nothing came of it: the entry is as it was. */
static void undo_entry(struct orchestrator *orchestrator, const struct task *task)
{
    pthread_mutex_lock(&orchestrator->lock);
    if (task->was_paused) {
        entry_set(orchestrator, task->entry, ENTRY_PAUSED);
    } else {
        entry_remove(orchestrator, task->entry);
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

/** Have a run wait. Its entry is ENTRY_CHANGING, and its place reserved. */
static int resume_queued(struct orchestrator *orchestrator, const struct task *task, const char *by,
                         enum orchestrator_answer *ret_answer, struct rondo_error *err)
{
    struct loop *loop = NULL;
    struct loop_opening opening = {0};
    int r =
        executor_resume(orchestrator, task->entry->run_id, by, &task->limits, &loop, &opening, err);
    if (r == 0 && opening.is_held) {
        *ret_answer = ORCHESTRATOR_HELD;
    } else if (r == 0 && placement_fits(orchestrator, loop_spec(loop)->pool)) {
        r = executor_check(orchestrator, loop_spec(loop), err);
    }
    if (r == 0 && !opening.is_held) {
        r = queue_loop(orchestrator, loop, task->entry, by, err);
    } else {
        release_queued(orchestrator);
    }
    loop_free(loop);
    if (r < 0 || opening.is_held) {
        undo_entry(orchestrator, task);
    }
    return r;
}

/**
 * The run is nobody's: take it. The lock is held, and let go.
 * @param fits this server may execute it
 */
static int resume_free(struct orchestrator *orchestrator, const char *run_id, bool fits,
                       struct run_entry *entry, const struct loop_limits *limits, const char *by,
                       enum orchestrator_answer *ret_answer, struct rondo_error *err)
{
    enum orchestrator_answer place = reserve(orchestrator, fits);
    if (place != ORCHESTRATOR_STARTED && place != ORCHESTRATOR_QUEUED) {
        pthread_mutex_unlock(&orchestrator->lock);
        *ret_answer = place;
        return 0;
    }
    struct task task = {
        .orchestrator = orchestrator,
        .is_resume = true,
        .was_paused = entry != NULL,
    };
    if (limits != NULL) {
        task.limits = *limits;
    }
    enum entry_state state = place == ORCHESTRATOR_STARTED ? ENTRY_OPENING : ENTRY_CHANGING;
    task.entry = entry == NULL ? entry_add(orchestrator, run_id, state, by) : entry;
    if (entry != NULL) {
        entry_set(orchestrator, entry, state);
        snprintf(entry->by, sizeof(entry->by), "%s", by);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    int r;
    if (place == ORCHESTRATOR_STARTED) {
        r = begin_and_wait(orchestrator, &task, &place, NULL, err);
        if (r == 0 && place == ORCHESTRATOR_FULL) {
            undo_entry(orchestrator, &task);
        }
    } else {
        r = resume_queued(orchestrator, &task, by, &place, err);
    }
    if (r == 0) {
        *ret_answer = place;
    }
    return r;
}

/** @param has_ended its row says so @param fits this server may execute it
 * @return 0, RESUME_AGAIN or a negative code */
static int resume(struct orchestrator *orchestrator, const char *run_id, bool has_ended, bool fits,
                  const struct loop_limits *limits, const char *by,
                  enum orchestrator_answer *ret_answer, struct rondo_error *err)
{
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry =
        has_ended ? find_ended(orchestrator, run_id) : find_unchanging(orchestrator, run_id);
    if (entry == NULL || entry->state == ENTRY_PAUSED) {
        return resume_free(orchestrator, run_id, fits, entry, limits, by, ret_answer, err);
    }
    bool is_queued = entry->state == ENTRY_QUEUED;
    pthread_mutex_unlock(&orchestrator->lock);
    if (!is_queued) {
        return resume_executed(orchestrator, run_id, limits, by, ret_answer, err);
    }
    *ret_answer = ORCHESTRATOR_QUEUED;
    int r = limits == NULL ? 0 : loop_change_limits(&orchestrator->parts, run_id, limits, by, err);
    return r < 0 ? r : 0;
}

/** Whether this server has the labels of the run's pool. What cannot be read is found out later. */
static bool may_execute(struct orchestrator *orchestrator, const char *run_id)
{
    struct loop_spec spec;
    if (loop_recorded_spec(orchestrator_store(orchestrator), run_id, &spec, NULL) < 0) {
        return true;
    }
    bool fits = placement_fits(orchestrator, spec.pool);
    loop_spec_fini(&spec);
    return fits;
}

int orchestrator_resume(struct orchestrator *orchestrator, const char *run_id,
                        const struct loop_limits *limits, const char *by,
                        enum orchestrator_answer *ret_answer, struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == 0 && limits != NULL) {
        r = loop_limits_check(limits, err);
    }
    if (r == 0 && run.summary.status == RONDO_COMPLETED) {
        r = error_set(err, RONDO_ERR_STATE, "run %s is completed; there is nothing to resume",
                      run_id);
    }
    if (r < 0) {
        return r;
    }
    enum orchestrator_answer answer = ORCHESTRATOR_HELD;
    bool has_ended = run.summary.status != RONDO_RUNNING;
    bool fits = may_execute(orchestrator, run_id);
    r = RESUME_AGAIN;
    for (int i = 0; i < RESUME_TRIES && r == RESUME_AGAIN; i++) {
        r = resume(orchestrator, run_id, has_ended, fits, limits, by, &answer, err);
        if (r == 0 && answer == ORCHESTRATOR_HELD) {
            r = resume_executed(orchestrator, run_id, limits, by, &answer, err);
        }
    }
    if (r == RESUME_AGAIN) {
        r = error_set(err, RONDO_ERR_BUSY, "run %s is paused and continued all the time", run_id);
    }
    if (r == 0) {
        *ret_answer = answer;
    }
    return r;
}

/* ---- Steering ------------------------------------------------------------------------------- */

/**
 * Keep others from a run that waits or is paused here.
 * @return its entry, ENTRY_CHANGING, or NULL: it is left to the process that executes it
 */
static struct run_entry *hold_entry(struct orchestrator *orchestrator, const char *run_id,
                                    enum entry_state *ret_state)
{
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = find_unchanging(orchestrator, run_id);
    if (entry != NULL && (entry->state == ENTRY_QUEUED || entry->state == ENTRY_PAUSED)) {
        *ret_state = entry->state;
        entry_set(orchestrator, entry, ENTRY_CHANGING);
    } else {
        entry = NULL;
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return entry;
}

/** Let go of it again. */
static void release_entry(struct orchestrator *orchestrator, struct run_entry *entry,
                          enum entry_state state)
{
    pthread_mutex_lock(&orchestrator->lock);
    entry_set(orchestrator, entry, state);
    if (state == ENTRY_QUEUED) {
        entry_first(orchestrator, entry);
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

int orchestrator_stop_run(struct orchestrator *orchestrator, const char *run_id, const char *by,
                          struct rondo_error *err)
{
    enum entry_state state = ENTRY_QUEUED;
    struct run_entry *entry = hold_entry(orchestrator, run_id, &state);
    int r = loop_stop_run(&orchestrator->parts, run_id, by, err);
    if (entry == NULL) {
        return r;
    }
    if (r == LOOP_CONTROL_DONE || r == RONDO_ERR_STATE) {
        (void)assignment_remove(orchestrator, run_id, NULL); /* Found to be of no use later. */
        pthread_mutex_lock(&orchestrator->lock);
        entry_remove(orchestrator, entry);
        pthread_mutex_unlock(&orchestrator->lock);
    } else {
        release_entry(orchestrator, entry, state);
    }
    return r;
}

int orchestrator_pause_run(struct orchestrator *orchestrator, const char *run_id, const char *by,
                           struct rondo_error *err)
{
    enum entry_state state = ENTRY_QUEUED;
    struct run_entry *entry = hold_entry(orchestrator, run_id, &state);
    int r = loop_pause_run(&orchestrator->parts, run_id, by, err);
    if (entry == NULL) {
        return r;
    }
    bool is_paused = r == LOOP_CONTROL_DONE || r == LOOP_CONTROL_NOTHING;
    if (is_paused && state == ENTRY_QUEUED) {
        /* Should it not be recorded, the run's row says so, too. */
        const struct placement place = entry_placement(entry);
        entry->is_taken = false;
        (void)assignment_put(orchestrator, run_id, ASSIGNMENT_PAUSED, by, &place, NULL);
    }
    release_entry(orchestrator, entry, is_paused ? ENTRY_PAUSED : state);
    return r;
}

int orchestrator_change_limits(struct orchestrator *orchestrator, const char *run_id,
                               const struct loop_limits *limits, const char *by,
                               struct rondo_error *err)
{
    enum entry_state state = ENTRY_QUEUED;
    struct run_entry *entry = hold_entry(orchestrator, run_id, &state);
    int r = loop_change_limits(&orchestrator->parts, run_id, limits, by, err);
    if (entry != NULL) {
        release_entry(orchestrator, entry, state);
    }
    return r;
}
