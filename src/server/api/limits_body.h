// SPDX-License-Identifier: Apache-2.0
/* The object Limits of requests: max_iterations, max_tokens, max_cost, time_limit_ns. */
#pragma once

#include "loop/control/control.h"
#include "server/call.h"

#define LIMITS_MEMBERS "max_iterations,max_tokens,max_cost,time_limit_ns"

/**
 * Read the members of an object; null is no limit, what is absent stays.
 * @param object   NULL = nothing changes
 * @param ret_is_any whether anything changes
 * @return false: the answer is a problem
 */
bool limits_body_read(struct call *call, struct json_object *object, const char *path,
                      struct loop_limits *ret_limits, bool *ret_is_any);
