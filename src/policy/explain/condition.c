// SPDX-License-Identifier: Apache-2.0
/* Explanations of conditions: the parts that decided, with the values of their operands. */
#include "base/buf.h"
#include "policy/cedar/policies.h"
#include "policy/explain/explain_internal.h"

#include <string.h>

/** A condition being explained. */
struct condition_walk {
    struct explain *explain;
    const struct policy_source *source;
    struct explain_term terms[EXPLAIN_TERMS];
    size_t count;
};

/** One part of it. */
struct operands {
    struct condition_walk *walk;
    bool wants_groups;
    struct explain_value values[EXPLAIN_VALUES];
    size_t count;
};

static const char *source_text(struct condition_walk *walk, const struct expression *expression)
{
    return explain_text(walk->explain, walk->source->text + expression->begin,
                        expression->end - expression->begin);
}

static enum explain_truth truth_of(struct cedar_value value)
{
    if (value.kind != CEDAR_BOOL) {
        return EXPLAIN_ERROR;
    }
    return value.as.truth ? EXPLAIN_TRUE : EXPLAIN_FALSE;
}

static const char *write_value(struct operands *operands, struct cedar_value value)
{
    if (evaluate_has_failed(value)) {
        return NULL;
    }
    auto_buf struct buf text = {0};
    if (value.kind == CEDAR_ENTITY && operands->wants_groups) {
        explain_write_entity(operands->walk->explain, cedar_as_uid(value), &text);
    } else {
        cedar_value_write(value, &text);
    }
    return explain_text(operands->walk->explain, text.data, text.len);
}

/** @return whether it has a value */
static bool add_value(struct operands *operands, const struct expression *expression)
{
    struct condition_walk *walk = operands->walk;
    struct cedar_value value = evaluate(&walk->explain->evaluation, expression);
    const char *text = source_text(walk, expression);
    for (size_t i = 0; i < operands->count; i++) {
        if (strcmp(operands->values[i].text, text) == 0) {
            return !evaluate_has_failed(value);
        }
    }
    if (operands->count < EXPLAIN_VALUES) {
        operands->values[operands->count++] =
            (struct explain_value){.text = text, .value = write_value(operands, value)};
    }
    return !evaluate_has_failed(value);
}

static void collect(struct operands *operands, const struct expression *expression)
{
    bool is_path = false;
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_VALUE:
        return; /* Its text says it. */
    case EXPRESSION_VARIABLE:
        if (expression->variable != VARIABLE_CONTEXT) { /* The whole context is too long. */
            add_value(operands, expression);
        }
        return;
    case EXPRESSION_ATTRIBUTE:
    case EXPRESSION_GET_TAG:
        is_path = true;
        break;
    case EXPRESSION_SET:
    case EXPRESSION_RECORD:
        break; /* Its members are enough. */
    case EXPRESSION_AND:
    case EXPRESSION_OR:
    case EXPRESSION_SUM:
    case EXPRESSION_PRODUCT:
    case EXPRESSION_NOT:
    case EXPRESSION_NEGATE:
    case EXPRESSION_IF:
    case EXPRESSION_EQUAL:
    case EXPRESSION_NOT_EQUAL:
    case EXPRESSION_LESS:
    case EXPRESSION_LESS_EQUAL:
    case EXPRESSION_GREATER:
    case EXPRESSION_GREATER_EQUAL:
    case EXPRESSION_IN:
    case EXPRESSION_CONTAINS:
    case EXPRESSION_CONTAINS_ALL:
    case EXPRESSION_CONTAINS_ANY:
    case EXPRESSION_HAS_TAG:
    case EXPRESSION_IS_EMPTY:
    case EXPRESSION_HAS:
    case EXPRESSION_LIKE:
    case EXPRESSION_IS:
    case EXPRESSION_CALL:
        add_value(operands, expression);
        break;
    }
    if (is_path && add_value(operands, expression)) {
        return;
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        collect(operands, expression->operands[i]);
    }
}

/** Copy what was collected after the term. */
static void keep_values(struct operands *operands, struct explain_term *term)
{
    struct explain_value *values =
        arena_new_array(&operands->walk->explain->arena, operands->count + 1, sizeof(*values));
    memcpy(values, operands->values, operands->count * sizeof(*values));
    term->values = values;
    term->value_count = operands->count;
}

/** Why a part is neither true nor false. */
static const char *describe(struct condition_walk *walk, const struct expression *expression,
                            struct cedar_value value)
{
    struct explain *explain = walk->explain;
    bool has_failed = evaluate_has_failed(value);
    struct cedar_failure failure = {
        .policy = explain->index,
        .code = has_failed ? evaluate_failure(value) : CEDAR_FAIL_TYPE,
        .got = has_failed ? explain->evaluation.got : value.kind,
        .expression = has_failed ? explain->evaluation.failed : expression,
    };
    char text[RONDO_ERROR_MESSAGE_SIZE];
    cedar_failure_describe(explain->policies, &failure, text, sizeof(text));
    return explain_text(explain, text, strlen(text));
}

static void add_term(struct condition_walk *walk, const struct expression *expression)
{
    if (walk->count == EXPLAIN_TERMS) {
        return;
    }
    struct cedar_value value = evaluate(&walk->explain->evaluation, expression);
    struct explain_term *term = &walk->terms[walk->count++];
    *term = (struct explain_term){
        .text = source_text(walk, expression),
        .truth = truth_of(value),
        .problem = "",
    };
    if (term->truth == EXPLAIN_ERROR) {
        term->problem = describe(walk, expression, value);
    }
    struct operands operands = {
        .walk = walk,
        .wants_groups = expression->kind == EXPRESSION_IN || expression->kind == EXPRESSION_IS,
    };
    bool is_plain = expression->kind == EXPRESSION_HAS && term->truth == EXPLAIN_TRUE;
    for (uint32_t i = 0; i < expression->count && !is_plain; i++) {
        collect(&operands, expression->operands[i]);
    }
    keep_values(&operands, term);
}

static void explain_expression(struct condition_walk *walk, const struct expression *expression);

/** Of `a && b` the first that is not true, else both; of `a || b` the first that is not false. */
static void explain_chain(struct condition_walk *walk, const struct expression *expression)
{
    bool decides = expression->kind == EXPRESSION_OR;
    for (uint32_t i = 0; i < expression->count; i++) {
        struct cedar_value value = evaluate(&walk->explain->evaluation, expression->operands[i]);
        if (value.kind != CEDAR_BOOL || value.as.truth == decides) {
            explain_expression(walk, expression->operands[i]);
            return;
        }
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        explain_expression(walk, expression->operands[i]);
    }
}

static void explain_if(struct condition_walk *walk, const struct expression *expression)
{
    const struct expression *const *operands = expression->operands;
    struct cedar_value guard = evaluate(&walk->explain->evaluation, operands[0]);
    explain_expression(walk, operands[0]);
    if (guard.kind == CEDAR_BOOL) {
        explain_expression(walk, operands[guard.as.truth ? 1 : 2]);
    }
}

static void explain_expression(struct condition_walk *walk, const struct expression *expression)
{
    bool is_not = expression->kind == EXPRESSION_NOT;
    if (expression->kind == EXPRESSION_AND || expression->kind == EXPRESSION_OR) {
        explain_chain(walk, expression);
    } else if (is_not) {
        explain_expression(walk, expression->operands[0]);
    } else if (expression->kind == EXPRESSION_IF) {
        explain_if(walk, expression);
    } else {
        add_term(walk, expression);
    }
}

static void explain_condition(struct explain *explain, const struct policy *policy,
                              const struct condition *condition,
                              struct explain_condition *ret_condition)
{
    struct condition_walk walk = {.explain = explain, .source = policy->source};
    explain_expression(&walk, condition->expression);
    struct explain_term *terms = arena_new_array(&explain->arena, walk.count + 1, sizeof(*terms));
    memcpy(terms, walk.terms, walk.count * sizeof(*terms));
    ret_condition->is_reached = true;
    ret_condition->truth = truth_of(evaluate(&explain->evaluation, condition->expression));
    ret_condition->terms = terms;
    ret_condition->term_count = walk.count;
}

void explain_conditions(struct explain *explain)
{
    const struct policy *policy = explain->policies->policies[explain->index];
    struct explain_condition *conditions =
        arena_new_array(&explain->arena, policy->condition_count + 1, sizeof(*conditions));
    bool is_reached = true;
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        const struct condition *condition = &policy->conditions[i];
        const struct expression *expression = condition->expression;
        conditions[i] = (struct explain_condition){
            .is_unless = condition->is_unless,
            .text = explain_text(explain, policy->source->text + expression->begin,
                                 expression->end - expression->begin),
        };
        if (!is_reached) {
            continue;
        }
        explain_condition(explain, policy, condition, &conditions[i]);
        enum explain_truth good = condition->is_unless ? EXPLAIN_FALSE : EXPLAIN_TRUE;
        is_reached = conditions[i].truth == good;
    }
    explain->policy.conditions = conditions;
    explain->policy.condition_count = policy->condition_count;
}
