// SPDX-License-Identifier: Apache-2.0
/*
 * Reading warnings back. Documents are ordered by the bytes of their keys and keys begin with a
 * position in 20 digits, so the newest are the last. A filter is matched against the bytes of
 * the JSON, which is always written by warning_write: `"kind":"limit"` can occur in it as a member
 * only, because quotes inside texts are escaped.
 */
#include "alert/warning.h"

#include "base/json/json.h"

#include <string.h>

struct warning_listing {
    struct buf needles[3];
    size_t needle_count;
    uint32_t left;
    bool is_limited;
    warning_fn *fn;
    void *context;
};

static void add_needle(struct warning_listing *listing, const char *key, const char *value)
{
    if (value == NULL) {
        return;
    }
    auto_buf struct buf object = {0};
    struct json_writer writer = json_writer(&object);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, key, value);
    json_end_object(&writer);
    struct buf *needle = &listing->needles[listing->needle_count++];
    buf_append(needle, object.data + 1, object.len - 2); /* without the braces */
}

static bool take_warning(const struct store_document *document, void *context)
{
    struct warning_listing *listing = context;
    for (size_t i = 0; i < listing->needle_count; i++) {
        if (strstr(document->data, buf_string(&listing->needles[i])) == NULL) {
            return true;
        }
    }
    if (!listing->fn(document->key, document->data, listing->context)) {
        return false;
    }
    return !listing->is_limited || --listing->left > 0;
}

int warnings_read(struct store *store, const struct warning_query *query, warning_fn *fn,
                  void *context, struct rondo_error *err)
{
    struct warning_listing listing = {
        .left = query->limit,
        .is_limited = query->limit > 0,
        .fn = fn,
        .context = context,
    };
    add_needle(&listing, "run_id", query->run_id);
    add_needle(&listing, "agent_id", query->agent_id);
    add_needle(&listing, "kind",
               query->kind < 0 ? NULL : warning_kind_name((enum warning_kind)query->kind));
    struct store_document_query documents = {
        .collection = WARNING_COLLECTION,
        .after = query->before,
        .is_descending = true,
        .limit = listing.needle_count == 0 ? query->limit : 0,
    };
    int r = store->ops->read_documents(store, &documents, take_warning, &listing, err);
    for (size_t i = 0; i < listing.needle_count; i++) {
        buf_fini(&listing.needles[i]);
    }
    return r;
}
