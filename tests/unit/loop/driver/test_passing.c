// SPDX-License-Identifier: Apache-2.0
/* A cancel reaches the run that is executed for somebody, at each of its levels. */
#include "../fixture.h"

#include "loop/driver/body_ports.h"
#include "loop/driver/passing.h"

#define PATIENCE_STEPS 6000
#define STEP_NS        (10 * NS_PER_MS)

static void wait_for_level(struct loop *loop, enum cancel_level level)
{
    for (int i = 0; cancel_level(loop_cancel(loop)) != level; i++) {
        if (i == PATIENCE_STEPS) {
            fail_msg("the level %d does not come", (int)level);
        }
        clock_sleep(clock_system(), STEP_NS, NULL);
    }
}

/** Pass both levels on to a loop. */
static void pass_both(struct loop *loop, bool parks)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    struct loop_passing passing = {.from = &cancel, .to = loop, .parks = parks};
    assert_int_equal(loop_passing_begin(&passing, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    wait_for_level(loop, CANCEL_GRACEFUL);
    cancel_set(&cancel, CANCEL_NOW);
    wait_for_level(loop, CANCEL_NOW);
    loop_passing_end(&passing);
    cancel_fini(&cancel);
}

FIXTURE_TEST(a_run_that_is_to_park_is_not_taken_for_stopped)
{
    struct loop *loop = fixture_start(*state, fixture_spec(0));
    pass_both(loop, true);
    assert_int_equal(loop_next(loop, NULL), LOOP_PARKING);
    loop_free(loop);
}

FIXTURE_TEST(a_run_that_is_to_stop_ends)
{
    struct loop *loop = fixture_start(*state, fixture_spec(0));
    pass_both(loop, false);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    loop_free(loop);
}

FIXTURE_TEST(without_a_cancel_nothing_is_passed_on)
{
    struct loop *loop = fixture_start(*state, fixture_spec(0));
    struct loop_passing passing = {.to = loop};
    assert_int_equal(loop_passing_begin(&passing, NULL), 0);
    loop_passing_end(&passing);
    loop_passing_end(&passing);
    fixture_iterate(loop, 1);
    loop_free(loop);
}
