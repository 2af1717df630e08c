// SPDX-License-Identifier: Apache-2.0
/* What keeps work queues from working, as documents of the store. */
#include "issues/trouble.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "issues/item.h"
#include "loop/owner.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A repository's name may be too long for a key; no issue has the number 0. */
static char *key_of(const char *repository)
{
    return item_key(repository, 0);
}

int work_trouble_put(struct store *store, const struct work_trouble *trouble,
                     struct rondo_error *err)
{
    auto_free char *key = key_of(trouble->repository);
    auto_buf struct buf json = {0};
    auto_buf struct buf message = {0};
    struct json_writer writer = json_writer(&json);
    item_clean(trouble->message, WORK_TROUBLE_SIZE - 1, &message);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "repository", trouble->repository);
    json_write_string(&writer, "message", buf_string(&message));
    json_write_int(&writer, "since_ns", trouble->since_ns);
    json_write_string(&writer, "owner", trouble->owner);
    json_end_object(&writer);
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = WORK_TROUBLE_COLLECTION,
                                        .key = key,
                                        .data = buf_string(&json),
                                        .data_len = json.len,
                                        .if_version = STORE_ANY_VERSION};
    bool is_applied;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int work_trouble_clear(struct store *store, const char *repository, struct rondo_error *err)
{
    auto_free char *key = key_of(repository);
    const struct store_change change = {.kind = STORE_DELETE,
                                        .collection = WORK_TROUBLE_COLLECTION,
                                        .key = key,
                                        .if_version = STORE_ANY_VERSION};
    bool is_applied;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

struct trouble_reading {
    work_trouble_fn *fn;
    void *context;
};

static bool read_one(const struct store_document *document, void *context)
{
    const struct trouble_reading *reading = context;
    auto_json struct json_object *root = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_object)) {
        return true;
    }
    struct work_trouble trouble = {.repository = json_get_string(root, "repository", NULL),
                                   .message = json_get_string(root, "message", NULL),
                                   .since_ns = json_get_int(root, "since_ns", 0)};
    snprintf(trouble.owner, sizeof(trouble.owner), "%s", json_get_string(root, "owner", ""));
    if (trouble.repository == NULL || trouble.message == NULL || owner_is_dead(trouble.owner)) {
        return true;
    }
    return reading->fn(&trouble, reading->context);
}

int work_troubles_read(struct store *store, work_trouble_fn *fn, void *context,
                       struct rondo_error *err)
{
    struct trouble_reading reading = {.fn = fn, .context = context};
    const struct store_document_query query = {.collection = WORK_TROUBLE_COLLECTION};
    return store->ops->read_documents(store, &query, read_one, &reading, err);
}
