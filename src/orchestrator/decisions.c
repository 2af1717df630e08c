// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that are paused here because a call needs the decision of a person. The audit chain of the
 * store says what was decided, by whichever process; a run continues when nothing that it asked for
 * is open. Time decides, too: what is due is done here.
 */
#include "base/memory.h"
#include "handoff/store.h"
#include "handoff/timer.h"
#include "journal/reader.h"
#include "loop/control/control.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Events at the end of a journal among which that of the pause is. */
#define LAST_EVENTS 64

static struct handoff_store handoffs_of(const struct orchestrator *orchestrator)
{
    return (struct handoff_store){orchestrator_store(orchestrator), &handoff_default_rules};
}

static int64_t now_of(const struct orchestrator *orchestrator)
{
    return clock_now(orchestrator_clock(orchestrator));
}

static bool is_paused_here(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    const struct run_entry *entry = entry_find(orchestrator, run_id);
    bool is_paused = entry != NULL && entry->state == ENTRY_PAUSED;
    pthread_mutex_unlock(&orchestrator->lock);
    return is_paused;
}

/* ---- What a run waits for ------------------------------------------------------------------- */

/** The end of a run's journal: who has paused it, and what was asked before. */
struct run_end {
    bool is_waiting;
    char requests[LAST_EVENTS][ID_SIZE];
    size_t request_count;
};

static bool read_end(const struct journal_entry *entry, void *context)
{
    struct run_end *end = context;
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return true;
    }
    if (event->type == JOURNAL_RUN_PAUSED) {
        const char *by = event->run_paused.by;
        end->is_waiting = by != NULL && strcmp(by, RUN_WAITS_FOR_DECISION) == 0;
    } else if (event->type == JOURNAL_HANDOFF_REQUESTED &&
               event->handoff_requested.request != NULL && end->request_count < LAST_EVENTS) {
        snprintf(end->requests[end->request_count++], ID_SIZE, "%s",
                 event->handoff_requested.request);
    }
    return true;
}

/** Whether all that the run has asked for is still open. What cannot be found may be decided. */
static bool waits_for_all(const struct orchestrator *orchestrator, const struct run_end *end)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    for (size_t i = 0; i < end->request_count; i++) {
        struct handoff handoff;
        if (handoff_read(&handoffs, end->requests[i], &handoff, NULL) < 0 ||
            !handoff_is_waiting(&handoff)) {
            return false;
        }
    }
    return end->request_count > 0;
}

/** Continue a run that is paused here if something was decided: it looks for itself what. */
static int look_at(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0 || !run.summary.is_paused) {
        return r == RONDO_ERR_NOT_FOUND ? 0 : r;
    }
    struct run_end *end = memory_new_zero(1, sizeof(*end));
    uint64_t after = run.last_seq > LAST_EVENTS ? run.last_seq - LAST_EVENTS : 0;
    r = journal_visit(store, run_id, after, 0, read_end, end, err);
    if (r == 0 && end->is_waiting && !waits_for_all(orchestrator, end)) {
        r = loop_continue_run(&orchestrator->parts, run_id, "a decision", err);
    }
    free(end);
    return r == RONDO_ERR_STATE || r == RONDO_ERR_NOT_FOUND ? 0 : r < 0 ? r : 0;
}

/** Runs that were just paused, or come from another server: a decision may have come before. */
static char (*list_new(struct orchestrator *orchestrator, size_t *ret_count))[ID_SIZE]
{
    char(*list)[ID_SIZE] = NULL;
    *ret_count = 0;
    pthread_mutex_lock(&orchestrator->lock);
    if (orchestrator->has_new_paused) {
        orchestrator->has_new_paused = false;
        list = memory_new_zero(HASH_COUNT(orchestrator->entries) + 1, sizeof(*list));
        for (struct run_entry *entry = orchestrator->entries; entry != NULL;
             entry = entry->hh.next) {
            if (entry->state == ENTRY_PAUSED && entry->is_new_paused) {
                entry->is_new_paused = false;
                memcpy(list[(*ret_count)++], entry->run_id, ID_SIZE);
            }
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return list;
}

static int look_at_new(struct orchestrator *orchestrator, struct rondo_error *err)
{
    size_t count = 0;
    int r = 0;
    char(*list)[ID_SIZE] = list_new(orchestrator, &count);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = look_at(orchestrator, list[i], err);
    }
    free(list);
    return r;
}

/* ---- Time ----------------------------------------------------------------------------------- */

struct due_handoffs {
    struct orchestrator *orchestrator;
    int64_t now_ns;
    int64_t next_ns; /**< when time does something next; INT64_MAX = never */
    int r;
    struct rondo_error *err;
};

static bool do_what_is_due(const struct handoff *handoff, void *context)
{
    struct due_handoffs *due = context;
    struct handoff_store handoffs = handoffs_of(due->orchestrator);
    struct timer timer = handoff_timer(handoff, handoffs.rules);
    if (timer.kind != TIMER_NONE && timer.due_ns <= due->now_ns) {
        struct handoff_result result;
        due->r = handoff_wake(&handoffs, handoff->request_id, due->now_ns, &result, due->err);
        timer = handoff_timer(&result.handoff, handoffs.rules);
    }
    if (due->r == 0 && timer.kind != TIMER_NONE && timer.due_ns < due->next_ns) {
        due->next_ns = timer.due_ns;
    }
    return due->r == 0;
}

/** Do what is due with the open handoffs, and find when to look again. */
static int pass_time(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    struct due_handoffs due = {.orchestrator = orchestrator,
                               .now_ns = now_of(orchestrator),
                               .next_ns = INT64_MAX,
                               .err = err};
    int r = handoff_read_open(&handoffs, do_what_is_due, &due, err);
    orchestrator->decision_due_ns = due.next_ns;
    return r < 0 ? r : due.r;
}

/* ---- Decisions ------------------------------------------------------------------------------ */

/** Requests about which something was decided. */
struct decided_list {
    struct orchestrator *orchestrator;
    uint64_t position;
    int r;
    struct rondo_error *err;
};

/** What an agent may continue with. */
static bool is_decision(const char *kind)
{
    static const enum handoff_fact facts[] = {FACT_APPROVED, FACT_REJECTED, FACT_EXPIRED,
                                              FACT_CANCELLED, FACT_DEAD_LETTERED};
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (strcmp(kind, handoff_fact_name(facts[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_change(uint64_t number, const char *kind, const char *request_id, void *context)
{
    struct decided_list *list = context;
    struct orchestrator *orchestrator = list->orchestrator;
    struct handoff_store handoffs = handoffs_of(orchestrator);
    struct handoff handoff;
    list->r = handoff_read(&handoffs, request_id, &handoff, list->err);
    if (list->r == 0) {
        struct timer timer = handoff_timer(&handoff, handoffs.rules);
        bool is_sooner = timer.kind != TIMER_NONE && timer.due_ns < orchestrator->decision_due_ns;
        orchestrator->decision_due_ns = is_sooner ? timer.due_ns : orchestrator->decision_due_ns;
    }
    if (list->r == 0 && is_decision(kind) && is_paused_here(orchestrator, handoff.lane_id)) {
        list->r = look_at(orchestrator, handoff.lane_id, list->err);
    }
    if (list->r == 0) {
        list->position = number;
    }
    return list->r == 0;
}

static int take_changes(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    struct decided_list list = {
        .orchestrator = orchestrator, .position = orchestrator->decision_position, .err = err};
    int r = handoff_read_changes(&handoffs, list.position, take_change, &list, err);
    orchestrator->decision_position = list.position;
    return r < 0 ? r : list.r;
}

int decisions_scan(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    uint64_t position = 0;
    int r = handoff_read_position(&handoffs, &position, err);
    if (r == 0 && !orchestrator->has_decision_position) {
        orchestrator->decision_position = position; /* Older ones are seen at their runs. */
        orchestrator->has_decision_position = true;
    }
    if (r == 0 && orchestrator->decision_due_ns <= now_of(orchestrator)) {
        r = pass_time(orchestrator, err);
    }
    r = r < 0 ? r : look_at_new(orchestrator, err);
    if (r < 0 || position == orchestrator->decision_position) {
        return r;
    }
    return take_changes(orchestrator, err);
}
