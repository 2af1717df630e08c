// SPDX-License-Identifier: Apache-2.0
/* Loops under policies: what denies them, what warns them, and what the journal tells of it. */
#include "../policy_world.h"

/* ---- Limits of options ---------------------------------------------------------------------- */

WORLD_TEST(the_iteration_limit_denies_at_its_value)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 3;
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 3);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    const struct policy_verdict *violation = loop_violation(loop);
    assert_string_equal(violation->policy, "limit.iterations");
    assert_int_equal(violation->counter, RUN_LIMIT_ITERATIONS);
    assert_int_equal(policy_verdict_limit(violation)->limit, 3);
    assert_int_equal(policy_verdict_limit(violation)->value, 3);
    assert_string_equal(violation->message, "the limit of 3 iterations is used up (3 so far); "
                                            "raise it with --max-iterations");
    assert_int_equal(loop_state(loop)->limit, 3);
    loop_free(loop);
}

WORLD_TEST(without_an_option_there_are_ten_iterations)
{
    struct policy_world *world = *state;
    struct loop *loop = start(world, fixture_spec(0));
    fixture_iterate(loop, RULESET_DEFAULT_ITERATIONS);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(world, "policy.changed", NULL), 0);
    assert_string_equal(loop_state(loop)->policy_sha256, "");
    loop_free(loop);
}

WORLD_TEST(the_token_limit_denies_at_its_value)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_tokens = 100;
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 1);
    report_use(loop, 99, 0);
    fixture_iterate(loop, 1);
    report_use(loop, 1, 0);
    expect_ended(loop, RONDO_BUDGET_EXCEEDED);
    assert_string_equal(loop_violation(loop)->policy, "limit.tokens");
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->limit, 100);
    loop_free(loop);
}

WORLD_TEST(the_cost_limit_denies_at_its_value)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_cost_micro = INT64_C(12345678900);
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 1);
    report_use(loop, 0, INT64_C(12345678800));
    fixture_iterate(loop, 1);
    report_use(loop, 0, 1);
    expect_ended(loop, RONDO_BUDGET_EXCEEDED);
    const struct policy_verdict *violation = loop_violation(loop);
    assert_string_equal(violation->policy, "limit.cost");
    assert_int_equal(violation->counter, RUN_LIMIT_COST);
    assert_int_equal(policy_verdict_limit(violation)->limit, INT64_C(12345678900));
    assert_non_null(strstr(violation->message, "the cost limit of 12345.6789 is used up"));
    assert_non_null(strstr(violation->message, "--max-cost"));
    loop_free(loop);
}

WORLD_TEST(a_time_limit_of_policies_denies_at_its_value)
{
    struct policy_world *world = *state;
    struct loop *loop =
        start_under(world, PERMIT "@id(\"soon\") " ITERATE "when { context.elapsed_s >= 60 };");
    fixture_iterate(loop, 1);
    world->fixture->now_ns += 59 * NS_PER_S;
    fixture_iterate(loop, 1);
    world->fixture->now_ns += NS_PER_S;
    expect_ended(loop, RONDO_TIMEOUT);
    assert_string_equal(loop_violation(loop)->policy, "soon");
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->limit, 60 * NS_PER_S);
    assert_non_null(strstr(loop_violation(loop)->message, "the time limit of 1m 00s is used up"));
    loop_free(loop);
}

WORLD_TEST(two_limits_at_once_report_the_first_with_its_number)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 2;
    spec.max_tokens = 100;
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 2);
    report_use(loop, 1000, 0);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(policy_verdict_limit(loop_violation(loop))->limit, 2);
    loop_free(loop);
}

/* ---- What a denial says --------------------------------------------------------------------- */

WORLD_TEST(a_denial_is_in_the_journal_with_all_that_is_known)
{
    struct policy_world *world = *state;
    static const char text[] =
        PERMIT "@id(\"few\") @reason(\"it is enough\") " ITERATE "when { context.iteration >= 1 };";
    char digest[DIGEST_HEX_SIZE];
    digest_of(text, digest);
    struct loop *loop = start_under(world, text);
    fixture_iterate(loop, 1);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    struct json_object *data = last_event(world, "gate.denied");
    expect_text(data, "status", "max_iterations");
    expect_text(data, "policy", "few");
    expect_text(data, "limit_name", "iterations");
    expect_text(data, "reason", "forbidden");
    expect_text(data, "action", "iterate");
    expect_text(data, "verdict", "deny");
    expect_text(data, "decision", "deny");
    expect_text(data, "sha256", digest);
    expect_text(data, "message",
                "the limit of 1 iteration is used up (1 so far); set by policy "
                "`few`: it is enough");
    expect_json(data, "policies", "[\"few\"]");
    expect_json(data, "limit", "1");
    expect_json(data, "value", "1");
    expect_json(data, "iteration", "2");
    assert_false(json_object_object_get_ex(data, "errors", NULL));
    json_object_put(data);
    data = last_event(world, "run.finished");
    expect_text(data, "message", loop_violation(loop)->message);
    json_object_put(data);
    assert_string_equal(loop_violation(loop)->text, "it is enough");
    loop_free(loop);
}

WORLD_TEST(a_policy_that_fails_denies_and_says_why)
{
    struct policy_world *world = *state;
    struct loop *loop =
        start_under(world, PERMIT "@id(\"broken\") " ITERATE
                                  "when { context.iteration + 9223372036854775807 > 0 && false };");
    fixture_iterate(loop, 1);
    expect_ended(loop, RONDO_POLICY_VIOLATION);
    struct json_object *data = last_event(world, "gate.denied");
    expect_text(data, "reason", "policy_error");
    expect_text(data, "decision", "allow");
    expect_text(data, "verdict", "deny");
    expect_text(data, "policy", "broken");
    struct json_object *errors = NULL;
    assert_true(json_object_object_get_ex(data, "errors", &errors));
    assert_int_equal(json_object_array_length(errors), 1);
    expect_text(json_object_array_get_idx(errors, 0), "policy", "broken");
    expect_text(json_object_array_get_idx(errors, 0), "code", "overflow");
    json_object_put(data);
    loop_free(loop);
}

WORLD_TEST(as_many_errors_as_fit_are_told)
{
    struct policy_world *world = *state;
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT);
    for (unsigned i = 0; i < 30; i++) {
        buf_printf(&text,
                   "@id(\"broken policy with a long name, number %02u\") " ITERATE
                   "when { context.iteration + 9223372036854775807 > 0 && false };\n",
                   i);
    }
    struct loop *loop = start_under(world, buf_string(&text));
    fixture_iterate(loop, 1);
    expect_ended(loop, RONDO_POLICY_VIOLATION);
    struct json_object *errors = NULL;
    const char *json = loop_violation(loop)->errors;
    assert_int_equal(json_parse(json, strlen(json), &errors, NULL), 0);
    assert_in_range(json_object_array_length(errors), 3, 15);
    json_object_put(errors);
    loop_free(loop);
}

WORLD_TEST(many_policies_that_decide_are_told_as_far_as_they_fit)
{
    struct policy_world *world = *state;
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT);
    for (unsigned i = 0; i < 30; i++) {
        buf_printf(&text, "@id(\"%0100u\") " ITERATE ";\n", i);
    }
    struct loop *loop = start_under(world, buf_string(&text));
    expect_ended(loop, RONDO_POLICY_VIOLATION);
    struct json_object *policies = NULL;
    const char *json = loop_violation(loop)->policies;
    assert_int_equal(json_parse(json, strlen(json), &policies, NULL), 0);
    assert_int_equal(json_object_array_length(policies), (VERDICT_LIST_SIZE - 2) / 103);
    json_object_put(policies);
    loop_free(loop);
}

WORLD_TEST(what_a_person_may_approve_says_so)
{
    struct policy_world *world = *state;
    struct loop *loop =
        start_under(world, PERMIT "@id(\"ask\") @on_deny(\"ask\") @reason(\"it costs\") " ITERATE
                                  "when { context.iteration >= 1 && !context.approved };");
    fixture_iterate(loop, 1);
    expect_ended(loop, RONDO_POLICY_VIOLATION);
    assert_int_equal(loop_violation(loop)->outcome, VERDICT_ASK);
    assert_null(policy_verdict_limit(loop_violation(loop)));
    struct json_object *data = last_event(world, "gate.denied");
    expect_text(data, "verdict", "ask");
    expect_text(data, "reason", "approval_needed");
    expect_text(data, "message",
                "policy `ask` requires a person's approval of `iterate`: it costs");
    json_object_put(data);
    loop_free(loop);
}

WORLD_TEST(nothing_runs_that_no_policy_permits)
{
    struct policy_world *world = *state;
    struct loop *loop = start_under(world, ITERATE "when { false };");
    assert_null(loop_violation(loop));
    expect_ended(loop, RONDO_POLICY_VIOLATION);
    assert_string_equal(loop_violation(loop)->policy, "");
    assert_int_equal(loop_violation(loop)->reason, VERDICT_NOT_PERMITTED);
    assert_int_equal(events(world, "iteration.started", NULL), 0);
    loop_free(loop);
}

/* ---- Other steps ---------------------------------------------------------------------------- */

WORLD_TEST(a_denied_verifier_is_not_run_and_not_met)
{
    struct policy_world *world = *state;
    set_policies(world, PERMIT "@id(\"no-a\") forbid (principal, action == Action::\"verify\", "
                               "resource) when { context.condition == \"a\" };");
    struct loop *loop = start(world, spec_under(world, 2));
    world->fixture->met = 3;
    fixture_iterate(loop, 2);
    assert_int_equal(world->fixture->evaluations, 1);
    const struct verify_result *denied = loop_result(loop, 0);
    assert_int_equal(denied->status, RONDO_NOT_MET);
    assert_int_equal(denied->reason, RONDO_REASON_DENIED);
    assert_string_equal(denied->message, "policy `no-a` forbids `verify`");
    assert_int_equal(loop_result(loop, 1)->status, RONDO_MET);
    struct json_object *data = last_event(world, "step.denied");
    expect_text(data, "action", "verify");
    expect_text(data, "name", "a");
    expect_text(data, "policy", "no-a");
    expect_text(data, "reason", "forbidden");
    json_object_put(data);
    assert_int_equal(events(world, "condition.evaluated", "\"reason\":\"denied\""), 1);
    const struct verify_result *result = NULL;
    assert_int_equal(loop_evaluate(loop, "a", &result, NULL), 0);
    assert_int_equal(result->reason, RONDO_REASON_DENIED);
    set_policies(world, PERMIT);
    assert_int_equal(loop_evaluate(loop, "a", &result, NULL), 0);
    assert_int_equal(result->status, RONDO_MET);
    loop_free(loop);
}

WORLD_TEST(a_denied_finish_continues_and_asks_again)
{
    struct policy_world *world = *state;
    set_policies(world, PERMIT "@id(\"stay\") forbid (principal, action == Action::\"finish\", "
                               "resource) when { context.iteration < 3 };");
    struct loop *loop = start(world, spec_under(world, 1));
    world->fixture->met = 1;
    fixture_iterate(loop, 3);
    assert_int_equal(events(world, "step.denied", "\"action\":\"finish\""), 2);
    expect_ended(loop, RONDO_COMPLETED);
    assert_int_equal(loop_state(loop)->finished, 3);
    assert_int_equal(events(world, "step.denied", NULL), 2);
    loop_free(loop);
}

WORLD_TEST(a_worker_whose_finish_is_denied_continues)
{
    struct policy_world *world = *state;
    struct loop *loop =
        start_under(world, PERMIT "forbid (principal, action == Action::\"finish\", resource)\n"
                                  "when { context.iteration < 2 };");
    struct loop_body_result done = {.finish = FINISH_COMPLETED};
    fixture_iterate(loop, 1);
    loop_report(loop, &done);
    fixture_iterate(loop, 1);
    loop_report(loop, &done);
    expect_ended(loop, RONDO_COMPLETED);
    assert_int_equal(events(world, "step.denied", NULL), 1);
    loop_free(loop);
}

WORLD_TEST(a_denied_checkpoint_is_not_saved_and_those_by_interval_are)
{
    struct policy_world *world = *state;
    struct loop *loop = start_under(
        world, PERMIT "forbid (principal, action == Action::\"checkpoint\", resource);");
    struct rondo_error err = {0};
    fixture_iterate(loop, 1);
    assert_int_equal(loop_save_checkpoint(loop, "{\"mine\":1}", &err), RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "forbids `checkpoint`"));
    assert_null(loop_custom_data(loop));
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "checkpoint.saved", "\"how\":\"demand\""), 0);
    assert_int_equal(events(world, "checkpoint.saved", "\"how\":\"interval\""), 1);
    assert_int_equal(events(world, "step.denied", "\"action\":\"checkpoint\""), 1);
    loop_free(loop);
}

/* ---- Warnings ------------------------------------------------------------------------------- */

WORLD_TEST(a_run_is_warned_once_near_its_limit)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 10;
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 7);
    assert_int_equal(events(world, "limit.warning", NULL), 0);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "limit.warning", NULL), 1);
    struct json_object *data = last_event(world, "limit.warning");
    expect_text(data, "limit_name", "iterations");
    expect_text(data, "message", "8 of 10 iterations, 2 left");
    expect_json(data, "limit", "10");
    expect_json(data, "value", "8");
    expect_json(data, "iteration", "8");
    json_object_put(data);
    fixture_iterate(loop, 2);
    expect_ended(loop, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(world, "limit.warning", NULL), 1);
    loop_free(loop);
}

WORLD_TEST(a_policy_says_when_to_warn)
{
    struct policy_world *world = *state;
    struct loop *loop =
        start_under(world, PERMIT "@warn_at(\"50\") " ITERATE "unless { context.iteration < 10 };");
    fixture_iterate(loop, 4);
    assert_int_equal(events(world, "limit.warning", NULL), 0);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "limit.warning", "5 of 10 iterations"), 1);
    loop_free(loop);
}

WORLD_TEST(money_and_tokens_are_warned_about_too)
{
    struct policy_world *world = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_tokens = 100;
    spec.max_cost_micro = 2500000;
    struct loop *loop = start(world, spec);
    fixture_iterate(loop, 1);
    report_use(loop, 79, 1999900);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "limit.warning", NULL), 0);
    report_use(loop, 1, 100);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "limit.warning", "80 of 100 tokens, 20 left"), 1);
    assert_int_equal(events(world, "limit.warning", "2 of 2.5 cost, 0.5 left"), 1);
    assert_int_equal(events(world, "limit.warning", NULL), 2);
    loop_free(loop);
}

WORLD_TEST(a_raised_limit_is_warned_about_again)
{
    struct policy_world *world = *state;
    set_limit(world, 100);
    struct loop *loop = start(world, spec_under(world, 0));
    fixture_iterate(loop, 90);
    assert_int_equal(events(world, "limit.warning", "80 of 100"), 1);
    set_limit(world, 200);
    fixture_iterate(loop, 69);
    assert_int_equal(events(world, "limit.warning", NULL), 1);
    fixture_iterate(loop, 1);
    assert_int_equal(events(world, "limit.warning", "160 of 200"), 1);
    assert_int_equal(events(world, "limit.warning", NULL), 2);
    loop_free(loop);
}
