// SPDX-License-Identifier: Apache-2.0
/* Keys of accepted events, by day. */
#include "source/intake/dedupe.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_NS (INT64_C(24) * 3600 * NS_PER_S)
/** Days in which a key that still counts may have come. */
#define DAYS (DEDUPE_NS / DAY_NS + 1)

static void write_key(int64_t day, const char *hex, char ret_key[DEDUPE_KEY_SIZE])
{
    snprintf(ret_key, DEDUPE_KEY_SIZE, "%06" PRId64 "-%s", day, hex);
}

static void digest_of(const char *source, const char *key, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, strlen(source));
    digest_add(&digest, source, strlen(source));
    digest_add(&digest, key, strlen(key));
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

void dedupe_key(int64_t now_ns, const char *source, const char *key, char ret_key[DEDUPE_KEY_SIZE])
{
    char hex[DIGEST_HEX_SIZE];
    digest_of(source, key, hex);
    write_key(now_ns / DAY_NS, hex, ret_key);
}

bool dedupe_other_key(int64_t now_ns, const char *source, const char *key,
                      char ret_key[DEDUPE_KEY_SIZE])
{
    int64_t time_ns = now_ns % DAY_NS;
    bool is_early = time_ns < DEDUPE_SKEW_NS;
    if (!is_early && DAY_NS - time_ns > DEDUPE_SKEW_NS) {
        return false;
    }
    dedupe_key(is_early ? now_ns - DAY_NS : now_ns + DAY_NS, source, key, ret_key);
    return true;
}

void dedupe_encode(int64_t now_ns, const char *run_id, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", run_id);
    json_write_int(&writer, "received_ns", now_ns);
    json_end_object(&writer);
}

static bool parse_day(const char *key, int64_t *ret_day)
{
    return sscanf(key, "%" SCNd64, ret_day) == 1;
}

struct key_lookup {
    int64_t now_ns;
    bool is_found;
    char run_id[ID_SIZE];
};

static bool read_key(const struct store_document *document, void *context)
{
    struct key_lookup *lookup = context;
    auto_json struct json_object *root = NULL;
    json_parse(document->data, document->data_len, &root, NULL);
    if (lookup->now_ns - json_get_int(root, "received_ns", 0) < DEDUPE_NS) {
        lookup->is_found = true;
        snprintf(lookup->run_id, sizeof(lookup->run_id), "%s", json_get_string(root, "run_id", ""));
    }
    return false;
}

int dedupe_find(struct store *store, int64_t now_ns, const char *source, const char *key,
                char ret_run_id[ID_SIZE], struct rondo_error *err)
{
    char hex[DIGEST_HEX_SIZE];
    char document_key[DEDUPE_KEY_SIZE];
    struct key_lookup lookup = {.now_ns = now_ns};
    digest_of(source, key, hex);
    /* From tomorrow on: the clock may have been set back. */
    for (int64_t i = -1; i < DAYS && !lookup.is_found; i++) {
        write_key(now_ns / DAY_NS - i, hex, document_key);
        struct store_document_query query = {.collection = DEDUPE_COLLECTION, .key = document_key};
        int r = store->ops->read_documents(store, &query, read_key, &lookup, err);
        if (r < 0) {
            return r;
        }
    }
    if (lookup.is_found) {
        memcpy(ret_run_id, lookup.run_id, ID_SIZE);
    }
    return lookup.is_found ? 1 : 0;
}

struct key_purge {
    int64_t oldest_day; /* that counts */
    char last[DEDUPE_KEY_SIZE];
    int count;
};

static bool note_old_key(const struct store_document *document, void *context)
{
    struct key_purge *purge = context;
    int64_t day = 0;
    if (parse_day(document->key, &day) && day >= purge->oldest_day) {
        return false;
    }
    snprintf(purge->last, sizeof(purge->last), "%s", document->key);
    purge->count++;
    return true;
}

int dedupe_purge(struct store *store, int64_t now_ns, struct rondo_error *err)
{
    struct key_purge purge = {.oldest_day = now_ns / DAY_NS - DAYS + 1};
    struct store_document_query query = {.collection = DEDUPE_COLLECTION,
                                         .limit = LIMIT_KEYS_PURGED};
    int r = store->ops->read_documents(store, &query, note_old_key, &purge, err);
    if (r < 0 || purge.count == 0) {
        return r;
    }
    struct store_change change = {
        .kind = STORE_DELETE_UP_TO,
        .collection = DEDUPE_COLLECTION,
        .key = purge.last,
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied = false;
    r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    return r < 0 ? r : purge.count;
}
