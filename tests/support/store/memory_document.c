// SPDX-License-Identifier: Apache-2.0
/*
 * Documents of the memory back end: one sorted array. All changes are decided about before the
 * first is applied, so that there is never anything to roll back. Threads: one mutex over
 * everything, callbacks included.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct memory_document *document, const char *collection, const char *key)
{
    int order = strcmp(document->collection, collection);
    return order != 0 ? order : strcmp(document->key, key);
}

/** Index of the first document at or after this place. */
static size_t lower_bound(const struct document_array *array, const char *collection,
                          const char *key)
{
    size_t low = 0;
    size_t high = array->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(array->items[middle], collection, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct document_array *array, size_t i, const char *collection,
                  const char *key)
{
    return i < array->count && compare(array->items[i], collection, key) == 0;
}

static void free_document(struct memory_document *document)
{
    free(document->data);
    free(document);
}

/** Delete the documents from `first` up to but without `end`. */
static void delete_range(struct document_array *array, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        free_document(array->items[i]);
    }
    if (first < end) {
        memmove(array->items + first, array->items + end,
                (array->count - end) * sizeof(*array->items));
        array->count -= end - first;
    }
}

static struct memory_document *insert_at(struct document_array *array, size_t i,
                                         const struct store_change *change)
{
    if (array->count == array->size) {
        array->size = array->size == 0 ? 8 : array->size * 2;
        array->items = memory_resize(array->items, array->size, sizeof(*array->items));
    }
    struct memory_document *document = memory_new_zero(1, sizeof(*document));
    snprintf(document->collection, sizeof(document->collection), "%s", change->collection);
    snprintf(document->key, sizeof(document->key), "%s", change->key);
    memmove(array->items + i + 1, array->items + i, (array->count - i) * sizeof(*array->items));
    array->items[i] = document;
    array->count++;
    return document;
}

static void put(struct document_array *array, size_t i, const struct store_change *change,
                int64_t now_ns)
{
    struct memory_document *document = is_at(array, i, change->collection, change->key)
                                           ? array->items[i]
                                           : insert_at(array, i, change);
    free(document->data);
    document->data = memory_dup_bytes(change->data, change->data_len);
    document->data_len = change->data_len;
    document->version++;
    document->updated_ns = now_ns;
}

static void apply(struct memory_store *store, const struct store_change *change, int64_t now_ns)
{
    struct document_array *array = &store->documents;
    size_t i = lower_bound(array, change->collection, change->key);
    size_t behind = i + is_at(array, i, change->collection, change->key);
    switch (change->kind) {
    case STORE_PUT:
        /* The real store would take it, and call itself damaged when it is read. */
        assert(json_parse(change->data, change->data_len, NULL, NULL) == 0);
        put(array, i, change, now_ns);
        break;
    case STORE_DELETE:
        delete_range(array, i, behind);
        break;
    case STORE_DELETE_UP_TO:
        delete_range(array, lower_bound(array, change->collection, ""), behind);
        break;
    }
}

uint64_t memory_document_version(const struct memory_store *store, const char *collection,
                                 const char *key)
{
    const struct document_array *array = &store->documents;
    size_t i = lower_bound(array, collection, key);
    return is_at(array, i, collection, key) ? array->items[i]->version : 0;
}

void memory_update_document(struct memory_store *store, const struct store_update *update)
{
    const struct document_array *array = &store->documents;
    size_t i = lower_bound(array, update->collection, update->key);
    const struct memory_document *present =
        is_at(array, i, update->collection, update->key) ? array->items[i] : NULL;
    auto_buf struct buf data = {0};
    if (update->change(update->context, present == NULL ? NULL : present->data,
                       present == NULL ? 0 : present->data_len, &data)) {
        struct store_change change = rules_change_of(update, &data);
        int r = rules_check_change(&change, NULL);
        assert(r == 0);
        (void)r;
        apply(store, &change, clock_now(store->clock));
    }
}

/** The version that change `i` will meet when those before it are applied. */
static uint64_t version_before(const struct memory_store *store, const struct store_change *changes,
                               size_t i)
{
    const struct store_change *wanted = &changes[i];
    const struct document_array *array = &store->documents;
    size_t place = lower_bound(array, wanted->collection, wanted->key);
    uint64_t version =
        is_at(array, place, wanted->collection, wanted->key) ? array->items[place]->version : 0;
    for (size_t j = 0; j < i; j++) {
        int order = strcmp(changes[j].key, wanted->key);
        if (strcmp(changes[j].collection, wanted->collection) != 0 || order < 0 ||
            (order > 0 && changes[j].kind != STORE_DELETE_UP_TO)) {
            continue;
        }
        version = changes[j].kind == STORE_PUT ? version + 1 : 0;
    }
    return version;
}

static bool fit_all(const struct memory_store *store, const struct store_change *changes,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (changes[i].if_version != STORE_ANY_VERSION &&
            !rules_fits_version(&changes[i], version_before(store, changes, i))) {
            return false;
        }
    }
    return true;
}

int memory_change_documents(struct store *base, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rules_check_change(&changes[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    struct memory_store *store = memory_rows_lock(base);
    int64_t now_ns = clock_now(store->clock);
    bool is_applied = fit_all(store, changes, count);
    for (size_t i = 0; is_applied && i < count; i++) {
        apply(store, &changes[i], now_ns);
    }
    memory_rows_unlock(store);
    *ret_is_applied = is_applied;
    return 0;
}

static bool give_document(const struct memory_document *document, store_document_fn *fn,
                          void *context)
{
    const struct store_document view = {
        .collection = document->collection,
        .key = document->key,
        .data = document->data,
        .data_len = document->data_len,
        .version = document->version,
        .updated_ns = document->updated_ns,
    };
    return fn(&view, context);
}

static void give_range(const struct document_array *array, size_t first, size_t end,
                       const struct store_document_query *query, store_document_fn *fn,
                       void *context)
{
    size_t count = first < end ? end - first : 0;
    if (query->limit != 0 && query->limit < count) {
        count = query->limit;
    }
    for (size_t i = 0; i < count; i++) {
        size_t place = query->is_descending ? end - 1 - i : first + i;
        if (!give_document(array->items[place], fn, context)) {
            return;
        }
    }
}

int memory_next_collection(struct store *base, const char *after,
                           char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    const struct document_array *array = &store->documents;
    size_t next = 0;
    while (next < array->count && strcmp(array->items[next]->collection, after) <= 0) {
        next++;
    }
    const char *name = next < array->count ? array->items[next]->collection : "";
    memcpy(ret_name, name, strlen(name) + 1);
    memory_rows_unlock(store);
    return 0;
}

int memory_read_documents(struct store *base, const struct store_document_query *query,
                          store_document_fn *fn, void *context, struct rondo_error *err)
{
    (void)err;
    const struct rules_key_range range = rules_key_range(query);
    struct memory_store *store = memory_rows_lock(base);
    const struct document_array *array = &store->documents;
    size_t first =
        lower_bound(array, query->collection, query->key != NULL ? query->key : range.low);
    size_t end = query->key != NULL ? first + is_at(array, first, query->collection, query->key)
                                    : lower_bound(array, query->collection, range.end);
    give_range(array, first, end, query, fn, context);
    memory_rows_unlock(store);
    return 0;
}

void memory_document_free_all(struct memory_store *store)
{
    delete_range(&store->documents, 0, store->documents.count);
    free(store->documents.items);
}
