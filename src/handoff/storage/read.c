// SPDX-License-Identifier: Apache-2.0
/* Reading handoffs, and what has changed of them. */
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/audit/entry.h"
#include "handoff/storage/store.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Handoffs that are looked at in one reading: a record is read between two of them. */
#define PAGE 256

/* ---- Open ones ------------------------------------------------------------------------------ */

struct open_page {
    char (*ids)[STORE_KEY_LEN + 1];
    size_t count;
};

static bool take_id(const struct store_document *document, void *context)
{
    struct open_page *page = context;
    snprintf(page->ids[page->count++], sizeof(page->ids[0]), "%s", document->key);
    return true;
}

/** @return 1 to continue, 0 when the reader has enough, or a code */
static int give_page(const struct handoff_store *handoffs, const struct open_page *page,
                     handoff_fn *fn, void *context, bool *ret_is_damaged, struct rondo_error *err)
{
    for (size_t i = 0; i < page->count; i++) {
        struct handoff handoff;
        int r = handoff_read(handoffs, page->ids[i], &handoff, err);
        bool is_damaged = r == RONDO_ERR_CORRUPT || r == RONDO_ERR_NOT_FOUND;
        *ret_is_damaged = *ret_is_damaged || is_damaged;
        if (r < 0 && !is_damaged) {
            return r;
        }
        if (r == 0 && !fn(&handoff, context)) {
            return 0;
        }
    }
    return 1;
}

int handoff_read_open(const struct handoff_store *handoffs, handoff_fn *fn, void *context,
                      struct rondo_error *err)
{
    struct store *store = handoffs->store;
    struct open_page page = {.ids = memory_new_zero(PAGE, sizeof(*page.ids))};
    char after[STORE_KEY_LEN + 1] = "";
    struct rondo_error own = {0};
    bool is_damaged = false;
    int r = 1;
    err = err == NULL ? &own : err;
    do {
        struct store_document_query query = {
            .collection = HANDOFF_OPEN_COLLECTION, .after = after, .limit = PAGE};
        page.count = 0;
        r = store->ops->read_documents(store, &query, take_id, &page, err);
        r = r < 0 ? r : give_page(handoffs, &page, fn, context, &is_damaged, err);
        if (page.count > 0) {
            memcpy(after, page.ids[page.count - 1], sizeof(after));
        }
    } while (r == 1 && page.count == PAGE);
    free(page.ids);
    return r < 0 ? r : is_damaged ? RONDO_ERR_CORRUPT : 0;
}

/* ---- Summaries ------------------------------------------------------------------------------ */

struct summary_page {
    const struct handoff_store *handoffs;
    handoff_summary_fn *fn;
    void *context;
    struct handoff_summary found;
    bool is_found;
    bool is_damaged;
    char (*ids)[STORE_KEY_LEN + 1]; /**< of those that an older version wrote */
    size_t count;
};

static bool take_summary(const struct store_document *document, void *context)
{
    struct summary_page *page = context;
    if (handoff_summary_decode(document->key, document->data, document->data_len, &page->found,
                               NULL) == 0) {
        page->is_found = true;
        return page->fn == NULL || page->fn(&page->found, page->context);
    }
    page->is_damaged = true;
    if (page->ids != NULL) {
        page->ids = memory_resize(page->ids, page->count + 1, sizeof(*page->ids));
        snprintf(page->ids[page->count++], sizeof(page->ids[0]), "%s", document->key);
    }
    return true;
}

/** An older version of Rondo has written no summary: make it. */
static int make_summary(const struct handoff_store *handoffs, const char *request_id,
                        struct handoff_summary *ret_summary, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    auto_json struct json_object *root = NULL;
    struct handoff handoff;
    int r = handoff_read(handoffs, request_id, &handoff, err);
    if (r < 0) {
        return r;
    }
    r = handoff_read_body(handoffs, request_id, 1, &body, err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        return r;
    }
    if (r == 0 && json_parse(buf_string(&body), body.len, &root, NULL) < 0) {
        root = NULL;
    }
    handoff_summarise(&handoff, handoffs->rules,
                      json_get_string(json_member(root, "action"), "tool", ""),
                      json_get_string(json_member(root, "trigger"), "message", ""), ret_summary);
    return 0;
}

int handoff_read_summary(const struct handoff_store *handoffs, const char *request_id,
                         struct handoff_summary *ret_summary, struct rondo_error *err)
{
    struct summary_page page = {0};
    struct store_document_query query = {.collection = HANDOFF_OPEN_COLLECTION, .key = request_id};
    struct store *store = handoffs->store;
    int r = store->ops->read_documents(store, &query, take_summary, &page, err);
    if (r < 0) {
        return r;
    }
    if (page.is_found) {
        *ret_summary = page.found;
        return 0;
    }
    return page.is_damaged
               ? make_summary(handoffs, request_id, ret_summary, err)
               : error_set(err, RONDO_ERR_NOT_FOUND, "handoff %.60s is not open", request_id);
}

int handoff_read_summaries(const struct handoff_store *handoffs, handoff_summary_fn *fn,
                           void *context, struct rondo_error *err)
{
    struct store *store = handoffs->store;
    struct summary_page page = {.fn = fn, .context = context};
    struct store_document_query query = {.collection = HANDOFF_OPEN_COLLECTION};
    bool is_damaged = false;
    page.ids = memory_new_zero(1, sizeof(*page.ids));
    int r = store->ops->read_documents(store, &query, take_summary, &page, err);
    for (size_t i = 0; i < page.count && r == 0; i++) {
        struct handoff_summary summary;
        int made = make_summary(handoffs, page.ids[i], &summary, err);
        is_damaged = is_damaged || made == RONDO_ERR_CORRUPT;
        r = made == RONDO_ERR_CORRUPT || made == RONDO_ERR_NOT_FOUND ? 0 : made;
        if (made == 0 && !fn(&summary, context)) {
            break;
        }
    }
    free(page.ids);
    return r < 0 ? r : is_damaged ? RONDO_ERR_CORRUPT : 0;
}

/* ---- What was said -------------------------------------------------------------------------- */

static bool take_text(const struct store_document *document, void *context)
{
    buf_append(context, document->data, document->data_len);
    return false;
}

int handoff_read_body(const struct handoff_store *handoffs, const char *request_id,
                      uint32_t revision, struct buf *ret_json, struct rondo_error *err)
{
    char key[ID_SIZE + 16];
    size_t before = ret_json->len;
    snprintf(key, sizeof(key), "%s/%010" PRIu32, request_id, revision);
    struct store_document_query query = {.collection = HANDOFF_BODY_COLLECTION, .key = key};
    int r = handoffs->store->ops->read_documents(handoffs->store, &query, take_text, ret_json, err);
    if (r == 0 && ret_json->len == before) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no revision %" PRIu32 " of handoff %s",
                         revision, request_id);
    }
    return r;
}

struct thread_reading {
    handoff_remark_fn *fn;
    void *context;
    int r;
    struct rondo_error *err;
};

static bool give_remark(const struct store_document *document, void *context)
{
    struct thread_reading *reading = context;
    auto_json struct json_object *root = NULL;
    struct json_object *details = NULL;
    if (json_parse_strict(document->data, document->data_len, &root, NULL) < 0 ||
        json_get_int(root, "format", 0) != 1 ||
        !json_object_object_get_ex(root, "details", &details)) {
        reading->r = error_set(reading->err, RONDO_ERR_CORRUPT,
                               "remark %.80s of a handoff cannot be read", document->key);
        return false;
    }
    struct handoff_remark remark = {
        .kind = json_get_string(root, "kind", ""),
        .actor = json_get_string(root, "actor", ""),
        .role = json_get_string(root, "role", ""),
        .decision_id = json_get_string(root, "decision_id", ""),
        .time_ns = json_get_int(root, "time_ns", 0),
        .details = json_object_to_json_string_ext(details, JSON_C_TO_STRING_PLAIN),
    };
    return reading->fn(&remark, reading->context);
}

int handoff_read_thread(const struct handoff_store *handoffs, const char *request_id,
                        handoff_remark_fn *fn, void *context, struct rondo_error *err)
{
    char prefix[ID_SIZE + 1];
    struct thread_reading reading = {.fn = fn, .context = context, .err = err};
    snprintf(prefix, sizeof(prefix), "%s/", request_id);
    struct store_document_query query = {.collection = HANDOFF_THREAD_COLLECTION, .prefix = prefix};
    int r =
        handoffs->store->ops->read_documents(handoffs->store, &query, give_remark, &reading, err);
    return r < 0 ? r : reading.r;
}

/* ---- What has changed ----------------------------------------------------------------------- */

struct change_page {
    struct {
        uint64_t number;
        char kind[32];
        char request_id[ID_SIZE];
    } * entries;
    size_t count;
    int r;
    struct rondo_error *err;
};

static bool take_change(const struct store_document *document, void *context)
{
    struct change_page *page = context;
    auto_json struct json_object *root = NULL;
    if (json_parse_strict(document->data, document->data_len, &root, NULL) < 0) {
        page->r = error_set(page->err, RONDO_ERR_CORRUPT,
                            "entry %.40s of the audit chain cannot be read", document->key);
        return false;
    }
    size_t i = page->count++;
    page->entries[i].number = (uint64_t)json_get_int(root, "seq", 0);
    snprintf(page->entries[i].kind, sizeof(page->entries[i].kind), "%s",
             json_get_string(root, "kind", ""));
    snprintf(page->entries[i].request_id, ID_SIZE, "%s", json_get_string(root, "request_id", ""));
    return true;
}

/** @return 1 to continue, 0 when the reader has enough or there are no more, or a code */
static int give_changes(const struct handoff_store *handoffs, uint64_t after,
                        struct change_page *page, audit_entry_fn *fn, void *context,
                        struct rondo_error *err)
{
    char key[24];
    struct store *store = handoffs->store;
    snprintf(key, sizeof(key), "%020" PRIu64, after);
    struct store_document_query query = {
        .collection = AUDIT_COLLECTION, .after = key, .limit = PAGE};
    page->count = 0;
    int r = store->ops->read_documents(store, &query, take_change, page, err);
    r = r < 0 ? r : page->r;
    for (size_t i = 0; i < page->count && r == 0; i++) {
        bool goes_on = fn(page->entries[i].number, page->entries[i].kind,
                          page->entries[i].request_id, context);
        r = goes_on ? 0 : 1;
    }
    return r < 0 ? r : r == 0 && page->count == PAGE ? 1 : 0;
}

int handoff_read_changes(const struct handoff_store *handoffs, uint64_t after, audit_entry_fn *fn,
                         void *context, struct rondo_error *err)
{
    struct change_page page = {.entries = memory_new_zero(PAGE, sizeof(*page.entries)), .err = err};
    int r = 1;
    while (r == 1) {
        r = give_changes(handoffs, after, &page, fn, context, err);
        after = page.count > 0 ? page.entries[page.count - 1].number : after;
    }
    free(page.entries);
    return r;
}

static bool take_size(const struct store_document *document, void *context)
{
    struct audit_head head = {0};
    if (audit_head_decode(document->data, document->data_len, &head, NULL) == 0) {
        *(uint64_t *)context = head.size;
    }
    return false;
}

int handoff_read_position(const struct handoff_store *handoffs, uint64_t *ret_position,
                          struct rondo_error *err)
{
    struct store_document_query query = {.collection = AUDIT_HEAD_COLLECTION};
    *ret_position = 0;
    return handoffs->store->ops->read_documents(handoffs->store, &query, take_size, ret_position,
                                                err);
}
