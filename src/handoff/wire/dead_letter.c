// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/dead_letter.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "handoff/wire/document.h"
#include "handoff/wire/outbox.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define INTAKE   "intake-"
#define DELIVERY "delivery-"
/** Times that another may be faster. */
#define MOST_TRIES 20

static void digest_of(const char *body, size_t len, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, body, len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

/* ---- The intake ----------------------------------------------------------------------------- */

struct letter_count {
    const char *caller;
    size_t all;
    size_t of_caller;
};

static bool count_letter(const struct store_document *document, void *context)
{
    struct letter_count *count = context;
    auto_json struct json_object *json = NULL;
    count->all++;
    if (json_parse(document->data, document->data_len, &json, NULL) == 0) {
        count->of_caller += strcmp(json_get_string(json, "caller", ""), count->caller) == 0;
    }
    return true;
}

static int has_room(struct store *store, const char *caller, bool *ret_has_room,
                    struct rondo_error *err)
{
    struct letter_count count = {.caller = caller};
    struct store_document_query query = {.collection = INTAKE_LETTER_COLLECTION};
    int r = store->ops->read_documents(store, &query, count_letter, &count, err);
    *ret_has_room =
        count.all < LIMIT_INTAKE_LETTERS && count.of_caller < LIMIT_INTAKE_LETTERS_OF_CALLER;
    return r;
}

static void encode(const struct intake_letter *letter, struct json_object *old,
                   struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "caller", letter->caller);
    json_write_string(&writer, "code", letter->code);
    json_write_string(&writer, "reason", letter->reason);
    json_write_int(&writer, "bytes", (int64_t)letter->len);
    json_write_int(&writer, "count", json_get_int(old, "count", 0) + 1);
    json_write_int(&writer, "first_ns", json_get_int(old, "first_ns", letter->now_ns));
    json_write_int(&writer, "last_ns", letter->now_ns);
    json_end_object(&writer);
}

int intake_letter_add(struct store *store, const struct intake_letter *letter, char *ret_id,
                      struct rondo_error *err)
{
    char key[DIGEST_HEX_SIZE];
    ret_id[0] = '\0';
    digest_of(letter->body, letter->len, key);
    for (int i = 0; i < MOST_TRIES; i++) {
        auto_json struct json_object *old = NULL;
        auto_buf struct buf json = {0};
        int64_t version = 0;
        bool is_allowed = true;
        bool is_put = false;
        int r = wire_document_read(store, INTAKE_LETTER_COLLECTION, key, &old, &version, err);
        if (r == 0 && version == 0) {
            r = has_room(store, letter->caller, &is_allowed, err);
        }
        if (r < 0 || !is_allowed) {
            return r;
        }
        encode(letter, old, &json);
        r = wire_document_put(store, INTAKE_LETTER_COLLECTION, key, &json, version, &is_put, err);
        if (is_put) {
            snprintf(ret_id, LETTER_ID_SIZE, INTAKE "%s", key);
        }
        if (r < 0 || is_put) {
            return r;
        }
    }
    return 0;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

struct letter_list {
    struct json_writer writer;
    bool has_reasons;
    const char *queue;
};

/** Why, in words that may quote what an agent has sent. */
static void write_reason(const struct letter_list *list, struct json_writer *writer,
                         struct json_object *json)
{
    json_write_string(writer, "reason",
                      list->has_reasons ? json_get_string(json, "reason", "")
                                        : "a rule of the desk file hides it");
}

static void write_intake(const struct letter_list *list, struct json_writer *writer,
                         struct json_object *json)
{
    json_write_string(writer, "caller", json_get_string(json, "caller", ""));
    json_write_string(writer, "code", json_get_string(json, "code", ""));
    write_reason(list, writer, json);
    json_write_int(writer, "count", json_get_int(json, "count", 1));
    json_write_time(writer, "first_at", json_get_int(json, "first_ns", 0));
    json_write_time(writer, "last_at", json_get_int(json, "last_ns", 0));
    json_write_bool(writer, "can_replay", false);
}

static void write_delivery(const struct letter_list *list, struct json_writer *writer,
                           struct json_object *json)
{
    struct json_object *message = json_member(json, "message");
    json_write_string(writer, "agent_id", json_get_string(json, "agent_id", ""));
    json_write_string(writer, "request_id", json_get_string(message, "request_id", ""));
    json_write_string(writer, "code", json_get_string(message, "kind", ""));
    write_reason(list, writer, json);
    json_write_int(writer, "count", OUTBOX_MOST_FAILURES);
    json_write_time(writer, "last_at", json_get_int(json, "time_ns", 0));
    json_write_bool(writer, "can_replay", true);
}

static bool write_letter(const struct store_document *document, void *context)
{
    struct letter_list *list = context;
    auto_json struct json_object *json = NULL;
    auto_buf struct buf id = {0};
    bool is_intake = strcmp(list->queue, "intake") == 0;
    if (json_parse(document->data, document->data_len, &json, NULL) < 0) {
        return true;
    }
    buf_printf(&id, "%s-%s", list->queue, document->key);
    for (size_t i = 0; i < id.len; i++) { /* An id is one segment of a path. */
        id.data[i] = id.data[i] == '/' ? '~' : id.data[i];
    }
    json_begin_object(&list->writer, NULL);
    json_write_string(&list->writer, "id", buf_string(&id));
    json_write_string(&list->writer, "queue", list->queue);
    if (is_intake) {
        write_intake(list, &list->writer, json);
    } else {
        write_delivery(list, &list->writer, json);
    }
    json_end_object(&list->writer);
    return true;
}

int letters_write(struct store *store, uint32_t limit, bool has_reasons, struct buf *ret_json,
                  struct rondo_error *err)
{
    struct letter_list list = {
        .writer = json_writer(ret_json), .has_reasons = has_reasons, .queue = "intake"};
    struct store_document_query query = {.collection = INTAKE_LETTER_COLLECTION, .limit = limit};
    json_begin_array(&list.writer, NULL);
    int r = store->ops->read_documents(store, &query, write_letter, &list, err);
    if (r == 0) {
        list.queue = "delivery";
        query.collection = DELIVERY_LETTER_COLLECTION;
        r = store->ops->read_documents(store, &query, write_letter, &list, err);
    }
    json_end_array(&list.writer);
    return r;
}

static bool count_one(const struct store_document *document, void *context)
{
    (void)document;
    ++*(uint64_t *)context;
    return true;
}

int letters_count(struct store *store, uint64_t *ret_intake, uint64_t *ret_delivery,
                  struct rondo_error *err)
{
    struct store_document_query query = {.collection = INTAKE_LETTER_COLLECTION};
    *ret_intake = *ret_delivery = 0;
    int r = store->ops->read_documents(store, &query, count_one, ret_intake, err);
    query.collection = DELIVERY_LETTER_COLLECTION;
    return r < 0 ? r : store->ops->read_documents(store, &query, count_one, ret_delivery, err);
}

/* ---- One of them ---------------------------------------------------------------------------- */

/** The collection and the key of an id. @return false: there is no queue of this name */
static bool find(const char *id, const char **ret_collection, char ret_key[LETTER_ID_SIZE])
{
    bool is_intake = strncmp(id, INTAKE, sizeof(INTAKE) - 1) == 0;
    bool is_delivery = strncmp(id, DELIVERY, sizeof(DELIVERY) - 1) == 0;
    *ret_collection = is_intake ? INTAKE_LETTER_COLLECTION : DELIVERY_LETTER_COLLECTION;
    const char *key = id + (is_intake     ? sizeof(INTAKE) - 1
                            : is_delivery ? sizeof(DELIVERY) - 1
                                          : 0);
    snprintf(ret_key, LETTER_ID_SIZE, "%s", key);
    char *last = is_delivery ? strrchr(ret_key, '~') : NULL;
    if (last != NULL) {
        *last = '/';
    }
    return (is_intake || is_delivery) && key[0] != '\0' && strlen(key) <= STORE_KEY_LEN;
}

static int not_found(const char *id, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_NOT_FOUND, "there is no dead letter %.120s", id);
}

int letter_discard(struct store *store, const char *id, struct rondo_error *err)
{
    char key[LETTER_ID_SIZE];
    const char *collection = NULL;
    auto_json struct json_object *letter = NULL;
    int64_t version = 0;
    if (!find(id, &collection, key)) {
        return not_found(id, err);
    }
    int r = wire_document_read(store, collection, key, &letter, &version, err);
    if (r < 0 || version == 0) {
        return r < 0 ? r : not_found(id, err);
    }
    return wire_document_delete(store, collection, key, err);
}

int letter_replay(const struct handoff_store *handoffs, const char *id, struct rondo_error *err)
{
    char key[LETTER_ID_SIZE];
    const char *collection = NULL;
    auto_json struct json_object *letter = NULL;
    int64_t version = 0;
    if (!find(id, &collection, key)) {
        return not_found(id, err);
    }
    int r = wire_document_read(handoffs->store, collection, key, &letter, &version, err);
    if (r < 0 || version == 0) {
        return r < 0 ? r : not_found(id, err);
    }
    if (strcmp(collection, INTAKE_LETTER_COLLECTION) == 0) {
        return error_set(err, RONDO_ERR_STATE,
                         "nothing is kept of a request that was refused; its agent must send it "
                         "again");
    }
    return outbox_replay(handoffs, key, err);
}
