// SPDX-License-Identifier: Apache-2.0
/* Changing limits in the options of a run. */
#include "loop/limits.h"

#include "base/error.h"
#include "loop/spec.h"

/** A number that may be left as it is (0) or taken away (-1). */
static bool change_limit(int64_t *limit, int64_t wanted)
{
    int64_t former = *limit;
    *limit = wanted == 0 ? former : wanted < 0 ? 0 : wanted;
    return *limit != former;
}

bool loop_limits_apply(const struct loop_limits *limits, struct loop_spec *spec)
{
    bool is_changed = change_limit(&spec->max_iterations, limits->max_iterations);
    is_changed = change_limit(&spec->max_tokens, limits->max_tokens) || is_changed;
    is_changed = change_limit(&spec->max_cost_micro, limits->max_cost_micro) || is_changed;
    return change_limit(&spec->time_limit_ns, limits->time_limit_ns) || is_changed;
}

int loop_limits_check(const struct loop_limits *limits, struct rondo_error *err)
{
    const int64_t wanted[] = {limits->max_iterations, limits->max_tokens, limits->max_cost_micro,
                              limits->time_limit_ns};
    bool is_any = false;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (wanted[i] < -1) {
            return error_set(err, RONDO_ERR_INVALID, "a limit must not be negative");
        }
        is_any = is_any || wanted[i] != 0;
    }
    if (!is_any) {
        return error_set(err, RONDO_ERR_INVALID, "no limit is given");
    }
    char plain[] = "x";
    char root[] = "/";
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = plain;
    spec.kind = plain;
    spec.workspace = root;
    loop_limits_apply(limits, &spec);
    return loop_spec_check(&spec, err);
}
