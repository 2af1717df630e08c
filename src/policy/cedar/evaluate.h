// SPDX-License-Identifier: Apache-2.0
/* Evaluating expressions and policies for one request. Nothing here allocates but from an arena. */
#pragma once

#include "policy/cedar/ast.h"
#include "policy/cedar/entities.h"

/** One request being decided. */
struct evaluation {
    const struct cedar_request *request;
    struct arena *arena;                    /**< for values that a policy makes */
    const struct cedar_entity *entities[3]; /**< by enum variable; NULL = not known */
    const struct cedar_record *context;     /**< never NULL */
    const struct expression *failed;        /**< after a failure: where, */
    enum cedar_kind got;                    /**< and of which kind the wrong value was */
};

/** Look up the entities of the request. */
void evaluation_begin(struct evaluation *evaluation, const struct cedar_request *request,
                      struct arena *arena);

/** @return 0 with the value, or why there is none. */
enum cedar_failure_code evaluate(struct evaluation *evaluation, const struct expression *expression,
                                 struct cedar_value *ret_value);

/** Whether a policy's scope matches one variable of the request. */
bool evaluate_scope(const struct evaluation *evaluation, const struct scope *scope,
                    enum variable variable);

enum policy_outcome {
    POLICY_NOT_SATISFIED,
    POLICY_SATISFIED,
    POLICY_FAILED, /**< see evaluation.failed */
};

enum policy_outcome evaluate_policy(struct evaluation *evaluation, const struct policy *policy,
                                    enum cedar_failure_code *ret_failure);

/** Whether a text matches a pattern as a whole. */
bool pattern_matches(const struct pattern *pattern, const struct cedar_text *text);
