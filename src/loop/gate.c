// SPDX-License-Identifier: Apache-2.0
/* Limits of a run as a gate: one table of limits. Pure; any thread. */
#include "loop/gate.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct limit {
    const char *name;
    const char *policy;
    const char *option;
    enum rondo_status status;
    size_t limit_offset;
    size_t value_offset;
    int64_t unit; /* divisor for showing the figures */
} limits[] = {
    {"iterations", "limit.iterations", "--max-iterations", RONDO_MAX_ITERATIONS,
     offsetof(struct loop_spec, max_iterations),
     offsetof(struct gate_request, completed_iterations), 1},
    {"tokens", "limit.tokens", "--max-tokens", RONDO_BUDGET_EXCEEDED,
     offsetof(struct loop_spec, max_tokens), offsetof(struct gate_request, tokens), 1},
    {"cost", "limit.cost", "--max-cost", RONDO_BUDGET_EXCEEDED,
     offsetof(struct loop_spec, max_cost_micro), offsetof(struct gate_request, cost_micro),
     1000000},
};

static int64_t number_at(const void *base, size_t offset)
{
    int64_t number;
    memcpy(&number, (const char *)base + offset, sizeof(number));
    return number;
}

static void deny(const struct limit *limit, int64_t allowed, int64_t value,
                 struct gate_decision *decision)
{
    decision->is_allowed = false;
    decision->status = limit->status;
    decision->limit = allowed;
    decision->value = value;
    snprintf(decision->policy, sizeof(decision->policy), "%s", limit->policy);
    snprintf(decision->limit_name, sizeof(decision->limit_name), "%s", limit->name);
    if (limit->unit == 1) {
        snprintf(decision->message, sizeof(decision->message),
                 "the limit of %" PRId64 " %s is used up (%" PRId64 " so far); raise it with %s",
                 allowed, limit->name, value, limit->option);
    } else {
        snprintf(decision->message, sizeof(decision->message),
                 "the %s limit of %.6g is used up (%.6g so far); raise it with %s", limit->name,
                 (double)allowed / (double)limit->unit, (double)value / (double)limit->unit,
                 limit->option);
    }
}

static void decide_by_limits(const struct gate *gate, const struct gate_request *request,
                             struct gate_decision *ret_decision)
{
    const struct loop_spec *spec = gate->context;
    *ret_decision = (struct gate_decision){
        .is_allowed = true,
        .iteration_limit = (uint64_t)spec->max_iterations,
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        int64_t allowed = number_at(spec, limits[i].limit_offset);
        int64_t value = number_at(request, limits[i].value_offset);
        if (allowed > 0 && value >= allowed) {
            deny(&limits[i], allowed, value, ret_decision);
            return;
        }
    }
}

struct gate gate_limits(const struct loop_spec *spec)
{
    return (struct gate){.decide = decide_by_limits, .context = spec};
}
