// SPDX-License-Identifier: Apache-2.0
/*
 * Listing and counting runs. The statement has only the conditions that are asked for, so that the
 * server finds an index for them; its text is made of constants, what callers give are parameters.
 *
 * Threads: postgres_read_begin holds a connection's mutex until postgres_read_end, callbacks
 * included.
 */
#include "store/postgres/internal.h"
#include "store/rules.h"

/** What each order compares. */
static const char *const columns[STORE_ORDER_COUNT] = {
    [STORE_BY_CREATED] = "created_ns",  [STORE_BY_UPDATED] = "updated_ns",
    [STORE_BY_AGENT] = "agent_id",      [STORE_BY_STATUS] = "status",
    [STORE_BY_ITERATION] = "iteration", [STORE_BY_TOKENS] = "tokens",
    [STORE_BY_COST] = "cost_micro",     [STORE_BY_WARNINGS] = "warnings",
};

/** A statement that grows. */
struct listing_query {
    struct postgres_query query;
    struct buf sql;
    bool has_condition;
};

static void begin_condition(struct listing_query *listing)
{
    buf_append_string(&listing->sql, listing->has_condition ? " AND " : " WHERE ");
    listing->has_condition = true;
}

/** Number of the next parameter. */
static int next_parameter(const struct listing_query *listing)
{
    return listing->query.count + 1;
}

static void add_agents(struct listing_query *listing, const char *const *agents)
{
    size_t count = 0;
    while (agents[count] != NULL) {
        count++;
    }
    begin_condition(listing);
    buf_printf(&listing->sql, "agent_id = ANY ($%d)", next_parameter(listing));
    struct buf *array = postgres_add_array(&listing->query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(&listing->query, array, agents[i]);
    }
}

/** As a list, because the server knows how many runs have which status. */
static void add_statuses(struct listing_query *listing, uint32_t statuses)
{
    begin_condition(listing);
    buf_printf(&listing->sql, "status = ANY ($%d)", next_parameter(listing));
    struct buf *array =
        postgres_add_array(&listing->query, POSTGRES_NUMBERS, (size_t)__builtin_popcount(statuses));
    for (int i = 0; i < 32; i++) {
        if ((statuses >> i & 1) != 0) {
            postgres_put_number(array, i);
        }
    }
}

static void add_prefix(struct listing_query *listing, const char *prefix)
{
    begin_condition(listing);
    int number = next_parameter(listing);
    buf_printf(&listing->sql, "id >= $%d AND id < $%d", number, number + 1);
    postgres_add_text(&listing->query, prefix);
    /* '~' sorts after every character of an id. */
    buf_printf(postgres_add_written(&listing->query), "%s~", prefix);
}

static void add_filter(struct listing_query *listing, const struct rules_run_filter *filter)
{
    const struct store_run_query *query = filter->query;
    if (query->agent_id != NULL) {
        begin_condition(listing);
        buf_printf(&listing->sql, "agent_id = $%d", next_parameter(listing));
        postgres_add_text(&listing->query, query->agent_id);
    }
    if (filter->statuses != 0) {
        add_statuses(listing, filter->statuses);
    }
    if (filter->has_prefix) {
        add_prefix(listing, query->id_prefix);
    }
    if (filter->search[0] != '\0') {
        begin_condition(listing);
        int number = next_parameter(listing);
        buf_printf(&listing->sql,
                   "(strpos(lower(agent_id), $%d) > 0 OR left(id, length($%d)) = $%d)", number,
                   number, number);
        postgres_add_text(&listing->query, filter->search);
    }
    if (query->agents != NULL) {
        add_agents(listing, query->agents);
    }
    if (query->parent != NULL) {
        begin_condition(listing);
        /* Else the index of those that have a parent is not seen to serve. */
        buf_printf(&listing->sql, "parent = $%d AND parent <> ''", next_parameter(listing));
        postgres_add_text(&listing->query, query->parent);
    }
    if (query->is_top_only) {
        begin_condition(listing);
        buf_append_string(&listing->sql, "parent = ''");
    }
}

static void add_order(struct listing_query *listing, const struct store_run_query *query)
{
    const char *column = columns[query->order];
    if (query->after != NULL) {
        begin_condition(listing);
        int number = next_parameter(listing);
        buf_printf(&listing->sql, "(%s, id) %s ($%d, $%d)", column, query->is_ascending ? ">" : "<",
                   number, number + 1);
        if (query->order == STORE_BY_AGENT) {
            postgres_add_text(&listing->query, query->after->text);
        } else {
            postgres_add_number(&listing->query, query->after->number);
        }
        postgres_add_text(&listing->query, query->after->id);
    }
    const char *direction = query->is_ascending ? "" : " DESC";
    buf_printf(&listing->sql, " ORDER BY %s%s, id%s LIMIT $%d", column, direction, direction,
               next_parameter(listing));
    postgres_add_limit(&listing->query, query->limit);
}

/** Pass a row on. @return 1: continue with the next one, 0: enough, or an error */
static int take_row(const struct postgres_reading *reading, const struct store_run_query *query,
                    store_run_fn *fn, void *context, struct rondo_error *err)
{
    struct checked_row row = postgres_row(reading->connection->store, reading->row, 0);
    struct store_run run;
    int64_t key = 0;
    struct rondo_error why = {0};
    int r = postgres_row_run(&row, 0, &run, &key, &why);
    return row_give_run(r, &why, &run, key, query, fn, context, err);
}

int postgres_list_runs(struct store *base, const struct store_run_query *query, store_run_fn *fn,
                       void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    const struct rules_run_filter filter = rules_run_filter(query);
    struct postgres_reading reading;
    if (filter.is_empty || query->order >= STORE_ORDER_COUNT) {
        return 0;
    }
    struct listing_query listing = {0};
    buf_append_string(&listing.sql, store->sql[PG_RUN_LIST]);
    add_filter(&listing, &filter);
    add_order(&listing, query);
    listing.query.sql = buf_steal(&listing.sql);
    int r = postgres_read_begin(store, &listing.query, "list runs", &reading, err);
    postgres_query_fini(&listing.query);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        r = take_row(&reading, query, fn, context, err);
        if (r != 1) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

static void count_row(struct checked_row *row, struct store_run_counts *counts)
{
    int64_t status = postgres_number(row, 0);
    uint64_t number = (uint64_t)postgres_number(row, 2);
    if (status >= 0 && status < RONDO_STATUS_COUNT) {
        counts->by_status[status] += number;
    }
    if (status == RONDO_RUNNING && postgres_flag(row, 1)) {
        counts->paused += number;
    }
}

int postgres_count_runs(struct store *base, const struct store_run_query *query,
                        struct store_run_counts *ret_counts, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    const struct rules_run_filter filter = rules_run_filter(query);
    struct store_run_counts counts = {0};
    struct postgres_reading reading;
    if (filter.is_empty) {
        *ret_counts = counts;
        return 0;
    }
    struct listing_query listing = {0};
    buf_append_string(&listing.sql, store->sql[PG_RUN_COUNT]);
    add_filter(&listing, &filter);
    buf_append_string(&listing.sql, " GROUP BY 1, 2");
    listing.query.sql = buf_steal(&listing.sql);
    int r = postgres_read_begin(store, &listing.query, "count runs", &reading, err);
    postgres_query_fini(&listing.query);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        r = postgres_check_answer(&row, "nfn", "count runs", err);
        if (r < 0) {
            break;
        }
        count_row(&row, &counts);
    }
    postgres_read_end(&reading);
    if (r == 0) {
        *ret_counts = counts;
    }
    return r;
}
