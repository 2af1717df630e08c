// SPDX-License-Identifier: Apache-2.0
/*
 * What the monitor makes durable: warnings, their deliveries, what was said once, and the cursor,
 * all in one transaction that holds only if the cursor is still the one that was read. A monitor
 * that loses against another drops what it found and begins where the other one is.
 *
 * A cursor without warnings is written now and then only: reading some events again costs less than
 * a sync for each of them.
 */
#include "alert/monitor_internal.h"
#include "alert/notice.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "store/find.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** After so much time, or so many positions, the cursor is written although nothing was found. */
#define CURSOR_NS     (10 * NS_PER_S)
#define CURSOR_EVENTS 100000
/** Warnings made until old ones are looked for. */
#define PRUNE_EVERY 500

/* ---- Loading -------------------------------------------------------------------------------- */

struct monitor_loading {
    struct monitor *monitor;
    bool is_found;
};

static bool read_cursor(const struct store_document *document, void *context)
{
    struct monitor_loading *loading = context;
    struct monitor *monitor = loading->monitor;
    auto_json struct json_object *root = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0) {
        monitor->committed = (uint64_t)json_get_int(root, "position", 0);
        monitor->warn_from_ns = json_get_int(root, "warn_from_ns", 0);
        monitor->history = (uint64_t)json_get_int(root, "history", 0);
    }
    monitor->version = (int64_t)document->version;
    loading->is_found = true;
    return false;
}

static bool read_refusals(const struct store_document *document, void *context)
{
    struct monitor *monitor = context;
    auto_json struct json_object *root = NULL;
    struct json_object *items = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0 ||
        !json_object_object_get_ex(root, "items", &items) ||
        !json_object_is_type(items, json_type_array)) {
        return false;
    }
    size_t count = json_object_array_length(items);
    for (size_t i = 0; i < count && monitor->refusal_count < MONITOR_REFUSALS; i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        struct refusal *refusal = &monitor->refusals[monitor->refusal_count++];
        snprintf(refusal->mark, sizeof(refusal->mark), "%s", json_get_string(item, "mark", ""));
        refusal->time_ns = json_get_int(item, "time_ns", 0);
    }
    return false;
}

static void encode_cursor(const struct monitor *monitor, uint64_t position, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "position", (int64_t)position);
    json_write_int(&writer, "warn_from_ns", monitor->warn_from_ns);
    json_write_int(&writer, "history", (int64_t)monitor->history);
    json_end_object(&writer);
}

static struct store_change put(const char *collection, const char *key, const struct buf *data,
                               int64_t if_version)
{
    return (struct store_change){
        .kind = STORE_PUT,
        .collection = collection,
        .key = key,
        .data = buf_string(data),
        .data_len = data->len,
        .if_version = if_version,
    };
}

/** The first monitor of this store: from now on there is a cursor. */
static int make_cursor(struct monitor *monitor, bool *ret_is_made, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    int r = monitor->store->ops->last_position(monitor->store, &monitor->history, err);
    if (r < 0) {
        return r;
    }
    monitor->warn_from_ns = clock_now(monitor->clock) - MONITOR_HISTORY_NS;
    encode_cursor(monitor, 0, &json);
    struct store_change change = put(MONITOR_COLLECTION, MONITOR_CURSOR_KEY, &json, 0);
    return monitor->store->ops->change_documents(monitor->store, &change, 1, ret_is_made, err);
}

static int load_cursor(struct monitor *monitor, struct rondo_error *err)
{
    struct monitor_loading loading = {.monitor = monitor};
    struct store_document_query query = {
        .collection = MONITOR_COLLECTION,
        .key = MONITOR_CURSOR_KEY,
    };
    int r = monitor->store->ops->read_documents(monitor->store, &query, read_cursor, &loading, err);
    if (r < 0 || loading.is_found) {
        return r;
    }
    bool is_made = false;
    r = make_cursor(monitor, &is_made, err);
    if (r == 0) { /* By us or by another one: there is one now. */
        r = monitor->store->ops->read_documents(monitor->store, &query, read_cursor, &loading, err);
    }
    if (r == 0 && !loading.is_found) {
        r = error_set(err, RONDO_ERR_STATE, "the cursor of the monitor is missing");
    }
    return r;
}

/** Warnings that exist when this process begins are not reported. */
static int begin_follow(struct monitor *monitor, struct rondo_error *err)
{
    if (monitor->on_warning == NULL || monitor->follow != NULL) {
        return 0;
    }
    struct warning_follow *follow = warning_follow_new();
    int r = warning_follow_skip(follow, monitor->store, err);
    if (r < 0) {
        warning_follow_free(follow);
        return r;
    }
    monitor->follow = follow;
    return 0;
}

int monitor_load(struct monitor *monitor, struct rondo_error *err)
{
    if (monitor->is_loaded) {
        return 0;
    }
    struct store_document_query query = {
        .collection = MONITOR_COLLECTION,
        .key = MONITOR_REFUSED_KEY,
    };
    monitor->refusal_count = 0;
    monitor->is_refusal_changed = false;
    monitor_forget_notes(monitor);
    monitor_forget_results(monitor);
    monitor->found.count = 0;
    monitor->notice_count = 0;
    int r = begin_follow(monitor, err);
    r = r < 0 ? r : load_cursor(monitor, err);
    r = r < 0 ? r
              : monitor->store->ops->read_documents(monitor->store, &query, read_refusals, monitor,
                                                    err);
    if (r == 0) {
        monitor->reached = monitor->committed;
        monitor->committed_ns = clock_monotonic(monitor->clock);
        monitor->is_loaded = true;
    }
    return r;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/** A transaction in the making. Its texts are owned here. */
struct monitor_transaction {
    struct store_change *items;
    char **texts;
    size_t count;
    size_t text_count;
    size_t size;
    uint64_t deliveries;
};

static char *own(struct monitor_transaction *changes, char *text)
{
    changes->texts[changes->text_count++] = text;
    return text;
}

static void add_change(struct monitor_transaction *changes, enum store_change_kind kind,
                       const char *collection, const char *key, struct buf *data,
                       int64_t if_version)
{
    if (changes->count == changes->size) {
        changes->size = changes->size == 0 ? 16 : changes->size * 2;
        changes->items = memory_resize(changes->items, changes->size, sizeof(*changes->items));
        changes->texts = memory_resize(changes->texts, 2 * changes->size, sizeof(*changes->texts));
    }
    struct store_change *change = &changes->items[changes->count++];
    *change = (struct store_change){
        .kind = kind,
        .collection = collection,
        .key = own(changes, memory_dup_string(key)),
        .if_version = if_version,
    };
    if (data != NULL) {
        change->data_len = data->len;
        change->data = own(changes, buf_steal(data));
    }
}

static void changes_fini(struct monitor_transaction *changes)
{
    for (size_t i = 0; i < changes->text_count; i++) {
        free(changes->texts[i]);
    }
    free(changes->texts);
    free(changes->items);
}

struct sinks {
    struct sink items[LIMIT_SINKS];
    size_t count;
};

static bool take_sink(const struct store_document *document, void *context)
{
    struct sinks *sinks = context;
    sinks->count +=
        sink_decode(document->data, document->data_len, &sinks->items[sinks->count], NULL) == 0;
    return sinks->count < LIMIT_SINKS;
}

static void add_delivery(struct monitor *monitor, struct monitor_transaction *changes,
                         const char *sink, const char *id, const char *json, int64_t epoch,
                         bool is_full)
{
    auto_buf struct buf data = {0};
    struct delivery delivery = delivery_new(sink, id, json, epoch, clock_now(monitor->clock));
    if (is_full) {
        snprintf(delivery.error, sizeof(delivery.error), "too many deliveries are pending");
    }
    delivery_encode(&delivery, &data);
    add_change(changes, STORE_PUT, is_full ? DEAD_LETTER_COLLECTION : DELIVERY_COLLECTION,
               is_full ? delivery.id : delivery.key, &data, STORE_ANY_VERSION);
    changes->deliveries += !is_full;
    delivery_fini(&delivery);
}

static void add_warning(struct monitor *monitor, struct monitor_transaction *changes,
                        const struct sinks *sinks, const struct warning *warning, int64_t epoch,
                        uint64_t waiting)
{
    auto_buf struct buf json = {0};
    warning_write(warning, &json);
    for (size_t i = 0; i < sinks->count; i++) {
        if (sink_wants(&sinks->items[i], warning)) {
            bool is_full = waiting + changes->deliveries >= LIMIT_DELIVERIES_WAITING;
            add_delivery(monitor, changes, sinks->items[i].name, warning->id, buf_string(&json),
                         epoch, is_full);
        }
    }
    add_change(changes, STORE_PUT, WARNING_COLLECTION, warning->id, &json, STORE_ANY_VERSION);
}

static int add_warnings(struct monitor *monitor, struct monitor_transaction *changes,
                        struct rondo_error *err)
{
    if (monitor->found.count == 0) {
        return 0;
    }
    struct sinks *sinks = memory_new_zero(1, sizeof(*sinks));
    struct store_document_query query = {.collection = SINK_COLLECTION};
    uint64_t waiting = 0;
    uint64_t dead = 0;
    int r = monitor->store->ops->read_documents(monitor->store, &query, take_sink, sinks, err);
    if (r == 0 && sinks->count > 0) {
        monitor_count_deliveries(monitor, &waiting, &dead);
    }
    for (size_t i = 0; r == 0 && i < monitor->found.count; i++) {
        add_warning(monitor, changes, sinks, &monitor->found.items[i], monitor->found.epochs[i],
                    waiting);
    }
    for (size_t i = 0; i < sinks->count; i++) {
        sink_fini(&sinks->items[i]);
    }
    free(sinks);
    return r;
}

static void add_results(struct monitor *monitor, struct monitor_transaction *changes)
{
    uint64_t waiting = 0;
    uint64_t dead = 0;
    if (monitor->result_count > 0) {
        monitor_count_deliveries(monitor, &waiting, &dead);
    }
    for (size_t i = 0; i < monitor->result_count; i++) {
        const struct found_result *result = &monitor->results[i];
        bool is_full = waiting + changes->deliveries >= LIMIT_DELIVERIES_WAITING;
        add_delivery(monitor, changes, result->sink, result->id, result->json, result->epoch,
                     is_full);
    }
}

static void add_notes(struct monitor *monitor, struct monitor_transaction *changes)
{
    for (struct run_note *note = monitor->notes; note != NULL; note = note->hh.next) {
        if (!note->is_changed) {
            continue;
        }
        auto_buf struct buf data = {0};
        bool is_empty = note->denial_count == 0 && note->stalled_seq == 0;
        monitor_note_encode(note, &data);
        add_change(changes, is_empty ? STORE_DELETE : STORE_PUT, MONITOR_RUN_COLLECTION,
                   note->run_id, is_empty ? NULL : &data, STORE_ANY_VERSION);
    }
}

static void add_refusals(const struct monitor *monitor, struct monitor_transaction *changes)
{
    if (!monitor->is_refusal_changed) {
        return;
    }
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "items");
    for (size_t i = 0; i < monitor->refusal_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "mark", monitor->refusals[i].mark);
        json_write_int(&writer, "time_ns", monitor->refusals[i].time_ns);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    add_change(changes, STORE_PUT, MONITOR_COLLECTION, MONITOR_REFUSED_KEY, &data,
               STORE_ANY_VERSION);
}

/** Forget the warnings after the newest LIMIT_WARNINGS_KEPT, now and then. */
static int add_pruning(struct monitor *monitor, struct monitor_transaction *changes,
                       struct rondo_error *err)
{
    if (monitor->found.count < monitor->until_prune) {
        return 0;
    }
    char key[STORE_KEY_LEN + 1];
    uint64_t kept =
        LIMIT_WARNINGS_KEPT > monitor->found.count ? LIMIT_WARNINGS_KEPT - monitor->found.count : 0;
    int r = store_find_excess(monitor->store, WARNING_COLLECTION, kept, key, err);
    if (r == 0 && key[0] != '\0') {
        add_change(changes, STORE_DELETE_UP_TO, WARNING_COLLECTION, key, NULL, STORE_ANY_VERSION);
    }
    return r;
}

static bool has_changed_note(const struct monitor *monitor)
{
    for (const struct run_note *note = monitor->notes; note != NULL; note = note->hh.next) {
        if (note->is_changed) {
            return true;
        }
    }
    return false;
}

static bool is_commit_due(const struct monitor *monitor, bool is_forced)
{
    if (monitor->found.count > 0 || monitor->notice_count > 0 || monitor->result_count > 0 ||
        monitor->is_refusal_changed || has_changed_note(monitor)) {
        return true;
    }
    uint64_t behind = monitor->reached - monitor->committed;
    int64_t age_ns = clock_monotonic(monitor->clock) - monitor->committed_ns;
    return behind > 0 && (is_forced || behind >= CURSOR_EVENTS || age_ns >= CURSOR_NS);
}

/** It is in the store: what was found is made, and what was changed is not any more. */
static void settle(struct monitor *monitor, uint64_t deliveries)
{
    size_t count = monitor->found.count;
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&monitor->made[monitor->found.items[i].kind], 1);
    }
    if (count > 0) {
        monitor->until_prune =
            monitor->until_prune <= count ? PRUNE_EVERY : monitor->until_prune - count;
    }
    monitor->found.count = 0;
    monitor->notice_count = 0;
    monitor_forget_results(monitor);
    monitor->version++;
    monitor->committed = monitor->reached;
    monitor->committed_ns = clock_monotonic(monitor->clock);
    monitor->is_refusal_changed = false;
    for (struct run_note *note = monitor->notes; note != NULL; note = note->hh.next) {
        if (note->is_changed) {
            note->is_stored = note->denial_count > 0 || note->stalled_seq != 0;
            note->is_changed = false;
        }
    }
    if (deliveries > 0) {
        monitor_wake_deliveries(monitor, deliveries);
    }
}

int monitor_commit(struct monitor *monitor, bool is_forced, struct rondo_error *err)
{
    if (!is_commit_due(monitor, is_forced)) {
        return 0;
    }
    struct monitor_transaction changes = {0};
    auto_buf struct buf cursor = {0};
    bool is_applied = false;
    encode_cursor(monitor, monitor->reached, &cursor);
    add_change(&changes, STORE_PUT, MONITOR_COLLECTION, MONITOR_CURSOR_KEY, &cursor,
               monitor->version);
    int r = add_pruning(monitor, &changes, err);
    r = r < 0 ? r : add_warnings(monitor, &changes, err);
    if (r == 0) {
        add_results(monitor, &changes);
        add_notes(monitor, &changes);
        add_refusals(monitor, &changes);
        for (size_t i = 0; i < monitor->notice_count; i++) {
            add_change(&changes, STORE_DELETE, NOTICE_COLLECTION, monitor->notices[i], NULL,
                       STORE_ANY_VERSION);
        }
        r = monitor->store->ops->change_documents(monitor->store, changes.items, changes.count,
                                                  &is_applied, err);
    }
    if (r == 0 && is_applied) {
        settle(monitor, changes.deliveries);
    } else {
        monitor->is_loaded = false; /* Lost against another one, or nobody knows. */
    }
    changes_fini(&changes);
    return r;
}

/* ---- Telling -------------------------------------------------------------------------------- */

static bool pass_warning(const char *id, const char *json, void *context)
{
    (void)id;
    struct monitor *monitor = context;
    auto_json struct json_object *root = NULL;
    json_parse(json, strlen(json), &root, NULL);
    const char *agent_id = json_get_string(root, "agent_id", "");
    monitor->on_warning(monitor->on_warning_context, agent_id, json);
    return true;
}

void monitor_tell(struct monitor *monitor)
{
    if (monitor->follow != NULL) {
        warning_follow_next(monitor->follow, monitor->store, pass_warning, monitor, NULL);
    }
}
