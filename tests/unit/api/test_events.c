// SPDX-License-Identifier: Apache-2.0
/* Subscriptions and stopping through the public API. */
#include "scratch.h"

#include <pthread.h>

SCRATCH_TEST(a_subscription_gives_every_event_once_and_in_order)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_subscription *subscription =
        rondo_subscribe(scratch->rondo, rondo_loop_run_id(loop), 0);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        rondo_loop_note(loop, "mark", "{\"a\":1}", NULL);
    }
    struct rondo_event event = {0};
    struct rondo_error err = {0};
    uint64_t seq = 0;
    int notes = 0;
    char type[32] = "";
    while (rondo_subscription_next(subscription, 0, &event, &err) == 1) {
        assert_int_equal(event.seq, ++seq);
        assert_string_equal(event.run_id, rondo_loop_run_id(loop));
        assert_true(event.data[0] == '{');
        assert_true(event.text[0] != '\0' && event.category[0] != '\0');
        assert_true((strcmp(event.level, "warning") == 0) ==
                    (strcmp(event.type, "limit.warning") == 0));
        notes += strcmp(event.type, "note") == 0;
        snprintf(type, sizeof(type), "%s", event.type);
    }
    assert_int_equal(notes, 3);
    assert_int_equal(strncmp(event.text, "max_iterations after 3 iterations", 33), 0);
    assert_string_equal(type, "run.finished");
    rondo_subscription_free(subscription);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_subscription_can_begin_in_the_middle_and_see_all_runs)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *first = scratch_start(scratch, &options);
    struct rondo_loop *second = scratch_start(scratch, &options);
    struct rondo_subscription *all = rondo_subscribe(scratch->rondo, NULL, 0);
    struct rondo_event event = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rondo_subscription_next(all, 0, &event, NULL), 1);
        assert_string_equal(event.run_id, rondo_loop_run_id(first));
    }
    assert_int_equal(rondo_subscription_next(all, 0, &event, NULL), 1);
    assert_string_equal(event.run_id, rondo_loop_run_id(second));
    uint64_t position = event.position;
    rondo_subscription_free(all);
    all = rondo_subscribe(scratch->rondo, NULL, position);
    assert_int_equal(rondo_subscription_next(all, 0, &event, NULL), 1);
    assert_string_equal(event.type, "run.claimed");
    assert_int_equal(rondo_subscription_next(all, 0, &event, NULL), 0);
    rondo_subscription_free(all);
    rondo_loop_free(first);
    rondo_loop_free(second);
}

SCRATCH_TEST(stopping_a_run_that_nobody_executes_ends_it)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
    struct rondo_error err = {0};
    assert_int_equal(rondo_stop_run(scratch->rondo, "last", &err), RONDO_ERR_STATE);
    assert_int_equal(rondo_stop_run(scratch->rondo, "no-such", &err), RONDO_ERR_INVALID);
}

static void *continue_it(void *argument)
{
    struct rondo *rondo = argument;
    struct rondo_error err = {0};
    struct rondo_subscription *all = rondo_subscribe(rondo, NULL, 0);
    struct rondo_event event = {0};
    do { /* until the pause is in the journal */
        assert_int_equal(rondo_subscription_next(all, INT64_C(60000000000), &event, &err), 1);
    } while (strcmp(event.type, "run.paused") != 0);
    rondo_subscription_free(all);
    assert_int_equal(rondo_continue_run(rondo, "last", &err), 0);
    return NULL;
}

SCRATCH_TEST(a_paused_loop_waits_until_it_is_continued)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    pthread_t thread;
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_pause_run(scratch->rondo, rondo_loop_run_id(loop), &err), 0);
    assert_int_equal(rondo_loop_note(loop, "mark", NULL, &err), 0);
    assert_int_equal(rondo_loop_save_checkpoint(loop, NULL, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, continue_it, scratch->rondo), 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    pthread_join(thread, NULL);
    assert_int_equal(rondo_loop_iteration(loop), 2);
    rondo_loop_free(loop);
    assert_int_equal(rondo_pause_run(scratch->rondo, "last", &err), RONDO_ERR_STATE);
}

struct stopping {
    struct rondo *rondo;
    char run_id[64];
    int result;
};

static void *stop_it(void *argument)
{
    struct stopping *stopping = argument;
    stopping->result = rondo_stop_run(stopping->rondo, stopping->run_id, NULL);
    return NULL;
}

SCRATCH_TEST(a_stop_from_another_thread_reaches_a_busy_body)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    struct stopping stopping = {.rondo = scratch->rondo, .result = -1};
    snprintf(stopping.run_id, sizeof(stopping.run_id), "%s", rondo_loop_run_id(loop));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_it, &stopping), 0);
    while (!rondo_loop_should_stop(loop)) {
        usleep(1000); /* the body works; it looks up until it is told to stop */
    }
    pthread_join(thread, NULL);
    assert_int_equal(stopping.result, 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_CANCELLED);
    rondo_loop_free(loop);
}
