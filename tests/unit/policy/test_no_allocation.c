// SPDX-License-Identifier: Apache-2.0
/*
 * Proves that deciding allocates nothing once an evaluator has seen the policies. The allocator's
 * functions are replaced by ones that count, for the C library as well. Sanitizers replace them
 * themselves, and make each allocation of an arena one of its own: there the tests are skipped.
 */
#include "../../support/sanitizer.h"
#include "cedar_help.h"
#include "policy/subject.h"

#include <stdio.h>
#include <stdlib.h>

static size_t allocations;

#if !HAS_SANITIZER
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}
#endif

static const char entities_json[] =
    "[{\"uid\":{\"type\":\"User\",\"id\":\"ann\"},\"attrs\":{\"age\":30,\"name\":\"ann\"},"
    "\"parents\":[{\"type\":\"Team\",\"id\":\"red\"}],\"tags\":{\"shift\":\"night\"}},"
    "{\"uid\":{\"type\":\"Team\",\"id\":\"red\"},\"attrs\":{},\"parents\":[]}]";

static const char context_json[] =
    "{\"n\":7,\"path\":\"/srv/src/a.c\",\"inner\":{\"deep\":[1,2,3]},"
    "\"cost\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.25\"}}}";

static struct cedar_question ann_views(void)
{
    return question_of("User::\"ann\"", "Action::\"view\"", "File::\"a\"", context_json);
}

/** Allocations of decisions after the first two: the second may still bring its memory together. */
static size_t count_allocations(const char *text)
{
    struct cedar_policies *policies = policies_of(text);
    struct cedar_entities *entities = entities_of(entities_json);
    struct cedar_question question = ann_views();
    ask(&question, policies, entities);
    ask(&question, policies, entities);
    size_t before = allocations;
    for (int i = 0; i < 3; i++) {
        ask(&question, policies, entities);
    }
    size_t count = allocations - before;
    question_free(&question);
    cedar_entities_free(entities);
    cedar_policies_unref(policies);
    return count;
}

TEST(the_counter_counts)
{
    size_t before = allocations;
    cedar_evaluator_free(cedar_evaluator_new());
    assert_int_equal(allocations - before, 1);
}

TEST(looking_at_what_is_there_allocates_nothing)
{
    assert_int_equal(
        count_allocations("permit (principal in Team::\"red\", action, resource is File)\n"
                          "when { context.n < 10 && context.path like \"/srv/*.c\" }\n"
                          "unless { principal.age > 65 || !(principal has name) };\n"
                          "forbid (principal, action, resource)\n"
                          "when { principal.hasTag(\"shift\") && principal.getTag(\"shift\") == "
                          "\"day\" };\n"
                          "forbid (principal, action, resource)\n"
                          "unless { context.cost.lessThan(decimal(\"5.0\")) };\n"),
        0);
}

TEST(making_values_allocates_nothing)
{
    assert_int_equal(count_allocations("permit (principal, action, resource)\n"
                                       "when { [context.n, 1, 2, 3].contains(7) &&\n"
                                       "{a: context.n, b: [principal, action]}.a == 7 &&\n"
                                       "context.inner.deep.containsAll([1, context.n - 5]) };\n"
                                       "permit (principal, action, resource)\n"
                                       "when { ip(if context.n == 7 then \"10.0.0.1\" else \"::1\")"
                                       ".isInRange(ip(\"10.0.0.0/8\")) };\n"),
                     0);
}

TEST(failing_allocates_nothing)
{
    assert_int_equal(count_allocations("forbid (principal, action, resource)\n"
                                       "when { context.nothing > 1 };\n"
                                       "forbid (principal, action, resource)\n"
                                       "when { context.n + 9223372036854775807 > 1 };\n"
                                       "permit (principal, action, resource)\n"
                                       "when { context.path < 3 };\n"),
                     0);
}

TEST(deciding_among_many_allocates_nothing)
{
    static char text[1000 * 96];
    size_t len = 0;
    for (int i = 0; i < 1000; i++) {
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len,
                             i % 2 == 0 ? "permit (principal == User::\"u%d\", action, resource);\n"
                                        : "permit (principal, action, resource) when { %d > 0 };\n",
                             i);
    }
    assert_int_equal(count_allocations(text), 0);
}

TEST(the_gate_of_an_iteration_allocates_nothing)
{
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    assert_int_equal(ruleset_make(RULESET_BUILT_IN, NULL, 0, NULL, NULL, &ruleset, &err), 0);
    struct policy_run run = {
        .agent_id = "a", .run_id = "r", .max_iterations = 10, .max_tokens = 1000};
    struct subject *subject = subject_new(&run, ruleset);
    struct policy_request request = {.action = ACTION_ITERATE};
    struct policy_limit limits[RUN_LIMIT_COUNT];
    struct policy_verdict verdict;
    subject_decide(subject, &request, &verdict);
    subject_find_limits(subject, &request, limits);
    size_t before = allocations;
    for (request.iteration = 1; request.iteration < 10; request.iteration++) {
        subject_decide(subject, &request, &verdict);
        assert_int_equal(verdict.outcome, VERDICT_ALLOW);
        subject_find_limits(subject, &request, limits);
    }
    assert_int_equal(allocations - before, 0);
    subject_free(subject);
    ruleset_unref(ruleset);
}

int main(void)
{
#if HAS_SANITIZER
    puts("skipped: a sanitizer's own allocator cannot be counted");
    return 77;
#endif
    return test_run(NULL, NULL);
}
