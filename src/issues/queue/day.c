// SPDX-License-Identifier: Apache-2.0
/*
 * The budgets of a day: what all items of the repository have used in the last 24 hours, by when
 * they used it. Runs under way count with what they have used so far. As elsewhere, nothing begins
 * under a limit of cost while a cost is not known.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct day_use {
    int64_t since_ns;
    int64_t tokens, cost_micro;
    char unknown[ID_SIZE + 24]; /* whose cost is not known, for people; "" = all are */
    char (*runs)[ID_SIZE];      /* that no item has counted */
    size_t run_count;
    char *damaged; /* key of the first item that cannot be read; or NULL */
};

static void add_cost(struct day_use *day, int64_t cost_micro, const char *whose)
{
    if (cost_micro < 0) {
        snprintf(day->unknown, sizeof(day->unknown), "%s", whose);
    } else {
        day->cost_micro += cost_micro;
    }
}

static void add_run_id(struct day_use *day, const char *id)
{
    day->runs = memory_resize(day->runs, day->run_count + 1, sizeof(*day->runs));
    snprintf(day->runs[day->run_count++], ID_SIZE, "%s", id);
}

static void add_item(struct day_use *day, const struct item *item)
{
    char whose[ID_SIZE + 24];
    snprintf(whose, sizeof(whose), "issue #%" PRId64, item->number);
    for (size_t i = 0; i < item->use_count; i++) {
        if (item->uses[i].time_ns >= day->since_ns) {
            day->tokens += item->uses[i].tokens;
            add_cost(day, item->uses[i].cost_micro, whose);
        }
    }
    if (item->use_count == 0 && item->counted_ns >= day->since_ns) { /* of an older version */
        day->tokens += item->tokens > 0 ? item->tokens : 0;
        add_cost(day, item->cost_micro, whose);
    }
    if (item->run_id[0] != '\0' && strcmp(item->run_id, item->counted_run) != 0) {
        add_run_id(day, item->run_id);
    }
}

/** One that cannot be read is passed over; its run may be known all the same. */
static void add_damaged(struct day_use *day, const struct store_document *document)
{
    auto_json struct json_object *root = NULL;
    if (day->damaged == NULL) {
        day->damaged = memory_dup_string(document->key);
    }
    if (json_parse(document->data, document->data_len, &root, NULL) == 0) {
        const char *id = json_get_string(root, "run_id", "");
        if (id_is_valid(id)) {
            add_run_id(day, id);
        }
    }
}

static bool add_document(const struct store_document *document, void *context)
{
    struct item item = {0};
    if (item_decode(document->key, document->data, document->data_len, &item, NULL) < 0) {
        add_damaged(context, document);
        return true;
    }
    add_item(context, &item);
    item_fini(&item);
    return true;
}

static bool add_row(const struct store_run *run, void *context)
{
    struct day_use *day = context;
    if (run->updated_ns >= day->since_ns) {
        day->tokens += run->summary.tokens;
        add_cost(day, run->summary.cost_micro, run->id);
    }
    return true;
}

/** A run, and the attempts that work for it now: it has those that have ended. */
static int add_run(struct store *store, const char *id, struct day_use *day)
{
    struct store_run run;
    const struct store_run_query query = {.parent = id, .only_running = true};
    if (store->ops->get_run(store, id, &run, NULL) != 0) {
        return 0; /* It was never created, or is deleted. */
    }
    add_row(&run, day);
    return store->ops->list_runs(store, &query, add_row, day, NULL);
}

static int add_up(struct issue_queue *queue, struct day_use *day)
{
    struct store *store = queue->options.store;
    auto_buf struct buf prefix = {0};
    item_append_prefix(queue->repository, &prefix);
    const struct store_document_query query = {.collection = ITEM_COLLECTION,
                                               .prefix = buf_string(&prefix)};
    int r = store->ops->read_documents(store, &query, add_document, day, NULL);
    for (size_t i = 0; r >= 0 && i < day->run_count; i++) {
        r = add_run(store, day->runs[i], day);
    }
    return r;
}

/** Judge, and tell people what is in the way. */
static bool judge(struct issue_queue *queue, const struct day_use *day)
{
    const struct issue_queue_options *options = &queue->options;
    bool is_cost_spent = options->day_cost_micro > 0 && day->cost_micro >= options->day_cost_micro;
    bool is_spent = options->day_tokens > 0 && day->tokens >= options->day_tokens;
    bool is_unknown = options->day_cost_micro > 0 && day->unknown[0] != '\0';
    if (is_cost_spent || is_spent) {
        queue_trouble(queue, QUEUE_TROUBLE_DAY,
                      "the %s limit for 24 hours is reached: no issue is begun",
                      is_cost_spent ? "cost" : "token");
    } else if (is_unknown) {
        queue_trouble(
            queue, QUEUE_TROUBLE_DAY,
            "the cost limit for 24 hours cannot be enforced, because the cost of %s is not "
            "known; give prices with --prices FILE, or remove the limit",
            day->unknown);
    } else {
        queue_untrouble(queue, QUEUE_TROUBLE_DAY);
    }
    return is_cost_spent || is_spent || is_unknown;
}

static bool find_day_spent(struct issue_queue *queue)
{
    struct day_use day = {.since_ns = clock_now(queue->options.clock) - ITEM_DAY_NS};
    int r = add_up(queue, &day);
    if (r < 0) {
        queue_trouble(queue, QUEUE_TROUBLE_DAY,
                      "the use of the last 24 hours cannot be added up: the store cannot be read");
    }
    if (day.damaged != NULL) {
        queue_trouble(queue, QUEUE_TROUBLE_ITEM,
                      "the work item %s cannot be read: what it has used is not counted",
                      day.damaged);
    } else {
        queue_untrouble(queue, QUEUE_TROUBLE_ITEM);
    }
    bool is_spent = r < 0 || judge(queue, &day);
    free(day.runs);
    free(day.damaged);
    return is_spent;
}

bool queue_is_day_spent(struct issue_queue *queue)
{
    const struct issue_queue_options *options = &queue->options;
    int64_t now_ns = clock_monotonic(options->clock);
    if (options->day_cost_micro == 0 && options->day_tokens == 0) {
        return false;
    }
    if (queue->day_seen_ns == 0 || now_ns - queue->day_seen_ns >= QUEUE_DAY_NS) {
        queue->is_day_spent = find_day_spent(queue);
        queue->day_seen_ns = now_ns;
    }
    return queue->is_day_spent;
}
