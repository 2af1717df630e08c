// SPDX-License-Identifier: Apache-2.0
/*
 * Verdicts: what Cedar says, what is made of it, which policy and which counter it is put down to,
 * and what policies see of a run.
 */
#include "subject_help.h"

static struct policy_limit limit_of(struct subject *subject, const struct policy_request *request,
                                    enum run_limit counter)
{
    struct policy_limit limits[RUN_LIMIT_COUNT];
    subject_find_limits(subject, request, limits);
    return limits[counter];
}

/** Whether `policies` let a subject iterate. */
static bool allows(const struct policy_run *options, const struct policy_request *facts,
                   const char *policies, const char *entities)
{
    struct subject *subject = subject_with(options, policies, entities);
    struct policy_verdict verdict = decide(subject, facts, ACTION_ITERATE);
    subject_free(subject);
    return verdict.outcome == VERDICT_ALLOW;
}

/* ---- Reasons -------------------------------------------------------------------------------- */

TEST(a_permitted_step_is_allowed)
{
    struct subject *subject = subject_with(&plain, PERMIT, NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_ALLOW, VERDICT_PERMITTED, "");
    assert_true(verdict.is_allowed_by_cedar);
    assert_int_equal(verdict.counter, RUN_LIMIT_COUNT);
    subject_free(subject);
}

TEST(a_forbidden_step_names_its_policy)
{
    struct subject *subject =
        subject_with(&plain, PERMIT "@id(\"no\") @reason(\"not today\")\n" FORBID ";", NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_VERIFY);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "no");
    assert_string_equal(verdict.text, "not today");
    assert_false(verdict.is_allowed_by_cedar);
    assert_false(verdict.is_own);
    subject_free(subject);
}

TEST(what_nobody_permits_is_denied)
{
    struct subject *subject =
        subject_with(&plain, "permit (principal, action == Action::\"iterate\", resource);", NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_FINISH);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_NOT_PERMITTED, "");
    assert_int_equal(verdict.counter, RUN_LIMIT_COUNT);
    subject_free(subject);
}

TEST(without_a_ruleset_everything_is_denied)
{
    struct subject *subject = subject_new(&plain, NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_UNAVAILABLE, "");
    assert_string_not_equal(subject_problem(subject), "");
    assert_false(limit_of(subject, &(struct policy_request){0}, RUN_LIMIT_COST).is_known);
    struct ruleset *ruleset = rules(PERMIT, NULL);
    subject_set_ruleset(subject, ruleset);
    ruleset_unref(ruleset);
    assert_int_equal(decide(subject, NULL, ACTION_ITERATE).outcome, VERDICT_ALLOW);
    subject_set_ruleset(subject, NULL);
    assert_null(subject_ruleset(subject));
    verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_UNAVAILABLE, "");
    assert_string_not_equal(subject_problem(subject), "");
    subject_free(subject);
}

TEST(an_agent_that_cannot_be_expressed_is_denied)
{
    struct policy_run options = plain;
    options.agent_id = "\xff";
    struct subject *subject = subject_with(&options, PERMIT, NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_UNAVAILABLE, "");
    assert_non_null(strstr(subject_problem(subject), "UTF-8"));
    subject_free(subject);
    options = plain;
    options.run_id = "\xff";
    subject = subject_with(&options, PERMIT, NULL);
    verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_INVALID_CONTEXT, "");
    assert_false(limit_of(subject, &(struct policy_request){0}, RUN_LIMIT_TIME).is_known);
    subject_free(subject);
}

TEST(outcomes_and_reasons_have_names)
{
    assert_string_equal(verdict_outcome_name(VERDICT_ALLOW), "allow");
    assert_string_equal(verdict_outcome_name(VERDICT_DENY), "deny");
    assert_string_equal(verdict_outcome_name(VERDICT_ASK), "ask");
    static const char *const expected[] = {"permitted",          "forbidden",    "not_permitted",
                                           "approval_needed",    "policy_error", "invalid_context",
                                           "policy_unavailable", "cost_unknown"};
    for (enum verdict_reason i = 0; i < COUNT(expected); i++) {
        assert_string_equal(verdict_reason_name(i), expected[i]);
    }
}

/* ---- Failing closed ------------------------------------------------------------------------- */

TEST(a_forbid_that_fails_denies_although_cedar_allows)
{
    struct subject *subject =
        subject_with(&plain, PERMIT "@id(\"broken\")\n" FORBID "when " OVERFLOWS ";", NULL);
    struct policy_request facts = {.tokens = 1};
    struct policy_verdict verdict = decide(subject, &facts, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_POLICY_ERROR, "broken");
    assert_true(verdict.is_allowed_by_cedar);
    assert_int_equal(subject_answer(subject)->error_count, 1);
    assert_non_null(strstr(subject_problem(subject), "p.cedar:3"));
    subject_free(subject);
}

TEST(a_permit_that_fails_only_permits_nothing)
{
    struct policy_request facts = {.tokens = 1};
    struct subject *subject = subject_with(
        &plain, PERMIT "permit (principal, action, resource) when " OVERFLOWS ";", NULL);
    struct policy_verdict verdict = decide(subject, &facts, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_ALLOW, VERDICT_PERMITTED, "");
    assert_int_equal(subject_answer(subject)->error_count, 1);
    subject_free(subject);
    subject =
        subject_with(&plain, "permit (principal, action, resource) when " OVERFLOWS ";", NULL);
    verdict = decide(subject, &facts, ACTION_VERIFY);
    assert_int_equal(verdict.outcome, VERDICT_DENY);
    assert_int_equal(verdict.reason, VERDICT_NOT_PERMITTED);
    subject_free(subject);
}

/* ---- Whose fault it is ---------------------------------------------------------------------- */

TEST(a_heavier_forbid_is_reported_before_a_limit)
{
    struct subject *subject =
        subject_with(&plain,
                     PERMIT "@id(\"limit\")\n" FORBID "when { context.iteration >= 5 };\n"
                            "@id(\"no\")\n" FORBID "when { context.conditions_met == 0 };\n",
                     NULL);
    struct policy_request facts = {.iteration = 5};
    struct policy_verdict verdict = decide(subject, &facts, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "no");
    assert_int_equal(verdict.counter, RUN_LIMIT_COUNT);
    facts.conditions_met = 1;
    verdict = decide(subject, &facts, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "limit");
    subject_free(subject);
}

/** One row: what the run has used, and what the denial is put down to. */
static const struct {
    struct policy_request facts;
    const char *policy;
    enum run_limit counter;
    int64_t limit;
    int64_t value;
} used_up[] = {
    {{.iteration = 5}, "limit.iterations", RUN_LIMIT_ITERATIONS, 5, 5},
    {{.iteration = 7}, "limit.iterations", RUN_LIMIT_ITERATIONS, 5, 7},
    {{.tokens = 1000}, "limit.tokens", RUN_LIMIT_TOKENS, 1000, 1000},
    {{.cost_micro = 2500001}, "limit.cost", RUN_LIMIT_COST, 2500000, 2500100},
    {{.elapsed_ns = 61 * NS_PER_S}, "limit.time", RUN_LIMIT_TIME, 60 * NS_PER_S, 61 * NS_PER_S},
    {{.iteration = 5, .tokens = 9999, .cost_micro = 3000000},
     "limit.iterations",
     RUN_LIMIT_ITERATIONS,
     5,
     5},
    {{.tokens = 1500, .cost_micro = 3000000}, "limit.tokens", RUN_LIMIT_TOKENS, 1000, 1500},
};

TEST(options_are_limits_with_names_and_numbers)
{
    struct policy_run options = plain;
    options.max_iterations = 5;
    options.max_tokens = 1000;
    options.max_cost_micro = 2500000;
    options.max_elapsed_ns = 60 * NS_PER_S;
    struct subject *subject = subject_with(&options, PERMIT, NULL);
    for (size_t i = 0; i < COUNT(used_up); i++) {
        struct policy_verdict verdict = decide(subject, &used_up[i].facts, ACTION_ITERATE);
        expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, used_up[i].policy);
        assert_true(verdict.is_own);
        assert_int_equal(verdict.counter, used_up[i].counter);
        assert_int_equal(verdict.limits[verdict.counter].limit, used_up[i].limit);
        assert_int_equal(verdict.limits[verdict.counter].value, used_up[i].value);
        assert_int_equal(decide(subject, &used_up[i].facts, ACTION_VERIFY).outcome, VERDICT_ALLOW);
    }
    struct policy_request near = {
        .iteration = 4, .tokens = 999, .cost_micro = 2499900, .elapsed_ns = 60 * NS_PER_S - 1};
    assert_int_equal(decide(subject, &near, ACTION_ITERATE).outcome, VERDICT_ALLOW);
    subject_free(subject);
}

TEST(limits_of_permits_are_put_down_to_their_counter)
{
    struct subject *subject = subject_with(
        &plain, "@id(\"few\") permit (principal, action, resource) when { context.iteration < 4 };",
        NULL);
    struct policy_request facts = {.iteration = 6};
    struct policy_verdict verdict = decide(subject, &facts, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_NOT_PERMITTED, "few");
    assert_int_equal(verdict.counter, RUN_LIMIT_ITERATIONS);
    assert_int_equal(verdict.limits[verdict.counter].limit, 4);
    assert_int_equal(verdict.limits[verdict.counter].value, 6);
    subject_free(subject);
}

TEST(a_forbid_that_denies_from_the_start_is_no_limit)
{
    struct subject *subject = subject_with(
        &plain, PERMIT "@id(\"early\")\n" FORBID "when { context.iteration < 4 };", NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_ITERATE);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "early");
    assert_int_equal(verdict.counter, RUN_LIMIT_COUNT);
    subject_free(subject);
}

TEST(limits_ahead_are_found_from_where_the_run_is)
{
    struct policy_run options = plain;
    options.max_iterations = 100;
    options.max_cost_micro = 10;
    struct subject *subject = subject_with(&options, PERMIT, NULL);
    struct policy_request facts = {.iteration = 40};
    assert_int_equal(limit_of(subject, &facts, RUN_LIMIT_ITERATIONS).limit, 100);
    assert_int_equal(limit_of(subject, &facts, RUN_LIMIT_COST).limit, 100);
    assert_false(limit_of(subject, &facts, RUN_LIMIT_TOKENS).is_known);
    options.max_iterations = 200;
    subject_set_limits(subject, &options);
    assert_int_equal(limit_of(subject, &facts, RUN_LIMIT_ITERATIONS).limit, 200);
    subject_free(subject);
}

/* ---- What policies see ---------------------------------------------------------------------- */

/** Whether a condition holds for an action. */
static bool holds(const struct policy_run *options, const struct policy_request *facts,
                  enum vocabulary_action action, const char *condition, const char *entities)
{
    auto_buf struct buf text = {0};
    buf_printf(&text,
               "permit (principal, action == Action::\"%s\", resource) when { %s };\n"
               "@id(\"limit.iterations\") forbid (principal, action, resource) when { false };",
               vocabulary_action_name(action), condition);
    struct subject *subject = subject_with(options, buf_string(&text), entities);
    struct policy_verdict verdict = decide(subject, facts, action);
    assert_int_equal(subject_answer(subject)->error_count, 0);
    subject_free(subject);
    return verdict.outcome == VERDICT_ALLOW;
}

TEST(every_attribute_is_there_for_its_actions)
{
    for (enum vocabulary_action action = 0; action < VOCABULARY_ACTION_COUNT; action++) {
        for (enum vocabulary_context i = 0; i < VOCABULARY_CONTEXT_COUNT; i++) {
            char condition[128];
            if (!vocabulary_has_context(action, i)) {
                continue;
            }
            snprintf(condition, sizeof(condition), "context has %s", vocabulary_context_name(i));
            if (!holds(&plain, NULL, action, condition, NULL)) {
                fail_msg("%s: %s", vocabulary_action_name(action), condition);
            }
        }
        assert_true(holds(&plain, NULL, action, "context has system.now", NULL));
    }
    assert_true(holds(&plain, NULL, ACTION_ITERATE, "context has input.iteration", NULL));
}

TEST(facts_become_attributes_of_the_declared_types)
{
    struct policy_request facts = {
        .iteration = 3,
        .elapsed_ns = 4 * NS_PER_S + 999999999,
        .tokens = 5,
        .cost_micro = 1234567,
        .consecutive_failures = 2,
        .conditions_met = 1,
        .conditions_total = 6,
        .now_ns = WEDNESDAY_NS + 12345 * NS_PER_MS,
    };
    static const char *const conditions[] = {
        "context.iteration == 3",
        "context.input == {\"iteration\": 3}",
        "context.elapsed_s == 4",
        "context.tokens == 5",
        "context.cost_usd == decimal(\"1.2346\")",
        "context.consecutive_failures == 2",
        "context.conditions_met == 1",
        "context.conditions_total == 6",
        "context.approved == false",
        "context.now == datetime(\"2026-01-21T00:00:12.345Z\")",
        "context.system.now == context.now",
        "context.weekday == 3",
    };
    for (size_t i = 0; i < COUNT(conditions); i++) {
        if (!holds(&plain, &facts, ACTION_ITERATE, conditions[i], NULL)) {
            fail_msg("%s", conditions[i]);
        }
    }
    facts.is_approved = true;
    assert_true(holds(&plain, &facts, ACTION_VERIFY, "context.approved", NULL));
    assert_true(holds(&plain, &facts, ACTION_VERIFY, "context.condition == \"tests\"", NULL));
}

TEST(an_action_without_arguments_has_none)
{
    assert_true(holds(&plain, NULL, ACTION_CALL_TOOL, "context.input == {}", NULL));
    assert_true(holds(&plain, NULL, ACTION_FINISH, "context.input == {}", NULL));
}

TEST(a_memory_has_its_kind_and_category_in_the_input)
{
    struct policy_request facts = {.input = "{\"kind\":\"episodic\",\"category\":\"people\"}"};
    static const char people[] =
        "context.input.kind == \"episodic\" && context.input.category == \"people\"";
    static const char nothing_said[] =
        "context.input.kind == \"semantic\" && context.input.category == \"general\"";
    assert_true(holds(&plain, &facts, ACTION_REMEMBER, people, NULL));
    assert_true(holds(&plain, &facts, ACTION_RECALL, people, NULL));
    assert_true(holds(&plain, NULL, ACTION_REMEMBER, nothing_said, NULL));
    assert_true(holds(&plain, NULL, ACTION_RECALL, nothing_said, NULL));
}

static int64_t weekday_at(int64_t now_ns)
{
    for (int day = 1; day <= 7; day++) {
        char condition[64];
        snprintf(condition, sizeof(condition), "context.weekday == %d", day);
        struct policy_request facts = {.now_ns = now_ns};
        if (holds(&plain, &facts, ACTION_ITERATE, condition, NULL)) {
            return day;
        }
    }
    return 0;
}

TEST(weekdays_change_at_midnight)
{
    assert_int_equal(weekday_at(0), 4);
    assert_int_equal(weekday_at(WEDNESDAY_NS - NS_PER_MS), 2);
    assert_int_equal(weekday_at(WEDNESDAY_NS), 3);
    assert_int_equal(weekday_at(WEDNESDAY_NS + DAY_NS - NS_PER_MS), 3);
    assert_int_equal(weekday_at(WEDNESDAY_NS + 4 * DAY_NS), 7);
    assert_int_equal(weekday_at(WEDNESDAY_NS + 5 * DAY_NS), 1);
}

TEST(weekdays_before_1970_are_right_too)
{
    assert_int_equal(weekday_at(-NS_PER_MS), 3);
    assert_int_equal(weekday_at(-DAY_NS), 3);
    assert_int_equal(weekday_at(-DAY_NS - NS_PER_MS), 2);
    assert_int_equal(weekday_at(-4 * DAY_NS), 7);
}

TEST(costs_are_rounded_up)
{
    static const struct {
        int64_t micro;
        const char *dollars;
    } rows[] = {
        {0, "0.0"},        {1, "0.0001"},     {99, "0.0001"},
        {100, "0.0001"},   {101, "0.0002"},   {INT64_MAX, "9223372036854.7759"},
        {-100, "-0.0001"}, {-150, "-0.0001"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct policy_request facts = {.cost_micro = rows[i].micro};
        char condition[96];
        snprintf(condition, sizeof(condition), "context.cost_usd == decimal(\"%s\")",
                 rows[i].dollars);
        if (!holds(&plain, &facts, ACTION_ITERATE, condition, NULL)) {
            fail_msg("%s", condition);
        }
    }
}

TEST(a_run_shows_its_options)
{
    struct policy_run options = plain;
    assert_true(holds(&options, NULL, ACTION_ITERATE,
                      "resource.agent == principal && resource.kind == \"command\" && "
                      "resource.workspace == \"/srv/job\"",
                      NULL));
    assert_true(holds(&options, NULL, ACTION_ITERATE,
                      "resource == Run::\"run-1\" && principal == Agent::\"fixer\"", NULL));
    assert_true(holds(&options, NULL, ACTION_ITERATE,
                      "!(resource has max_tokens) && !(resource has max_cost_usd) && "
                      "!(resource has max_elapsed_s)",
                      NULL));
    options.max_iterations = 7;
    options.max_tokens = 8;
    options.max_cost_micro = 90;
    options.max_elapsed_ns = 1;
    assert_true(holds(&options, NULL, ACTION_VERIFY,
                      "resource has max_iterations && resource.max_iterations == 7 && "
                      "resource has max_tokens && resource.max_tokens == 8 && "
                      "resource has max_cost_usd && "
                      "resource.max_cost_usd == decimal(\"0.0001\") && "
                      "resource has max_elapsed_s && resource.max_elapsed_s == 1",
                      NULL));
}

TEST(a_run_has_ten_iterations_unless_policies_count_them)
{
    struct policy_request ten = {.iteration = 10};
    struct policy_request nine = {.iteration = 9};
    assert_true(allows(&plain, &nine, PERMIT, NULL));
    assert_false(allows(&plain, &ten, PERMIT, NULL));
    assert_true(allows(&plain, &ten, PERMIT FORBID "when { context.iteration >= 20 };", NULL));
    struct policy_run options = plain;
    options.max_iterations = 5;
    struct policy_request five = {.iteration = 5};
    assert_false(allows(&options, &five, PERMIT FORBID "when { context.iteration >= 20 };", NULL));
}

/* ---- Entities of the administrator ---------------------------------------------------------- */

#define GROUPS                                                                  \
    "{\"uid\":{\"type\":\"Group\",\"id\":\"night\"},\"attrs\":{},\"parents\":[" \
    "{\"type\":\"Group\",\"id\":\"all\"}]},"                                    \
    "{\"uid\":{\"type\":\"Group\",\"id\":\"all\"},\"attrs\":{},\"parents\":[]}"

TEST(a_limit_for_some_agents_leaves_the_default_to_others)
{
    static const char *const scopes[] = {
        "principal == Agent::\"other\"",
        "principal in Group::\"others\"",
        "principal is Agent in Group::\"others\"",
    };
    static const char entities[] = "[{\"uid\":{\"type\":\"Agent\",\"id\":\"other\"},\"attrs\":{},"
                                   "\"parents\":[{\"type\":\"Group\",\"id\":\"others\"}]}]";
    struct policy_run other = plain;
    other.agent_id = "other";
    struct policy_request ten = {.iteration = 10};
    for (size_t i = 0; i < COUNT(scopes); i++) {
        char policies[256];
        snprintf(policies, sizeof(policies),
                 PERMIT "forbid (%s, action == Action::\"iterate\", resource) "
                        "when { context.iteration >= 50 };",
                 scopes[i]);
        assert_false(allows(&plain, &ten, policies, entities));
        assert_true(allows(&other, &ten, policies, entities));
    }
}

TEST(an_agent_that_nobody_described_has_defaults)
{
    assert_true(holds(&plain, NULL, ACTION_ITERATE,
                      "principal.trust == 0 && principal.environment == \"\" && "
                      "!(principal has max_iterations)",
                      NULL));
    assert_true(holds(&plain, NULL, ACTION_ITERATE, "principal.trust == 0", "[" GROUPS "]"));
}

TEST(an_agent_is_what_the_administrator_says)
{
    static const char entities[] =
        "[{\"uid\":{\"type\":\"Agent\",\"id\":\"fixer\"},"
        "\"attrs\":{\"trust\":3,\"max_iterations\":50,"
        "\"max_cost_usd\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"2.50\"}}},"
        "\"parents\":[{\"type\":\"Group\",\"id\":\"night\"}],"
        "\"tags\":{\"team\":\"blue \\\"x\\\"\"}}," GROUPS "]";
    static const char *const conditions[] = {
        "principal.trust == 3",
        "principal.environment == \"\"",
        "principal has max_iterations && principal.max_iterations == 50",
        "principal has max_cost_usd && principal.max_cost_usd == decimal(\"2.5\")",
        "principal in Group::\"night\"",
        "principal in Group::\"all\"",
        "!(principal in Group::\"day\")",
        "principal.hasTag(\"team\") && principal.getTag(\"team\") == \"blue \\\"x\\\"\"",
        "!principal.hasTag(\"color\")",
    };
    for (size_t i = 0; i < COUNT(conditions); i++) {
        if (!holds(&plain, NULL, ACTION_ITERATE, conditions[i], entities)) {
            fail_msg("%s", conditions[i]);
        }
    }
    struct policy_run other = plain;
    other.agent_id = "other";
    assert_true(holds(&other, NULL, ACTION_ITERATE,
                      "principal.trust == 0 && !(principal in Group::\"all\")", entities));
}

TEST(a_nul_in_the_name_of_a_group_makes_no_other_group_of_it)
{
    static const char entities[] = "[{\"uid\":{\"type\":\"Agent\",\"id\":\"fixer\"},\"attrs\":{},"
                                   "\"parents\":[{\"type\":\"Group\",\"id\":\"admin\\u0000x\"}]}]";
    assert_false(holds(&plain, NULL, ACTION_ITERATE, "principal in Group::\"admin\"", entities));
    assert_true(holds(&plain, NULL, ACTION_ITERATE, "principal in Group::\"admin\\0x\"", entities));
}

TEST(actions_stand_in_their_group)
{
    struct subject *subject = subject_with(
        &plain, "permit (principal, action in AgentCore::Action::\"loop___iterate\", resource);",
        NULL);
    assert_int_equal(decide(subject, NULL, ACTION_ITERATE).outcome, VERDICT_ALLOW);
    assert_int_equal(decide(subject, NULL, ACTION_FINISH).outcome, VERDICT_DENY);
    subject_free(subject);
}

/* ---- Tools ---------------------------------------------------------------------------------- */

static struct policy_verdict call_tool(struct subject *subject, const char *tool, const char *input)
{
    struct policy_request request = {.action = ACTION_CALL_TOOL, .resource = tool, .input = input};
    return decide_request(subject, &request);
}

TEST(arguments_of_a_tool_are_seen)
{
    struct subject *subject = subject_with(
        &plain,
        PERMIT "forbid (principal, action == Action::\"call_tool\", resource == Tool::\"shell\")\n"
               "when { context.input has command && context.input.command like \"*rm *\" };",
        NULL);
    assert_int_equal(call_tool(subject, "shell", "{\"command\":\"ls\"}").outcome, VERDICT_ALLOW);
    assert_int_equal(call_tool(subject, "shell", "{\"command\":\"rm -r x\"}").outcome,
                     VERDICT_DENY);
    assert_int_equal(call_tool(subject, "shell", NULL).outcome, VERDICT_ALLOW);
    assert_int_equal(call_tool(subject, "other", "{\"command\":\"rm x\"}").outcome, VERDICT_ALLOW);
    subject_free(subject);
}

TEST(arguments_that_cedar_cannot_express_are_denied)
{
    static const char *const inputs[] = {
        "{\"x\":1.5}",
        "{\"x\":null}",
        "{\"x\":1e3}",
        "{",
        "",
        "[1]",
        "\"text\"",
        "7",
        "{\"__entity\":{\"type\":\"Tool\",\"id\":\"x\"}}",
        "{\"x\":99999999999999999999}",
    };
    struct subject *subject = subject_with(&plain, PERMIT, NULL);
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct policy_verdict verdict = call_tool(subject, "shell", inputs[i]);
        expect_verdict(&verdict, VERDICT_DENY, VERDICT_INVALID_CONTEXT, "");
        assert_false(verdict.is_allowed_by_cedar);
        assert_string_not_equal(subject_problem(subject), "");
    }
    assert_int_equal(call_tool(subject, "shell", "{\"x\":[1,{\"y\":true}]}").outcome,
                     VERDICT_ALLOW);
    assert_int_equal(decide(subject, NULL, ACTION_ITERATE).outcome, VERDICT_ALLOW);
    subject_free(subject);
}

TEST(tools_may_have_any_name)
{
    struct subject *subject =
        subject_with(&plain,
                     "permit (principal, action, resource == Tool::\"a\\\"b\\\\\\n\\u{e9}\");\n"
                     "permit (principal, action, resource == Tool::\"\");",
                     NULL);
    assert_int_equal(call_tool(subject, "a\"b\\\n\xc3\xa9", NULL).outcome, VERDICT_ALLOW);
    assert_int_equal(call_tool(subject, "", NULL).outcome, VERDICT_ALLOW);
    assert_int_equal(call_tool(subject, "ab", NULL).outcome, VERDICT_DENY);
    struct policy_verdict verdict = call_tool(subject, "\xff\xfe", NULL);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_INVALID_CONTEXT, "");
    assert_non_null(strstr(subject_problem(subject), "UTF-8"));
    subject_free(subject);
}

TEST(what_cedar_said_lasts_until_the_next_request)
{
    struct policy_run options = plain;
    options.max_iterations = 5;
    struct subject *subject = subject_with(&options, PERMIT, NULL);
    struct policy_request facts = {.iteration = 5};
    decide(subject, &facts, ACTION_ITERATE);
    assert_int_equal(subject_answer(subject)->reason_count, 1);
    assert_string_equal(
        cedar_policies_id(subject_ruleset(subject)->policies, subject_answer(subject)->reasons[0]),
        "limit.iterations");
    assert_non_null(subject_request(subject)->principal);
    struct cedar_evaluator *evaluator = cedar_evaluator_new();
    struct cedar_answer again;
    cedar_authorize(evaluator, subject_ruleset(subject)->policies, subject_request(subject),
                    &again);
    assert_false(again.is_allowed);
    cedar_evaluator_free(evaluator);
    subject_free(subject);
}
