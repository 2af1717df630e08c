// SPDX-License-Identifier: Apache-2.0
/* Requests of people for work items, as documents of the store. */
#include "issues/request.h"

#include "base/auto.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char *const names[ITEM_REQUEST_KIND_COUNT] = {
    [ITEM_REQUEST_RELEASE] = "release",
    [ITEM_REQUEST_RETRY] = "retry",
};

const char *item_request_name(enum item_request_kind kind)
{
    return names[kind];
}

const char *item_request_obstacle(const struct item *item, enum item_request_kind kind)
{
    if (item->state == ITEM_DONE) {
        return "it is done";
    }
    if (item->state == ITEM_FENCED && kind == ITEM_REQUEST_RELEASE) {
        return "another machine has taken it over; release it there";
    }
    if (kind == ITEM_REQUEST_RELEASE && item_state_is_over(item->state) && item->is_released) {
        return "it has already been released";
    }
    return NULL;
}

int item_request_put(struct store *store, const char *key, const struct item_request *request,
                     struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "request", item_request_name(request->kind));
    json_write_string(&writer, "by", request->by);
    json_write_int(&writer, "time_ns", request->time_ns);
    json_end_object(&writer);
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = ITEM_REQUEST_COLLECTION,
        .key = key,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

/** What reading a document came to. */
struct found_request {
    struct item_request request;
    bool is_there;
    bool is_valid;
};

static bool take(const struct store_document *document, void *context)
{
    struct found_request *reading = context;
    auto_json struct json_object *root = NULL;
    reading->is_there = true;
    reading->request = (struct item_request){.version = document->version};
    if (json_parse(document->data, document->data_len, &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_object)) {
        return false;
    }
    const char *name = json_get_string(root, "request", "");
    for (size_t i = 0; i < ITEM_REQUEST_KIND_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            reading->request.kind = (enum item_request_kind)i;
            reading->is_valid = true;
        }
    }
    snprintf(reading->request.by, sizeof(reading->request.by), "%s",
             json_get_string(root, "by", ""));
    reading->request.time_ns = json_get_int(root, "time_ns", 0);
    return false;
}

int item_request_read(struct store *store, const char *key, struct item_request *ret_request,
                      struct rondo_error *err)
{
    struct found_request reading = {0};
    const struct store_document_query query = {.collection = ITEM_REQUEST_COLLECTION, .key = key};
    int r = store->ops->read_documents(store, &query, take, &reading, err);
    if (r == 0 && reading.is_there && !reading.is_valid) {
        return item_request_clear(store, key, reading.request.version, err);
    }
    if (r < 0 || !reading.is_there) {
        return r;
    }
    *ret_request = reading.request;
    return 1;
}

int item_request_clear(struct store *store, const char *key, uint64_t version,
                       struct rondo_error *err)
{
    const struct store_change change = {
        .kind = STORE_DELETE,
        .collection = ITEM_REQUEST_COLLECTION,
        .key = key,
        .if_version = (int64_t)version,
    };
    bool is_applied; /* if not, there is another request, which counts */
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}
