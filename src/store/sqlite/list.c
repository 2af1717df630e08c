// SPDX-License-Identifier: Apache-2.0
/*
 * Listing and counting runs. What has an index is asked with it: the default order, ids, and the
 * agent; everything else is a scan of the rows of runs.
 *
 * Threads: sqlite_read_begin holds the reader's mutex until sqlite_read_end, callbacks included.
 */
#include "base/buf.h"
#include "base/json/json.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <assert.h>
#include <stdio.h>

/* RUN_NUMBER in sqlite_statements.c names orders by their values. */
static_assert(STORE_BY_UPDATED == 1 && STORE_BY_STATUS == 3 && STORE_BY_ITERATION == 4 &&
                  STORE_BY_TOKENS == 5 && STORE_BY_COST == 6 && STORE_BY_WARNINGS == 7,
              "the statements number the orders like this");

/** What is bound, for as long as the statement runs. */
struct binding {
    struct rules_run_filter filter;
    struct buf agents; /**< JSON array */
    char end[ID_SIZE + 1];
};

static void bind_agents(sqlite3_stmt *statement, struct binding *binding)
{
    const char *const *agents = binding->filter.query->agents;
    if (agents == NULL) {
        return;
    }
    struct json_writer writer = json_writer(&binding->agents);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; agents[i] != NULL; i++) {
        json_write_string(&writer, NULL, agents[i]);
    }
    json_end_array(&writer);
    sqlite_bind_string_len(statement, 6, binding->agents.data, binding->agents.len);
}

/** Bind ?1 to ?6 and ?12 to ?14. What is not bound is NULL. */
static void bind_filter(sqlite3_stmt *statement, struct binding *binding)
{
    const struct rules_run_filter *filter = &binding->filter;
    sqlite_bind_string(statement, 1, filter->query->agent_id);
    sqlite_bind_number(statement, 2, filter->statuses);
    if (filter->has_prefix) {
        /* '~' sorts after every character of an id. */
        snprintf(binding->end, sizeof(binding->end), "%s~", filter->query->id_prefix);
        sqlite_bind_string(statement, 3, filter->query->id_prefix);
        sqlite_bind_string(statement, 4, binding->end);
    }
    if (filter->search[0] != '\0') {
        sqlite_bind_string(statement, 5, filter->search);
        sqlite_bind_number(statement, 14, filter->searches_ids);
    }
    bind_agents(statement, binding);
    sqlite_bind_string(statement, 12, filter->query->parent);
    sqlite_bind_number(statement, 13, filter->query->is_top_only);
}

/** Bind ?7 to ?11. */
static void bind_place(sqlite3_stmt *statement, const struct store_run_query *query)
{
    sqlite_bind_number(statement, 7, query->order);
    if (query->after != NULL) {
        sqlite_bind_number(statement, 8, query->after->number);
        sqlite_bind_string(statement, 9, query->after->text);
        sqlite_bind_string(statement, 10, query->after->id);
    }
    sqlite_bind_number(statement, 11, query->limit == 0 ? -1 : (int64_t)query->limit);
}

static enum sqlite_sql statement_of(const struct rules_run_filter *filter)
{
    const struct store_run_query *query = filter->query;
    switch (query->order) {
    case STORE_BY_CREATED:
        if (query->is_ascending) {
            return SQL_RUN_LIST_OLDEST;
        }
        if (filter->has_prefix) {
            return SQL_RUN_LIST_PREFIX;
        }
        return query->agent_id != NULL ? SQL_RUN_LIST_AGENT : SQL_RUN_LIST;
    case STORE_BY_AGENT:
        return query->is_ascending ? SQL_RUN_LIST_BY_AGENT : SQL_RUN_LIST_BY_AGENT_BACK;
    case STORE_BY_UPDATED:
    case STORE_BY_STATUS:
    case STORE_BY_ITERATION:
    case STORE_BY_TOKENS:
    case STORE_BY_COST:
    case STORE_BY_WARNINGS:
    case STORE_ORDER_COUNT:
        break;
    }
    return query->is_ascending ? SQL_RUN_LIST_NUMBER : SQL_RUN_LIST_NUMBER_BACK;
}

/** Pass a row on. @return 1: continue with the next one, 0: enough, or an error */
static int take_row(const struct sqlite_connection *reader, sqlite3_stmt *statement,
                    const struct store_run_query *query, store_run_fn *fn, void *context,
                    struct rondo_error *err)
{
    struct store_run run;
    int64_t key = 0;
    struct rondo_error why = {0};
    int r = row_run(sqlite_row(reader, statement), 0, &run, &key, &why);
    return row_give_run(r, &why, &run, key, query, fn, context, err);
}

int sqlite_list_runs(struct store *base, const struct store_run_query *query, store_run_fn *fn,
                     void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct binding binding = {.filter = rules_run_filter(query)};
    if (binding.filter.is_empty) {
        return 0;
    }
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, statement_of(&binding.filter), &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    bind_filter(statement, &binding);
    bind_place(statement, query);
    while ((r = sqlite_step_row(reader, statement, "list runs", err)) == 1) {
        r = take_row(reader, statement, query, fn, context, err);
        if (r != 1) {
            break;
        }
    }
    sqlite_read_end(reader, statement);
    buf_fini(&binding.agents);
    return r;
}

static void count_run(sqlite3_stmt *statement, struct store_run_counts *counts)
{
    int status = sqlite3_column_int(statement, 0);
    if (status >= 0 && status < RONDO_STATUS_COUNT) {
        counts->by_status[status]++;
    }
    if (status == RONDO_RUNNING && sqlite3_column_int(statement, 1) != 0) {
        counts->paused++;
    }
}

int sqlite_count_runs(struct store *base, const struct store_run_query *query,
                      struct store_run_counts *ret_counts, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct binding binding = {.filter = rules_run_filter(query)};
    struct store_run_counts counts = {0};
    if (binding.filter.is_empty) {
        *ret_counts = counts;
        return 0;
    }
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_RUN_COUNT, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    bind_filter(statement, &binding);
    while ((r = sqlite_step_row(reader, statement, "count runs", err)) == 1) {
        count_run(statement, &counts);
    }
    sqlite_read_end(reader, statement);
    buf_fini(&binding.agents);
    if (r == 0) {
        *ret_counts = counts;
    }
    return r;
}
