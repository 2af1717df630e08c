// SPDX-License-Identifier: Apache-2.0
/* Limit discovery. Allocates only from an arena that lives as long as one call. */
#include "policy/limit.h"

#include "base/arena.h"
#include "base/clock.h"
#include "policy/cedar/evaluate.h"
#include "policy/cedar/function.h"
#include "policy/cedar/index.h"
#include "policy/cedar/policies.h"
#include "policy/vocabulary/vocabulary.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    enum vocabulary_context attribute;
    enum cedar_kind kind;
    int64_t unit; /* of the policies, in units of the journal */
} counters[RUN_LIMIT_COUNT] = {
    [RUN_LIMIT_ITERATIONS] = {CONTEXT_ITERATION, CEDAR_LONG, 1},
    [RUN_LIMIT_TOKENS] = {CONTEXT_TOKENS, CEDAR_LONG, 1},
    [RUN_LIMIT_COST] = {CONTEXT_COST_USD, CEDAR_DECIMAL, 100},
    [RUN_LIMIT_TIME] = {CONTEXT_ELAPSED_S, CEDAR_LONG, NS_PER_S},
};

const char *limit_source_name(enum limit_source source)
{
    static const char *const names[] = {"policy", "option", "default"};
    return names[source];
}

int64_t limit_from_cedar(enum run_limit counter, int64_t value)
{
    int64_t result = 0;
    return __builtin_mul_overflow(value, counters[counter].unit, &result) ? INT64_MAX : result;
}

int64_t policy_limit_percent(const struct policy_limit *limit)
{
    if (!limit->is_known || limit->limit <= 0) {
        return limit->is_known ? 100 : -1;
    }
    double percent = (double)limit->value * 100.0 / (double)limit->limit;
    return percent > 1e9 ? 1000000000 : (int64_t)percent;
}

static bool is_text(const struct cedar_text *text, const char *expected)
{
    return strcmp(text->bytes, expected) == 0;
}

static bool is_context(const struct expression *expression)
{
    return expression->kind == EXPRESSION_VARIABLE && expression->variable == VARIABLE_CONTEXT;
}

/** Whether an expression is `context.input`, which has the iteration, too. */
static bool is_input(const struct expression *expression)
{
    return expression->kind == EXPRESSION_ATTRIBUTE && is_context(expression->operands[0]) &&
           is_text(expression->names[0], vocabulary_context_name(CONTEXT_INPUT));
}

/** Whether an expression is just `context.<counter>`, or `context.input.iteration`. */
static bool is_counter(const struct expression *expression, enum run_limit counter)
{
    if (expression->kind != EXPRESSION_ATTRIBUTE) {
        return false;
    }
    const struct expression *of = expression->operands[0];
    const char *name = vocabulary_context_name(counters[counter].attribute);
    return is_text(expression->names[0], name) &&
           (is_context(of) || (counter == RUN_LIMIT_ITERATIONS && is_input(of)));
}

/** Whether the value of an expression can change with the counter. */
static bool depends_on(const struct expression *expression, enum run_limit counter)
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
        return counter == RUN_LIMIT_ITERATIONS && is_input(expression);
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

static bool is_mentioned(const struct cedar_policies *policies, size_t index,
                         enum run_limit counter)
{
    const struct policy *policy = policies->policies[index];
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        if (depends_on(policy->conditions[i].expression, counter)) {
            return true;
        }
    }
    return false;
}

uint8_t limit_counters(const struct cedar_policies *policies, size_t index)
{
    unsigned mentioned = 0;
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        mentioned |= is_mentioned(policies, index, i) ? 1U << i : 0;
    }
    return (uint8_t)mentioned;
}

static bool can_apply(struct evaluation *evaluation, const struct policy *policy)
{
    for (enum request_variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        if (!evaluate_scope(evaluation, &policy->scopes[i], i)) {
            return false;
        }
    }
    return true;
}

bool limit_is_counted(const struct cedar_policies *policies, size_t count,
                      const struct cedar_request *request, enum run_limit counter)
{
    struct arena arena = {0}; /* scopes make no values */
    struct evaluation evaluation;
    evaluation_begin(&evaluation, request, &arena);
    for (size_t i = 0; i < count; i++) {
        if (is_mentioned(policies, i, counter) && can_apply(&evaluation, policies->policies[i])) {
            return true;
        }
    }
    return false;
}

/** One search, and what is collected from the policies that can apply. */
struct limit_probe {
    const struct limit_search *search;
    enum run_limit counter;
    struct evaluation evaluation;
    int64_t from;
    int64_t points[LIMIT_POINTS];
    size_t count;
    bool is_complex; /* the counter is used in a way that points do not describe */
    int64_t policy;  /* of the last denial: its first forbid, or -1 */
};

static void add_point(struct limit_probe *probe, int64_t point)
{
    if (point <= probe->from) {
        return;
    }
    for (size_t i = 0; i < probe->count; i++) {
        if (probe->points[i] == point) {
            return;
        }
    }
    if (probe->count == LIMIT_POINTS) {
        probe->is_complex = true;
        return;
    }
    probe->points[probe->count++] = point;
}

/** The decision may change at the compared value and right after it. */
static void add_compared(struct limit_probe *probe, const struct expression *other)
{
    if (depends_on(other, probe->counter)) {
        probe->is_complex = true;
        return;
    }
    struct cedar_value value = evaluate(&probe->evaluation, other);
    if (value.kind != counters[probe->counter].kind) {
        return; /* The comparison fails, or is false, whatever the counter is. */
    }
    add_point(probe, value.as.number);
    if (value.as.number < INT64_MAX) {
        add_point(probe, value.as.number + 1);
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

static void collect(struct limit_probe *probe, const struct expression *expression)
{
    if (!depends_on(expression, probe->counter)) {
        return;
    }
    if (is_comparison(expression)) {
        for (uint32_t i = 0; i < 2; i++) {
            if (is_counter(expression->operands[i], probe->counter)) {
                add_compared(probe, expression->operands[1 - i]);
                return;
            }
        }
    }
    bool passes_on = expression->kind == EXPRESSION_AND || expression->kind == EXPRESSION_OR ||
                     expression->kind == EXPRESSION_NOT || expression->kind == EXPRESSION_IF ||
                     expression->kind == EXPRESSION_EQUAL ||
                     expression->kind == EXPRESSION_NOT_EQUAL;
    if (!passes_on || is_context(expression)) {
        probe->is_complex = true;
        return;
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        if (is_counter(expression->operands[i], probe->counter)) {
            probe->is_complex = true;
        } else {
            collect(probe, expression->operands[i]);
        }
    }
}

static void collect_policy(uint32_t index, void *context)
{
    struct limit_probe *probe = context;
    const struct policy *policy = probe->search->policies->policies[index];
    const uint8_t *mentioned = probe->search->counters;
    if (mentioned != NULL && (mentioned[index] & 1U << probe->counter) == 0) {
        return;
    }
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        collect(probe, policy->conditions[i].expression);
    }
}

static void collect_all(struct limit_probe *probe)
{
    const struct cedar_policies *policies = probe->search->policies;
    if (policies->index != NULL) {
        policy_index_each(policies->index, &probe->evaluation, collect_policy, probe);
        return;
    }
    for (uint32_t i = 0; i < policies->count; i++) {
        collect_policy(i, probe);
    }
}

/** Whether a denial is one that is searched for; `*ret_policy` is its first forbid, or -1. */
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

static bool is_denied(struct limit_probe *probe, int64_t value)
{
    const struct limit_search *search = probe->search;
    struct cedar_answer answer;
    search->set(search->context, probe->counter, value);
    cedar_authorize(search->evaluator, search->policies, search->request, &answer);
    return !answer.is_allowed && is_wanted(&answer, search->only, &probe->policy);
}

static int compare_points(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static struct policy_limit limit_at(const struct limit_probe *probe, int64_t value)
{
    return (struct policy_limit){
        .is_known = true,
        .limit = limit_from_cedar(probe->counter, value),
        .policy = probe->policy,
    };
}

static struct policy_limit no_limit(void)
{
    return (struct policy_limit){.policy = -1};
}

static struct policy_limit try_points(struct limit_probe *probe)
{
    qsort(probe->points, probe->count, sizeof(probe->points[0]), compare_points);
    for (size_t i = 0; i < probe->count; i++) {
        if (is_denied(probe, probe->points[i])) {
            return limit_at(probe, probe->points[i]);
        }
    }
    return no_limit();
}

/** A limit above this is none that a run could reach. */
#define LARGEST_ESTIMATE (INT64_C(1) << 53)

static struct policy_limit estimate(struct limit_probe *probe)
{
    int64_t low = probe->from; /* allowed */
    int64_t high = 0;          /* denied */
    for (int64_t step = 1; high == 0; step *= 2) {
        if (step > LARGEST_ESTIMATE - low) {
            struct policy_limit none = no_limit();
            none.is_estimated = true;
            return none;
        }
        if (is_denied(probe, low + step)) {
            high = low + step;
        } else {
            low += step;
        }
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (is_denied(probe, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    struct policy_limit limit = limit_at(probe, high);
    limit.is_estimated = true;
    return limit;
}

struct policy_limit limit_find(const struct limit_search *search, enum run_limit counter,
                               int64_t from, int64_t now)
{
    struct arena arena = {0};
    struct limit_probe probe = {.search = search, .counter = counter, .from = from};
    search->set(search->context, counter, from);
    evaluation_begin(&probe.evaluation, search->request, &arena);
    struct policy_limit limit;
    if (!search->is_allowed && is_denied(&probe, from)) {
        limit = limit_at(&probe, from);
    } else {
        collect_all(&probe);
        limit = probe.is_complex ? estimate(&probe) : try_points(&probe);
    }
    search->set(search->context, counter, now);
    arena_fini(&arena);
    return limit;
}
