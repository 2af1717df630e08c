// SPDX-License-Identifier: Apache-2.0
/*
 * The documents. "consolidation-due" has one for each run with episodes, "consolidations" one for
 * each owner with a batch under way: who is at it until when, and the facts once the model has
 * replied. Each change of a batch depends on the version that was read, so that a process that was
 * frozen for long changes nothing any more.
 */
#include "agent/memory/consolidation_record.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUE_COLLECTION   "consolidation-due"
#define BATCH_COLLECTION "consolidations"
/** After this time a batch may be taken from a process that cannot be seen to be dead. */
#define CLAIM_NS (INT64_C(10) * 60 * NS_PER_S)

/** Put or delete one document. @return 1, 0 when it has another version, or a negative code */
static int change_one(struct store *store, const struct store_change *change,
                      struct rondo_error *err)
{
    bool is_applied = false;
    int r = store->ops->change_documents(store, change, 1, &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

static void copy_member(struct json_object *root, const char *name, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s", json_get_string(root, name, ""));
}

/* ---- Runs that are due ---------------------------------------------------------------------- */

static int put_due(struct store *store, const struct consolidation_due *due, int64_t if_version,
                   struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "agent", due->agent_id);
    json_write_string(&writer, "owner", due->owner);
    json_write_int(&writer, "attempts", due->attempts);
    json_write_int(&writer, "not_before_ns", due->not_before_ns);
    json_end_object(&writer);
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = DUE_COLLECTION,
        .key = due->run_id,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = if_version,
    };
    int r = change_one(store, &change, err);
    return r < 0 ? r : 0;
}

int consolidation_request(struct store *store, const char *run_id, const char *agent_id,
                          const char *owner, struct rondo_error *err)
{
    struct consolidation_due due = {0};
    snprintf(due.run_id, sizeof(due.run_id), "%s", run_id);
    snprintf(due.agent_id, sizeof(due.agent_id), "%s", agent_id);
    snprintf(due.owner, sizeof(due.owner), "%s", owner);
    return put_due(store, &due, 0, err);
}

int record_update_due(struct store *store, const struct consolidation_due *due,
                      struct rondo_error *err)
{
    return put_due(store, due, (int64_t)due->version, err);
}

int record_delete_due(struct store *store, const struct consolidation_due *due,
                      struct rondo_error *err)
{
    const struct store_change change = {
        .kind = STORE_DELETE,
        .collection = DUE_COLLECTION,
        .key = due->run_id,
        .if_version = STORE_ANY_VERSION,
    };
    int r = change_one(store, &change, err);
    return r < 0 ? r : 0;
}

struct due_list {
    const char *agent_id;
    struct consolidation_due *items;
    size_t count;
};

/** A document that cannot be read is left out. */
static bool gather_due(const struct store_document *document, void *context)
{
    struct due_list *list = context;
    auto_json struct json_object *root = NULL;
    struct consolidation_due due = {.version = document->version};
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return true;
    }
    snprintf(due.run_id, sizeof(due.run_id), "%s", document->key);
    copy_member(root, "agent", due.agent_id, sizeof(due.agent_id));
    copy_member(root, "owner", due.owner, sizeof(due.owner));
    due.attempts = json_get_int(root, "attempts", 0);
    due.not_before_ns = json_get_int(root, "not_before_ns", 0);
    if (list->agent_id == NULL || strcmp(list->agent_id, due.agent_id) == 0) {
        list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = due;
    }
    return true;
}

int record_list_due(struct store *store, const char *agent_id, struct consolidation_due **ret_list,
                    size_t *ret_count, struct rondo_error *err)
{
    struct due_list list = {.agent_id = agent_id};
    const struct store_document_query query = {.collection = DUE_COLLECTION};
    int r = store->ops->read_documents(store, &query, gather_due, &list, err);
    if (r < 0) {
        free(list.items);
        return r;
    }
    *ret_list = list.items;
    *ret_count = list.count;
    return 0;
}

/* ---- The batch of an owner ------------------------------------------------------------------ */

static void write_batch(const struct consolidation_batch *batch, const char *by, int64_t until_ns,
                        struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "by", by);
    json_write_int(&writer, "until_ns", until_ns);
    json_write_string(&writer, "run_id", batch->run_id);
    json_write_bool(&writer, "is_replied", batch->is_replied);
    json_write_int(&writer, "tokens_in", batch->tokens_in);
    json_write_int(&writer, "tokens_out", batch->tokens_out);
    json_write_int(&writer, "cost_micro", batch->cost_micro);
    json_write_int(&writer, "duration_ns", batch->duration_ns);
    json_begin_array(&writer, "episodes");
    for (size_t i = 0; i < batch->episode_count; i++) {
        json_write_int(&writer, NULL, batch->episodes[i]);
    }
    json_end_array(&writer);
    json_begin_array(&writer, "facts");
    for (size_t i = 0; i < batch->fact_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "id", batch->facts[i].id);
        json_write_string(&writer, "category", batch->facts[i].category);
        json_write_string(&writer, "content", batch->facts[i].content);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

/** Replace the document. @return 1, 0 when it has another version, or a negative code */
static int put_batch(struct store *store, struct consolidation_batch *batch, const char *by,
                     int64_t until_ns, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    write_batch(batch, by, until_ns, &json);
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = BATCH_COLLECTION,
        .key = batch->owner,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = (int64_t)batch->version,
    };
    int r = change_one(store, &change, err);
    batch->version += r == 1;
    return r;
}

static void read_facts(struct json_object *facts, struct consolidation_batch *batch)
{
    size_t count = json_length(facts);
    for (size_t i = 0; i < count && i < CONSOLIDATION_FACTS; i++) {
        struct json_object *item = json_object_array_get_idx(facts, i);
        struct consolidation_fact *fact = &batch->facts[batch->fact_count++];
        fact->id = json_get_int(item, "id", 0);
        copy_member(item, "category", fact->category, sizeof(fact->category));
        fact->content = memory_dup_string(json_get_string(item, "content", ""));
    }
}

static void read_reply(struct json_object *root, struct consolidation_batch *batch)
{
    struct json_object *episodes = json_member(root, "episodes");
    size_t count = json_length(episodes);
    batch->is_replied = true;
    batch->tokens_in = json_get_int(root, "tokens_in", 0);
    batch->tokens_out = json_get_int(root, "tokens_out", 0);
    batch->cost_micro = json_get_int(root, "cost_micro", 0);
    batch->duration_ns = json_get_int(root, "duration_ns", 0);
    copy_member(root, "run_id", batch->run_id, sizeof(batch->run_id));
    for (size_t i = 0; i < count && i < CONSOLIDATION_EPISODES; i++) {
        batch->episodes[batch->episode_count++] =
            json_object_get_int64(json_object_array_get_idx(episodes, i));
    }
    read_facts(json_member(root, "facts"), batch);
}

/** Reading the document of an owner. */
struct batch_reading {
    struct consolidation_batch *batch;
    int64_t now_ns;
    bool is_held;
};

static bool read_batch(const struct store_document *document, void *context)
{
    struct batch_reading *reading = context;
    auto_json struct json_object *root = NULL;
    reading->batch->version = document->version;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return false; /* It is replaced. */
    }
    const char *by = json_get_string(root, "by", "");
    reading->is_held = json_get_int(root, "until_ns", 0) > reading->now_ns && !owner_is_dead(by);
    if (json_get_bool(root, "is_replied", false)) {
        read_reply(root, reading->batch);
    }
    return false;
}

int record_claim(struct store *store, const char *owner, const char *by, int64_t now_ns,
                 struct consolidation_batch *ret_batch, struct rondo_error *err)
{
    struct batch_reading reading = {.batch = ret_batch, .now_ns = now_ns};
    const struct store_document_query query = {.collection = BATCH_COLLECTION, .key = owner};
    *ret_batch = (struct consolidation_batch){0};
    snprintf(ret_batch->owner, sizeof(ret_batch->owner), "%s", owner);
    int r = store->ops->read_documents(store, &query, read_batch, &reading, err);
    if (r < 0 || reading.is_held) {
        return r < 0 ? r : 0;
    }
    return put_batch(store, ret_batch, by, now_ns + CLAIM_NS, err);
}

int record_reply(struct store *store, struct consolidation_batch *batch, const char *by,
                 int64_t now_ns, struct rondo_error *err)
{
    int64_t first = 0;
    int r = batch->fact_count == 0
                ? 0
                : store->ops->reserve_memories(store, batch->owner, (uint32_t)batch->fact_count,
                                               &first, err);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < batch->fact_count; i++) {
        batch->facts[i].id = first + (int64_t)i;
    }
    batch->is_replied = true;
    return put_batch(store, batch, by, now_ns + CLAIM_NS, err);
}

int record_release(struct store *store, const struct consolidation_batch *batch,
                   struct rondo_error *err)
{
    const struct store_change change = {
        .kind = STORE_DELETE,
        .collection = BATCH_COLLECTION,
        .key = batch->owner,
        .if_version = (int64_t)batch->version,
    };
    int r = change_one(store, &change, err);
    return r < 0 ? r : 0;
}

void record_batch_fini(struct consolidation_batch *batch)
{
    for (size_t i = 0; i < batch->fact_count; i++) {
        free(batch->facts[i].content);
    }
    batch->fact_count = 0;
}
