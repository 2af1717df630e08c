// SPDX-License-Identifier: Apache-2.0
/* Evaluating expressions and policies for one request. Nothing here allocates but from an arena. */
#pragma once

#include "policy/cedar/ast.h"
#include "policy/cedar/entities.h"

/** One request being decided. */
struct evaluation {
    const struct cedar_request *request;
    struct arena *arena;                   /**< for values that a policy makes */
    const struct cedar_record *records[4]; /**< by enum request_variable: attributes; NULL = ask for
                                              the entity; the context's are always there */
    const struct cedar_entity
        *entities[3]; /**< by enum request_variable, once they were looked up */
    bool is_looked_up[3];
    const struct expression *failed; /**< after a failure: where, */
    enum cedar_kind got;             /**< and of which kind the wrong value was */
};

/** Begin with a request. */
void evaluation_begin(struct evaluation *evaluation, const struct cedar_request *request,
                      struct arena *arena);

/** The entity of a variable; NULL when it is not known. */
const struct cedar_entity *evaluation_entity(struct evaluation *evaluation,
                                             enum request_variable variable);

/** Kind of what is returned instead of a value. */
#define EVALUATE_FAILED ((enum cedar_kind)0x7f)

/** The value of an expression, or a failure. */
struct cedar_value evaluate(struct evaluation *evaluation, const struct expression *expression);

static inline bool evaluate_has_failed(struct cedar_value value)
{
    return value.kind == EVALUATE_FAILED;
}

static inline enum cedar_failure_code evaluate_failure(struct cedar_value value)
{
    return (enum cedar_failure_code)value.as.number;
}

/** Whether a policy's scope matches one variable of the request. */
bool evaluate_scope(struct evaluation *evaluation, const struct scope *scope,
                    enum request_variable variable);

enum policy_outcome {
    POLICY_NOT_SATISFIED,
    POLICY_SATISFIED,
    POLICY_FAILED, /**< see evaluation.failed */
};

enum policy_outcome evaluate_policy(struct evaluation *evaluation, const struct policy *policy,
                                    enum cedar_failure_code *ret_failure);

/** Whether a text matches a pattern as a whole. */
bool pattern_matches(const struct like_pattern *pattern, const struct cedar_text *text);
