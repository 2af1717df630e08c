// SPDX-License-Identifier: Apache-2.0
/* Pausing, continuing and changing limits, by letters and where nobody executes the run. */
#include "../fixture.h"

#include "loop/control/control.h"
#include "policy/ruleset.h"

static struct loop_parts other_parts(struct loop_fixture *fixture)
{
    struct loop_parts parts = fixture_parts(fixture);
    parts.runtime = fixture->other;
    return parts;
}

static int pause_it(struct loop_fixture *fixture, const char *run_id)
{
    struct loop_parts parts = other_parts(fixture);
    return loop_pause_run(&parts, run_id, "ann", NULL);
}

static int continue_it(struct loop_fixture *fixture, const char *run_id)
{
    struct loop_parts parts = other_parts(fixture);
    return loop_continue_run(&parts, run_id, "bob", NULL);
}

static struct store_run row_of(struct loop_fixture *fixture, const char *run_id)
{
    struct store_run run;
    assert_int_equal(fixture->memory->ops->get_run(fixture->memory, run_id, &run, NULL), 0);
    return run;
}

/** A loop in its first body that was asked to pause. */
static struct loop *paused_in_body(struct loop_fixture *fixture, struct loop_spec spec)
{
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    assert_int_equal(pause_it(fixture, loop_run_id(loop)), LOOP_CONTROL_POSTED);
    runtime_tick(fixture->runtime);
    return loop;
}

FIXTURE_TEST(a_pause_ends_no_body_and_begins_after_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    assert_int_equal(cancel_level(loop_cancel(loop)), CANCEL_NONE);
    loop_note(loop, "inside", NULL, NULL);
    assert_false(loop_state(loop)->is_paused);
    loop_save_checkpoint(loop, NULL, NULL); /* its commit tells of the letter */
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    const char *id = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, id, "run.paused", "\"by\":\"ann\""), 1);
    assert_int_equal(fixture_events(fixture, id, "iteration.finished", NULL), 1);
    assert_true(row_of(fixture, id).summary.is_paused);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    assert_int_equal(fixture_events(fixture, id, "run.paused", NULL), 1);
    loop_free(loop);
}

FIXTURE_TEST(a_letter_that_no_commit_has_told_of_is_seen_by_the_keeper)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.delay_ns = 3600 * NS_PER_S;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    int64_t before_ns = fixture->now_ns;
    pause_it(fixture, loop_run_id(loop));
    runtime_tick(fixture->runtime);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    assert_true(fixture->now_ns - before_ns < NS_PER_S);
    loop_free(loop);
}

/** Continues the run after some sleeps, as another process would. */
struct helper {
    struct loop_fixture *fixture;
    const char *run_id;
    unsigned sleeps;
    unsigned act_at;
    int (*act)(struct loop_fixture *fixture, const char *run_id);
};

static struct helper *helper_of; /* tests run one after the other */

static void helping_sleep(const struct clock *clock, int64_t ns, struct cancel *cancel)
{
    fixture_sleep(clock, ns, cancel);
    if (++helper_of->sleeps == helper_of->act_at) {
        assert_true(helper_of->act(helper_of->fixture, helper_of->run_id) >= 0);
        runtime_tick(helper_of->fixture->runtime);
    }
    assert_true(helper_of->sleeps < 1000);
}

static int stop_it(struct loop_fixture *fixture, const char *run_id)
{
    struct loop_parts parts = other_parts(fixture);
    return loop_stop_run(&parts, run_id, "eve", NULL);
}

FIXTURE_TEST(waiting_ends_when_the_run_is_continued)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    struct helper helper = {fixture, loop_run_id(loop), 0, 7, continue_it};
    helper_of = &helper;
    fixture->clock.sleep = helping_sleep;
    assert_int_equal(loop_wait_continued(loop, NULL), 0);
    assert_int_equal(helper.sleeps, 7);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(loop_state(loop)->iteration, 2);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "run.continued", "bob"), 1);
    assert_false(row_of(fixture, loop_run_id(loop)).summary.is_paused);
    loop_free(loop);
}

FIXTURE_TEST(waiting_ends_when_the_run_is_to_stop)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    struct helper helper = {fixture, loop_run_id(loop), 0, 3, stop_it};
    helper_of = &helper;
    fixture->clock.sleep = helping_sleep;
    assert_int_equal(loop_next_unpaused(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    assert_false(row_of(fixture, loop_run_id(loop)).summary.is_paused);
    loop_free(loop);
}

FIXTURE_TEST(a_cancelled_loop_does_not_wait)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    loop_stop(loop, CANCEL_GRACEFUL);
    int64_t before_ns = fixture->now_ns;
    assert_int_equal(loop_wait_continued(loop, NULL), 0);
    assert_int_equal(fixture->now_ns, before_ns);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_free(loop);
}

FIXTURE_TEST(time_in_a_pause_is_not_active_time)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.time_limit_ns = 60 * NS_PER_S;
    struct loop *loop = paused_in_body(fixture, spec);
    fixture->now_ns += 20 * NS_PER_S; /* in the body */
    runtime_tick(fixture->runtime);
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    for (int i = 0; i < 100; i++) {
        fixture->now_ns += 9 * NS_PER_S;
        runtime_tick(fixture->runtime);
        assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    }
    continue_it(fixture, loop_run_id(loop));
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(loop_state(loop)->active_ns / NS_PER_S, 20);
    fixture->now_ns += 41 * NS_PER_S;
    runtime_tick(fixture->runtime);
    loop_free(loop);
}

FIXTURE_TEST(a_pause_survives_a_crash_and_time_after_it_is_not_active_either)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    fixture->now_ns += 5 * NS_PER_S;
    fixture_crash(fixture, loop);
    assert_int_equal(pause_it(fixture, id), LOOP_CONTROL_NOTHING);
    assert_int_equal(continue_it(fixture, id), LOOP_CONTROL_DONE);
    assert_false(row_of(fixture, id).summary.is_paused);
    assert_int_equal(row_of(fixture, id).owner[0], '\0');
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, id, -1, &loop, &opening), 0);
    assert_int_equal(loop_state(loop)->active_ns, 0);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    loop_free(loop);
}

FIXTURE_TEST(a_resume_continues_a_paused_run)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    assert_int_equal(loop_park(loop, NULL), 0);
    assert_true(loop_state(loop)->is_paused);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, id, -1, &loop, &opening), 0);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(fixture_events(fixture, id, "run.continued", "\"by\":\"resume\""), 1);
    loop_free(loop);
}

FIXTURE_TEST(a_run_that_nobody_executes_is_paused_here_and_now)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    assert_int_equal(pause_it(fixture, id), LOOP_CONTROL_DONE);
    assert_true(row_of(fixture, id).summary.is_paused);
    assert_int_equal(row_of(fixture, id).owner[0], '\0');
    assert_int_equal(fixture_events(fixture, id, "run.claimed", "\"how\":\"control\""), 1);
    assert_int_equal(fixture_events(fixture, id, "iteration.interrupted", NULL), 1);
}

FIXTURE_TEST(an_ended_run_cannot_be_steered)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    loop_stop(loop, CANCEL_GRACEFUL);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    uint64_t seq = loop_state(loop)->seq;
    assert_int_equal(pause_it(fixture, loop_run_id(loop)), RONDO_ERR_STATE);
    assert_int_equal(continue_it(fixture, loop_run_id(loop)), RONDO_ERR_STATE);
    assert_int_equal(row_of(fixture, loop_run_id(loop)).last_seq, seq);
    assert_int_equal(pause_it(fixture, "00000000-0000-7000-8000-000000000000"),
                     RONDO_ERR_NOT_FOUND);
    loop_free(loop);
}

FIXTURE_TEST(letters_that_come_while_a_run_is_parked_are_heeded)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    struct store *store = fixture->memory;
    store->ops->post(store, loop_run_id(loop), "continue", "{\"by\":\"bob\"}", NULL);
    assert_int_equal(loop_park(loop, NULL), 0);
    assert_false(loop_state(loop)->is_paused);
    assert_false(row_of(fixture, loop_run_id(loop)).summary.is_paused);
    assert_int_equal(row_of(fixture, loop_run_id(loop)).owner[0], '\0');
    loop_free(loop);
}

FIXTURE_TEST(a_stop_that_comes_while_a_run_is_parked_ends_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 2);
    struct store *store = fixture->memory;
    store->ops->post(store, loop_run_id(loop), "stop", "{\"by\":\"bob\"}", NULL);
    assert_int_equal(loop_park(loop, NULL), 0);
    assert_int_equal(loop_state(loop)->phase, PHASE_ENDED);
    assert_int_equal(row_of(fixture, loop_run_id(loop)).summary.status, RONDO_CANCELLED);
    loop_free(loop);
}

/* ---- Limits --------------------------------------------------------------------------------- */

static int limit_it(struct loop_fixture *fixture, const char *run_id, int64_t iterations,
                    int64_t tokens)
{
    struct loop_parts parts = other_parts(fixture);
    struct loop_limits limits = {.max_iterations = iterations, .max_tokens = tokens};
    return loop_change_limits(&parts, run_id, &limits, "ann", NULL);
}

FIXTURE_TEST(a_raised_limit_counts_at_the_next_boundary)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 2;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 2);
    assert_int_equal(limit_it(fixture, loop_run_id(loop), 4, 0), LOOP_CONTROL_POSTED);
    loop_save_checkpoint(loop, NULL, NULL);
    fixture_iterate(loop, 2);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_MAX_ITERATIONS);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "run.options", "\"by\":\"ann\""),
                     1);
    loop_free(loop);
}

FIXTURE_TEST(a_limit_is_lowered_below_what_is_used_and_taken_away)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_tokens = 10;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    loop_report(loop, &(struct loop_body_result){.tokens = 20});
    limit_it(fixture, loop_run_id(loop), 0, -1);
    loop_save_checkpoint(loop, NULL, NULL);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_spec(loop)->max_tokens, 0);
    limit_it(fixture, loop_run_id(loop), 0, 5);
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_BUDGET_EXCEEDED);
    loop_free(loop);
}

FIXTURE_TEST(changed_limits_outlive_a_crash)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    assert_int_equal(limit_it(fixture, id, 3, 0), LOOP_CONTROL_DONE);
    assert_int_equal(limit_it(fixture, id, 3, 0), LOOP_CONTROL_NOTHING);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, id, -1, &loop, &opening), 0);
    assert_int_equal(loop_spec(loop)->max_iterations, 3);
    fixture_iterate(loop, 3);
    loop_free(loop);
}

FIXTURE_TEST(a_letter_that_its_owner_did_not_come_to_read_is_heeded_by_the_next)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    fixture_iterate(loop, 1);
    assert_int_equal(limit_it(fixture, id, 3, 0), LOOP_CONTROL_POSTED);
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, id, -1, &loop, &opening), 0);
    assert_int_equal(loop_spec(loop)->max_iterations, 3);
    loop_free(loop);
}

FIXTURE_TEST(conditions_that_are_met_stay_met_when_limits_change)
{
    struct loop_fixture *fixture = *state;
    fixture->met = 1;
    struct loop *loop = fixture_start(fixture, fixture_spec(1));
    fixture_iterate(loop, 1);
    struct journal_event options = {
        .type = JOURNAL_RUN_OPTIONS,
        .run_options = {.by = "ann"},
    };
    struct run_state state_now = *loop_state(loop);
    state_now.condition_count = 1;
    state_now.verified = 7;
    options.seq = state_now.seq + 1;
    assert_int_equal(run_fold(&state_now, &options, NULL), 0);
    assert_int_equal(state_now.condition_count, 1);
    assert_int_equal(state_now.verified, 7);
    assert_int_equal(state_now.spec_seq, options.seq);
    options.run_options.by = NULL;
    options.seq++;
    assert_int_equal(run_fold(&state_now, &options, NULL), 0);
    assert_int_equal(state_now.condition_count, 0);
    loop_free(loop);
}

FIXTURE_TEST(limits_out_of_range_are_refused)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    const char *id = loop_run_id(loop);
    assert_int_equal(limit_it(fixture, id, 0, 0), RONDO_ERR_INVALID);
    assert_int_equal(limit_it(fixture, id, -2, 0), RONDO_ERR_INVALID);
    assert_int_equal(limit_it(fixture, id, LIMIT_MAX_ITERATIONS + 1, 0), RONDO_ERR_INVALID);
    assert_int_equal(limit_it(fixture, id, LIMIT_MAX_ITERATIONS, 0), LOOP_CONTROL_POSTED);
    struct store *store = fixture->memory;
    store->ops->post(store, id, "limits", "{\"by\":\"x\",\"max_iterations\":-9223372036854775808}",
                     NULL);
    store->ops->post(store, id, "limits", "[1]", NULL);
    store->ops->post(store, id, "unheard", "{}", NULL);
    loop_save_checkpoint(loop, NULL, NULL);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    loop_free(loop);
}

FIXTURE_TEST(a_limit_that_a_paused_run_comes_near_is_warned_of_at_once)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = paused_in_body(fixture, fixture_spec(0));
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    struct loop_body_result result = {.outcome = LOOP_OK, .tokens = 300};
    loop_report(loop, &result);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);

    assert_int_equal(limit_it(fixture, id, 0, 1000), LOOP_CONTROL_DONE);
    assert_int_equal(fixture_events(fixture, id, "limit.warning", NULL), 0);
    assert_int_equal(limit_it(fixture, id, 0, 320), LOOP_CONTROL_DONE);
    assert_int_equal(fixture_events(fixture, id, "limit.warning", "\"limit\":320"), 1);
    assert_int_equal(limit_it(fixture, id, 0, 150), LOOP_CONTROL_DONE);
    assert_int_equal(fixture_events(fixture, id, "limit.warning", "\"limit\":150"), 1);
    assert_true(row_of(fixture, id).summary.is_paused);
    assert_int_equal(row_of(fixture, id).summary.warnings, 2);
}

FIXTURE_TEST(a_time_limit_that_is_no_whole_second_is_warned_of_exactly)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.time_limit_ns = 1400 * NS_PER_MS;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    fixture->now_ns += 1150 * NS_PER_MS; /* 82 % of 1.4 s, 57 % of the 2 s that policies see */
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "limit.warning",
                                    "\"limit_name\":\"time\",\"limit\":1400000000"),
                     1);
    loop_free(loop);
}

FIXTURE_TEST(lists_show_the_limit_that_a_paused_run_will_have)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 5;
    struct loop *loop = paused_in_body(fixture, spec);
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);
    assert_int_equal(row_of(fixture, id).summary.iteration_limit, 5);

    assert_int_equal(limit_it(fixture, id, 50, 0), LOOP_CONTROL_DONE);
    assert_int_equal(row_of(fixture, id).summary.iteration_limit, 50);
    assert_int_equal(limit_it(fixture, id, -1, 0), LOOP_CONTROL_DONE);
    assert_int_equal(row_of(fixture, id).summary.iteration_limit, RULESET_DEFAULT_ITERATIONS);
    assert_int_equal(continue_it(fixture, id), LOOP_CONTROL_DONE);
    assert_int_equal(row_of(fixture, id).summary.iteration_limit, RULESET_DEFAULT_ITERATIONS);
}

/* ---- What is recorded while nobody executes the run ------------------------------------------ */

static int record_after(struct loop_fixture *fixture, const char *run_id)
{
    const struct journal_event event = {.type = JOURNAL_CONSOLIDATION_STARTED,
                                        .consolidation_started = {.attempt = 1}};
    return loop_record_after(fixture->runtime, run_id, &event, NULL);
}

FIXTURE_TEST(an_event_after_the_end_leaves_the_run_ended)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    assert_int_equal(record_after(fixture, loop_run_id(loop)), 0); /* It is executed. */
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    struct store_run before = row_of(fixture, loop_run_id(loop));
    assert_int_equal(record_after(fixture, loop_run_id(loop)), 1);
    struct store_run after = row_of(fixture, loop_run_id(loop));
    assert_int_equal(after.last_seq, before.last_seq + 1);
    assert_memory_equal(&after.summary, &before.summary, sizeof(after.summary));
    assert_int_equal(after.ended_ns, before.ended_ns);
    assert_int_equal(after.epoch, before.epoch);
    loop_free(loop);
}

FIXTURE_TEST(a_parked_run_continues_after_such_an_event)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    struct loop_opening opening;
    fixture_iterate(loop, 2);
    assert_int_equal(loop_park(loop, NULL), 0);
    int64_t active_ns = loop_state(loop)->active_ns;
    char id[ID_SIZE];
    memcpy(id, loop_run_id(loop), sizeof(id));
    loop_free(loop);
    fixture->now_ns += 30 * NS_PER_S;
    assert_int_equal(record_after(fixture, id), 1);
    fixture->now_ns += 30 * NS_PER_S;
    assert_int_equal(fixture_resume(fixture, id, 0, &loop, &opening), 0);
    assert_int_equal(loop_state(loop)->active_ns, active_ns);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(record_after(fixture, id), 0);
    loop_free(loop);
}

FIXTURE_TEST(nothing_is_recorded_of_a_run_that_is_gone)
{
    struct loop_fixture *fixture = *state;
    assert_int_equal(record_after(fixture, "0123456789abcdefghjkmnpqrs"), 0);
}
