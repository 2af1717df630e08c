// SPDX-License-Identifier: Apache-2.0
/* What is meant to be executed: in memory as entries, in the store as documents. */
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "orchestrator/internal.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* ---- Entries ------------------------------------------------------------------------------- */

struct entry *entry_find(struct orchestrator *orchestrator, const char *run_id)
{
    struct entry *entry = NULL;
    HASH_FIND_STR(orchestrator->entries, run_id, entry);
    return entry;
}

/** Where an entry in this state is counted, beside the threads; NULL = nowhere. */
static uint64_t *count_of(struct orchestrator *orchestrator, enum entry_state state)
{
    return state == ENTRY_QUEUED   ? &orchestrator->queued
           : state == ENTRY_PAUSED ? &orchestrator->paused
                                   : NULL;
}

static void enter(struct orchestrator *orchestrator, struct entry *entry)
{
    uint64_t *count = count_of(orchestrator, entry->state);
    if (count != NULL) {
        ++*count;
    }
    if (entry->state == ENTRY_QUEUED) {
        DL_APPEND(orchestrator->queue, entry);
        entry->is_new = true;
        orchestrator->new_queued++;
    }
    entry->since_ns = clock_now(orchestrator_clock(orchestrator));
    pthread_cond_broadcast(&orchestrator->changed);
}

static void leave(struct orchestrator *orchestrator, struct entry *entry)
{
    uint64_t *count = count_of(orchestrator, entry->state);
    if (count != NULL) {
        --*count;
    }
    if (entry->state == ENTRY_QUEUED) {
        DL_DELETE(orchestrator->queue, entry);
        orchestrator->new_queued -= entry->is_new ? 1 : 0;
        entry->is_new = false;
    }
}

struct entry *entry_add(struct orchestrator *orchestrator, const char *run_id,
                        enum entry_state state, const char *by)
{
    struct entry *entry = memory_new_zero(1, sizeof(*entry));
    snprintf(entry->run_id, sizeof(entry->run_id), "%s", run_id);
    snprintf(entry->by, sizeof(entry->by), "%s", by == NULL ? "" : by);
    entry->state = state;
    HASH_ADD_STR(orchestrator->entries, run_id, entry);
    enter(orchestrator, entry);
    return entry;
}

void entry_set(struct orchestrator *orchestrator, struct entry *entry, enum entry_state state)
{
    leave(orchestrator, entry);
    entry->state = state;
    enter(orchestrator, entry);
}

void entry_first(struct orchestrator *orchestrator, struct entry *entry)
{
    DL_DELETE(orchestrator->queue, entry);
    DL_PREPEND(orchestrator->queue, entry);
}

void entry_remove(struct orchestrator *orchestrator, struct entry *entry)
{
    leave(orchestrator, entry);
    HASH_DEL(orchestrator->entries, entry);
    free(entry);
    pthread_cond_broadcast(&orchestrator->changed);
}

/* ---- Documents ----------------------------------------------------------------------------- */

static const char *state_name(enum entry_state state)
{
    return state == ENTRY_PAUSED ? "paused" : state == ENTRY_RUNNING ? "running" : "queued";
}

int managed_put(struct orchestrator *orchestrator, const char *run_id, enum entry_state state,
                const char *by, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "state", state_name(state));
    json_write_int(&writer, "since", clock_now(orchestrator_clock(orchestrator)));
    json_write_string(&writer, "by", by == NULL ? "" : by);
    json_write_string(&writer, "owner", runtime_owner(orchestrator->options.runtime));
    json_end_object(&writer);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = MANAGED_COLLECTION,
        .key = run_id,
        .data = buf_string(&data),
        .data_len = data.len,
        .if_version = STORE_ANY_VERSION,
    };
    struct store *store = orchestrator_store(orchestrator);
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int managed_remove(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err)
{
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = MANAGED_COLLECTION,
        .key = run_id,
        .if_version = STORE_ANY_VERSION,
    };
    struct store *store = orchestrator_store(orchestrator);
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int managed_probe(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = "probe",
        .key = "store",
        .data = "{}",
        .data_len = 2,
        .if_version = STORE_ANY_VERSION,
    };
    struct store *store = orchestrator_store(orchestrator);
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int managed_disown(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err)
{
    struct managed managed;
    int r = managed_get(orchestrator, run_id, &managed, err);
    if (r < 0 || strcmp(managed.owner, runtime_owner(orchestrator->options.runtime)) != 0) {
        return r;
    }
    return managed_remove(orchestrator, run_id, err);
}

void managed_decode(const char *run_id, const char *json, struct managed *ret_managed)
{
    auto_json struct json_object *root = NULL;
    json_parse(json, strlen(json), &root, NULL);
    const char *state = json_get_string(root, "state", "");
    *ret_managed = (struct managed){
        .state = strcmp(state, "paused") == 0    ? ENTRY_PAUSED
                 : strcmp(state, "running") == 0 ? ENTRY_RUNNING
                                                 : ENTRY_QUEUED,
        .since_ns = json_get_int(root, "since", 0),
    };
    snprintf(ret_managed->run_id, sizeof(ret_managed->run_id), "%s", run_id);
    snprintf(ret_managed->by, sizeof(ret_managed->by), "%s", json_get_string(root, "by", ""));
    snprintf(ret_managed->owner, sizeof(ret_managed->owner), "%s",
             json_get_string(root, "owner", ""));
}

struct reading {
    struct managed *list;
    size_t count;
    size_t room;
};

static bool read_document(const struct store_document *document, void *context)
{
    struct reading *reading = context;
    if (reading->count == reading->room) {
        reading->room = reading->room * 2 + 16;
        reading->list = memory_resize(reading->list, reading->room, sizeof(*reading->list));
    }
    if (id_is_valid(document->key)) {
        managed_decode(document->key, document->data, &reading->list[reading->count++]);
    }
    return true;
}

int managed_get(struct orchestrator *orchestrator, const char *run_id, struct managed *ret_managed,
                struct rondo_error *err)
{
    struct reading reading = {0};
    struct store *store = orchestrator_store(orchestrator);
    struct store_document_query query = {.collection = MANAGED_COLLECTION, .key = run_id};
    int r = store->ops->read_documents(store, &query, read_document, &reading, err);
    if (r == 0 && reading.count == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "run %s is not managed", run_id);
    }
    if (r == 0) {
        *ret_managed = reading.list[0];
    }
    free(reading.list);
    return r;
}

static int by_time(const void *a, const void *b)
{
    const struct managed *left = a;
    const struct managed *right = b;
    if (left->since_ns != right->since_ns) {
        return left->since_ns < right->since_ns ? -1 : 1;
    }
    return strcmp(left->run_id, right->run_id);
}

int managed_list(struct orchestrator *orchestrator, struct managed **ret_list, size_t *ret_count,
                 struct rondo_error *err)
{
    struct reading reading = {0};
    struct store *store = orchestrator_store(orchestrator);
    struct store_document_query query = {.collection = MANAGED_COLLECTION};
    int r = store->ops->read_documents(store, &query, read_document, &reading, err);
    if (r < 0) {
        free(reading.list);
        return r;
    }
    if (reading.count > 1) {
        qsort(reading.list, reading.count, sizeof(*reading.list), by_time);
    }
    *ret_list = reading.list;
    *ret_count = reading.count;
    return 0;
}
