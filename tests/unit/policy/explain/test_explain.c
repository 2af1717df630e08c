// SPDX-License-Identifier: Apache-2.0
/* Explanations: what decided, with which values, and nothing else. */
#include "policy/explain/explain.h"

#include "../cedar_help.h"
#include "base/buf.h"
#include "policy/lint/lint.h"

#include <stdlib.h>
#include <string.h>

/** Group `ops` holds the agent; nobody else is known. */
static const char entities_json[] =
    "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},\"attrs\":{\"trust\":2,\"name\":\"x\"},"
    "\"parents\":[{\"type\":\"Group\",\"id\":\"ops\"}],\"tags\":{\"team\":\"red\"}}]";

/** An explanation, written so that a test can say all of it in one line. */
static void write_terms(const struct explain_condition *condition, struct buf *text)
{
    for (size_t i = 0; i < condition->term_count; i++) {
        const struct explain_term *term = &condition->terms[i];
        buf_printf(text, "; %s=%s", term->text, explain_truth_name(term->truth));
        for (size_t j = 0; j < term->value_count; j++) {
            const char *value = term->values[j].value;
            buf_printf(text, "%s%s:%s", j == 0 ? " [" : " ", term->values[j].text,
                       value == NULL ? "none" : value);
        }
        buf_append_string(text, term->value_count > 0 ? "]" : "");
        buf_append_string(text, term->problem);
    }
}

static void write_policy(const struct explain_policy *policy, struct buf *text)
{
    buf_append_string(text, explain_state_name(policy->state));
    if (policy->scope[0] != '\0') {
        buf_printf(text, ": %s but %s is %s", policy->scope, policy->scope_variable,
                   policy->scope_value);
    }
    for (size_t i = 0; i < policy->condition_count; i++) {
        const struct explain_condition *condition = &policy->conditions[i];
        buf_printf(text, "%s%s %s", i == 0 ? ": " : " | ", condition->is_unless ? "unless" : "when",
                   condition->is_reached ? explain_truth_name(condition->truth) : "unreached");
        write_terms(condition, text);
    }
}

/** Explain the only policy of a text. @param context JSON @return free() it */
static char *explained(const char *policy, const char *context)
{
    struct cedar_policies *policies = policies_of(policy);
    struct cedar_entities *entities = entities_of(entities_json);
    struct cedar_question question =
        question_of("Agent::\"a\"", "Action::\"iterate\"", "Run::\"r\"", context);
    struct cedar_request request = {
        .principal = question.principal,
        .action = question.action,
        .resource = question.resource,
        .context = question.context,
        .entities = entities,
    };
    struct explain *explain = explain_new(policies, &request);
    struct buf text = {0};
    write_policy(explain_policy(explain, 0), &text);
    assert_int_equal(explain_state(explain, 0), explain_policy(explain, 0)->state);
    explain_free(explain);
    question_free(&question);
    cedar_entities_free(entities);
    cedar_policies_unref(policies);
    return buf_steal(&text);
}

static void expect(const char *policy, const char *context, const char *expected)
{
    char *text = explained(policy, context);
    assert_string_equal(text, expected);
    free(text);
}

#define ANY    "permit (principal, action, resource) "
#define FORBID "forbid (principal, action, resource) "

TEST(a_policy_without_conditions_is_satisfied)
{
    expect(ANY ";", "{}", "satisfied");
}

TEST(the_scope_that_does_not_match_is_named_with_the_value)
{
    expect("permit (principal, action == Action::\"verify\", resource);", "{}",
           "out_of_scope: action == Action::\"verify\" but action is Action::\"iterate\"");
    expect("permit (principal in Group::\"dev\", action, resource);", "{}",
           "out_of_scope: principal in Group::\"dev\" but principal is Agent::\"a\", in "
           "Group::\"ops\"");
    expect("permit (principal, action in [Action::\"x\", Action::\"y\"], resource);", "{}",
           "out_of_scope: action in [Action::\"x\", Action::\"y\"] but action is "
           "Action::\"iterate\", in no group");
    expect("permit (principal, action, resource is Tool);", "{}",
           "out_of_scope: resource is Tool but resource is Run::\"r\"");
    expect("permit (principal is Agent in Group::\"dev\", action, resource);", "{}",
           "out_of_scope: principal is Agent in Group::\"dev\" but principal is Agent::\"a\", in "
           "Group::\"ops\"");
    expect("permit (principal, action in [], resource);", "{}",
           "out_of_scope: action in [] but action is Action::\"iterate\"");
}

TEST(a_comparison_is_told_with_its_operands)
{
    expect(FORBID "unless { context.iteration < 100 };", "{\"iteration\":100}",
           "satisfied: unless false; context.iteration < 100=false [context.iteration:100]");
    expect(FORBID "unless { context.iteration < 100 };", "{\"iteration\":99}",
           "unsatisfied: unless true; context.iteration < 100=true [context.iteration:99]");
    expect(FORBID "when { context.n * 2 + 1 > principal.trust };", "{\"n\":3}",
           "satisfied: when true; context.n * 2 + 1 > principal.trust=true [context.n * 2 + 1:7 "
           "context.n * 2:6 context.n:3 principal.trust:2]");
}

TEST(of_a_chain_only_what_decided_is_told)
{
    expect(ANY "when { context.a && context.b && context.c };",
           "{\"a\":true,\"b\":false,\"c\":true}", "unsatisfied: when false; context.b=false");
    expect(ANY "when { context.a && context.b };", "{\"a\":true,\"b\":true}",
           "satisfied: when true; context.a=true; context.b=true");
    expect(ANY "when { context.a || context.b || context.c };",
           "{\"a\":false,\"b\":true,\"c\":true}", "satisfied: when true; context.b=true");
    expect(ANY "when { !(context.a || context.b) };", "{\"a\":false,\"b\":false}",
           "satisfied: when true; context.a=false; context.b=false");
    expect(ANY "when { if context.a then context.b else context.c };",
           "{\"a\":false,\"b\":true,\"c\":false}",
           "unsatisfied: when false; context.a=false; context.c=false");
}

TEST(a_literal_condition_is_told_as_it_is)
{
    expect(ANY "when { false };", "{}", "unsatisfied: when false; false=false");
}

TEST(conditions_after_the_deciding_one_are_not_reached)
{
    expect(ANY "when { context.a } unless { context.b } when { context.c };",
           "{\"a\":true,\"b\":true}",
           "unsatisfied: when true; context.a=true | unless true; context.b=true | when unreached");
}

TEST(groups_are_told_where_they_matter)
{
    expect(ANY "when { principal in Group::\"dev\" };", "{}",
           "unsatisfied: when false; principal in Group::\"dev\"=false [principal:Agent::\"a\", in "
           "Group::\"ops\"]");
    expect(ANY "when { principal == Agent::\"b\" };", "{}",
           "unsatisfied: when false; principal == Agent::\"b\"=false [principal:Agent::\"a\"]");
}

TEST(tags_and_methods_have_values_too)
{
    expect(ANY "when { principal.getTag(\"team\") == \"blue\" };", "{}",
           "unsatisfied: when false; principal.getTag(\"team\") == \"blue\"=false "
           "[principal.getTag(\"team\"):\"red\"]");
    expect(ANY "when { context.cost.lessThan(decimal(\"5.0\")) };",
           "{\"cost\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"7.5\"}}}",
           "unsatisfied: when false; context.cost.lessThan(decimal(\"5.0\"))=false "
           "[context.cost:decimal(\"7.5\")]");
    expect(ANY "when { principal has name };", "{}",
           "satisfied: when true; principal has name=true");
    expect(ANY "when { resource has name };", "{}",
           "unsatisfied: when false; resource has name=false [resource:Run::\"r\"]");
    expect(ANY "when { principal.name like \"y*\" };", "{}",
           "unsatisfied: when false; principal.name like \"y*\"=false [principal.name:\"x\"]");
    expect(ANY "when { [1, context.n].contains(3) };", "{\"n\":2}",
           "unsatisfied: when false; [1, context.n].contains(3)=false [context.n:2]");
}

TEST(a_failure_says_what_and_where)
{
    expect(FORBID "when { context.a && context.missing > 3 };", "{\"a\":true}",
           "failed: when error; context.missing > 3=error [context.missing:none]test.cedar:1:58: "
           "there is no attribute `missing` in `context.missing`");
    expect(ANY "when { context.n };", "{\"n\":1}",
           "failed: when error; context.n=errortest.cedar:1:45: a long has the wrong type here in "
           "`context.n`");
}

TEST(long_texts_are_cut_between_characters)
{
    struct buf policy = {0};
    buf_append_string(&policy, ANY "when { context.n == \"");
    for (int i = 0; i < 400; i++) {
        buf_append_string(&policy, "\u00e4");
    }
    buf_append_string(&policy, "\" };");
    char *text = explained(buf_string(&policy), "{\"n\":1}");
    assert_non_null(strstr(text, "\u00e4...=false"));
    assert_true(strlen(text) < 1000);
    free(text);
    buf_fini(&policy);
}

TEST(more_parts_than_are_kept_do_no_harm)
{
    struct buf policy = {0};
    buf_append_string(&policy, ANY "when { context.n < 1");
    for (int i = 0; i < 2 * EXPLAIN_TERMS; i++) {
        buf_append_string(&policy, " || context.n < 1");
    }
    buf_append_string(&policy, " || 0 <");
    for (int i = 0; i < 2 * EXPLAIN_VALUES; i++) {
        buf_printf(&policy, " context.n * %d +", -i);
    }
    buf_append_string(&policy, " 0 };");
    char *text = explained(buf_string(&policy), "{\"n\":1}");
    assert_non_null(strstr(text, "unsatisfied"));
    free(text);
    buf_fini(&policy);
}

static bool permits(const char *text, enum vocabulary_action action)
{
    struct cedar_policies *policies = policies_of(text);
    bool is_permitted = lint_has_permit_for(policies, action);
    cedar_policies_unref(policies);
    return is_permitted;
}

/** They took minutes when each was counted from the beginning of the text. */
TEST(positions_of_60000_policies_are_known_without_reading_the_text_again)
{
    enum { COUNT = 60000 };
    (void)state;
    struct buf text = {0};
    for (unsigned i = 0; i < COUNT; i++) {
        buf_printf(&text, "// \xc3\xa4\n@id(\"p%u\")\npermit (principal, action, resource);%s", i,
                   i % 3 == 0 ? " " : "\n");
    }
    struct cedar_policies *policies = policies_of(buf_string(&text));
    assert_int_equal(cedar_policies_count(policies), COUNT);
    size_t at = 0;
    unsigned line = 1;
    for (size_t i = 0; i < COUNT; i++) {
        for (; text.data[at] != '@'; at++) {
            line += text.data[at] == '\n';
        }
        const char *file = NULL;
        unsigned found = 0;
        cedar_policies_position(policies, i, &file, &found);
        assert_int_equal(found, line);
        at++;
    }
    cedar_policies_unref(policies);
    buf_fini(&text);
}

TEST(a_permit_reaches_the_actions_of_its_scope)
{
    assert_true(permits(ANY ";", ACTION_ITERATE));
    assert_false(permits(FORBID ";", ACTION_ITERATE));
    assert_false(permits("", ACTION_ITERATE));
    assert_false(
        permits("permit (principal, action == Action::\"verify\", resource);", ACTION_ITERATE));
    assert_true(
        permits("permit (principal, action == Action::\"verify\", resource);", ACTION_VERIFY));
    assert_false(permits("permit (principal, action, resource is Tool);", ACTION_ITERATE));
    assert_true(
        permits("permit (principal, action in AgentCore::Action::\"loop___iterate\", resource);",
                ACTION_ITERATE));
}
