// SPDX-License-Identifier: Apache-2.0
/* Each handoff is deleted in a transaction, on condition that it is as it was read. */
#include "handoff/storage/sweep.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/record.h"
#include "handoff/storage/store.h"
#include "handoff/timer.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Documents that are read at once. */
#define PAGE 200

struct sweep_key {
    char text[STORE_KEY_LEN + 1];
    char id[ID_SIZE]; /**< of the handoff that a message is about */
    uint64_t version;
};

/** Documents of one page: all are passed, some are chosen. */
struct sweep_page {
    int64_t before_ns;
    bool are_messages;
    struct sweep_key chosen[PAGE];
    size_t count;
    size_t passed;
    char last[STORE_KEY_LEN + 1];
};

/** A run of this store may still look at what was decided about its calls. */
static bool has_run(struct store *store, const struct handoff *handoff)
{
    struct store_run run;
    return !handoff->is_foreign && store->ops->get_run(store, handoff->lane_id, &run, NULL) == 0 &&
           run.summary.status == RONDO_RUNNING;
}

static bool is_old(const struct store_document *document, int64_t before_ns)
{
    struct handoff handoff;
    return handoff_decode(document->data, document->data_len, &handoff, NULL) == 0 &&
           handoff.decided_ns != 0 && handoff.decided_ns < before_ns &&
           handoff_timer(&handoff, &handoff_default_rules).kind == TIMER_NONE;
}

static void choose(struct sweep_page *page, const struct store_document *document)
{
    struct sweep_key *key = &page->chosen[page->count];
    auto_json struct json_object *root = NULL;
    *key = (struct sweep_key){.version = document->version};
    snprintf(key->text, sizeof(key->text), "%s", document->key);
    if (!page->are_messages) {
        page->count += is_old(document, page->before_ns) ? 1 : 0;
    } else if (document->updated_ns < page->before_ns &&
               json_parse(document->data, document->data_len, &root, NULL) == 0) {
        snprintf(key->id, sizeof(key->id), "%s", json_get_string(root, "request_id", ""));
        page->count++;
    }
}

static bool take(const struct store_document *document, void *context)
{
    struct sweep_page *page = context;
    choose(page, document);
    page->passed++;
    snprintf(page->last, sizeof(page->last), "%s", document->key);
    return true;
}

static int read_page(struct store *store, const char *collection, struct sweep_page *page,
                     struct rondo_error *err)
{
    char after[STORE_KEY_LEN + 1];
    struct store_document_query query = {.collection = collection, .after = after, .limit = PAGE};
    memcpy(after, page->last, sizeof(after));
    page->count = 0;
    page->passed = 0;
    return store->ops->read_documents(store, &query, take, page, err);
}

/* ---- Handoffs ------------------------------------------------------------------------------- */

/** Delete what is kept beside a handoff, a page at a time. */
static int delete_beside(struct store *store, const char *collection, const char *id,
                         struct rondo_error *err)
{
    auto_free struct sweep_page *page = memory_new_zero(1, sizeof(*page));
    char prefix[ID_SIZE + 1];
    struct store_document_query query = {.collection = collection, .prefix = prefix, .limit = PAGE};
    int r = 0;
    snprintf(prefix, sizeof(prefix), "%s/", id);
    page->are_messages = true;
    page->before_ns = INT64_MAX;
    do {
        struct store_change changes[PAGE];
        bool is_applied = false;
        page->count = 0;
        r = store->ops->read_documents(store, &query, take, page, err);
        for (size_t i = 0; i < page->count; i++) {
            changes[i] = (struct store_change){.kind = STORE_DELETE,
                                               .collection = collection,
                                               .key = page->chosen[i].text,
                                               .if_version = STORE_ANY_VERSION};
        }
        if (r == 0 && page->count > 0) {
            r = store->ops->change_documents(store, changes, page->count, &is_applied, err);
        }
    } while (r == 0 && page->count == PAGE);
    return r;
}

/** The record goes last: what a kill leaves is found again by it. */
static int delete_handoff(struct store *store, const struct sweep_key *key, bool *ret_is_deleted,
                          struct rondo_error *err)
{
    struct store_change change = {.kind = STORE_DELETE,
                                  .collection = HANDOFF_COLLECTION,
                                  .key = key->text,
                                  .if_version = (int64_t)key->version};
    int r = delete_beside(store, HANDOFF_BODY_COLLECTION, key->text, err);
    r = r < 0 ? r : delete_beside(store, HANDOFF_THREAD_COLLECTION, key->text, err);
    return r < 0 ? r : store->ops->change_documents(store, &change, 1, ret_is_deleted, err);
}

static int sweep_handoffs(struct store *store, struct sweep_page *page, bool is_dry_run,
                          uint64_t *count, struct rondo_error *err)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    int r = read_page(store, HANDOFF_COLLECTION, page, err);
    for (size_t i = 0; i < page->count && r == 0; i++) {
        struct handoff handoff;
        bool is_deleted = is_dry_run;
        if (handoff_read(&handoffs, page->chosen[i].text, &handoff, NULL) < 0 ||
            has_run(store, &handoff)) {
            continue;
        }
        r = is_dry_run ? 0 : delete_handoff(store, &page->chosen[i], &is_deleted, err);
        *count += is_deleted ? 1 : 0;
    }
    return r;
}

/* ---- Messages ------------------------------------------------------------------------------- */

/** Messages about handoffs that are gone, which nobody has fetched. */
static int sweep_messages(struct store *store, struct sweep_page *page, struct rondo_error *err)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    int r = read_page(store, HANDOFF_OUTBOX_COLLECTION, page, err);
    for (size_t i = 0; i < page->count && r == 0; i++) {
        struct handoff handoff;
        bool is_applied = false;
        struct store_change change = {.kind = STORE_DELETE,
                                      .collection = HANDOFF_OUTBOX_COLLECTION,
                                      .key = page->chosen[i].text,
                                      .if_version = STORE_ANY_VERSION};
        if (handoff_read(&handoffs, page->chosen[i].id, &handoff, NULL) == RONDO_ERR_NOT_FOUND) {
            r = store->ops->change_documents(store, &change, 1, &is_applied, err);
        }
    }
    return r;
}

int handoff_sweep(struct store *store, int64_t before_ns, bool is_dry_run, uint64_t *ret_count,
                  struct rondo_error *err)
{
    auto_free struct sweep_page *page = memory_new_zero(1, sizeof(*page));
    uint64_t count = 0;
    int r = 0;
    page->before_ns = before_ns;
    do {
        r = sweep_handoffs(store, page, is_dry_run, &count, err);
    } while (r == 0 && page->passed == PAGE);
    page->are_messages = true;
    page->last[0] = '\0';
    if (!is_dry_run) {
        do {
            r = r < 0 ? r : sweep_messages(store, page, err);
        } while (r == 0 && page->passed == PAGE);
    }
    *ret_count = count;
    return r;
}
