// SPDX-License-Identifier: Apache-2.0
/* Folding events, and the state's JSON form. */
#include "journal/state.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

/** Fold one more event, a second after the one before. */
static void add(struct run_state *run, struct journal_event event)
{
    event.seq = run->seq + 1;
    if (event.time_ns == 0) {
        event.time_ns = run->last_event_ns + 1000;
    }
    assert_int_equal(run_fold(run, &event, NULL), 0);
}

#define ADD(run, ...) add(run, (struct journal_event){__VA_ARGS__})

static struct run_state begun(void)
{
    struct run_state run = {0};
    ADD(&run, .type = JOURNAL_RUN_CREATED, .time_ns = 1000);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .run_claimed = {.epoch = 1});
    return run;
}

static void iterate(struct run_state *run, const char *outcome)
{
    ADD(run, .type = JOURNAL_ITERATION_STARTED,
        .iteration_started = {.iteration = (int64_t)run->finished + 1, .attempt = 1});
    ADD(run, .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = (int64_t)run->finished + 1,
                               .outcome = outcome,
                               .tokens = 10,
                               .cost_micro = 3});
}

static void evaluate(struct run_state *run, const char *name, const char *status)
{
    ADD(run, .type = JOURNAL_CONDITION_EVALUATED,
        .condition_evaluated = {.condition = name,
                                .status = status,
                                .reason = strcmp(status, "met") == 0 ? "passed" : "failed"});
}

TEST(events_out_of_order_are_refused)
{
    struct run_state run = begun();
    struct journal_event event = {.type = JOURNAL_NOTE, .seq = 2};
    assert_int_equal(run_fold(&run, &event, NULL), RONDO_ERR_CORRUPT);
    event.seq = 4;
    assert_int_equal(run_fold(&run, &event, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(run.seq, 2);
}

TEST(an_iteration_goes_through_its_phases)
{
    struct run_state run = begun();
    assert_int_equal(run.phase, PHASE_READY);
    ADD(&run, .type = JOURNAL_ITERATION_STARTED,
        .iteration_started = {.iteration = 1, .attempt = 1, .limit = 9});
    assert_int_equal(run.phase, PHASE_IN_BODY);
    assert_int_equal(run.limit, 9);
    ADD(&run, .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = 1, .outcome = "ok"});
    assert_int_equal(run.phase, PHASE_BODY_DONE);
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    assert_int_equal(run.phase, PHASE_IN_VERIFYING);
    ADD(&run, .type = JOURNAL_VERIFICATION_FINISHED);
    assert_int_equal(run.phase, PHASE_READY);
    assert_int_equal(run.verified, 1);
}

TEST(usage_adds_up_and_stays_at_the_top)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    iterate(&run, "failed");
    assert_int_equal(run.tokens, 20);
    assert_int_equal(run.cost_micro, 6);
    ADD(&run, .type = JOURNAL_ITERATION_STARTED, .iteration_started = {.iteration = 3});
    ADD(&run, .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = 3, .outcome = "ok", .tokens = INT64_MAX});
    assert_int_equal(run.tokens, INT64_MAX);
}

TEST(failures_in_a_row_are_counted)
{
    struct run_state run = begun();
    iterate(&run, "failed");
    iterate(&run, "timeout");
    assert_int_equal(run.consecutive_failures, 2);
    iterate(&run, "ok");
    assert_int_equal(run.consecutive_failures, 0);
    iterate(&run, "crashed");
    assert_int_equal(run.consecutive_failures, 1);
}

TEST(a_round_forgets_every_earlier_status)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    evaluate(&run, "a", "met");
    evaluate(&run, "b", "not_met");
    ADD(&run, .type = JOURNAL_VERIFICATION_FINISHED);
    assert_int_equal(run_conditions_met(&run), 1);
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    assert_int_equal(run_conditions_met(&run), 0);
    assert_int_equal(run.verified, 0);
}

TEST(an_evaluation_on_demand_leaves_the_phase_and_ends_the_rounds_worth)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    evaluate(&run, "a", "not_met");
    ADD(&run, .type = JOURNAL_VERIFICATION_FINISHED);
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED, .verification_started = {.condition = "a"});
    evaluate(&run, "a", "met");
    assert_int_equal(run.phase, PHASE_READY);
    assert_int_equal(run_conditions_met(&run), 1);
    assert_int_not_equal(run.verified, run.finished);
}

TEST(a_claim_ends_a_stop_and_a_denial)
{
    struct run_state run = begun();
    ADD(&run, .type = JOURNAL_RUN_STOP_REQUESTED);
    ADD(&run, .type = JOURNAL_GATE_DENIED, .gate_denied = {.status = "max_iterations"});
    assert_true(run.is_stop_requested);
    assert_int_equal(run.denied, RONDO_MAX_ITERATIONS);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .run_claimed = {.epoch = 2});
    assert_false(run.is_stop_requested);
    assert_int_equal(run.denied, RONDO_RUNNING);
    assert_int_equal(run.epoch, 2);
}

TEST(a_denial_with_an_unknown_status_is_a_violation)
{
    struct run_state run = begun();
    ADD(&run, .type = JOURNAL_GATE_DENIED, .gate_denied = {.status = "by the newest fashion"});
    assert_int_equal(run.denied, RONDO_POLICY_VIOLATION);
}

TEST(a_reopened_run_that_was_not_verified_is_verified_first)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_RUN_FINISHED, .run_finished = {.status = "cancelled"});
    assert_int_equal(run.phase, PHASE_ENDED);
    assert_int_equal(run.status, RONDO_CANCELLED);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .run_claimed = {.epoch = 2});
    assert_int_equal(run.phase, PHASE_BODY_DONE);
    assert_int_equal(run.status, RONDO_RUNNING);
}

TEST(time_counts_only_while_an_owner_was_alive)
{
    struct run_state run = begun();
    int64_t before = run.active_ns;
    int64_t last = run.last_event_ns;
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = last + 1000000,
        .run_claimed = {.epoch = 2, .alive_ns = last + 300});
    assert_int_equal(run.active_ns - before, 300);
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = last + 1000050);
    assert_int_equal(run.active_ns - before, 350);
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = 5); /* the clock was set back */
    assert_int_equal(run.active_ns - before, 350);
}

TEST(what_is_recorded_while_nobody_executes_the_run_takes_no_time)
{
    struct run_state run = begun();
    int64_t before = run.active_ns;
    int64_t last = run.last_event_ns;
    ADD(&run, .type = JOURNAL_CONSOLIDATION_STARTED, .time_ns = last + 1000);
    ADD(&run, .type = JOURNAL_CONSOLIDATION_FINISHED, .time_ns = last + 5000);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = last + 9000,
        .run_claimed = {.epoch = 2, .alive_ns = last + 5000});
    assert_int_equal(run.active_ns, before);
}

TEST(a_pause_counts_no_time_between_bodies_and_all_of_it_inside_one)
{
    struct run_state run = {0};
    ADD(&run, .type = JOURNAL_RUN_CREATED, .time_ns = 1);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = 1,
        .run_claimed = {.epoch = 1, .alive_ns = 1});
    ADD(&run, .type = JOURNAL_ITERATION_STARTED, .time_ns = 1,
        .iteration_started = {.iteration = 1, .attempt = 1});
    ADD(&run, .type = JOURNAL_RUN_PAUSED, .time_ns = 11, .run_paused = {.by = "ann"});
    assert_false(run_stands_still(&run));
    ADD(&run, .type = JOURNAL_ITERATION_FINISHED, .time_ns = 31,
        .iteration_finished = {.iteration = 1, .outcome = "ok"});
    assert_true(run_stands_still(&run));
    assert_int_equal(run.active_ns, 30);
    ADD(&run, .type = JOURNAL_RUN_OPTIONS, .time_ns = 1000, .run_options = {.by = "ann"});
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = 3000,
        .run_claimed = {.epoch = 2, .alive_ns = 2000});
    assert_true(run.is_paused);
    ADD(&run, .type = JOURNAL_RUN_CONTINUED, .time_ns = 4000, .run_continued = {.by = "bob"});
    assert_int_equal(run.active_ns, 30);
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = 4005, .note = {.name = "n"});
    assert_int_equal(run.active_ns, 35);
}

/** A session runs into a quota at 10, which is there again at 100; its iteration is cut off at 15.
 */
static struct run_state waiting(void)
{
    struct run_state run = {0};
    ADD(&run, .type = JOURNAL_RUN_CREATED, .time_ns = 1);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = 1,
        .run_claimed = {.epoch = 1, .alive_ns = 1});
    ADD(&run, .type = JOURNAL_ITERATION_STARTED, .time_ns = 1,
        .iteration_started = {.iteration = 1, .attempt = 1});
    ADD(&run, .type = JOURNAL_WORKER_FINISHED, .time_ns = 10,
        .worker_finished = {.iteration = 1, .outcome = "api_quota", .until_ns = 100});
    ADD(&run, .type = JOURNAL_ITERATION_INTERRUPTED, .time_ns = 15,
        .iteration_interrupted = {.iteration = 1});
    assert_int_equal(run.active_ns, 14);
    return run;
}

TEST(waiting_for_a_quota_is_not_active_time)
{
    struct run_state run = waiting();
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = 50, .note = {.name = "n"});
    assert_int_equal(run.active_ns, 14);
    ADD(&run, .type = JOURNAL_ITERATION_STARTED, .time_ns = 103,
        .iteration_started = {.iteration = 1, .attempt = 2});
    assert_int_equal(run.active_ns, 17);
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = 110, .note = {.name = "n"});
    assert_int_equal(run.active_ns, 24);
}

TEST(an_owner_that_died_while_it_waited_for_a_quota_was_not_active)
{
    struct run_state run = waiting();
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = 90,
        .run_claimed = {.epoch = 2, .alive_ns = 60});
    assert_int_equal(run.active_ns, 14);
    ADD(&run, .type = JOURNAL_RUN_CLAIMED, .time_ns = 150,
        .run_claimed = {.epoch = 3, .alive_ns = 120});
    assert_int_equal(run.active_ns, 34);
}

TEST(verifying_before_a_wait_is_active_time)
{
    struct run_state run = waiting();
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED, .time_ns = 16);
    ADD(&run, .type = JOURNAL_VERIFICATION_FINISHED, .time_ns = 36);
    assert_int_equal(run.active_ns, 34);
    ADD(&run, .type = JOURNAL_NOTE, .time_ns = 90, .note = {.name = "n"});
    assert_int_equal(run.active_ns, 34);
}

TEST(verifying_in_a_pause_is_active_time)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_RUN_PAUSED, .run_paused = {.by = "ann"});
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED,
        .verification_started = {.iteration = 1, .total = 1});
    int64_t before_ns = run.active_ns;
    evaluate(&run, "a", "failed");
    ADD(&run, .type = JOURNAL_VERIFICATION_FINISHED, .verification_finished = {.iteration = 1});
    assert_int_equal(run.active_ns - before_ns, 2000);
    ADD(&run, .type = JOURNAL_RUN_CONTINUED, .run_continued = {.by = "ann"});
    assert_int_equal(run.active_ns - before_ns, 2000);
}

TEST(the_end_of_a_run_ends_its_pause)
{
    struct run_state run = begun();
    ADD(&run, .type = JOURNAL_RUN_PAUSED, .run_paused = {.by = "ann"});
    auto_buf struct buf json = {0};
    run_state_encode(&run, &json);
    struct run_state again;
    assert_int_equal(run_state_decode(json.data, json.len, &again, NULL), 0);
    assert_true(again.is_paused);
    ADD(&run, .type = JOURNAL_RUN_FINISHED, .run_finished = {.status = "cancelled"});
    assert_false(run.is_paused);
    buf_clear(&json);
    run_state_encode(&run, &json);
    assert_null(strstr(buf_string(&json), "paused"));
    assert_int_equal(run_state_decode(json.data, json.len, &again, NULL), 0);
    assert_false(again.is_paused);
}

TEST(more_conditions_than_the_limit_are_left_out)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    for (int i = 0; i <= LIMIT_CONDITIONS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        evaluate(&run, name, "met");
    }
    assert_int_equal(run.condition_count, LIMIT_CONDITIONS);
}

TEST(the_state_comes_back_from_json)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    ADD(&run, .type = JOURNAL_VERIFICATION_STARTED);
    evaluate(&run, "a", "met");
    evaluate(&run, "b", "not_met");
    ADD(&run, .type = JOURNAL_RUN_STOP_REQUESTED);
    run.finish = FINISH_BLOCKED;
    run.denied = RONDO_BUDGET_EXCEEDED;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    run_state_encode(&run, &first);
    struct run_state again;
    assert_int_equal(run_state_decode(first.data, first.len, &again, NULL), 0);
    run_state_encode(&again, &second);
    assert_string_equal(buf_string(&first), buf_string(&second));
    assert_int_equal(again.finish, FINISH_BLOCKED);
    assert_true(again.is_stop_requested);
    auto_buf struct buf conditions = {0};
    run_conditions_encode(&again, &conditions);
    assert_string_equal(buf_string(&conditions), "{\"a\":\"met\",\"b\":\"not_met\"}");
}

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/** What policies have said of a run. */
static void add_policies(struct run_state *run)
{
    ADD(run, .type = JOURNAL_POLICY_CHANGED, .policy_changed = {.sha256 = DIGEST});
    ADD(run, .type = JOURNAL_LIMIT_WARNING,
        .limit_warning = {.limit_name = "iterations", .limit = 100});
    ADD(run, .type = JOURNAL_LIMIT_WARNING,
        .limit_warning = {.limit_name = "tokens", .limit = 200});
    ADD(run, .type = JOURNAL_LIMIT_WARNING, .limit_warning = {.limit_name = "cost", .limit = 300});
    ADD(run, .type = JOURNAL_LIMIT_WARNING, .limit_warning = {.limit_name = "time", .limit = 400});
    ADD(run, .type = JOURNAL_STEP_DENIED, .step_denied = {.action = "finish"});
}

TEST(policies_digests_and_warnings_are_remembered)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    run.finish = FINISH_COMPLETED;
    add_policies(&run);
    assert_string_equal(run.policy_sha256, DIGEST);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        assert_int_equal(run.warned[i], 100 * ((int)i + 1));
    }
    assert_int_equal(run.finish_denied, 1);
    assert_int_equal(run.finish, FINISH_NONE);
    ADD(&run, .type = JOURNAL_POLICY_REFUSED, .policy_refused = {.sha256 = "other"});
    assert_string_equal(run.policy_sha256, DIGEST);
    ADD(&run, .type = JOURNAL_POLICY_CHANGED);
    assert_string_equal(run.policy_sha256, "");
}

TEST(events_about_policies_that_say_little_change_little)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    run.finish = FINISH_COMPLETED;
    ADD(&run, .type = JOURNAL_LIMIT_WARNING, .limit_warning = {.limit = 5});
    ADD(&run, .type = JOURNAL_LIMIT_WARNING,
        .limit_warning = {.limit_name = "patience", .limit = 5});
    ADD(&run, .type = JOURNAL_LIMIT_WARNING, .limit_warning = {.limit_name = "time", .limit = -5});
    ADD(&run, .type = JOURNAL_STEP_DENIED);
    ADD(&run, .type = JOURNAL_STEP_DENIED, .step_denied = {.action = "verify"});
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        assert_int_equal(run.warned[i], 0);
    }
    assert_int_equal(run.finish_denied, 0);
    assert_int_equal(run.finish, FINISH_COMPLETED);
}

TEST(what_policies_said_comes_back_from_json)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    add_policies(&run);
    auto_buf struct buf json = {0};
    run_state_encode(&run, &json);
    struct run_state again;
    assert_int_equal(run_state_decode(json.data, json.len, &again, NULL), 0);
    assert_string_equal(again.policy_sha256, DIGEST);
    assert_memory_equal(again.warned, run.warned, sizeof(run.warned));
    assert_int_equal(again.finish_denied, 1);
}

/** Checkpoints of the first version know nothing of policies. */
TEST(a_state_without_policies_is_read_and_written_as_before)
{
    struct run_state run = begun();
    iterate(&run, "ok");
    auto_buf struct buf json = {0};
    run_state_encode(&run, &json);
    static const char *const members[] = {"finish_denied", "warned_", "policy"};
    for (size_t i = 0; i < COUNT(members); i++) {
        assert_null(strstr(json.data, members[i]));
    }
    struct run_state again;
    memset(&again, 0xff, sizeof(again));
    assert_int_equal(run_state_decode(json.data, json.len, &again, NULL), 0);
    assert_string_equal(again.policy_sha256, "");
    assert_int_equal(again.warned[RUN_LIMIT_COST], 0);
    assert_int_equal(again.finish_denied, 0);
}

TEST(a_state_that_lacks_anything_is_corrupt)
{
    struct run_state run = begun();
    auto_buf struct buf whole = {0};
    run_state_encode(&run, &whole);
    static const char *const members[] = {"\"seq\"",        "\"phase\"",    "\"status\"",
                                          "\"conditions\"", "\"verified\"", "\"denied\""};
    for (size_t i = 0; i < COUNT(members); i++) {
        auto_buf struct buf broken = {0};
        buf_append(&broken, whole.data, whole.len);
        char *at = strstr(broken.data, members[i]);
        assert_non_null(at);
        at[1] = '_';
        struct run_state again = {.seq = 77};
        struct rondo_error err;
        assert_int_equal(run_state_decode(broken.data, broken.len, &again, &err),
                         RONDO_ERR_CORRUPT);
        assert_int_equal(again.seq, 77);
    }
    struct run_state again;
    assert_int_equal(run_state_decode("{", 1, &again, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(run_state_decode("[]", 2, &again, NULL), RONDO_ERR_CORRUPT);
}
