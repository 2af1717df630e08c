// SPDX-License-Identifier: Apache-2.0
/*
 * The history of policies. Whether a change is new is decided under a lock, so that of several
 * servers that find the same policies exactly one records them.
 *
 * Threads: postgres_read_begin holds a connection's mutex until postgres_read_end, callbacks
 * included.
 */
#include "store/postgres/internal.h"
#include "store/rules.h"

int postgres_record_policy(struct store *base, const struct store_policy_change *change,
                           uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    PGresult *result = NULL;
    int r = rules_check_policy(change, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_POLICY_RECORD};
    postgres_add_number(&query, change->time_ns);
    postgres_add_string(&query, change->source);
    postgres_add_text(&query, change->digest);
    postgres_add_text(&query, change->how);
    postgres_add_string(&query, change->by);
    postgres_add_bytes(&query, change->text, change->text_len);
    r = postgres_perform(store, &query, &result, "record policies", err);
    if (r == 0) {
        struct checked_row row = postgres_row(store, result, 0);
        r = postgres_check_answer(&row, "nf", "record policies", err);
        *ret_number = (uint64_t)postgres_number(&row, 0);
        *ret_is_new = postgres_flag(&row, 1);
        store->pq.clear(result);
        postgres_announce(store);
    }
    return r;
}

/** The place of a reader. */
struct policy_place {
    struct postgres_store *store;
    const char *source;
    uint64_t before; /**< only changes with a lower number */
    bool is_end;
};

/** Give one row. @return 1 to continue, 0 when the callback has enough, or a negative code */
static int give_change(struct policy_place *place, const struct postgres_reading *reading,
                       store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct checked_row row = postgres_row(place->store, reading->row, 0);
    struct store_policy_change change;
    int r = row_policy(row, &change, err);
    if (r < 0) {
        return r;
    }
    place->before = change.number;
    return fn(&change, context);
}

/** Read a page. Texts may be large, and most readers want the newest only. */
static int read_page(struct policy_place *place, store_policy_fn *fn, void *context,
                     struct rondo_error *err)
{
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_POLICY_READ};
    postgres_add_unsigned(&query, place->before);
    postgres_add_string(&query, place->source);
    int r = postgres_read_begin(place->store, &query, "read policies", &reading, err);
    if (r < 0) {
        return r;
    }
    place->is_end = true;
    while ((r = postgres_read_row(&reading, err)) == 1) {
        r = give_change(place, &reading, fn, context, err);
        place->is_end = r == 0;
        if (r <= 0) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

int postgres_read_policies(struct store *base, const char *source, uint64_t before,
                           store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct policy_place place = {
        .store = (struct postgres_store *)base,
        .source = source,
        .before = before == 0 ? INT64_MAX : before,
    };
    int r = 0;
    while (r == 0 && !place.is_end) {
        r = read_page(&place, fn, context, err);
    }
    return r;
}
