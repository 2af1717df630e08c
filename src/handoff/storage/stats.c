// SPDX-License-Identifier: Apache-2.0
#include "handoff/storage/stats.h"

#include "base/clock.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/storage/chain.h"
#include "handoff/storage/facts.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define NAME_SIZE        72
#define CONFIDENCE_BANDS 5

/** What happened to one request in the window. */
struct stats_case {
    char request_id[ID_SIZE];
    uint32_t facts[FACT_COUNT];
    struct handoff_facts_of of; /**< what it is about */
    bool is_known;              /**< its record could be read */
    UT_hash_handle hh;
};

/** Cases of one class. */
struct stats_class {
    char name[NAME_SIZE];
    char other[NAME_SIZE]; /**< of rules: the digest of their policies */
    uint64_t requests;
    uint64_t approved;
    uint64_t rejected;
    uint64_t expired;
    uint64_t quick;
};

struct stats_table {
    struct stats_class rows[LIMIT_STATS_CLASSES + 1];
    size_t count;
};

struct stats {
    int64_t from_ns;
    int64_t to_ns;
    uint64_t entries;
    struct stats_case *cases; /* uthash */
    uint64_t facts[FACT_COUNT];
    int64_t *latencies; /* owned */
    size_t latency_count;
    uint64_t escalated; /**< of those requested in the window */
    uint64_t reworked;
    uint64_t reworked_approved;
    struct stats_table triggers;
    struct stats_table rules;
    struct stats_class bands[CONFIDENCE_BANDS];
};

/* ---- Arithmetic ----------------------------------------------------------------------------- */

void stats_wilson(struct stats_share share, double *ret_low, double *ret_high)
{
    static const double z = 1.959964;
    double n = (double)share.whole;
    *ret_low = 0;
    *ret_high = 1;
    if (share.whole > 0) {
        double p = (double)share.part / n;
        double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
        double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
        *ret_low = middle - half < 0 ? 0 : middle - half;
        *ret_high = middle + half > 1 ? 1 : middle + half;
    }
}

int64_t stats_percentile(const int64_t *sorted, size_t count, double share)
{
    if (count == 0) {
        return 0;
    }
    size_t rank = (size_t)ceil(share * (double)count);
    return sorted[rank == 0 ? 0 : rank > count ? count - 1 : rank - 1];
}

static int order(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one;
    int64_t b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static struct stats_case *case_of(struct stats *stats, const char *request_id)
{
    struct stats_case *found = NULL;
    HASH_FIND_STR(stats->cases, request_id, found);
    if (found == NULL) {
        found = memory_new_zero(1, sizeof(*found));
        snprintf(found->request_id, sizeof(found->request_id), "%s", request_id);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_ADD_STR(stats->cases, request_id, found);
    }
    return found;
}

static bool take_entry(const char *text, size_t len, void *context)
{
    struct stats *stats = context;
    struct handoff_entry entry;
    stats->entries++;
    if (handoff_entry_read(text, len, &entry) && entry.time_ns >= stats->from_ns &&
        entry.time_ns < stats->to_ns) {
        case_of(stats, entry.request_id)->facts[entry.fact]++;
        stats->facts[entry.fact]++;
    }
    return true;
}

static struct stats_class *class_of(struct stats_table *table, const char *name, const char *other)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].name, name) == 0 && strcmp(table->rows[i].other, other) == 0) {
            return &table->rows[i];
        }
    }
    struct stats_class *row = &table->rows[table->count];
    if (table->count == LIMIT_STATS_CLASSES) {
        name = "other";
        other = "";
    } else {
        table->count++;
    }
    snprintf(row->name, sizeof(row->name), "%s", name);
    snprintf(row->other, sizeof(row->other), "%s", other);
    return row;
}

static void add_to(struct stats_class *row, const struct stats_case *one)
{
    row->requests += one->facts[FACT_REQUESTED];
    row->approved += one->facts[FACT_APPROVED];
    row->rejected += one->facts[FACT_REJECTED];
    row->expired += one->facts[FACT_EXPIRED];
    if (one->facts[FACT_APPROVED] > 0 && one->facts[FACT_RESUBMITTED] == 0 &&
        one->of.decided_ns - one->of.requested_ns < STATS_QUICK_NS) {
        row->quick++;
    }
}

static bool is_over(const struct stats_case *one)
{
    return one->facts[FACT_APPROVED] + one->facts[FACT_REJECTED] + one->facts[FACT_EXPIRED] +
               one->facts[FACT_CANCELLED] + one->facts[FACT_SUPERSEDED] +
               one->facts[FACT_DEAD_LETTERED] >
           0;
}

static void add_case(struct stats *stats, struct stats_case *one)
{
    bool is_escalated = one->facts[FACT_ESCALATED] > 0;
    bool is_reworked = one->facts[FACT_RESUBMITTED] > 0;
    stats->escalated += is_escalated && one->facts[FACT_REQUESTED] > 0 ? 1 : 0;
    stats->reworked += is_reworked ? 1 : 0;
    stats->reworked_approved += is_reworked && one->facts[FACT_APPROVED] > 0 ? 1 : 0;
    if (!one->is_known) {
        return;
    }
    if (is_over(one) && one->of.decided_ns >= one->of.requested_ns) {
        stats->latencies[stats->latency_count++] = one->of.decided_ns - one->of.requested_ns;
    }
    add_to(class_of(&stats->triggers, one->of.trigger, ""), one);
    add_to(class_of(&stats->rules, one->of.rule, one->of.policy_hash), one);
    if (one->of.confidence >= 0) {
        size_t band = (size_t)(one->of.confidence * CONFIDENCE_BANDS);
        add_to(&stats->bands[band >= CONFIDENCE_BANDS ? CONFIDENCE_BANDS - 1 : band], one);
    }
}

static int read_all(const struct handoff_store *handoffs, struct stats *stats,
                    struct rondo_error *err)
{
    uint64_t size = 0;
    struct stats_case *one = NULL;
    struct stats_case *next = NULL;
    int r = handoff_read_position(handoffs, &size, err);
    uint64_t after = size > LIMIT_STATS_ENTRIES ? size - LIMIT_STATS_ENTRIES : 0;
    r = r < 0 ? r : audit_chain_read(handoffs->store, after, 0, take_entry, stats, err);
    if (r < 0) {
        return r;
    }
    stats->latencies = memory_new_zero(HASH_COUNT(stats->cases) + 1, sizeof(*stats->latencies));
    HASH_ITER(hh, stats->cases, one, next)
    {
        one->is_known = handoff_facts_of(handoffs, one->request_id, &one->of, NULL) == 0;
        add_case(stats, one);
    }
    qsort(stats->latencies, stats->latency_count, sizeof(*stats->latencies), order);
    return 0;
}

static void stats_fini(struct stats *stats)
{
    struct stats_case *one = NULL;
    struct stats_case *next = NULL;
    HASH_ITER(hh, stats->cases, one, next)
    {
        HASH_DEL(stats->cases, one);
        free(one);
    }
    free(stats->latencies);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_number(struct json_writer *writer, const char *key, double number)
{
    char text[JSON_NUMBER_SIZE];
    json_canonical_number(number, text);
    json_write_raw(writer, key, text);
}

void stats_write_share(struct json_writer *writer, const char *key, uint64_t part, uint64_t whole)
{
    double low = 0;
    double high = 1;
    json_begin_object(writer, key);
    if (whole == 0) {
        json_write_null(writer, "value");
    } else {
        write_number(writer, "value", (double)part / (double)whole);
    }
    json_write_int(writer, "part", (int64_t)part);
    json_write_int(writer, "whole", (int64_t)whole);
    stats_wilson((struct stats_share){part, whole}, &low, &high);
    write_number(writer, "low", low);
    write_number(writer, "high", high);
    json_write_bool(writer, "is_enough", whole >= STATS_LEAST_CASES);
    json_end_object(writer);
}

struct stats_column {
    const char *name;
    enum handoff_fact fact;
};

static void write_mix(const struct stats *stats, const struct stats_column *columns, size_t count,
                      const char *key, struct json_writer *writer)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        whole += stats->facts[columns[i].fact];
    }
    json_begin_object(writer, key);
    for (size_t i = 0; i < count; i++) {
        stats_write_share(writer, columns[i].name, stats->facts[columns[i].fact], whole);
    }
    json_end_object(writer);
}

static void write_latency(const struct stats *stats, struct json_writer *writer)
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50_s", 0.5}, {"p95_s", 0.95}};
    json_begin_object(writer, "decision_latency");
    json_write_int(writer, "count", (int64_t)stats->latency_count);
    for (size_t i = 0; i < 2; i++) {
        if (stats->latency_count == 0) {
            json_write_null(writer, points[i].name);
        } else {
            write_number(
                writer, points[i].name,
                (double)stats_percentile(stats->latencies, stats->latency_count, points[i].share) /
                    (double)NS_PER_S);
        }
    }
    json_end_object(writer);
}

static void write_triggers(const struct stats_table *table, struct json_writer *writer)
{
    json_begin_array(writer, "triggers");
    for (size_t i = 0; i < sizeof(table->rows) / sizeof(table->rows[0]); i++) {
        const struct stats_class *row = &table->rows[i];
        if (row->name[0] == '\0') {
            continue;
        }
        json_begin_object(writer, NULL);
        json_write_string(writer, "trigger_reason", row->name);
        json_write_int(writer, "requests", (int64_t)row->requests);
        json_write_int(writer, "expired", (int64_t)row->expired);
        stats_write_share(writer, "false_positive", row->rejected, row->approved + row->rejected);
        stats_write_share(writer, "over_trigger", row->quick, row->approved);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_rules(const struct stats_table *table, struct json_writer *writer)
{
    json_begin_array(writer, "rules");
    for (size_t i = 0; i < sizeof(table->rows) / sizeof(table->rows[0]); i++) {
        const struct stats_class *row = &table->rows[i];
        uint64_t whole = 0;
        for (size_t j = 0; j <= table->count && j <= LIMIT_STATS_CLASSES; j++) {
            bool is_same = strcmp(table->rows[j].other, row->other) == 0;
            whole += is_same ? table->rows[j].requests : 0;
        }
        if (row->name[0] == '\0') {
            continue;
        }
        json_begin_object(writer, NULL);
        json_write_string(writer, "policy_rule_id", row->name);
        json_write_string(writer, "policy_hash", row->other);
        stats_write_share(writer, "share", row->requests, whole);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_bands(const struct stats *stats, struct json_writer *writer)
{
    json_begin_array(writer, "confidence");
    for (size_t i = 0; i < CONFIDENCE_BANDS; i++) {
        const struct stats_class *band = &stats->bands[i];
        json_begin_object(writer, NULL);
        write_number(writer, "from", (double)i / CONFIDENCE_BANDS);
        write_number(writer, "to", (double)(i + 1) / CONFIDENCE_BANDS);
        stats_write_share(writer, "approved", band->approved, band->approved + band->rejected);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/* ---- What waits ----------------------------------------------------------------------------- */

/** Requests in one state on one desk. */
struct stats_queue {
    char desk[HANDOFF_NAME_SIZE];
    enum handoff_state state;
    uint64_t count;
    uint64_t stale;
    int64_t oldest_ns;
};

struct stats_queues {
    struct stats_queue rows[LIMIT_STATS_CLASSES];
    size_t count;
    int64_t now_ns;
};

/** @return the row of a desk and state; the last one has what has no row of its own */
static struct stats_queue *queue_of(struct stats_queues *queues, const char *desk,
                                    enum handoff_state state)
{
    for (size_t i = 0; i < queues->count; i++) {
        if (queues->rows[i].state == state && strcmp(queues->rows[i].desk, desk) == 0) {
            return &queues->rows[i];
        }
    }
    bool is_full = queues->count == LIMIT_STATS_CLASSES;
    struct stats_queue *row = &queues->rows[is_full ? queues->count - 1 : queues->count];
    if (!is_full) {
        queues->count++;
        row->state = state;
        snprintf(row->desk, sizeof(row->desk), "%s", desk);
    }
    return row;
}

static bool add_waiting(const struct handoff *handoff, void *context)
{
    struct stats_queues *queues = context;
    if (handoff_is_waiting(handoff)) {
        uint32_t last = handoff->desk_count;
        struct stats_queue *row =
            queue_of(queues, last == 0 ? "none" : handoff->desks[last - 1], handoff->state);
        row->count++;
        row->stale += handoff_is_stale(handoff, queues->now_ns) ? 1 : 0;
        if (row->oldest_ns == 0 || handoff->requested_ns < row->oldest_ns) {
            row->oldest_ns = handoff->requested_ns;
        }
    }
    return true;
}

static void write_waiting(const struct handoff_store *handoffs, int64_t now_ns,
                          struct json_writer *writer)
{
    struct stats_queues *queues = memory_new_zero(1, sizeof(*queues));
    queues->now_ns = now_ns;
    /* Of a damaged record `rondo inbox` says it. */
    (void)handoff_read_open(handoffs, add_waiting, queues, NULL);
    json_begin_array(writer, "waiting");
    for (size_t i = 0; i < queues->count; i++) {
        const struct stats_queue *row = &queues->rows[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "desk", row->desk);
        json_write_string(writer, "state", handoff_state_name(row->state));
        json_write_int(writer, "count", (int64_t)row->count);
        json_write_int(writer, "stale", (int64_t)row->stale);
        write_number(writer, "oldest_age_s", (double)(now_ns - row->oldest_ns) / (double)NS_PER_S);
        json_end_object(writer);
    }
    json_end_array(writer);
    free(queues);
}

static void write_stats(const struct stats *stats, struct json_writer *writer)
{
    static const struct stats_column decisions[] = {{"approved", FACT_APPROVED},
                                                    {"rejected", FACT_REJECTED},
                                                    {"rerouted", FACT_REROUTED},
                                                    {"needs_info", FACT_ASKED}};
    static const struct stats_column outcomes[] = {
        {"approved", FACT_APPROVED},     {"rejected", FACT_REJECTED},
        {"expired", FACT_EXPIRED},       {"cancelled", FACT_CANCELLED},
        {"superseded", FACT_SUPERSEDED}, {"dead_lettered", FACT_DEAD_LETTERED}};
    json_write_time(writer, "from", stats->from_ns);
    json_write_time(writer, "to", stats->to_ns);
    json_write_bool(writer, "is_complete", stats->entries < LIMIT_STATS_ENTRIES);
    json_write_int(writer, "requests", (int64_t)stats->facts[FACT_REQUESTED]);
    write_mix(stats, decisions, 4, "decisions", writer);
    write_mix(stats, outcomes, 6, "outcomes", writer);
    write_latency(stats, writer);
    stats_write_share(writer, "escalation_rate", stats->escalated, stats->facts[FACT_REQUESTED]);
    stats_write_share(writer, "rework_rate", stats->facts[FACT_RESUBMITTED],
                      stats->facts[FACT_ASKED]);
    stats_write_share(writer, "rework_success", stats->reworked_approved, stats->reworked);
    write_triggers(&stats->triggers, writer);
    write_rules(&stats->rules, writer);
    write_bands(stats, writer);
}

int handoff_stats(const struct handoff_store *handoffs, int64_t from_ns, int64_t to_ns,
                  struct buf *ret_json, struct rondo_error *err)
{
    struct stats *stats = memory_new_zero(1, sizeof(*stats));
    stats->from_ns = from_ns;
    stats->to_ns = to_ns;
    int r = read_all(handoffs, stats, err);
    if (r == 0) {
        struct json_writer writer = json_writer(ret_json);
        json_begin_object(&writer, NULL);
        write_stats(stats, &writer);
        write_waiting(handoffs, to_ns, &writer);
        json_end_object(&writer);
    }
    stats_fini(stats);
    free(stats);
    return r;
}
