// SPDX-License-Identifier: Apache-2.0
/*
 * Listing and counting runs. The statement has only the conditions that are asked for, so that the
 * server finds an index for them; its text is made of constants, what callers give are parameters.
 * Nothing here reads all runs of a large store: counts are kept (counts.sql), every order has an
 * index, and a search looks for agents among the counts, and for runs by the beginning of their
 * ids.
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

/** Agents that a search is made for by their names. Of more, any page is soon full. */
#define SEARCHED_AGENTS_MAX 1000

/** A statement that grows. */
struct listing_query {
    struct postgres_query query;
    struct buf sql;
    struct buf filter; /**< conditions, each after an AND */
};

/** Number of the next parameter. */
static int next_parameter(const struct listing_query *listing)
{
    return listing->query.count + 1;
}

static void listing_fini(struct listing_query *listing)
{
    postgres_query_fini(&listing->query);
    buf_fini(&listing->sql);
    buf_fini(&listing->filter);
}

static void add_agents(struct listing_query *listing, const char *const *agents)
{
    size_t count = 0;
    while (agents[count] != NULL) {
        count++;
    }
    buf_printf(&listing->filter, " AND agent_id = ANY ($%d)", next_parameter(listing));
    struct buf *array = postgres_add_array(&listing->query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(&listing->query, array, agents[i]);
    }
}

/** As numbers: the server knows how many runs have which status, and an index has one by itself. */
static void add_statuses(struct listing_query *listing, uint32_t statuses)
{
    const char *before = " AND status IN (";
    for (int i = 0; i < 32; i++) {
        if ((statuses >> i & 1) != 0) {
            buf_printf(&listing->filter, "%s%d", before, i);
            before = ", ";
        }
    }
    buf_append_string(&listing->filter, ")");
}

/** Add a text as a parameter. @return its number */
static int add_text(struct listing_query *listing, const char *text)
{
    postgres_add_text(&listing->query, text);
    return listing->query.count;
}

/* Conditions with the number of a parameter. '~' sorts after every character of an id. */
#define ID_BEGINS   "id >= $%d AND id < $%d || '~'::text"
#define AGENT_NAMED "strpos(lower(agent_id), $%d) > 0"

/** What runs and their counts have in common. */
static void add_common(struct listing_query *listing, const struct rules_run_filter *filter)
{
    const struct store_run_query *query = filter->query;
    if (query->agent_id != NULL) {
        buf_printf(&listing->filter, " AND agent_id = $%d", add_text(listing, query->agent_id));
    }
    if (filter->statuses != 0) {
        add_statuses(listing, filter->statuses);
    }
    if (query->agents != NULL) {
        add_agents(listing, query->agents);
    }
}

/** What only runs have, but for the search. */
static void add_own(struct listing_query *listing, const struct rules_run_filter *filter)
{
    const struct store_run_query *query = filter->query;
    if (filter->has_prefix) {
        int prefix = add_text(listing, query->id_prefix);
        buf_printf(&listing->filter, " AND " ID_BEGINS, prefix, prefix);
    }
    if (query->parent != NULL) {
        /* Else the index of those that have a parent is not seen to serve. */
        buf_printf(&listing->filter, " AND parent = $%d AND parent <> ''",
                   add_text(listing, query->parent));
    }
    if (query->is_top_only) {
        buf_append_string(&listing->filter, " AND parent = ''");
    }
}

/**
 * The agents that a search selects, from the counts of runs.
 * @param ret_result the caller clears it
 */
static int find_agents(struct postgres_store *store, const char *search, PGresult **ret_result,
                       struct rondo_error *err)
{
    struct listing_query listing = {0};
    buf_printf(&listing.sql, "SELECT DISTINCT agent_id %s WHERE " AGENT_NAMED " LIMIT %d",
               store->sql[PG_RUN_COUNTS], add_text(&listing, search), SEARCHED_AGENTS_MAX + 1);
    listing.query.sql = buf_steal(&listing.sql);
    int r = postgres_perform_again(store, &listing.query, ret_result, "search runs", err);
    listing_fini(&listing);
    return r;
}

static void add_named(struct listing_query *listing, const struct postgres_store *store,
                      const PGresult *agents, int search)
{
    int count = store->pq.ntuples(agents);
    if (count > SEARCHED_AGENTS_MAX) {
        buf_printf(&listing->filter, AGENT_NAMED, search);
        return;
    }
    buf_printf(&listing->filter, "agent_id = ANY ($%d)", next_parameter(listing));
    struct buf *array = postgres_add_array(&listing->query, POSTGRES_TEXTS, (size_t)count);
    for (int i = 0; i < count; i++) {
        postgres_put_text(&listing->query, array, store->pq.getvalue(agents, i, 0));
    }
}

/** @return 1, 0 when no run can be found, or an error */
static int add_search(struct postgres_store *store, struct listing_query *listing,
                      const struct rules_run_filter *filter, struct rondo_error *err)
{
    PGresult *agents = NULL;
    int r = find_agents(store, filter->search, &agents, err);
    if (r < 0) {
        return r;
    }
    if (store->pq.ntuples(agents) > 0 || filter->searches_ids) {
        int search = add_text(listing, filter->search);
        buf_append_string(&listing->filter, " AND (");
        add_named(listing, store, agents, search);
        if (filter->searches_ids) {
            buf_printf(&listing->filter, " OR " ID_BEGINS, search, search);
        }
        buf_append_string(&listing->filter, ")");
        r = 1;
    }
    store->pq.clear(agents);
    return r;
}

/** Where a page begins. The parameters are there once, for all parts of a list. */
struct page_place {
    int after; /**< number of the parameter, the id's follows; 0 = from the first */
    int limit;
    const char *column;
    const char *comparison;
    const char *direction;
};

static struct page_place add_place(struct listing_query *listing,
                                   const struct store_run_query *query)
{
    struct page_place place = {.column = columns[query->order],
                               .comparison = query->is_ascending ? ">" : "<",
                               .direction = query->is_ascending ? "" : " DESC"};
    if (query->after != NULL) {
        place.after = next_parameter(listing);
        if (query->order == STORE_BY_AGENT) {
            postgres_add_text(&listing->query, query->after->text);
        } else {
            postgres_add_number(&listing->query, query->after->number);
        }
        postgres_add_text(&listing->query, query->after->id);
    }
    place.limit = next_parameter(listing);
    postgres_add_limit(&listing->query, query->limit);
    return place;
}

static void add_order(struct listing_query *listing, const struct page_place *place)
{
    buf_printf(&listing->sql, " ORDER BY %s%s, id%s LIMIT $%d", place->column, place->direction,
               place->direction, place->limit);
}

/** A page of what a statement selects. @param which of the runs */
static void add_part(struct listing_query *listing, const char *select,
                     const struct page_place *place, const char *which)
{
    buf_printf(&listing->sql, "%s WHERE %s%s", select, which, buf_string(&listing->filter));
    if (place->after > 0) {
        buf_printf(&listing->sql, " AND (%s, id) %s ($%d, $%d)", place->column, place->comparison,
                   place->after, place->after + 1);
    }
    add_order(listing, place);
}

/**
 * The statement of a list. Only the default order has an index of all runs. Other orders take a
 * page of those that have not ended, and one of the others, by an index of what does not change any
 * more.
 */
static void write_list(struct listing_query *listing, const struct postgres_store *store,
                       const struct store_run_query *query)
{
    const char *select = store->sql[PG_RUN_LIST];
    const struct page_place place = add_place(listing, query);
    if (query->order == STORE_BY_CREATED) {
        add_part(listing, select, &place, "true");
        return;
    }
    buf_append_string(&listing->sql, "(");
    add_part(listing, select, &place, "status = 0");
    buf_printf(&listing->sql, ") UNION ALL (%s WHERE key IN (", select);
    add_part(listing, store->sql[PG_RUN_ENDED], &place, "true");
    buf_append_string(&listing->sql, "))");
    add_order(listing, &place);
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
    add_common(&listing, &filter);
    add_own(&listing, &filter);
    int r = filter.search[0] != '\0' ? add_search(store, &listing, &filter, err) : 1;
    if (r == 1) {
        write_list(&listing, store, query);
        listing.query.sql = buf_steal(&listing.sql);
        r = postgres_read_begin(store, &listing.query, "list runs", &reading, err);
        r = r < 0 ? r : 1;
    }
    listing_fini(&listing);
    if (r != 1) {
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

/** Count the runs themselves, by what there are indexes for. */
static void write_count(struct listing_query *listing, const char *select,
                        const struct rules_run_filter *filter)
{
    add_own(listing, filter);
    if (filter->search[0] != '\0') {
        int search = add_text(listing, filter->search);
        buf_printf(&listing->filter, " AND (" AGENT_NAMED " OR %s AND " ID_BEGINS ")", search,
                   filter->searches_ids ? "true" : "false", search, search);
    }
    buf_printf(&listing->sql, "%s WHERE true%s", select, buf_string(&listing->filter));
}

/** Read the counts that are kept, and count what a search finds by the runs' ids alone. */
static void write_kept_count(struct listing_query *listing, const struct postgres_store *store,
                             const struct rules_run_filter *filter)
{
    const char *common = buf_string(&listing->filter);
    bool is_top_only = filter->query->is_top_only;
    int search = 0;
    buf_printf(&listing->sql, "SELECT status, is_paused, sum(number)::bigint %s WHERE true%s%s",
               store->sql[PG_RUN_COUNTS], common, is_top_only ? " AND is_top" : "");
    if (filter->search[0] != '\0') {
        search = add_text(listing, filter->search);
        buf_printf(&listing->sql, " AND " AGENT_NAMED, search);
    }
    if (filter->searches_ids) {
        buf_printf(&listing->sql,
                   " GROUP BY 1, 2 UNION ALL %s WHERE " ID_BEGINS " AND NOT " AGENT_NAMED "%s%s",
                   store->sql[PG_RUN_COUNT], search, search, search, common,
                   is_top_only ? " AND parent = ''" : "");
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
    add_common(&listing, &filter);
    if (filter.has_prefix || query->parent != NULL) {
        write_count(&listing, store->sql[PG_RUN_COUNT], &filter);
    } else {
        write_kept_count(&listing, store, &filter);
    }
    buf_append_string(&listing.sql, " GROUP BY 1, 2");
    listing.query.sql = buf_steal(&listing.sql);
    int r = postgres_read_begin(store, &listing.query, "count runs", &reading, err);
    listing_fini(&listing);
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
