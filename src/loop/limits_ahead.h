// SPDX-License-Identifier: Apache-2.0
/* The limits ahead of a run, found in its policies as its gate does. Any thread. */
#pragma once

#include "loop/spec.h"
#include "policy/limit.h"

struct runtime;

struct limits_ahead {
    struct policy_limit limits[RUN_LIMIT_COUNT];
    char policies[RUN_LIMIT_COUNT][128]; /**< id of the policy that sets each, or "" */
};

/**
 * Find the limits that are ahead of a run now. Where it is denied already, those that it meets from
 * its start on.
 * @return 0, or why the policies cannot be used
 */
int limits_ahead_find(struct runtime *runtime, const struct loop_spec *spec, const char *run_id,
                      const struct run_state *state, struct limits_ahead *ret_ahead,
                      struct rondo_error *err);
