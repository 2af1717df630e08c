// SPDX-License-Identifier: Apache-2.0
/* A loop from its start to each of its ends, without faults. */
#include "../fixture.h"

static void report(struct loop *loop, enum loop_outcome outcome)
{
    struct loop_body_result result = {.outcome = outcome};
    loop_report(loop, &result);
}

static void expect_ended(struct loop_fixture *fixture, struct loop *loop, enum rondo_status status)
{
    struct rondo_error err = {0};
    int r = loop_next(loop, &err);
    if (r != LOOP_ENDED) {
        fail_msg("the loop gives %d %s", r, err.message);
    }
    assert_int_equal(loop_state(loop)->status, status);
    char text[64];
    snprintf(text, sizeof(text), "\"status\":\"%s\"", rondo_status_name(status));
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "run.finished", text), 1);
    struct store_run run;
    assert_int_equal(fixture->memory->ops->get_run(fixture->memory, loop_run_id(loop), &run, NULL),
                     0);
    assert_int_equal(run.summary.status, status);
    assert_string_equal(run.owner, "");
    assert_int_equal(loop_next(loop, &err), LOOP_ENDED);
    loop_free(loop);
}

FIXTURE_TEST(the_limit_ends_it)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 2;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 2);
    expect_ended(fixture, loop, RONDO_MAX_ITERATIONS);
}

FIXTURE_TEST(all_conditions_met_complete_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(3));
    fixture->met = 5;
    fixture_iterate(loop, 2);
    assert_int_equal(run_conditions_met(loop_state(loop)), 2);
    fixture->met = 7;
    expect_ended(fixture, loop, RONDO_COMPLETED);
    assert_int_equal(fixture->evaluations, 6);
}

FIXTURE_TEST(what_was_met_before_must_be_met_again)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(2));
    fixture->met = 1;
    fixture_iterate(loop, 2);
    fixture->met = 2;
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->phase, PHASE_IN_BODY);
    loop_free(loop);
}

FIXTURE_TEST(a_met_condition_on_demand_does_not_complete_an_interrupted_iteration)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(2));
    fixture->met = 1;
    fixture_iterate(loop, 2);
    fixture->met = 2;
    const struct verify_result *result = NULL;
    assert_int_equal(loop_evaluate(loop, "b", &result, NULL), 0);
    assert_int_equal(result->status, RONDO_MET);
    report(loop, LOOP_INTERRUPTED);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(loop_state(loop)->iteration, 2);
    assert_int_equal(loop_state(loop)->attempt, 2);
    loop_free(loop);
}

FIXTURE_TEST(bodies_that_fail_end_it)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    static const enum loop_outcome outcomes[] = {LOOP_FAILED, LOOP_TIMED_OUT, LOOP_CRASHED};
    for (size_t i = 0; i < COUNT(outcomes); i++) {
        fixture_iterate(loop, 1);
        report(loop, outcomes[i]);
    }
    expect_ended(fixture, loop, RONDO_FAILED);
}

FIXTURE_TEST(a_body_beyond_recovery_ends_it_with_a_checkpoint)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(1);
    spec.checkpoint_interval = 5;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    report(loop, LOOP_UNRECOVERABLE);
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    expect_ended(fixture, loop, RONDO_ERROR);
    assert_int_equal(fixture_events(fixture, run_id, "checkpoint.saved", "\"how\":\"final\""), 1);
    assert_int_equal(fixture->evaluations, 0);
}

FIXTURE_TEST(the_worker_can_give_up)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(1));
    fixture_iterate(loop, 1);
    struct loop_body_result result = {.finish = FINISH_BLOCKED, .summary = "no key"};
    loop_report(loop, &result);
    expect_ended(fixture, loop, RONDO_BLOCKED);
}

FIXTURE_TEST(the_time_limit_counts_active_time_only)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.time_limit_ns = 20 * NS_PER_S;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    fixture->now_ns += 12 * NS_PER_S;
    fixture_iterate(loop, 1);
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);
    fixture->now_ns += 3600 * NS_PER_S;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    fixture_iterate(loop, 1);
    fixture->now_ns += 8 * NS_PER_S;
    expect_ended(fixture, loop, RONDO_TIMEOUT);
}

FIXTURE_TEST(the_delay_is_slept)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.delay_ns = 5 * NS_PER_S;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    int64_t before_ns = fixture->now_ns;
    fixture_iterate(loop, 1);
    assert_int_equal(fixture->now_ns - before_ns, 5 * NS_PER_S);
    loop_free(loop);
}

FIXTURE_TEST(a_stop_ends_it_at_the_next_boundary)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(1));
    fixture_iterate(loop, 1);
    loop_stop(loop, CANCEL_GRACEFUL);
    expect_ended(fixture, loop, RONDO_CANCELLED);
}

FIXTURE_TEST(a_letter_stops_it_and_says_by_whom)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    fixture->memory->ops->post(fixture->memory, run_id, "stop", "{\"by\":\"ann\"}", NULL);
    runtime_tick(fixture->runtime);
    expect_ended(fixture, loop, RONDO_CANCELLED);
    assert_int_equal(fixture_events(fixture, run_id, "run.stop_requested", "\"by\":\"ann\""), 1);
}

FIXTURE_TEST(nothing_follows_the_end)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_stop(loop, CANCEL_GRACEFUL);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_note(loop, "late", NULL, NULL), RONDO_ERR_STATE);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "run.stop_requested", NULL), 0);
    loop_free(loop);
}

FIXTURE_TEST(usage_below_zero_is_not_taken)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    struct loop_body_result result = {.tokens = -5, .cost_micro = INT64_MIN};
    loop_report(loop, &result);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->tokens, 0);
    assert_int_equal(loop_state(loop)->cost_micro, 0);
    loop_free(loop);
}

FIXTURE_TEST(notes_are_checked_and_recorded)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    assert_int_equal(loop_note(loop, "found", "{\"n\":3}", NULL), 0);
    assert_int_equal(loop_note(loop, "bare", NULL, NULL), 0);
    assert_int_equal(loop_note(loop, "", NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(loop_note(loop, "found", "[]", NULL), RONDO_ERR_INVALID);
    assert_int_equal(loop_note(loop, "found", "{\"a\":1},\"b\":{}", NULL), RONDO_ERR_INVALID);
    fixture_iterate(loop, 1);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "note", NULL), 2);
    loop_free(loop);
}

FIXTURE_TEST(json_that_could_not_be_read_back_is_refused)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    for (int depth = LIMIT_JSON_DEPTH - 3; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
        auto_buf struct buf json = {0};
        buf_append_string(&json, "{\"a\":");
        for (int i = 1; i < depth; i++) {
            buf_append(&json, "[", 1);
        }
        for (int i = 1; i < depth; i++) {
            buf_append(&json, "]", 1);
        }
        buf_append(&json, "}", 1);
        loop_note(loop, "deep", buf_string(&json), NULL);
        loop_save_checkpoint(loop, buf_string(&json), NULL);
    }
    fixture_iterate(loop, 1);
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(fixture_events(fixture, run_id, "note", NULL) > 0, 1);
    loop_free(loop);
}

FIXTURE_TEST(attributes_and_custom_data_have_limits)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    for (int over = 0; over <= 1; over++) {
        size_t len = LIMIT_EVENT_ATTRIBUTES_BYTES + (size_t)over;
        char *json = memory_new(LIMIT_CUSTOM_DATA_BYTES + 2);
        memset(json, 'x', len);
        memcpy(json, "{\"a\":\"", 6);
        memcpy(json + len - 2, "\"}", 3);
        assert_int_equal(loop_note(loop, "big", json, NULL), over ? RONDO_ERR_LIMIT : 0);
        len = LIMIT_CUSTOM_DATA_BYTES + (size_t)over;
        memset(json, 'x', len);
        memcpy(json, "{\"a\":\"", 6);
        memcpy(json + len - 2, "\"}", 3);
        assert_int_equal(loop_save_checkpoint(loop, json, NULL), over ? RONDO_ERR_LIMIT : 0);
        struct loop_body_result result = {.custom_data = over ? NULL : json};
        loop_report(loop, &result);
        fixture_iterate(loop, 1);
        free(json);
    }
    assert_int_equal(loop_set_agent_state(loop, "x", LIMIT_STATE_BYTES + 1, NULL), RONDO_ERR_LIMIT);
    loop_free(loop);
}

FIXTURE_TEST(long_words_of_a_body_are_cut)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    size_t len = 8 * LIMIT_MIB;
    char *text = memory_new(len + 1);
    memset(text, '\x01', len);
    text[len] = '\0';
    struct loop_body_result result = {.summary = text, .message = text};
    loop_report(loop, &result);
    fixture_iterate(loop, 1);
    free(text);
    loop_free(loop);
}

FIXTURE_TEST(feedback_tells_the_last_round)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(1));
    fixture_iterate(loop, 1);
    assert_string_equal(loop_feedback(loop), "{\"iteration\":0,\"conditions\":[]}");
    fixture_iterate(loop, 1);
    assert_non_null(strstr(loop_feedback(loop), "{\"iteration\":1,\"conditions\":[{\"name\":\"a\","
                                                "\"status\":\"not_met\",\"reason\":\"failed\""));
    assert_non_null(strstr(loop_feedback(loop), "output of it"));
    loop_free(loop);
}

FIXTURE_TEST(an_exclusive_agent_is_held)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.is_exclusive = 1;
    struct loop *loop = fixture_start(fixture, loop_spec_dup(&spec));
    struct loop_parts parts = fixture_parts(fixture);
    parts.runtime = fixture->other;
    struct loop_opening opening;
    struct loop *second = NULL;
    assert_int_equal(loop_start(&parts, &spec, &second, &opening, NULL), 0);
    assert_true(opening.is_held);
    assert_null(second);
    assert_string_equal(opening.holder.id, loop_run_id(loop));
    loop_spec_fini(&spec);
    loop_free(loop);
}
