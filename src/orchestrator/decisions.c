// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that are paused here because a call needs the decision of a person. The audit chain of the
 * store says what was decided, by whichever process; a run continues when nothing that it asked for
 * is open. Time decides, too: what is due is done here.
 */
#include "alert/notice.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/desks/watch.h"
#include "handoff/inbox/inbox.h"
#include "handoff/inbox/index.h"
#include "handoff/storage/clock.h"
#include "journal/reader.h"
#include "loop/control/control.h"
#include "orchestrator/internal.h"
#include "worker/decided.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Handoffs with which something is done in one scan; the next one does the rest. */
#define DUE_AT_ONCE ((size_t)1000)
/** A mistake of the desk file is told again after so long. */
#define WARN_EACH_NS (3600 * NS_PER_S)
/** Name space of the ids of notices. */
#define NOTICE_SPACE "5d7c2d3e-0f43-5b0c-9d0a-6c8c0c0f5a77"

static struct handoff_store handoffs_of(const struct orchestrator *orchestrator)
{
    return runtime_handoffs(orchestrator->options.runtime);
}

static int64_t now_of(const struct orchestrator *orchestrator)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    return handoff_now(&handoffs);
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

/** Continue a run that is paused here if something was decided: it looks for itself what. */
static int look_at(struct orchestrator *orchestrator, const char *run_id)
{
    struct rondo_error err = {0};
    bool is_over = false;
    int r = worker_is_decided(orchestrator->options.runtime, run_id, &is_over, &err);
    if (r == 0 && is_over) {
        r = loop_continue_run(&orchestrator->parts, run_id, "a decision", &err);
        r = r < 0 ? r : waiting_look(orchestrator, run_id, &err);
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

/** Do what is due with one; a request that is on no desk yet is routed. */
static int wake(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                struct rondo_error *err)
{
    struct handoff handoff;
    int r = inbox_route(handoffs, request_id, now_ns, &handoff, err);
    return r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_CORRUPT ? 0 : r; /* `rondo inbox` says it. */
}

struct unrouted {
    char (*ids)[ID_SIZE];
    size_t count;
};

static bool take_unrouted(const struct handoff_summary *summary,
                          const struct handoff_place_in_list *place, void *context)
{
    struct unrouted *unrouted = context;
    (void)place;
    if (summary->state == HANDOFF_REQUESTED || summary->state == HANDOFF_REROUTED) {
        memcpy(unrouted->ids[unrouted->count++], summary->request_id, ID_SIZE);
    }
    return unrouted->count < DUE_AT_ONCE;
}

/** Requests that could not be routed, for the desk file was wrong, are when it is right. */
static int route_all(struct orchestrator *orchestrator, const struct handoff_store *handoffs,
                     struct rondo_error *err)
{
    struct unrouted unrouted = {.ids = memory_new_zero(DUE_AT_ONCE, sizeof(*unrouted.ids))};
    struct handoff_query query = {0};
    int r = 0;
    handoff_index_list(orchestrator->handoffs, handoffs->desks, &query, take_unrouted, &unrouted);
    for (size_t i = 0; i < unrouted.count && r == 0; i++) {
        r = wake(handoffs, unrouted.ids[i], now_of(orchestrator), err);
    }
    free(unrouted.ids);
    return r;
}

/** People are warned of a wrong desk file: of several servers that see a mistake, one warns. */
static void warn_of_desks(struct orchestrator *orchestrator, const struct rondo_error *problem)
{
    struct store *store = orchestrator_store(orchestrator);
    auto_buf struct buf name = {0};
    auto_buf struct buf message = {0};
    auto_buf struct buf json = {0};
    char id[ID_SIZE];
    bool is_applied = false;
    int64_t now_ns = clock_now(orchestrator_clock(orchestrator));
    buf_printf(&name, "desks %lld %s", (long long)(now_ns / WARN_EACH_NS), problem->message);
    id_from_name(NOTICE_SPACE, name.data, name.len, id);
    buf_printf(&message, "the desk file is not used as it is now: %s", problem->message);
    struct notice notice = {.kind = WARNING_POLICY_REFUSED,
                            .agent_id = "",
                            .message = buf_string(&message),
                            .time_ns = now_ns};
    notice_encode(&notice, &json);
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = NOTICE_COLLECTION,
                                  .key = id,
                                  .data = buf_string(&json),
                                  .data_len = json.len};
    (void)store->ops->change_documents(store, &change, 1, &is_applied,
                                       NULL); /* It is in the log. */
}

/** A change of the desk file, and what is wrong with it: said once. */
static int look_at_desks(struct orchestrator *orchestrator, const struct handoff_store *handoffs,
                         struct rondo_error *err)
{
    struct rondo_error problem = {0};
    if (desks_watch_problem(runtime_desks(orchestrator->options.runtime),
                            &orchestrator->seen_desk_problem, &problem)) {
        orchestrator_log(orchestrator, "the desk file is not used as it is now: %s",
                         problem.message);
        warn_of_desks(orchestrator, &problem);
    }
    if (orchestrator->seen_desks == handoffs->desks) {
        return 0;
    }
    orchestrator->seen_desks = handoffs->desks;
    return route_all(orchestrator, handoffs, err);
}

/* ---- Too many ------------------------------------------------------------------------------- */

static bool take_calm(const struct handoff_summary *summary,
                      const struct handoff_place_in_list *place, void *context)
{
    struct unrouted *calm = context;
    (void)place;
    if (summary->escalation_level == 0) {
        memcpy(calm->ids[calm->count++], summary->request_id, ID_SIZE);
    }
    return calm->count < DUE_AT_ONCE;
}

/** The desks cannot keep up: what waits there is a matter of the next ones, too. */
static int escalate_all(struct orchestrator *orchestrator, const struct handoff_store *handoffs,
                        struct rondo_error *err)
{
    static const struct handoff_command escalate = {
        .kind = HANDOFF_ESCALATE, .actor = {.id = "system:overload", .is_assignee = true}};
    struct unrouted calm = {.ids = memory_new_zero(DUE_AT_ONCE, sizeof(*calm.ids))};
    struct handoff_query query = {.states = QUERY_OPEN};
    int r = 0;
    handoff_index_list(orchestrator->handoffs, handoffs->desks, &query, take_calm, &calm);
    for (size_t i = 0; i < calm.count && r == 0; i++) {
        struct handoff_result ignored;
        r = handoff_act(handoffs, calm.ids[i], &escalate, NULL, now_of(orchestrator), &ignored,
                        err);
        r = r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_CORRUPT ? 0 : r;
    }
    free(calm.ids);
    return r;
}

/** Requests that take most of the places for a while are escalated, once for each crowd. */
static int look_at_crowd(struct orchestrator *orchestrator, const struct handoff_store *handoffs,
                         struct rondo_error *err)
{
    struct handoff_counts counts;
    int r = handoff_count_read(handoffs->store, "", "", &counts, err);
    int64_t most = (int64_t)handoffs->bounds->per_store * LIMIT_HANDOFFS_CROWDED / 100;
    int64_t now_ns = clock_monotonic(orchestrator_clock(orchestrator));
    if (r < 0 || counts.waiting[COUNT_STORE] <= most) {
        orchestrator->crowded_ns = 0;
        orchestrator->is_crowd_escalated = false;
        return r;
    }
    orchestrator->crowded_ns = orchestrator->crowded_ns == 0 ? now_ns : orchestrator->crowded_ns;
    if (orchestrator->is_crowd_escalated ||
        now_ns - orchestrator->crowded_ns < orchestrator->options.overload_ns) {
        return 0;
    }
    orchestrator_log(orchestrator, "%lld requests wait for people: those are escalated",
                     (long long)counts.waiting[COUNT_STORE]);
    r = escalate_all(orchestrator, handoffs, err);
    orchestrator->is_crowd_escalated = r == 0;
    return r;
}

/** Do what is due with the open handoffs, in the order in which it is. */
static int pass_time(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    char(*ids)[ID_SIZE] = memory_new_zero(DUE_AT_ONCE, sizeof(*ids));
    int64_t now_ns = now_of(orchestrator);
    size_t count = handoff_index_due(orchestrator->handoffs, now_ns, ids, DUE_AT_ONCE);
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        r = wake(&handoffs, ids[i], now_ns, err);
    }
    free(ids);
    return r < 0 || count == 0 ? r : handoff_index_refresh(orchestrator->handoffs, &handoffs, err);
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
    static const enum handoff_fact facts[] = {FACT_ASKED,   FACT_APPROVED,  FACT_REJECTED,
                                              FACT_EXPIRED, FACT_CANCELLED, FACT_DEAD_LETTERED};
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

bool decisions_are_new(struct orchestrator *orchestrator)
{
    struct handoff_store handoffs = handoffs_of(orchestrator);
    uint64_t position = 0;
    pthread_mutex_lock(&orchestrator->lock);
    bool has_new_paused = orchestrator->has_new_paused;
    pthread_mutex_unlock(&orchestrator->lock);
    return has_new_paused ||
           (handoff_read_position(&handoffs, &position, NULL) == 0 &&
            position != orchestrator->decision_position) ||
           orchestrator->decision_due_ns <= now_of(orchestrator);
}

int decisions_scan(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct rondo_error own = {0};
    struct handoff_store handoffs = handoffs_of(orchestrator);
    uint64_t position = 0;
    err = err == NULL ? &own : err;
    int r = handoff_read_position(&handoffs, &position, err);
    r = r < 0 ? r : handoff_index_refresh(orchestrator->handoffs, &handoffs, err);
    if (r == 0 && !orchestrator->has_decision_position) {
        orchestrator->decision_position = position; /* Older ones are seen at their runs. */
        orchestrator->has_decision_position = true;
    }
    r = r < 0 ? r : look_at_desks(orchestrator, &handoffs, err);
    r = r < 0 ? r : look_at_crowd(orchestrator, &handoffs, err);
    if (r == 0 && orchestrator->decision_due_ns <= now_of(orchestrator)) {
        r = pass_time(orchestrator, err);
    }
    if (r == 0) { /* Else it is tried again with the next scan. */
        orchestrator->decision_due_ns = handoff_index_next(orchestrator->handoffs);
    }
    r = r < 0 ? r : look_at_new(orchestrator);
    r = r < 0 ? r : handoff_read_position(&handoffs, &position, err);
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
