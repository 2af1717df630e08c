// SPDX-License-Identifier: Apache-2.0
/* Refusals as documents. */
#include "source/intake/refusal.h"

#include "base/json/json.h"
#include "store/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[REFUSAL_KIND_COUNT] = {"refused", "dropped", "coalesced",
                                                           "full", "late"};

/** How the sentence about one begins; its reason follows. */
static const char *const kind_words[REFUSAL_KIND_COUNT] = {
    [REFUSAL_REFUSED] = "an event was refused: ",
    [REFUSAL_DROPPED] = "an event was dropped: ",
    [REFUSAL_COALESCED] = "two events became one run: ",
    [REFUSAL_FULL] = "events are held back at their source: ",
    [REFUSAL_LATE] = "a trigger is late: ",
};

const char *refusal_kind_name(enum refusal_kind kind)
{
    return kind_names[kind];
}

void refusal_sentence(const struct start_refusal *refusal, struct buf *ret_text)
{
    buf_append_string(ret_text, kind_words[refusal->kind]);
    buf_append_string(ret_text, refusal->reason);
    if (refusal->source[0] != '\0') {
        buf_printf(ret_text, " (%s)", refusal->source);
    }
    if (refusal->unsaid > 1) {
        buf_printf(ret_text, "; and %" PRIu64 " more like it since the last warning",
                   refusal->unsaid - 1);
    }
}

void refusal_key(int64_t time_ns, const char *id, char ret_key[REFUSAL_KEY_SIZE])
{
    snprintf(ret_key, REFUSAL_KEY_SIZE, "%020" PRId64 "-%s", time_ns, id);
}

void refusal_encode(const struct start_refusal *refusal, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", refusal_kind_name(refusal->kind));
    json_write_int(&writer, "time_ns", refusal->time_ns);
    json_write_string(&writer, "run_id", refusal->run_id);
    json_write_string(&writer, "source", refusal->source);
    json_write_string(&writer, "role", refusal->role);
    json_write_string(&writer, "reason", refusal->reason);
    json_end_object(&writer);
}

static void copy_text(char *slot, size_t size, struct json_object *root, const char *name)
{
    snprintf(slot, size, "%s", json_get_string(root, name, ""));
}

struct refusal_reading {
    refusal_fn *fn;
    void *context;
};

/** One that cannot be read is shown with what can. */
static bool read_refusal(const struct store_document *document, void *context)
{
    struct refusal_reading *reading = context;
    struct start_refusal refusal = {.kind = REFUSAL_REFUSED};
    auto_json struct json_object *root = NULL;
    json_parse(document->data, document->data_len, &root, NULL);
    snprintf(refusal.key, sizeof(refusal.key), "%s", document->key);
    refusal.time_ns = json_get_int(root, "time_ns", 0);
    const char *kind = json_get_string(root, "kind", "");
    for (enum refusal_kind i = REFUSAL_REFUSED; i < REFUSAL_KIND_COUNT; i++) {
        refusal.kind = strcmp(kind, kind_names[i]) == 0 ? i : refusal.kind;
    }
    copy_text(refusal.run_id, sizeof(refusal.run_id), root, "run_id");
    copy_text(refusal.source, sizeof(refusal.source), root, "source");
    copy_text(refusal.role, sizeof(refusal.role), root, "role");
    copy_text(refusal.reason, sizeof(refusal.reason), root, "reason");
    return reading->fn(&refusal, reading->context);
}

int refusals_read(struct store *store, const char *before, uint32_t limit, refusal_fn *fn,
                  void *context, struct rondo_error *err)
{
    struct refusal_reading reading = {.fn = fn, .context = context};
    struct store_document_query query = {
        .collection = REFUSAL_COLLECTION,
        .after = before,
        .is_descending = true,
        .limit = limit,
    };
    return store->ops->read_documents(store, &query, read_refusal, &reading, err);
}

int refusals_prune(struct store *store, struct rondo_error *err)
{
    char key[STORE_KEY_LEN + 1];
    int r = store_find_excess(store, REFUSAL_COLLECTION, LIMIT_REFUSALS_KEPT, key, err);
    if (r < 0 || key[0] == '\0') {
        return r;
    }
    struct store_change change = {
        .kind = STORE_DELETE_UP_TO,
        .collection = REFUSAL_COLLECTION,
        .key = key,
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}
