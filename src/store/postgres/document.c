// SPDX-License-Identifier: Apache-2.0
/*
 * Documents. Versions are compared under the row's lock, so that of several servers that try to
 * change the same version exactly one does.
 *
 * Threads: postgres_read_begin holds a connection's mutex until postgres_read_end, callbacks
 * included.
 */
#include "base/error.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

#include <string.h>

void postgres_add_changes(struct postgres_query *query, const struct postgres_store *store,
                          const struct store_change *changes, size_t count)
{
    query->which = PG_DOCUMENT_CHANGE;
    postgres_add_now(query, store);
    struct buf *array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, changes[i].kind);
    }
    array = postgres_add_array(query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(query, array, changes[i].collection);
    }
    array = postgres_add_array(query, POSTGRES_BYTES, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_bytes(array, changes[i].key, strlen(changes[i].key));
    }
    array = postgres_add_array(query, POSTGRES_BYTES, count);
    for (size_t i = 0; i < count; i++) {
        bool has_data = changes[i].kind == STORE_PUT;
        postgres_put_bytes(array, has_data ? changes[i].data : "",
                           has_data ? changes[i].data_len : 0);
    }
    array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, changes[i].if_version);
    }
}

/** Whether they only say that a process lives: then nobody has to look. */
static bool is_heartbeat(const struct store_change *changes, size_t count)
{
    bool is_all = true;
    for (size_t i = 0; i < count; i++) {
        is_all = is_all && changes[i].is_heartbeat;
    }
    return is_all;
}

int postgres_change_documents(struct store *base, const struct store_change *changes, size_t count,
                              bool *ret_is_applied, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct rondo_error found = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = rules_check_change(&changes[i], err);
    }
    if (r < 0) {
        return r;
    }
    if (count == 0) {
        *ret_is_applied = true;
        return 0;
    }
    auto_query struct postgres_query query = {0};
    postgres_add_changes(&query, store, changes, count);
    r = postgres_perform(store, &query, NULL, "change documents", &found);
    if (r == 0 && !is_heartbeat(changes, count)) {
        postgres_announce(store);
    }
    if (r == 0 || r == POSTGRES_MISMATCH) {
        *ret_is_applied = r == 0;
        return 0;
    }
    if (err != NULL) {
        *err = found;
    }
    return r;
}

int postgres_next_collection(struct store *base, const char *after,
                             char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_DOCUMENT_COLLECTION};
    postgres_add_text(&query, after);
    int r = postgres_perform(store, &query, &result, "list collections", err);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    r = postgres_check_answer(&row, "t", "list collections", err);
    size_t len = (size_t)store->pq.getlength(result, 0, 0);
    if (r == 0 && len > STORE_COLLECTION_LEN) {
        r = error_set(err, RONDO_ERR_CORRUPT, "%s is damaged: a collection has no valid name",
                      store->address.shown);
    }
    if (r == 0) {
        memcpy(ret_name, store->pq.getvalue(result, 0, 0), len);
        ret_name[len] = '\0';
    }
    store->pq.clear(result);
    return r;
}

static enum postgres_sql reading_of(const struct store_document_query *query)
{
    if (query->key != NULL) {
        return PG_DOCUMENT_GET;
    }
    return query->is_descending ? PG_DOCUMENT_LIST_BACK : PG_DOCUMENT_LIST;
}

int postgres_read_documents(struct store *base, const struct store_document_query *query,
                            store_document_fn *fn, void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    const struct rules_key_range range = rules_key_range(query);
    struct postgres_reading reading;
    auto_query struct postgres_query asked = {.which = reading_of(query)};
    postgres_add_text(&asked, query->collection);
    if (query->key != NULL) {
        postgres_add_string(&asked, query->key);
    } else {
        postgres_add_string(&asked, range.low);
        postgres_add_string(&asked, range.end);
        postgres_add_limit(&asked, query->limit);
    }
    int r = postgres_read_begin(store, &asked, "read documents", &reading, err);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_document document;
        r = row_document(row, &document, err);
        if (r < 0 || !fn(&document, context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}
