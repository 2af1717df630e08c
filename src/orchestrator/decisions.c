// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that are paused here because a call needs the decision of a person. The audit chain of the
 * store says what was decided, by whichever process; a run continues when nothing that it asked for
 * is open. Time decides, too: what is due is done here.
 */
#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/store.h"
#include "handoff/timer.h"
#include "journal/reader.h"
#include "loop/control/control.h"
#include "orchestrator/internal.h"

#include <json-c/json.h>
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

/** What cannot be read is somebody else's trouble: the other runs must not wait for it. */
static int pass_damaged(const struct orchestrator *orchestrator, int r, const char *what,
                        const char *id, const struct rondo_error *err)
{
    if (r == RONDO_ERR_CORRUPT) {
        orchestrator_log(orchestrator, "%s %s cannot be continued by a decision: %s", what, id,
                         err->message);
    }
    bool is_passed = r == RONDO_ERR_CORRUPT || r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_STATE;
    return is_passed ? 0 : r < 0 ? r : 0;
}

/* ---- What a run waits for ------------------------------------------------------------------- */

/** Keep what the last pause of a run says. */
static bool find_pause(const struct journal_entry *entry, void *context)
{
    struct buf *handoffs = context;
    if (entry->is_known && entry->event.type == JOURNAL_RUN_PAUSED) {
        const char *json = entry->event.run_paused.handoffs;
        buf_clear(handoffs);
        buf_append_string(handoffs, json == NULL ? "" : json);
    }
    return true;
}

/** Whether something is decided of what a run waits for. What is gone counts as decided. */
static int is_decided(const struct orchestrator *orchestrator, const struct buf *json,
                      bool *ret_is_decided, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    auto_json struct json_object *list = NULL;
    int r = json_parse(json->data, json->len, &list, err);
    size_t count =
        r == 0 && json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < count && r == 0 && !*ret_is_decided; i++) {
        struct handoff handoff;
        const char *id = json_object_get_string(json_object_array_get_idx(list, i));
        r = handoff_read(&handoffs, id == NULL ? "" : id, &handoff, err);
        *ret_is_decided = r == RONDO_ERR_NOT_FOUND || (r == 0 && !handoff_is_waiting(&handoff));
        r = r == RONDO_ERR_NOT_FOUND ? 0 : r;
    }
    return r;
}

/** Read what a run waits for: the pause is near the end of its journal. */
static int read_pause(struct store *store, const char *run_id, uint64_t last_seq,
                      struct buf *ret_handoffs, struct rondo_error *err)
{
    uint64_t after = last_seq > LAST_EVENTS ? last_seq - LAST_EVENTS : 0;
    return journal_visit(store, run_id, after, 0, find_pause, ret_handoffs, err);
}

/** Continue a run that is paused here if something was decided: it looks for itself what. */
static int look_at(struct orchestrator *orchestrator, const char *run_id)
{
    struct store *store = orchestrator_store(orchestrator);
    struct rondo_error err = {0};
    struct store_run run;
    auto_buf struct buf handoffs = {0};
    bool is_over = false;
    int r = store->ops->get_run(store, run_id, &run, &err);
    if (r == 0 && run.summary.is_paused) {
        r = read_pause(store, run_id, run.last_seq, &handoffs, &err);
    }
    if (r == 0 && handoffs.len > 0) {
        r = is_decided(orchestrator, &handoffs, &is_over, &err);
    }
    if (r == 0 && is_over) {
        r = loop_continue_run(&orchestrator->parts, run_id, "a decision", &err);
    }
    return pass_damaged(orchestrator, r, "run", run_id, &err);
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

/** The store failed: the run is looked at with the next scan. */
static void look_again(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = entry_find(orchestrator, run_id);
    if (entry != NULL && entry->state == ENTRY_PAUSED) {
        entry->is_new_paused = true;
        orchestrator->has_new_paused = true;
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

static int look_at_new(struct orchestrator *orchestrator)
{
    size_t count = 0;
    int r = 0;
    char(*list)[ID_SIZE] = list_new(orchestrator, &count);
    for (size_t i = 0; i < count; i++) {
        int looked = look_at(orchestrator, list[i]);
        if (looked < 0) {
            look_again(orchestrator, list[i]);
            r = looked;
        }
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
        int r = handoff_wake(&handoffs, handoff->request_id, due->now_ns, &result, due->err);
        if (r < 0) {
            due->r = r;
            return true;
        }
        timer = handoff_timer(&result.handoff, handoffs.rules);
    }
    if (timer.kind != TIMER_NONE && timer.due_ns < due->next_ns) {
        due->next_ns = timer.due_ns;
    }
    return true;
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
    r = r == RONDO_ERR_CORRUPT ? 0 : r; /* `rondo inbox` says it. */
    r = r < 0 ? r : due.r;
    if (r == 0) { /* Else it is tried again with the next scan. */
        orchestrator->decision_due_ns = due.next_ns;
    }
    return r;
}

/* ---- Decisions ------------------------------------------------------------------------------ */

/** Requests about which something was decided. */
struct decided_list {
    struct orchestrator *orchestrator;
    uint64_t position;
    int r;
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
    struct rondo_error err = {0};
    struct handoff handoff;
    int r = handoff_read(&handoffs, request_id, &handoff, &err);
    if (r == 0) {
        struct timer timer = handoff_timer(&handoff, handoffs.rules);
        bool is_sooner = timer.kind != TIMER_NONE && timer.due_ns < orchestrator->decision_due_ns;
        orchestrator->decision_due_ns = is_sooner ? timer.due_ns : orchestrator->decision_due_ns;
    }
    if (r == 0 && is_decision(kind) && is_paused_here(orchestrator, handoff.lane_id)) {
        r = look_at(orchestrator, handoff.lane_id);
    }
    list->r = pass_damaged(orchestrator, r, "handoff", request_id, &err);
    if (list->r == 0) {
        list->position = number;
    }
    return list->r == 0;
}

static int take_changes(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    struct decided_list list = {.orchestrator = orchestrator,
                                .position = orchestrator->decision_position};
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
    r = r < 0 ? r : look_at_new(orchestrator);
    if (r == 0 && position != orchestrator->decision_position) {
        r = take_changes(orchestrator, err);
    }
    bool is_damaged = r == RONDO_ERR_CORRUPT;
    if (is_damaged && !orchestrator->is_audit_damaged) {
        orchestrator_log(orchestrator, "decisions of people continue no run: %s", err->message);
    }
    orchestrator->is_audit_damaged = is_damaged;
    return is_damaged ? 0 : r;
}
