// SPDX-License-Identifier: Apache-2.0
/* Places of a machine: two queues, as of two processes, never work on more than allowed. */
#include "queue_world.h"

/** An item of a queue. */
static struct queue_slot *add_slot(struct queue_world *world, struct issue_queue *queue,
                                   int64_t number)
{
    struct issue_queue *own = world->queue;
    world->queue = queue;
    struct queue_slot *slot = world_slot(world, number, ITEM_ASSIGNED);
    world->queue = own;
    return slot;
}

static void free_other(struct issue_queue *queue)
{
    queue->forge = NULL; /* It is the world's. */
    queue_free(queue);
}

QUEUE_TEST(two_queues_of_a_machine_share_its_places)
{
    struct queue_world *world = *state;
    struct issue_queue *other = world_make_queue(world);
    struct queue_slot *first = add_slot(world, world->queue, 1);
    struct queue_slot *second = add_slot(world, other, 2);
    assert_true(queue_hold(world->queue, first));
    assert_true(queue_hold(world->queue, first));
    assert_false(queue_hold(other, second));
    assert_true(world_said(world, "this one waits"));
    assert_false(queue_reserve(other));
    first->item.state = ITEM_IN_PROGRESS;
    assert_true(queue_hold(world->queue, first));
    assert_false(queue_hold(other, second));
    first->item.state = ITEM_IN_REVIEW; /* needs no place any more */
    assert_true(queue_hold(world->queue, first));
    assert_true(queue_hold(other, second));
    first->item.state = ITEM_ASSIGNED;
    assert_false(queue_hold(world->queue, first));
    free_other(other); /* as when its process dies */
    assert_true(queue_hold(world->queue, first));
}

QUEUE_TEST(there_are_as_many_places_as_a_queue_allows)
{
    struct queue_world *world = *state;
    struct issue_queue *other = world_make_queue(world);
    world->queue->options.most_running = 2;
    other->options.most_running = 3;
    assert_true(queue_hold(world->queue, add_slot(world, world->queue, 1)));
    assert_true(queue_reserve(world->queue));
    assert_true(queue_hold(other, add_slot(world, other, 2)));
    assert_false(queue_hold(other, add_slot(world, other, 3)));
    queue_unreserve(world->queue);
    assert_true(queue_reserve(other));
    assert_false(queue_reserve(world->queue));
    free_other(other);
}
