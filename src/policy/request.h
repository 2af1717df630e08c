// SPDX-License-Identifier: Apache-2.0
/*
 * What policies are asked: may this run take this step, in this situation? One form, from the
 * requesting loop to the deciding engine. The run changes seldom, so its entities are made of it
 * once (policy/subject.h); the request is new for each step.
 */
#pragma once

#include "journal/state.h"
#include "policy/vocabulary/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A model or tool that the run may use: an entity with the attributes of the vocabulary. */
struct policy_resource {
    enum vocabulary_action action; /**< ACTION_CALL_MODEL or ACTION_CALL_TOOL */
    const char *id;
    const char *origin;      /**< of a model its provider, of a tool its server; "" = built in */
    bool is_read_only;       /**< of a tool: it is declared to change nothing */
    bool needs_confirmation; /**< of a tool: the role wants a person's approval of each call */
};

/** The principal. */
struct policy_run {
    const char *agent_id;
    const char *run_id;
    const char *kind;       /**< "command", "library", "role" */
    const char *workspace;  /**< absolute path */
    int64_t max_iterations; /**< 0 = not given, as for the next ones */
    int64_t max_tokens;
    int64_t max_cost_micro;
    int64_t max_elapsed_ns;
    const struct policy_resource *resources; /**< NULL = none */
    size_t resource_count;
};

/** A step that the run is about to take, and what the runtime knows, from the run's own journal. */
struct policy_request {
    enum vocabulary_action action;
    const char *resource;  /**< id of the tool, model or memory; NULL = the run itself */
    const char *condition; /**< ACTION_VERIFY: name of the exit condition */
    const char *input;     /**< ACTION_CALL_TOOL: canonical arguments, a JSON object; NULL = {};
                                ACTION_REMEMBER and ACTION_RECALL: {"kind":...,"category":...},
                                NULL = a general fact */
    const char *raw;       /**< the same as the agent wrote them; NULL = as `input` */
    bool is_approved;      /**< a person has approved this very step */
    int64_t iteration;     /**< completed ones */
    int64_t elapsed_ns;
    int64_t tokens;
    int64_t cost_micro;
    int64_t consecutive_failures;
    int64_t conditions_met;
    int64_t conditions_total;
    int64_t now_ns; /**< wall clock */
};

/** What a request says of a limit's counter: iterations, tokens, millionths or nanoseconds. */
int64_t policy_request_value(const struct policy_request *request, enum run_limit counter);

/** The same request at the start of the run, when nothing was used up. */
struct policy_request policy_request_at_start(const struct policy_request *request);
