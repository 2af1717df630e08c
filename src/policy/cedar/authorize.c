// SPDX-License-Identifier: Apache-2.0
/*
 * The authorizer (language reference, "Authorization"): every policy that can apply is evaluated;
 * satisfied forbids decide before satisfied permits, and what fails is skipped and listed.
 */
#include "base/memory.h"
#include "policy/cedar/evaluate.h"
#include "policy/cedar/index.h"
#include "policy/cedar/policies.h"
#include "policy/cedar/value/sort.h"

#include <stdlib.h>
#include <string.h>

struct list {
    uint32_t *policies;
    size_t count;
    size_t room;
};

struct cedar_evaluator {
    struct evaluation evaluation; /* of the decision on its way */
    const struct cedar_policies *policies;
    struct arena arena;
    struct list permits;
    struct list forbids;
    enum cedar_failure_code failure; /* of the policy on its way */
    struct cedar_failure *failures;
    size_t failure_count;
    size_t failure_room;
};

struct cedar_evaluator *cedar_evaluator_new(void)
{
    return memory_new_zero(1, sizeof(struct cedar_evaluator));
}

void cedar_evaluator_free(struct cedar_evaluator *evaluator)
{
    if (evaluator == NULL) {
        return;
    }
    arena_fini(&evaluator->arena);
    free(evaluator->permits.policies);
    free(evaluator->forbids.policies);
    free(evaluator->failures);
    free(evaluator);
}

static void append(struct list *list, uint32_t policy)
{
    if (list->count == list->room) {
        list->room = list->room * 2 + 16;
        list->policies = memory_resize(list->policies, list->room, sizeof(*list->policies));
    }
    list->policies[list->count++] = policy;
}

static void append_failure(struct cedar_evaluator *evaluator, uint32_t policy)
{
    if (evaluator->failure_count == evaluator->failure_room) {
        evaluator->failure_room = evaluator->failure_room * 2 + 16;
        evaluator->failures = memory_resize(evaluator->failures, evaluator->failure_room,
                                            sizeof(*evaluator->failures));
    }
    evaluator->failures[evaluator->failure_count++] = (struct cedar_failure){
        .policy = policy,
        .code = evaluator->failure,
        .got = evaluator->evaluation.got,
        .expression = evaluator->evaluation.failed,
    };
}

static inline void try_policy(uint32_t index, void *context)
{
    struct cedar_evaluator *evaluator = context;
    const struct policy *policy = evaluator->policies->policies[index];
    switch (evaluate_policy(&evaluator->evaluation, policy, &evaluator->failure)) {
    case POLICY_NOT_SATISFIED:
        break;
    case POLICY_SATISFIED:
        append(policy->is_forbid ? &evaluator->forbids : &evaluator->permits, index);
        break;
    case POLICY_FAILED:
        append_failure(evaluator, index);
        break;
    }
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int compare_failures(const void *left, const void *right)
{
    return compare_numbers(&((const struct cedar_failure *)left)->policy,
                           &((const struct cedar_failure *)right)->policy);
}

/** The index gives policies in its own order, and those of several actions more than once. */
static void put_in_order(struct list *list)
{
    if (list->count < 2) {
        return;
    }
    cedar_sort(list->policies, list->count, sizeof(*list->policies), compare_numbers);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++) {
        if (list->policies[i] != list->policies[kept - 1]) {
            list->policies[kept++] = list->policies[i];
        }
    }
    list->count = kept;
}

static void put_failures_in_order(struct cedar_evaluator *evaluator)
{
    if (evaluator->failure_count < 2) {
        return;
    }
    cedar_sort(evaluator->failures, evaluator->failure_count, sizeof(*evaluator->failures),
               compare_failures);
    size_t kept = 1;
    for (size_t i = 1; i < evaluator->failure_count; i++) {
        if (evaluator->failures[i].policy != evaluator->failures[kept - 1].policy) {
            evaluator->failures[kept++] = evaluator->failures[i];
        }
    }
    evaluator->failure_count = kept;
}

static void try_all(struct cedar_evaluator *evaluator, const struct cedar_policies *policies)
{
    if (policies->index == NULL) {
        for (uint32_t i = 0; i < policies->count; i++) {
            if (!policy_is_for_others(policies->policies[i], evaluator->evaluation.request)) {
                try_policy(i, evaluator);
            }
        }
        return;
    }
    policy_index_each(policies->index, &evaluator->evaluation, try_policy, evaluator);
    put_in_order(evaluator->forbids.count > 0 ? &evaluator->forbids : &evaluator->permits);
    put_failures_in_order(evaluator);
}

/** What needed several chunks gets one as large as all, so that the next time needs no other. */
static void empty_arena(struct arena *arena)
{
    size_t size = arena_size(arena);
    if (size == 0) {
        return;
    }
    arena_clear(arena);
    if (arena_size(arena) < size) {
        arena_fini(arena);
        arena_new(arena, size);
        arena_clear(arena);
    }
}

void cedar_authorize(struct cedar_evaluator *evaluator, const struct cedar_policies *policies,
                     const struct cedar_request *request, struct cedar_answer *ret_answer)
{
    empty_arena(&evaluator->arena);
    evaluator->policies = policies;
    evaluator->permits.count = 0;
    evaluator->forbids.count = 0;
    evaluator->failure_count = 0;
    evaluation_begin(&evaluator->evaluation, request, &evaluator->arena);
    try_all(evaluator, policies);
    bool is_forbidden = evaluator->forbids.count > 0;
    const struct list *reasons = is_forbidden ? &evaluator->forbids : &evaluator->permits;
    *ret_answer = (struct cedar_answer){
        .is_allowed = !is_forbidden && evaluator->permits.count > 0,
        .reasons = reasons->policies,
        .reason_count = reasons->count,
        .errors = evaluator->failures,
        .error_count = evaluator->failure_count,
    };
}
