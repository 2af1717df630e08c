// SPDX-License-Identifier: Apache-2.0
/* A round of verification: what runs side by side, what one after the other, what is capped. */
#include "loop/verify.h"
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** What the verifier of these tests saw; its lock guards everything in it. */
struct stage {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int running;
    int most_running;
    int make_running;
    int most_make_running;
    int awaited; /* evaluations wait until so many run at once; 0 = none waits */
    int64_t longest_timeout_ns;
    int64_t shortest_timeout_ns;
    int64_t takes_ns; /* of the clock, each evaluation */
    int64_t now_ns;
};

static int64_t stage_now(const struct clock *clock)
{
    struct stage *stage = clock->context;
    pthread_mutex_lock(&stage->lock);
    int64_t now_ns = stage->now_ns;
    pthread_mutex_unlock(&stage->lock);
    return now_ns;
}

static void evaluate(const struct verifier *verifier, const struct loop_condition *condition,
                     int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result)
{
    (void)cancel;
    struct stage *stage = (struct stage *)verifier->context;
    int is_make = strncmp(condition->command, "make", 4) == 0;
    pthread_mutex_lock(&stage->lock);
    stage->running++;
    stage->make_running += is_make;
    if (stage->running > stage->most_running) {
        stage->most_running = stage->running;
    }
    if (stage->make_running > stage->most_make_running) {
        stage->most_make_running = stage->make_running;
    }
    if (timeout_ns > stage->longest_timeout_ns) {
        stage->longest_timeout_ns = timeout_ns;
    }
    if (stage->shortest_timeout_ns == 0 || timeout_ns < stage->shortest_timeout_ns) {
        stage->shortest_timeout_ns = timeout_ns;
    }
    stage->now_ns += stage->takes_ns;
    pthread_cond_broadcast(&stage->changed);
    while (stage->most_running < stage->awaited) {
        pthread_cond_wait(&stage->changed, &stage->lock);
    }
    stage->running--;
    stage->make_running -= is_make;
    pthread_mutex_unlock(&stage->lock);
    ret_result->status = RONDO_MET;
    ret_result->reason = RONDO_REASON_PASSED;
    ret_result->exit_code = 0;
}

struct received {
    size_t order[8];
    size_t count;
    size_t met;
};

static void receive(void *context, size_t index, struct verify_result *result, size_t still_running)
{
    struct received *received = context;
    received->order[received->count++] = index;
    received->met += result->status == RONDO_MET;
    (void)still_running;
}

static struct received run(struct stage *stage, const char *const *commands, size_t count,
                           int64_t time_left_ns, struct cancel *cancel)
{
    struct loop_condition conditions[8] = {0};
    for (size_t i = 0; i < count; i++) {
        conditions[i].command = (char *)commands[i];
        conditions[i].timeout_ns = 1000;
    }
    pthread_mutex_init(&stage->lock, NULL);
    pthread_cond_init(&stage->changed, NULL);
    struct verifier verifier = {.evaluate = evaluate, .context = stage, .is_concurrent = true};
    const struct clock clock = {.now_ns = stage_now, .monotonic_ns = stage_now, .context = stage};
    struct received received = {0};
    verify_all(&verifier, conditions, count, &clock, time_left_ns, cancel, receive, &received);
    return received;
}

TEST(different_tools_run_side_by_side)
{
    static const char *const commands[] = {"make test", "ruff check .", "cargo build"};
    struct stage stage = {.awaited = 3}; /* nobody ends before all three run */
    struct received received = run(&stage, commands, 3, INT64_MAX, NULL);
    assert_int_equal(received.count, 3);
    assert_int_equal(stage.most_running, 3);
}

TEST(one_tool_never_runs_twice_at_once_and_keeps_its_order)
{
    static const char *const commands[] = {"make test", "ruff check", "make", "make lint"};
    struct stage stage = {.awaited = 2};
    struct received received = run(&stage, commands, 4, INT64_MAX, NULL);
    assert_int_equal(received.count, 4);
    assert_int_equal(received.met, 4);
    assert_int_equal(stage.most_make_running, 1);
    size_t last = 0;
    for (size_t i = 0; i < received.count; i++) {
        if (received.order[i] != 1) {
            assert_true(i == 0 || received.order[i] >= last);
            last = received.order[i];
        }
    }
}

TEST(the_time_left_caps_each_timeout)
{
    static const char *const commands[] = {"a", "b"};
    struct stage stage = {0};
    run(&stage, commands, 2, 10, NULL);
    assert_int_equal(stage.longest_timeout_ns, 10);
}

TEST(conditions_that_take_turns_share_the_time_that_is_left)
{
    static const char *const commands[] = {"make a", "make b", "make c"};
    struct stage stage = {.takes_ns = 6};
    struct received received = run(&stage, commands, 3, 10, NULL);
    assert_int_equal(stage.longest_timeout_ns, 10);
    assert_int_equal(stage.shortest_timeout_ns, 4);
    assert_int_equal(received.count, 3);
    assert_int_equal(received.met, 2); /* For the third there is no time: it is not started. */
}

TEST(after_a_stop_nothing_is_evaluated_and_nothing_is_met)
{
    static const char *const commands[] = {"a", "b", "c"};
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    struct stage stage = {0};
    struct received received = run(&stage, commands, 3, INT64_MAX, &cancel);
    assert_int_equal(received.count, 3);
    assert_int_equal(received.met, 0);
    assert_int_equal(stage.most_running, 0);
    cancel_fini(&cancel);
}
