// SPDX-License-Identifier: Apache-2.0
/* Policies that ask people about calls: what they are told, how grave it is, and who must decide.
 */
#include "handoff_scene.h"

#define POLICY "  policy: p.cedar\n"
/** A policy that asks about calls of a tool. */
#define ASK(id, tool, more)                                                     \
    "@id(\"" id "\") @on_deny(\"ask\") " more "\nforbid (principal, action == " \
    "Action::\"call_tool\", resource == Tool::\"" tool "\") unless { context.approved };\n"
#define CRITICAL   "@severity(\"critical\") @handoff(\"money\") @reason(\"it pays\")"
#define SEND(text) ONE("send", "{\"text\":\"" text "\"}")

static void start_asking(struct agent_scene *scene, const char *policies, const char *turns)
{
    set_policies(scene->world, policies);
    scene_start(scene, POLICY, turns);
    play_until_it_waits(scene);
}

static struct handoff only_one(const struct agent_scene *scene)
{
    struct open_list list = open_ones(scene);
    assert_int_equal(list.count, 1);
    return list.handoffs[0];
}

/** What was sent last with the request that waits. */
static struct json_object *said(const struct agent_scene *scene)
{
    auto_buf struct buf body = {0};
    struct json_object *root = NULL;
    struct handoff handoff = only_one(scene);
    struct handoff_store handoffs = inbox_of(scene);
    assert_int_equal(
        handoff_read_body(&handoffs, handoff.request_id, handoff.revision, &body, NULL), 0);
    assert_int_equal(json_parse(body.data, body.len, &root, NULL), 0);
    return root;
}

static void expect_trigger(const struct agent_scene *scene, const char *member, const char *json)
{
    auto_json struct json_object *body = said(scene);
    struct json_object *value = json_member(json_member(body, "trigger"), member);
    assert_non_null(value);
    assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), json);
}

SCENE_TEST(what_a_role_wants_confirmed_is_a_policy_that_asks)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    struct handoff handoff = only_one(scene);
    assert_int_equal(handoff.risk, HANDOFF_MEDIUM);
    assert_int_equal(handoff.priority, HANDOFF_MEDIUM);
    expect_trigger(scene, "trigger_reason", "\"explicit_agent_rule\"");
    expect_trigger(scene, "policy_rule_id", "\"confirm.tool\"");
    expect_trigger(scene, "message", "\"this role requires confirmation\"");
}

SCENE_TEST(all_reasons_are_told_with_the_gravest_first)
{
    struct agent_scene *scene = *state;
    start_asking(scene,
                 PERMIT ASK("public", "careful", "@severity(\"low\")")
                     ASK("pay", "careful", CRITICAL),
                 CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    struct handoff handoff = only_one(scene);
    assert_int_equal(handoff.risk, HANDOFF_CRITICAL);
    assert_int_equal(handoff.priority, HANDOFF_CRITICAL);
    assert_true(handoff.sla_due_ns - handoff.requested_ns == HOUR_NS);
    expect_trigger(scene, "trigger_reason", "\"money\"");
    expect_trigger(scene, "trigger_reasons",
                   "[\"money\",\"explicit_agent_rule\",\"explicit_agent_rule\"]");
    expect_trigger(scene, "policy_rule_ids", "[\"pay\",\"confirm.tool\",\"public\"]");
    expect_trigger(scene, "risk_level", "\"critical\"");
}

SCENE_TEST(a_critical_call_needs_two_persons)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", CRITICAL),
                 CALLS(SEND("x")) FINISH_IF("send did x"));
    assert_int_equal(decide_as(scene, "user:olga", HANDOFF_APPROVE, NULL), HANDOFF_PARTIAL);
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    assert_int_equal(decide_as(scene, "user:olga", HANDOFF_APPROVE, NULL), HANDOFF_SECOND_PERSON);
    assert_int_equal(decide_as(scene, "user:piet", HANDOFF_APPROVE, NULL), HANDOFF_DONE);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
}

SCENE_TEST(one_person_at_the_terminal_cannot_approve_what_two_must)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    start_asking(scene, PERMIT ASK("pay", "send", CRITICAL),
                 CALLS(SEND("x")) FINISH_IF("send did x"));
    assert_int_equal(scene->questions, 0);
    assert_int_equal(only_one(scene).risk, HANDOFF_CRITICAL);
}

SCENE_TEST(policies_that_ask_for_more_by_now_make_an_approval_void)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", ""), CALLS(SEND("x")) FINISH_IF("send did x"));
    assert_int_equal(only_one(scene).risk, HANDOFF_MEDIUM);
    decide(scene, HANDOFF_APPROVE, NULL);
    set_policies(scene->world, PERMIT ASK("pay", "send", CRITICAL));
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    scene_last(scene, "handoff.decided", "decision", "apply_failed");
    assert_int_equal(only_one(scene).risk, HANDOFF_CRITICAL);
    decide_as(scene, "user:olga", HANDOFF_APPROVE, NULL);
    decide_as(scene, "user:piet", HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
}

SCENE_TEST(policies_that_ask_for_more_while_people_think_ask_them_anew)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", ""), CALLS(SEND("x")) FINISH_IF("send did x"));
    set_policies(scene->world, PERMIT ASK("pay", "send", CRITICAL));
    scene_resume(scene);
    play_until_it_waits(scene);
    scene_last(scene, "handoff.decided", "decision", "cancelled");
    assert_int_equal(only_one(scene).risk, HANDOFF_CRITICAL);
}

SCENE_TEST(what_was_refused_stays_refused_whatever_policies_ask_for)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", ""),
                 CALLS(SEND("x")) FINISH_IF("a person refused it"));
    decide(scene, HANDOFF_REJECT, "no");
    set_policies(scene->world, PERMIT ASK("pay", "send", CRITICAL));
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    assert_int_equal(open_ones(scene).count, 0);
}

SCENE_TEST(policies_that_ask_no_more_need_nobody)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", CRITICAL),
                 CALLS(SEND("x")) FINISH_IF("send did x"));
    set_policies(scene->world, PERMIT);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
    assert_int_equal(open_ones(scene).count, 0);
}

SCENE_TEST(a_policy_that_forbids_by_now_is_stronger_than_an_approval)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", ""),
                 CALLS(SEND("x")) FINISH_IF("was not called"));
    decide(scene, HANDOFF_APPROVE, NULL);
    set_policies(scene->world, PERMIT "@id(\"no\") forbid (principal, action == "
                                      "Action::\"call_tool\", resource == Tool::\"send\");");
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"denied\""), 1);
}

/** What is asked, answered and sent again keeps the reasons for which people were asked. */
SCENE_TEST(answers_keep_the_reasons_and_the_risk)
{
    struct agent_scene *scene = *state;
    start_asking(scene, PERMIT ASK("pay", "send", CRITICAL),
                 CALLS(SEND("x")) CALLS(ONE("answer_questions", "{\"answers\":\"because\"}"))
                     FINISH_IF("send did x"));
    assert_int_equal(decide_as(scene, "user:olga", HANDOFF_ASK, NULL), HANDOFF_DONE);
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(only_one(scene).revision, 2);
    assert_int_equal(only_one(scene).risk, HANDOFF_CRITICAL);
    expect_trigger(scene, "policy_rule_id", "\"pay\"");
    expect_trigger(scene, "trigger_reason", "\"money\"");
}
