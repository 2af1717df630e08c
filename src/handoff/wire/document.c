// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/document.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>

struct document_reading {
    struct json_object *document;
    int64_t version;
    int r;
    struct rondo_error *err;
};

static bool take(const struct store_document *document, void *context)
{
    struct document_reading *reading = context;
    reading->version = (int64_t)document->version;
    reading->r =
        json_parse_strict(document->data, document->data_len, &reading->document, reading->err);
    return false;
}

int wire_document_read(struct store *store, const char *collection, const char *key,
                       struct json_object **ret_document, int64_t *ret_version,
                       struct rondo_error *err)
{
    struct document_reading reading = {.err = err};
    struct store_document_query query = {.collection = collection, .key = key};
    int r = store->ops->read_documents(store, &query, take, &reading, err);
    if (r == 0 && reading.r < 0) {
        return error_set(err, RONDO_ERR_CORRUPT, "document %.80s of %s cannot be read", key,
                         collection);
    }
    if (r == 0) {
        *ret_document = reading.document;
        *ret_version = reading.version;
    }
    return r;
}

int wire_document_put(struct store *store, const char *collection, const char *key,
                      const struct buf *json, int64_t if_version, bool *ret_is_put,
                      struct rondo_error *err)
{
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = collection,
                                  .key = key,
                                  .data = buf_string(json),
                                  .data_len = json->len,
                                  .if_version = if_version};
    return store->ops->change_documents(store, &change, 1, ret_is_put, err);
}

int wire_document_delete(struct store *store, const char *collection, const char *key,
                         struct rondo_error *err)
{
    bool is_applied = false;
    struct store_change change = {.kind = STORE_DELETE,
                                  .collection = collection,
                                  .key = key,
                                  .if_version = STORE_ANY_VERSION};
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}
