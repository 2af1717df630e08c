// SPDX-License-Identifier: Apache-2.0
/* Further for tests of tools that run commands: tiers, this program as supervisor. */
#pragma once

#include "os/spawn/sandbox_trial.h"
#include "os/spawn/supervise.h"

#include "../tool_world.h"

#define SELF "/proc/self/exe"

/** Each test once without a sandbox and once in the namespace tier. */
#define ALSO_IN_TIER(tier, test)                                                           \
    TEST_ROW(tier##_##test, #tier ": " #test, test, command_world_set_up, world_tear_down, \
             (void *)(uintptr_t) #tier)
#define IN_TIER(tier, test)   \
    TEST_FUNCTION(test);      \
    ALSO_IN_TIER(tier, test); \
    TEST_FUNCTION(test)
#define BOTH_TIERS(test)      \
    TEST_FUNCTION(test);      \
    ALSO_IN_TIER(none, test); \
    IN_TIER(namespace, test)

static inline int command_world_set_up(void **state)
{
    const char *tier = *state;
    char reason[256];
    enum sandbox_tier number = SANDBOX_NONE;
    world_set_up(state);
    struct tool_world *world = *state;
    world->around.sandbox = tier;
    world->around.supervisor = SELF;
    world->around.allow_network = true;
    assert_true(sandbox_tier_from_name(tier, &number));
    if (!sandbox_is_available(number, reason)) {
        print_message("no %s here: %s\n", tier, reason);
        world->around.sandbox = NULL;
    }
    return 0;
}

/** Skip where the machine lacks the tier. */
static inline struct tool_world *world_in_tier(void **state)
{
    struct tool_world *world = *state;
    if (world->around.sandbox == NULL) {
        skip();
    }
    return world;
}

static inline bool is_namespace(const struct tool_world *world)
{
    return strcmp(world->around.sandbox, "namespace") == 0;
}

/** main() of such tests. */
static inline bool is_supervisor(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0;
}
