// SPDX-License-Identifier: Apache-2.0
#include "telemetry/handoff_meter.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/storage/chain.h"
#include "handoff/storage/facts.h"
#include "handoff/wire/dead_letter.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** Entries that are read at once. */
#define BATCH 256
/** Requests whose first action is awaited. */
#define MOST_AWAITED 10000
/** Bytes of the kind of an entry; longer ones are cut. */
#define KIND_SIZE 48
#define FINDING   "finding."
/** Desks that have gauges of their own; others are "other". */
#define MOST_QUEUES 8

/** A request that was made, or claimed, while this process counted. */
struct awaited {
    char request_id[ID_SIZE];
    int64_t requested_ns; /**< 0 = something was done already */
    int64_t claimed_ns;   /**< 0 = not claimed */
    UT_hash_handle hh;
};

struct handoff_meter {
    struct handoff_store handoffs;
    struct metrics *metrics;
    pthread_mutex_t *lock;
    bool has_position;
    uint64_t position;
    struct awaited *awaited; /* uthash, in order of their coming */
};

struct handoff_meter *handoff_meter_new(struct store *store, struct metrics *metrics)
{
    struct handoff_meter *meter = memory_new_zero(1, sizeof(*meter));
    meter->handoffs = (struct handoff_store){.store = store, .rules = &handoff_default_rules};
    meter->metrics = metrics;
    meter->lock = memory_new(sizeof(pthread_mutex_t));
    pthread_mutex_init(meter->lock, NULL);
    return meter;
}

static void forget(struct handoff_meter *meter, struct awaited *awaited)
{
    if (awaited != NULL) {
        HASH_DEL(meter->awaited, awaited);
        free(awaited);
    }
}

void handoff_meter_free(struct handoff_meter *meter)
{
    if (meter == NULL) {
        return;
    }
    while (meter->awaited != NULL) {
        forget(meter, meter->awaited);
    }
    pthread_mutex_destroy(meter->lock);
    free(meter->lock);
    free(meter);
}

/* ---- What is remembered --------------------------------------------------------------------- */

static struct awaited *find(const struct handoff_meter *meter, const char *request_id)
{
    struct awaited *found = NULL;
    HASH_FIND_STR(meter->awaited, request_id, found);
    return found;
}

static struct awaited *await(struct handoff_meter *meter, const char *request_id)
{
    struct awaited *awaited = find(meter, request_id);
    if (awaited == NULL) {
        if (HASH_COUNT(meter->awaited) >= MOST_AWAITED) {
            forget(meter, meter->awaited); /* the oldest */
        }
        awaited = memory_new_zero(1, sizeof(*awaited));
        snprintf(awaited->request_id, sizeof(awaited->request_id), "%s", request_id);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_ADD_STR(meter->awaited, request_id, awaited);
    }
    return awaited;
}

/* ---- Counting ------------------------------------------------------------------------------- */

static void count(struct handoff_meter *meter, const char *name, const char *one, const char *two,
                  const char *three, const char *four)
{
    const char *labels[] = {one, two, three, four};
    metrics_add(meter->metrics, name, labels, 1);
}

static void observe(struct handoff_meter *meter, const char *name, int64_t from_ns, int64_t to_ns)
{
    if (from_ns > 0 && to_ns >= from_ns) {
        metrics_add(meter->metrics, name, NULL, (double)(to_ns - from_ns) / (double)NS_PER_S);
    }
}

/** @return the status of a decision, NULL when the fact is none */
static const char *status_of(enum handoff_fact fact)
{
    return fact == FACT_APPROVED   ? "approved"
           : fact == FACT_REJECTED ? "rejected"
           : fact == FACT_REROUTED ? "rerouted"
           : fact == FACT_ASKED    ? "needs_info"
                                   : NULL;
}

/** @return the outcome that a fact is, NULL when the request continues */
static const char *outcome_of(enum handoff_fact fact)
{
    return fact == FACT_APPROVED        ? "approved"
           : fact == FACT_REJECTED      ? "rejected"
           : fact == FACT_EXPIRED       ? "expired"
           : fact == FACT_CANCELLED     ? "cancelled"
           : fact == FACT_SUPERSEDED    ? "superseded"
           : fact == FACT_DEAD_LETTERED ? "dead_lettered"
                                        : NULL;
}

static void count_decision(struct handoff_meter *meter, const struct handoff_entry *entry,
                           const struct handoff_facts_of *of, const char *status)
{
    struct awaited *awaited = find(meter, entry->request_id);
    count(meter, "relaytrace_handoff_decisions_total", of->agent_id, status, of->trigger,
          entry->role[0] == '\0' ? "none" : entry->role);
    if (awaited != NULL) {
        observe(meter, "relaytrace_handoff_first_action_duration_seconds", awaited->requested_ns,
                entry->time_ns);
        observe(meter, "relaytrace_handoff_review_duration_seconds", awaited->claimed_ns,
                entry->time_ns);
        awaited->requested_ns = 0;
        awaited->claimed_ns = 0;
    }
}

static void count_claim(struct handoff_meter *meter, const struct handoff_entry *entry)
{
    struct awaited *awaited = await(meter, entry->request_id);
    observe(meter, "relaytrace_handoff_first_action_duration_seconds", awaited->requested_ns,
            entry->time_ns);
    awaited->requested_ns = 0;
    awaited->claimed_ns = entry->time_ns;
}

static void count_end(struct handoff_meter *meter, const struct handoff_entry *entry,
                      const struct handoff_facts_of *of, const char *outcome)
{
    count(meter, "relaytrace_handoff_outcomes_total", outcome, NULL, NULL, NULL);
    observe(meter, "relaytrace_handoff_decision_duration_seconds", of->requested_ns,
            entry->time_ns);
    /* The time to decide was moved by the time in which the agent answered. */
    observe(meter, "relaytrace_handoff_operator_duration_seconds", of->sla_begin_ns,
            entry->time_ns);
    forget(meter, find(meter, entry->request_id));
}

static void count_escalation(struct handoff_meter *meter, const struct handoff_entry *entry,
                             const struct handoff_facts_of *of)
{
    char level[16];
    snprintf(level, sizeof(level), "%u", (unsigned)of->escalation_level);
    count(meter, "relaytrace_handoff_escalations_total", level,
          entry->is_of_time ? "time" : "person", NULL, NULL);
}

static void count_entry(struct handoff_meter *meter, const struct handoff_entry *entry)
{
    struct handoff_facts_of of;
    count(meter, "relaytrace_audit_entries_total", handoff_fact_name(entry->fact), NULL, NULL,
          NULL);
    if (handoff_facts_of(&meter->handoffs, entry->request_id, &of, NULL) < 0) {
        return;
    }
    const char *status = entry->is_of_time ? NULL : status_of(entry->fact);
    const char *outcome = outcome_of(entry->fact);
    if (entry->fact == FACT_REQUESTED) {
        count(meter, "relaytrace_handoff_requests_total", of.agent_id, of.trigger,
              handoff_level_name(of.risk), handoff_level_name(of.priority));
        await(meter, entry->request_id)->requested_ns = entry->time_ns;
    }
    if (entry->is_shed) {
        count(meter, "relaytrace_lane_overflows_total", handoff_on_full_name(ON_FULL_SHED), NULL,
              NULL, NULL);
    }
    if (status != NULL) {
        count_decision(meter, entry, &of, status);
    }
    if (outcome != NULL) {
        count_end(meter, entry, &of, outcome);
    }
    if (entry->fact == FACT_CLAIMED) {
        count_claim(meter, entry);
    }
    if (entry->fact == FACT_ESCALATED) {
        count_escalation(meter, entry, &of);
    }
    if (entry->fact == FACT_RESUBMITTED) {
        count(meter, "relaytrace_rework_submissions_total", of.agent_id, of.trigger, NULL, NULL);
    }
    if (entry->fact == FACT_APPLIED) {
        observe(meter, "relaytrace_handoff_resume_duration_seconds", of.decided_ns, entry->time_ns);
    }
}

/* ---- Following ------------------------------------------------------------------------------ */

struct batch {
    struct handoff_entry entries[BATCH];
    char others[BATCH][KIND_SIZE]; /**< kinds of those that are no facts of handoffs */
    size_t other_count;
    size_t read; /**< those that are no facts of handoffs included */
    size_t count;
};

static bool take(const char *text, size_t len, void *context)
{
    struct batch *batch = context;
    batch->read++;
    if (handoff_entry_read(text, len, &batch->entries[batch->count])) {
        batch->count++;
    } else {
        auto_json struct json_object *entry = NULL;
        (void)json_parse(text, len, &entry, NULL);
        snprintf(batch->others[batch->other_count++], KIND_SIZE, "%s",
                 json_get_string(entry, "kind", "other"));
    }
    return true;
}

/** Statements of agents, findings, values that were shown. */
static void count_other(struct handoff_meter *meter, const char *kind)
{
    count(meter, "relaytrace_audit_entries_total", kind, NULL, NULL, NULL);
    if (strncmp(kind, FINDING, strlen(FINDING)) == 0) {
        count(meter, "relaytrace_findings_total", kind + strlen(FINDING), NULL, NULL, NULL);
    }
}

void handoff_meter_follow(struct handoff_meter *meter)
{
    struct batch *batch = memory_new_zero(1, sizeof(*batch));
    int r = 0;
    pthread_mutex_lock(meter->lock);
    if (!meter->has_position) {
        r = handoff_read_position(&meter->handoffs, &meter->position, NULL);
        meter->has_position = r == 0;
    }
    do { /* Records are read after their entries: a callback must not call into the store. */
        batch->read = batch->count = batch->other_count = 0;
        r = r < 0 ? r
                  : audit_chain_read(meter->handoffs.store, meter->position, BATCH, take, batch,
                                     NULL);
        for (size_t i = 0; i < batch->count && r == 0; i++) {
            count_entry(meter, &batch->entries[i]);
        }
        for (size_t i = 0; i < batch->other_count && r == 0; i++) {
            count_other(meter, batch->others[i]);
        }
        meter->position += r == 0 ? batch->read : 0;
    } while (r == 0 && batch->read == BATCH);
    pthread_mutex_unlock(meter->lock);
    free(batch);
}

/* ---- Gauges --------------------------------------------------------------------------------- */

/** One desk. */
struct meter_queue {
    char name[HANDOFF_NAME_SIZE];
    uint64_t pending[HANDOFF_STATE_COUNT][HANDOFF_LEVEL_COUNT];
    uint64_t stale;
    int64_t oldest_ns;
};

struct meter_queues {
    struct meter_queue rows[MOST_QUEUES + 1];
    size_t count;
    int64_t now_ns;
    uint64_t paused;
    uint64_t evidence;
};

static struct meter_queue *queue_of(struct meter_queues *queues, const char *name)
{
    for (size_t i = 0; i < queues->count; i++) {
        if (strcmp(queues->rows[i].name, name) == 0) {
            return &queues->rows[i];
        }
    }
    struct meter_queue *queue = &queues->rows[queues->count];
    if (queues->count == MOST_QUEUES) {
        name = "other";
    } else {
        queues->count++;
    }
    snprintf(queue->name, sizeof(queue->name), "%s", name);
    for (char *c = queue->name; *c != '\0'; c++) { /* It is written between quotes. */
        *c = *c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '_' : *c;
    }
    return queue;
}

static bool add_waiting(const struct handoff *handoff, void *context)
{
    struct meter_queues *queues = context;
    if (!handoff_is_waiting(handoff)) {
        return true;
    }
    struct meter_queue *queue = queue_of(
        queues, handoff->desk_count == 0 ? "none" : handoff->desks[handoff->desk_count - 1]);
    queue->pending[handoff->state][handoff->priority]++;
    queue->stale += handoff_is_stale(handoff, queues->now_ns) ? 1 : 0;
    if (queue->oldest_ns == 0 || handoff->requested_ns < queue->oldest_ns) {
        queue->oldest_ns = handoff->requested_ns;
    }
    *(handoff->state == HANDOFF_NEEDS_INFO ? &queues->evidence : &queues->paused) += 1;
    return true;
}

static void give_queue(const struct meter_queue *queue, int64_t now_ns, handoff_gauge_fn *fn,
                       void *context)
{
    char labels[HANDOFF_NAME_SIZE + 64];
    for (int state = 0; state < HANDOFF_STATE_COUNT; state++) {
        for (int level = 0; level < HANDOFF_LEVEL_COUNT; level++) {
            if (queue->pending[state][level] > 0) {
                snprintf(labels, sizeof(labels), "state=\"%s\",queue=\"%s\",priority=\"%s\"",
                         handoff_state_name((enum handoff_state)state), queue->name,
                         handoff_level_name((enum handoff_level)level));
                fn(context, "relaytrace_handoff_pending", labels,
                   (double)queue->pending[state][level]);
            }
        }
    }
    snprintf(labels, sizeof(labels), "queue=\"%s\"", queue->name);
    fn(context, "relaytrace_handoff_stale", labels, (double)queue->stale);
    fn(context, "relaytrace_handoff_oldest_age_seconds", labels,
       (double)(now_ns - queue->oldest_ns) / (double)NS_PER_S);
}

static void give_letters(const struct handoff_meter *meter, handoff_gauge_fn *fn, void *context)
{
    uint64_t intake = 0;
    uint64_t delivery = 0;
    if (letters_count(meter->handoffs.store, &intake, &delivery, NULL) == 0) {
        fn(context, "relaytrace_dlq_messages", "queue=\"intake\"", (double)intake);
        fn(context, "relaytrace_dlq_messages", "queue=\"delivery\"", (double)delivery);
    }
}

void handoff_meter_gauges(struct handoff_meter *meter, int64_t now_ns, handoff_gauge_fn *fn,
                          void *context)
{
    struct meter_queues *queues = memory_new_zero(1, sizeof(*queues));
    queues->now_ns = now_ns;
    (void)handoff_read_open(&meter->handoffs, add_waiting, queues, NULL);
    for (size_t i = 0; i <= queues->count && i <= MOST_QUEUES; i++) {
        if (queues->rows[i].name[0] != '\0') {
            give_queue(&queues->rows[i], now_ns, fn, context);
        }
    }
    fn(context, "relaytrace_lane_states", "state=\"paused\"", (double)queues->paused);
    fn(context, "relaytrace_lane_states", "state=\"evidence\"", (double)queues->evidence);
    free(queues);
    give_letters(meter, fn, context);
}
