// SPDX-License-Identifier: Apache-2.0
/* Profiles: the tested outcomes of default-security, and what must never be allowed. */
#include "policy/profile/profile.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "policy/profile/profile_text.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define ROUTINE                                                              \
    "\"confidence\":0.95,\"risk_level\":0,\"impact\":0,\"reversible\":true," \
    "\"evidence_count\":1,\"evidence_required\":1,\"evidence_missing\":[],"  \
    "\"violation_score\":0,\"human_required\":false,\"rework_count\":0"

static const struct profile_approval approved = {
    .is_valid = true, .count = 1, .is_same_action = true};

/** One decision, with all that it owns. */
struct decision {
    struct profiles *profiles;
    struct profile_evaluator *evaluator;
    struct json_object *context;
    struct profile_answer answer;
    struct buf errors;
};

static struct profiles *make(const char *policies, const char *entities)
{
    struct profiles *profiles = NULL;
    struct rondo_error err = {0};
    struct profiles_source source = {
        .policies = policies,
        .policies_len = policies == NULL ? 0 : strlen(policies),
        .entities = entities,
        .entities_len = entities == NULL ? 0 : strlen(entities),
    };
    if (profiles_make(&source, &profiles, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return profiles;
}

static void decide_with(struct decision *decision, const char *context,
                        const struct profile_request *request)
{
    struct profile_request full = *request;
    decision->evaluator = profile_evaluator_new();
    assert_int_equal(json_parse_strict(context, strlen(context), &decision->context, NULL), 0);
    full.agent_id = full.agent_id == NULL ? "sec-triage-01" : full.agent_id;
    full.tool = full.tool == NULL ? "isolate_host" : full.tool;
    full.context = decision->context;
    profiles_decide(decision->profiles, decision->evaluator, &full, &decision->answer,
                    &decision->errors);
}

static void fini(struct decision *decision)
{
    json_object_put(decision->context);
    profile_evaluator_free(decision->evaluator);
    profiles_unref(decision->profiles);
    buf_fini(&decision->errors);
}

/** What reasons a decision has, with blanks. */
static void expect_answer(const struct decision *decision, enum profile_outcome outcome,
                          const char *reasons)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < decision->answer.reason_count; i++) {
        buf_printf(&text, "%s%s", i == 0 ? "" : " ", decision->answer.reasons[i].reason);
    }
    if (decision->answer.outcome != outcome) {
        fail_msg("%s instead of %s: %s %s", profile_outcome_name(decision->answer.outcome),
                 profile_outcome_name(outcome), buf_string(&text), buf_string(&decision->errors));
    }
    assert_string_equal(buf_string(&text), reasons);
}

/** Decide by the built-in profiles. */
static void expect_built_in(const char *context, const struct profile_request *request,
                            enum profile_outcome outcome, const char *reasons)
{
    struct decision decision = {.profiles = make(NULL, NULL)};
    decide_with(&decision, context, request);
    expect_answer(&decision, outcome, reasons);
    fini(&decision);
}

/** The context of a routine action with one attribute changed. */
static void change(const char *name, const char *value, struct buf *ret_json)
{
    auto_json struct json_object *context = NULL;
    auto_json struct json_object *changed = NULL;
    assert_int_equal(json_parse("{" ROUTINE "}", strlen("{" ROUTINE "}"), &context, NULL), 0);
    if (value == NULL) {
        json_object_object_del(context, name);
    } else {
        assert_int_equal(json_parse(value, strlen(value), &changed, NULL), 0);
        json_object_object_add(context, name, json_object_get(changed));
    }
    buf_append_string(ret_json, json_object_to_json_string(context));
}

static void expect_changed(const char *name, const char *value,
                           const struct profile_approval *approval, enum profile_outcome outcome,
                           const char *reasons)
{
    auto_buf struct buf context = {0};
    change(name, value, &context);
    expect_built_in(buf_string(&context), &(struct profile_request){.approval = approval}, outcome,
                    reasons);
}

TEST(a_routine_action_is_allowed)
{
    expect_built_in("{" ROUTINE "}", &(struct profile_request){0}, PROFILE_ALLOW, "");
}

TEST(low_confidence_alone_is_allowed)
{
    expect_changed("confidence", "0.1", NULL, PROFILE_ALLOW, "");
    expect_changed("confidence", NULL, NULL, PROFILE_ALLOW, "");
}

TEST(each_trigger_alone_asks_a_person)
{
    expect_built_in("{\"confidence\":0.79,\"risk_level\":0,\"impact\":2,\"reversible\":true,"
                    "\"evidence_count\":1,\"evidence_required\":1,\"evidence_missing\":[],"
                    "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}",
                    &(struct profile_request){0}, PROFILE_HANDOFF, "low_confidence_high_impact");
    expect_changed("violation_score", "0.5", NULL, PROFILE_HANDOFF, "policy_violation_risk");
    expect_changed("classification", "{\"label\":\"malware\",\"margin\":0}", NULL, PROFILE_HANDOFF,
                   "ambiguous_classification");
    expect_changed("human_required", "true", NULL, PROFILE_HANDOFF, "explicit_agent_rule");
    expect_changed("risk_level", "3", NULL, PROFILE_HANDOFF, "risk_level_high");
    expect_built_in("{\"confidence\":1,\"risk_level\":0,\"impact\":0,\"reversible\":false,"
                    "\"evidence_count\":0,\"evidence_required\":1,\"evidence_missing\":[],"
                    "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}",
                    &(struct profile_request){0}, PROFILE_HANDOFF, "missing_evidence_irreversible");
}

TEST(the_edges_of_thresholds_are_where_the_profile_says)
{
    expect_changed("violation_score", "0.4999", NULL, PROFILE_ALLOW, "");
    expect_changed("violation_score", "0.49999", NULL, PROFILE_HANDOFF, "policy_violation_risk");
    expect_changed("violation_score", "0.9", NULL, PROFILE_DENY, "");
    expect_changed("classification", "{\"label\":\"x\",\"margin\":0.1}", NULL, PROFILE_ALLOW, "");
    expect_changed("classification", "{\"label\":\"x\",\"margin\":0.09999}", NULL, PROFILE_HANDOFF,
                   "ambiguous_classification");
}

/* The band is wider for what was asked before, so that a retry does not slip through. */
TEST(an_ambiguous_action_that_was_asked_stays_ambiguous_up_to_0_12)
{
    auto_buf struct buf context = {0};
    change("classification", "{\"label\":\"x\",\"margin\":0.11}", &context);
    expect_built_in(buf_string(&context), &(struct profile_request){0}, PROFILE_ALLOW, "");
    expect_built_in(buf_string(&context), &(struct profile_request){.rework_count = 1},
                    PROFILE_HANDOFF, "ambiguous_classification");
}

TEST(three_triggers_are_all_listed_the_most_severe_first)
{
    expect_built_in("{\"confidence\":1,\"risk_level\":3,\"impact\":0,\"reversible\":true,"
                    "\"evidence_count\":1,\"evidence_required\":1,\"evidence_missing\":[],"
                    "\"violation_score\":0.6,\"human_required\":true,\"rework_count\":0}",
                    &(struct profile_request){0}, PROFILE_HANDOFF,
                    "policy_violation_risk risk_level_high explicit_agent_rule");
}

TEST(no_approval_helps_against_a_hard_violation)
{
    expect_changed("violation_score", "0.95", NULL, PROFILE_DENY, "");
    expect_changed("violation_score", "0.95", &approved, PROFILE_DENY, "");
}

TEST(a_critical_action_needs_two_persons)
{
    struct profile_approval two = approved;
    two.count = 2;
    expect_changed("risk_level", "3", &approved, PROFILE_HANDOFF, "second_approver_required");
    expect_changed("risk_level", "3", &two, PROFILE_ALLOW, "");
}

TEST(an_approval_of_something_else_denies)
{
    struct profile_approval other = approved;
    struct profile_approval own = approved;
    struct profile_approval late = approved;
    other.is_same_action = false;
    own.is_self_approved = true;
    late.is_expired = true;
    expect_changed("human_required", "true", &approved, PROFILE_ALLOW, "");
    expect_changed("human_required", "true", &other, PROFILE_DENY, "");
    expect_changed("human_required", "true", &own, PROFILE_DENY, "");
    expect_changed("human_required", "true", &late, PROFILE_DENY, "");
}

TEST(a_fourth_rework_is_denied)
{
    expect_changed("rework_count", "3", NULL, PROFILE_ALLOW, "");
    expect_changed("rework_count", "4", NULL, PROFILE_DENY, "");
    expect_built_in("{" ROUTINE "}", &(struct profile_request){.rework_count = 4}, PROFILE_DENY,
                    "");
}

/* Cedar skips a forbid that cannot be evaluated: the raw answer would be allow. */
TEST(a_missing_or_ill_typed_attribute_denies)
{
    static const char *const names[] = {"risk_level",        "impact",           "reversible",
                                        "evidence_count",    "evidence_missing", "human_required",
                                        "evidence_required", "violation_score",  "rework_count"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        expect_changed(names[i], NULL, NULL, PROFILE_DENY, "");
        expect_changed(names[i], "\"0\"", NULL, PROFILE_DENY, "");
        expect_changed(names[i], "null", NULL, PROFILE_DENY, "");
    }
    expect_changed("confidence", "\"high\"", NULL, PROFILE_DENY, "");
    expect_changed("risk_level", "4", NULL, PROFILE_DENY, "");
    expect_changed("impact", "-1", NULL, PROFILE_DENY, "");
    expect_changed("impact", "1.5", NULL, PROFILE_DENY, "");
    expect_changed("violation_score", "1.01", NULL, PROFILE_DENY, "");
    expect_changed("classification", "{\"label\":\"x\"}", NULL, PROFILE_DENY, "");
    expect_changed("evidence_missing", "[1]", NULL, PROFILE_DENY, "");
}

TEST(an_agent_cannot_send_its_own_approval)
{
    expect_changed("approval", "{\"valid\":true}", NULL, PROFILE_DENY, "");
    expect_changed("impcat", "0", NULL, PROFILE_DENY, "");
}

TEST(a_confidence_out_of_range_counts_as_none)
{
    static const char context[] =
        "{\"confidence\":7,\"risk_level\":0,\"impact\":3,\"reversible\":true,"
        "\"evidence_count\":1,\"evidence_required\":1,\"evidence_missing\":[],"
        "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}";
    expect_built_in(context, &(struct profile_request){0}, PROFILE_HANDOFF,
                    "low_confidence_high_impact");
}

TEST(an_agent_can_name_a_stricter_profile_and_no_weaker_one)
{
    expect_changed("impact", "1", NULL, PROFILE_ALLOW, "");
    auto_buf struct buf write = {0};
    auto_buf struct buf human = {0};
    change("impact", "1", &write);
    change("human_required", "true", &human);
    expect_built_in(buf_string(&write), &(struct profile_request){.profile = "strict"},
                    PROFILE_HANDOFF, "explicit_agent_rule");
    expect_built_in(buf_string(&human), &(struct profile_request){.profile = "observe"},
                    PROFILE_HANDOFF, "explicit_agent_rule");
    expect_built_in("{" ROUTINE "}", &(struct profile_request){.profile = "nothing"}, PROFILE_DENY,
                    "");
}

TEST(a_lane_that_gathers_evidence_may_only_read)
{
    auto_buf struct buf write = {0};
    change("impact", "1", &write);
    expect_built_in("{" ROUTINE "}", &(struct profile_request){.is_evidence = true}, PROFILE_ALLOW,
                    "");
    expect_built_in(buf_string(&write),
                    &(struct profile_request){.is_evidence = true, .approval = &approved},
                    PROFILE_DENY, "");
}

#define ENTITIES                                                           \
    "[{\"uid\":{\"type\":\"RelayTrace::Agent\",\"id\":\"sec-triage-01\"}," \
    "\"attrs\":{\"profiles\":[\"observe\"]},\"parents\":[]},"              \
    "{\"uid\":{\"type\":\"RelayTrace::Tool\",\"id\":\"isolate_host\"},"    \
    "\"attrs\":{\"requires_human\":true},\"parents\":[]}]"

TEST(observe_allows_and_lists_what_would_have_been_asked)
{
    struct decision decision = {.profiles = make(NULL, ENTITIES)};
    auto_buf struct buf context = {0};
    change("violation_score", "0.95", &context);
    decide_with(&decision, buf_string(&context), &(struct profile_request){0});
    expect_answer(&decision, PROFILE_ALLOW,
                  "policy_violation_risk policy_violation_risk explicit_agent_rule");
    fini(&decision);
}

TEST(a_tool_can_require_a_person)
{
    struct decision decision = {.profiles = make(NULL, ENTITIES)};
    decide_with(&decision, "{" ROUTINE "}", &(struct profile_request){.agent_id = "other"});
    expect_answer(&decision, PROFILE_HANDOFF, "explicit_agent_rule");
    fini(&decision);
}

TEST(a_file_takes_the_place_of_all_profiles)
{
    struct decision decision = {
        .profiles = make("@id(\"all\") permit (principal == RelayTrace::Agent::\"known\", action, "
                         "resource);",
                         NULL)};
    decide_with(&decision, "{" ROUTINE "}", &(struct profile_request){.agent_id = "known"});
    expect_answer(&decision, PROFILE_ALLOW, "");
    json_object_put(decision.context);
    profile_evaluator_free(decision.evaluator);
    /* Nothing permits an agent that is not known. */
    decide_with(&decision, "{" ROUTINE "}", &(struct profile_request){.agent_id = "unknown"});
    expect_answer(&decision, PROFILE_DENY, "");
    fini(&decision);
}

static void expect_refused(const char *policies, const char *message)
{
    struct profiles *profiles = NULL;
    struct rondo_error err = {0};
    struct profiles_source source = {.policies = policies, .policies_len = strlen(policies)};
    assert_int_equal(profiles_make(&source, &profiles, &err), RONDO_ERR_INVALID);
    assert_null(profiles);
    if (strstr(err.message, message) == NULL) {
        fail_msg("'%s' does not hold '%s'", err.message, message);
    }
}

TEST(policies_that_could_not_be_evaluated_are_refused)
{
    expect_refused("permit (principal, action, resource) when { context.impcat > 1 };",
                   "profiles.cedar:1");
    expect_refused("permit (principal, action, resource) when { context.reversible && "
                   "context.rework_count > 3 && context.impact == context.confidence.x };",
                   "profiles.cedar:1");
    expect_refused("permit (principal, action, resource) when { context.approval.valid };",
                   "profiles.cedar:1");
    expect_refused("permit (principal, action, resource", "profiles.cedar:1");
    expect_refused("@handoff(\"Ask me\") forbid (principal, action, resource);", "@handoff");
    expect_refused("@handoff(\"x\") @severity(\"huge\") forbid (principal, action, resource);",
                   "@severity");
}

TEST(each_built_in_profile_is_a_file_of_its_own)
{
    size_t count = 0;
    for (const struct profile_text *row = profile_texts; row->name != NULL; row++) {
        profiles_unref(make(row->text, NULL));
        assert_true(profiles_is_text(row->text, row->len));
        count++;
    }
    assert_int_equal(count, 4);
}
