// SPDX-License-Identifier: Apache-2.0
/*
 * Listing and counting runs in the memory back end: those that match are sorted, then given.
 * Threads: the store's mutex is held, callbacks included.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

/** Whether `text`, in lower case, has `part` in it. */
static bool contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (part[i] != '\0' && ascii_lower(text[i]) == part[i]) {
            i++;
        }
        if (part[i] == '\0') {
            return true;
        }
    }
    return false;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_listed(const char *const *agents, const char *agent_id)
{
    while (*agents != NULL && strcmp(*agents, agent_id) != 0) {
        agents++;
    }
    return *agents != NULL;
}

static bool matches(const struct store_run *run, const struct rules_run_filter *filter)
{
    const struct store_run_query *query = filter->query;
    if (filter->is_empty || (filter->has_prefix && !begins_with(run->id, query->id_prefix)) ||
        (query->agent_id != NULL && strcmp(run->agent_id, query->agent_id) != 0) ||
        (query->agents != NULL && !is_listed(query->agents, run->agent_id)) ||
        (query->parent != NULL && strcmp(run->parent, query->parent) != 0) ||
        (query->is_top_only && run->parent[0] != '\0')) {
        return false;
    }
    if (filter->search[0] != '\0' && !contains(run->agent_id, filter->search) &&
        !(filter->searches_ids && begins_with(run->id, filter->search))) {
        return false;
    }
    return filter->statuses == 0 || ((filter->statuses >> run->summary.status) & 1) != 0;
}

/** What one place is ordered by. */
struct list_place {
    const struct memory_run *run; /**< NULL: the place of a query, whose run may be gone */
    uint64_t key;                 /**< STORE_BY_CREATED; 0 = unknown */
    int64_t number;
    const char *text;
    const char *id;
    enum store_run_order order;
    bool is_ascending;
};

/** What a run is ordered by when the order is one of numbers, else 0. */
static int64_t number_of(const struct store_run *run, enum store_run_order order)
{
    switch (order) {
    case STORE_BY_CREATED:
        return run->created_ns;
    case STORE_BY_UPDATED:
        return run->updated_ns;
    case STORE_BY_STATUS:
        return run->summary.status;
    case STORE_BY_ITERATION:
        return (int64_t)run->summary.iteration;
    case STORE_BY_TOKENS:
        return run->summary.tokens;
    case STORE_BY_COST:
        return run->summary.cost_micro;
    case STORE_BY_WARNINGS:
        return run->summary.warnings;
    case STORE_BY_AGENT:
    case STORE_ORDER_COUNT:
        break;
    }
    return 0;
}

static struct list_place place_of(const struct memory_run *run, const struct store_run_query *query)
{
    return (struct list_place){
        .run = run,
        .key = query->order == STORE_BY_CREATED ? run->key : 0,
        .number = number_of(&run->row, query->order),
        .text = query->order == STORE_BY_AGENT ? run->row.agent_id : "",
        .id = run->row.id,
        .order = query->order,
        .is_ascending = query->is_ascending,
    };
}

static int compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/** Ascending. */
static int compare(const struct list_place *left, const struct list_place *right)
{
    if (left->key != 0 && right->key != 0) {
        return compare_numbers(left->key, right->key);
    }
    if (left->number != right->number) {
        return left->number < right->number ? -1 : 1;
    }
    int order = strcmp(left->text, right->text);
    return order != 0 ? order : strcmp(left->id, right->id);
}

static int compare_for_list(const void *left, const void *right)
{
    const struct list_place *first = left;
    const struct list_place *second = right;
    int order = compare(first, second);
    return first->is_ascending ? order : -order;
}

/** Where the query's list begins: after this. */
static struct list_place beginning_of(struct memory_store *store,
                                      const struct store_run_query *query)
{
    const struct memory_run *run = memory_rows_find(store, query->after->id);
    return (struct list_place){
        .key = run != NULL && query->order == STORE_BY_CREATED ? run->key : 0,
        .number = query->order == STORE_BY_AGENT ? 0 : query->after->number,
        .text = query->order == STORE_BY_AGENT ? query->after->text : "",
        .id = query->after->id,
        .order = query->order,
        .is_ascending = query->is_ascending,
    };
}

/** Gather the places of the runs that a query selects. @return their number */
static size_t gather(struct memory_store *store, const struct store_run_query *query,
                     struct list_place *ret_places)
{
    const struct rules_run_filter filter = rules_run_filter(query);
    struct list_place beginning = {0};
    if (query->after != NULL) {
        beginning = beginning_of(store, query);
    }
    size_t count = 0;
    const struct memory_run *run;
    DL_FOREACH(store->runs, run)
    {
        if (!matches(&run->row, &filter)) {
            continue;
        }
        struct list_place place = place_of(run, query);
        if (query->after == NULL || compare_for_list(&place, &beginning) > 0) {
            ret_places[count++] = place;
        }
    }
    return count;
}

int memory_list_runs(struct store *base, const struct store_run_query *query, store_run_fn *fn,
                     void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    auto_free struct list_place *places =
        memory_new_zero((size_t)HASH_COUNT(store->by_id) + 1, sizeof(*places));
    size_t count = gather(store, query, places);
    qsort(places, count, sizeof(*places), compare_for_list);
    if (query->limit != 0 && query->limit < count) {
        count = query->limit;
    }
    for (size_t i = 0; i < count && fn(&places[i].run->row, context); i++) {
    }
    memory_rows_unlock(store);
    return 0;
}

int memory_count_runs(struct store *base, const struct store_run_query *query,
                      struct store_run_counts *ret_counts, struct rondo_error *err)
{
    (void)err;
    const struct rules_run_filter filter = rules_run_filter(query);
    struct memory_store *store = memory_rows_lock(base);
    struct store_run_counts counts = {0};
    const struct memory_run *run;
    DL_FOREACH(store->runs, run)
    {
        if (matches(&run->row, &filter)) {
            counts.by_status[run->row.summary.status]++;
            counts.paused += run->row.summary.status == RONDO_RUNNING && run->row.summary.is_paused;
        }
    }
    memory_rows_unlock(store);
    *ret_counts = counts;
    return 0;
}
