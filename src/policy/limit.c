// SPDX-License-Identifier: Apache-2.0
/* Limit discovery. Allocates only from an arena that lives as long as one call. */
#include "policy/limit.h"

#include "base/arena.h"
#include "policy/cedar/evaluate.h"
#include "policy/cedar/function.h"
#include "policy/cedar/index.h"
#include "policy/cedar/policies.h"
#include "policy/vocabulary.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum vocabulary_context attribute;
    enum cedar_kind kind;
} counters[LIMIT_COUNTER_COUNT] = {
    [LIMIT_ITERATIONS] = {"iterations", CONTEXT_ITERATION, CEDAR_LONG},
    [LIMIT_TOKENS] = {"tokens", CONTEXT_TOKENS, CEDAR_LONG},
    [LIMIT_COST] = {"cost", CONTEXT_COST_USD, CEDAR_DECIMAL},
    [LIMIT_TIME] = {"time", CONTEXT_ELAPSED_S, CEDAR_LONG},
};

const char *limit_counter_name(enum limit_counter counter)
{
    return counters[counter].name;
}

static bool is_text(const struct cedar_text *text, const char *expected)
{
    return strcmp(text->bytes, expected) == 0;
}

static bool is_context(const struct expression *expression)
{
    return expression->kind == EXPRESSION_VARIABLE && expression->variable == VARIABLE_CONTEXT;
}

/** Whether an expression is `context.input`, where the iteration stands once more. */
static bool is_input(const struct expression *expression)
{
    return expression->kind == EXPRESSION_ATTRIBUTE && is_context(expression->operands[0]) &&
           is_text(expression->names[0], vocabulary_context_name(CONTEXT_INPUT));
}

/** Whether an expression is just `context.<counter>`, or `context.input.iteration`. */
static bool is_counter(const struct expression *expression, enum limit_counter counter)
{
    if (expression->kind != EXPRESSION_ATTRIBUTE) {
        return false;
    }
    const struct expression *of = expression->operands[0];
    const char *name = vocabulary_context_name(counters[counter].attribute);
    return is_text(expression->names[0], name) &&
           (is_context(of) || (counter == LIMIT_ITERATIONS && is_input(of)));
}

/** Whether the value of an expression can change with the counter. */
static bool depends_on(const struct expression *expression, enum limit_counter counter)
{
    if (is_counter(expression, counter)) {
        return true;
    }
    if (is_context(expression)) {
        return true; /* as a value: `context == {...}` */
    }
    bool is_access = expression->kind == EXPRESSION_ATTRIBUTE || expression->kind == EXPRESSION_HAS;
    if (is_access && is_context(expression->operands[0])) {
        /* Another attribute; but the record `input` as a value holds the counter, too. */
        return counter == LIMIT_ITERATIONS && is_input(expression);
    }
    if (is_access && is_input(expression->operands[0])) {
        return false; /* `context.input.other`, `context.input has iteration` */
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        if (depends_on(expression->operands[i], counter)) {
            return true;
        }
    }
    return false;
}

bool limit_is_mentioned(const struct cedar_policies *policies, size_t index,
                        enum limit_counter counter)
{
    const struct policy *policy = policies->policies[index];
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        if (depends_on(policy->conditions[i].expression, counter)) {
            return true;
        }
    }
    return false;
}

static bool can_apply(struct evaluation *evaluation, const struct policy *policy)
{
    for (enum variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        if (!evaluate_scope(evaluation, &policy->scopes[i], i)) {
            return false;
        }
    }
    return true;
}

bool limit_is_counted(const struct cedar_policies *policies, size_t count,
                      const struct cedar_request *request, enum limit_counter counter)
{
    struct arena arena = {0}; /* scopes make no values */
    struct evaluation evaluation;
    evaluation_begin(&evaluation, request, &arena);
    for (size_t i = 0; i < count; i++) {
        if (limit_is_mentioned(policies, i, counter) &&
            can_apply(&evaluation, policies->policies[i])) {
            return true;
        }
    }
    return false;
}

/** What is collected from the policies that can apply. */
struct search {
    const struct limit_question *question;
    enum limit_counter counter;
    struct evaluation evaluation;
    int64_t from;
    int64_t points[LIMIT_POINTS];
    size_t count;
    bool is_complex; /* the counter is used in a way that points do not describe */
    int64_t policy;  /* of the last denial: its first forbid, or -1 */
};

static void add_point(struct search *search, int64_t point)
{
    if (point <= search->from) {
        return;
    }
    for (size_t i = 0; i < search->count; i++) {
        if (search->points[i] == point) {
            return;
        }
    }
    if (search->count == LIMIT_POINTS) {
        search->is_complex = true;
        return;
    }
    search->points[search->count++] = point;
}

/** The decision may change at the compared value and right behind it. */
static void add_compared(struct search *search, const struct expression *other)
{
    if (depends_on(other, search->counter)) {
        search->is_complex = true;
        return;
    }
    struct cedar_value value = evaluate(&search->evaluation, other);
    if (value.kind != counters[search->counter].kind) {
        return; /* The comparison fails, or is false, whatever the counter is. */
    }
    add_point(search, value.as.number);
    if (value.as.number < INT64_MAX) {
        add_point(search, value.as.number + 1);
    }
}

static bool is_comparison(const struct expression *expression)
{
    if (expression->count != 2) {
        return false;
    }
    if (expression->kind >= EXPRESSION_EQUAL && expression->kind <= EXPRESSION_GREATER_EQUAL) {
        return true;
    }
    return expression->kind == EXPRESSION_CALL &&
           cedar_function_is_decimal_order(expression->function);
}

static void collect(struct search *search, const struct expression *expression)
{
    if (!depends_on(expression, search->counter)) {
        return;
    }
    if (is_comparison(expression)) {
        for (uint32_t i = 0; i < 2; i++) {
            if (is_counter(expression->operands[i], search->counter)) {
                add_compared(search, expression->operands[1 - i]);
                return;
            }
        }
    }
    bool passes_on = expression->kind == EXPRESSION_AND || expression->kind == EXPRESSION_OR ||
                     expression->kind == EXPRESSION_NOT || expression->kind == EXPRESSION_IF ||
                     expression->kind == EXPRESSION_EQUAL ||
                     expression->kind == EXPRESSION_NOT_EQUAL;
    if (!passes_on || is_context(expression)) {
        search->is_complex = true;
        return;
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        if (is_counter(expression->operands[i], search->counter)) {
            search->is_complex = true;
        } else {
            collect(search, expression->operands[i]);
        }
    }
}

static void collect_policy(uint32_t index, void *context)
{
    struct search *search = context;
    const struct policy *policy = search->question->policies->policies[index];
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        collect(search, policy->conditions[i].expression);
    }
}

static void collect_all(struct search *search)
{
    const struct cedar_policies *policies = search->question->policies;
    if (policies->index != NULL) {
        policy_index_each(policies->index, &search->evaluation, collect_policy, search);
        return;
    }
    for (uint32_t i = 0; i < policies->count; i++) {
        collect_policy(i, search);
    }
}

/** Whether a denial is one that is asked about; `*ret_policy` is its first forbid, or -1. */
static bool is_wanted(const struct cedar_answer *answer, const uint32_t *only, int64_t *ret_policy)
{
    if (only == NULL) {
        *ret_policy = answer->reason_count > 0 ? (int64_t)answer->reasons[0] : -1;
        return true;
    }
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (answer->reasons[i] == *only) {
            *ret_policy = *only;
            return true;
        }
    }
    return false;
}

static bool is_denied(struct search *search, int64_t value)
{
    const struct limit_question *question = search->question;
    struct cedar_answer answer;
    question->set(question->context, search->counter, value);
    cedar_authorize(question->evaluator, question->policies, question->request, &answer);
    return !answer.is_allowed && is_wanted(&answer, question->only, &search->policy);
}

static int compare_points(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static struct limit try_points(struct search *search)
{
    qsort(search->points, search->count, sizeof(search->points[0]), compare_points);
    for (size_t i = 0; i < search->count; i++) {
        if (is_denied(search, search->points[i])) {
            return (struct limit){.is_known = true, .value = search->points[i]};
        }
    }
    return (struct limit){0};
}

/** A limit above this is none that a run could reach. */
#define LARGEST_ESTIMATE (INT64_C(1) << 53)

static struct limit estimate(struct search *search)
{
    int64_t low = search->from; /* allowed */
    int64_t high = 0;           /* denied */
    for (int64_t step = 1; high == 0; step *= 2) {
        if (step > LARGEST_ESTIMATE - low) {
            return (struct limit){.is_estimated = true};
        }
        if (is_denied(search, low + step)) {
            high = low + step;
        } else {
            low += step;
        }
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (is_denied(search, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return (struct limit){.is_known = true, .is_estimated = true, .value = high};
}

struct limit limit_find(const struct limit_question *question, enum limit_counter counter,
                        int64_t from, int64_t now)
{
    struct arena arena = {0};
    struct search search = {.question = question, .counter = counter, .from = from};
    question->set(question->context, counter, from);
    evaluation_begin(&search.evaluation, question->request, &arena);
    struct limit limit = {.is_known = true, .value = from};
    if (!is_denied(&search, from)) {
        collect_all(&search);
        limit = search.is_complex ? estimate(&search) : try_points(&search);
    }
    limit.policy = limit.is_known ? search.policy : -1;
    question->set(question->context, counter, now);
    arena_fini(&arena);
    return limit;
}
