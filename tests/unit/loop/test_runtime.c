// SPDX-License-Identifier: Apache-2.0
/* Leases, letters and the keeper. */
#include "fixture.h"

static bool is_held(struct loop_fixture *fixture, const char *run_id)
{
    struct store_claim claim = {.owner = "somebody else", .lease_ns = NS_PER_S};
    struct store_claim_result result;
    assert_int_equal(
        fixture->memory->ops->claim_run(fixture->memory, run_id, &claim, &result, NULL), 0);
    return result.outcome == STORE_HELD;
}

FIXTURE_TEST(leases_are_kept_while_a_body_is_longer_than_they_are)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    for (int i = 0; i < 20; i++) {
        fixture->now_ns += 4 * NS_PER_S;
        runtime_tick(fixture->runtime);
        assert_true(is_held(fixture, loop_run_id(loop)));
    }
    fixture_iterate(loop, 1);
    loop_free(loop);
}

FIXTURE_TEST(a_lease_that_is_not_renewed_ends)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    fixture->now_ns += 10 * NS_PER_S + 1;
    assert_false(is_held(fixture, loop_run_id(loop)));
    assert_int_equal(loop_next(loop, NULL), RONDO_ERR_FENCED);
    loop_free(loop);
}

FIXTURE_TEST(a_body_is_cut_off_when_its_run_was_taken_over)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    fixture->now_ns += 11 * NS_PER_S;
    assert_false(is_held(fixture, loop_run_id(loop)));
    runtime_tick(fixture->runtime);
    assert_int_equal(cancel_level(loop_cancel(loop)), CANCEL_NOW);
    loop_free(loop);
}

FIXTURE_TEST(a_freeze_in_which_nobody_came_is_survived)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    fixture->now_ns += 100 * NS_PER_S;
    runtime_tick(fixture->runtime);
    assert_int_equal(cancel_level(loop_cancel(loop)), CANCEL_NONE);
    fixture_iterate(loop, 1);
    loop_free(loop);
}

FIXTURE_TEST(a_renewal_that_fails_is_tried_at_the_next_tick)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 4 * NS_PER_S;
    runtime_tick(fixture->runtime);
    fixture->now_ns += NS_PER_S;
    runtime_tick(fixture->runtime);
    fixture->now_ns += 9 * NS_PER_S;
    assert_true(is_held(fixture, loop_run_id(loop)));
    loop_free(loop);
}

FIXTURE_TEST(a_loop_that_was_dropped_is_given_back_when_the_store_lets_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    loop_free(loop);
    fixture_fail(fixture, "expire_lease", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    runtime_tick(fixture->runtime);
    assert_true(is_held(fixture, run_id));
    runtime_tick(fixture->runtime);
    assert_false(is_held(fixture, run_id));
}

FIXTURE_TEST(a_dropped_run_can_be_resumed_by_its_own_process_at_once)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    fixture_iterate(loop, 1);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_false(opening.is_held);
    runtime_tick(fixture->runtime);
    fixture_iterate(loop, 1);
    loop_free(loop);
}

FIXTURE_TEST(letters_of_an_unknown_kind_stop_nothing)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    fixture->memory->ops->post(fixture->memory, loop_run_id(loop), "hello", "{}", NULL);
    runtime_tick(fixture->runtime);
    assert_false(cancel_is_set(loop_cancel(loop)));
    fixture_iterate(loop, 2);
    loop_free(loop);
}

FIXTURE_TEST(a_lease_that_is_too_short_is_refused)
{
    struct loop_fixture *fixture = *state;
    struct runtime_options options = {
        .store = fixture->store, .lease_ns = RUNTIME_MIN_LEASE_NS - 1, .has_no_keeper = true};
    struct runtime *runtime = NULL;
    assert_int_equal(runtime_new(&options, &runtime, NULL), RONDO_ERR_INVALID);
    options.lease_ns = RUNTIME_MIN_LEASE_NS;
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    runtime_free(runtime);
}

/** With the real clock and the keeper's own thread. */
FIXTURE_TEST(the_keeper_wakes_a_body_that_blocks)
{
    struct loop_fixture *fixture = *state;
    struct store *store = store_memory_new(NULL);
    struct runtime_options options = {.store = store};
    struct runtime *runtime = NULL;
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    struct loop_parts parts = {.runtime = runtime, .verifier = &fixture->verifier};
    struct loop_spec spec = fixture_spec(0);
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(loop_start(&parts, &spec, &loop, &opening, NULL), 0);
    loop_spec_fini(&spec);
    fixture_iterate(loop, 1);
    store->ops->post(store, loop_run_id(loop), "stop", "{\"by\":\"ann\"}", NULL);
    assert_true(cancel_wait(loop_cancel(loop), 3600 * NS_PER_S));
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    loop_free(loop);
    runtime_free(runtime);
    store_close(store);
}
