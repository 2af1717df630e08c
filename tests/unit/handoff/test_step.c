// SPDX-License-Identifier: Apache-2.0
/* Each transition of the specification, T1 to T22, and each of its guards violated. */
/* long: one machine, and a test for each of its transitions and guards */
#include "handoff/step.h"

#include "base/clock.h"
#include "handoff/timer.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define MINUTE (60 * NS_PER_S)
#define HOUR   (60 * MINUTE)
#define BEGIN  (1800000000 * NS_PER_S)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
static const char other_action[] =
    "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";
static const char checkpoint[] =
    "sha256:c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2";
static const char body[] =
    "sha256:d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3";
static const char second_body[] =
    "sha256:e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4";

/** One handoff, its clock, and the facts of the last command. */
struct scene {
    struct handoff handoff;
    struct handoff_rules rules;
    struct handoff_facts facts;
    int64_t now_ns;
};

static struct handoff_request make_request(enum handoff_level level)
{
    return (struct handoff_request){
        .request_id = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d",
        .agent_id = "agent",
        .lane_id = "lane",
        .action_digest = action,
        .state_hash = checkpoint,
        .body_digest = body,
        .risk = level,
        .priority = level,
    };
}

static struct scene begin(enum handoff_level level)
{
    struct scene scene = {.rules = handoff_default_rules, .now_ns = BEGIN};
    struct handoff_request request = make_request(level);
    assert_int_equal(
        handoff_begin(&request, &scene.rules, scene.now_ns, &scene.handoff, &scene.facts),
        HANDOFF_DONE);
    return scene;
}

static enum handoff_outcome perform(struct scene *scene, struct handoff_command command)
{
    scene->facts.count = 0;
    return handoff_step(&scene->handoff, &scene->rules, &command, scene->now_ns, &scene->facts);
}

/** A command of somebody who may give it, about what is in the record. */
static struct handoff_command command_of(const struct scene *scene, enum handoff_command_kind kind,
                                         const char *who)
{
    return (struct handoff_command){
        .kind = kind,
        .actor = {.id = who, .is_assignee = true, .may_decide = true},
        .consumer = "process-1",
        .revision = scene->handoff.revision,
        .action_digest = action,
        .text_digest = second_body,
        .has_text = true,
        .desk = "desk-2",
        .state_hash = checkpoint,
        .is_allowed = true,
    };
}

static enum handoff_outcome give(struct scene *scene, enum handoff_command_kind kind,
                                 const char *who)
{
    return perform(scene, command_of(scene, kind, who));
}

static struct scene routed_at(enum handoff_level level)
{
    struct scene scene = begin(level);
    struct handoff_command route = command_of(&scene, HANDOFF_ROUTE, "router");
    route.desk = "desk-1";
    assert_int_equal(perform(&scene, route), HANDOFF_DONE);
    return scene;
}

static struct scene routed(void)
{
    return routed_at(HANDOFF_MEDIUM);
}

static struct scene asked(void)
{
    struct scene scene = routed();
    assert_int_equal(give(&scene, HANDOFF_ASK, "olga"), HANDOFF_DONE);
    return scene;
}

static struct scene approved(void)
{
    struct scene scene = routed();
    assert_int_equal(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DONE);
    return scene;
}

static struct scene taken(void)
{
    struct scene scene = approved();
    assert_int_equal(give(&scene, HANDOFF_TAKE, "agent"), HANDOFF_DONE);
    return scene;
}

static struct scene started(void)
{
    struct scene scene = taken();
    assert_int_equal(give(&scene, HANDOFF_START, "agent"), HANDOFF_DONE);
    return scene;
}

static void pass(struct scene *scene, int64_t duration_ns)
{
    scene->now_ns += duration_ns;
    scene->facts.count = 0;
    handoff_advance(&scene->handoff, &scene->rules, scene->now_ns, &scene->facts);
}

static void assert_state(const struct scene *scene, enum handoff_state state)
{
    assert_string_equal(handoff_state_name(scene->handoff.state), handoff_state_name(state));
}

static void assert_application(const struct scene *scene, enum handoff_application application)
{
    assert_string_equal(handoff_application_name(scene->handoff.application),
                        handoff_application_name(application));
}

static void assert_outcome(enum handoff_outcome outcome, enum handoff_outcome expected)
{
    assert_string_equal(handoff_outcome_name(outcome), handoff_outcome_name(expected));
}

/** A command that is refused, and changes nothing. */
static void assert_refused(struct scene *scene, struct handoff_command command,
                           enum handoff_outcome expected)
{
    struct handoff before = scene->handoff;
    assert_outcome(perform(scene, command), expected);
    assert_memory_equal(&before, &scene->handoff, sizeof(before));
    assert_int_equal(scene->facts.count, 0);
}

static void assert_fact(const struct scene *scene, enum handoff_fact fact)
{
    for (size_t i = 0; i < scene->facts.count; i++) {
        if (scene->facts.facts[i] == fact) {
            return;
        }
    }
    fail_msg("no %s among %zu facts", handoff_fact_name(fact), scene->facts.count);
}

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

/* ---- T19 to T21: the application ------------------------------------------------------------ */

TEST(t19_what_was_approved_is_taken_started_and_finished_once)
{
    struct scene scene = started();
    assert_outcome(give(&scene, HANDOFF_FINISH, "agent"), HANDOFF_DONE);
    assert_application(&scene, APPLICATION_APPLIED);
    assert_refused(&scene, command_of(&scene, HANDOFF_FINISH, "agent"), HANDOFF_REPEATED);
    struct handoff_command command = command_of(&scene, HANDOFF_FINISH, "agent");
    command.text_digest = body;
    assert_refused(&scene, command, HANDOFF_DECIDED);
    assert_refused(&scene, command_of(&scene, HANDOFF_TAKE, "agent"), HANDOFF_NO_APPLICATION);
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "agent"), HANDOFF_LEASE_ENDED);
}

TEST(t19_nothing_is_taken_before_it_is_approved)
{
    struct scene scene = routed();
    assert_refused(&scene, command_of(&scene, HANDOFF_TAKE, "agent"), HANDOFF_NO_APPLICATION);
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "agent"), HANDOFF_NO_APPLICATION);
    assert_refused(&scene, command_of(&scene, HANDOFF_FINISH, "agent"), HANDOFF_NO_APPLICATION);
    scene = approved();
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "agent"), HANDOFF_NO_APPLICATION);
}

TEST(t19_another_process_and_another_agent_are_refused)
{
    struct scene scene = taken();
    struct handoff_command command = command_of(&scene, HANDOFF_TAKE, "agent");
    command.consumer = "process-2";
    assert_refused(&scene, command, HANDOFF_NOT_YOURS);
    command.kind = HANDOFF_START;
    assert_refused(&scene, command, HANDOFF_NOT_YOURS);
    command.kind = HANDOFF_FINISH;
    assert_refused(&scene, command, HANDOFF_NOT_YOURS);
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "stranger"), HANDOFF_NOT_YOURS);
}

TEST(t19_a_lease_that_ends_before_the_grant_is_given_to_another)
{
    struct scene scene = taken();
    pass(&scene, 30 * NS_PER_S);
    assert_application(&scene, APPLICATION_AVAILABLE);
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "agent"), HANDOFF_NO_APPLICATION);
    struct handoff_command command = command_of(&scene, HANDOFF_TAKE, "agent");
    command.consumer = "process-2";
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_int_equal(scene.handoff.deliveries, 2);
}

TEST(t19_a_lease_is_renewed_by_taking_again)
{
    struct scene scene = taken();
    scene.now_ns += 20 * NS_PER_S;
    assert_outcome(give(&scene, HANDOFF_TAKE, "agent"), HANDOFF_REPEATED);
    pass(&scene, 20 * NS_PER_S);
    assert_application(&scene, APPLICATION_LEASED);
}

TEST(t19b_a_process_that_is_lost_after_the_grant_leaves_a_doubt)
{
    struct scene scene = started();
    pass(&scene, 30 * NS_PER_S);
    assert_application(&scene, APPLICATION_IN_DOUBT);
    struct handoff_command command = command_of(&scene, HANDOFF_TAKE, "agent");
    command.consumer = "process-2";
    assert_refused(&scene, command, HANDOFF_NO_APPLICATION);
    scene.handoff.is_idempotent = true;
    struct scene later = scene;
    later.now_ns += 15 * MINUTE;
    assert_refused(&later, command, HANDOFF_NO_APPLICATION);
    assert_application(&later, APPLICATION_IN_DOUBT);
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
}

TEST(t19b_a_late_result_ends_the_doubt)
{
    struct scene scene = started();
    pass(&scene, HOUR);
    assert_outcome(give(&scene, HANDOFF_FINISH, "agent"), HANDOFF_DONE);
    assert_application(&scene, APPLICATION_APPLIED);
}

TEST(t20_an_approval_that_nobody_takes_lapses_after_a_day)
{
    struct scene scene = approved();
    pass(&scene, 24 * HOUR - 1);
    assert_application(&scene, APPLICATION_AVAILABLE);
    pass(&scene, 1);
    assert_application(&scene, APPLICATION_LAPSED);
    assert_refused(&scene, command_of(&scene, HANDOFF_TAKE, "agent"), HANDOFF_NO_APPLICATION);
}

TEST(t20_an_approval_that_was_delivered_lapses_after_a_quarter_of_an_hour)
{
    struct scene scene = taken();
    for (int i = 0; i < 44; i++) {
        scene.now_ns += 20 * NS_PER_S;
        assert_outcome(give(&scene, HANDOFF_TAKE, "agent"), HANDOFF_REPEATED);
    }
    scene.now_ns += 20 * NS_PER_S;
    assert_outcome(give(&scene, HANDOFF_START, "agent"), HANDOFF_LEASE_ENDED);
    assert_application(&scene, APPLICATION_LAPSED);
}

TEST(t20_what_was_started_in_time_may_take_longer)
{
    struct scene scene = started();
    for (int i = 0; i < 100; i++) {
        scene.now_ns += 20 * NS_PER_S;
        assert_outcome(give(&scene, HANDOFF_START, "agent"), HANDOFF_REPEATED);
    }
    assert_outcome(give(&scene, HANDOFF_FINISH, "agent"), HANDOFF_DONE);
}

TEST(t21_anything_that_changed_since_the_approval_makes_it_void)
{
    struct scene scene = taken();
    struct handoff_command command = command_of(&scene, HANDOFF_START, "agent");
    command.action_digest = other_action;
    assert_outcome(perform(&scene, command), HANDOFF_INTEGRITY);
    assert_application(&scene, APPLICATION_FAILED);
    scene = taken();
    command = command_of(&scene, HANDOFF_START, "agent");
    command.state_hash = NULL;
    assert_outcome(perform(&scene, command), HANDOFF_INTEGRITY);
    assert_application(&scene, APPLICATION_FAILED);
    scene = taken();
    command = command_of(&scene, HANDOFF_START, "agent");
    command.is_allowed = false;
    assert_outcome(perform(&scene, command), HANDOFF_INTEGRITY);
    assert_application(&scene, APPLICATION_FAILED);
    assert_refused(&scene, command_of(&scene, HANDOFF_START, "agent"), HANDOFF_LEASE_ENDED);
}

TEST(t21_what_cannot_be_prepared_is_tried_five_times)
{
    struct scene scene = approved();
    struct handoff_command command;
    for (int i = 0; i < 5; i++) {
        assert_application(&scene, APPLICATION_AVAILABLE);
        assert_outcome(give(&scene, HANDOFF_TAKE, "agent"), HANDOFF_DONE);
        command = command_of(&scene, HANDOFF_RETURN, "agent");
        command.is_transient = true;
        assert_outcome(perform(&scene, command), HANDOFF_DONE);
    }
    assert_application(&scene, APPLICATION_FAILED);
    scene = taken();
    assert_outcome(give(&scene, HANDOFF_RETURN, "agent"), HANDOFF_DONE);
    assert_application(&scene, APPLICATION_FAILED);
}

TEST(t22_an_administrator_sends_a_dead_letter_again)
{
    struct scene scene = begin(HANDOFF_MEDIUM);
    struct handoff_command command = command_of(&scene, HANDOFF_ROUTE, "router");
    command.desk = NULL;
    perform(&scene, command);
    scene.now_ns += 48 * HOUR;
    command = command_of(&scene, HANDOFF_REPLAY, "root");
    assert_refused(&scene, command, HANDOFF_NOT_PERMITTED);
    command.actor.is_admin = true;
    assert_outcome(perform(&scene, command), HANDOFF_DONE);
    assert_state(&scene, HANDOFF_REQUESTED);
    assert_int_equal(scene.handoff.sla_due_ns, scene.now_ns + 24 * HOUR);
    assert_refused(&scene, command, HANDOFF_REPEATED);
    scene = approved();
    assert_refused(&scene, command, HANDOFF_DECIDED);
}

TEST(t22_a_dead_letter_that_is_useless_stays_one)
{
    struct scene scene = begin(HANDOFF_MEDIUM);
    struct handoff_command command = command_of(&scene, HANDOFF_ROUTE, "router");
    command.desk = NULL;
    perform(&scene, command);
    scene.handoff.required_by_ns = scene.now_ns + 10 * NS_PER_S;
    command = command_of(&scene, HANDOFF_REPLAY, "root");
    command.actor.is_admin = true;
    assert_refused(&scene, command, HANDOFF_TOO_LATE);
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
