// SPDX-License-Identifier: Apache-2.0
/*
 * What was counted, and the gauges of all parts as they are now: for /metrics and for exporters.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "loop/runtime.h"
#include "server/api/handlers.h"
#include "source/intake/intake.h"
#include "store/place.h"
#include "store/postgres/postgres.h"
#include "telemetry/handoff_meter.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct server_gauges *gauges, const char *name, const char *label,
                const char *value, double number)
{
    if (gauges->count == SERVER_GAUGES) {
        return;
    }
    char *labels = gauges->labels[gauges->count];
    if (label != NULL) {
        snprintf(labels, SERVER_LABEL_SIZE, "%s=\"%s\"", label, value);
    }
    gauges->rows[gauges->count++] =
        (struct metrics_gauge){name, label == NULL ? NULL : labels, number};
}

static void add_runs(struct server *server, const struct orchestrator_state *state,
                     struct server_gauges *gauges)
{
    struct store_run_counts counts = {0};
    struct store_run_query query = {0};
    struct store *store = runtime_store(server->options.runtime);
    if (store->ops->count_runs(store, &query, &counts, NULL) < 0) {
        return;
    }
    for (int i = 0; i < RONDO_STATUS_COUNT; i++) {
        add(gauges, "rondo_runs", "state", rondo_status_name((enum rondo_status)i),
            (double)counts.by_status[i]);
    }
    add(gauges, "rondo_runs", "state", "paused", (double)counts.paused);
    add(gauges, "rondo_runs", "state", "queued", (double)state->queued);
}

static void add_store(struct server *server, struct server_gauges *gauges)
{
    struct stat status;
    struct writer_counters counters = writer_counters(runtime_writer(server->options.runtime));
    const char *path = server->store_path;
    add(gauges, "rondo_commit_transactions_total", NULL, NULL, (double)counters.transactions);
    add(gauges, "rondo_commit_batches_total", NULL, NULL, (double)counters.batches);
    add(gauges, "rondo_commit_events_total", NULL, NULL, (double)counters.events);
    add(gauges, "rondo_queue_length", "queue", "commits", (double)counters.waiting);
    if (path != NULL && !store_is_in_database(path) && stat(path, &status) == 0) {
        add(gauges, "rondo_store_size_bytes", NULL, NULL, (double)status.st_size);
    }
}

/** What a store in a database has, and how far its copies are, which costs a round trip. */
static void add_database(struct server *server, struct server_gauges *gauges)
{
    struct store *store = runtime_store(server->options.runtime);
    struct store_postgres_replication replication = {0};
    if (server->store_path == NULL || !store_is_in_database(server->store_path)) {
        return;
    }
    struct store_postgres_pool pool = store_postgres_pool(store);
    add(gauges, "rondo_store_connections", "state", "open", (double)pool.open);
    add(gauges, "rondo_store_connections", "state", "used", (double)pool.used);
    add(gauges, "rondo_store_connection_waits_total", NULL, NULL, (double)pool.waits);
    add(gauges, "rondo_store_connection_wait_seconds_total", NULL, NULL,
        (double)pool.waiting_ns / (double)NS_PER_S);
    if (store_postgres_replication(store, &replication, NULL) == 0 && replication.is_known) {
        add(gauges, "rondo_store_standbys", NULL, NULL, (double)replication.standbys);
        add(gauges, "rondo_store_replication_lag_seconds", NULL, NULL,
            (double)replication.lag_ns / (double)NS_PER_S);
        add(gauges, "rondo_store_replication_lag_bytes", NULL, NULL, (double)replication.lag_bytes);
    }
}

static void add_monitor(struct server *server, struct server_gauges *gauges)
{
    uint64_t position = 0;
    struct store *store = runtime_store(server->options.runtime);
    if (server->options.monitor == NULL) {
        return;
    }
    struct monitor_state state = monitor_state(server->options.monitor);
    bool is_known = store->ops->last_position(store, &position, NULL) == 0;
    add(gauges, "rondo_deliveries_total", "outcome", "ok", (double)state.deliveries_ok);
    add(gauges, "rondo_deliveries_total", "outcome", "failed", (double)state.deliveries_failed);
    add(gauges, "rondo_deliveries_total", "outcome", "dead", (double)state.deliveries_dead);
    add(gauges, "rondo_queue_length", "queue", "deliveries", (double)state.pending);
    if (is_known && position >= state.position) {
        add(gauges, "rondo_queue_length", "queue", "events", (double)(position - state.position));
    }
}

static void add_events(struct server *server, struct server_gauges *gauges)
{
    static const char name[] = "rondo_trigger_events_total";
    static const enum intake_outcome outcomes[] = {INTAKE_ACCEPTED, INTAKE_DUPLICATE, INTAKE_FULL};
    static const enum refusal_kind kinds[] = {REFUSAL_COALESCED, REFUSAL_REFUSED, REFUSAL_DROPPED,
                                              REFUSAL_LATE};
    if (server->options.intake == NULL) {
        return;
    }
    struct intake_state state = intake_state(server->options.intake);
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        add(gauges, name, "outcome", intake_outcome_name(outcomes[i]),
            (double)state.outcomes[outcomes[i]]);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        add(gauges, name, "outcome", refusal_kind_name(kinds[i]), (double)state.refusals[kinds[i]]);
    }
    add(gauges, "rondo_queue_length", "queue", "triggers", (double)state.waiting);
}

static void add_given(void *context, const char *name, const char *labels, double value)
{
    struct server_gauges *gauges = context;
    if (gauges->count < SERVER_GAUGES) {
        char *kept = gauges->labels[gauges->count];
        snprintf(kept, SERVER_LABEL_SIZE, "%s", labels);
        gauges->rows[gauges->count++] = (struct metrics_gauge){name, kept, value};
    }
}

static void add_handoffs(struct server *server, const struct orchestrator_state *state,
                         struct server_gauges *gauges)
{
    add(gauges, "relaytrace_audit_chain_valid", NULL, NULL, state->is_chain_broken ? 0 : 1);
    if (server->handoff_meter != NULL) {
        handoff_meter_follow(server->handoff_meter);
        handoff_meter_gauges(server->handoff_meter, clock_now(clock_system()), add_given, gauges);
    }
}

static void add_telemetry(struct server *server, struct server_gauges *gauges)
{
    if (server->options.telemetry == NULL) {
        return;
    }
    struct telemetry_state state = telemetry_state(server->options.telemetry);
    add(gauges, "rondo_telemetry_spans_sent_total", NULL, NULL, (double)state.sent);
    add(gauges, "rondo_telemetry_spans_rejected_total", NULL, NULL, (double)state.rejected);
    add(gauges, "rondo_telemetry_dropped_total", NULL, NULL, (double)state.dropped);
    add(gauges, "rondo_telemetry_behind", NULL, NULL, (double)state.behind);
}

/** Look at all parts. Any thread. */
static void server_gauges_take(struct server *server, struct server_gauges *ret_gauges)
{
    struct orchestrator_state state = orchestrator_state(server->options.orchestrator);
    ret_gauges->count = 0;
    add_runs(server, &state, ret_gauges);
    add(ret_gauges, "rondo_queue_length", "queue", "runs", (double)state.queued);
    add_store(server, ret_gauges);
    add_database(server, ret_gauges);
    add_monitor(server, ret_gauges);
    add_events(server, ret_gauges);
    add_telemetry(server, ret_gauges);
    add_handoffs(server, &state, ret_gauges);
    add(ret_gauges, "rondo_http_streams", NULL, NULL, (double)hub_state(server->hub).streams);
}

size_t server_gauges(struct server *server, struct metrics_gauge *ret_gauges, size_t size)
{
    struct server_gauges *gauges = &server->exported;
    server_gauges_take(server, gauges);
    size_t count = gauges->count < size ? gauges->count : size;
    memcpy(ret_gauges, gauges->rows, count * sizeof(*ret_gauges));
    return count;
}

void handle_metrics(struct call *call)
{
    struct server_gauges gauges;
    if (call->server->options.metrics == NULL) {
        call_problem(call, PROBLEM_NOT_FOUND, "this server counts nothing");
        return;
    }
    server_gauges_take(call->server, &gauges);
    call->status = 200;
    call->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(call->server->options.metrics, gauges.rows, gauges.count, &call->answer);
}
