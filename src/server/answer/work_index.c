// SPDX-License-Identifier: Apache-2.0
/* The store gives documents in the order of keys, and so are the places of the last time: both are
 * gone through side by side. */
#include "server/answer/work_index.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct work_places {
    struct work_place *list;
    size_t count;
    size_t room;
};

struct work_index {
    pthread_mutex_t lock;
    struct work_places places;
};

struct work_index *work_index_new(void)
{
    struct work_index *index = memory_new_zero(1, sizeof(*index));
    pthread_mutex_init(&index->lock, NULL);
    return index;
}

static void free_place(struct work_place *place)
{
    free(place->key);
    free(place->repository);
    free(place->damage);
    *place = (struct work_place){0};
}

static void free_places(struct work_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        free_place(&places->list[i]);
    }
    free(places->list);
    *places = (struct work_places){0};
}

void work_index_free(struct work_index *index)
{
    if (index != NULL) {
        free_places(&index->places);
        pthread_mutex_destroy(&index->lock);
        free(index);
    }
}

/** Documents beside the places of the last time. */
struct work_merge {
    struct work_places *before;
    size_t at; /* the first one that was not passed */
    struct work_places after;
};

static bool is_unchanged(const struct work_place *place, const struct store_document *document)
{
    return strcmp(place->key, document->key) == 0 && place->version == document->version &&
           place->written_ns == document->updated_ns;
}

static struct work_place make_place(const struct store_document *document)
{
    struct item item = {0};
    struct rondo_error err = {0};
    struct work_place place = {
        .key = memory_dup_string(document->key),
        .version = document->version,
        .written_ns = document->updated_ns,
    };
    if (item_decode(document->key, document->data, document->data_len, &item, &err) < 0) {
        place.damage = memory_dup_string(err.message);
        return place;
    }
    place.repository = memory_dup_string(item.repository);
    place.state = item.state;
    place.updated_ns = item.updated_ns;
    item_fini(&item);
    return place;
}

static bool merge(const struct store_document *document, void *context)
{
    struct work_merge *merge = context;
    struct work_places *before = merge->before;
    struct work_places *after = &merge->after;
    while (merge->at < before->count &&
           strcmp(before->list[merge->at].key, document->key) < 0) { /* it was deleted */
        free_place(&before->list[merge->at++]);
    }
    if (after->count == after->room) {
        after->room = after->room == 0 ? 64 : after->room * 2;
        after->list = memory_resize(after->list, after->room, sizeof(*after->list));
    }
    if (merge->at < before->count && is_unchanged(&before->list[merge->at], document)) {
        after->list[after->count++] = before->list[merge->at];
        before->list[merge->at++] = (struct work_place){0};
    } else {
        after->list[after->count++] = make_place(document);
    }
    return true;
}

/** Under the lock. What was read when the store fails is kept: it is whole, as far as it goes. */
static int refresh(struct work_index *index, struct store *store, struct rondo_error *err)
{
    struct work_merge merging = {.before = &index->places};
    const struct store_document_query query = {.collection = ITEM_COLLECTION};
    int r = store->ops->read_documents(store, &query, merge, &merging, err);
    free_places(&index->places);
    index->places = merging.after;
    return r;
}

int work_index_read(struct work_index *index, struct store *store, work_place_fn *fn, void *context,
                    struct rondo_error *err)
{
    pthread_mutex_lock(&index->lock);
    int r = refresh(index, store, err);
    for (size_t i = 0; r == 0 && i < index->places.count; i++) {
        fn(&index->places.list[i], context);
    }
    pthread_mutex_unlock(&index->lock);
    return r;
}
