// SPDX-License-Identifier: Apache-2.0
#include "handoff/desks/reach.h"

#include "base/error.h"
#include "store/store.h"

#include <string.h>

#define COLLECTION "desks-in-reach"
#define KEY        "workspace"
#define NOTE       "{\"format\":1}"

static bool found(const struct store_document *document, void *context)
{
    (void)document;
    *(bool *)context = true;
    return false;
}

static int read_note(struct store *store, bool *ret_is_noted, struct rondo_error *err)
{
    struct store_document_query query = {.collection = COLLECTION, .key = KEY};
    *ret_is_noted = false;
    return store->ops->read_documents(store, &query, found, ret_is_noted, err);
}

static int write_note(struct store *store, struct rondo_error *err)
{
    bool is_applied = false;
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = COLLECTION,
                                  .key = KEY,
                                  .data = NOTE,
                                  .data_len = strlen(NOTE),
                                  .if_version = STORE_ANY_VERSION};
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int desks_guard(struct store *store, struct desks_watch *watch, struct rondo_error *err)
{
    bool is_noted = true;
    int r = desks_watch_is_guarded(watch) ? 0 : read_note(store, &is_noted, err);
    r = r < 0 || is_noted ? r : write_note(store, err);
    if (r == 0) {
        desks_watch_guard(watch);
    }
    return r;
}

const struct desks *desks_look(struct store *store, struct desks_watch *watch)
{
    bool is_noted = false;
    if (desks_watch_path(watch) != NULL && !desks_watch_is_guarded(watch) &&
        (read_note(store, &is_noted, NULL) < 0 || is_noted)) {
        desks_watch_guard(watch);
    }
    return desks_watch_look(watch);
}
