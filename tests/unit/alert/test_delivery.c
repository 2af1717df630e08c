// SPDX-License-Identifier: Apache-2.0
/* Deliveries that several processes attempt: who may take which, and what the dead leave. */
#include "alert/delivery.h"

#include "../../support/store/memory_store.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "loop/owner.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct queue {
    struct store *store;
    int64_t now_ns;
    char me[STORE_OWNER_SIZE];
    char other[STORE_OWNER_SIZE]; /* another process that lives */
    char dead[STORE_OWNER_SIZE];
};

static int make_queue(void **state)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    queue->store = store_memory_new(clock_system());
    queue->now_ns = INT64_C(1800000000) * NS_PER_S;
    owner_new(random_system(), queue->me);
    owner_new(random_system(), queue->other);
    /* A process of this number that was started at another time is gone. */
    char *started = strstr(queue->me, "started=");
    snprintf(queue->dead, sizeof(queue->dead), "%.*sstarted=1 %s", (int)(started - queue->me),
             queue->me, strchr(started, ' ') + 1);
    *state = queue;
    return 0;
}

static int end_queue(void **state)
{
    struct queue *queue = *state;
    store_close(queue->store);
    free(queue);
    return 0;
}

#define QUEUE_TEST(name) TEST_WITH(name, make_queue, end_queue)

static void add(struct queue *queue, const char *sink)
{
    auto_buf struct buf data = {0};
    bool is_applied = false;
    struct delivery delivery = delivery_new(sink, "w-1", "{\"by\":\"pid=1\"}", 0, queue->now_ns);
    delivery_encode(&delivery, &data);
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = DELIVERY_COLLECTION,
                                        .key = delivery.key,
                                        .data = data.data,
                                        .data_len = data.len,
                                        .if_version = 0};
    assert_int_equal(
        queue->store->ops->change_documents(queue->store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    delivery_fini(&delivery);
}

/** @return attempts of the delivery that was taken; 0 = none */
static int64_t take(struct queue *queue, const char *by, struct delivery *ret_delivery)
{
    const struct delivery_busy busy = {.by = by};
    bool is_found = false;
    int64_t next_ns = 0;
    struct delivery delivery = {0};
    assert_int_equal(
        delivery_claim(queue->store, queue->now_ns, &busy, &is_found, &delivery, &next_ns, NULL),
        0);
    int64_t attempts = is_found ? delivery.attempts : 0;
    if (ret_delivery != NULL) {
        *ret_delivery = delivery;
    } else {
        delivery_fini(&delivery);
    }
    return attempts;
}

QUEUE_TEST(what_a_dead_process_has_begun_is_taken_at_once)
{
    struct queue *queue = *state;
    add(queue, "a");
    assert_int_equal(take(queue, queue->dead, NULL), 1);
    assert_int_equal(take(queue, queue->me, NULL), 2);
}

QUEUE_TEST(what_a_living_process_has_begun_is_left_to_it)
{
    struct queue *queue = *state;
    add(queue, "a");
    assert_int_equal(take(queue, queue->other, NULL), 1);
    assert_int_equal(take(queue, queue->me, NULL), 0);
    queue->now_ns += DELIVERY_CLAIM_NS - 1;
    assert_int_equal(take(queue, queue->me, NULL), 0);
    queue->now_ns += 2;
    assert_int_equal(take(queue, queue->me, NULL), 2);
}

QUEUE_TEST(what_is_due_comes_before_what_the_dead_left)
{
    struct queue *queue = *state;
    struct delivery first = {0};
    add(queue, "a");
    assert_int_equal(take(queue, queue->dead, NULL), 1);
    add(queue, "b");
    assert_int_equal(take(queue, queue->me, &first), 1);
    assert_string_equal(first.sink, "b");
    delivery_fini(&first);
    assert_int_equal(take(queue, queue->me, NULL), 2);
}

QUEUE_TEST(what_failed_waits_for_its_time_whoever_made_the_attempt)
{
    struct queue *queue = *state;
    struct delivery delivery = {0};
    bool is_dead = false;
    add(queue, "a");
    assert_int_equal(take(queue, queue->dead, &delivery), 1);
    assert_int_equal(delivery_settle(queue->store, &delivery, DELIVERY_FAILED, 0, queue->now_ns,
                                     random_system(), &is_dead, NULL),
                     0);
    delivery_fini(&delivery);
    assert_int_equal(take(queue, queue->me, NULL), 0);
    queue->now_ns += 6 * NS_PER_S;
    assert_int_equal(take(queue, queue->me, NULL), 2);
}

QUEUE_TEST(a_process_that_was_taken_for_dead_records_nothing_any_more)
{
    struct queue *queue = *state;
    struct delivery late = {0};
    uint64_t waiting = 0;
    uint64_t dead_letters = 0;
    bool is_dead = false;
    add(queue, "a");
    assert_int_equal(take(queue, queue->dead, &late), 1);
    queue->now_ns++;
    assert_int_equal(take(queue, queue->me, NULL), 2);
    assert_int_equal(delivery_settle(queue->store, &late, DELIVERY_OK, 0, queue->now_ns,
                                     random_system(), &is_dead, NULL),
                     0);
    delivery_fini(&late);
    assert_int_equal(delivery_count(queue->store, &waiting, &dead_letters, NULL), 0);
    assert_int_equal(waiting, 1);
}
