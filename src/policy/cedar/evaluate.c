// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator: one function a kind of expression. Values are returned in two registers, and a
 * failure travels up as a value of its own kind; where it happened is kept in the evaluation and
 * put into words only when somebody asks.
 */
#include "policy/cedar/evaluate.h"

#include "policy/cedar/function.h"

#include <string.h>

static struct cedar_value failure(enum cedar_failure_code code)
{
    return cedar_number(EVALUATE_FAILED, code);
}

static struct cedar_value fail(struct evaluation *evaluation, const struct expression *expression,
                               enum cedar_failure_code code, enum cedar_kind got)
{
    evaluation->failed = expression;
    evaluation->got = got;
    return failure(code);
}

static struct cedar_value wrong_type(struct evaluation *evaluation,
                                     const struct expression *expression, struct cedar_value value)
{
    /* What failed already keeps its own reason. */
    return evaluate_has_failed(value) ? value
                                      : fail(evaluation, expression, CEDAR_FAIL_TYPE, value.kind);
}

/** Literals are most of what operators see. */
static inline struct cedar_value operand(struct evaluation *evaluation,
                                         const struct expression *expression, uint32_t i)
{
    const struct expression *of = expression->operands[i];
    return of->kind == EXPRESSION_VALUE ? of->value : evaluate(evaluation, of);
}

static struct cedar_value variable_value(const struct evaluation *evaluation,
                                         enum variable variable)
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
    return cedar_object(CEDAR_RECORD, evaluation->context);
}

static const struct cedar_uid *requested(const struct cedar_request *request,
                                         enum variable variable)
{
    return variable == VARIABLE_PRINCIPAL ? request->principal
           : variable == VARIABLE_ACTION  ? request->action
                                          : request->resource;
}

const struct cedar_entity *evaluation_entity(struct evaluation *evaluation, enum variable variable)
{
    if (!evaluation->is_looked_up[variable]) {
        evaluation->is_looked_up[variable] = true;
        evaluation->entities[variable] = cedar_entities_find(
            evaluation->request->entities, requested(evaluation->request, variable));
    }
    return evaluation->entities[variable];
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
static struct cedar_value evaluate_chain(struct evaluation *evaluation,
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

static struct cedar_value compare(struct evaluation *evaluation,
                                  const struct expression *expression, struct cedar_value a,
                                  struct cedar_value b)
{
    if (!is_ordered(a.kind)) {
        return wrong_type(evaluation, expression->operands[0], a);
    }
    if (a.kind != b.kind) {
        return wrong_type(evaluation, expression->operands[1], b);
    }
    int64_t left = a.as.number;
    int64_t right = b.as.number;
    switch (expression->kind) {
    case EXPRESSION_LESS:
        return cedar_bool(left < right);
    case EXPRESSION_LESS_EQUAL:
        return cedar_bool(left <= right);
    case EXPRESSION_GREATER:
        return cedar_bool(left > right);
    default:
        return cedar_bool(left >= right);
    }
}

/** `a in b`, where `a` is known to be an entity. */
static struct cedar_value evaluate_in(struct evaluation *evaluation,
                                      const struct expression *ancestors, struct cedar_value a,
                                      struct cedar_value b)
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

static struct cedar_value evaluate_set_method(struct evaluation *evaluation,
                                              const struct expression *expression,
                                              struct cedar_value a, struct cedar_value b)
{
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
                                       const struct expression *expression, struct cedar_value a,
                                       struct cedar_value b)
{
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

static struct cedar_value evaluate_binary(struct evaluation *evaluation,
                                          const struct expression *expression)
{
    struct cedar_value a = operand(evaluation, expression, 0);
    if (evaluate_has_failed(a)) {
        return a;
    }
    struct cedar_value b = operand(evaluation, expression, 1);
    if (evaluate_has_failed(b)) {
        return b;
    }
    switch (expression->kind) {
    case EXPRESSION_EQUAL:
        return cedar_bool(cedar_value_equals(a, b));
    case EXPRESSION_NOT_EQUAL:
        return cedar_bool(!cedar_value_equals(a, b));
    case EXPRESSION_IN:
        return a.kind == CEDAR_ENTITY ? evaluate_in(evaluation, expression->operands[1], a, b)
                                      : wrong_type(evaluation, expression->operands[0], a);
    case EXPRESSION_CONTAINS:
    case EXPRESSION_CONTAINS_ALL:
    case EXPRESSION_CONTAINS_ANY:
        return evaluate_set_method(evaluation, expression, a, b);
    case EXPRESSION_HAS_TAG:
    case EXPRESSION_GET_TAG:
        return evaluate_tag(evaluation, expression, a, b);
    default: /* the four orders */
        return compare(evaluation, expression, a, b);
    }
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

static struct cedar_value evaluate_attribute(struct evaluation *evaluation,
                                             const struct expression *expression)
{
    const struct expression *of = expression->operands[0];
    struct cedar_value value = of->kind == EXPRESSION_VARIABLE
                                   ? variable_value(evaluation, of->variable)
                                   : evaluate(evaluation, of);
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

static struct cedar_value evaluate_has(struct evaluation *evaluation,
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
    return evaluate_in(evaluation, expression->operands[1], value, ancestors);
}

static struct cedar_value evaluate_call(struct evaluation *evaluation,
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

struct cedar_value evaluate(struct evaluation *evaluation, const struct expression *expression)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_VALUE:
        return expression->value;
    case EXPRESSION_VARIABLE:
        return variable_value(evaluation, expression->variable);
    case EXPRESSION_AND:
        return evaluate_chain(evaluation, expression, false);
    case EXPRESSION_OR:
        return evaluate_chain(evaluation, expression, true);
    case EXPRESSION_SUM:
    case EXPRESSION_PRODUCT:
        return evaluate_arithmetic(evaluation, expression);
    case EXPRESSION_NOT:
        return evaluate_not(evaluation, expression);
    case EXPRESSION_NEGATE:
        return evaluate_negate(evaluation, expression);
    case EXPRESSION_IF:
        return evaluate_if(evaluation, expression);
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
    case EXPRESSION_GET_TAG:
        return evaluate_binary(evaluation, expression);
    case EXPRESSION_IS_EMPTY:
        return evaluate_is_empty(evaluation, expression);
    case EXPRESSION_ATTRIBUTE:
        return evaluate_attribute(evaluation, expression);
    case EXPRESSION_HAS:
        return evaluate_has(evaluation, expression);
    case EXPRESSION_LIKE:
        return evaluate_like(evaluation, expression);
    case EXPRESSION_IS:
        return evaluate_is(evaluation, expression);
    case EXPRESSION_CALL:
        return evaluate_call(evaluation, expression);
    case EXPRESSION_SET:
        return evaluate_set(evaluation, expression);
    case EXPRESSION_RECORD:
        return evaluate_record(evaluation, expression);
    }
    return failure(CEDAR_FAIL_TYPE);
}

void evaluation_begin(struct evaluation *evaluation, const struct cedar_request *request,
                      struct arena *arena)
{
    static const struct cedar_record no_fields = {0};
    *evaluation = (struct evaluation){.request = request, .arena = arena, .context = &no_fields};
    if (request->context != NULL) {
        evaluation->context = &request->context->record;
    }
}

bool evaluate_scope(struct evaluation *evaluation, const struct scope *scope,
                    enum variable variable)
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

/** Whether a scope certainly does not match, at the price of one comparison. */
static inline bool is_other(const struct scope *scope, const struct cedar_uid *uid)
{
    return scope->kind == SCOPE_EQUAL && scope->hash != uid->hash;
}

enum policy_outcome evaluate_policy(struct evaluation *evaluation, const struct policy *policy,
                                    enum cedar_failure_code *ret_failure)
{
    const struct cedar_request *request = evaluation->request;
    if (is_other(&policy->scopes[VARIABLE_ACTION], request->action) ||
        is_other(&policy->scopes[VARIABLE_RESOURCE], request->resource) ||
        is_other(&policy->scopes[VARIABLE_PRINCIPAL], request->principal)) {
        return POLICY_NOT_SATISFIED;
    }
    for (enum variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        if (policy->scopes[i].kind != SCOPE_ANY &&
            !evaluate_scope(evaluation, &policy->scopes[i], i)) {
            return POLICY_NOT_SATISFIED;
        }
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

bool pattern_matches(const struct pattern *pattern, const struct cedar_text *text)
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
