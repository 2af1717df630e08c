// SPDX-License-Identifier: Apache-2.0
/*
 * From events to warnings. What an event leads to depends on the journal and on documents only, so
 * that it does not matter which monitor reads it, when, and how often it had to begin again.
 */
#include "alert/monitor_internal.h"

#include "alert/result.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/desks/desks.h"
#include "loop/runtime.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Events between a denial and the run's end: policies, a last checkpoint. */
#define DENIAL_DISTANCE 8
/** Bytes of an event that says why a PRD's file cannot be used; one with tasks is no warning. */
#define COMPLAINT_BYTES 8192

struct warning *monitor_add_found(struct monitor *monitor, int64_t epoch)
{
    struct found_warnings *found = &monitor->found;
    if (found->count == found->size) {
        found->size = found->size == 0 ? 16 : found->size * 2;
        found->items = memory_resize(found->items, found->size, sizeof(*found->items));
        found->epochs = memory_resize(found->epochs, found->size, sizeof(*found->epochs));
    }
    found->epochs[found->count] = epoch;
    struct warning *warning = &found->items[found->count++];
    *warning = (struct warning){0};
    return warning;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct monitor_page {
    struct wanted_event items[MONITOR_PAGE_WANTED];
    size_t count;
    size_t bytes;
    size_t seen;
    uint64_t reached;
    int64_t warn_from_ns;
    uint64_t history;
};

static bool take_event(const struct store_event *event, void *context)
{
    struct monitor_page *page = context;
    struct wanted_event *item = &page->items[page->count];
    page->reached = event->position;
    page->seen++;
    bool is_old = event->position <= page->history && event->time_ns < page->warn_from_ns;
    if (is_old || !warning_is_wanted(event->type, &item->type, &item->kind) ||
        (item->type == JOURNAL_TASKS_READ && event->data_len > COMPLAINT_BYTES)) {
        return true;
    }
    snprintf(item->run_id, sizeof(item->run_id), "%s", event->run_id);
    item->position = event->position;
    item->seq = event->seq;
    item->time_ns = event->time_ns;
    item->data = memory_dup_bytes(event->data, event->data_len);
    item->data_len = event->data_len;
    page->count++;
    page->bytes += event->data_len;
    return page->count < MONITOR_PAGE_WANTED && page->bytes < MONITOR_PAGE_BYTES;
}

/* ---- Deciding ------------------------------------------------------------------------------- */

static bool is_end_bad(const char *status)
{
    return strcmp(status, rondo_status_name(RONDO_COMPLETED)) != 0 &&
           strcmp(status, rondo_status_name(RONDO_CANCELLED)) != 0;
}

static bool note_denial(const struct store_event *event, void *context)
{
    bool *is_told = context;
    if (strcmp(event->type, journal_type_name(JOURNAL_GATE_DENIED)) == 0) {
        *is_told = true;
    } else if (strcmp(event->type, journal_type_name(JOURNAL_RUN_CLAIMED)) == 0) {
        *is_told = false; /* That was why it ended the last time. */
    }
    return true;
}

/** Whether a denial just before the end has said already why the run ended. */
static int is_end_told(struct monitor *monitor, const struct wanted_event *item, bool *ret_is_told,
                       struct rondo_error *err)
{
    uint64_t after = item->seq > DENIAL_DISTANCE + 1 ? item->seq - DENIAL_DISTANCE - 1 : 0;
    *ret_is_told = false;
    if (item->seq < 2) {
        return 0;
    }
    int r = monitor->store->ops->read_events(monitor->store, item->run_id, after,
                                             (uint32_t)(item->seq - 1 - after), note_denial,
                                             ret_is_told, err);
    return r == RONDO_ERR_CORRUPT ? 0 : r; /* Rather twice than not at all. */
}

/** A denial of a step is said once for each policy and action of a run. */
static bool is_denial_new(struct run_note *note, const struct event_step_denied *event)
{
    char mark[MONITOR_MARK_SIZE];
    monitor_mark(event->policy, event->action, NULL, mark);
    for (size_t i = 0; i < note->denial_count; i++) {
        if (strcmp(note->denials[i], mark) == 0) {
            return false;
        }
    }
    if (note->denial_count == MONITOR_DENIALS) {
        return false;
    }
    memcpy(note->denials[note->denial_count++], mark, sizeof(mark));
    note->is_changed = true;
    return true;
}

/** Every loop under a wrong file refuses it; people hear of it once an hour. */
static bool is_refusal_new(struct monitor *monitor, const struct journal_event *event)
{
    struct refusal refusal = {.time_ns = event->time_ns};
    monitor_mark(event->policy_refused.source, event->policy_refused.message, NULL, refusal.mark);
    for (size_t i = 0; i < monitor->refusal_count; i++) {
        struct refusal *known = &monitor->refusals[i];
        if (strcmp(known->mark, refusal.mark) == 0) {
            bool is_new = refusal.time_ns - known->time_ns >= MONITOR_REFUSAL_NS;
            known->time_ns = is_new ? refusal.time_ns : known->time_ns;
            monitor->is_refusal_changed = monitor->is_refusal_changed || is_new;
            return is_new;
        }
    }
    if (monitor->refusal_count == MONITOR_REFUSALS) {
        monitor->refusal_count--;
        memmove(monitor->refusals, monitor->refusals + 1,
                monitor->refusal_count * sizeof(monitor->refusals[0]));
    }
    monitor->refusals[monitor->refusal_count++] = refusal;
    monitor->is_refusal_changed = true;
    return true;
}

/** What was said of a run does not matter once it has ended. */
static void clear_note(struct run_note *note)
{
    note->is_changed = note->is_changed || note->is_stored || note->denial_count > 0;
    note->denial_count = 0;
    note->stalled_seq = 0;
}

/** What comes of an attempt is told by the PRD's run: here only what a policy has denied. */
static bool is_told_by_parent(const struct wanted_event *item, const struct journal_event *event)
{
    return item->kind == WARNING_LIMIT || item->kind == WARNING_ENDED_BADLY ||
           (item->type == JOURNAL_GATE_DENIED && event->gate_denied.limit_name != NULL);
}

static int decide(struct monitor *monitor, const struct wanted_event *item,
                  const struct journal_event *event, struct run_note *note, bool *ret_is_wanted,
                  struct rondo_error *err)
{
    bool is_told = false;
    int r = 0;
    switch (item->kind) {
    case WARNING_TASK:
        *ret_is_wanted = event->type != JOURNAL_TASKS_READ || event->tasks_read.message != NULL;
        return 0;
    case WARNING_ENDED_BADLY:
        clear_note(note);
        *ret_is_wanted =
            event->run_finished.status != NULL && is_end_bad(event->run_finished.status);
        if (*ret_is_wanted) {
            r = is_end_told(monitor, item, &is_told, err);
            *ret_is_wanted = !is_told;
        }
        return r;
    case WARNING_POLICY:
        *ret_is_wanted =
            item->type == JOURNAL_GATE_DENIED || is_denial_new(note, &event->step_denied);
        return 0;
    case WARNING_POLICY_REFUSED:
        *ret_is_wanted = is_refusal_new(monitor, event);
        return 0;
    case WARNING_LIMIT:
    case WARNING_STORAGE:
    case WARNING_STALLED:
    case WARNING_HANDOFF:
    case WARNING_EVENT:
    case WARNING_TEST:
    case WARNING_KIND_COUNT:
        break;
    }
    *ret_is_wanted = true;
    return 0;
}

/** Sinks are of no person: where a rule of the desk file hides values of an agent's requests, what
 * may repeat them is left out, and the inbox shows it to those who may see it. */
static void hide_values(const struct monitor *monitor, const char *agent_id,
                        struct journal_event *event)
{
    if (monitor->runtime == NULL) {
        return;
    }
    struct handoff_store handoffs = runtime_handoffs(monitor->runtime);
    struct redact_view view = desks_view(handoffs.desks, NULL, agent_id, NULL);
    if (!redact_hides(&view)) {
        return;
    }
    if (event->type == JOURNAL_HANDOFF_REQUESTED) {
        event->handoff_requested.reason = NULL;
    } else if (event->type == JOURNAL_STEP_DENIED) {
        event->step_denied.message = NULL;
        event->step_denied.reason = NULL;
    }
}

static bool is_completed(const struct journal_event *event)
{
    return event->type == JOURNAL_RUN_FINISHED && event->run_finished.status != NULL &&
           strcmp(event->run_finished.status, rondo_status_name(RONDO_COMPLETED)) == 0;
}

static void add_warning(struct monitor *monitor, const struct wanted_event *item,
                        const struct journal_event *event, const struct run_note *note,
                        int64_t epoch)
{
    struct warning *warning = monitor_add_found(monitor, epoch);
    struct journal_event shown = *event;
    hide_values(monitor, note->agent_id, &shown);
    bool is_done = is_completed(event);
    warning_from_event(&shown, is_done ? WARNING_TASK : item->kind, warning);
    snprintf(warning->id, sizeof(warning->id), "%020" PRIu64, item->position);
    snprintf(warning->run_id, sizeof(warning->run_id), "%s", item->run_id);
    snprintf(warning->agent_id, sizeof(warning->agent_id), "%s", note->agent_id);
    warning->position = item->position;
}

/** The run's present epoch, for traces; 0 when it is gone or cannot be read. */
static int read_epoch(struct monitor *monitor, const char *run_id, int64_t *ret_epoch,
                      struct rondo_error *err)
{
    struct store_run run;
    struct rondo_error reason = {0};
    int r = monitor->store->ops->get_run(monitor->store, run_id, &run, &reason);
    *ret_epoch = r == 0 ? (int64_t)run.epoch : 0;
    if (r < 0 && r != RONDO_ERR_NOT_FOUND && r != RONDO_ERR_CORRUPT) {
        return error_set(err, r, "%s", reason.message);
    }
    return 0;
}

/** The end of a run goes to each sink of its role. */
static void add_results(struct monitor *monitor, const struct wanted_event *item,
                        const struct journal_event *event, const struct run_note *note,
                        int64_t epoch)
{
    size_t count = memory_count_list((const char *const *)note->sinks);
    monitor->results =
        memory_resize(monitor->results, monitor->result_count + count, sizeof(*monitor->results));
    for (size_t i = 0; i < count; i++) {
        struct found_result *result = &monitor->results[monitor->result_count++];
        struct buf json = {0};
        *result = (struct found_result){.epoch = epoch};
        snprintf(result->sink, sizeof(result->sink), "%s", note->sinks[i]);
        result_note(event, item->run_id, note->agent_id, result->id, &json);
        result->json = buf_steal(&json);
    }
}

static int weigh(struct monitor *monitor, const struct wanted_event *item, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct journal_event event;
    struct run_note *note = NULL;
    int r = monitor_note(monitor, item->run_id, &note, err);
    if (r == RONDO_ERR_CORRUPT) {
        return 0; /* Damaged: readers of the run report it; the others must not wait. */
    }
    if (r < 0 || item->seq <= note->forked_seq) {
        return r;
    }
    if (journal_decode(journal_type_name(item->type), item->data, item->data_len, &event, &root,
                       NULL) < 0) {
        return 0; /* As above. */
    }
    event.seq = item->seq;
    event.time_ns = item->time_ns;
    bool is_wanted = false;
    int64_t epoch = 0;
    r = decide(monitor, item, &event, note, &is_wanted, err);
    is_wanted = (is_wanted && !(note->is_part && is_told_by_parent(item, &event))) ||
                (note->is_prd && is_completed(&event));
    bool has_result = item->type == JOURNAL_RUN_FINISHED && note->sinks != NULL;
    if (r == 0 && (is_wanted || has_result)) {
        r = read_epoch(monitor, item->run_id, &epoch, err);
    }
    if (r == 0 && is_wanted) {
        add_warning(monitor, item, &event, note, epoch);
    }
    if (r == 0 && has_result) {
        add_results(monitor, item, &event, note, epoch);
    }
    return r;
}

void monitor_forget_results(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor->result_count; i++) {
        free(monitor->results[i].json);
    }
    monitor->result_count = 0;
}

int monitor_read_page(struct monitor *monitor, bool *ret_is_more, struct rondo_error *err)
{
    struct monitor_page *page = memory_new_zero(1, sizeof(*page));
    page->warn_from_ns = monitor->warn_from_ns;
    page->history = monitor->history;
    page->reached = monitor->reached;
    int r = monitor->store->ops->read_events(monitor->store, NULL, monitor->reached, MONITOR_PAGE,
                                             take_event, page, err);
    for (size_t i = 0; i < page->count; i++) {
        r = r < 0 ? r : weigh(monitor, &page->items[i], err);
        free(page->items[i].data);
    }
    if (r == 0) {
        monitor->reached = page->reached;
        *ret_is_more = page->seen == MONITOR_PAGE || page->count == MONITOR_PAGE_WANTED ||
                       page->bytes >= (size_t)MONITOR_PAGE_BYTES;
    }
    free(page);
    return r;
}
