// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/turns.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

struct agent_turn *turns_of(struct turns *turns, const char *agent)
{
    struct agent_turn *turn = NULL;
    HASH_FIND_STR(turns->by_agent, agent, turn);
    if (turn == NULL) {
        turn = memory_new_zero(1, sizeof(*turn));
        snprintf(turn->agent, sizeof(turn->agent), "%s", agent);
        HASH_ADD_STR(turns->by_agent, agent, turn);
    }
    return turn;
}

struct agent_turn *turns_use(struct turns *turns, const char *agent)
{
    struct agent_turn *turn = turns_of(turns, agent);
    turn->users++;
    return turn;
}

static void drop(struct turns *turns, bool is_all)
{
    struct agent_turn *turn = NULL;
    struct agent_turn *next = NULL;
    HASH_ITER(hh, turns->by_agent, turn, next)
    {
        if (is_all || turn->users == 0) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
            HASH_DEL(turns->by_agent, turn);
            free(turn);
        }
    }
}

void turns_release(struct turns *turns, struct agent_turn *turn)
{
    if (turn != NULL && --turn->users == 0 && HASH_COUNT(turns->by_agent) > TURNS_IDLE_AGENTS) {
        drop(turns, false);
    }
}

void turns_fini(struct turns *turns)
{
    drop(turns, true);
}

void turn_note_served(struct agent_turn *turn, int64_t when_ns)
{
    turn->served_ns = when_ns > turn->served_ns ? when_ns : turn->served_ns;
}

bool turn_is_before(const struct agent_turn *one, const struct agent_turn *other)
{
    if (one->executing != other->executing) {
        return one->executing < other->executing;
    }
    return one->served_ns < other->served_ns;
}
