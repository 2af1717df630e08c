// SPDX-License-Identifier: Apache-2.0
#include "tool/data/document_vectors.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/base64.h"
#include "model/compact_vector.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Texts of one request. */
#define BATCH 64
/** Time for one request. */
#define REQUEST_NS (INT64_C(10) * NS_PER_S)
/** Time for missing vectors before a search. */
#define FILL_NS (INT64_C(5) * NS_PER_S)
/** An endpoint that has failed is not asked for so long. */
#define PAUSE_NS (INT64_C(60) * NS_PER_S)
/** Bytes of a key, with the NUL. */
#define KEY_SIZE (DOCUMENT_KEY_PREFIX_SIZE + DIGEST_HEX_SIZE)

struct document_vectors {
    struct document_vectors_options options;
    char *model;
    char prefix[DOCUMENT_KEY_PREFIX_SIZE];
    sqlite3 *index;        /* NULL until document_vectors_begin */
    struct cancel *cancel; /* of the call that searches */
    int64_t deadline_ns;   /* of it; 0 = none */
    int64_t pause_until_ns;
    char problem[RONDO_ERROR_MESSAGE_SIZE];
};

void document_key_prefix(const char *owner, char ret_prefix[DOCUMENT_KEY_PREFIX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, owner, strlen(owner));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_prefix, DOCUMENT_KEY_PREFIX_SIZE, "%.32s/", hex);
}

struct document_vectors *document_vectors_new(const struct document_vectors_options *options)
{
    struct document_vectors *vectors = memory_new_zero(1, sizeof(*vectors));
    vectors->options = *options;
    vectors->model = memory_dup_string(options->model);
    document_key_prefix(options->owner, vectors->prefix);
    vectors->options.owner = NULL; /* The prefix holds what is needed of it. */
    return vectors;
}

void document_vectors_free(struct document_vectors *vectors)
{
    if (vectors != NULL) {
        free(vectors->model);
        free(vectors);
    }
}

/** The key of a piece: what its vector depends on. */
static void write_key(const struct document_vectors *vectors, const char *text, size_t len,
                      char ret_key[KEY_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, strlen(vectors->model));
    digest_add(&digest, vectors->model, strlen(vectors->model));
    digest_add(&digest, text, len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_key, KEY_SIZE, "%s%s", vectors->prefix, hex);
}

static sqlite3_stmt *prepare(const struct document_vectors *vectors, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    return sqlite3_prepare_v2(vectors->index, sql, -1, &statement, NULL) == SQLITE_OK ? statement
                                                                                      : NULL;
}

/* ---- What is kept -----------------------------------------------------------------------------
 */

/** Keys of vectors whose pieces are gone. */
struct kept_vectors {
    struct document_vectors *vectors;
    sqlite3_stmt *update;
    char (*gone)[KEY_SIZE];
    size_t gone_count;
};

/** @return whether a document holds a vector, "BASE64" */
static bool decode(const struct store_document *document, struct buf *ret_bytes)
{
    size_t len = document->data_len;
    size_t decoded = 0;
    if (len < 2 || len > 2 * (size_t)LIMIT_MEMORY_VECTOR_BYTES || document->data[0] != '"') {
        return false;
    }
    auto_free char *text = memory_dup_bytes(document->data + 1, len - 2);
    unsigned char *room = (unsigned char *)buf_room(ret_bytes, len);
    if (!base64_decode(text, room, len, &decoded)) {
        return false;
    }
    buf_grown(ret_bytes, decoded);
    return decoded > 0;
}

static bool read_kept(const struct store_document *document, void *context)
{
    struct kept_vectors *kept = context;
    auto_buf struct buf bytes = {0};
    bool is_used = false;
    if (decode(document, &bytes)) {
        sqlite3_bind_blob(kept->update, 1, bytes.data, (int)bytes.len, SQLITE_STATIC);
        sqlite3_bind_text(kept->update, 2, document->key, -1, SQLITE_STATIC);
        is_used =
            sqlite3_step(kept->update) == SQLITE_DONE && sqlite3_changes(kept->vectors->index) > 0;
        sqlite3_reset(kept->update);
    }
    if (!is_used && strlen(document->key) < KEY_SIZE) {
        kept->gone = memory_resize(kept->gone, kept->gone_count + 1, sizeof(*kept->gone));
        snprintf(kept->gone[kept->gone_count++], KEY_SIZE, "%s", document->key);
    }
    return true;
}

/** A vector that stays though its piece is gone costs room and nothing else: errors are passed
 * over. */
static void forget(const struct document_vectors *vectors, char (*keys)[KEY_SIZE], size_t count)
{
    struct store *store = vectors->options.store;
    for (size_t from = 0; from < count; from += BATCH) {
        struct store_change changes[BATCH];
        bool is_applied = false;
        size_t n = count - from < BATCH ? count - from : BATCH;
        for (size_t i = 0; i < n; i++) {
            changes[i] = (struct store_change){.kind = STORE_DELETE,
                                               .collection = DOCUMENT_VECTORS_COLLECTION,
                                               .key = keys[from + i],
                                               .if_version = STORE_ANY_VERSION};
        }
        store->ops->change_documents(store, changes, n, &is_applied, NULL);
    }
}

/** Read what is kept; what cannot be read is made again. */
static void read_all(struct document_vectors *vectors)
{
    struct store *store = vectors->options.store;
    struct kept_vectors kept = {
        .vectors = vectors,
        .update = prepare(vectors, "UPDATE vector SET bytes = ?1 WHERE key = ?2"),
    };
    const struct store_document_query query = {
        .collection = DOCUMENT_VECTORS_COLLECTION,
        .prefix = vectors->prefix,
    };
    if (kept.update != NULL &&
        store->ops->read_documents(store, &query, read_kept, &kept, NULL) == 0) {
        forget(vectors, kept.gone, kept.gone_count);
    }
    sqlite3_finalize(kept.update);
    free(kept.gone);
}

void document_vectors_add(struct document_vectors *vectors, int64_t from, int64_t to)
{
    sqlite3_stmt *select = prepare(vectors, "SELECT rowid, content FROM piece WHERE rowid >= ?1 "
                                            "AND rowid <= ?2 ORDER BY rowid LIMIT ?3");
    sqlite3_stmt *insert = prepare(vectors, "INSERT OR REPLACE INTO vector(id, key) VALUES(?, ?)");
    if (select != NULL && insert != NULL) {
        sqlite3_bind_int64(select, 1, from);
        sqlite3_bind_int64(select, 2, to);
        sqlite3_bind_int(select, 3, DOCUMENT_VECTORS_MAX);
        while (sqlite3_step(select) == SQLITE_ROW) {
            char key[KEY_SIZE];
            write_key(vectors, (const char *)sqlite3_column_text(select, 1),
                      (size_t)sqlite3_column_bytes(select, 1), key);
            sqlite3_bind_int64(insert, 1, sqlite3_column_int64(select, 0));
            sqlite3_bind_text(insert, 2, key, -1, SQLITE_STATIC);
            sqlite3_step(insert);
            sqlite3_reset(insert);
        }
    }
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
}

bool document_vectors_begin(struct document_vectors *vectors, struct sqlite3 *index)
{
    static const char schema[] =
        "CREATE TABLE vector(id INTEGER PRIMARY KEY, key TEXT NOT NULL, bytes BLOB);"
        "CREATE INDEX vector_key ON vector(key);";
    vectors->index = index;
    if (sqlite3_exec(index, schema, NULL, NULL, NULL) != SQLITE_OK) {
        return false;
    }
    document_vectors_add(vectors, 0, INT64_MAX);
    read_all(vectors);
    return true;
}

/* ---- What is missing --------------------------------------------------------------------------
 */

/** Whether the endpoint may be asked. */
static bool is_up(struct document_vectors *vectors)
{
    if (vectors->problem[0] != '\0' &&
        clock_monotonic(vectors->options.clock) >= vectors->pause_until_ns) {
        vectors->problem[0] = '\0';
    }
    return vectors->problem[0] == '\0';
}

void document_vectors_bound(struct document_vectors *vectors, struct cancel *cancel,
                            int64_t deadline_ns)
{
    vectors->cancel = cancel;
    vectors->deadline_ns = deadline_ns;
}

/** Time that is left, at most `most_ns`. */
static int64_t time_left(const struct document_vectors *vectors, int64_t most_ns)
{
    int64_t left = vectors->deadline_ns - clock_monotonic(vectors->options.clock);
    bool is_shorter = vectors->deadline_ns > 0 && left < most_ns;
    return is_shorter ? left : most_ns;
}

/** Request vectors. @return whether they came; else problem says why */
static bool embed(struct document_vectors *vectors, const char *const *texts, size_t count,
                  struct buf *ret_vectors)
{
    const struct document_vectors_options *options = &vectors->options;
    struct buf floats[BATCH] = {0};
    struct rondo_error err = {0};
    int64_t timeout_ns = time_left(vectors, REQUEST_NS);
    if (timeout_ns <= 0) {
        return false;
    }
    int r =
        options->embed(options->context, texts, count, timeout_ns, vectors->cancel, floats, &err);
    for (size_t i = 0; i < count; i++) {
        if (r == 0) {
            compact_vector_write(&floats[i], &ret_vectors[i]);
        }
        if (ret_vectors[i].len == 0 || ret_vectors[i].len > (size_t)LIMIT_MEMORY_VECTOR_BYTES) {
            /* A text that gives no vector gets one that is near to nothing: it is sent once. */
            buf_clear(&ret_vectors[i]);
            buf_append(&ret_vectors[i], "", 1);
        }
        buf_fini(&floats[i]);
    }
    if (r < 0) {
        snprintf(vectors->problem, sizeof(vectors->problem), "%s", err.message);
        vectors->pause_until_ns = clock_monotonic(options->clock) + PAUSE_NS;
    }
    return r == 0;
}

struct unsent_pieces {
    char *keys[BATCH];
    char *texts[BATCH];
    size_t count;
};

static void unsent_pieces_fini(struct unsent_pieces *missing)
{
    for (size_t i = 0; i < missing->count; i++) {
        free(missing->keys[i]);
        free(missing->texts[i]);
    }
}

static void find_missing(const struct document_vectors *vectors, struct unsent_pieces *ret_missing)
{
    sqlite3_stmt *select =
        prepare(vectors, "SELECT vector.key, piece.content FROM vector JOIN piece ON piece.rowid = "
                         "vector.id WHERE vector.bytes IS NULL GROUP BY vector.key LIMIT ?1");
    if (select != NULL) {
        sqlite3_bind_int(select, 1, BATCH);
    }
    while (select != NULL && sqlite3_step(select) == SQLITE_ROW) {
        size_t i = ret_missing->count++;
        ret_missing->keys[i] = memory_dup_string((const char *)sqlite3_column_text(select, 0));
        ret_missing->texts[i] = memory_dup_string((const char *)sqlite3_column_text(select, 1));
    }
    sqlite3_finalize(select);
}

/** Put vectors into the index and into the store. What the store does not take is made again. */
static void keep(const struct document_vectors *vectors, const struct unsent_pieces *missing,
                 const struct buf *bytes)
{
    struct store *store = vectors->options.store;
    struct store_change changes[BATCH];
    struct buf texts[BATCH] = {0};
    bool is_applied = false;
    sqlite3_stmt *update = prepare(vectors, "UPDATE vector SET bytes = ?1 WHERE key = ?2");
    for (size_t i = 0; i < missing->count; i++) {
        if (update != NULL) {
            sqlite3_bind_blob(update, 1, bytes[i].data, (int)bytes[i].len, SQLITE_STATIC);
            sqlite3_bind_text(update, 2, missing->keys[i], -1, SQLITE_STATIC);
            sqlite3_step(update);
            sqlite3_reset(update);
        }
        buf_append_string(&texts[i], "\"");
        base64_encode(bytes[i].data, bytes[i].len, &texts[i]);
        buf_append_string(&texts[i], "\"");
        changes[i] = (struct store_change){.kind = STORE_PUT,
                                           .collection = DOCUMENT_VECTORS_COLLECTION,
                                           .key = missing->keys[i],
                                           .data = texts[i].data,
                                           .data_len = texts[i].len,
                                           .if_version = STORE_ANY_VERSION};
    }
    sqlite3_finalize(update);
    store->ops->change_documents(store, changes, missing->count, &is_applied, NULL);
    for (size_t i = 0; i < missing->count; i++) {
        buf_fini(&texts[i]);
    }
}

/** @return how many vectors were made */
static size_t fill_batch(struct document_vectors *vectors)
{
    struct unsent_pieces missing = {0};
    struct buf bytes[BATCH] = {0};
    size_t made = 0;
    find_missing(vectors, &missing);
    if (missing.count > 0 &&
        embed(vectors, (const char *const *)missing.texts, missing.count, bytes)) {
        keep(vectors, &missing, bytes);
        made = missing.count;
    }
    for (size_t i = 0; i < missing.count; i++) {
        buf_fini(&bytes[i]);
    }
    unsent_pieces_fini(&missing);
    return made;
}

void document_vectors_fill(struct document_vectors *vectors)
{
    int64_t end_ns = clock_monotonic(vectors->options.clock) + time_left(vectors, FILL_NS);
    size_t made = BATCH;
    while (made == BATCH && is_up(vectors) && !cancel_is_set(vectors->cancel) &&
           clock_monotonic(vectors->options.clock) < end_ns) {
        made = fill_batch(vectors);
    }
}

/* ---- Search -----------------------------------------------------------------------------------
 */

struct near_piece {
    int64_t id;
    double nearness;
};

/** Enter one in a list that is in order. @return how many are in it */
static size_t enter(struct near_piece *list, size_t count, size_t top, struct near_piece near)
{
    if (near.nearness <= 0 || (count == top && near.nearness <= list[count - 1].nearness)) {
        return count;
    }
    size_t at = count < top ? count++ : count - 1;
    for (; at > 0 && list[at - 1].nearness < near.nearness; at--) {
        list[at] = list[at - 1];
    }
    list[at] = near;
    return count;
}

static size_t compare_all(const struct document_vectors *vectors, const struct buf *question,
                          const char *source, size_t top, struct near_piece *ret_list)
{
    sqlite3_stmt *select =
        prepare(vectors, source[0] == '\0'
                             ? "SELECT id, bytes FROM vector WHERE bytes IS NOT NULL ORDER BY id"
                             : "SELECT vector.id, vector.bytes FROM vector JOIN piece ON "
                               "piece.rowid = vector.id WHERE vector.bytes IS NOT NULL AND "
                               "instr(piece.source, ?1) > 0 ORDER BY vector.id");
    double norm = compact_vector_norm(question->data, question->len);
    size_t count = 0;
    if (select != NULL && source[0] != '\0') {
        sqlite3_bind_text(select, 1, source, -1, SQLITE_STATIC);
    }
    while (select != NULL && sqlite3_step(select) == SQLITE_ROW) {
        size_t len = (size_t)sqlite3_column_bytes(select, 1);
        if (len == question->len) {
            struct near_piece near = {
                .id = sqlite3_column_int64(select, 0),
                .nearness = compact_vector_nearness(sqlite3_column_blob(select, 1), question->data,
                                                    len, norm),
            };
            count = enter(ret_list, count, top, near);
        }
    }
    sqlite3_finalize(select);
    return count;
}

size_t document_vectors_find(struct document_vectors *vectors, const char *question,
                             const char *source, size_t top, int64_t *ret_ids)
{
    auto_buf struct buf bytes = {0};
    if (top == 0 || !is_up(vectors) || !embed(vectors, &question, 1, &bytes)) {
        return 0;
    }
    struct near_piece *list = memory_new_zero(top, sizeof(*list));
    size_t count = compare_all(vectors, &bytes, source, top, list);
    for (size_t i = 0; i < count; i++) {
        ret_ids[i] = list[i].id;
    }
    free(list);
    return count;
}

static int64_t count_of(const struct document_vectors *vectors, const char *sql)
{
    sqlite3_stmt *select = prepare(vectors, sql);
    int64_t count =
        select != NULL && sqlite3_step(select) == SQLITE_ROW ? sqlite3_column_int64(select, 0) : 0;
    sqlite3_finalize(select);
    return count;
}

void document_vectors_describe(const struct document_vectors *vectors, struct buf *ret_text)
{
    if (vectors->problem[0] != '\0') {
        buf_printf(ret_text, "Searched by words only: %s", vectors->problem);
        return;
    }
    int64_t all = count_of(vectors, "SELECT count(*) FROM piece");
    int64_t made = count_of(vectors, "SELECT count(*) FROM vector WHERE bytes IS NOT NULL");
    if (made < all) {
        buf_printf(ret_text,
                   "(%lld of %lld pieces were compared by their vectors, the others only "
                   "by their words)",
                   (long long)made, (long long)all);
    }
}
