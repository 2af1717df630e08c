// SPDX-License-Identifier: Apache-2.0
/* Small JSON documents, each changed only as its reader found it. */
#include "telemetry/exporter_record.h"

#include "base/json/json.h"
#include "loop/owner.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define COLLECTION "telemetry"
#define RUN_PREFIX "run/"

struct exporter_claim {
    bool is_there;
    int64_t version;
    int64_t number; /* position, seq, or the time of the last renewal */
    char owner[STORE_OWNER_SIZE];
};

static bool read_claim(const struct store_document *document, void *context)
{
    struct exporter_claim *record = context;
    auto_json struct json_object *root = NULL;
    record->is_there = true;
    record->version = (int64_t)document->version;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0 &&
        json_object_is_type(root, json_type_object)) {
        record->number = json_get_int(root, "number", 0);
        snprintf(record->owner, sizeof(record->owner), "%s", json_get_string(root, "owner", ""));
    }
    return false;
}

static int read_record(struct store *store, const char *key, struct exporter_claim *ret_record,
                       struct rondo_error *err)
{
    *ret_record = (struct exporter_claim){0};
    struct store_document_query query = {.collection = COLLECTION, .key = key, .limit = 1};
    return store->ops->read_documents(store, &query, read_claim, ret_record, err);
}

static int write_record(struct store *store, const char *key, const char *owner, int64_t number,
                        int64_t if_version, bool *ret_is_applied, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    if (owner != NULL) {
        json_write_string(&writer, "owner", owner);
    }
    json_write_int(&writer, "number", number);
    json_end_object(&writer);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = COLLECTION,
        .key = key,
        .data = data.data,
        .data_len = data.len,
        .if_version = if_version,
    };
    return store->ops->change_documents(store, &change, 1, ret_is_applied, err);
}

static void delete_record(struct store *store, enum store_change_kind kind, const char *key,
                          int64_t if_version)
{
    bool is_applied = false;
    struct store_change change = {
        .kind = kind, .collection = COLLECTION, .key = key, .if_version = if_version};
    store->ops->change_documents(store, &change, 1, &is_applied, NULL);
}

static bool is_living(const struct exporter_claim *record, int64_t now_ns)
{
    return record->is_there && record->owner[0] != '\0' &&
           now_ns - record->number < EXPORTER_STALE_NS && !owner_is_dead(record->owner);
}

bool exporter_is_owned(struct store *store, int64_t now_ns)
{
    struct exporter_claim record;
    return read_record(store, "exporter", &record, NULL) == 0 && is_living(&record, now_ns);
}

bool exporter_own(struct store *store, const char *owner, int64_t now_ns)
{
    struct exporter_claim record;
    if (read_record(store, "exporter", &record, NULL) < 0 ||
        (is_living(&record, now_ns) && strcmp(record.owner, owner) != 0)) {
        return false;
    }
    bool is_applied = false;
    int r = write_record(store, "exporter", owner, now_ns, record.version, &is_applied, NULL);
    return r == 0 && is_applied;
}

void exporter_disown(struct store *store, const char *owner)
{
    struct exporter_claim record;
    if (read_record(store, "exporter", &record, NULL) == 0 && record.is_there &&
        strcmp(record.owner, owner) == 0) {
        delete_record(store, STORE_DELETE, "exporter", record.version);
    }
}

int exporter_read_cursor(struct store *store, uint64_t *ret_position, struct rondo_error *err)
{
    struct exporter_claim record;
    int r = read_record(store, "cursor", &record, err);
    if (r == 0 && record.is_there && record.number >= 0) {
        *ret_position = (uint64_t)record.number;
    }
    return r;
}

int exporter_write_cursor(struct store *store, uint64_t position, struct rondo_error *err)
{
    bool is_applied = false;
    return write_record(store, "cursor", NULL, (int64_t)position, STORE_ANY_VERSION, &is_applied,
                        err);
}

static void run_key(const char *run_id, char ret_key[64])
{
    snprintf(ret_key, 64, RUN_PREFIX "%s", run_id);
}

uint64_t exporter_read_run(struct store *store, const char *run_id)
{
    char key[64];
    run_key(run_id, key);
    struct exporter_claim record;
    bool is_there = read_record(store, key, &record, NULL) == 0 && record.is_there;
    return is_there && record.number > 0 ? (uint64_t)record.number : 0;
}

void exporter_write_run(struct store *store, const char *run_id, uint64_t seq)
{
    char key[64];
    bool is_applied = false;
    run_key(run_id, key);
    write_record(store, key, NULL, (int64_t)seq, STORE_ANY_VERSION, &is_applied, NULL);
}

void exporter_forget_run(struct store *store, const char *run_id)
{
    char key[64];
    run_key(run_id, key);
    delete_record(store, STORE_DELETE, key, STORE_ANY_VERSION);
}

struct oldest_exporter {
    size_t count;
    char key[64]; /* newest of those that are too many */
};

static bool count_run(const struct store_document *document, void *context)
{
    struct oldest_exporter *oldest = context;
    if (++oldest->count == EXPORTER_MAX_OWN_RUNS + 1) {
        snprintf(oldest->key, sizeof(oldest->key), "%s", document->key);
    }
    return oldest->count <= EXPORTER_MAX_OWN_RUNS;
}

static bool take_key(const struct store_document *document, void *context)
{
    snprintf((char *)context, 64, "%s", document->key);
    return false;
}

/** Ids of runs sort by time: newest first, the one after the last that may stay is too many. */
void exporter_trim_runs(struct store *store)
{
    struct store_document_query query = {
        .collection = COLLECTION, .prefix = RUN_PREFIX, .is_descending = true};
    struct oldest_exporter oldest = {0};
    if (store->ops->read_documents(store, &query, count_run, &oldest, NULL) < 0) {
        return;
    }
    while (oldest.key[0] != '\0') {
        delete_record(store, STORE_DELETE, oldest.key, STORE_ANY_VERSION);
        struct store_document_query next = {.collection = COLLECTION,
                                            .prefix = RUN_PREFIX,
                                            .after = oldest.key,
                                            .is_descending = true,
                                            .limit = 1};
        char key[64] = "";
        if (store->ops->read_documents(store, &next, take_key, key, NULL) < 0) {
            return;
        }
        memcpy(oldest.key, key, sizeof(key));
    }
}
