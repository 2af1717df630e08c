// SPDX-License-Identifier: Apache-2.0
/*
 * The gate: asked before each iteration (later also before each model and tool call) whether it may
 * happen. The engine only knows this interface; limits of a run are one implementation, Cedar
 * policies will be another. A gate that cannot decide denies.
 */
#pragma once

#include "loop/spec.h"
#include "rondo/types.h"

#include <stdbool.h>
#include <stdint.h>

/** What the runtime knows about the run, from its own journal only. */
struct gate_request {
    const char *run_id;
    const char *agent_id;
    uint64_t completed_iterations; /**< 0 before the first */
    int64_t elapsed_ns;
    int64_t tokens;
    int64_t cost_micro;
    uint64_t consecutive_failures;
    uint32_t conditions_met;
    uint32_t conditions_total;
};

/** The answer. Texts are cut to fit. */
struct gate_decision {
    bool is_allowed;
    enum rondo_status status; /**< when denied: the final status that follows */
    uint64_t iteration_limit; /**< in force now, for progress; 0 = none is known */
    char policy[128];         /**< id of the deciding policy or limit, when denied */
    char limit_name[64];      /**< "iterations", "tokens", "cost", "" */
    int64_t limit;
    int64_t value;     /**< what was measured against the limit */
    char message[256]; /**< for people */
};

struct gate {
    /** Decide. Must not block; called by the loop's thread, possibly by many loops at once. */
    void (*decide)(const struct gate *gate, const struct gate_request *request,
                   struct gate_decision *ret_decision);
    const void *context; /**< for the implementation */
};

/** The gate of a run's own limits. @param spec must outlive the gate */
struct gate gate_limits(const struct loop_spec *spec);
