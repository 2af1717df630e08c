// SPDX-License-Identifier: Apache-2.0
/* Runs in pages, so that what is called for one may read the same store. */
#include "store/transfer/listing.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/** Runs that are listed at a time. */
#define PAGE 256

struct transfer_page {
    struct store_run runs[PAGE];
    size_t count;
};

static bool take_run(const struct store_run *run, void *context)
{
    struct transfer_page *page = context;
    page->runs[page->count++] = *run;
    return true;
}

static int list_page(struct store *store, const struct store_run_place *after,
                     struct transfer_page *page, struct rondo_error *err)
{
    const struct store_run_query query = {
        .order = STORE_BY_CREATED,
        .is_ascending = true,
        .after = after->id[0] != '\0' ? after : NULL,
        .limit = PAGE,
    };
    page->count = 0;
    return store->ops->list_runs(store, &query, take_run, page, err);
}

int transfer_each_run(struct store *store, struct store_run_place after, transfer_run_fn *fn,
                      void *context, struct rondo_error *err)
{
    struct transfer_page *page = memory_new_zero(1, sizeof(*page));
    int r = list_page(store, &after, page, err);
    while (r == 0 && page->count > 0) {
        for (size_t i = 0; r == 0 && i < page->count; i++) {
            r = fn(context, &page->runs[i]);
        }
        const struct store_run *last = &page->runs[page->count - 1];
        after.number = last->created_ns;
        memcpy(after.id, last->id, sizeof(after.id));
        r = r < 0 ? r : list_page(store, &after, page, err);
    }
    free(page);
    return r;
}

int transfer_count_runs(struct store *store, uint64_t *ret_count, struct rondo_error *err)
{
    const struct store_run_query query = {0};
    struct store_run_counts counts = {0};
    int r = store->ops->count_runs(store, &query, &counts, err);
    *ret_count = 0;
    for (size_t i = 0; i < RONDO_STATUS_COUNT; i++) {
        *ret_count += counts.by_status[i];
    }
    return r;
}
