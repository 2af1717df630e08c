// SPDX-License-Identifier: Apache-2.0
/* Active time: what a clock that is set, or a process that is stopped, must not change. */
#include "fixture.h"

#include "loop/step.h"

#define HOUR_NS (3600 * NS_PER_S)

static struct loop_spec spec_of(unsigned conditions)
{
    struct loop_spec spec = fixture_spec(conditions);
    spec.max_iterations = 50;
    spec.time_limit_ns = 60 * NS_PER_S;
    return spec;
}

static void pass(struct loop_fixture *fixture, int64_t duration_ns)
{
    fixture->now_ns += duration_ns;
}

static int64_t active_ns(const struct loop *loop)
{
    return loop_step_active_ns(loop_state(loop), loop_now(loop));
}

FIXTURE_TEST(a_clock_that_is_set_forward_uses_up_no_time)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(0));
    fixture_iterate(loop, 1);
    pass(fixture, 5 * NS_PER_S);
    fixture->skew_ns += 24 * HOUR_NS;
    assert_int_equal(active_ns(loop), 5 * NS_PER_S);
    fixture_iterate(loop, 1);
    pass(fixture, 3 * NS_PER_S);
    fixture_iterate(loop, 1);
    assert_int_equal(active_ns(loop), 8 * NS_PER_S);
    const char *run_id = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, run_id, "time.skipped", "set forward"), 1);
    pass(fixture, 60 * NS_PER_S);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_TIMEOUT);
    loop_free(loop);
}

FIXTURE_TEST(a_clock_that_is_set_back_gives_no_time_back)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(1));
    fixture_iterate(loop, 1);
    pass(fixture, 30 * NS_PER_S);
    fixture->skew_ns -= 24 * HOUR_NS;
    fixture_iterate(loop, 1); /* verifying takes a second */
    assert_int_equal(active_ns(loop), 31 * NS_PER_S);
    pass(fixture, 30 * NS_PER_S);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_TIMEOUT);
    loop_free(loop);
}

FIXTURE_TEST(active_time_continues_after_a_resume_as_it_was_counted)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(0));
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), ID_SIZE);
    fixture_iterate(loop, 1);
    pass(fixture, 5 * NS_PER_S);
    fixture->skew_ns += 24 * HOUR_NS;
    fixture_iterate(loop, 1);
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);
    pass(fixture, 7 * HOUR_NS);
    fixture->skew_ns -= 3 * HOUR_NS;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(active_ns(loop), 5 * NS_PER_S);
    fixture_iterate(loop, 1);
    pass(fixture, 2 * NS_PER_S);
    assert_int_equal(active_ns(loop), 7 * NS_PER_S);
    loop_free(loop);
}

FIXTURE_TEST(a_checkpoint_is_right_when_the_clock_is_set_just_before_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(0));
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), ID_SIZE);
    fixture_iterate(loop, 2);
    fixture->skew_ns += HOUR_NS;
    assert_int_equal(loop_save_checkpoint(loop, NULL, NULL), 0);
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(opening.corrupt_count, 0);
    loop_free(loop);
}

/** The resuming process died before the first event: the run had ended all the while. */
FIXTURE_TEST(the_time_after_the_end_of_a_run_is_not_active)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = spec_of(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), ID_SIZE);
    fixture_iterate(loop, 1);
    pass(fixture, 5 * NS_PER_S);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_free(loop);
    pass(fixture, HOUR_NS);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    fixture_crash(fixture, loop);
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(active_ns(loop), 5 * NS_PER_S);
    loop_free(loop);
}

FIXTURE_TEST(a_delay_survives_a_small_correction_of_the_clock)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = spec_of(0);
    spec.delay_ns = 10 * NS_PER_S;
    struct loop *loop = fixture_start(fixture, spec);
    fixture->skew_ns += 100 * NS_PER_MS;
    fixture_iterate(loop, 1);
    int64_t before_ns = fixture->now_ns;
    fixture_iterate(loop, 1);
    assert_in_range(fixture->now_ns - before_ns, 10 * NS_PER_S, 11 * NS_PER_S);
    loop_free(loop);
}

/** The keeper beats five times a second; a minute without a beat is a process that was stopped. */
FIXTURE_TEST(time_in_which_the_process_was_stopped_is_not_active)
{
    struct loop_fixture *fixture = *state;
    struct runtime_options options = {.store = fixture->store, .clock = &fixture->clock};
    struct runtime *runtime = NULL;
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    char id[ID_SIZE] = "01900000-0000-7000-8000-00000000000a";
    assert_int_equal(runtime_register(runtime, id, 1, &cancel, NULL), 0);
    int64_t before_ns = 0;
    int64_t counted_ns = INT64_MAX;
    for (int i = 0; i < 6000 && counted_ns > NS_PER_S; i++) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL); /* until there was a first beat */
        before_ns = runtime_active_ns(runtime);
        fixture->now_ns += 60 * NS_PER_S;
        counted_ns = runtime_active_ns(runtime) - before_ns;
    }
    assert_true(counted_ns > 0 && counted_ns <= NS_PER_S);
    fixture->now_ns += NS_PER_S / 2;
    assert_int_equal(runtime_active_ns(runtime) - before_ns - counted_ns, NS_PER_S / 2);
    runtime_unregister(runtime, id, 1);
    runtime_free(runtime);
    cancel_fini(&cancel);
}
