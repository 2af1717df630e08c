// SPDX-License-Identifier: Apache-2.0
#include "tool/data/document_sweep.h"

#include "base/memory.h"
#include "store/store.h"
#include "tool/data/document_vectors.h"
#include "tool/data/documents.h"

#include <stdlib.h>
#include <string.h>

/** Documents of one transaction. */
#define BATCH 100

struct stale_document {
    const char *collection;
    char *key;
    uint64_t version;
};

struct sweep {
    int64_t before_ns;
    char (*kept)[DOCUMENT_KEY_PREFIX_SIZE]; /* beginnings of keys of agents that have a run */
    size_t kept_count;
    size_t kept_room;
    const char *collection; /* that is read */
    struct stale_document *stale;
    size_t stale_count;
    size_t stale_room;
};

static bool keep_agent(const struct store_run *run, void *context)
{
    struct sweep *sweep = context;
    if (run->ended_ns != 0 && run->ended_ns < sweep->before_ns) {
        return true;
    }
    char prefix[DOCUMENT_KEY_PREFIX_SIZE];
    document_key_prefix(run->agent_id, prefix);
    if (sweep->kept_count > 0 && strcmp(sweep->kept[sweep->kept_count - 1], prefix) == 0) {
        return true; /* Runs of one agent often follow each other. */
    }
    if (sweep->kept_count == sweep->kept_room) {
        sweep->kept_room = sweep->kept_room == 0 ? 64 : 2 * sweep->kept_room;
        sweep->kept = memory_resize(sweep->kept, sweep->kept_room, sizeof(*sweep->kept));
    }
    memcpy(sweep->kept[sweep->kept_count++], prefix, sizeof(prefix));
    return true;
}

static int compare_prefixes(const void *left, const void *right)
{
    return strcmp(left, right);
}

/** Whether a document is of an agent that has a run. One whose key has another form is left alone.
 */
static bool is_needed(const struct sweep *sweep, const char *key)
{
    char prefix[DOCUMENT_KEY_PREFIX_SIZE];
    const char *slash = strchr(key, '/');
    if (slash == NULL || slash - key + 2 > (ptrdiff_t)sizeof(prefix)) {
        return true;
    }
    memcpy(prefix, key, (size_t)(slash - key) + 1);
    prefix[slash - key + 1] = '\0';
    return sweep->kept_count > 0 && bsearch(prefix, sweep->kept, sweep->kept_count,
                                            sizeof(*sweep->kept), compare_prefixes) != NULL;
}

static bool gather(const struct store_document *document, void *context)
{
    struct sweep *sweep = context;
    if (document->updated_ns >= sweep->before_ns || is_needed(sweep, document->key)) {
        return true;
    }
    if (sweep->stale_count == sweep->stale_room) {
        sweep->stale_room = sweep->stale_room == 0 ? 64 : 2 * sweep->stale_room;
        sweep->stale = memory_resize(sweep->stale, sweep->stale_room, sizeof(*sweep->stale));
    }
    sweep->stale[sweep->stale_count++] =
        (struct stale_document){.collection = sweep->collection,
                                .key = memory_dup_string(document->key),
                                .version = document->version};
    return true;
}

static int find_stale(struct sweep *sweep, struct store *store, struct rondo_error *err)
{
    static const char *const collections[] = {DOCUMENT_PAGES_COLLECTION,
                                              DOCUMENT_VECTORS_COLLECTION};
    const struct store_run_query all = {0};
    int r = store->ops->list_runs(store, &all, keep_agent, sweep, err);
    if (sweep->kept_count > 0) {
        qsort(sweep->kept, sweep->kept_count, sizeof(*sweep->kept), compare_prefixes);
    }
    for (size_t i = 0; i < sizeof(collections) / sizeof(collections[0]) && r == 0; i++) {
        const struct store_document_query query = {.collection = collections[i]};
        sweep->collection = collections[i];
        r = store->ops->read_documents(store, &query, gather, sweep, err);
    }
    return r;
}

/** @param ret_count is added to. A batch in which a document has changed waits for the next time */
static int delete_stale(const struct sweep *sweep, struct store *store, uint64_t *ret_count,
                        struct rondo_error *err)
{
    int r = 0;
    for (size_t from = 0; from < sweep->stale_count && r == 0; from += BATCH) {
        struct store_change changes[BATCH];
        bool is_applied = false;
        size_t left = sweep->stale_count - from;
        size_t count = left < BATCH ? left : BATCH;
        for (size_t i = 0; i < count; i++) {
            const struct stale_document *stale = &sweep->stale[from + i];
            changes[i] = (struct store_change){.kind = STORE_DELETE,
                                               .collection = stale->collection,
                                               .key = stale->key,
                                               .if_version = (int64_t)stale->version};
        }
        r = store->ops->change_documents(store, changes, count, &is_applied, err);
        *ret_count += r == 0 && is_applied ? count : 0;
    }
    return r;
}

int document_sweep(struct store *store, int64_t before_ns, bool is_dry_run, uint64_t *ret_count,
                   struct rondo_error *err)
{
    struct sweep sweep = {.before_ns = before_ns};
    *ret_count = 0;
    int r = find_stale(&sweep, store, err);
    if (r == 0 && is_dry_run) {
        *ret_count = sweep.stale_count;
    } else if (r == 0) {
        r = delete_stale(&sweep, store, ret_count, err);
    }
    for (size_t i = 0; i < sweep.stale_count; i++) {
        free(sweep.stale[i].key);
    }
    free(sweep.stale);
    free(sweep.kept);
    return r;
}
