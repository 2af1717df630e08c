// SPDX-License-Identifier: Apache-2.0
/* The table of families, and what each event adds to which of them. */
#include "base/clock.h"
#include "base/memory.h"
#include "telemetry/metrics_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct metric_family metric_families[METRIC_COUNT] = {
    [METRIC_RUNS] = {"rondo_runs", METRIC_GAUGE, "{run}", "Runs of the store.", {"state"}, true},
    [METRIC_RUNS_STARTED] = {"rondo_runs_started_total", METRIC_COUNTER, "{run}",
        "Runs that were created.", {"agent"}, false},
    [METRIC_RUNS_RESUMED] = {"rondo_runs_resumed_total", METRIC_COUNTER, "{run}",
        "Executions that continued a run.", {"how"}, false},
    [METRIC_RUNS_FINISHED] = {"rondo_runs_finished_total", METRIC_COUNTER, "{run}",
        "Runs that got a final status.", {"status"}, false},
    [METRIC_ITERATIONS] = {"rondo_iterations_total", METRIC_COUNTER, "{iteration}",
        "Iterations whose body ended.", {"outcome"}, false},
    [METRIC_ITERATION_SECONDS] = {"rondo_iteration_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of iterations' bodies.", {NULL}, false},
    [METRIC_MODEL_REQUESTS] = {"rondo_model_requests_total", METRIC_COUNTER, "{request}",
        "Completed model requests.", {"model", "outcome"}, false},
    [METRIC_MODEL_RETRIES] = {"rondo_model_retries_total", METRIC_COUNTER, "{request}",
        "Requests to models that were sent again.", {NULL}, false},
    [METRIC_MODEL_SECONDS] = {"rondo_model_request_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of model requests.", {"model"}, false},
    [METRIC_TOKENS] = {"rondo_model_tokens_total", METRIC_COUNTER, "{token}",
        "Tokens by kind: input (cached ones included), output (reasoning included), cached, "
        "reasoning.", {"model", "kind"}, false},
    [METRIC_COST] = {"rondo_model_cost_total", METRIC_COUNTER, "1",
        "Cost of model requests, in the currency of the prices.", {"model"}, false},
    [METRIC_TOOL_CALLS] = {"rondo_tool_calls_total", METRIC_COUNTER, "{call}",
        "Finished tool calls.", {"tool", "outcome"}, false},
    [METRIC_TOOL_SECONDS] = {"rondo_tool_call_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of tool calls.", {"tool"}, false},
    [METRIC_CONDITIONS] = {"rondo_conditions_evaluated_total", METRIC_COUNTER, "{condition}",
        "Exit conditions that were evaluated.", {"status", "reason"}, false},
    [METRIC_CONDITION_SECONDS] = {"rondo_condition_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of evaluations.", {NULL}, false},
    [METRIC_CHECKPOINTS] = {"rondo_checkpoints_saved_total", METRIC_COUNTER, "{checkpoint}",
        "Checkpoints that were committed.", {"how"}, false},
    [METRIC_CHECKPOINT_BYTES] = {"rondo_checkpoint_bytes_total", METRIC_COUNTER, "By",
        "Size of the agents' states in them.", {NULL}, false},
    [METRIC_CHECKPOINT_SECONDS] = {"rondo_checkpoint_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of making checkpoints, without the commit.", {NULL}, false},
    [METRIC_POLICY_DECISIONS] = {"rondo_policy_denials_total", METRIC_COUNTER, "{decision}",
        "Steps that policies or limits denied, or that need a person's approval.",
        {"action", "verdict"}, false},
    [METRIC_POLICY_CHANGES] = {"rondo_policy_changes_total", METRIC_COUNTER, "{change}",
        "Changes of policies that runs detected: changed or refused.", {"result"}, false},
    [METRIC_WARNINGS] = {"rondo_limit_warnings_total", METRIC_COUNTER, "{warning}",
        "Warnings that a run is near a limit.", {"limit"}, false},
    [METRIC_STORAGE_FAILURES] = {"rondo_storage_failures_total", METRIC_COUNTER, "{failure}",
        "Failed attempts to save, in runs that continued.", {NULL}, false},
    [METRIC_COMMITS] = {"rondo_commit_transactions_total", METRIC_COUNTER, "{transaction}",
        "Transactions of this process.", {NULL}, true},
    [METRIC_COMMIT_BATCHES] = {"rondo_commit_batches_total", METRIC_COUNTER, "{batch}",
        "Batches in them.", {NULL}, true},
    [METRIC_COMMIT_EVENTS] = {"rondo_commit_events_total", METRIC_COUNTER, "{event}",
        "Events in them.", {NULL}, true},
    [METRIC_COMMIT_SECONDS] = {"rondo_commit_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of commits.", {NULL}, false},
    [METRIC_QUEUE] = {"rondo_queue_length", METRIC_GAUGE, "1",
        "Queued items: runs (admission), triggers (events that wait to become runs), commits, deliveries, "
        "events (monitor).",
        {"queue"}, true},
    [METRIC_TRIGGER_EVENTS] = {"rondo_trigger_events_total", METRIC_COUNTER, "{event}",
        "What became of the events of a daemon's triggers: accepted, duplicate, coalesced, refused, "
        "dropped, late; full: not accepted yet, and submitted again.", {"outcome"}, true},
    [METRIC_HTTP_REQUESTS] = {"rondo_http_requests_total", METRIC_COUNTER, "{request}",
        "Requests to the API.", {"route", "status"}, false},
    [METRIC_HTTP_SECONDS] = {"rondo_http_request_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of requests to the API, without streams.", {NULL}, false},
    [METRIC_STREAMS] = {"rondo_http_streams", METRIC_GAUGE, "{stream}",
        "Open event streams.", {NULL}, true},
    [METRIC_DELIVERIES] = {"rondo_deliveries_total", METRIC_COUNTER, "{delivery}",
        "Attempts to deliver warnings: ok or failed; dead: dead-lettered.", {"outcome"}, true},
    [METRIC_SPANS_SENT] = {"rondo_telemetry_spans_sent_total", METRIC_COUNTER, "{span}",
        "Spans accepted by a collector.", {NULL}, true},
    [METRIC_SPANS_REJECTED] = {"rondo_telemetry_spans_rejected_total", METRIC_COUNTER, "{span}",
        "Spans rejected by a collector.", {NULL}, true},
    [METRIC_TELEMETRY_DROPPED] = {"rondo_telemetry_dropped_total", METRIC_COUNTER, "1",
        "Spans dropped, and events skipped.", {NULL}, true},
    [METRIC_TELEMETRY_BEHIND] = {"rondo_telemetry_behind", METRIC_GAUGE, "{event}",
        "Events that telemetry has not processed yet.", {NULL}, true},
    [METRIC_STORE_BYTES] = {"rondo_store_size_bytes", METRIC_GAUGE, "By",
        "Size of the store on disk.", {NULL}, true},
    [METRIC_STORE_CONNECTIONS] = {"rondo_store_connections", METRIC_GAUGE, "{connection}",
        "Connections of this process to the database: open; used: of these, at work.", {"state"}, true},
    [METRIC_STORE_WAITS] = {"rondo_store_connection_waits_total", METRIC_COUNTER, "{wait}",
        "Times that a thread waited for a connection to the database, because all were at work.", {NULL}, true},
    [METRIC_STORE_WAIT_SECONDS] = {"rondo_store_connection_wait_seconds_total", METRIC_COUNTER, "s",
        "Time of these waits.", {NULL}, true},
    [METRIC_STORE_STANDBYS] = {"rondo_store_standbys", METRIC_GAUGE, "{standby}",
        "Standbys of the database that are connected. Needs a role with pg_monitor, as the next two.", {NULL}, true},
    [METRIC_STORE_LAG_SECONDS] = {"rondo_store_replication_lag_seconds", METRIC_GAUGE, "s",
        "Time from a commit until the slowest standby shows it; 0 when it has all.", {NULL}, true},
    [METRIC_STORE_LAG_BYTES] = {"rondo_store_replication_lag_bytes", METRIC_GAUGE, "By",
        "Log that the slowest standby does not show yet.", {NULL}, true},
    [METRIC_TASKS] = {"rondo_tasks_total", METRIC_COUNTER, "{task}",
        "Tasks of PRDs by what came of them in a run: done, failed (no attempts are left), blocked (one that it depends on has failed).",
        {"outcome"}, false},
    [METRIC_TASK_ATTEMPTS] = {"rondo_task_attempts_total", METRIC_COUNTER, "{attempt}",
        "Attempts at tasks: committed, already_done, no_change, refused, checks_failed, hook_failed, worker_failed, denied, conflict (it did not merge), error, interrupted.",
        {"outcome"}, false},
    [METRIC_TASK_SECONDS] = {"rondo_task_attempt_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time of attempts at tasks, checks included.", {NULL}, false},
    [METRIC_TASK_CHECKS] = {"rondo_task_checks_total", METRIC_COUNTER, "{check}",
        "Checks of attempts by stage: before (nobody had worked yet), after, hook, merged (together with other tasks).",
        {"stage", "status"}, false},
    [METRIC_EVALUATIONS] = {"relaytrace_action_evaluations_total", METRIC_COUNTER, "{action}",
        "Actions that agents outside of Rondo asked the policies about: allow, handoff, deny, error; not actionable: of no impact and risk, and reversible.",
        {"agent", "outcome", "actionable"}, false},
    [METRIC_HANDOFF_REQUESTS] = {"relaytrace_handoff_requests_total", METRIC_COUNTER, "{request}",
        "Requests to people that were accepted; repetitions and answers to questions are not counted.",
        {"agent", "trigger_reason", "risk_level", "priority"}, false},
    [METRIC_HANDOFF_DECISIONS] = {"relaytrace_handoff_decisions_total", METRIC_COUNTER, "{decision}",
        "Decisions: approved, rejected, rerouted, needs_info.",
        {"agent", "status", "trigger_reason", "operator_role"}, false},
    [METRIC_HANDOFF_OUTCOMES] = {"relaytrace_handoff_outcomes_total", METRIC_COUNTER, "{request}",
        "Requests that ended, once each.",
        {"outcome"}, false},
    [METRIC_HANDOFF_DECISION_SECONDS] = {"relaytrace_handoff_decision_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time from a request to its end.",
        {NULL}, false},
    [METRIC_HANDOFF_OPERATOR_SECONDS] = {"relaytrace_handoff_operator_duration_seconds", METRIC_HISTOGRAM, "s",
        "The same without the time in which the agent had to answer questions.",
        {NULL}, false},
    [METRIC_HANDOFF_FIRST_SECONDS] = {"relaytrace_handoff_first_action_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time from a request to the first claim or decision.",
        {NULL}, false},
    [METRIC_HANDOFF_RESUME_SECONDS] = {"relaytrace_handoff_resume_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time from an approval to the result of the action.",
        {NULL}, false},
    [METRIC_HANDOFF_REVIEW_SECONDS] = {"relaytrace_handoff_review_duration_seconds", METRIC_HISTOGRAM, "s",
        "Time from a claim to the decision: very short ones were hardly read.",
        {NULL}, false},
    [METRIC_HANDOFF_ESCALATIONS] = {"relaytrace_handoff_escalations_total", METRIC_COUNTER, "{escalation}",
        "Escalations; cause: time or person.",
        {"level", "cause"}, false},
    [METRIC_HANDOFF_PENDING] = {"relaytrace_handoff_pending", METRIC_GAUGE, "{request}",
        "Requests that have not ended.",
        {"state", "queue", "priority"}, true},
    [METRIC_HANDOFF_STALE] = {"relaytrace_handoff_stale", METRIC_GAUGE, "{request}",
        "Of these, past due or with less than a quarter of their time left.",
        {"queue"}, true},
    [METRIC_HANDOFF_OLDEST] = {"relaytrace_handoff_oldest_age_seconds", METRIC_GAUGE, "s",
        "Age of the oldest request that has not ended.",
        {"queue"}, true},
    [METRIC_LANE_STATES] = {"relaytrace_lane_states", METRIC_GAUGE, "{lane}",
        "Lanes that wait for people: paused, or evidence while the agent answers questions.",
        {"state"}, true},
    [METRIC_LANE_OVERFLOWS] = {"relaytrace_lane_overflows_total", METRIC_COUNTER, "{request}",
        "Requests for which there was no room, by what was done: block, reject_new, shed_oldest_low; coalesce: joined one that waits.",
        {"policy"}, false},
    [METRIC_HANDOFF_DELIVERIES] = {"relaytrace_delivery_attempts_total", METRIC_COUNTER, "{attempt}",
        "Messages to agents: given (repetitions included), acknowledged, refused; held: another process has the outbox.",
        {"channel", "result"}, false},
    [METRIC_HANDOFF_DUPLICATES] = {"relaytrace_delivery_duplicates_total", METRIC_COUNTER, "{message}",
        "Messages of agents that were recognised as sent before: request, application, receipt.",
        {"kind"}, false},
    [METRIC_VERIFY_FAILURES] = {"relaytrace_verify_failures_total", METRIC_COUNTER, "{message}",
        "Messages that were not believed: signature, stale, replay, correlation, digest, scope.",
        {"reason"}, false},
    [METRIC_DLQ_MESSAGES] = {"relaytrace_dlq_messages", METRIC_GAUGE, "{message}",
        "Dead letters: intake, delivery.",
        {"queue"}, true},
    [METRIC_REWORK] = {"relaytrace_rework_submissions_total", METRIC_COUNTER, "{request}",
        "Answers of agents to questions of people.",
        {"agent", "trigger_reason"}, false},
    [METRIC_FINDINGS] = {"relaytrace_findings_total", METRIC_COUNTER, "{finding}",
        "What was found after incidents: missed_handoff, unneeded_handoff.",
        {"class"}, false},
    [METRIC_AUDIT_ENTRIES] = {"relaytrace_audit_entries_total", METRIC_COUNTER, "{entry}",
        "Entries of the audit chain.",
        {"kind"}, false},
    [METRIC_AUDIT_VALID] = {"relaytrace_audit_chain_valid", METRIC_GAUGE, "1",
        "1 while the audit chain is in order; 0 when it is not signed because it was changed.",
        {NULL}, true},
};

const char *const metric_otel_names[METRIC_COUNT] = {
    [METRIC_EVALUATIONS] = "relaytrace.action.evaluations",
    [METRIC_HANDOFF_REQUESTS] = "relaytrace.handoff.requests",
    [METRIC_HANDOFF_DECISIONS] = "relaytrace.handoff.decisions",
    [METRIC_HANDOFF_OUTCOMES] = "relaytrace.handoff.outcomes",
    [METRIC_HANDOFF_DECISION_SECONDS] = "relaytrace.handoff.decision.duration",
    [METRIC_HANDOFF_OPERATOR_SECONDS] = "relaytrace.handoff.operator.duration",
    [METRIC_HANDOFF_FIRST_SECONDS] = "relaytrace.handoff.first_action.duration",
    [METRIC_HANDOFF_RESUME_SECONDS] = "relaytrace.handoff.resume.duration",
    [METRIC_HANDOFF_REVIEW_SECONDS] = "relaytrace.handoff.review.duration",
    [METRIC_HANDOFF_ESCALATIONS] = "relaytrace.handoff.escalations",
    [METRIC_HANDOFF_PENDING] = "relaytrace.handoff.pending",
    [METRIC_HANDOFF_STALE] = "relaytrace.handoff.stale",
    [METRIC_HANDOFF_OLDEST] = "relaytrace.handoff.oldest.age",
    [METRIC_LANE_STATES] = "relaytrace.lane.states",
    [METRIC_LANE_OVERFLOWS] = "relaytrace.lane.overflows",
    [METRIC_HANDOFF_DELIVERIES] = "relaytrace.delivery.attempts",
    [METRIC_HANDOFF_DUPLICATES] = "relaytrace.delivery.duplicates",
    [METRIC_VERIFY_FAILURES] = "relaytrace.verify.failures",
    [METRIC_DLQ_MESSAGES] = "relaytrace.dlq.messages",
    [METRIC_REWORK] = "relaytrace.rework.submissions",
    [METRIC_FINDINGS] = "relaytrace.findings",
    [METRIC_AUDIT_ENTRIES] = "relaytrace.audit.entries",
    [METRIC_AUDIT_VALID] = "relaytrace.audit.chain.valid",
};
/* clang-format on */

const double *metric_bounds_of(const struct metric_family *family, size_t *ret_count)
{
    static const double of_programs[] = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1,
                                         2.5,   5,     10,   30,   60,  300, 1800};
    static const double of_people[] = {1, 5, 15, 30, 60, 300, 900, 3600, 14400, 86400, 604800};
    _Static_assert(sizeof(of_programs) / sizeof(of_programs[0]) == METRIC_BOUNDS, "the most");
    bool is_of_people = strncmp(family->name, "relaytrace_", strlen("relaytrace_")) == 0;
    *ret_count = is_of_people ? sizeof(of_people) / sizeof(of_people[0]) : METRIC_BOUNDS;
    return is_of_people ? of_people : of_programs;
}

size_t metric_label_count(const struct metric_family *family)
{
    size_t count = 0;
    while (count < METRIC_MAX_LABELS && family->labels[count] != NULL) {
        count++;
    }
    return count;
}

struct metrics *metrics_new(void)
{
    struct metrics *metrics = memory_new_zero(1, sizeof(*metrics));
    metrics->lock = memory_new(sizeof(pthread_mutex_t));
    pthread_mutex_init(metrics->lock, NULL);
    metrics->started_ns = clock_now(clock_system());
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        for (size_t i = 0; i < metrics->lists[id].count; i++) {
            for (size_t label = 0; label < METRIC_MAX_LABELS; label++) {
                free(metrics->lists[id].series[i].labels[label]);
            }
        }
        free(metrics->lists[id].series);
    }
    while (metrics->runs != NULL) {
        struct metric_run *run = metrics->runs;
        HASH_DEL(metrics->runs, run);
        free(run);
    }
    pthread_mutex_destroy(metrics->lock);
    free(metrics->lock);
    free(metrics);
}

/* ---- Series --------------------------------------------------------------------------------- */

/** Bytes of a label that are kept: whole characters. */
static size_t label_len(const char *label)
{
    size_t len = strnlen(label, METRICS_LABEL_BYTES + 1);
    if (len <= METRICS_LABEL_BYTES) {
        return len;
    }
    len = METRICS_LABEL_BYTES;
    while (len > 0 && ((unsigned char)label[len] & 0xc0) == 0x80) {
        len--;
    }
    return len;
}

static bool is_series(const struct metric_series *series, const char *const *labels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *label = labels[i] == NULL ? "" : labels[i];
        size_t len = label_len(label);
        if (strncmp(series->labels[i], label, len) != 0 || series->labels[i][len] != '\0') {
            return false;
        }
    }
    return true;
}

static struct metric_series *find_series(struct metric_list *list, const char *const *labels,
                                         size_t count)
{
    for (size_t i = 0; i < list->count; i++) {
        if (is_series(&list->series[i], labels, count)) {
            return &list->series[i];
        }
    }
    return NULL;
}

/** The series with these labels; of too many, the one that is called "other" throughout. */
static struct metric_series *series_of(struct metric_list *list, const char *const *labels,
                                       size_t count)
{
    static const char *const other[METRIC_MAX_LABELS] = {"other", "other", "other", "other"};
    struct metric_series *series = find_series(list, labels, count);
    if (series == NULL && list->count >= METRICS_MAX_SERIES) {
        labels = other;
        series = find_series(list, labels, count);
    }
    if (series != NULL) {
        return series;
    }
    list->series = memory_resize(list->series, list->count + 1, sizeof(list->series[0]));
    series = &list->series[list->count++];
    *series = (struct metric_series){0};
    for (size_t i = 0; i < count; i++) {
        const char *label = labels[i] == NULL ? "" : labels[i];
        series->labels[i] = memory_dup_bytes(label, label_len(label));
    }
    return series;
}

static void observe(const struct metric_family *family, struct metric_series *series, double number)
{
    size_t bucket = 0;
    size_t count = 0;
    const double *bounds = metric_bounds_of(family, &count);
    while (bucket < count && number > bounds[bucket]) {
        bucket++;
    }
    series->buckets[bucket]++;
    series->count++;
    series->sum += number;
}

static void add(struct metrics *metrics, enum metric_id id, const char *const *labels,
                double number)
{
    const struct metric_family *family = &metric_families[id];
    pthread_mutex_lock(metrics->lock);
    struct metric_series *series =
        series_of(&metrics->lists[id], labels, metric_label_count(family));
    if (family->kind == METRIC_HISTOGRAM) {
        observe(family, series, number < 0 ? 0 : number);
    } else if (number > 0) {
        series->sum += number;
    }
    pthread_mutex_unlock(metrics->lock);
}

void metrics_add(struct metrics *metrics, const char *name, const char *const *labels,
                 double number)
{
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        if (strcmp(metric_families[id].name, name) == 0) {
            assert(!metric_families[id].is_given);
            add(metrics, (enum metric_id)id, labels, number);
            return;
        }
    }
    assert(false && "a row of the table of metrics");
}

/* ---- Counting ------------------------------------------------------------------------------- */

static void add_one(struct metrics *metrics, enum metric_id id, const char *first,
                    const char *second)
{
    const char *labels[METRIC_MAX_LABELS] = {first, second, NULL};
    add(metrics, id, labels, 1);
}

static void add_seconds(struct metrics *metrics, enum metric_id id, const char *label, int64_t ns)
{
    const char *labels[METRIC_MAX_LABELS] = {label, NULL, NULL};
    add(metrics, id, labels, (double)ns / 1e9);
}

static void add_tokens(struct metrics *metrics, const char *model, const char *kind, int64_t tokens)
{
    const char *labels[METRIC_MAX_LABELS] = {model, kind, NULL};
    if (tokens > 0) {
        add(metrics, METRIC_TOKENS, labels, (double)tokens);
    }
}

static void count_reply(struct metrics *metrics, const struct event_model_replied *event,
                        const char *model)
{
    const char *labels[METRIC_MAX_LABELS] = {model, NULL, NULL};
    add_one(metrics, METRIC_MODEL_REQUESTS, model, event->outcome);
    add_seconds(metrics, METRIC_MODEL_SECONDS, model, event->duration_ns);
    add_tokens(metrics, model, "input", event->tokens_in);
    add_tokens(metrics, model, "output", event->tokens_out);
    add_tokens(metrics, model, "cached", event->tokens_cached);
    add_tokens(metrics, model, "reasoning", event->tokens_reasoning);
    if (event->cost_micro > 0) {
        add(metrics, METRIC_COST, labels, (double)event->cost_micro / 1e6);
    }
}

static void count_embedded(struct metrics *metrics, const struct event_model_embedded *event)
{
    const char *labels[METRIC_MAX_LABELS] = {event->model, NULL, NULL};
    add_tokens(metrics, event->model, "input", event->tokens);
    if (event->cost_micro > 0) {
        add(metrics, METRIC_COST, labels, (double)event->cost_micro / 1e6);
    }
}

static void count_compacted(struct metrics *metrics, const struct event_history_compacted *event)
{
    const char *labels[METRIC_MAX_LABELS] = {event->model, NULL, NULL};
    add_tokens(metrics, event->model, "input", event->tokens_in);
    add_tokens(metrics, event->model, "output", event->tokens_out);
    if (event->cost_micro > 0) {
        add(metrics, METRIC_COST, labels, (double)event->cost_micro / 1e6);
    }
}

static void count_consolidation(struct metrics *metrics,
                                const struct event_consolidation_finished *event)
{
    const char *labels[METRIC_MAX_LABELS] = {event->model, NULL, NULL};
    add_tokens(metrics, event->model, "input", event->tokens_in);
    add_tokens(metrics, event->model, "output", event->tokens_out);
    if (event->cost_micro > 0) {
        add(metrics, METRIC_COST, labels, (double)event->cost_micro / 1e6);
    }
}

/* ---- What is remembered of runs ---------------------------------------------------------------
 */

static struct metric_run *find_run(const struct metrics *metrics, const char *run_id)
{
    struct metric_run *run = NULL;
    HASH_FIND_STR(metrics->runs, run_id, run);
    return run;
}

static void forget_run(struct metrics *metrics, struct metric_run *run)
{
    if (run != NULL) {
        HASH_DEL(metrics->runs, run);
        free(run);
    }
}

static struct metric_run *remember_run(struct metrics *metrics, const char *run_id)
{
    struct metric_run *run = find_run(metrics, run_id);
    if (run != NULL) {
        return run;
    }
    if (HASH_COUNT(metrics->runs) >= METRICS_MAX_RUNS) {
        forget_run(metrics, metrics->runs); /* the oldest */
    }
    run = memory_new_zero(1, sizeof(*run));
    snprintf(run->run_id, sizeof(run->run_id), "%s", run_id);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
    HASH_ADD_STR(metrics->runs, run_id, run);
    return run;
}

static void remember_model(struct metrics *metrics, const struct journal_entry *entry)
{
    struct metric_run *run = remember_run(metrics, entry->run_id);
    const char *model = entry->event.model_requested.model;
    snprintf(run->model, sizeof(run->model), "%s", model == NULL ? "" : model);
}

static const char *model_of(const struct metrics *metrics, const char *run_id)
{
    const struct metric_run *run = find_run(metrics, run_id);
    return run == NULL ? "unknown" : run->model;
}

/** A fork begins with a copy of events that were counted once. */
static void remember_fork(struct metrics *metrics, const struct journal_entry *entry)
{
    int64_t forked_seq = entry->event.run_created.forked_seq;
    if (forked_seq > 0) {
        remember_run(metrics, entry->run_id)->copied_until = (uint64_t)forked_seq;
    }
}

static bool is_copied(const struct metrics *metrics, const struct journal_entry *entry)
{
    const struct metric_run *run = find_run(metrics, entry->run_id);
    return run != NULL && entry->event.seq > 1 && entry->event.seq <= run->copied_until;
}

/* ---- Events, all of them ----------------------------------------------------------------------
 */

static void count_condition(struct metrics *metrics, const struct event_condition_evaluated *event)
{
    add_one(metrics, METRIC_CONDITIONS, event->status, event->reason);
    add_seconds(metrics, METRIC_CONDITION_SECONDS, NULL, event->duration_ns);
}

static void count_tool(struct metrics *metrics, const struct event_tool_finished *event)
{
    add_one(metrics, METRIC_TOOL_CALLS, event->tool, event->outcome);
    add_seconds(metrics, METRIC_TOOL_SECONDS, event->tool, event->duration_ns);
}

static void count_checkpoint(struct metrics *metrics, const struct event_checkpoint_saved *event)
{
    add_one(metrics, METRIC_CHECKPOINTS, event->how, NULL);
    add(metrics, METRIC_CHECKPOINT_BYTES, NULL, (double)event->bytes);
    add_seconds(metrics, METRIC_CHECKPOINT_SECONDS, NULL, event->duration_ns);
}

static void count_denied(struct metrics *metrics, const char *action, const char *verdict)
{
    add_one(metrics, METRIC_POLICY_DECISIONS, action == NULL ? "iterate" : action,
            verdict == NULL ? "deny" : verdict);
}

static void count_run_end(struct metrics *metrics, const struct journal_entry *entry)
{
    add_one(metrics, METRIC_RUNS_FINISHED, entry->event.run_finished.status, NULL);
    forget_run(metrics, find_run(metrics, entry->run_id));
}

static void count_iteration(struct metrics *metrics, const struct event_iteration_finished *event)
{
    add_one(metrics, METRIC_ITERATIONS, event->outcome, NULL);
    add_seconds(metrics, METRIC_ITERATION_SECONDS, NULL, event->duration_ns);
}

static void count_task_end(struct metrics *metrics, const struct event_task_ended *event)
{
    bool is_done = event->outcome != NULL && (strcmp(event->outcome, "committed") == 0 ||
                                              strcmp(event->outcome, "already_done") == 0);
    add_one(metrics, METRIC_TASK_ATTEMPTS, event->outcome, NULL);
    add_seconds(metrics, METRIC_TASK_SECONDS, NULL, event->duration_ns);
    if (is_done) {
        add_one(metrics, METRIC_TASKS, "done", NULL);
    }
}

/* long: one case for each type of event that counts */
static void count_known(struct metrics *metrics, const struct journal_entry *entry)
{
    const struct journal_event *event = &entry->event;
    if (event->type == JOURNAL_RUN_CREATED) {
        remember_fork(metrics, entry);
        add_one(metrics, METRIC_RUNS_STARTED, event->run_created.agent_id, NULL);
    } else if (event->type == JOURNAL_RUN_CLAIMED) {
        const char *how = event->run_claimed.how;
        if (how != NULL && strcmp(how, "start") != 0) {
            add_one(metrics, METRIC_RUNS_RESUMED, how, NULL);
        }
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        count_run_end(metrics, entry);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        count_iteration(metrics, &event->iteration_finished);
    } else if (event->type == JOURNAL_CONDITION_EVALUATED) {
        count_condition(metrics, &event->condition_evaluated);
    } else if (event->type == JOURNAL_MODEL_REQUESTED) {
        remember_model(metrics, entry);
    } else if (event->type == JOURNAL_MODEL_RETRYING) {
        add_one(metrics, METRIC_MODEL_RETRIES, NULL, NULL);
    } else if (event->type == JOURNAL_MODEL_REPLIED) {
        count_reply(metrics, &event->model_replied, model_of(metrics, entry->run_id));
    } else if (event->type == JOURNAL_MODEL_EMBEDDED) {
        count_embedded(metrics, &event->model_embedded);
    } else if (event->type == JOURNAL_HISTORY_COMPACTED) {
        count_compacted(metrics, &event->history_compacted);
    } else if (event->type == JOURNAL_CONSOLIDATION_FINISHED) {
        count_consolidation(metrics, &event->consolidation_finished);
    } else if (event->type == JOURNAL_TOOL_FINISHED) {
        count_tool(metrics, &event->tool_finished);
    } else if (event->type == JOURNAL_CHECKPOINT_SAVED) {
        count_checkpoint(metrics, &event->checkpoint_saved);
    } else if (event->type == JOURNAL_GATE_DENIED) {
        count_denied(metrics, event->gate_denied.action, event->gate_denied.verdict);
    } else if (event->type == JOURNAL_STEP_DENIED) {
        count_denied(metrics, event->step_denied.action, event->step_denied.verdict);
    } else if (event->type == JOURNAL_POLICY_CHANGED) {
        add_one(metrics, METRIC_POLICY_CHANGES, "changed", NULL);
    } else if (event->type == JOURNAL_POLICY_REFUSED) {
        add_one(metrics, METRIC_POLICY_CHANGES, "refused", NULL);
    } else if (event->type == JOURNAL_LIMIT_WARNING) {
        add_one(metrics, METRIC_WARNINGS, event->limit_warning.limit_name, NULL);
    } else if (event->type == JOURNAL_TASK_CHECKED) {
        add_one(metrics, METRIC_TASK_CHECKS, event->task_checked.stage, event->task_checked.status);
    } else if (event->type == JOURNAL_TASK_ENDED) {
        count_task_end(metrics, &event->task_ended);
    } else if (event->type == JOURNAL_TASK_FAILED) {
        add_one(metrics, METRIC_TASKS, "failed", NULL);
    } else if (event->type == JOURNAL_TASK_BLOCKED) {
        add_one(metrics, METRIC_TASKS, "blocked", NULL);
    } else if (event->type == JOURNAL_STORAGE_DEGRADED) {
        add(metrics, METRIC_STORAGE_FAILURES, NULL, (double)event->storage_degraded.failures);
    }
}

void metrics_count(struct metrics *metrics, const struct journal_entry *entry)
{
    if (entry->is_known && !is_copied(metrics, entry)) {
        count_known(metrics, entry);
    }
}
