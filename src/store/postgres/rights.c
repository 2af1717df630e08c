// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/rights.h"

#include "base/error.h"
#include "store/postgres/internal.h"

#include <stdio.h>
#include <string.h>

/** Bytes of a name of a role; PostgreSQL cuts longer ones. */
#define ROLE_LEN 63

static const char *const rank_names[STORE_RANK_COUNT] = {"none", "reader", "runner", "operator",
                                                         "owner"};

const char *store_postgres_rank_name(enum store_postgres_rank rank)
{
    return rank_names[rank];
}

static int check_role(const char *role, struct rondo_error *err)
{
    if (role[0] == '\0' || strlen(role) > ROLE_LEN) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a role of the database has a name of 1 to %d "
                         "bytes",
                         ROLE_LEN);
    }
    return 0;
}

static int check_pattern(const char *pattern, struct rondo_error *err)
{
    size_t len = strlen(pattern);
    const char *star = strchr(pattern, '*');
    if (len == 0 || len > LIMIT_AGENT_ID_LEN + 1) {
        return error_set(err, RONDO_ERR_LIMIT, "the name of an agent has 1 to %d bytes",
                         (int)LIMIT_AGENT_ID_LEN);
    }
    if (star != NULL && star[1] != '\0') {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s: a * can only be the last character of a pattern", pattern);
    }
    return 0;
}

int store_postgres_grant(struct store *base, const char *role, enum store_postgres_rank rank,
                         const char *const *patterns, size_t count, struct rondo_error *err)
{
    int r = check_role(role, err);
    if (r == 0 && (count == 0 || count > STORE_PATTERNS_MAX)) {
        r = error_set(err, RONDO_ERR_LIMIT,
                      "rights are for 1 to %d agents or patterns; give a "
                      "pattern that has several",
                      STORE_PATTERNS_MAX);
    }
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = check_pattern(patterns[i], err);
    }
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_RIGHTS_GRANT};
    postgres_add_text(&query, role);
    postgres_add_number(&query, rank);
    struct buf *array = postgres_add_array(&query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(&query, array, patterns[i]);
    }
    return postgres_perform((struct postgres_store *)base, &query, NULL, "grant rights", err);
}

int store_postgres_revoke(struct store *base, const char *role, struct rondo_error *err)
{
    int r = check_role(role, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_RIGHTS_REVOKE};
    postgres_add_text(&query, role);
    return postgres_perform((struct postgres_store *)base, &query, NULL, "revoke rights", err);
}

int store_postgres_list_rights(struct store *base, store_postgres_right_fn *fn, void *context,
                               struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_RIGHTS_LIST};
    int r = postgres_read_begin(store, &query, "list rights", &reading, err);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        r = postgres_check_answer(&row, "tnt", "list rights", err);
        int64_t rank = postgres_number(&row, 1);
        if (r == 0 && rank >= STORE_RANK_COUNT) {
            r = error_set(err, RONDO_ERR_CORRUPT, "%s has rights that Rondo never gives",
                          store->address.shown);
        }
        /* libpq ends every value with a NUL. */
        if (r < 0 || !fn(store->pq.getvalue(reading.row, 0, 0), (enum store_postgres_rank)rank,
                         store->pq.getvalue(reading.row, 0, 2), context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}
