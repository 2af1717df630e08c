// SPDX-License-Identifier: Apache-2.0
/*
 * Whose turn it is: agents whose runs wait take turns, so that one with many runs does not keep the
 * others waiting. The agent with the fewest runs being executed is first; of several, the one that
 * was served longest ago. Of one agent the run that has waited longest is first. No thread rule:
 * the owner of a table guards it.
 */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

/** Agents that nobody uses and that are remembered all the same. */
#define TURNS_IDLE_AGENTS 4096

/** An agent. */
struct agent_turn {
    char agent[LIMIT_AGENT_ID_LEN + 1];
    uint64_t executing; /**< of its runs */
    int64_t served_ns;  /**< when one of them began to be executed last; 0 = never */
    uint64_t users;     /**< that hold on to it */
    UT_hash_handle hh;
};

/** A table begins as NULL. */
struct turns {
    struct agent_turn *by_agent;
};

/** Find or make it, for one more user. */
struct agent_turn *turns_use(struct turns *turns, const char *agent);
/** One user less. NULL is allowed. */
void turns_release(struct turns *turns, struct agent_turn *turn);
/** Find or make it; it may go with the next release of another one. */
struct agent_turn *turns_of(struct turns *turns, const char *agent);
void turns_fini(struct turns *turns);

/** Note that a run of the agent began to be executed, here or elsewhere. */
void turn_note_served(struct agent_turn *turn, int64_t when_ns);
/** Whether the one is served before the other; false for equals. */
bool turn_is_before(const struct agent_turn *one, const struct agent_turn *other);
