// SPDX-License-Identifier: Apache-2.0
/* The transitions T19 to T22 of the specification, from an approval to its effect, and each of
 * their guards violated. */
#include "step_scene.h"

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
