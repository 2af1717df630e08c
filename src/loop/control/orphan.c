// SPDX-License-Identifier: Apache-2.0
/* Documents about runs whose process died and that nobody holds. */
#include "loop/control/orphan.h"

static int change(struct store *store, enum store_change_kind kind, const char *run_id,
                  struct rondo_error *err)
{
    struct store_change change = {
        .kind = kind,
        .collection = ORPHAN_COLLECTION,
        .key = run_id,
        .data = kind == STORE_PUT ? "{}" : NULL,
        .data_len = kind == STORE_PUT ? 2 : 0,
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int orphan_mark(struct store *store, const char *run_id, struct rondo_error *err)
{
    return change(store, STORE_PUT, run_id, err);
}

static bool see(const struct store_document *document, void *context)
{
    (void)document;
    *(bool *)context = true;
    return false;
}

bool orphan_is_marked(struct store *store, const char *run_id)
{
    bool is_marked = false;
    struct store_document_query query = {.collection = ORPHAN_COLLECTION, .key = run_id};
    return store->ops->read_documents(store, &query, see, &is_marked, NULL) == 0 && is_marked;
}

void orphan_clear(struct store *store, const char *run_id)
{
    (void)change(store, STORE_DELETE, run_id, NULL);
}
