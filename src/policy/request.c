// SPDX-License-Identifier: Apache-2.0
/* Requests to the policies. No state; any thread. */
#include "policy/request.h"

int64_t policy_request_value(const struct policy_request *request, enum run_limit counter)
{
    switch (counter) {
    case RUN_LIMIT_ITERATIONS:
        return request->iteration;
    case RUN_LIMIT_TOKENS:
        return request->tokens;
    case RUN_LIMIT_COST:
        return request->cost_micro;
    case RUN_LIMIT_TIME:
        return request->elapsed_ns;
    case RUN_LIMIT_COUNT:
        break;
    }
    return 0;
}

struct policy_request policy_request_at_start(const struct policy_request *request)
{
    struct policy_request start = *request;
    start.iteration = 0;
    start.elapsed_ns = 0;
    start.tokens = 0;
    start.cost_micro = 0;
    start.consecutive_failures = 0;
    return start;
}
