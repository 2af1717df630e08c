// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator: one function a kind of expression, small enough to need little of the stack.
 * Values are returned in two registers, and a failure travels up as a value of its own kind; where
 * it happened is kept in the evaluation and put into words only on request.
 *
 * What policies do most is to compare an attribute of a variable with a literal. Both kinds of
 * operand are taken without a call; whatever is unusual about them goes the long way.
 */
#include "policy/cedar/evaluate.h"

#include "policy/cedar/function.h"

#include <string.h>

static struct cedar_value failure(enum cedar_failure_code code)
{
    return cedar_number(EVALUATE_FAILED, code);
}

/**
 * What follows when the operands are not at hand is in functions of its own, so that a
 * comparison of what is at hand calls nothing and needs no stack.
 */
#define AT_LENGTH __attribute__((noinline))
/** Failing is rare, and must not make the ways on which nothing fails longer. */
#define RARE __attribute__((cold, noinline))

RARE static struct cedar_value fail(struct evaluation *evaluation,
                                    const struct expression *expression,
                                    enum cedar_failure_code code, enum cedar_kind got)
{
    evaluation->failed = expression;
    evaluation->got = got;
    return failure(code);
}

RARE static struct cedar_value wrong_type(struct evaluation *evaluation,
                                          const struct expression *expression,
                                          struct cedar_value value)
{
    /* What failed already keeps its own reason. */
    return evaluate_has_failed(value) ? value
                                      : fail(evaluation, expression, CEDAR_FAIL_TYPE, value.kind);
}

static const struct cedar_record no_fields = {0};

static const struct cedar_uid *requested(const struct cedar_request *request,
                                         enum request_variable variable)
{
    return variable == VARIABLE_PRINCIPAL ? request->principal
           : variable == VARIABLE_ACTION  ? request->action
                                          : request->resource;
}

const struct cedar_entity *evaluation_entity(struct evaluation *evaluation,
                                             enum request_variable variable)
{
    if (!evaluation->is_looked_up[variable]) {
        const struct cedar_entity *entity = cedar_entities_find(
            evaluation->request->entities, requested(evaluation->request, variable));
        evaluation->is_looked_up[variable] = true;
        evaluation->entities[variable] = entity;
        evaluation->records[variable] = entity == NULL ? &no_fields : entity->attributes;
    }
    return evaluation->entities[variable];
}

/** Looked up at the first use: many policies look at no entity. */
AT_LENGTH static const struct cedar_record *entity_attributes(struct evaluation *evaluation,
                                                              enum request_variable variable)
{
    evaluation_entity(evaluation, variable);
    return evaluation->records[variable];
}

/** Attribute names[0] of a variable. @return NULL: not there, or not to be found so simply */
static inline const struct cedar_value *variable_attribute(struct evaluation *evaluation,
                                                           const struct expression *expression)
{
    const struct cedar_record *record = evaluation->records[expression->variable];
    if (record == NULL) {
        record = entity_attributes(evaluation, expression->variable);
    }
    return record->slots == NULL
               ? NULL
               : cedar_record_look_up(record, expression->name_hash, expression->names[0]);
}

/** The value of a literal or of a variable's attribute. @return NULL: it has to be computed */
static inline const struct cedar_value *at_hand(struct evaluation *evaluation,
                                                const struct expression *expression)
{
    if (expression->kind == EXPRESSION_VALUE) {
        return &expression->value;
    }
    return expression->kind == EXPRESSION_ATTRIBUTE && expression->is_of_variable
               ? variable_attribute(evaluation, expression)
               : NULL;
}

static inline struct cedar_value operand(struct evaluation *evaluation,
                                         const struct expression *expression, uint32_t i)
{
    const struct expression *of = expression->operands[i];
    const struct cedar_value *value = at_hand(evaluation, of);
    return value != NULL ? *value : evaluate(evaluation, of);
}

/** Both operands of an operator; when one failed, `*ret_b` is the failure. */
static void operands(struct evaluation *evaluation, const struct expression *expression,
                     struct cedar_value *ret_a, struct cedar_value *ret_b)
{
    *ret_a = operand(evaluation, expression, 0);
    *ret_b = evaluate_has_failed(*ret_a) ? *ret_a : operand(evaluation, expression, 1);
}

static struct cedar_value evaluate_value(struct evaluation *evaluation,
                                         const struct expression *expression)
{
    (void)evaluation;
    return expression->value;
}

static struct cedar_value variable_value(const struct evaluation *evaluation,
                                         enum request_variable variable)
{
    const struct cedar_request *request = evaluation->request;
    switch (variable) {
    case VARIABLE_PRINCIPAL:
        return cedar_object(CEDAR_ENTITY, request->principal);
    case VARIABLE_ACTION:
        return cedar_object(CEDAR_ENTITY, request->action);
    case VARIABLE_RESOURCE:
        return cedar_object(CEDAR_ENTITY, request->resource);
    case VARIABLE_CONTEXT:
        break;
    }
    return cedar_object(CEDAR_RECORD, evaluation->records[VARIABLE_CONTEXT]);
}

static struct cedar_value evaluate_variable(struct evaluation *evaluation,
                                            const struct expression *expression)
{
    return variable_value(evaluation, expression->variable);
}

static const struct cedar_entity *find_entity(struct evaluation *evaluation,
                                              const struct cedar_uid *uid)
{
    const struct cedar_request *request = evaluation->request;
    if (uid == request->principal) {
        return evaluation_entity(evaluation, VARIABLE_PRINCIPAL);
    }
    if (uid == request->resource) {
        return evaluation_entity(evaluation, VARIABLE_RESOURCE);
    }
    if (uid == request->action) {
        return evaluation_entity(evaluation, VARIABLE_ACTION);
    }
    return cedar_entities_find(request->entities, uid);
}

static bool is_in(struct evaluation *evaluation, const struct cedar_uid *uid,
                  const struct cedar_uid *ancestor)
{
    if (cedar_uid_equals(uid, ancestor)) {
        return true;
    }
    const struct cedar_entity *entity = find_entity(evaluation, uid);
    return entity != NULL && cedar_entity_has_ancestor(entity, ancestor);
}

/** `&&` and `||`. @param decides the truth that makes looking further needless */
static inline struct cedar_value evaluate_chain(struct evaluation *evaluation,
                                                const struct expression *expression, bool decides)
{
    for (uint32_t i = 0; i < expression->count; i++) {
        struct cedar_value value = operand(evaluation, expression, i);
        if (value.kind != CEDAR_BOOL) {
            return wrong_type(evaluation, expression->operands[i], value);
        }
        if (value.as.truth == decides) {
            return value;
        }
    }
    return cedar_bool(!decides);
}

static struct cedar_value evaluate_and(struct evaluation *evaluation,
                                       const struct expression *expression)
{
    return evaluate_chain(evaluation, expression, false);
}

static struct cedar_value evaluate_or(struct evaluation *evaluation,
                                      const struct expression *expression)
{
    return evaluate_chain(evaluation, expression, true);
}

static bool add_up(const struct expression *expression, uint32_t i, int64_t a, int64_t b,
                   int64_t *ret_number)
{
    if (expression->kind == EXPRESSION_PRODUCT) {
        return __builtin_mul_overflow(a, b, ret_number);
    }
    return expression->is_minus[i] ? __builtin_sub_overflow(a, b, ret_number)
                                   : __builtin_add_overflow(a, b, ret_number);
}

/** `a + b - c`, `a * b * c`: from the left, as written. */
static struct cedar_value evaluate_arithmetic(struct evaluation *evaluation,
                                              const struct expression *expression)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < expression->count; i++) {
        struct cedar_value value = operand(evaluation, expression, i);
        if (value.kind != CEDAR_LONG) {
            return wrong_type(evaluation, expression->operands[i], value);
        }
        if (i == 0) {
            sum = value.as.number;
        } else if (add_up(expression, i, sum, value.as.number, &sum)) {
            return fail(evaluation, expression, CEDAR_FAIL_OVERFLOW, CEDAR_LONG);
        }
    }
    return cedar_long(sum);
}

static struct cedar_value evaluate_not(struct evaluation *evaluation,
                                       const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    return value.kind == CEDAR_BOOL ? cedar_bool(!value.as.truth)
                                    : wrong_type(evaluation, expression->operands[0], value);
}

static struct cedar_value evaluate_negate(struct evaluation *evaluation,
                                          const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    if (value.kind != CEDAR_LONG) {
        return wrong_type(evaluation, expression->operands[0], value);
    }
    if (value.as.number == INT64_MIN) {
        return fail(evaluation, expression, CEDAR_FAIL_OVERFLOW, CEDAR_LONG);
    }
    return cedar_long(-value.as.number);
}

static struct cedar_value evaluate_if(struct evaluation *evaluation,
                                      const struct expression *expression)
{
    struct cedar_value guard = operand(evaluation, expression, 0);
    if (guard.kind != CEDAR_BOOL) {
        return wrong_type(evaluation, expression->operands[0], guard);
    }
    return operand(evaluation, expression, guard.as.truth ? 1 : 2);
}

static bool is_ordered(enum cedar_kind kind)
{
    return kind == CEDAR_LONG || kind == CEDAR_DATETIME || kind == CEDAR_DURATION;
}

static bool is_order_true(uint8_t kind, int64_t a, int64_t b)
{
    return kind == EXPRESSION_LESS         ? a < b
           : kind == EXPRESSION_LESS_EQUAL ? a <= b
           : kind == EXPRESSION_GREATER    ? a > b
                                           : a >= b;
}

AT_LENGTH static struct cedar_value equal_at_length(struct evaluation *evaluation,
                                                    const struct expression *expression)
{
    struct cedar_value a;
    struct cedar_value b;
    operands(evaluation, expression, &a, &b);
    bool is_equal_wanted = expression->kind == EXPRESSION_EQUAL;
    return evaluate_has_failed(b) ? b : cedar_bool(cedar_value_equals(a, b) == is_equal_wanted);
}

static struct cedar_value evaluate_equal(struct evaluation *evaluation,
                                         const struct expression *expression)
{
    const struct cedar_value *a = at_hand(evaluation, expression->operands[0]);
    const struct cedar_value *b = at_hand(evaluation, expression->operands[1]);
    bool is_equal_wanted = expression->kind == EXPRESSION_EQUAL;
    return a != NULL && b != NULL ? cedar_bool(cedar_value_equals(*a, *b) == is_equal_wanted)
                                  : equal_at_length(evaluation, expression);
}

AT_LENGTH static struct cedar_value order_at_length(struct evaluation *evaluation,
                                                    const struct expression *expression)
{
    struct cedar_value a;
    struct cedar_value b;
    operands(evaluation, expression, &a, &b);
    if (evaluate_has_failed(b)) {
        return b;
    }
    if (!is_ordered(a.kind)) {
        return wrong_type(evaluation, expression->operands[0], a);
    }
    return a.kind == b.kind ? cedar_bool(is_order_true(expression->kind, a.as.number, b.as.number))
                            : wrong_type(evaluation, expression->operands[1], b);
}

static struct cedar_value evaluate_order(struct evaluation *evaluation,
                                         const struct expression *expression)
{
    const struct cedar_value *a = at_hand(evaluation, expression->operands[0]);
    const struct cedar_value *b = at_hand(evaluation, expression->operands[1]);
    return a != NULL && b != NULL && a->kind == b->kind && is_ordered(a->kind)
               ? cedar_bool(is_order_true(expression->kind, a->as.number, b->as.number))
               : order_at_length(evaluation, expression);
}

/** `a in b`, where `a` is known to be an entity. */
static struct cedar_value in_any(struct evaluation *evaluation, const struct expression *ancestors,
                                 struct cedar_value a, struct cedar_value b)
{
    const struct cedar_uid *uid = cedar_as_uid(a);
    if (b.kind == CEDAR_ENTITY) {
        return cedar_bool(is_in(evaluation, uid, cedar_as_uid(b)));
    }
    if (b.kind != CEDAR_SET) {
        return wrong_type(evaluation, ancestors, b);
    }
    const struct cedar_set *set = cedar_as_set(b);
    bool truth = false;
    for (size_t i = 0; i < set->count; i++) {
        if (set->values[i].kind != CEDAR_ENTITY) {
            return wrong_type(evaluation, ancestors, set->values[i]);
        }
        truth = truth || is_in(evaluation, uid, cedar_as_uid(set->values[i]));
    }
    return cedar_bool(truth);
}

static struct cedar_value evaluate_in(struct evaluation *evaluation,
                                      const struct expression *expression)
{
    struct cedar_value a;
    struct cedar_value b;
    operands(evaluation, expression, &a, &b);
    if (evaluate_has_failed(b)) {
        return b;
    }
    return a.kind == CEDAR_ENTITY ? in_any(evaluation, expression->operands[1], a, b)
                                  : wrong_type(evaluation, expression->operands[0], a);
}

static bool contains_all(const struct cedar_set *set, const struct cedar_set *members)
{
    for (size_t i = 0; i < members->count; i++) {
        if (!cedar_set_contains(set, members->values[i])) {
            return false;
        }
    }
    return true;
}

static bool contains_any(const struct cedar_set *set, const struct cedar_set *members)
{
    for (size_t i = 0; i < members->count; i++) {
        if (cedar_set_contains(set, members->values[i])) {
            return true;
        }
    }
    return false;
}

static struct cedar_value evaluate_contains(struct evaluation *evaluation,
                                            const struct expression *expression)
{
    struct cedar_value a;
    struct cedar_value b;
    operands(evaluation, expression, &a, &b);
    if (evaluate_has_failed(b)) {
        return b;
    }
    if (a.kind != CEDAR_SET) {
        return wrong_type(evaluation, expression->operands[0], a);
    }
    if (expression->kind == EXPRESSION_CONTAINS) {
        return cedar_bool(cedar_set_contains(cedar_as_set(a), b));
    }
    if (b.kind != CEDAR_SET) {
        return wrong_type(evaluation, expression->operands[1], b);
    }
    return cedar_bool(expression->kind == EXPRESSION_CONTAINS_ALL
                          ? contains_all(cedar_as_set(a), cedar_as_set(b))
                          : contains_any(cedar_as_set(a), cedar_as_set(b)));
}

static struct cedar_value evaluate_tag(struct evaluation *evaluation,
                                       const struct expression *expression)
{
    struct cedar_value a;
    struct cedar_value b;
    operands(evaluation, expression, &a, &b);
    if (evaluate_has_failed(b)) {
        return b;
    }
    if (a.kind != CEDAR_ENTITY) {
        return wrong_type(evaluation, expression->operands[0], a);
    }
    if (b.kind != CEDAR_STRING) {
        return wrong_type(evaluation, expression->operands[1], b);
    }
    const struct cedar_entity *entity = find_entity(evaluation, cedar_as_uid(a));
    const struct cedar_value *tag =
        entity == NULL ? NULL : cedar_record_get(entity->tags, cedar_as_text(b));
    if (expression->kind == EXPRESSION_HAS_TAG) {
        return cedar_bool(tag != NULL);
    }
    if (tag == NULL) {
        return fail(evaluation, expression,
                    entity == NULL ? CEDAR_FAIL_NO_ENTITY : CEDAR_FAIL_NO_TAG, a.kind);
    }
    return *tag;
}

static struct cedar_value evaluate_is_empty(struct evaluation *evaluation,
                                            const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    return value.kind == CEDAR_SET ? cedar_bool(cedar_as_set(value)->count == 0)
                                   : wrong_type(evaluation, expression->operands[0], value);
}

/** The fields of a record or an entity. @return false: none; `*ret_code` says why */
static inline bool fields_of(struct evaluation *evaluation, struct cedar_value value,
                             const struct cedar_record **ret_record,
                             enum cedar_failure_code *ret_code)
{
    if (value.kind == CEDAR_RECORD) {
        *ret_record = cedar_as_record(value);
        return true;
    }
    if (value.kind == CEDAR_ENTITY) {
        const struct cedar_entity *entity = find_entity(evaluation, cedar_as_uid(value));
        *ret_code = CEDAR_FAIL_NO_ENTITY;
        *ret_record = entity == NULL ? NULL : entity->attributes;
        return entity != NULL;
    }
    *ret_code = CEDAR_FAIL_TYPE;
    return false;
}

AT_LENGTH static struct cedar_value attribute_at_length(struct evaluation *evaluation,
                                                        const struct expression *expression)
{
    const struct expression *of = expression->operands[0];
    struct cedar_value value = operand(evaluation, expression, 0);
    const struct cedar_record *record = NULL;
    enum cedar_failure_code code = CEDAR_FAIL_TYPE;
    if (!fields_of(evaluation, value, &record, &code)) {
        return code == CEDAR_FAIL_TYPE ? wrong_type(evaluation, of, value)
                                       : fail(evaluation, expression, code, value.kind);
    }
    const struct cedar_value *field = cedar_record_get(record, expression->names[0]);
    return field == NULL ? fail(evaluation, expression, CEDAR_FAIL_NO_ATTRIBUTE, value.kind)
                         : *field;
}

static struct cedar_value evaluate_attribute(struct evaluation *evaluation,
                                             const struct expression *expression)
{
    const struct cedar_value *value = at_hand(evaluation, expression);
    return value != NULL ? *value : attribute_at_length(evaluation, expression);
}

AT_LENGTH static struct cedar_value has_at_length(struct evaluation *evaluation,
                                                  const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    for (uint32_t i = 0; i < expression->name_count; i++) {
        const struct cedar_record *record = NULL;
        enum cedar_failure_code code = CEDAR_FAIL_TYPE;
        if (!fields_of(evaluation, value, &record, &code)) {
            /* An unknown entity has no attributes. */
            return code == CEDAR_FAIL_TYPE ? wrong_type(evaluation, expression, value)
                                           : cedar_bool(false);
        }
        const struct cedar_value *field = cedar_record_get(record, expression->names[i]);
        if (field == NULL) {
            return cedar_bool(false);
        }
        value = *field;
    }
    return cedar_bool(true);
}

static struct cedar_value evaluate_has(struct evaluation *evaluation,
                                       const struct expression *expression)
{
    return expression->is_of_variable && variable_attribute(evaluation, expression) != NULL
               ? cedar_bool(true)
               : has_at_length(evaluation, expression);
}

static struct cedar_value evaluate_like(struct evaluation *evaluation,
                                        const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    return value.kind == CEDAR_STRING
               ? cedar_bool(pattern_matches(&expression->pattern, cedar_as_text(value)))
               : wrong_type(evaluation, expression->operands[0], value);
}

static struct cedar_value evaluate_is(struct evaluation *evaluation,
                                      const struct expression *expression)
{
    struct cedar_value value = operand(evaluation, expression, 0);
    if (value.kind != CEDAR_ENTITY) {
        return wrong_type(evaluation, expression->operands[0], value);
    }
    bool is_type = cedar_text_equals(cedar_as_uid(value)->type, expression->names[0]);
    if (expression->count == 1 || !is_type) {
        return cedar_bool(is_type);
    }
    struct cedar_value ancestors = operand(evaluation, expression, 1);
    return in_any(evaluation, expression->operands[1], value, ancestors);
}

AT_LENGTH static struct cedar_value call_function(struct evaluation *evaluation,
                                                  const struct expression *expression)
{
    struct cedar_value few[2];
    struct cedar_value *values = few;
    if (expression->count > 2) {
        values = arena_new_array(evaluation->arena, expression->count, sizeof(*values));
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        values[i] = operand(evaluation, expression, i);
        if (evaluate_has_failed(values[i])) {
            return values[i];
        }
    }
    struct cedar_value result = {0};
    enum cedar_failure_code code = cedar_function_call(
        expression->function, values, expression->count, evaluation->arena, &result);
    return code == 0 ? result : fail(evaluation, expression, code, result.kind);
}

/** Costs are decimals, and compared before every step: that needs no call of a function. */
static struct cedar_value evaluate_call(struct evaluation *evaluation,
                                        const struct expression *expression)
{
    if (expression->order == 0) {
        return call_function(evaluation, expression);
    }
    const struct cedar_value *a = at_hand(evaluation, expression->operands[0]);
    const struct cedar_value *b = at_hand(evaluation, expression->operands[1]);
    return a != NULL && b != NULL && a->kind == CEDAR_DECIMAL && b->kind == CEDAR_DECIMAL
               ? cedar_bool(is_order_true(expression->order, a->as.number, b->as.number))
               : call_function(evaluation, expression);
}

static struct cedar_value evaluate_set(struct evaluation *evaluation,
                                       const struct expression *expression)
{
    struct cedar_value *values =
        arena_new_array(evaluation->arena, expression->count + 1, sizeof(*values));
    for (uint32_t i = 0; i < expression->count; i++) {
        values[i] = operand(evaluation, expression, i);
        if (evaluate_has_failed(values[i])) {
            return values[i];
        }
    }
    return cedar_object(CEDAR_SET, cedar_set_make(evaluation->arena, values, expression->count));
}

static struct cedar_value evaluate_record(struct evaluation *evaluation,
                                          const struct expression *expression)
{
    struct cedar_field *fields =
        arena_new_array(evaluation->arena, expression->count + 1, sizeof(*fields));
    for (uint32_t i = 0; i < expression->count; i++) {
        fields[i].name = expression->names[i];
        fields[i].value = operand(evaluation, expression, i);
        if (evaluate_has_failed(fields[i].value)) {
            return fields[i].value;
        }
    }
    /* The parser has refused names that occur twice. */
    return cedar_object(CEDAR_RECORD,
                        cedar_record_make(evaluation->arena, fields, expression->count));
}

typedef struct cedar_value evaluate_fn(struct evaluation *evaluation,
                                       const struct expression *expression);

static evaluate_fn *const functions[] = {
    [EXPRESSION_VALUE] = evaluate_value,
    [EXPRESSION_VARIABLE] = evaluate_variable,
    [EXPRESSION_AND] = evaluate_and,
    [EXPRESSION_OR] = evaluate_or,
    [EXPRESSION_SUM] = evaluate_arithmetic,
    [EXPRESSION_PRODUCT] = evaluate_arithmetic,
    [EXPRESSION_NOT] = evaluate_not,
    [EXPRESSION_NEGATE] = evaluate_negate,
    [EXPRESSION_IF] = evaluate_if,
    [EXPRESSION_EQUAL] = evaluate_equal,
    [EXPRESSION_NOT_EQUAL] = evaluate_equal,
    [EXPRESSION_LESS] = evaluate_order,
    [EXPRESSION_LESS_EQUAL] = evaluate_order,
    [EXPRESSION_GREATER] = evaluate_order,
    [EXPRESSION_GREATER_EQUAL] = evaluate_order,
    [EXPRESSION_IN] = evaluate_in,
    [EXPRESSION_CONTAINS] = evaluate_contains,
    [EXPRESSION_CONTAINS_ALL] = evaluate_contains,
    [EXPRESSION_CONTAINS_ANY] = evaluate_contains,
    [EXPRESSION_HAS_TAG] = evaluate_tag,
    [EXPRESSION_GET_TAG] = evaluate_tag,
    [EXPRESSION_IS_EMPTY] = evaluate_is_empty,
    [EXPRESSION_ATTRIBUTE] = evaluate_attribute,
    [EXPRESSION_HAS] = evaluate_has,
    [EXPRESSION_LIKE] = evaluate_like,
    [EXPRESSION_IS] = evaluate_is,
    [EXPRESSION_CALL] = evaluate_call,
    [EXPRESSION_SET] = evaluate_set,
    [EXPRESSION_RECORD] = evaluate_record,
};

struct cedar_value evaluate(struct evaluation *evaluation, const struct expression *expression)
{
    return functions[expression->kind](evaluation, expression);
}

void evaluation_begin(struct evaluation *evaluation, const struct cedar_request *request,
                      struct arena *arena)
{
    /* One by one: clearing the whole costs more than a small policy. */
    evaluation->request = request;
    evaluation->arena = arena;
    for (enum request_variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        evaluation->records[i] = NULL;
        evaluation->is_looked_up[i] = false;
    }
    evaluation->records[VARIABLE_CONTEXT] =
        request->context == NULL ? &no_fields : &request->context->record;
    evaluation->failed = NULL;
}

bool evaluate_scope(struct evaluation *evaluation, const struct scope *scope,
                    enum request_variable variable)
{
    const struct cedar_uid *uid = requested(evaluation->request, variable);
    switch (scope->kind) {
    case SCOPE_ANY:
        return true;
    case SCOPE_EQUAL:
        return cedar_uid_equals(uid, scope->uids[0]);
    case SCOPE_IS:
        if (!cedar_text_equals(uid->type, scope->type)) {
            return false;
        }
        return scope->count == 0 || is_in(evaluation, uid, scope->uids[0]);
    case SCOPE_IN:
        for (uint32_t i = 0; i < scope->count; i++) {
            if (is_in(evaluation, uid, scope->uids[i])) {
                return true;
            }
        }
        return false;
    }
    return false;
}

/** evaluate_scope without a call for the two kinds that are most common. */
static inline bool is_in_scope(struct evaluation *evaluation, const struct policy *policy,
                               enum request_variable variable)
{
    const struct scope *scope = &policy->scopes[variable];
    if (scope->kind == SCOPE_ANY) {
        return true;
    }
    if (scope->kind == SCOPE_EQUAL) {
        return cedar_uid_equals(requested(evaluation->request, variable), scope->uids[0]);
    }
    return evaluate_scope(evaluation, scope, variable);
}

enum policy_outcome evaluate_policy(struct evaluation *evaluation, const struct policy *policy,
                                    enum cedar_failure_code *ret_failure)
{
    if (!is_in_scope(evaluation, policy, VARIABLE_ACTION) ||
        !is_in_scope(evaluation, policy, VARIABLE_RESOURCE) ||
        !is_in_scope(evaluation, policy, VARIABLE_PRINCIPAL)) {
        return POLICY_NOT_SATISFIED;
    }
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        const struct expression *expression = policy->conditions[i].expression;
        struct cedar_value value = evaluate(evaluation, expression);
        if (value.kind != CEDAR_BOOL) {
            *ret_failure = evaluate_failure(wrong_type(evaluation, expression, value));
            return POLICY_FAILED;
        }
        if (value.as.truth == policy->conditions[i].is_unless) {
            return POLICY_NOT_SATISFIED;
        }
    }
    return POLICY_SATISFIED;
}

static bool starts_with(const char *text, size_t len, const struct cedar_text *start)
{
    return len >= start->len && memcmp(text, start->bytes, start->len) == 0;
}

bool pattern_matches(const struct like_pattern *pattern, const struct cedar_text *text)
{
    const struct cedar_text *first = pattern->texts[0];
    const struct cedar_text *last = pattern->texts[pattern->count - 1];
    if (pattern->count == 1) {
        return cedar_text_equals(first, text);
    }
    if (!starts_with(text->bytes, text->len, first) || text->len - first->len < last->len ||
        memcmp(text->bytes + text->len - last->len, last->bytes, last->len) != 0) {
        return false;
    }
    const char *at = text->bytes + first->len;
    size_t left = text->len - first->len - last->len;
    /* Bytes will do: no character's bytes occur inside another's. The first place is the best. */
    for (size_t i = 1; i + 1 < pattern->count; i++) {
        const struct cedar_text *part = pattern->texts[i];
        const char *found = part->len == 0 ? at : memmem(at, left, part->bytes, part->len);
        if (found == NULL) {
            return false;
        }
        left -= (size_t)(found - at) + part->len;
        at = found + part->len;
    }
    return true;
}
