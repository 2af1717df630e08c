// SPDX-License-Identifier: Apache-2.0
/* Runs, executions and iterations; spans_parts.c has what happens inside an iteration. */
#include "telemetry/spans_internal.h"

#include "base/memory.h"
#include "base/text/plain.h"
#include "telemetry/otlp_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Spans ---------------------------------------------------------------------------------- */

static void set_parent(const struct span_run *run, struct span *span)
{
    if (run->iteration.is_parent) {
        trace_span_id(run->run_id, TRACE_ITERATION, run->iteration.number, run->iteration.attempt,
                      span->parent_id);
    } else {
        trace_span_id(run->run_id, TRACE_RUN, run->execution.epoch, 0, span->parent_id);
    }
}

struct span spans_begin(const struct span_run *run, enum trace_span kind, uint64_t number,
                        uint64_t part, int64_t start_ns, int64_t end_ns)
{
    struct span span = {.kind = SPAN_INTERNAL, .start_ns = start_ns, .end_ns = end_ns};
    memcpy(span.trace_id, run->trace_id, sizeof(span.trace_id));
    trace_span_id(run->run_id, kind, number, part, span.id);
    set_parent(run, &span);
    int64_t floor_ns = run->iteration.is_parent ? run->iteration.start_ns : run->execution.start_ns;
    /* A start that is reckoned from a duration must not lie before what the span is part of. */
    span.start_ns = span.start_ns < floor_ns ? floor_ns : span.start_ns;
    attributes_text(&span.attributes, "session.id", run->run_id);
    attributes_text(&span.attributes, "loop.run.id", run->run_id);
    return span;
}

void spans_emit(struct spans *spans, struct span *span)
{
    if (span->end_ns < span->start_ns) {
        span->end_ns = span->start_ns;
    }
    if (!spans->is_replaying) {
        spans->options.emit(spans->options.context, span);
    }
}

void spans_set_error(struct span *span, const char *type)
{
    span->status = SPAN_ERROR;
    span->status_message = type;
    attributes_text(&span->attributes, "error.type", type);
}

void spans_add_event(struct span_run *run, const struct span_event *event)
{
    struct execution_span *execution = &run->execution;
    if (!execution->is_open) {
        return;
    }
    if (execution->event_count == SPANS_MAX_EVENTS ||
        execution->events.len > SPANS_MAX_EVENT_BYTES) {
        execution->dropped_events++;
        return;
    }
    execution->event_count++;
    otlp_write_event(event, &execution->events);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static void free_run(struct span_run *run)
{
    spans_forget_parts(run);
    buf_fini(&run->execution.events);
    free(run->tools);
    free(run->waits);
    free(run->agent_id);
    free(run->version);
    free(run);
}

static void drop_run(struct spans *spans, struct span_run *run)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
    HASH_DEL(spans->runs, run);
    free_run(run);
}

static struct span_run *find_run(struct spans *spans, const char *run_id)
{
    struct span_run *run = NULL;
    HASH_FIND_STR(spans->runs, run_id, run);
    return run;
}

/** Keep the table in the order of the last use. */
static void touch(struct spans *spans, struct span_run *run)
{
    HASH_DEL(spans->runs, run);
    HASH_ADD_STR(spans->runs, run_id, run);
}

static struct span_run *new_run(struct spans *spans, const char *run_id)
{
    size_t most = spans->options.max_runs == 0 ? SPANS_MAX_RUNS : spans->options.max_runs;
    if (HASH_COUNT(spans->runs) >= most) {
        drop_run(spans, spans->runs);
    }
    struct span_run *run = memory_new_zero(1, sizeof(*run));
    snprintf(run->run_id, sizeof(run->run_id), "%s", run_id);
    trace_id(run->run_id, run->trace_id);
    run->total = -1;
    HASH_ADD_STR(spans->runs, run_id, run);
    return run;
}

/* ---- Iterations ----------------------------------------------------------------------------- */

static void add_progress(const struct span_run *run, int64_t number, int64_t limit,
                         struct attributes *attributes)
{
    attributes_some(attributes, "loop.iteration", number);
    if (limit > 0) {
        attributes_int(attributes, "loop.limit", limit);
        attributes_double(attributes, "loop.progress_pct", 100.0 * (double)number / (double)limit);
    }
    if (run->total >= 0) {
        attributes_int(attributes, "loop.conditions.met", run->met);
        attributes_int(attributes, "loop.conditions.total", run->total);
    }
}

static void add_usage(int64_t tokens_in, int64_t tokens_out, int64_t tokens, int64_t cost_micro,
                      struct attributes *attributes)
{
    if (tokens_in > 0 || tokens_out > 0) {
        attributes_int(attributes, "gen_ai.usage.input_tokens", tokens_in);
        attributes_int(attributes, "gen_ai.usage.output_tokens", tokens_out);
    }
    attributes_some(attributes, "loop.tokens", tokens);
    if (cost_micro > 0) {
        attributes_double(attributes, "loop.cost", (double)cost_micro / 1e6);
    }
}

static void emit_iteration(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    struct iteration *iteration = &run->iteration;
    struct span span = spans_begin(run, TRACE_ITERATION, iteration->number, iteration->attempt,
                                   iteration->start_ns, end_ns);
    trace_span_id(run->run_id, TRACE_RUN, run->execution.epoch, 0, span.parent_id);
    snprintf(span.name, sizeof(span.name), "loop.iteration");
    add_progress(run, (int64_t)iteration->number, iteration->limit, &span.attributes);
    attributes_int(&span.attributes, "loop.attempt", (int64_t)iteration->attempt);
    attributes_text(&span.attributes, "loop.iteration.outcome", iteration->outcome);
    attributes_some(&span.attributes, "process.exit.code", iteration->exit_code);
    add_usage(iteration->tokens_in, iteration->tokens_out, iteration->tokens, iteration->cost_micro,
              &span.attributes);
    if (iteration->is_failed) {
        spans_set_error(&span, iteration->outcome);
    }
    spans_emit(spans, &span);
    iteration->is_open = false;
}

/** End what is open of the iteration, if anything is. */
static void end_iteration(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    if (run->iteration.is_open) {
        spans_cut_parts(spans, run, end_ns);
        if (!run->iteration.is_body_done) {
            snprintf(run->iteration.outcome, sizeof(run->iteration.outcome), "interrupted");
            run->iteration.is_failed = true;
        }
        emit_iteration(spans, run, end_ns);
    }
    run->iteration.is_parent = false;
}

static void iteration_started(struct spans *spans, struct span_run *run,
                              const struct journal_event *event)
{
    const struct event_iteration_started *started = &event->iteration_started;
    end_iteration(spans, run, run->iteration.last_ns);
    run->iteration = (struct iteration){
        .is_open = true,
        .is_parent = true,
        .number = (uint64_t)started->iteration,
        .attempt = started->attempt < 1 ? 1 : (uint64_t)started->attempt,
        .limit = started->limit,
        .start_ns = event->time_ns,
        .last_ns = event->time_ns,
    };
    run->execution.iterations++;
}

static void iteration_finished(struct spans *spans, struct span_run *run,
                               const struct journal_event *event)
{
    const struct event_iteration_finished *finished = &event->iteration_finished;
    struct iteration *iteration = &run->iteration;
    spans_cut_parts(spans, run, event->time_ns);
    iteration->is_body_done = true;
    snprintf(iteration->outcome, sizeof(iteration->outcome), "%s",
             finished->outcome == NULL ? "" : finished->outcome);
    iteration->is_failed = strcmp(iteration->outcome, "ok") != 0;
    iteration->tokens = finished->tokens;
    iteration->cost_micro = finished->cost_micro;
    iteration->exit_code = finished->exit_code;
    run->execution.tokens += finished->tokens;
    run->execution.cost_micro = run->execution.cost_micro < 0 || finished->cost_micro < 0
                                    ? COST_UNKNOWN
                                    : run->execution.cost_micro + finished->cost_micro;
}

static void iteration_interrupted(struct spans *spans, struct span_run *run,
                                  const struct journal_event *event)
{
    if (run->iteration.is_open &&
        run->iteration.number == (uint64_t)event->iteration_interrupted.iteration) {
        end_iteration(spans, run, event->time_ns);
    }
}

/* ---- Executions ----------------------------------------------------------------------------- */

static void add_link(const struct span_run *run, struct span *span)
{
    const struct execution_span *execution = &run->execution;
    bool is_fork = execution->former_epoch == 0 && run->source_id[0] != '\0';
    if (execution->former_epoch == 0 && !is_fork) {
        return;
    }
    const char *from = is_fork ? run->source_id : run->run_id;
    uint64_t epoch = is_fork ? run->source_epoch : execution->former_epoch;
    struct span_link *link = &span->links[span->link_count++];
    trace_id(from, link->trace_id);
    trace_span_id(from, TRACE_RUN, epoch == 0 ? 1 : epoch, 0, link->id);
    attributes_text(&link->attributes, "loop.link", is_fork ? "forked_from" : "resumed_from");
    if (is_fork) {
        attributes_text(&span->attributes, "loop.forked_from", run->source_id);
    } else {
        attributes_text(&span->attributes, "loop.resumed_from", link->id);
        attributes_text(&span->attributes, "loop.resumed_how", execution->how);
        attributes_some(&span->attributes, "loop.checkpoint.id", execution->checkpoint);
    }
}

/** @param stop why it ends: the final status, or interrupted or parked */
static void end_execution(struct spans *spans, struct span_run *run, int64_t end_ns,
                          const char *stop, bool is_error)
{
    struct execution_span *execution = &run->execution;
    end_iteration(spans, run, end_ns);
    spans_cut_parts(spans, run, end_ns);
    struct span span =
        spans_begin(run, TRACE_RUN, execution->epoch, 0, execution->start_ns, end_ns);
    span.parent_id[0] = '\0';
    snprintf(span.name, sizeof(span.name), "invoke_agent %s", run->agent_id);
    attributes_text(&span.attributes, "gen_ai.operation.name", "invoke_agent");
    attributes_text(&span.attributes, "gen_ai.agent.id", run->agent_id);
    attributes_text(&span.attributes, "gen_ai.agent.name", run->agent_id);
    attributes_text(&span.attributes, "gen_ai.conversation.id", run->run_id);
    attributes_text(&span.attributes, "gen_ai.request.model",
                    strchr(run->model, ':') == NULL ? NULL : strchr(run->model, ':') + 1);
    attributes_int(&span.attributes, "loop.epoch", (int64_t)execution->epoch);
    attributes_int(&span.attributes, "loop.iterations", (int64_t)execution->iterations);
    add_progress(run, (int64_t)run->iteration.number, run->iteration.limit, &span.attributes);
    add_usage(execution->tokens_in, execution->tokens_out, execution->tokens, execution->cost_micro,
              &span.attributes);
    attributes_text(&span.attributes, "loop.stop_reason", stop);
    attributes_text(&span.attributes, "loop.policy.digest", run->policy_sha256);
    add_link(run, &span);
    span.events = buf_string(&execution->events);
    span.dropped_events = execution->dropped_events;
    if (is_error) {
        spans_set_error(&span, stop);
    } else {
        span.status = strcmp(stop, "completed") == 0 ? SPAN_OK : SPAN_UNSET;
    }
    spans_emit(spans, &span);
    execution->is_open = false;
    buf_fini(&execution->events);
}

/**
 * Whether the process died: a process that parks a run leaves nothing half done. A lease that
 * was ended for a dead process looks like one that was released.
 */
static bool is_dead_owner(const struct span_run *run, const struct journal_event *event)
{
    return (event->run_claimed.how != NULL && strcmp(event->run_claimed.how, "takeover") == 0) ||
           run->call.is_open || run->verification.is_open || run->tool_count > 0 ||
           (run->iteration.is_open && !run->iteration.is_body_done);
}

/** A process that died without a word was last seen alive at `alive_ns`. */
static void end_former(struct spans *spans, struct span_run *run, const struct journal_event *event)
{
    bool is_dead = is_dead_owner(run, event);
    int64_t end_ns =
        event->run_claimed.alive_ns > run->last_ns ? event->run_claimed.alive_ns : run->last_ns;
    end_ns = end_ns > event->time_ns ? event->time_ns : end_ns;
    bool was_replaying = spans->is_replaying;
    bool was_sent = !is_dead && event->seq > 0 && event->seq - 1 <= spans->options.sent_until;
    spans->is_replaying = was_replaying || was_sent;
    end_execution(spans, run, end_ns, is_dead ? "interrupted" : "parked", is_dead);
    spans->is_replaying = was_replaying;
}

static void run_claimed(struct spans *spans, struct span_run *run,
                        const struct journal_event *event)
{
    const struct event_run_claimed *claim = &event->run_claimed;
    struct execution_span *execution = &run->execution;
    if (execution->is_open) {
        end_former(spans, run, event);
    }
    uint64_t former = execution->epoch;
    buf_fini(&execution->events);
    *execution = (struct execution_span){
        .is_open = true,
        .epoch = (uint64_t)claim->epoch,
        .former_epoch = former,
        .start_ns = event->time_ns,
        .checkpoint = claim->checkpoint,
    };
    snprintf(execution->how, sizeof(execution->how), "%s", claim->how == NULL ? "" : claim->how);
    /* A span says what happened in its execution: an exporter that begins here knows no more. */
    run->iteration = (struct iteration){0};
    run->model[0] = '\0';
    run->policy_sha256[0] = '\0';
    run->total = -1;
}

static void run_created(struct span_run *run, const struct event_run_created *event)
{
    free(run->agent_id);
    free(run->version);
    run->agent_id = memory_dup_string(event->agent_id == NULL ? "?" : event->agent_id);
    run->version = memory_dup_string(event->version);
    run->copied_until = event->forked_seq < 0 ? 0 : (uint64_t)event->forked_seq;
    if (event->forked_from != NULL && id_is_valid(event->forked_from)) {
        snprintf(run->source_id, sizeof(run->source_id), "%s", event->forked_from);
    }
}

static bool is_error_status(const char *status)
{
    static const char *const good[] = {"completed", "blocked", "cancelled"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (strcmp(status, good[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* ---- Events of the execution's span -----------------------------------------------------------
 */

static void add_warning(struct span_run *run, const struct journal_event *event)
{
    const struct event_limit_warning *warning = &event->limit_warning;
    struct span_event told = {.time_ns = event->time_ns, .name = "loop.limit.warning"};
    attributes_text(&told.attributes, "loop.limit.name", warning->limit_name);
    attributes_int(&told.attributes, "loop.iteration", warning->iteration);
    attributes_int(&told.attributes, "loop.limit", warning->limit);
    attributes_int(&told.attributes, "loop.limit.value", warning->value);
    attributes_int(&told.attributes, "loop.limit.remaining",
                   warning->limit > warning->value ? warning->limit - warning->value : 0);
    spans_add_event(run, &told);
}

static void add_policy(struct span_run *run, int64_t time_ns, const char *name,
                       const char *old_sha256, const char *sha256)
{
    struct span_event told = {.time_ns = time_ns, .name = name};
    attributes_text(&told.attributes, "loop.policy.old_digest", old_sha256);
    attributes_text(&told.attributes, "loop.policy.digest", sha256);
    spans_add_event(run, &told);
}

static void policy_changed(struct span_run *run, const struct journal_event *event)
{
    snprintf(run->policy_sha256, sizeof(run->policy_sha256), "%s",
             event->policy_changed.sha256 == NULL ? "" : event->policy_changed.sha256);
    add_policy(run, event->time_ns, "loop.policy.updated", event->policy_changed.old_sha256,
               event->policy_changed.sha256);
}

/** Names of the events that only become one of the execution's span, by their type. */
static const char *const plain_events[JOURNAL_TYPE_COUNT] = {
    [JOURNAL_RUN_PAUSED] = "loop.paused",
    [JOURNAL_RUN_CONTINUED] = "loop.continued",
    [JOURNAL_RUN_FORKED] = "loop.forked",
    [JOURNAL_RUN_OPTIONS] = "loop.options.changed",
    [JOURNAL_RUN_STOP_REQUESTED] = "loop.stop_requested",
    [JOURNAL_FINISH_REJECTED] = "loop.finish.rejected",
    [JOURNAL_CHECKPOINT_CORRUPT] = "loop.checkpoint.corrupt",
    [JOURNAL_STORAGE_DEGRADED] = "loop.storage.degraded",
    [JOURNAL_NOTE] = "loop.note",
    [JOURNAL_HISTORY_COMPACTED] = "loop.history.compacted",
    [JOURNAL_DELEGATION_FINISHED] = "loop.delegation.finished",
};

static void add_plain(struct span_run *run, const struct journal_event *event)
{
    struct span_event told = {.time_ns = event->time_ns, .name = plain_events[event->type]};
    if (event->type == JOURNAL_NOTE) {
        attributes_text(&told.attributes, "loop.event.name", event->note.name);
    }
    attributes_some(&told.attributes, "loop.iteration", journal_event_iteration(event));
    if (event->type == JOURNAL_CHECKPOINT_CORRUPT) {
        attributes_some(&told.attributes, "loop.checkpoint.id", event->checkpoint_corrupt.number);
    } else if (event->type == JOURNAL_STORAGE_DEGRADED) {
        attributes_some(&told.attributes, "loop.failures", event->storage_degraded.failures);
    } else if (event->type == JOURNAL_HISTORY_COMPACTED) {
        attributes_text(&told.attributes, "loop.outcome", event->history_compacted.outcome);
    } else if (event->type == JOURNAL_DELEGATION_FINISHED) {
        attributes_text(&told.attributes, "loop.delegation.run", event->delegation_finished.run);
        attributes_text(&told.attributes, "loop.outcome", event->delegation_finished.outcome);
    }
    spans_add_event(run, &told);
}

/* ---- All events ----------------------------------------------------------------------------- */

static void gate_denied(struct spans *spans, struct span_run *run,
                        const struct journal_event *event)
{
    if (run->iteration.is_body_done &&
        event->gate_denied.iteration != (int64_t)run->iteration.number) {
        end_iteration(spans, run, run->iteration.last_ns);
    }
    spans_denied(spans, run, event);
}

static void finish_run(struct spans *spans, struct span_run *run, const struct journal_event *event)
{
    const char *status =
        event->run_finished.status == NULL ? "unknown" : event->run_finished.status;
    end_iteration(spans, run, run->iteration.last_ns);
    spans_end_waits(spans, run, event->time_ns);
    if (run->execution.is_open) {
        end_execution(spans, run, event->time_ns, status, is_error_status(status));
    }
}

typedef void take_fn(struct spans *spans, struct span_run *run, const struct journal_event *event);

/** What belongs to an iteration while one is open. */
static take_fn *const parts[JOURNAL_TYPE_COUNT] = {
    [JOURNAL_ITERATION_FINISHED] = iteration_finished,
    [JOURNAL_MODEL_REQUESTED] = spans_model_requested,
    [JOURNAL_MODEL_REPLIED] = spans_model_replied,
    [JOURNAL_TOOL_REQUESTED] = spans_tool_requested,
    [JOURNAL_TOOL_FINISHED] = spans_tool_finished,
    [JOURNAL_VERIFICATION_STARTED] = spans_verification_started,
    [JOURNAL_CONDITION_EVALUATED] = spans_condition_evaluated,
    [JOURNAL_VERIFICATION_FINISHED] = spans_verification_finished,
    [JOURNAL_CHECKPOINT_SAVED] = spans_checkpoint_saved,
    [JOURNAL_STEP_DENIED] = spans_denied,
};

static take_fn *const bounds[JOURNAL_TYPE_COUNT] = {
    [JOURNAL_RUN_CLAIMED] = run_claimed,
    [JOURNAL_ITERATION_STARTED] = iteration_started,
    [JOURNAL_ITERATION_INTERRUPTED] = iteration_interrupted,
    [JOURNAL_GATE_DENIED] = gate_denied,
    [JOURNAL_RUN_FINISHED] = finish_run,
    [JOURNAL_HANDOFF_REQUESTED] = spans_handoff_requested,
    [JOURNAL_HANDOFF_DECIDED] = spans_handoff_decided,
};

static void take_known(struct spans *spans, struct span_run *run, const struct journal_entry *entry)
{
    const struct journal_event *event = &entry->event;
    if (parts[event->type] != NULL) {
        if (run->iteration.is_open) {
            run->iteration.last_ns = event->time_ns;
        }
        parts[event->type](spans, run, event);
    } else if (bounds[event->type] != NULL) {
        bounds[event->type](spans, run, event);
    } else if (event->type == JOURNAL_RUN_CREATED) {
        run_created(run, &event->run_created);
    } else if (event->type == JOURNAL_POLICY_CHANGED) {
        policy_changed(run, event);
    } else if (event->type == JOURNAL_POLICY_REFUSED) {
        add_policy(run, event->time_ns, "loop.policy.refused", NULL, event->policy_refused.sha256);
    } else if (event->type == JOURNAL_LIMIT_WARNING) {
        add_warning(run, event);
    } else if (event->type == JOURNAL_MODEL_RETRYING) {
        run->call.retries++;
    } else if (plain_events[event->type] != NULL) {
        add_plain(run, event);
    }
}

/** What a fork has copied from its source was sent as the source's. */
static void take_copied(struct span_run *run, const struct journal_entry *entry)
{
    if (entry->is_known && entry->event.type == JOURNAL_RUN_CLAIMED) {
        run->source_epoch = (uint64_t)entry->event.run_claimed.epoch;
    }
}

static void apply_entry(struct spans *spans, struct span_run *run,
                        const struct journal_entry *entry)
{
    run->seq = entry->event.seq;
    if (entry->event.seq > 1 && entry->event.seq <= run->copied_until) {
        take_copied(run, entry);
        return;
    }
    if (entry->is_known) {
        take_known(spans, run, entry);
    }
    run->last_ns = entry->event.time_ns;
}

struct spans *spans_new(const struct spans_options *options)
{
    struct spans *spans = memory_new_zero(1, sizeof(*spans));
    spans->options = *options;
    return spans;
}

void spans_free(struct spans *spans)
{
    if (spans == NULL) {
        return;
    }
    struct span_run *run;
    struct span_run *next;
    HASH_ITER(hh, spans->runs, run, next)
    {
        drop_run(spans, run);
    }
    free(spans);
}

static bool is_sampled(const struct spans *spans, const char *run_id)
{
    if (spans->options.environment->sampler == OTEL_SAMPLE_ALL) {
        return true;
    }
    char id[TRACE_ID_SIZE];
    trace_id(run_id, id);
    return otel_is_sampled(spans->options.environment, id);
}

/** What comes after a run has no span: it must not bring back a run that is over. */
static bool is_afterwards(const struct journal_entry *entry)
{
    return entry->is_known && (entry->event.type == JOURNAL_CONSOLIDATION_STARTED ||
                               entry->event.type == JOURNAL_CONSOLIDATION_FINISHED);
}

bool spans_add(struct spans *spans, const struct journal_entry *entry)
{
    if (!is_sampled(spans, entry->run_id)) {
        return true;
    }
    struct span_run *run = find_run(spans, entry->run_id);
    if (run != NULL && entry->event.seq <= run->seq) {
        return true;
    }
    if (run != NULL && entry->event.seq != run->seq + 1) {
        drop_run(spans, run); /* Events were skipped: what is remembered is wrong. */
        run = NULL;
    }
    if (is_afterwards(entry)) {
        if (run != NULL) {
            run->seq = entry->event.seq;
        }
        return true;
    }
    if (run == NULL && entry->event.seq != 1) {
        return false;
    }
    run = run == NULL ? new_run(spans, entry->run_id) : run;
    touch(spans, run);
    apply_entry(spans, run, entry);
    if (entry->is_known && entry->event.type == JOURNAL_RUN_FINISHED) {
        drop_run(spans, run);
    }
    return true;
}

void spans_replay(struct spans *spans, const struct journal_entry *entry)
{
    struct span_run *run = find_run(spans, entry->run_id);
    if (run != NULL && entry->event.seq <= run->seq) {
        return;
    }
    run = run == NULL ? new_run(spans, entry->run_id) : run;
    if (run->agent_id == NULL) {
        run->agent_id = memory_dup_string("?");
    }
    spans->is_replaying = true;
    apply_entry(spans, run, entry);
    spans->is_replaying = false;
}

void spans_settle(struct spans *spans, int64_t now_ns)
{
    for (struct span_run *run = spans->runs; run != NULL; run = run->hh.next) {
        struct iteration *iteration = &run->iteration;
        if (iteration->is_open && iteration->is_body_done && !run->verification.is_open &&
            now_ns - run->last_ns >= SPANS_SETTLE_NS) {
            emit_iteration(spans, run, iteration->last_ns);
        }
    }
}

void spans_park(struct spans *spans, const char *run_id, int64_t time_ns)
{
    struct span_run *run = find_run(spans, run_id);
    if (run == NULL || !run->execution.is_open) {
        return;
    }
    end_execution(spans, run, time_ns > run->last_ns ? time_ns : run->last_ns, "parked", false);
}

void spans_list_quiet(struct spans *spans, int64_t since_ns,
                      void (*fn)(void *context, const char *run_id), void *context)
{
    struct span_run *run;
    struct span_run *next;
    HASH_ITER(hh, spans->runs, run, next)
    {
        if (run->execution.is_open && run->last_ns <= since_ns) {
            fn(context, run->run_id);
        }
    }
}

size_t spans_run_count(const struct spans *spans)
{
    return HASH_COUNT(spans->runs);
}
