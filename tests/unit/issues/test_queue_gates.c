// SPDX-License-Identifier: Apache-2.0
/* The circuit of checks: what counts as the same failure, and what opens and closes it. */
#include "queue_world.h"

#include <stdio.h>

static uint64_t print_of(const char *stage, const char *outcome, const char *command,
                         const char *output)
{
    char *words[] = {memory_dup_string(stage), memory_dup_string(command),
                     memory_dup_string(output)};
    struct work_check check = {.stage = words[0], .command = words[1], .output = words[2]};
    struct work_attempt attempt = {.checks = &check, .check_count = 1};
    snprintf(attempt.outcome, sizeof(attempt.outcome), "%s", outcome);
    uint64_t print = queue_gate_print(&attempt);
    for (size_t i = 0; i < COUNT(words); i++) {
        free(words[i]);
    }
    return print;
}

TEST(failures_are_the_same_but_for_words_with_digits)
{
    uint64_t print = print_of("after", "checks_failed", "make", "/t/01ab-9f/x: not found at 12:01");
    assert_true(print != 0);
    assert_true(print ==
                print_of("after", "checks_failed", "make", "/t/77cd-01/x: not found at 9:7"));
    assert_true(print !=
                print_of("after", "checks_failed", "make", "/t/01ab-9f/y: not found at 12:01"));
    assert_true(print !=
                print_of("after", "checks_failed", "ninja", "/t/01ab-9f/x: not found at 12:01"));
}

TEST(only_checks_and_the_setup_that_failed_count)
{
    assert_true(print_of("before", "error", "setup", "x") != 0);
    assert_true(print_of("after", "error", "make", "x") == 0);
    assert_true(print_of("after", "worker_failed", "make", "x") == 0);
    assert_true(queue_gate_print(NULL) == 0);
    struct work_check check = {.stage = "after", .is_met = true};
    const struct work_attempt attempt = {
        .outcome = "checks_failed", .checks = &check, .check_count = 1};
    assert_true(queue_gate_print(&attempt) == 0);
}

/** An issue is given up. */
static void give_up(struct queue_world *world, int64_t number, uint64_t print)
{
    struct queue_slot *slot = world_slot(world, number, ITEM_IN_PROGRESS);
    slot->outcome.gate_print = print;
    slot->outcome.message = memory_dup_string("make: not found");
    const struct item_action action = {
        .act = ITEM_ACT_SET, .state = ITEM_BLOCKED, .reason = ITEM_ATTEMPTS_SPENT};
    assert_true(queue_do(world->queue, slot, &action));
}

static bool is_open(const struct queue_world *world)
{
    return !issue_circuit_lets(&world->queue->gate_circuit, world_clock(world));
}

QUEUE_TEST(some_issues_in_a_row_that_fail_in_the_same_way_open_it_for_a_while)
{
    struct queue_world *world = *state;
    for (int64_t i = 1; i < QUEUE_FAILURES; i++) {
        give_up(world, i, 7);
        assert_false(is_open(world));
    }
    give_up(world, QUEUE_FAILURES, 7);
    assert_true(is_open(world));
    assert_true(world_said(world, "make: not found"));
    world_pass(world, QUEUE_GATE_POLLS * world->queue->options.poll_ns - NS_PER_S);
    assert_true(is_open(world));
    world_pass(world, NS_PER_S);
    assert_false(is_open(world));
    give_up(world, QUEUE_FAILURES + 1, 7); /* The one that is let through fails as well. */
    assert_true(is_open(world));
}

QUEUE_TEST(other_failures_and_issues_that_pass_begin_the_count_anew)
{
    struct queue_world *world = *state;
    give_up(world, 1, 7);
    give_up(world, 2, 7);
    give_up(world, 3, 8);
    assert_false(is_open(world));
    give_up(world, 4, 8);
    struct queue_slot *slot = world_slot(world, 5, ITEM_IN_PROGRESS);
    const struct item_action action = {.act = ITEM_ACT_SET, .state = ITEM_IN_REVIEW};
    assert_true(queue_do(world->queue, slot, &action));
    give_up(world, 6, 8);
    assert_false(is_open(world));
    give_up(world, 7, 0); /* not because of checks */
    give_up(world, 8, 8);
    assert_false(is_open(world));
}
