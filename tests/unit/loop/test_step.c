// SPDX-License-Identifier: Apache-2.0
/* The step's decisions, one row of its order after the other, and the gate of limits. */
#include "loop/step.h"

#include "fixture.h"

#define NOW (100 * NS_PER_S)

static struct run_state ready(uint64_t finished)
{
    return (struct run_state){
        .seq = 10,
        .phase = PHASE_READY,
        .iteration = finished,
        .finished = finished,
        .checkpoint_number = 1,
        .checkpoint_iteration = finished,
        .last_event_ns = NOW,
        .last_finished_ns = NOW,
    };
}

static void verified(struct run_state *run, enum rondo_condition_status status)
{
    run->condition_count = 1;
    snprintf(run->conditions[0].name, sizeof(run->conditions[0].name), "a");
    run->conditions[0].status = status;
    run->verified = run->finished;
}

static struct loop_effect decide(const struct run_state *run, const struct loop_spec *spec)
{
    struct loop_effect effect;
    loop_step(run, spec, NOW, true, &effect);
    return effect;
}

static void expect_end(const struct run_state *run, const struct loop_spec *spec,
                       const char *status)
{
    struct loop_effect effect = decide(run, spec);
    assert_int_equal(effect.kind, EFFECT_RECORD);
    assert_int_equal(effect.event.type, JOURNAL_RUN_FINISHED);
    assert_string_equal(effect.event.run_finished.status, status);
}

TEST(phases_lead_to_their_effects)
{
    struct loop_spec spec = fixture_spec(1);
    struct run_state run = ready(1);
    run.phase = PHASE_IN_BODY;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_BODY);
    run.phase = PHASE_BODY_DONE;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_VERIFY);
    run.phase = PHASE_IN_VERIFYING;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_VERIFY);
    run.phase = PHASE_READY;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.phase = PHASE_ENDED;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_END);
    loop_spec_fini(&spec);
}

/** Each row is the state of the row before plus what outranks it. */
TEST(reasons_to_end_have_an_order)
{
    struct loop_spec spec = fixture_spec(1);
    spec.max_failures = 2;
    spec.time_limit_ns = 50 * NS_PER_S;
    struct run_state run = ready(3);
    verified(&run, RONDO_NOT_MET);
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.active_ns = 50 * NS_PER_S;
    expect_end(&run, &spec, "timeout");
    run.consecutive_failures = 2;
    expect_end(&run, &spec, "failed");
    run.finish = FINISH_FAILED;
    expect_end(&run, &spec, "failed");
    run.finish = FINISH_BLOCKED;
    expect_end(&run, &spec, "blocked");
    run.is_stop_requested = true;
    expect_end(&run, &spec, "cancelled");
    run.denied = RONDO_POLICY_VIOLATION;
    expect_end(&run, &spec, "policy_violation");
    verified(&run, RONDO_MET);
    expect_end(&run, &spec, "completed");
    loop_spec_fini(&spec);
}

TEST(met_counts_only_right_after_the_latest_iteration)
{
    struct loop_spec spec = fixture_spec(1);
    struct run_state run = ready(3);
    verified(&run, RONDO_MET);
    expect_end(&run, &spec, "completed");
    run.verified = 2;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.verified = 3;
    run.iteration = 4; /* begun and cut off */
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run = ready(0);
    verified(&run, RONDO_MET);
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    loop_spec_fini(&spec);
}

TEST(a_round_must_have_covered_every_condition)
{
    struct loop_spec spec = fixture_spec(2);
    struct run_state run = ready(3);
    verified(&run, RONDO_MET);
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    loop_spec_fini(&spec);
}

TEST(a_finish_is_accepted_or_rejected)
{
    struct loop_spec without = fixture_spec(0);
    struct loop_spec with = fixture_spec(1);
    struct run_state run = ready(1);
    run.finish = FINISH_COMPLETED;
    expect_end(&run, &without, "completed");
    verified(&run, RONDO_NOT_MET);
    struct loop_effect effect = decide(&run, &with);
    assert_int_equal(effect.event.type, JOURNAL_FINISH_REJECTED);
    loop_spec_fini(&without);
    loop_spec_fini(&with);
}

TEST(checkpoints_are_due_by_interval_and_at_the_end)
{
    struct loop_spec spec = fixture_spec(0);
    spec.checkpoint_interval = 3;
    struct run_state run = ready(5);
    run.checkpoint_iteration = 3;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.checkpoint_iteration = 2;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_CHECKPOINT);
    assert_string_equal(decide(&run, &spec).how, "interval");
    struct loop_effect effect;
    loop_step(&run, &spec, NOW, false, &effect);
    assert_int_equal(effect.kind, EFFECT_GATE);
    run.checkpoint_iteration = 4;
    run.is_stop_requested = true;
    assert_string_equal(decide(&run, &spec).how, "final");
    run = ready(0);
    run.checkpoint_number = 0;
    run.is_stop_requested = true;
    assert_string_equal(decide(&run, &spec).how, "final");
    loop_spec_fini(&spec);
}

TEST(the_delay_counts_from_the_end_of_the_last_iteration)
{
    struct loop_spec spec = fixture_spec(0);
    spec.delay_ns = 10 * NS_PER_S;
    struct run_state run = ready(1);
    run.last_finished_ns = NOW - 4 * NS_PER_S;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_DELAY);
    assert_int_equal(decide(&run, &spec).delay_ns, 6 * NS_PER_S);
    run.last_finished_ns = NOW - 10 * NS_PER_S;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    /* An event's time may be ahead of the loop's clock, as after a correction by NTP. */
    run.last_finished_ns = NOW + 1;
    assert_int_equal(decide(&run, &spec).delay_ns, 10 * NS_PER_S);
    run.last_finished_ns = NOW + LOOP_CLOCKS_DIFFER_NS;
    assert_int_equal(decide(&run, &spec).delay_ns, 10 * NS_PER_S);
    run.last_finished_ns = NOW + LOOP_CLOCKS_DIFFER_NS + 1; /* the clock was set back */
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.last_finished_ns = NOW + 3600 * NS_PER_S;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run = ready(0);
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    loop_spec_fini(&spec);
}

TEST(what_a_session_ran_into_is_waited_for_also_before_the_first_result)
{
    struct loop_spec spec = fixture_spec(0);
    struct run_state run = ready(0);
    run.waits_until_ns = NOW + 7 * NS_PER_S;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_DELAY);
    assert_int_equal(decide(&run, &spec).delay_ns, 7 * NS_PER_S);
    run.waits_until_ns = NOW;
    assert_int_equal(decide(&run, &spec).kind, EFFECT_GATE);
    run.waits_until_ns = INT64_MAX;
    assert_int_equal(decide(&run, &spec).delay_ns, LIMIT_CODING_WAIT_NS);
    run.waits_until_ns = NOW + 7 * NS_PER_S;
    run.is_stop_requested = true;
    expect_end(&run, &spec, "cancelled");
    loop_spec_fini(&spec);
}

TEST(a_wait_for_a_quota_uses_up_no_time_limit)
{
    struct loop_spec spec = fixture_spec(0);
    struct run_state run = ready(1);
    spec.time_limit_ns = 20 * NS_PER_S;
    run.active_ns = 15 * NS_PER_S;
    run.last_event_ns = NOW - 90 * NS_PER_S;
    run.waits_until_ns = NOW + 50 * NS_PER_S;
    assert_int_equal(loop_step_active_ns(&run, NOW), 15 * NS_PER_S);
    /* The rest of the limit, 5 s, does not cut the wait into pieces. */
    assert_int_equal(decide(&run, &spec).kind, EFFECT_DELAY);
    assert_int_equal(decide(&run, &spec).delay_ns, 50 * NS_PER_S);
    assert_int_equal(loop_step_active_ns(&run, NOW + 53 * NS_PER_S), 18 * NS_PER_S);
    /* A longer delay between iterations counts after the wait. */
    spec.delay_ns = 3600 * NS_PER_S;
    run.last_finished_ns = NOW;
    assert_int_equal(decide(&run, &spec).delay_ns, 55 * NS_PER_S);
    run.waits_until_ns = NOW - 90 * NS_PER_S;
    assert_int_equal(loop_step_active_ns(&run, NOW), 105 * NS_PER_S);
    expect_end(&run, &spec, "timeout");
    loop_spec_fini(&spec);
}

TEST(nothing_is_verified_for_a_run_that_ends_anyway)
{
    struct loop_spec spec = fixture_spec(1);
    struct run_state run = ready(1);
    run.phase = PHASE_BODY_DONE;
    run.is_stop_requested = true;
    expect_end(&run, &spec, "cancelled");
    run.is_stop_requested = false;
    run.denied = RONDO_ERROR;
    expect_end(&run, &spec, "error");
    loop_spec_fini(&spec);
}

static struct policy_verdict verdict_of(enum verdict_outcome outcome, enum verdict_reason reason)
{
    struct policy_verdict verdict;
    policy_verdict_init(&verdict);
    verdict.outcome = outcome;
    verdict.reason = reason;
    return verdict;
}

TEST(a_gates_verdict_becomes_an_event)
{
    struct run_state run = ready(2);
    struct policy_verdict verdict = verdict_of(VERDICT_ALLOW, VERDICT_PERMITTED);
    verdict.limits[RUN_LIMIT_ITERATIONS] = (struct policy_limit){.is_known = true, .limit = 9};
    struct journal_event event = loop_step_gate(&run, &verdict);
    assert_int_equal(event.type, JOURNAL_ITERATION_STARTED);
    assert_int_equal(event.iteration_started.iteration, 3);
    assert_int_equal(event.iteration_started.attempt, 1);
    assert_int_equal(event.iteration_started.limit, 9);
    run.iteration = 3;
    run.attempt = 1;
    assert_int_equal(loop_step_gate(&run, &verdict).iteration_started.attempt, 2);
    verdict = verdict_of(VERDICT_DENY, VERDICT_FORBIDDEN);
    event = loop_step_gate(&run, &verdict);
    assert_int_equal(event.type, JOURNAL_GATE_DENIED);
    assert_string_equal(event.gate_denied.status, "policy_violation");
    assert_string_equal(event.gate_denied.limit_name, "");
}

TEST(a_denial_for_a_limit_ends_the_run_as_the_limit_says)
{
    static const enum rondo_status expected[RUN_LIMIT_COUNT] = {
        RONDO_MAX_ITERATIONS, RONDO_BUDGET_EXCEEDED, RONDO_BUDGET_EXCEEDED, RONDO_TIMEOUT};
    struct run_state run = ready(2);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct policy_verdict verdict = verdict_of(VERDICT_DENY, VERDICT_FORBIDDEN);
        verdict.counter = i;
        verdict.limits[i] = (struct policy_limit){.is_known = true, .limit = 7, .value = 8};
        struct journal_event event = loop_step_gate(&run, &verdict);
        assert_string_equal(event.gate_denied.status, rondo_status_name(expected[i]));
        assert_string_equal(event.gate_denied.limit_name, run_limit_name(i));
        assert_int_equal(event.gate_denied.limit, 7);
        assert_int_equal(event.gate_denied.value, 8);
        verdict.outcome = VERDICT_ASK;
        event = loop_step_gate(&run, &verdict);
        assert_string_equal(event.gate_denied.status, "policy_violation");
        assert_string_equal(event.gate_denied.limit_name, "");
    }
}

TEST(a_denied_step_becomes_an_event_that_lets_the_run_continue)
{
    struct run_state run = {.phase = PHASE_READY, .finished = 2, .iteration = 2};
    struct policy_verdict verdict = verdict_of(VERDICT_ASK, VERDICT_APPROVAL_NEEDED);
    struct journal_event event = loop_step_denied(&run, ACTION_FINISH, &verdict);
    assert_int_equal(event.type, JOURNAL_STEP_DENIED);
    assert_string_equal(event.step_denied.action, "finish");
    assert_string_equal(event.step_denied.verdict, "ask");
    assert_string_equal(event.step_denied.reason, "approval_needed");
    assert_int_equal(event.step_denied.iteration, 2);
    assert_null(event.step_denied.policies);
    assert_null(event.step_denied.decision);
}

static bool warns(const struct run_state *run, enum run_limit counter, int64_t limit, int64_t value,
                  struct journal_event *ret_event)
{
    struct policy_limit ahead = {.is_known = true, .limit = limit, .value = value, .warn_at = 80};
    return loop_step_warning(run, counter, &ahead, true, ret_event);
}

TEST(a_limit_is_warned_about_at_its_threshold_and_once)
{
    struct run_state run = {.phase = PHASE_READY};
    struct journal_event event;
    /* Completed iterations: the 80th of 100 begins after 79. */
    assert_false(warns(&run, RUN_LIMIT_ITERATIONS, 100, 78, &event));
    assert_true(warns(&run, RUN_LIMIT_ITERATIONS, 100, 79, &event));
    assert_int_equal(event.type, JOURNAL_LIMIT_WARNING);
    assert_int_equal(event.limit_warning.value, 80);
    assert_int_equal(event.limit_warning.limit, 100);
    assert_string_equal(event.limit_warning.limit_name, "iterations");
    assert_true(warns(&run, RUN_LIMIT_ITERATIONS, 100, 95, &event)); /* one that was jumped over */
    run.warned[RUN_LIMIT_ITERATIONS] = 100;
    assert_false(warns(&run, RUN_LIMIT_ITERATIONS, 100, 95, &event));
    assert_false(warns(&run, RUN_LIMIT_ITERATIONS, 200, 95, &event));
    assert_true(warns(&run, RUN_LIMIT_ITERATIONS, 200, 159, &event));
    assert_false(warns(&run, RUN_LIMIT_TOKENS, 1000, 799, &event));
    assert_true(warns(&run, RUN_LIMIT_TOKENS, 1000, 800, &event));
    assert_true(warns(&run, RUN_LIMIT_COST, INT64_MAX, INT64_MAX, &event));
}

TEST(at_the_end_only_what_was_done_counts)
{
    struct run_state run = {.phase = PHASE_READY, .finished = 79};
    struct policy_limit limit = {.is_known = true, .limit = 100, .value = 79, .warn_at = 80};
    struct journal_event event;
    assert_false(loop_step_warning(&run, RUN_LIMIT_ITERATIONS, &limit, false, &event));
    limit.limit = 90;
    assert_true(loop_step_warning(&run, RUN_LIMIT_ITERATIONS, &limit, false, &event));
    assert_int_equal(event.limit_warning.value, 79);
    assert_int_equal(event.limit_warning.iteration, 79);
}
