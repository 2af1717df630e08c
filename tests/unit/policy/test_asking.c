// SPDX-License-Identifier: Apache-2.0
/* Policies that ask a person: when they do, what is told of them, and which is the gravest. */
#include "subject_help.h"

#define ASKING "@id(\"ask\") @on_deny(\"ask\")\n" FORBID "unless { context.approved };\n"

TEST(a_person_is_asked_when_every_forbid_says_so)
{
    struct subject *subject = subject_with(&plain,
                                           PERMIT ASKING "@id(\"ask2\") @on_deny(\"ask\")\n" FORBID
                                                         "unless { context.approved };\n",
                                           NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_FINISH);
    expect_verdict(&verdict, VERDICT_ASK, VERDICT_APPROVAL_NEEDED, "ask");
    struct policy_request approved = {.is_approved = true};
    assert_int_equal(decide(subject, &approved, ACTION_FINISH).outcome, VERDICT_ALLOW);
    subject_free(subject);
}

/** A forbid that asks, with more annotations. */
#define ASK(id, more) \
    "@id(\"" id "\") @on_deny(\"ask\") " more "\n" FORBID "unless { context.approved };\n"

static void expect_ask(const struct verdict_ask *ask, const char *rule, const char *trigger,
                       enum policy_severity severity)
{
    assert_string_equal(ask->rule, rule);
    assert_string_equal(ask->trigger, trigger);
    assert_int_equal(ask->severity, severity);
}

TEST(all_that_ask_are_listed_with_the_gravest_first)
{
    struct subject *subject = subject_with(
        &plain,
        PERMIT ASK("plain", "") ASK("pay", "@severity(\"critical\") @handoff(\"money\") "
                                           "@reason(\"it pays\")")
            ASK("small", "@severity(\"low\")") ASK("big", "@severity(\"high\")") ASK("also", ""),
        NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_FINISH);
    expect_verdict(&verdict, VERDICT_ASK, VERDICT_APPROVAL_NEEDED, "pay");
    assert_string_equal(verdict.message,
                        "policy `pay` requires a person's approval of `finish`: it pays; so does "
                        "`big`, `plain`, `also`, `small`");
    assert_int_equal(verdict.ask_count, 5);
    expect_ask(&verdict.asks[0], "pay", "money", SEVERITY_CRITICAL);
    expect_ask(&verdict.asks[1], "big", VERDICT_TRIGGER, SEVERITY_HIGH);
    expect_ask(&verdict.asks[2], "plain", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    expect_ask(&verdict.asks[3], "also", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    expect_ask(&verdict.asks[4], "small", VERDICT_TRIGGER, SEVERITY_LOW);
    subject_free(subject);
}

TEST(of_too_many_that_ask_the_gravest_are_kept)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT);
    for (int i = 0; i < VERDICT_NAMED; i++) {
        buf_printf(&text, ASK("p%d", ""), i);
    }
    buf_append_string(&text, ASK("low", "@severity(\"low\")") ASK("grave", "@severity(\"high\")"));
    struct subject *subject = subject_with(&plain, buf_string(&text), NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_FINISH);
    assert_int_equal(verdict.ask_count, VERDICT_NAMED);
    expect_ask(&verdict.asks[0], "grave", VERDICT_TRIGGER, SEVERITY_HIGH);
    expect_ask(&verdict.asks[1], "p0", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    expect_ask(&verdict.asks[VERDICT_NAMED - 1], "p14", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    subject_free(subject);
}

TEST(what_two_verdicts_ask_is_merged)
{
    struct subject *one = subject_with(&plain, PERMIT ASK("a", "") ASK("b", ""), NULL);
    struct subject *two =
        subject_with(&plain, PERMIT ASK("b", "") ASK("c", "@severity(\"high\")"), NULL);
    struct policy_verdict verdict = decide(one, NULL, ACTION_FINISH);
    struct policy_verdict other = decide(two, NULL, ACTION_FINISH);
    policy_verdict_merge(&verdict, &other);
    assert_int_equal(verdict.ask_count, 3);
    expect_ask(&verdict.asks[0], "c", VERDICT_TRIGGER, SEVERITY_HIGH);
    expect_ask(&verdict.asks[1], "a", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    expect_ask(&verdict.asks[2], "b", VERDICT_TRIGGER, SEVERITY_MEDIUM);
    subject_free(one);
    subject_free(two);
}

/** What the policies say of a call of `send`, which the role wants confirmed. */
static struct policy_verdict confirm_send(const char *policies, const char *entities)
{
    static const struct policy_resource send = {
        .action = ACTION_CALL_TOOL, .id = "send", .origin = "", .needs_confirmation = true};
    struct policy_run run = plain;
    run.resources = &send;
    run.resource_count = 1;
    struct subject *subject = subject_with(&run, policies, entities);
    struct policy_request call = {.action = ACTION_CALL_TOOL, .resource = "send"};
    struct policy_verdict verdict = decide_request(subject, &call);
    call.is_approved = true;
    assert_int_equal(decide_request(subject, &call).outcome, VERDICT_ALLOW);
    call.is_approved = false;
    call.resource = "other"; /* which is not described */
    assert_int_equal(decide_request(subject, &call).outcome, VERDICT_ALLOW);
    subject_free(subject);
    return verdict;
}

TEST(a_tool_that_the_role_wants_confirmed_asks)
{
    struct policy_verdict verdict = confirm_send(PERMIT, NULL);
    expect_verdict(&verdict, VERDICT_ASK, VERDICT_APPROVAL_NEEDED, RULESET_CONFIRM);
    assert_string_equal(verdict.text, "this role requires confirmation");
    assert_int_equal(verdict.ask_count, 1);
    expect_ask(&verdict.asks[0], RULESET_CONFIRM, VERDICT_TRIGGER, SEVERITY_MEDIUM);
}

TEST(an_administrator_may_lift_a_confirmation_of_a_role)
{
    struct policy_verdict verdict =
        confirm_send(PERMIT, "[{\"uid\":{\"type\":\"Tool\",\"id\":\"send\"},\"attrs\":{"
                             "\"needs_confirmation\":false},\"parents\":[]}]");
    assert_int_equal(verdict.outcome, VERDICT_ALLOW);
}

TEST(an_administrator_may_make_a_confirmation_graver)
{
    struct policy_verdict verdict =
        confirm_send(PERMIT "@id(\"confirm.tool\") @on_deny(\"ask\") @severity(\"critical\")\n"
                            "forbid (principal, action == Action::\"call_tool\", resource)\n"
                            "when { resource == Tool::\"send\" } unless { context.approved };",
                     NULL);
    assert_int_equal(verdict.ask_count, 1);
    expect_ask(&verdict.asks[0], RULESET_CONFIRM, VERDICT_TRIGGER, SEVERITY_CRITICAL);
}

TEST(one_hard_forbid_is_enough_and_is_the_one_reported)
{
    struct subject *subject = subject_with(
        &plain, PERMIT ASKING "@id(\"hard\")\n" FORBID "when { context.iteration >= 3 };\n", NULL);
    struct policy_request facts = {.iteration = 3};
    struct policy_verdict verdict = decide(subject, &facts, ACTION_FINISH);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "hard");
    assert_int_equal(verdict.counter, RUN_LIMIT_ITERATIONS);
    subject_free(subject);
}

TEST(other_words_for_on_deny_do_not_ask)
{
    struct subject *subject =
        subject_with(&plain, PERMIT "@id(\"x\") @on_deny(\"log\")\n" FORBID ";", NULL);
    struct policy_verdict verdict = decide(subject, NULL, ACTION_FINISH);
    expect_verdict(&verdict, VERDICT_DENY, VERDICT_FORBIDDEN, "x");
    subject_free(subject);
}

TEST(nobody_is_asked_while_another_forbid_fails)
{
    struct subject *subject =
        subject_with(&plain, PERMIT ASKING "@id(\"broken\")\n" FORBID "when " OVERFLOWS ";", NULL);
    struct policy_request facts = {.tokens = 1};
    assert_int_equal(decide(subject, &facts, ACTION_FINISH).outcome, VERDICT_DENY);
    subject_free(subject);
}
