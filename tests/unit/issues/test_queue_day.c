// SPDX-License-Identifier: Apache-2.0
/* The budgets of a day: what counts, from when, and what is not known. */
#include "queue_world.h"

#include "base/text/plain.h"

#define HOUR_NS (3600 * NS_PER_S)
#define RUN     "01890a5d-ac96-774b-bcce-b302099a8058"
#define ATTEMPT "01890a5d-ac96-774b-bcce-b302099a8059"

static int64_t now(const struct queue_world *world)
{
    return clock_now(&world->forge->clock);
}

/** An item of the store that has used that much. */
static struct queue_slot *add_use(struct queue_world *world, int64_t number, int64_t time_ns,
                                  int64_t tokens, int64_t cost_micro)
{
    struct queue_slot *slot = world_slot(world, number, ITEM_BLOCKED);
    slot->item.tokens = tokens;
    slot->item.cost_micro = cost_micro;
    slot->item.counted_ns = time_ns;
    item_use(&slot->item, time_ns, tokens, cost_micro);
    assert_true(queue_save(world->queue, slot));
    return slot;
}

static void add_run(struct queue_world *world, const char *id, const char *parent, int64_t tokens,
                    int64_t cost_micro)
{
    struct store_run run = {
        .agent_id = "issue-acme-shop-1",
        .summary = {.status = RONDO_RUNNING, .tokens = tokens, .cost_micro = cost_micro}};
    const struct store_claim claim = {.owner = WORLD_OWNER, .lease_ns = HOUR_NS};
    struct store_claim_result result;
    snprintf(run.id, sizeof(run.id), "%s", id);
    snprintf(run.parent, sizeof(run.parent), "%s", parent);
    assert_int_equal(
        world->store->ops->create_run(world->store, &run, NULL, 0, &claim, &result, NULL), 0);
}

static bool is_spent(struct queue_world *world)
{
    world->queue->day_seen_ns = 0;
    return queue_is_day_spent(world->queue);
}

QUEUE_TEST(a_budget_is_used_up_at_its_limit_and_not_below)
{
    struct queue_world *world = *state;
    world->queue->options.day_tokens = 1000;
    world->queue->options.day_cost_micro = 500;
    add_use(world, 1, now(world), 600, 300);
    add_use(world, 2, now(world), 399, 199);
    assert_false(is_spent(world));
    assert_false(world_said(world, "used up"));
    add_use(world, 3, now(world), 1, 0);
    assert_true(is_spent(world));
    assert_true(world_said(world, "the token limit for 24 hours is reached"));
    world->queue->options.day_tokens = 0;
    assert_false(is_spent(world));
    add_use(world, 4, now(world), 0, 1);
    assert_true(is_spent(world));
    assert_true(world_said(world, "the cost limit for 24 hours is reached"));
}

QUEUE_TEST(use_counts_for_a_day_from_when_it_was_used)
{
    struct queue_world *world = *state;
    world->queue->options.day_tokens = 1000;
    struct queue_slot *slot = add_use(world, 1, now(world), 900, 0);
    world_pass(world, 23 * HOUR_NS);
    item_use(&slot->item, now(world), 100, 0);
    slot->item.tokens = 1000;
    slot->item.counted_ns = now(world);
    assert_true(queue_save(world->queue, slot));
    assert_true(is_spent(world));
    world_pass(world, HOUR_NS + NS_PER_S); /* The item was changed a moment ago; its use was not. */
    assert_false(is_spent(world));
    world->queue->options.day_tokens = 100;
    assert_true(is_spent(world));
    world_pass(world, 24 * HOUR_NS);
    assert_false(is_spent(world));
}

QUEUE_TEST(a_run_under_way_counts_with_its_attempts_until_the_item_has_counted_it)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    snprintf(slot->item.run_id, ID_SIZE, RUN);
    assert_true(queue_save(world->queue, slot));
    world->queue->options.day_tokens = 100;
    assert_false(is_spent(world)); /* It is not created yet. */
    add_run(world, RUN, "", 60, 0);
    assert_false(is_spent(world));
    add_run(world, ATTEMPT, RUN, 40, 0);
    assert_true(is_spent(world));
    snprintf(slot->item.counted_run, ID_SIZE, RUN);
    item_use(&slot->item, now(world), 99, 0);
    assert_true(queue_save(world->queue, slot));
    assert_false(is_spent(world));
}

QUEUE_TEST(nothing_begins_under_a_limit_of_cost_while_a_cost_is_not_known)
{
    struct queue_world *world = *state;
    add_use(world, 7, now(world), 10, COST_UNKNOWN);
    world->queue->options.day_tokens = 100;
    assert_false(is_spent(world));
    world->queue->options.day_cost_micro = 500;
    assert_true(is_spent(world));
    assert_true(world_said(world, "the cost of issue #7 is not known"));
    world_pass(world, 24 * HOUR_NS + NS_PER_S);
    assert_false(is_spent(world));
}

QUEUE_TEST(an_item_that_cannot_be_read_is_reported_and_its_run_counts)
{
    struct queue_world *world = *state;
    static const char damaged[] = "{\"format\":99,\"run_id\":\"" RUN "\"}";
    bool is_applied = false;
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = ITEM_COLLECTION,
                                        .key = "forge.test/acme/shop#5",
                                        .data = damaged,
                                        .data_len = strlen(damaged),
                                        .if_version = STORE_ANY_VERSION};
    world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL);
    world->queue->options.day_tokens = 100;
    add_use(world, 1, now(world), 50, 0);
    assert_false(is_spent(world));
    assert_true(world_said(world, "the work item forge.test/acme/shop#5 cannot be read"));
    add_run(world, RUN, "", 50, 0);
    assert_true(is_spent(world));
}

QUEUE_TEST(use_in_an_older_document_counts_from_its_last_count)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_BLOCKED);
    slot->item.tokens = 100;
    slot->item.counted_ns = now(world);
    assert_true(queue_save(world->queue, slot));
    world->queue->options.day_tokens = 100;
    assert_true(is_spent(world));
    world_pass(world, 24 * HOUR_NS + NS_PER_S);
    assert_false(is_spent(world));
}
