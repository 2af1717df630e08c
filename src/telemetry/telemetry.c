// SPDX-License-Identifier: Apache-2.0
/*
 * The exporter's thread: reads events, gathers spans, delivers batches, keeps the cursor. All of
 * its waiting ends at the soft token (stop: hurry) or the hard one (the time for that is over).
 */
#include "telemetry/telemetry.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/redact.h"
#include "journal/reader.h"
#include "loop/owner.h"
#include "net/client/http.h"
#include "telemetry/exporter_record.h"
#include "telemetry/otlp_delivery.h"
#include "telemetry/otlp_json.h"
#include "telemetry/past.h"
#include "telemetry/spans.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** How often the exporter looks around when nothing happens. */
#define TICK_NS (500 * NS_PER_MS)
/** How often the cursor is written while events come without spans. */
#define CURSOR_NS NS_PER_S
/** Runs that were quiet for so long are looked up: nobody may execute them any more. */
#define QUIET_NS (30 * NS_PER_S)

struct telemetry {
    struct telemetry_options options;
    char *run_id;
    struct otel_environment environment;
    struct redact *redact;
    struct spans *spans;
    struct metrics *own_metrics;
    struct http_client *own_http[2]; /* traces, metrics; with certificates of their own */
    char owner[STORE_OWNER_SIZE];
    pthread_t thread;
    struct cancel soft;
    struct cancel hard;
    pthread_mutex_t lock; /* guards the next two */
    struct telemetry_state state;
    bool is_over;
    pthread_cond_t ended;
    /* The thread's own. */
    struct journal_reader *reader;
    struct buf head;
    struct buf batch;
    uint64_t batch_spans;
    int64_t batch_since_ns; /* monotonic */
    uint64_t at;            /* seq or position read last */
    uint64_t sent_until;    /* of one run: by the process that had it before */
    uint64_t saved;         /* what the store knows of it */
    int64_t saved_ns;
    int64_t renewed_ns;
    int64_t metrics_ns; /* sent last */
    int64_t quiet_ns;   /* looked last */
    bool is_owner;
    bool was_failing;
    bool is_unreachable; /* by the last attempt to send spans */
    bool is_cut; /* spans were dropped only because of the stop: the cursor stays before them */
    char own_run[ID_SIZE]; /* met last, and how far its own process has sent it */
    uint64_t own_until;
};

static const struct clock *machine_clock(void)
{
    return clock_system();
}

static struct store *store_of(const struct telemetry *telemetry)
{
    return writer_store(telemetry->options.writer);
}

static void log_message(struct telemetry *telemetry, const char *format, const char *what)
{
    if (telemetry->options.log != NULL) {
        char line[256];
        snprintf(line, sizeof(line), format, what);
        telemetry->options.log(telemetry->options.log_context, line);
    }
}

/* ---- State ---------------------------------------------------------------------------------- */

static void count(struct telemetry *telemetry, uint64_t sent, uint64_t rejected, uint64_t dropped)
{
    pthread_mutex_lock(&telemetry->lock);
    telemetry->state.sent += sent;
    telemetry->state.rejected += rejected;
    telemetry->state.dropped += dropped;
    pthread_mutex_unlock(&telemetry->lock);
}

/** @param problem "" = it works */
static void set_problem(struct telemetry *telemetry, bool is_failing, const char *problem)
{
    pthread_mutex_lock(&telemetry->lock);
    telemetry->state.is_failing = is_failing;
    if (problem[0] != '\0') {
        snprintf(telemetry->state.problem, sizeof(telemetry->state.problem), "%s", problem);
    }
    pthread_mutex_unlock(&telemetry->lock);
    if (is_failing && !telemetry->was_failing) {
        log_message(telemetry, "telemetry cannot be sent: %s", problem);
    } else if (!is_failing && telemetry->was_failing) {
        log_message(telemetry, "telemetry can be sent again%s", "");
    }
    telemetry->was_failing = is_failing;
}

/** The last event there is: position or seq, as `at`. */
static uint64_t newest(const struct telemetry *telemetry)
{
    uint64_t position = 0;
    struct store *store = store_of(telemetry);
    if (telemetry->run_id == NULL) {
        return store->ops->last_position(store, &position, NULL) < 0 ? telemetry->at : position;
    }
    struct store_run run;
    return store->ops->get_run(store, telemetry->run_id, &run, NULL) < 0 ? telemetry->at
                                                                         : run.last_seq;
}

/** @param skipped events dropped just now: readers of the state see both change at once */
static uint64_t measure_lag(struct telemetry *telemetry, uint64_t skipped)
{
    uint64_t last = newest(telemetry);
    uint64_t events = last > telemetry->at ? last - telemetry->at : 0;
    pthread_mutex_lock(&telemetry->lock);
    telemetry->state.behind = events;
    telemetry->state.dropped += skipped;
    pthread_mutex_unlock(&telemetry->lock);
    return events;
}

static uint64_t behind(struct telemetry *telemetry)
{
    return measure_lag(telemetry, 0);
}

static uint64_t largest_lag(const struct telemetry *telemetry)
{
    return telemetry->environment.queue_events > 0 ? (uint64_t)telemetry->environment.queue_events
                                                   : TELEMETRY_MAX_BEHIND;
}

/* ---- Cursor --------------------------------------------------------------------------------- */

/** Everything up to `at` was delivered or dropped. */
static void save_cursor(struct telemetry *telemetry)
{
    if (telemetry->batch_spans > 0 || telemetry->at == telemetry->saved || telemetry->is_cut) {
        return;
    }
    if (telemetry->run_id != NULL) {
        exporter_write_run(store_of(telemetry), telemetry->run_id, telemetry->at);
    } else if (!telemetry->is_owner ||
               exporter_write_cursor(store_of(telemetry), telemetry->at, NULL) < 0) {
        return; /* later */
    }
    telemetry->saved = telemetry->at;
    telemetry->saved_ns = clock_monotonic(machine_clock());
}

/** Too much waits: the older half of what may wait is skipped. */
static void skip_ahead(struct telemetry *telemetry)
{
    uint64_t events = behind(telemetry);
    uint64_t most = largest_lag(telemetry);
    if (events <= most) {
        return;
    }
    uint64_t skipped = events - most / 2;
    telemetry->at += skipped;
    journal_reader_free(telemetry->reader);
    telemetry->reader =
        journal_reader_new(telemetry->options.writer, telemetry->run_id, telemetry->at);
    measure_lag(telemetry, skipped);
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, skipped);
    log_message(telemetry, "telemetry cannot keep up: %s events were skipped", text);
    save_cursor(telemetry);
}

/* ---- Delivery ------------------------------------------------------------------------------- */

static struct http_client *client_of(struct telemetry *telemetry, bool is_metrics)
{
    struct http_client *own = telemetry->own_http[is_metrics ? 1 : 0];
    return own != NULL ? own : telemetry->options.http;
}

static void drop_batch(struct telemetry *telemetry)
{
    telemetry->is_cut = telemetry->is_cut || cancel_is_set(&telemetry->hard);
    count(telemetry, 0, 0, telemetry->batch_spans);
    telemetry->batch_spans = 0;
    buf_clear(&telemetry->batch);
}

static void batch_taken(struct telemetry *telemetry, int64_t rejected)
{
    uint64_t refused =
        (uint64_t)rejected > telemetry->batch_spans ? telemetry->batch_spans : (uint64_t)rejected;
    count(telemetry, telemetry->batch_spans - refused, refused, 0);
    telemetry->batch_spans = 0;
    buf_clear(&telemetry->batch);
}

/** How long a connection may take: 0 = as long as any. */
static int64_t connect_ns(const struct telemetry *telemetry)
{
    if (cancel_is_set(&telemetry->soft) && telemetry->is_unreachable) {
        return TELEMETRY_LAST_CONNECT_NS;
    }
    return telemetry->run_id != NULL || cancel_is_set(&telemetry->soft) ? TELEMETRY_CONNECT_NS : 0;
}

/** An attempt was made. At the end nobody waits for a collector that is out of reach. */
static void note_reach(struct telemetry *telemetry, bool was_stopping, bool is_unreachable)
{
    telemetry->is_unreachable = is_unreachable;
    if (was_stopping && is_unreachable) {
        cancel_set(&telemetry->hard, CANCEL_NOW);
    }
}

/** Wait before the next attempt. @return whether to make it */
static bool wait_for_next(struct telemetry *telemetry, int64_t delay_ns, int64_t since_ns)
{
    int64_t limit_ns = telemetry->environment.batch_timeout_ns;
    int64_t until_ns = clock_monotonic(machine_clock()) + delay_ns;
    for (;;) {
        int64_t now_ns = clock_monotonic(machine_clock());
        bool is_stopping = cancel_is_set(&telemetry->soft);
        if (cancel_is_set(&telemetry->hard) || (limit_ns > 0 && now_ns - since_ns >= limit_ns) ||
            behind(telemetry) > largest_lag(telemetry)) {
            return false;
        }
        if (telemetry->run_id == NULL && telemetry->is_owner &&
            now_ns - telemetry->renewed_ns >= EXPORTER_RENEW_NS) {
            telemetry->renewed_ns = now_ns; /* that it was lost is noticed by the next look */
            exporter_own(store_of(telemetry), telemetry->owner, clock_now(machine_clock()));
        }
        if (now_ns >= until_ns || (is_stopping && telemetry->is_unreachable)) {
            return true; /* the last attempt is made at once */
        }
        int64_t step_ns = until_ns - now_ns < TICK_NS ? until_ns - now_ns : TICK_NS;
        cancel_wait(is_stopping ? &telemetry->hard : &telemetry->soft, step_ns);
    }
}

/** Write the batch out. */
static void print_batch(struct telemetry *telemetry)
{
    const struct telemetry_options *options = &telemetry->options;
    auto_buf struct buf line = {0};
    buf_append(&line, telemetry->head.data, telemetry->head.len);
    buf_append(&line, telemetry->batch.data, telemetry->batch.len);
    buf_printf(&line, "%s\n", otlp_spans_tail);
    if (options->print != NULL) {
        options->print(options->print_context, line.data, line.len);
    } else {
        fwrite(line.data, 1, line.len, stderr);
    }
    batch_taken(telemetry, 0);
    save_cursor(telemetry);
}

/** Deliver the batch, trying again as long as that makes sense; then it is empty. */
static void send_batch(struct telemetry *telemetry)
{
    if (telemetry->batch_spans == 0) {
        return;
    }
    if (telemetry->environment.traces.is_console) {
        print_batch(telemetry);
        return;
    }
    struct http_part parts[] = {{telemetry->head.data, telemetry->head.len},
                                {telemetry->batch.data, telemetry->batch.len},
                                {otlp_spans_tail, strlen(otlp_spans_tail)}};
    int64_t since_ns = clock_monotonic(machine_clock());
    for (unsigned attempt = 1;; attempt++) {
        struct otlp_delivery delivery;
        bool was_stopping = cancel_is_set(&telemetry->soft);
        otlp_deliver(client_of(telemetry, false), &telemetry->environment.traces, parts, 3, attempt,
                     connect_ns(telemetry), random_system(), &telemetry->hard, &delivery);
        note_reach(telemetry, was_stopping, delivery.is_unreachable);
        set_problem(telemetry, delivery.outcome != OTLP_TAKEN, delivery.problem);
        if (delivery.outcome == OTLP_TAKEN) {
            batch_taken(telemetry, delivery.rejected);
            break;
        }
        if (delivery.outcome == OTLP_REFUSED ||
            !wait_for_next(telemetry, delivery.delay_ns, since_ns)) {
            drop_batch(telemetry);
            break;
        }
    }
    save_cursor(telemetry);
    skip_ahead(telemetry);
}

/** Metrics are cumulative: an attempt that fails is made up for by the next one. */
static void send_metrics(struct telemetry *telemetry)
{
    const struct metrics *metrics =
        telemetry->options.metrics != NULL ? telemetry->options.metrics : telemetry->own_metrics;
    if (!telemetry->environment.metrics.is_on || metrics == NULL) {
        return;
    }
    telemetry->metrics_ns = clock_monotonic(machine_clock());
    struct metrics_gauge gauges[TELEMETRY_MAX_GAUGES];
    size_t gauge_count = telemetry->options.gauges == NULL
                             ? 0
                             : telemetry->options.gauges(telemetry->options.gauges_context, gauges,
                                                         TELEMETRY_MAX_GAUGES);
    auto_buf struct buf body = {0};
    otlp_write_metrics_head(&telemetry->environment, &body);
    metrics_write_otlp(metrics, gauges, gauge_count, clock_now(machine_clock()), &body);
    buf_append_string(&body, otlp_metrics_tail);
    struct http_part part = {body.data, body.len};
    struct otlp_delivery delivery;
    otlp_deliver(client_of(telemetry, true), &telemetry->environment.metrics, &part, 1, 1,
                 connect_ns(telemetry), random_system(), &telemetry->hard, &delivery);
    if (!telemetry->environment.traces.is_on || delivery.outcome != OTLP_TAKEN) {
        set_problem(telemetry, delivery.outcome != OTLP_TAKEN, delivery.problem);
    }
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void gather(void *context, const struct span *span)
{
    struct telemetry *telemetry = context;
    if (telemetry->batch_spans == 0) {
        telemetry->batch_since_ns = clock_monotonic(machine_clock());
    }
    otlp_write_span(span, &telemetry->batch);
    telemetry->batch_spans++;
}

static void open_spans(struct telemetry *telemetry)
{
    struct spans_options spans = {
        .emit = gather,
        .context = telemetry,
        .environment = &telemetry->environment,
        .redact = telemetry->redact,
        .sent_until = telemetry->sent_until,
    };
    telemetry->spans = spans_new(&spans);
}

/** Whether the run's own process has sent this event already. */
static bool was_sent(struct telemetry *telemetry, const struct journal_entry *entry)
{
    if (telemetry->run_id != NULL) {
        return false;
    }
    if (strcmp(telemetry->own_run, entry->run_id) != 0) {
        snprintf(telemetry->own_run, sizeof(telemetry->own_run), "%s", entry->run_id);
        telemetry->own_until = exporter_read_run(store_of(telemetry), entry->run_id);
    }
    if (telemetry->own_until > 0 && entry->event.seq > telemetry->own_until) {
        exporter_forget_run(store_of(telemetry), entry->run_id);
        telemetry->own_until = 0;
    }
    return entry->event.seq <= telemetry->own_until;
}

static void process_entry(struct telemetry *telemetry, const struct journal_entry *entry)
{
    if (telemetry->own_metrics != NULL) {
        metrics_count(telemetry->own_metrics, entry);
    }
    if (!telemetry->environment.traces.is_on || was_sent(telemetry, entry)) {
        return;
    }
    if (!spans_add(telemetry->spans, entry)) {
        struct rondo_error err = {0};
        if (past_replay(store_of(telemetry), telemetry->spans, entry->run_id, entry->event.seq,
                        &err) < 0 ||
            !spans_add(telemetry->spans, entry)) {
            count(telemetry, 0, 0, 1);
        }
    }
}

static bool is_due(const struct telemetry *telemetry)
{
    if (telemetry->batch_spans == 0) {
        return false;
    }
    return telemetry->batch_spans >= (uint64_t)telemetry->environment.batch_spans ||
           telemetry->batch.len >= TELEMETRY_MAX_BATCH_BYTES ||
           clock_monotonic(machine_clock()) - telemetry->batch_since_ns >=
               telemetry->environment.batch_delay_ns;
}

/** @return 1 for an event, 0 for none, negative for a store that fails */
static int read_one(struct telemetry *telemetry, int64_t timeout_ns)
{
    const struct journal_entry *entry = NULL;
    struct rondo_error err = {0};
    int r = journal_reader_next(telemetry->reader, timeout_ns, &telemetry->soft, &entry, &err);
    if (r == 1) {
        telemetry->at = telemetry->run_id == NULL ? entry->position : entry->event.seq;
        process_entry(telemetry, entry);
    } else if (r < 0) {
        set_problem(telemetry, true, err.message);
        cancel_wait(&telemetry->soft, TICK_NS);
    }
    return r;
}

/* ---- What is done from time to time -----------------------------------------------------------
 */

/** Continue where the previous exporting process stopped; what is remembered is older. */
static void begin_anew(struct telemetry *telemetry)
{
    telemetry->batch_spans = 0;
    buf_clear(&telemetry->batch);
    spans_free(telemetry->spans);
    open_spans(telemetry);
    telemetry->at = newest(telemetry);
    exporter_read_cursor(store_of(telemetry), &telemetry->at, NULL);
    telemetry->saved = 0;
    journal_reader_free(telemetry->reader);
    telemetry->reader = journal_reader_new(telemetry->options.writer, NULL, telemetry->at);
}

/** Become the exporter of the store, or notice that another process is. */
static void renew(struct telemetry *telemetry, int64_t now_ns)
{
    if (telemetry->run_id != NULL ||
        (telemetry->renewed_ns != 0 && now_ns - telemetry->renewed_ns < EXPORTER_RENEW_NS)) {
        return;
    }
    telemetry->renewed_ns = now_ns;
    bool was_owner = telemetry->is_owner;
    telemetry->is_owner =
        exporter_own(store_of(telemetry), telemetry->owner, clock_now(machine_clock()));
    pthread_mutex_lock(&telemetry->lock);
    telemetry->state.is_waiting_for_owner = !telemetry->is_owner;
    pthread_mutex_unlock(&telemetry->lock);
    if (telemetry->is_owner != was_owner) {
        begin_anew(telemetry);
    }
}

static void park(void *context, const char *run_id)
{
    struct telemetry *telemetry = context;
    struct store *store = store_of(telemetry);
    struct store_run run;
    if (store->ops->get_run(store, run_id, &run, NULL) == 0 && run.owner[0] == '\0' &&
        run.summary.status == RONDO_RUNNING) {
        spans_park(telemetry->spans, run_id, run.alive_ns);
    }
}

static void run_periodic_work(struct telemetry *telemetry)
{
    int64_t now_ns = clock_monotonic(machine_clock());
    renew(telemetry, now_ns);
    spans_settle(telemetry->spans, clock_now(machine_clock()));
    if (now_ns - telemetry->quiet_ns >= QUIET_NS) {
        telemetry->quiet_ns = now_ns;
        spans_list_quiet(telemetry->spans, clock_now(machine_clock()) - QUIET_NS, park, telemetry);
    }
    if (now_ns - telemetry->saved_ns >= CURSOR_NS) {
        telemetry->saved_ns = now_ns;
        save_cursor(telemetry);
        skip_ahead(telemetry);
    }
    if (now_ns - telemetry->metrics_ns >= telemetry->environment.metrics_interval_ns) {
        send_metrics(telemetry);
    }
}

static int64_t next_wait(const struct telemetry *telemetry)
{
    int64_t left_ns = TICK_NS;
    if (telemetry->batch_spans > 0) {
        int64_t due_ns = telemetry->batch_since_ns + telemetry->environment.batch_delay_ns -
                         clock_monotonic(machine_clock());
        left_ns = due_ns < left_ns ? due_ns : left_ns;
    }
    return left_ns < 0 ? 0 : left_ns;
}

/** Everything that is committed by now, as far as the time allows. */
static void drain(struct telemetry *telemetry)
{
    bool may_read = telemetry->run_id != NULL || telemetry->is_owner;
    while (may_read && !cancel_is_set(&telemetry->hard) && read_one(telemetry, 0) == 1) {
        if (is_due(telemetry)) {
            send_batch(telemetry);
        }
    }
    spans_settle(telemetry->spans, INT64_MAX);
    if (telemetry->run_id != NULL) {
        park(telemetry, telemetry->run_id);
    }
    send_batch(telemetry);
    save_cursor(telemetry);
    if (!cancel_is_set(&telemetry->hard)) {
        send_metrics(telemetry);
    }
    if (telemetry->is_owner) {
        exporter_disown(store_of(telemetry), telemetry->owner);
    } else if (telemetry->run_id != NULL) {
        exporter_trim_runs(store_of(telemetry));
    }
}

static void *run_thread(void *context)
{
    struct telemetry *telemetry = context;
    run_periodic_work(telemetry);
    int64_t looked_ns = clock_monotonic(machine_clock());
    while (!cancel_is_set(&telemetry->soft)) {
        int64_t now_ns = clock_monotonic(machine_clock());
        if (now_ns - looked_ns >= TICK_NS) {
            looked_ns = now_ns;
            run_periodic_work(telemetry);
        }
        if (telemetry->run_id == NULL && !telemetry->is_owner) {
            cancel_wait(&telemetry->soft, TICK_NS);
            continue;
        }
        read_one(telemetry, next_wait(telemetry));
        if (is_due(telemetry)) {
            send_batch(telemetry);
        }
    }
    drain(telemetry);
    pthread_mutex_lock(&telemetry->lock);
    telemetry->is_over = true;
    pthread_cond_signal(&telemetry->ended);
    pthread_mutex_unlock(&telemetry->lock);
    return NULL;
}

/* ---- Start and stop ------------------------------------------------------------------------- */

bool telemetry_is_wanted(const char *const *envp)
{
    return otel_environment_is_any(envp == NULL ? (const char *const *)environ : envp);
}

static int open_client(const struct otel_signal *signal, bool is_needed,
                       struct http_client **ret_client, struct rondo_error *err)
{
    if (!signal->is_on || signal->is_console || (signal->certificate == NULL && !is_needed)) {
        return 0;
    }
    struct http_client_options options = {.ca_file = signal->certificate};
    return http_client_new(&options, ret_client, err);
}

static int open_clients(struct telemetry *telemetry, struct rondo_error *err)
{
    bool is_needed = telemetry->options.http == NULL;
    int r = open_client(&telemetry->environment.traces, is_needed, &telemetry->own_http[0], err);
    return r < 0 ? r
                 : open_client(&telemetry->environment.metrics, is_needed, &telemetry->own_http[1],
                               err);
}

static void free_all(struct telemetry *telemetry)
{
    journal_reader_free(telemetry->reader);
    spans_free(telemetry->spans);
    metrics_free(telemetry->own_metrics);
    redact_free(telemetry->redact);
    http_client_free(telemetry->own_http[0]);
    http_client_free(telemetry->own_http[1]);
    cancel_fini(&telemetry->soft);
    cancel_fini(&telemetry->hard);
    pthread_mutex_destroy(&telemetry->lock);
    pthread_cond_destroy(&telemetry->ended);
    buf_fini(&telemetry->head);
    buf_fini(&telemetry->batch);
    otel_environment_fini(&telemetry->environment);
    free(telemetry->run_id);
    free(telemetry);
}

static int start_thread(struct telemetry *telemetry, struct rondo_error *err)
{
    int r = cancel_init(&telemetry->soft, err);
    if (r == 0) {
        r = cancel_init(&telemetry->hard, err);
    }
    if (r == 0) {
        r = open_clients(telemetry, err);
    }
    if (r < 0) {
        return r;
    }
    telemetry->reader =
        journal_reader_new(telemetry->options.writer, telemetry->run_id, telemetry->at);
    telemetry->state.is_on = true;
    int error = pthread_create(&telemetry->thread, NULL, run_thread, telemetry);
    return error == 0 ? 0
                      : error_set_errno(err, RONDO_ERR_SYSTEM, error,
                                        "cannot start the thread of telemetry");
}

/** How far the process that had the run before has sent it; 0 = nobody did. */
static uint64_t sent_before(const struct telemetry_options *options)
{
    return options->run_id == NULL || options->after == 0
               ? 0
               : exporter_read_run(writer_store(options->writer), options->run_id);
}

/** A process that died may have left events unsent. */
static uint64_t first_event(const struct telemetry *telemetry)
{
    uint64_t after = telemetry->options.after;
    uint64_t sent = telemetry->sent_until;
    return sent > 0 && sent < after ? sent : after;
}

static void prepare(struct telemetry *telemetry, const char *const *envp)
{
    const struct telemetry_options *options = &telemetry->options;
    telemetry->run_id = memory_dup_string(options->run_id);
    telemetry->sent_until = sent_before(options);
    telemetry->at = telemetry->saved = first_event(telemetry);
    telemetry->redact = redact_new(envp);
    open_spans(telemetry);
    if (options->metrics == NULL && telemetry->environment.metrics.is_on) {
        telemetry->own_metrics = metrics_new();
    }
    owner_new(random_system(), telemetry->owner);
    otlp_write_spans_head(&telemetry->environment, &telemetry->head);
    telemetry->metrics_ns = clock_monotonic(machine_clock());
    telemetry->quiet_ns = telemetry->saved_ns = telemetry->metrics_ns;
    if (!telemetry->environment.traces.is_json || !telemetry->environment.metrics.is_json) {
        log_message(telemetry, "telemetry is sent as %s, the only encoding that Rondo supports",
                    "http/json");
    }
}

static struct telemetry *new_telemetry(const struct telemetry_options *options)
{
    struct telemetry *telemetry = memory_new_zero(1, sizeof(*telemetry));
    telemetry->options = *options;
    telemetry->soft.event_fd = telemetry->hard.event_fd = -1;
    pthread_mutex_init(&telemetry->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&telemetry->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    return telemetry;
}

int telemetry_start(const struct telemetry_options *options, struct telemetry **ret_telemetry,
                    struct rondo_error *err)
{
    *ret_telemetry = NULL;
    const char *const *envp = options->envp == NULL ? (const char *const *)environ : options->envp;
    struct telemetry *telemetry = new_telemetry(options);
    int r = otel_environment_read(envp, &telemetry->environment, err);
    const struct otel_environment *environment = &telemetry->environment;
    bool is_asked = environment->traces.is_on || environment->metrics.is_on;
    bool is_owned = r == 0 && is_asked && options->run_id != NULL &&
                    exporter_is_owned(writer_store(options->writer), clock_now(machine_clock()));
    if (r == 0 && is_asked && !is_owned) {
        prepare(telemetry, envp);
        r = start_thread(telemetry, err);
        if (r == 0) {
            *ret_telemetry = telemetry;
            return 0;
        }
    }
    free_all(telemetry);
    return r;
}

/** @return whether the thread has ended in time */
static bool wait_for_end(struct telemetry *telemetry, int64_t timeout_ns)
{
    int64_t until_ns = clock_monotonic(machine_clock()) + timeout_ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
                             .tv_nsec = (long)(until_ns % NS_PER_S)};
    pthread_mutex_lock(&telemetry->lock);
    int r = 0;
    while (!telemetry->is_over && r == 0) {
        r = pthread_cond_timedwait(&telemetry->ended, &telemetry->lock, &until);
    }
    bool is_over = telemetry->is_over;
    pthread_mutex_unlock(&telemetry->lock);
    return is_over;
}

void telemetry_stop(struct telemetry *telemetry, int64_t flush_ns)
{
    if (telemetry == NULL) {
        return;
    }
    int64_t limit_ns = telemetry->environment.batch_timeout_ns;
    if (limit_ns > 0 && flush_ns > 0 && (telemetry->run_id != NULL || limit_ns < flush_ns)) {
        flush_ns = limit_ns;
    }
    cancel_set(&telemetry->soft, CANCEL_GRACEFUL);
    if (!wait_for_end(telemetry, flush_ns)) {
        cancel_set(&telemetry->hard, CANCEL_NOW);
    }
    pthread_join(telemetry->thread, NULL);
    free_all(telemetry);
}

struct telemetry_state telemetry_state(struct telemetry *telemetry)
{
    if (telemetry == NULL) {
        return (struct telemetry_state){0};
    }
    pthread_mutex_lock(&telemetry->lock);
    struct telemetry_state state = telemetry->state;
    pthread_mutex_unlock(&telemetry->lock);
    return state;
}
