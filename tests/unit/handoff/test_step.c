// SPDX-License-Identifier: Apache-2.0
/* The transitions T1 to T18 of the specification, from a request to its decision, and each of their
 * guards violated. */
#include "step_scene.h"

/* ---- T1 to T4: requested and routed --------------------------------------------------------- */

TEST(t1_a_request_begins_its_time_by_its_priority)
{
    struct scene scene = begin(HANDOFF_HIGH);
    assert_state(&scene, HANDOFF_REQUESTED);
    assert_int_equal(scene.handoff.sla_due_ns, BEGIN + 4 * HOUR);
    assert_int_equal(scene.handoff.version, 1);
    assert_fact(&scene, FACT_REQUESTED);
}

TEST(t1_a_request_that_is_needed_sooner_is_due_sooner)
{
    struct handoff_request request = make_request(HANDOFF_LOW);
    struct handoff handoff;
    struct handoff_facts facts = {0};
    request.required_by_ns = BEGIN + HOUR;
    assert_int_equal(handoff_begin(&request, &handoff_default_rules, BEGIN, &handoff, &facts),
                     HANDOFF_DONE);
    assert_int_equal(handoff.sla_due_ns, BEGIN + HOUR);
}

TEST(t1_no_person_can_decide_within_half_a_minute)
{
    struct handoff_request request = make_request(HANDOFF_LOW);
    struct handoff handoff;
    struct handoff_facts facts = {0};
    request.required_by_ns = BEGIN + 30 * NS_PER_S - 1;
    assert_outcome(handoff_begin(&request, &handoff_default_rules, BEGIN, &handoff, &facts),
                   HANDOFF_TOO_LATE);
    assert_int_equal(facts.count, 0);
    request.required_by_ns++;
    assert_outcome(handoff_begin(&request, &handoff_default_rules, BEGIN, &handoff, &facts),
                   HANDOFF_DONE);
}

TEST(t3_a_request_is_routed_to_a_desk_once)
{
    struct scene scene = routed();
    assert_state(&scene, HANDOFF_ROUTED);
    assert_string_equal(scene.handoff.desks[0], "desk-1");
    assert_refused(&scene, command_of(&scene, HANDOFF_ROUTE, "router"), HANDOFF_REPEATED);
}

TEST(t4_a_request_without_a_desk_is_a_dead_letter)
{
    struct scene scene = begin(HANDOFF_MEDIUM);
    struct handoff_command route = command_of(&scene, HANDOFF_ROUTE, "router");
    route.desk = NULL;
    assert_outcome(perform(&scene, route), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_DEAD_LETTERED);
    assert_application(&scene, APPLICATION_NONE);
    assert_fact(&scene, FACT_DEAD_LETTERED);
}

TEST(nobody_decides_what_is_on_no_desk)
{
    struct scene scene = begin(HANDOFF_MEDIUM);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_NOT_OPEN);
    assert_refused(&scene, command_of(&scene, HANDOFF_REJECT, "olga"), HANDOFF_NOT_OPEN);
    assert_refused(&scene, command_of(&scene, HANDOFF_CLAIM, "olga"), HANDOFF_NOT_OPEN);
}

/* ---- T5: claims ----------------------------------------------------------------------------- */

TEST(t5_a_claim_keeps_others_from_the_same_work_but_not_from_deciding)
{
    struct scene scene = routed();
    assert_outcome(give(&scene, HANDOFF_CLAIM, "olga"), HANDOFF_DONE);
    assert_refused(&scene, command_of(&scene, HANDOFF_CLAIM, "otto"), HANDOFF_NOT_YOURS);
    assert_refused(&scene, command_of(&scene, HANDOFF_RELEASE, "otto"), HANDOFF_NOT_YOURS);
    assert_outcome(give(&scene, HANDOFF_APPROVE, "otto"), HANDOFF_DONE);
    assert_string_equal(scene.handoff.claimed_by, "");
}

TEST(t5_a_claim_ends_by_release_by_an_administrator_and_by_time)
{
    struct scene scene = routed();
    give(&scene, HANDOFF_CLAIM, "olga");
    assert_outcome(give(&scene, HANDOFF_RELEASE, "olga"), HANDOFF_DONE);
    assert_outcome(give(&scene, HANDOFF_CLAIM, "otto"), HANDOFF_DONE);
    struct handoff_command release = command_of(&scene, HANDOFF_RELEASE, "root");
    release.actor.is_admin = true;
    assert_outcome(perform(&scene, release), HANDOFF_DONE);
    give(&scene, HANDOFF_CLAIM, "olga");
    pass(&scene, 15 * MINUTE - 1);
    assert_string_equal(scene.handoff.claimed_by, "olga");
    assert_outcome(give(&scene, HANDOFF_CLAIM, "olga"), HANDOFF_REPEATED);
    pass(&scene, 15 * MINUTE);
    assert_string_equal(scene.handoff.claimed_by, "");
    assert_fact(&scene, FACT_RELEASED);
}

/* ---- T6 and T7: approved and rejected ------------------------------------------------------- */

TEST(t6_an_approval_makes_the_action_available_and_not_done)
{
    struct scene scene = approved();
    assert_state(&scene, HANDOFF_APPROVED);
    assert_application(&scene, APPLICATION_AVAILABLE);
    assert_string_equal(scene.handoff.decided_by, "olga");
}

TEST(t6_each_guard_of_an_approval_refuses)
{
    struct scene scene = routed();
    struct handoff_command command = command_of(&scene, HANDOFF_APPROVE, "olga");
    command.actor.is_assignee = false;
    assert_refused(&scene, command, HANDOFF_NOT_YOURS);
    command = command_of(&scene, HANDOFF_APPROVE, "olga");
    command.actor.may_decide = false;
    assert_refused(&scene, command, HANDOFF_NOT_PERMITTED);
    command = command_of(&scene, HANDOFF_APPROVE, "olga");
    command.actor.is_requester = true;
    assert_refused(&scene, command, HANDOFF_SELF_APPROVAL);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "agent"), HANDOFF_SELF_APPROVAL);
    command = command_of(&scene, HANDOFF_APPROVE, "olga");
    command.action_digest = other_action;
    assert_refused(&scene, command, HANDOFF_OTHER_ACTION);
    command = command_of(&scene, HANDOFF_APPROVE, "olga");
    command.revision++;
    assert_refused(&scene, command, HANDOFF_OTHER_REVISION);
}

TEST(t6_nobody_approves_what_their_own_agent_asks_for)
{
    struct scene scene = routed();
    snprintf(scene.handoff.owner, sizeof(scene.handoff.owner), "user:olga");
    snprintf(scene.handoff.parent_id, sizeof(scene.handoff.parent_id), "boss");
    static const char *const own[] = {"user:olga", "olga", "boss", "user:boss", "user:agent"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, own[i]), HANDOFF_SELF_APPROVAL);
    }
    assert_outcome(give(&scene, HANDOFF_APPROVE, "user:olg"), HANDOFF_DONE);
}

TEST(t6_the_first_decision_wins_and_the_same_one_again_is_no_error)
{
    struct scene scene = approved();
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_REPEATED);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "otto"), HANDOFF_DECIDED);
    assert_refused(&scene, command_of(&scene, HANDOFF_REJECT, "otto"), HANDOFF_DECIDED);
    assert_refused(&scene, command_of(&scene, HANDOFF_ASK, "otto"), HANDOFF_DECIDED);
    assert_refused(&scene, command_of(&scene, HANDOFF_REROUTE, "otto"), HANDOFF_DECIDED);
    assert_refused(&scene, command_of(&scene, HANDOFF_CANCEL, "agent"), HANDOFF_DECIDED);
}

TEST(t6_a_critical_action_needs_two_persons)
{
    struct scene scene = routed_at(HANDOFF_CRITICAL);
    assert_outcome(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_PARTIAL);
    assert_state(&scene, HANDOFF_ROUTED);
    assert_application(&scene, APPLICATION_NONE);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_SECOND_PERSON);
    assert_outcome(give(&scene, HANDOFF_APPROVE, "otto"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_APPROVED);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_REPEATED);
}

TEST(t7_one_rejection_beats_a_partial_approval)
{
    struct scene scene = routed_at(HANDOFF_CRITICAL);
    give(&scene, HANDOFF_APPROVE, "olga");
    assert_outcome(give(&scene, HANDOFF_REJECT, "otto"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_REJECTED);
    assert_refused(&scene, command_of(&scene, HANDOFF_REJECT, "otto"), HANDOFF_REPEATED);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "ole"), HANDOFF_DECIDED);
}

TEST(t7_a_rejection_needs_a_comment)
{
    struct scene scene = routed();
    struct handoff_command command = command_of(&scene, HANDOFF_REJECT, "olga");
    command.has_text = false;
    assert_refused(&scene, command, HANDOFF_TEXT_MISSING);
}

TEST(t7_what_waits_for_answers_can_be_rejected_but_not_approved)
{
    struct scene scene = asked();
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_WAITS_FOR_AGENT);
    struct handoff_command command = command_of(&scene, HANDOFF_REJECT, "olga");
    command.action_digest = other_action;
    assert_refused(&scene, command, HANDOFF_OTHER_ACTION);
    assert_outcome(give(&scene, HANDOFF_REJECT, "olga"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_REJECTED);
}

TEST(t7_who_asked_can_withdraw_the_questions)
{
    struct scene scene = asked();
    int64_t due_ns = scene.handoff.sla_due_ns;
    assert_refused(&scene, command_of(&scene, HANDOFF_WITHDRAW, "otto"), HANDOFF_NOT_YOURS);
    scene.now_ns += 10 * MINUTE;
    assert_outcome(give(&scene, HANDOFF_WITHDRAW, "olga"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_ROUTED);
    assert_int_equal(scene.handoff.sla_due_ns, due_ns + 10 * MINUTE);
    assert_int_equal(handoff_timer(&scene.handoff, &scene.rules).due_ns,
                     BEGIN + 12 * HOUR + 10 * MINUTE);
    assert_outcome(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DONE);
}

/* ---- T8 to T10: passed on ------------------------------------------------------------------- */

static enum handoff_outcome pass_on(struct scene *scene, const char *desk)
{
    struct handoff_command command = command_of(scene, HANDOFF_REROUTE, "olga");
    command.desk = desk;
    return perform(scene, command);
}

TEST(t8_and_t9_a_request_is_passed_on_without_new_time)
{
    struct scene scene = routed();
    int64_t due_ns = scene.handoff.sla_due_ns;
    give(&scene, HANDOFF_CLAIM, "olga");
    assert_outcome(pass_on(&scene, "desk-2"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_REROUTED);
    assert_int_equal(scene.handoff.hops, 1);
    assert_string_equal(scene.handoff.claimed_by, "");
    assert_int_equal(scene.handoff.sla_due_ns, due_ns);
    assert_outcome(give(&scene, HANDOFF_ROUTE, "router"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_ROUTED);
    assert_string_equal(scene.handoff.desks[1], "desk-2");
    assert_int_equal(scene.handoff.desk_count, 2);
}

TEST(t9_what_is_passed_to_nobody_returns_and_is_escalated)
{
    struct scene scene = routed();
    pass_on(&scene, "nowhere");
    struct handoff_command route = command_of(&scene, HANDOFF_ROUTE, "router");
    route.desk = NULL;
    assert_outcome(perform(&scene, route), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_ESCALATED);
    assert_int_equal(scene.handoff.desk_count, 1);
    assert_string_equal(scene.handoff.desks[0], "desk-1");
}

TEST(t10_a_circle_is_refused_and_escalated)
{
    struct scene scene = routed();
    assert_outcome(pass_on(&scene, "desk-1"), HANDOFF_REROUTE_LOOP);
    assert_state(&scene, HANDOFF_ESCALATED);
    assert_int_equal(scene.handoff.hops, 0);
    assert_fact(&scene, FACT_ESCALATED);
}

TEST(t10_a_fourth_hop_is_refused_and_escalated)
{
    struct scene scene = routed();
    char desk[] = "desk-2";
    for (int i = 0; i < 3; i++) {
        assert_outcome(pass_on(&scene, desk), HANDOFF_DONE);
        give(&scene, HANDOFF_ROUTE, "router");
        desk[5]++;
    }
    assert_outcome(pass_on(&scene, desk), HANDOFF_REROUTE_LOOP);
    assert_int_equal(scene.handoff.hops, 3);
    assert_state(&scene, HANDOFF_ESCALATED);
}

/* ---- T11 to T14: questions ------------------------------------------------------------------ */

TEST(t11_questions_stop_the_time_to_decide)
{
    struct scene scene = asked();
    assert_state(&scene, HANDOFF_NEEDS_INFO);
    assert_int_equal(handoff_timer(&scene.handoff, &scene.rules).kind, TIMER_INFO);
    assert_int_equal(scene.handoff.info_due_ns, BEGIN + 30 * MINUTE);
    assert_int_equal(scene.handoff.revision, 1);
}

TEST(t11_questions_must_be_asked_and_not_for_ever)
{
    struct scene scene = routed();
    struct handoff_command command = command_of(&scene, HANDOFF_ASK, "olga");
    command.has_text = false;
    assert_refused(&scene, command, HANDOFF_TEXT_MISSING);
    for (uint32_t i = 0; i < 3; i++) {
        assert_outcome(give(&scene, HANDOFF_ASK, "olga"), HANDOFF_DONE);
        command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
        command.revision++;
        assert_outcome(perform(&scene, command), HANDOFF_DONE);
    }
    assert_refused(&scene, command_of(&scene, HANDOFF_ASK, "olga"), HANDOFF_TOO_MANY_QUESTIONS);
}

TEST(t12_answers_return_to_who_asked_and_nothing_approved_before_counts)
{
    struct scene scene = routed_at(HANDOFF_CRITICAL);
    give(&scene, HANDOFF_APPROVE, "otto");
    give(&scene, HANDOFF_ASK, "olga");
    scene.now_ns += 20 * MINUTE;
    struct handoff_command command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
    command.revision++;
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_ROUTED);
    assert_int_equal(scene.handoff.revision, 2);
    assert_int_equal(scene.handoff.approval_count, 0);
    assert_string_equal(scene.handoff.claimed_by, "olga");
    assert_int_equal(scene.handoff.sla_due_ns, BEGIN + HOUR + 20 * MINUTE);
    assert_refused(&scene, command, HANDOFF_REPEATED);
    command.text_digest = body;
    assert_refused(&scene, command, HANDOFF_OTHER_REVISION);
}

TEST(t12_answers_leave_ten_minutes_but_never_more_than_the_request_has)
{
    struct scene scene = begin(HANDOFF_CRITICAL);
    give(&scene, HANDOFF_ROUTE, "router");
    scene.now_ns += 59 * MINUTE;
    give(&scene, HANDOFF_ASK, "olga");
    struct handoff_command command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
    command.revision++;
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_int_equal(scene.handoff.sla_due_ns, scene.now_ns + 10 * MINUTE);
    scene.handoff.required_by_ns = scene.now_ns + 5 * MINUTE;
    give(&scene, HANDOFF_ASK, "olga");
    command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
    command.revision++;
    perform(&scene, command);
    assert_int_equal(scene.handoff.sla_due_ns, scene.handoff.required_by_ns);
}

TEST(t12_each_guard_of_a_resubmission_refuses)
{
    struct scene scene = routed();
    struct handoff_command command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
    command.revision = 2;
    assert_refused(&scene, command, HANDOFF_NOT_OPEN);
    scene = asked();
    command.actor.id = "stranger";
    assert_refused(&scene, command, HANDOFF_NOT_YOURS);
    command.actor.id = "agent";
    command.revision = 3;
    assert_refused(&scene, command, HANDOFF_OTHER_REVISION);
    command.revision = 2;
    command.action_digest = other_action;
    assert_refused(&scene, command, HANDOFF_OTHER_ACTION);
    scene = approved();
    assert_refused(&scene, command_of(&scene, HANDOFF_RESUBMIT, "agent"), HANDOFF_DECIDED);
}

TEST(t13_another_action_is_another_request)
{
    struct scene scene = asked();
    struct handoff_command command = command_of(&scene, HANDOFF_RESUBMIT, "agent");
    command.action_digest = other_action;
    command.new_request = "7fce3aab-96f4-5117-817f-3579469c578b";
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_SUPERSEDED);
    assert_refused(&scene, command, HANDOFF_REPEATED);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DECIDED);
    command.new_request = "00000000-96f4-5117-817f-3579469c578b";
    assert_refused(&scene, command, HANDOFF_DECIDED);
}

TEST(t14_an_agent_that_does_not_answer_lets_it_expire)
{
    struct scene scene = asked();
    pass(&scene, 30 * MINUTE - 1);
    assert_state(&scene, HANDOFF_NEEDS_INFO);
    pass(&scene, 1);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_string_equal(scene.handoff.decided_by, "system:timeout");
}

/* ---- T15 to T18: time ----------------------------------------------------------------------- */

TEST(t15_the_ladder_reminds_escalates_and_ends)
{
    struct scene scene = routed_at(HANDOFF_MEDIUM);
    pass(&scene, 12 * HOUR - 1);
    assert_int_equal(scene.facts.count, 0);
    pass(&scene, 1);
    assert_int_equal(scene.facts.count, 1);
    assert_fact(&scene, FACT_REMINDED);
    pass(&scene, 6 * HOUR);
    assert_state(&scene, HANDOFF_ESCALATED);
    assert_int_equal(scene.handoff.priority, HANDOFF_HIGH);
    pass(&scene, 2 * HOUR);
    assert_int_equal(scene.handoff.escalation_level, 2);
    assert_int_equal(scene.handoff.priority, HANDOFF_CRITICAL);
    pass(&scene, 2 * HOUR);
    assert_int_equal(scene.facts.count, 1);
    assert_fact(&scene, FACT_REMINDED);
    pass(&scene, 2 * HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_int_equal(handoff_timer(&scene.handoff, &scene.rules).kind, TIMER_NONE);
}

TEST(t15_what_a_person_escalated_the_ladder_does_not_escalate_again)
{
    struct scene scene = routed();
    assert_outcome(give(&scene, HANDOFF_ESCALATE, "olga"), HANDOFF_DONE);
    assert_int_equal(scene.handoff.escalation_level, 1);
    pass(&scene, 18 * HOUR);
    assert_int_equal(scene.handoff.escalation_level, 1);
    pass(&scene, 2 * HOUR);
    assert_int_equal(scene.handoff.escalation_level, 2);
}

TEST(t16_an_escalation_is_taken_back_with_a_comment)
{
    struct scene scene = routed();
    give(&scene, HANDOFF_ESCALATE, "olga");
    struct handoff_command command = command_of(&scene, HANDOFF_DEESCALATE, "olga");
    command.has_text = false;
    assert_refused(&scene, command, HANDOFF_TEXT_MISSING);
    command.has_text = true;
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_ROUTED);
    assert_int_equal(scene.handoff.escalation_level, 1);
    assert_refused(&scene, command, HANDOFF_NOT_OPEN);
}

TEST(t16_what_is_escalated_can_be_decided)
{
    struct scene scene = routed();
    give(&scene, HANDOFF_ESCALATE, "olga");
    assert_outcome(give(&scene, HANDOFF_APPROVE, "otto"), HANDOFF_DONE);
}

TEST(t17_a_decision_before_the_due_time_counts_and_one_at_it_does_not)
{
    struct scene scene = routed();
    scene.now_ns = BEGIN + 24 * HOUR - 1;
    assert_outcome(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DONE);
    pass(&scene, 1);
    assert_state(&scene, HANDOFF_APPROVED);
    scene = routed();
    scene.now_ns = BEGIN + 24 * HOUR;
    assert_outcome(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DECIDED);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_application(&scene, APPLICATION_NONE);
}

TEST(t17_required_by_ends_a_request_even_while_the_agent_answers)
{
    struct scene scene = asked();
    scene.handoff.required_by_ns = BEGIN + 10 * MINUTE;
    pass(&scene, 10 * MINUTE);
    assert_state(&scene, HANDOFF_EXPIRED);
}

TEST(t17_all_that_was_missed_while_nobody_ran_happens_in_order)
{
    struct scene scene = routed();
    pass(&scene, 365 * 24 * HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_int_equal(scene.facts.count, 5);
    assert_int_equal(scene.facts.facts[0], FACT_REMINDED);
    assert_int_equal(scene.facts.facts[4], FACT_EXPIRED);
    assert_int_equal(scene.handoff.decided_ns, BEGIN + 24 * HOUR);
}

static struct scene routed_with(enum handoff_on_timeout on_timeout, const char *desk)
{
    struct scene scene = routed();
    scene.rules.on_timeout = on_timeout;
    snprintf(scene.rules.timeout_desk, sizeof(scene.rules.timeout_desk), "%s", desk);
    return scene;
}

TEST(t17_time_reroutes_once_and_then_ends_it)
{
    struct scene scene = routed_with(ON_TIMEOUT_REROUTE, "night");
    pass(&scene, 24 * HOUR);
    assert_state(&scene, HANDOFF_REROUTED);
    assert_fact(&scene, FACT_REROUTED);
    assert_string_equal(scene.handoff.desks[scene.handoff.desk_count - 1], "night");
    assert_int_equal(scene.handoff.hops, 0);
    struct handoff_command route = command_of(&scene, HANDOFF_ROUTE, "router");
    route.desk = "night";
    assert_outcome(perform(&scene, route), HANDOFF_DONE);
    assert_true(scene.handoff.sla_due_ns > scene.now_ns);
    pass(&scene, 24 * HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_string_equal(scene.handoff.decided_by, "system:timeout");
}

TEST(t17_time_does_not_reroute_to_a_desk_that_had_it)
{
    struct scene scene = routed_with(ON_TIMEOUT_REROUTE, "desk-1");
    pass(&scene, 24 * HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
}

TEST(t17_time_escalates_once_and_then_ends_it)
{
    struct scene scene = routed_with(ON_TIMEOUT_ESCALATE, "");
    scene.rules.levels = 3;
    scene.rules.reminders = 0;
    pass(&scene, 24 * HOUR);
    assert_state(&scene, HANDOFF_ESCALATED);
    assert_int_equal(scene.handoff.escalation_level, 3);
    assert_outcome(give(&scene, HANDOFF_CLAIM, "olga"), HANDOFF_DONE);
    pass(&scene, HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
}

TEST(t14_an_agent_that_does_not_answer_is_a_matter_of_the_next_desk)
{
    struct scene scene = asked();
    scene.rules.on_timeout = ON_TIMEOUT_REROUTE;
    snprintf(scene.rules.timeout_desk, sizeof(scene.rules.timeout_desk), "night");
    pass(&scene, 30 * MINUTE);
    assert_state(&scene, HANDOFF_REROUTED);
    assert_int_equal(scene.handoff.info_due_ns, 0);
    assert_outcome(give(&scene, HANDOFF_APPROVE, "nina"), HANDOFF_DONE);
}

TEST(t17_a_decision_that_is_useless_is_extended_by_nothing)
{
    struct scene scene = routed_with(ON_TIMEOUT_ESCALATE, "");
    scene.handoff.required_by_ns = scene.handoff.sla_due_ns = scene.now_ns + HOUR;
    pass(&scene, HOUR);
    assert_state(&scene, HANDOFF_EXPIRED);
}

TEST(a_circle_of_desks_has_an_end_when_time_has_added_one)
{
    struct scene scene = routed_with(ON_TIMEOUT_REROUTE, "night");
    char desk[16];
    scene.rules.most_hops = HANDOFF_MOST_DESKS - 1;
    pass(&scene, 24 * HOUR);
    for (int i = 0; i < HANDOFF_MOST_DESKS - 2; i++) {
        snprintf(desk, sizeof(desk), "next-%d", i);
        struct handoff_command command = command_of(&scene, HANDOFF_REROUTE, "olga");
        command.desk = desk;
        assert_outcome(perform(&scene, command), HANDOFF_DONE);
    }
    struct handoff_command command = command_of(&scene, HANDOFF_REROUTE, "olga");
    command.desk = "one-more";
    assert_outcome(perform(&scene, command), HANDOFF_REROUTE_LOOP);
}

TEST(only_what_is_of_low_priority_makes_room)
{
    struct scene scene = routed_at(HANDOFF_LOW);
    struct handoff_command shed = command_of(&scene, HANDOFF_SHED, "system:lanes");
    assert_refused(&scene, shed, HANDOFF_NOT_PERMITTED);
    shed.actor.is_admin = true;
    assert_outcome(perform(&scene, shed), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_EXPIRED);
    assert_outcome(perform(&scene, shed), HANDOFF_DECIDED);
    scene = routed_at(HANDOFF_MEDIUM);
    assert_refused(&scene, shed, HANDOFF_NOT_OPEN);
}

TEST(t18_the_agent_or_an_administrator_cancels)
{
    struct scene scene = asked();
    assert_refused(&scene, command_of(&scene, HANDOFF_CANCEL, "olga"), HANDOFF_NOT_YOURS);
    assert_outcome(give(&scene, HANDOFF_CANCEL, "agent"), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_CANCELLED);
    assert_refused(&scene, command_of(&scene, HANDOFF_CANCEL, "agent"), HANDOFF_REPEATED);
    assert_refused(&scene, command_of(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DECIDED);
    scene = routed();
    struct handoff_command command = command_of(&scene, HANDOFF_CANCEL, "root");
    command.actor.is_admin = true;
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
}

TEST(everything_has_a_name)
{
    for (int i = 0; i < HANDOFF_STATE_COUNT; i++) {
        assert_non_null(handoff_state_name((enum handoff_state)i));
    }
    for (int i = 0; i < APPLICATION_COUNT; i++) {
        assert_non_null(handoff_application_name((enum handoff_application)i));
    }
    for (int i = 0; i < FACT_COUNT; i++) {
        assert_non_null(handoff_fact_name((enum handoff_fact)i));
    }
    for (int i = 0; i < HANDOFF_OUTCOME_COUNT; i++) {
        assert_non_null(handoff_outcome_name((enum handoff_outcome)i));
    }
}
