// SPDX-License-Identifier: Apache-2.0
#include "issues/gc.h"

#include "base/memory.h"
#include "issues/request.h"

#include <stdlib.h>

struct old_item {
    char *key;
    uint64_t version;
};

struct item_sweeping {
    int64_t before_ns;
    struct old_item *items;
    size_t count;
};

static bool is_over_for_good(const struct item *item)
{
    switch (item->state) {
    case ITEM_FENCED:
        return true;
    case ITEM_DONE:
    case ITEM_CANCELLED:
        return item->is_released;
    case ITEM_ASSIGNED:
    case ITEM_IN_PROGRESS:
    case ITEM_IN_REVIEW:
    case ITEM_RETRY_LATER:
    case ITEM_BLOCKED:
    case ITEM_NEEDS_HUMAN:
    case ITEM_STATE_COUNT:
        return false;
    }
    return false;
}

static bool note_old(const struct item *item, void *context)
{
    struct item_sweeping *sweeping = context;
    if (is_over_for_good(item) && item->updated_ns < sweeping->before_ns) {
        sweeping->items =
            memory_resize(sweeping->items, sweeping->count + 1, sizeof(*sweeping->items));
        sweeping->items[sweeping->count++] =
            (struct old_item){.key = memory_dup_string(item->key), .version = item->version};
    }
    return true;
}

/** Unless it has changed since. */
static int delete_item(struct store *store, const struct old_item *item, uint64_t *ret_count,
                       struct rondo_error *err)
{
    const struct store_change changes[] = {
        {.kind = STORE_DELETE,
         .collection = ITEM_COLLECTION,
         .key = item->key,
         .if_version = (int64_t)item->version},
        {.kind = STORE_DELETE,
         .collection = ITEM_REQUEST_COLLECTION,
         .key = item->key,
         .if_version = STORE_ANY_VERSION},
    };
    bool is_applied = false;
    int r = store->ops->change_documents(store, changes, 2, &is_applied, err);
    *ret_count += r == 0 && is_applied ? 1 : 0;
    return r;
}

int items_gc(struct store *store, int64_t changed_before_ns, bool is_dry_run, uint64_t *ret_count,
             struct rondo_error *err)
{
    struct item_sweeping sweeping = {.before_ns = changed_before_ns};
    int read = items_read(store, NULL, note_old, &sweeping, err);
    int r = read == RONDO_ERR_CORRUPT || read == RONDO_ERR_VERSION ? 0 : read;
    for (size_t i = 0; i < sweeping.count; i++) {
        if (r == 0 && is_dry_run) {
            ++*ret_count;
        } else if (r == 0) {
            r = delete_item(store, &sweeping.items[i], ret_count, err);
        }
        free(sweeping.items[i].key);
    }
    free(sweeping.items);
    return r < 0 ? r : read;
}
