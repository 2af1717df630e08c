// SPDX-License-Identifier: Apache-2.0
/* Reserving keys and recording answers. */
#include "server/answer/idempotency.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTION     "idempotency"
#define COLLECTION_AGE "idempotency-age"
/** Bytes of a key by time: 20 digits, a dash, the digest. */
#define AGE_KEY_SIZE (20 + 1 + DIGEST_HEX_SIZE)

void idempotency_answer_fini(struct idempotency_answer *answer)
{
    free(answer->location);
    free(answer->body);
    *answer = (struct idempotency_answer){0};
}

bool idempotency_key_is_valid(const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < len; i++) {
        if (key[i] <= 0x20 || key[i] >= 0x7f) {
            return false;
        }
    }
    return len > 0 && len <= LIMIT_IDEMPOTENCY_KEY;
}

static void add_part(struct digest *digest, const char *part, size_t len)
{
    digest_add_u64(digest, len);
    digest_add(digest, part, len);
}

static void digests_of(const struct idempotency_request *request, struct idempotency_slot *slot)
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    add_part(&digest, request->caller, strlen(request->caller));
    add_part(&digest, request->key, strlen(request->key));
    digest_finish(&digest, bytes);
    digest_hex(bytes, slot->key);
    digest = digest_begin();
    add_part(&digest, request->method, strlen(request->method));
    add_part(&digest, request->path, strlen(request->path));
    add_part(&digest, request->body == NULL ? "" : request->body, request->len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, slot->request);
}

static void age_key(const struct idempotency_slot *slot, char ret_key[AGE_KEY_SIZE])
{
    snprintf(ret_key, AGE_KEY_SIZE, "%020" PRId64 "-%s", slot->created_ns, slot->key);
}

struct idempotency_record {
    struct json_object *record;
    uint64_t version;
};

static bool take_record(const struct store_document *document, void *context)
{
    struct idempotency_record *found = context;
    found->version = document->version;
    json_parse(document->data, document->data_len, &found->record, NULL);
    return false;
}

static void read_answer(struct json_object *record, struct idempotency_answer *ret_answer)
{
    struct json_object *body = NULL;
    json_object_object_get_ex(record, "body", &body);
    *ret_answer = (struct idempotency_answer){
        .status = (unsigned)json_get_int(record, "status", 0),
        .location = memory_dup_string(json_get_string(record, "location", NULL)),
        .body = memory_dup_string(json_object_to_json_string_ext(
            body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)),
    };
}

static enum idempotency_outcome judge(const struct idempotency *idempotency,
                                      struct json_object *record,
                                      const struct idempotency_slot *slot, int64_t now_ns)
{
    if (strcmp(json_get_string(record, "request", ""), slot->request) != 0) {
        return IDEMPOTENCY_MISMATCH;
    }
    if (json_get_int(record, "status", 0) != 0) {
        return IDEMPOTENCY_REPLAY;
    }
    bool is_ours = strcmp(json_get_string(record, "instance", ""), idempotency->instance) == 0;
    bool is_young = now_ns - json_get_int(record, "created_ns", 0) < IDEMPOTENCY_WORK_NS;
    return is_ours && is_young ? IDEMPOTENCY_UNDER_WAY : IDEMPOTENCY_LOST;
}

static void write_record(const struct idempotency *idempotency, const struct idempotency_slot *slot,
                         const struct idempotency_answer *answer, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "request", slot->request);
    json_write_string(&writer, "instance", idempotency->instance);
    json_write_int(&writer, "created_ns", slot->created_ns);
    json_write_string(&writer, "run_id", slot->run_id[0] == '\0' ? NULL : slot->run_id);
    if (answer != NULL) {
        json_write_int(&writer, "status", answer->status);
        json_write_string(&writer, "location", answer->location);
        json_write_raw(&writer, "body", answer->body);
    }
    json_end_object(&writer);
}

/** Reserve, if the record still has the version that was seen (0 = there is none). */
static int reserve(const struct idempotency *idempotency, struct idempotency_slot *slot,
                   bool *ret_is_ours, struct rondo_error *err)
{
    char by_age[AGE_KEY_SIZE];
    auto_buf struct buf data = {0};
    write_record(idempotency, slot, NULL, &data);
    age_key(slot, by_age);
    struct store_change changes[] = {
        {STORE_PUT, COLLECTION, slot->key, data.data, data.len, (int64_t)slot->version, false},
        {STORE_PUT, COLLECTION_AGE, by_age, "{}", 2, STORE_ANY_VERSION, false},
    };
    struct store *store = idempotency->store;
    int r = store->ops->change_documents(store, changes, 2, ret_is_ours, err);
    slot->version++;
    return r;
}

int idempotency_retake(const struct idempotency *idempotency, struct idempotency_slot *slot,
                       bool *ret_is_ours, struct rondo_error *err)
{
    return reserve(idempotency, slot, ret_is_ours, err);
}

static void set_run_id(struct idempotency_slot *slot, const char *run_id)
{
    if (run_id != NULL && id_is_valid(run_id)) {
        snprintf(slot->run_id, sizeof(slot->run_id), "%s", run_id);
    }
}

int idempotency_begin(const struct idempotency *idempotency,
                      const struct idempotency_request *request, int64_t now_ns,
                      enum idempotency_outcome *ret_outcome, struct idempotency_slot *ret_slot,
                      struct idempotency_answer *ret_answer, struct rondo_error *err)
{
    struct idempotency_slot slot = {.created_ns = now_ns};
    struct idempotency_record found = {0};
    struct store *store = idempotency->store;
    digests_of(request, &slot);
    struct store_document_query query = {.collection = COLLECTION, .key = slot.key, .limit = 1};
    int r = store->ops->read_documents(store, &query, take_record, &found, err);
    if (r < 0) {
        return r;
    }
    slot.version = found.version;
    auto_json struct json_object *record = found.record;
    bool is_over = now_ns - json_get_int(record, "created_ns", 0) >= IDEMPOTENCY_KEEP_NS;
    if (record != NULL && !is_over) {
        *ret_outcome = judge(idempotency, record, &slot, now_ns);
        if (*ret_outcome == IDEMPOTENCY_REPLAY) {
            read_answer(record, ret_answer);
        } else if (*ret_outcome == IDEMPOTENCY_LOST) {
            slot.created_ns = json_get_int(record, "created_ns", now_ns);
            set_run_id(&slot, json_get_string(record, "run_id", NULL));
            *ret_slot = slot;
        }
        return 0;
    }
    bool is_ours = false;
    set_run_id(&slot, request->run_id);
    r = reserve(idempotency, &slot, &is_ours, err);
    if (r == 0) {
        /* Somebody was faster: it is under way there, whatever it is. */
        *ret_outcome = is_ours ? IDEMPOTENCY_NEW : IDEMPOTENCY_UNDER_WAY;
        *ret_slot = slot;
    }
    return r;
}

int idempotency_finish(const struct idempotency *idempotency, const struct idempotency_slot *slot,
                       const struct idempotency_answer *answer, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    bool is_applied = false;
    if (strlen(answer->body) > LIMIT_IDEMPOTENCY_ANSWER) {
        idempotency_forget(idempotency, slot);
        return 0;
    }
    write_record(idempotency, slot, answer, &data);
    struct store_change change = {
        STORE_PUT, COLLECTION, slot->key, data.data, data.len, (int64_t)slot->version, false};
    struct store *store = idempotency->store;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

void idempotency_forget(const struct idempotency *idempotency, const struct idempotency_slot *slot)
{
    char by_age[AGE_KEY_SIZE];
    bool is_applied = false;
    age_key(slot, by_age);
    struct store_change changes[] = {
        {STORE_DELETE, COLLECTION, slot->key, NULL, 0, (int64_t)slot->version, false},
        {STORE_DELETE, COLLECTION_AGE, by_age, NULL, 0, STORE_ANY_VERSION, false},
    };
    struct store *store = idempotency->store;
    store->ops->change_documents(store, changes, 2, &is_applied, NULL);
}

/* ---- Pruning -------------------------------------------------------------------------------- */

struct old {
    char last[AGE_KEY_SIZE]; /* everything before it is too old */
    char keys[IDEMPOTENCY_PRUNED][AGE_KEY_SIZE];
    size_t count;
};

static bool take_old(const struct store_document *document, void *context)
{
    struct old *old = context;
    if (strcmp(document->key, old->last) >= 0) {
        return false;
    }
    snprintf(old->keys[old->count++], AGE_KEY_SIZE, "%s", document->key);
    return true;
}

size_t idempotency_prune(const struct idempotency *idempotency, int64_t now_ns)
{
    struct store *store = idempotency->store;
    struct store_document_query query = {.collection = COLLECTION_AGE, .limit = IDEMPOTENCY_PRUNED};
    struct old *old = memory_new_zero(1, sizeof(*old));
    struct store_change *changes = memory_new_zero(2 * IDEMPOTENCY_PRUNED, sizeof(*changes));
    bool is_applied = false;
    snprintf(old->last, sizeof(old->last), "%020" PRId64, now_ns - IDEMPOTENCY_KEEP_NS);
    int r = store->ops->read_documents(store, &query, take_old, old, NULL);
    for (size_t i = 0; r == 0 && i < old->count; i++) {
        /* A key that was used again has a record by a later time, too; then it only loses its
         * protection early. */
        changes[2 * i] = (struct store_change){
            STORE_DELETE, COLLECTION, old->keys[i] + 21, NULL, 0, STORE_ANY_VERSION, false};
        changes[2 * i + 1] = (struct store_change){
            STORE_DELETE, COLLECTION_AGE, old->keys[i], NULL, 0, STORE_ANY_VERSION, false};
    }
    if (r == 0 && old->count > 0) {
        store->ops->change_documents(store, changes, 2 * old->count, &is_applied, NULL);
    }
    size_t count = is_applied ? old->count : 0;
    free(changes);
    free(old);
    return count;
}
