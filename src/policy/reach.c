// SPDX-License-Identifier: Apache-2.0
/* Reach of permits, by the lint's own reading of scopes. */
#include "policy/reach.h"

#include "policy/cedar/policies.h"
#include "policy/lint/check.h"

/** What is wrong with a scope is reported elsewhere. */
static void ignore(const struct lint_finding *finding, void *context)
{
    (void)finding;
    (void)context;
}

bool reach_is_permitted(const struct cedar_policies *policies, enum vocabulary_action action)
{
    for (uint32_t i = 0; i < policies->count; i++) {
        const struct policy *policy = policies->policies[i];
        struct lint lint = {.fn = ignore, .index = i, .policy = policy};
        if (!policy->is_forbid && (lint_scope(&lint) & VOCABULARY_ACTION_BIT(action)) != 0) {
            return true;
        }
    }
    return false;
}
