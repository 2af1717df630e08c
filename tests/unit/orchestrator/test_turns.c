// SPDX-License-Identifier: Apache-2.0
/* Whose turn it is. */
#include "orchestrator/turns.h"

#include "support/test.h"

#include <stdio.h>

TEST(the_agent_with_the_fewest_runs_is_first)
{
    struct agent_turn busy = {.executing = 2, .served_ns = 1};
    struct agent_turn idle = {.executing = 1, .served_ns = 9};

    assert_true(turn_is_before(&idle, &busy));
    assert_false(turn_is_before(&busy, &idle));
}

TEST(of_several_the_one_that_was_served_longest_ago_is_first)
{
    struct agent_turn never = {.executing = 1};
    struct agent_turn early = {.executing = 1, .served_ns = 4};
    struct agent_turn late = {.executing = 1, .served_ns = 5};

    assert_true(turn_is_before(&never, &early));
    assert_true(turn_is_before(&early, &late));
    assert_false(turn_is_before(&late, &early));
    assert_false(turn_is_before(&early, &early));
}

TEST(an_agent_is_remembered_when_nobody_uses_it)
{
    struct turns turns = {0};
    struct agent_turn *turn = turns_use(&turns, "a");
    turn_note_served(turn, 7);
    turn_note_served(turn, 3);

    turns_release(&turns, turn);

    assert_int_equal(turns_of(&turns, "a")->served_ns, 7);
    turns_fini(&turns);
}

TEST(of_idle_agents_a_limited_number_is_remembered)
{
    struct turns turns = {0};
    struct agent_turn *used = turns_use(&turns, "used");
    char name[32];
    for (int i = 0; i < TURNS_IDLE_AGENTS + 2; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        turns_release(&turns, turns_use(&turns, name));
    }

    assert_true(HASH_COUNT(turns.by_agent) <= TURNS_IDLE_AGENTS);
    assert_ptr_equal(turns_of(&turns, "used"), used);
    turns_fini(&turns);
}
