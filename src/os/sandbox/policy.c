// SPDX-License-Identifier: Apache-2.0
/* Names of the tiers. No state; any thread. */
#include "os/sandbox/policy.h"

#include <string.h>

static const char *const tier_names[SANDBOX_TIER_COUNT] = {
    [SANDBOX_NONE] = "none",
    [SANDBOX_LANDLOCK] = "landlock",
    [SANDBOX_NAMESPACE] = "namespace",
};

const char *sandbox_tier_name(enum sandbox_tier tier)
{
    return (unsigned)tier < SANDBOX_TIER_COUNT ? tier_names[tier] : "unknown";
}

bool sandbox_tier_from_name(const char *name, enum sandbox_tier *ret_tier)
{
    for (int i = 0; i < SANDBOX_TIER_COUNT; i++) {
        if (strcmp(tier_names[i], name) == 0) {
            *ret_tier = (enum sandbox_tier)i;
            return true;
        }
    }
    return false;
}
