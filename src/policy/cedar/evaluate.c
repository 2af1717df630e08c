// SPDX-License-Identifier: Apache-2.0
/*
 * The evaluator: one function a kind of expression, results by value. A failure travels up as a
 * code; where it happened is kept in the evaluation and put into words only when somebody asks.
 */
#include "policy/cedar/evaluate.h"

#include "policy/cedar/function.h"

#include <string.h>

static enum cedar_failure_code fail(struct evaluation *evaluation,
                                    const struct expression *expression,
                                    enum cedar_failure_code code, enum cedar_kind got)
{
    evaluation->failed = expression;
    evaluation->got = got;
    return code;
}

static enum cedar_failure_code evaluate_as(struct evaluation *evaluation,
                                           const struct expression *expression,
                                           enum cedar_kind kind, struct cedar_value *ret_value)
{
    enum cedar_failure_code code = evaluate(evaluation, expression, ret_value);
    if (code == 0 && ret_value->kind != kind) {
        return fail(evaluation, expression, CEDAR_FAIL_TYPE, ret_value->kind);
    }
    return code;
}

static enum cedar_failure_code evaluate_truth(struct evaluation *evaluation,
                                              const struct expression *expression, bool *ret_truth)
{
    struct cedar_value value;
    enum cedar_failure_code code = evaluate_as(evaluation, expression, CEDAR_BOOL, &value);
    *ret_truth = code == 0 && value.as.truth;
    return code;
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

static const struct cedar_entity *find_entity(const struct evaluation *evaluation,
                                              const struct cedar_uid *uid)
{
    const struct cedar_request *request = evaluation->request;
    if (uid == request->principal) {
        return evaluation->entities[VARIABLE_PRINCIPAL];
    }
    if (uid == request->resource) {
        return evaluation->entities[VARIABLE_RESOURCE];
    }
    if (uid == request->action) {
        return evaluation->entities[VARIABLE_ACTION];
    }
    return cedar_entities_find(request->entities, uid);
}

static bool is_in(const struct evaluation *evaluation, const struct cedar_uid *uid,
                  const struct cedar_uid *ancestor)
{
    if (cedar_uid_equals(uid, ancestor)) {
        return true;
    }
    const struct cedar_entity *entity = find_entity(evaluation, uid);
    return entity != NULL && cedar_entity_has_ancestor(entity, ancestor);
}

static enum cedar_failure_code evaluate_chain(struct evaluation *evaluation,
                                              const struct expression *expression, bool decides,
                                              struct cedar_value *ret_value)
{
    bool truth = !decides;
    for (uint32_t i = 0; i < expression->count && truth != decides; i++) {
        enum cedar_failure_code code = evaluate_truth(evaluation, expression->operands[i], &truth);
        if (code != 0) {
            return code;
        }
    }
    *ret_value = cedar_bool(truth);
    return 0;
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
static enum cedar_failure_code evaluate_arithmetic(struct evaluation *evaluation,
                                                   const struct expression *expression,
                                                   struct cedar_value *ret_value)
{
    struct cedar_value sum = {0};
    for (uint32_t i = 0; i < expression->count; i++) {
        struct cedar_value value;
        enum cedar_failure_code code =
            evaluate_as(evaluation, expression->operands[i], CEDAR_LONG, &value);
        if (code != 0) {
            return code;
        }
        if (i == 0) {
            sum = value;
        } else if (add_up(expression, i, sum.as.number, value.as.number, &sum.as.number)) {
            return fail(evaluation, expression, CEDAR_FAIL_OVERFLOW, CEDAR_LONG);
        }
    }
    *ret_value = sum;
    return 0;
}

static enum cedar_failure_code evaluate_unary(struct evaluation *evaluation,
                                              const struct expression *expression,
                                              struct cedar_value *ret_value)
{
    bool is_not = expression->kind == EXPRESSION_NOT;
    struct cedar_value value;
    enum cedar_failure_code code =
        evaluate_as(evaluation, expression->operands[0], is_not ? CEDAR_BOOL : CEDAR_LONG, &value);
    if (code != 0) {
        return code;
    }
    if (is_not) {
        *ret_value = cedar_bool(!value.as.truth);
        return 0;
    }
    if (__builtin_sub_overflow(0, value.as.number, &value.as.number)) {
        return fail(evaluation, expression, CEDAR_FAIL_OVERFLOW, CEDAR_LONG);
    }
    *ret_value = value;
    return 0;
}

static enum cedar_failure_code evaluate_if(struct evaluation *evaluation,
                                           const struct expression *expression,
                                           struct cedar_value *ret_value)
{
    bool truth = false;
    enum cedar_failure_code code = evaluate_truth(evaluation, expression->operands[0], &truth);
    return code != 0 ? code : evaluate(evaluation, expression->operands[truth ? 1 : 2], ret_value);
}

static bool is_ordered(enum cedar_kind kind)
{
    return kind == CEDAR_LONG || kind == CEDAR_DATETIME || kind == CEDAR_DURATION;
}

static enum cedar_failure_code compare(struct evaluation *evaluation,
                                       const struct expression *expression, struct cedar_value a,
                                       struct cedar_value b, struct cedar_value *ret_value)
{
    if (!is_ordered(a.kind)) {
        return fail(evaluation, expression->operands[0], CEDAR_FAIL_TYPE, a.kind);
    }
    if (a.kind != b.kind) {
        return fail(evaluation, expression->operands[1], CEDAR_FAIL_TYPE, b.kind);
    }
    int64_t left = a.as.number;
    int64_t right = b.as.number;
    bool truth = expression->kind == EXPRESSION_LESS         ? left < right
                 : expression->kind == EXPRESSION_LESS_EQUAL ? left <= right
                 : expression->kind == EXPRESSION_GREATER    ? left > right
                                                             : left >= right;
    *ret_value = cedar_bool(truth);
    return 0;
}

/** `a in b`, where `a` is known to be an entity. */
static enum cedar_failure_code evaluate_in(struct evaluation *evaluation,
                                           const struct expression *ancestors, struct cedar_value a,
                                           struct cedar_value b, struct cedar_value *ret_value)
{
    const struct cedar_uid *uid = cedar_as_uid(a);
    if (b.kind == CEDAR_ENTITY) {
        *ret_value = cedar_bool(is_in(evaluation, uid, cedar_as_uid(b)));
        return 0;
    }
    if (b.kind != CEDAR_SET) {
        return fail(evaluation, ancestors, CEDAR_FAIL_TYPE, b.kind);
    }
    const struct cedar_set *set = cedar_as_set(b);
    bool truth = false;
    for (size_t i = 0; i < set->count; i++) {
        if (set->values[i].kind != CEDAR_ENTITY) {
            return fail(evaluation, ancestors, CEDAR_FAIL_TYPE, set->values[i].kind);
        }
        truth = truth || is_in(evaluation, uid, cedar_as_uid(set->values[i]));
    }
    *ret_value = cedar_bool(truth);
    return 0;
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

static enum cedar_failure_code evaluate_set_method(struct evaluation *evaluation,
                                                   const struct expression *expression,
                                                   struct cedar_value a, struct cedar_value b,
                                                   struct cedar_value *ret_value)
{
    if (a.kind != CEDAR_SET) {
        return fail(evaluation, expression->operands[0], CEDAR_FAIL_TYPE, a.kind);
    }
    if (expression->kind == EXPRESSION_CONTAINS) {
        *ret_value = cedar_bool(cedar_set_contains(cedar_as_set(a), b));
        return 0;
    }
    if (b.kind != CEDAR_SET) {
        return fail(evaluation, expression->operands[1], CEDAR_FAIL_TYPE, b.kind);
    }
    *ret_value = cedar_bool(expression->kind == EXPRESSION_CONTAINS_ALL
                                ? contains_all(cedar_as_set(a), cedar_as_set(b))
                                : contains_any(cedar_as_set(a), cedar_as_set(b)));
    return 0;
}

static enum cedar_failure_code evaluate_tag(struct evaluation *evaluation,
                                            const struct expression *expression,
                                            struct cedar_value a, struct cedar_value b,
                                            struct cedar_value *ret_value)
{
    if (a.kind != CEDAR_ENTITY) {
        return fail(evaluation, expression->operands[0], CEDAR_FAIL_TYPE, a.kind);
    }
    if (b.kind != CEDAR_STRING) {
        return fail(evaluation, expression->operands[1], CEDAR_FAIL_TYPE, b.kind);
    }
    const struct cedar_entity *entity = find_entity(evaluation, cedar_as_uid(a));
    const struct cedar_value *tag =
        entity == NULL ? NULL : cedar_record_get(entity->tags, cedar_as_text(b));
    if (expression->kind == EXPRESSION_HAS_TAG) {
        *ret_value = cedar_bool(tag != NULL);
        return 0;
    }
    if (tag == NULL) {
        return fail(evaluation, expression,
                    entity == NULL ? CEDAR_FAIL_NO_ENTITY : CEDAR_FAIL_NO_TAG, a.kind);
    }
    *ret_value = *tag;
    return 0;
}

static enum cedar_failure_code evaluate_binary(struct evaluation *evaluation,
                                               const struct expression *expression,
                                               struct cedar_value *ret_value)
{
    struct cedar_value a;
    struct cedar_value b;
    enum cedar_failure_code code = evaluate(evaluation, expression->operands[0], &a);
    if (code == 0) {
        code = evaluate(evaluation, expression->operands[1], &b);
    }
    if (code != 0) {
        return code;
    }
    switch (expression->kind) {
    case EXPRESSION_EQUAL:
    case EXPRESSION_NOT_EQUAL:
        *ret_value = cedar_bool(cedar_value_equals(a, b) == (expression->kind == EXPRESSION_EQUAL));
        return 0;
    case EXPRESSION_IN:
        return a.kind == CEDAR_ENTITY
                   ? evaluate_in(evaluation, expression->operands[1], a, b, ret_value)
                   : fail(evaluation, expression->operands[0], CEDAR_FAIL_TYPE, a.kind);
    case EXPRESSION_CONTAINS:
    case EXPRESSION_CONTAINS_ALL:
    case EXPRESSION_CONTAINS_ANY:
        return evaluate_set_method(evaluation, expression, a, b, ret_value);
    case EXPRESSION_HAS_TAG:
    case EXPRESSION_GET_TAG:
        return evaluate_tag(evaluation, expression, a, b, ret_value);
    default: /* the four orders */
        return compare(evaluation, expression, a, b, ret_value);
    }
}

/** The fields of a record, or of an entity when it is known (else NULL). @return false: no such */
static bool fields_of(const struct evaluation *evaluation, struct cedar_value value,
                      const struct cedar_record **ret_record)
{
    if (value.kind == CEDAR_RECORD) {
        *ret_record = cedar_as_record(value);
        return true;
    }
    if (value.kind == CEDAR_ENTITY) {
        const struct cedar_entity *entity = find_entity(evaluation, cedar_as_uid(value));
        *ret_record = entity == NULL ? NULL : entity->attributes;
        return true;
    }
    return false;
}

static enum cedar_failure_code evaluate_attribute(struct evaluation *evaluation,
                                                  const struct expression *expression,
                                                  struct cedar_value *ret_value)
{
    struct cedar_value value;
    enum cedar_failure_code code = evaluate(evaluation, expression->operands[0], &value);
    if (code != 0) {
        return code;
    }
    const struct cedar_record *record = NULL;
    if (!fields_of(evaluation, value, &record)) {
        return fail(evaluation, expression->operands[0], CEDAR_FAIL_TYPE, value.kind);
    }
    if (record == NULL) {
        return fail(evaluation, expression, CEDAR_FAIL_NO_ENTITY, value.kind);
    }
    const struct cedar_value *field = cedar_record_get(record, expression->names[0]);
    if (field == NULL) {
        return fail(evaluation, expression, CEDAR_FAIL_NO_ATTRIBUTE, value.kind);
    }
    *ret_value = *field;
    return 0;
}

static enum cedar_failure_code evaluate_has(struct evaluation *evaluation,
                                            const struct expression *expression,
                                            struct cedar_value *ret_value)
{
    struct cedar_value value;
    enum cedar_failure_code code = evaluate(evaluation, expression->operands[0], &value);
    if (code != 0) {
        return code;
    }
    for (uint32_t i = 0; i < expression->name_count; i++) {
        const struct cedar_record *record = NULL;
        if (!fields_of(evaluation, value, &record)) {
            return fail(evaluation, i == 0 ? expression->operands[0] : expression, CEDAR_FAIL_TYPE,
                        value.kind);
        }
        const struct cedar_value *field =
            record == NULL ? NULL : cedar_record_get(record, expression->names[i]);
        if (field == NULL) {
            *ret_value = cedar_bool(false);
            return 0;
        }
        value = *field;
    }
    *ret_value = cedar_bool(true);
    return 0;
}

static enum cedar_failure_code evaluate_like(struct evaluation *evaluation,
                                             const struct expression *expression,
                                             struct cedar_value *ret_value)
{
    struct cedar_value value;
    enum cedar_failure_code code =
        evaluate_as(evaluation, expression->operands[0], CEDAR_STRING, &value);
    if (code == 0) {
        *ret_value = cedar_bool(pattern_matches(&expression->pattern, cedar_as_text(value)));
    }
    return code;
}

static enum cedar_failure_code evaluate_is(struct evaluation *evaluation,
                                           const struct expression *expression,
                                           struct cedar_value *ret_value)
{
    struct cedar_value value;
    enum cedar_failure_code code =
        evaluate_as(evaluation, expression->operands[0], CEDAR_ENTITY, &value);
    if (code != 0) {
        return code;
    }
    bool is_type = cedar_text_equals(cedar_as_uid(value)->type, expression->names[0]);
    if (expression->count == 1 || !is_type) {
        *ret_value = cedar_bool(is_type);
        return 0;
    }
    struct cedar_value ancestors;
    code = evaluate(evaluation, expression->operands[1], &ancestors);
    return code != 0
               ? code
               : evaluate_in(evaluation, expression->operands[1], value, ancestors, ret_value);
}

static enum cedar_failure_code evaluate_operands(struct evaluation *evaluation,
                                                 const struct expression *expression,
                                                 struct cedar_value **ret_values)
{
    struct cedar_value *values =
        arena_new_array(evaluation->arena, expression->count + 1, sizeof(*values));
    for (uint32_t i = 0; i < expression->count; i++) {
        enum cedar_failure_code code = evaluate(evaluation, expression->operands[i], &values[i]);
        if (code != 0) {
            return code;
        }
    }
    *ret_values = values;
    return 0;
}

static enum cedar_failure_code evaluate_call(struct evaluation *evaluation,
                                             const struct expression *expression,
                                             struct cedar_value *ret_value)
{
    struct cedar_value *values = NULL;
    enum cedar_failure_code code = evaluate_operands(evaluation, expression, &values);
    if (code != 0) {
        return code;
    }
    struct cedar_value result = {0};
    code = cedar_function_call(expression->function, values, expression->count, evaluation->arena,
                               &result);
    if (code != 0) {
        return fail(evaluation, expression, code, result.kind);
    }
    *ret_value = result;
    return 0;
}

static enum cedar_failure_code evaluate_set(struct evaluation *evaluation,
                                            const struct expression *expression,
                                            struct cedar_value *ret_value)
{
    struct cedar_value *values = NULL;
    enum cedar_failure_code code = evaluate_operands(evaluation, expression, &values);
    if (code == 0) {
        *ret_value =
            cedar_object(CEDAR_SET, cedar_set_make(evaluation->arena, values, expression->count));
    }
    return code;
}

static enum cedar_failure_code evaluate_record(struct evaluation *evaluation,
                                               const struct expression *expression,
                                               struct cedar_value *ret_value)
{
    struct cedar_field *fields =
        arena_new_array(evaluation->arena, expression->count + 1, sizeof(*fields));
    for (uint32_t i = 0; i < expression->count; i++) {
        fields[i].name = expression->names[i];
        enum cedar_failure_code code =
            evaluate(evaluation, expression->operands[i], &fields[i].value);
        if (code != 0) {
            return code;
        }
    }
    /* The parser has refused names that occur twice. */
    *ret_value =
        cedar_object(CEDAR_RECORD, cedar_record_make(evaluation->arena, fields, expression->count));
    return 0;
}

enum cedar_failure_code evaluate(struct evaluation *evaluation, const struct expression *expression,
                                 struct cedar_value *ret_value)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_VALUE:
        *ret_value = expression->value;
        return 0;
    case EXPRESSION_VARIABLE:
        *ret_value = variable_value(evaluation, expression->variable);
        return 0;
    case EXPRESSION_AND:
        return evaluate_chain(evaluation, expression, false, ret_value);
    case EXPRESSION_OR:
        return evaluate_chain(evaluation, expression, true, ret_value);
    case EXPRESSION_SUM:
    case EXPRESSION_PRODUCT:
        return evaluate_arithmetic(evaluation, expression, ret_value);
    case EXPRESSION_NOT:
    case EXPRESSION_NEGATE:
        return evaluate_unary(evaluation, expression, ret_value);
    case EXPRESSION_IF:
        return evaluate_if(evaluation, expression, ret_value);
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
        return evaluate_binary(evaluation, expression, ret_value);
    case EXPRESSION_IS_EMPTY: {
        struct cedar_value set;
        enum cedar_failure_code code =
            evaluate_as(evaluation, expression->operands[0], CEDAR_SET, &set);
        *ret_value = cedar_bool(code == 0 && cedar_as_set(set)->count == 0);
        return code;
    }
    case EXPRESSION_ATTRIBUTE:
        return evaluate_attribute(evaluation, expression, ret_value);
    case EXPRESSION_HAS:
        return evaluate_has(evaluation, expression, ret_value);
    case EXPRESSION_LIKE:
        return evaluate_like(evaluation, expression, ret_value);
    case EXPRESSION_IS:
        return evaluate_is(evaluation, expression, ret_value);
    case EXPRESSION_CALL:
        return evaluate_call(evaluation, expression, ret_value);
    case EXPRESSION_SET:
        return evaluate_set(evaluation, expression, ret_value);
    case EXPRESSION_RECORD:
        return evaluate_record(evaluation, expression, ret_value);
    }
    return CEDAR_FAIL_TYPE;
}

static const struct cedar_uid *requested(const struct cedar_request *request,
                                         enum variable variable)
{
    return variable == VARIABLE_PRINCIPAL ? request->principal
           : variable == VARIABLE_ACTION  ? request->action
                                          : request->resource;
}

void evaluation_begin(struct evaluation *evaluation, const struct cedar_request *request,
                      struct arena *arena)
{
    static const struct cedar_record no_fields = {0};
    *evaluation = (struct evaluation){.request = request, .arena = arena, .context = &no_fields};
    if (request->context != NULL) {
        evaluation->context = &request->context->record;
    }
    for (enum variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        evaluation->entities[i] = cedar_entities_find(request->entities, requested(request, i));
    }
}

bool evaluate_scope(const struct evaluation *evaluation, const struct scope *scope,
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

enum policy_outcome evaluate_policy(struct evaluation *evaluation, const struct policy *policy,
                                    enum cedar_failure_code *ret_failure)
{
    for (enum variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        if (!evaluate_scope(evaluation, &policy->scopes[i], i)) {
            return POLICY_NOT_SATISFIED;
        }
    }
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        bool truth = false;
        *ret_failure = evaluate_truth(evaluation, policy->conditions[i].expression, &truth);
        if (*ret_failure != 0) {
            return POLICY_FAILED;
        }
        if (truth == policy->conditions[i].is_unless) {
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
