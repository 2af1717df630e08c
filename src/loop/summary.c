// SPDX-License-Identifier: Apache-2.0
/*
 * Gathering a run's state from the store: newest intact checkpoint and tail for the fold, and a
 * look at the last events for what the fold does not keep.
 */
#include "loop/summary.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "journal/checkpoint.h"
#include "journal/describe.h"
#include "journal/model_stop.h"
#include "journal/reader.h"
#include "loop/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Last events that are searched for a denial, a message and storage trouble. */
#define LAST_EVENTS 200

struct summary_fold {
    struct summary *summary;
    struct rondo_error *err;
    int result;
};

static void replace_text(char **slot, const char *text)
{
    free(*slot);
    *slot = memory_dup_string(text);
}

static bool fold_entry(const struct journal_entry *entry, void *context)
{
    struct summary_fold *gathering = context;
    struct run_state *state = &gathering->summary->state;
    if (entry->is_known) {
        gathering->result = run_fold(state, &entry->event, gathering->err);
    } else {
        state->seq = entry->event.seq;
    }
    return gathering->result == 0;
}

static int load_state(struct store *store, const char *run_id, struct summary_fold *gathering)
{
    struct checkpoint checkpoint;
    struct rondo_error ignored; /* A damaged checkpoint only makes this slower. */
    if (checkpoint_load(store, run_id, 0, &checkpoint, &ignored) == 0) {
        gathering->summary->state = checkpoint.state;
        checkpoint_fini(&checkpoint);
    }
    int r = journal_visit(store, run_id, gathering->summary->state.seq, 0, fold_entry, gathering,
                          gathering->err);
    return r < 0 ? r : gathering->result;
}

static bool read_spec(const struct journal_entry *entry, void *context)
{
    struct summary_fold *gathering = context;
    const char *spec = entry->is_known ? journal_event_spec(&entry->event) : NULL;
    gathering->result = spec == NULL ? error_set(gathering->err, RONDO_ERR_CORRUPT,
                                                 "the journal does not contain the options")
                                     : loop_spec_decode(spec, strlen(spec),
                                                        &gathering->summary->spec, gathering->err);
    return false;
}

static int load_spec(struct store *store, const char *run_id, struct summary_fold *gathering)
{
    uint64_t seq = gathering->summary->state.spec_seq;
    gathering->result =
        error_set(gathering->err, RONDO_ERR_CORRUPT, "the journal has no event with the options");
    int r = journal_visit(store, run_id, seq > 0 ? seq - 1 : 0, 1, read_spec, gathering,
                          gathering->err);
    return r < 0 ? r : gathering->result;
}

static struct summary_condition *find(struct summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->condition_count; i++) {
        if (name != NULL && strcmp(summary->conditions[i].name, name) == 0) {
            return &summary->conditions[i];
        }
    }
    return NULL;
}

static void take_evaluated(struct summary *summary, const struct journal_event *event)
{
    const struct event_condition_evaluated *result = &event->condition_evaluated;
    struct summary_condition *condition = find(summary, result->condition);
    if (condition == NULL) {
        return;
    }
    auto_buf struct buf reason = {0};
    event_condition_reason(result, &reason);
    condition->is_evaluated = true;
    condition->is_met = result->status != NULL && strcmp(result->status, "met") == 0;
    condition->exit_code = result->exit_code;
    condition->duration_ns = result->duration_ns;
    condition->iteration = result->iteration;
    condition->time_ns = event->time_ns;
    snprintf(condition->reason, sizeof(condition->reason), "%s",
             condition->is_met ? "" : buf_string(&reason));
    free(condition->output);
    size_t len = journal_output_len(result->output, result->output_len);
    condition->output = result->output == NULL ? NULL : memory_dup_bytes(result->output, len);
    condition->output_len = len;
}

static void take_denied(struct summary *summary, const struct event_gate_denied *event)
{
    replace_text(&summary->policy, event->policy == NULL ? "" : event->policy);
    replace_text(&summary->limit_name, event->limit_name == NULL ? "" : event->limit_name);
    replace_text(&summary->denied_message, event->message == NULL ? "" : event->message);
    replace_text(&summary->denied_reason, event->reason == NULL ? "" : event->reason);
    replace_text(&summary->verdict, event->verdict == NULL ? "deny" : event->verdict);
    replace_text(&summary->policy_sha256, event->policy_sha256 == NULL ? "" : event->policy_sha256);
    summary->limit = event->limit;
    summary->value = event->value;
    summary->denied_iteration = event->iteration;
}

/** A claim begins a new stretch: what ended the one before does not count any more. */
static void forget_end(struct summary *summary)
{
    replace_text(&summary->policy, NULL);
    replace_text(&summary->message, NULL);
    replace_text(&summary->words, NULL);
}

/** Why the last reply ended, where that makes it less than an answer. */
static void take_stop(struct summary *summary, const struct event_model_replied *event)
{
    enum model_stop stop = MODEL_STOP_END;
    model_stop_from_name(event->stop, &stop);
    replace_text(&summary->stop, model_stop_is_answer(stop) ? NULL : event->stop);
}

static bool take_detail(const struct journal_entry *entry, void *context)
{
    struct summary *summary = ((struct summary_fold *)context)->summary;
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return true;
    }
    if (event->type == JOURNAL_RUN_CLAIMED) {
        forget_end(summary);
    } else if (event->type == JOURNAL_MODEL_REPLIED) {
        take_stop(summary, &event->model_replied);
    } else if (event->type == JOURNAL_CONDITION_EVALUATED) {
        take_evaluated(summary, event);
    } else if (event->type == JOURNAL_RUN_PAUSED) {
        replace_text(&summary->paused_by, event->run_paused.by == NULL ? "" : event->run_paused.by);
        summary->paused_ns = event->time_ns;
    } else if (event->type == JOURNAL_GATE_DENIED) {
        take_denied(summary, &event->gate_denied);
    } else if (event->type == JOURNAL_STORAGE_DEGRADED) {
        replace_text(&summary->storage_message, event->storage_degraded.message == NULL
                                                    ? ""
                                                    : event->storage_degraded.message);
    } else if (event->type == JOURNAL_ITERATION_FINISHED &&
               event->iteration_finished.summary != NULL) {
        replace_text(&summary->words, event->iteration_finished.summary);
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        replace_text(&summary->message, event->run_finished.message);
        if (event->run_finished.summary != NULL) {
            replace_text(&summary->words, event->run_finished.summary);
        }
    }
    return true;
}

/** Conditions in the order of the spec, with what the fold knows of them. */
static void list_conditions(struct summary *summary)
{
    for (size_t i = 0; i < summary->spec.condition_count && i < LIMIT_CONDITIONS; i++) {
        struct summary_condition *condition = &summary->conditions[summary->condition_count++];
        snprintf(condition->name, sizeof(condition->name), "%s", summary->spec.conditions[i].name);
        snprintf(condition->reason, sizeof(condition->reason), "not evaluated");
        condition->exit_code = -1;
    }
}

/** A round that has begun makes former results stale: the fold says which ones count. */
static void drop_stale(struct summary *summary)
{
    for (size_t i = 0; i < summary->condition_count; i++) {
        struct summary_condition *condition = &summary->conditions[i];
        bool counts = false;
        for (uint32_t j = 0; j < summary->state.condition_count; j++) {
            const struct run_condition *folded = &summary->state.conditions[j];
            counts = counts || (strcmp(folded->name, condition->name) == 0 &&
                                folded->reason != RONDO_REASON_NOT_EVALUATED);
        }
        if (!counts) {
            condition->is_met = false;
            condition->is_evaluated = false;
            snprintf(condition->reason, sizeof(condition->reason), "not evaluated");
        }
    }
}

static int load_details(struct store *store, const char *run_id, struct summary_fold *gathering)
{
    struct summary *summary = gathering->summary;
    list_conditions(summary);
    uint64_t last = summary->state.seq;
    uint64_t after = last > LAST_EVENTS ? last - LAST_EVENTS : 0;
    uint64_t round = summary->state.round_seq;
    after = round > 0 && round - 1 < after ? round - 1 : after;
    int r = journal_visit(store, run_id, after, 0, take_detail, gathering, gathering->err);
    drop_stale(summary);
    return r;
}

bool summary_is_waiting(const struct summary *summary)
{
    return summary->run.summary.status == RONDO_RUNNING && summary->state.is_waiting;
}

int summary_load(struct store *store, const char *run_id, struct summary *ret_summary,
                 struct rondo_error *err)
{
    *ret_summary = (struct summary){0};
    struct summary_fold gathering = {.summary = ret_summary, .err = err};
    int r = store->ops->get_run(store, run_id, &ret_summary->run, err);
    if (r == 0) {
        r = load_state(store, run_id, &gathering);
    }
    if (r == 0) {
        r = load_spec(store, run_id, &gathering);
    }
    if (r == 0) {
        r = load_details(store, run_id, &gathering);
    }
    if (r < 0) {
        summary_fini(ret_summary);
        return r;
    }
    ret_summary->display_status = run_display_status(&ret_summary->run);
    return 0;
}

void summary_fini(struct summary *summary)
{
    for (size_t i = 0; i < summary->condition_count; i++) {
        free(summary->conditions[i].output);
    }
    loop_spec_fini(&summary->spec);
    free(summary->message);
    free(summary->words);
    free(summary->stop);
    free(summary->paused_by);
    free(summary->policy);
    free(summary->denied_reason);
    free(summary->verdict);
    free(summary->policy_sha256);
    free(summary->limit_name);
    free(summary->denied_message);
    free(summary->storage_message);
    *summary = (struct summary){0};
}
