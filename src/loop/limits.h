// SPDX-License-Identifier: Apache-2.0
/* Limits of a run that can be changed while it exists: commands, the API and letters carry them.
 * Any thread. */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct loop_spec;

/** Limits to be changed; 0 = as it is, -1 = no limit (of the run's options; policies stay). */
struct loop_limits {
    int64_t max_iterations;
    int64_t max_tokens;
    int64_t max_cost_micro;
    int64_t time_limit_ns;
};

/** Change the limits in options. @return whether one is different now */
bool loop_limits_apply(const struct loop_limits *limits, struct loop_spec *spec);

/** Whether there is a change, and one that a run can have: 0 or RONDO_ERR_INVALID. */
int loop_limits_check(const struct loop_limits *limits, struct rondo_error *err);
