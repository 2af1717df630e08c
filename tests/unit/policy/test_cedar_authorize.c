// SPDX-License-Identifier: Apache-2.0
/* Deciding (language reference, 5.6 and 8): who wins, sets with an index, threads, small stacks. */
#include "cedar_help.h"

#include "base/buf.h"
#include "base/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct cedar_question plain_question(const char *context)
{
    return question_of("Agent::\"a\"", "Action::\"agent.iterate\"", "Loop::\"l\"", context);
}

/** Whether a text allows the plain question; the entities know the agent. */
static bool is_allowed(const char *text, const char *context)
{
    static const char agent[] = "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},\"parents\":[],"
                                "\"attrs\":{\"max_iterations\":3,\"trust\":1}}]";
    struct cedar_policies *policies = policies_of(text);
    struct cedar_entities *entities = entities_of(agent);
    struct cedar_question question = plain_question(context);
    bool is = ask(&question, policies, entities).is_allowed;
    question_free(&question);
    cedar_entities_free(entities);
    cedar_policies_unref(policies);
    return is;
}

#define PERMIT "permit(principal, action, resource);"
#define FORBID "forbid(principal, action, resource);"
#define BROKEN "(principal, action, resource) when { context.none };"

TEST(test_nothing_is_allowed_by_itself)
{
    assert_false(is_allowed("", "{}"));
    assert_true(is_allowed(PERMIT, "{}"));
    assert_false(is_allowed(PERMIT FORBID, "{}"));
    assert_false(is_allowed(FORBID PERMIT, "{}"));
}

TEST(test_policies_that_fail_are_skipped_and_listed)
{
    struct cedar_policies *policies =
        policies_of("forbid" BROKEN PERMIT "permit" BROKEN PERMIT "forbid(principal, action, "
                    "resource) when { false };");
    struct cedar_question question = plain_question("{}");
    struct cedar_answer answer = ask(&question, policies, NULL);
    assert_true(answer.is_allowed);
    assert_int_equal(answer.reason_count, 2);
    assert_int_equal(answer.reasons[0], 1);
    assert_int_equal(answer.reasons[1], 3);
    assert_int_equal(answer.error_count, 2);
    assert_int_equal(answer.errors[0].policy, 0);
    assert_int_equal(answer.errors[1].policy, 2);
    assert_int_equal(answer.errors[0].code, CEDAR_FAIL_NO_ATTRIBUTE);
    question_free(&question);
    cedar_policies_unref(policies);
}

TEST(test_a_denial_names_the_forbids_only)
{
    struct cedar_policies *policies = policies_of(PERMIT FORBID PERMIT FORBID "permit" BROKEN);
    struct cedar_question question = plain_question("{}");
    struct cedar_answer answer = ask(&question, policies, NULL);
    assert_false(answer.is_allowed);
    assert_int_equal(answer.reason_count, 2);
    assert_int_equal(answer.reasons[0], 1);
    assert_int_equal(answer.reasons[1], 3);
    assert_int_equal(answer.error_count, 1);
    question_free(&question);
    cedar_policies_unref(policies);
}

TEST(test_scopes_never_fail)
{
    struct cedar_policies *policies =
        policies_of("forbid(principal in G::\"g\", action, resource) when { 1 };"
                    "forbid(principal is User, action, resource) when { 1 };"
                    "forbid(principal, action in [], resource) when { 1 };"
                    "permit(principal is Agent in Agent::\"a\", action in "
                    "Action::\"agent.iterate\", resource);");
    struct cedar_question question = plain_question("{}");
    struct cedar_answer answer = ask(&question, policies, NULL);
    assert_true(answer.is_allowed);
    assert_int_equal(answer.error_count, 0);
    question_free(&question);
    cedar_policies_unref(policies);
}

TEST(test_limits_are_written_as_forbids)
{
    static const char text[] = "@id(\"base\") permit (principal, action, resource);\n"
                               "@id(\"limit.iterations\") @reason(\"iteration budget used up\")\n"
                               "forbid (principal, action == Action::\"agent.iterate\", resource)\n"
                               "    unless { context has iteration && context.iteration < 100 };\n"
                               "@id(\"limit.cost\") forbid (principal, action, resource)\n"
                               "    unless { context.cost_usd.lessThan(decimal(\"5.00\")) };\n";
#define COST(iteration, cost)                                                            \
    "{\"iteration\":" iteration ",\"cost_usd\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":" \
    "\"" cost "\"}}}"
    assert_true(is_allowed(text, COST("0", "0.0")));
    assert_true(is_allowed(text, COST("99", "4.9999")));
    assert_false(is_allowed(text, COST("100", "0.0")));
    assert_false(is_allowed(text, COST("0", "5.0")));
    assert_false(is_allowed(text, "{}"));               /* `has` guards the iteration, */
    assert_true(is_allowed(text, "{\"iteration\":1}")); /* nothing the cost: it fails open. */
}

TEST(test_limits_may_come_from_attributes)
{
    static const char text[] = "permit (principal, action, resource);"
                               "forbid (principal, action == Action::\"agent.iterate\", resource)"
                               "    unless { context.iteration < principal.max_iterations };"
                               "forbid (principal, action, resource == Loop::\"l\")"
                               "    unless { context.approved || principal.trust >= 3 };";
    assert_true(is_allowed(text, "{\"iteration\":2,\"approved\":true}"));
    assert_false(is_allowed(text, "{\"iteration\":3,\"approved\":true}"));
    assert_false(is_allowed(text, "{\"iteration\":2,\"approved\":false}"));
}

/* ---- Sets with an index --------------------------------------------------------------------- */

static unsigned below(struct random *random, unsigned count)
{
    return (unsigned)random_below(random, count);
}

static const char *const names[] = {"User::\"a\"",     "User::\"b\"",     "User::\"lost\"",
                                    "Group::\"g0\"",   "Group::\"g1\"",   "NS::User::\"a\"",
                                    "Action::\"v\"",   "Action::\"w\"",   "NS::Action::\"v\"",
                                    "Action::\"all\"", "Action::\"lost\""};
#define ENTITY_NAMES 6 /* the others are actions */

static const char family[] =
    "[{\"uid\":{\"type\":\"User\",\"id\":\"a\"},\"attrs\":{},\"parents\":[{\"type\":\"Group\","
    "\"id\":"
    "\"g1\"}]},"
    "{\"uid\":{\"type\":\"User\",\"id\":\"b\"},\"attrs\":{},\"parents\":[{\"type\":\"Group\","
    "\"id\":"
    "\"g0\"},{\"type\":\"User\",\"id\":\"a\"}]},"
    "{\"uid\":{\"type\":\"Group\",\"id\":\"g1\"},\"attrs\":{},\"parents\":[{\"type\":\"Group\","
    "\"id\":\"g0\"}]},"
    "{\"uid\":{\"type\":\"Action\",\"id\":\"v\"},\"attrs\":{},\"parents\":[{\"type\":\"Action\","
    "\"id\":\"all\"}]},"
    "{\"uid\":{\"type\":\"NS::Action\",\"id\":\"v\"},\"attrs\":{},\"parents\":[{\"type\":"
    "\"Action\","
    "\"id\":\"all\"},{\"type\":\"Action\",\"id\":\"w\"}]}]";

static const char *any_entity(struct random *random)
{
    return names[below(random, ENTITY_NAMES)];
}

static const char *any_action(struct random *random)
{
    return names[ENTITY_NAMES + below(random, (unsigned)COUNT(names) - ENTITY_NAMES)];
}

static void write_entity_scope(struct random *random, const char *variable, struct buf *ret_text)
{
    static const char *const types[] = {"User", "Group", "NS::User"};
    unsigned kind = below(random, 6);
    buf_append_string(ret_text, variable);
    if (kind == 0) {
        buf_printf(ret_text, " == %s", any_entity(random));
    } else if (kind == 1) {
        buf_printf(ret_text, " in %s", any_entity(random));
    } else if (kind == 2) {
        buf_printf(ret_text, " is %s", types[below(random, COUNT(types))]);
    } else if (kind == 3) {
        buf_printf(ret_text, " is %s in %s", types[below(random, COUNT(types))],
                   any_entity(random));
    }
}

static void write_action_scope(struct random *random, struct buf *ret_text)
{
    unsigned kind = below(random, 5);
    buf_append_string(ret_text, ", action");
    if (kind == 0) {
        buf_printf(ret_text, " == %s", any_action(random));
    } else if (kind == 1) {
        buf_printf(ret_text, " in %s", any_action(random));
    } else if (kind == 2) {
        buf_append_string(ret_text, " in [");
        for (unsigned i = below(random, 4); i > 0; i--) {
            buf_printf(ret_text, "%s, ", any_action(random));
        }
        buf_append_string(ret_text, "]");
    }
    buf_append_string(ret_text, ", ");
}

static void write_policy(struct random *random, struct buf *ret_text)
{
    static const char *const conditions[] = {"", "", " when { context.none }", " when { false }"};
    buf_append_string(ret_text, below(random, 40) == 0 ? "forbid(" : "permit(");
    write_entity_scope(random, "principal", ret_text);
    write_action_scope(random, ret_text);
    write_entity_scope(random, "resource", ret_text);
    buf_printf(ret_text, ")%s;\n", conditions[below(random, COUNT(conditions))]);
}

/** The answer to a set must follow from the answers to each of its policies alone. */
static void check_against_singles(const struct cedar_question *question,
                                  const struct cedar_policies *policies,
                                  struct cedar_policies *const *singles,
                                  const struct cedar_entities *entities)
{
    struct cedar_question other = *question;
    other.evaluator = cedar_evaluator_new();
    struct cedar_answer answer = ask(question, policies, entities);
    size_t reasons = 0;
    size_t errors = 0;
    bool is_forbidden =
        answer.reason_count > 0 && cedar_policies_is_forbid(policies, answer.reasons[0]);
    for (uint32_t i = 0; i < cedar_policies_count(policies); i++) {
        struct cedar_answer single = ask(&other, singles[i], entities);
        bool is_forbid = cedar_policies_is_forbid(policies, i);
        assert_true(single.reason_count == 0 || !is_forbid || is_forbidden);
        if (single.reason_count > 0 && is_forbid == is_forbidden) {
            assert_true(reasons < answer.reason_count);
            assert_int_equal(answer.reasons[reasons++], i);
        }
        if (single.error_count > 0) {
            assert_true(errors < answer.error_count);
            assert_int_equal(answer.errors[errors++].policy, i);
        }
    }
    assert_int_equal(reasons, answer.reason_count);
    assert_int_equal(errors, answer.error_count);
    assert_int_equal(answer.is_allowed, reasons > 0 && !is_forbidden);
    cedar_evaluator_free(other.evaluator);
}

static void check_random_set(struct random *random, unsigned count,
                             const struct cedar_entities *entities)
{
    struct buf all = {0};
    struct cedar_policies **singles = calloc(count + 1, sizeof(*singles));
    assert_non_null(singles);
    for (unsigned i = 0; i < count; i++) {
        struct buf one = {0};
        write_policy(random, &one);
        singles[i] = policies_of(buf_string(&one));
        buf_append(&all, one.data, one.len);
        buf_fini(&one);
    }
    struct cedar_policies *policies = policies_of(buf_string(&all));
    for (int i = 0; i < 12; i++) {
        struct cedar_question question =
            question_of(any_entity(random), any_action(random), any_entity(random), "{}");
        check_against_singles(&question, policies, singles, i % 4 == 3 ? NULL : entities);
        question_free(&question);
    }
    cedar_policies_unref(policies);
    for (unsigned i = 0; i < count; i++) {
        cedar_policies_unref(singles[i]);
    }
    free(singles);
    buf_fini(&all);
}

TEST(test_a_set_decides_as_its_policies_do_one_by_one)
{
    struct cedar_entities *entities = entities_of(family);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = random_seeded(seed);
        unsigned count = below(&random, seed % 10 == 0 ? 300 : 40);
        check_random_set(&random, count, entities);
    }
    cedar_entities_free(entities);
}

/* ---- Threads -------------------------------------------------------------------------------- */

#define THREADS   4
#define DECISIONS 2000

struct shared {
    struct cedar_policies *policies;
    struct cedar_entities *entities;
};

static void *decide_often(void *argument)
{
    const struct shared *shared = argument;
    struct cedar_policies *policies = shared->policies; /* with a reference of this thread */
    struct cedar_question question =
        question_of("User::\"b\"", "NS::Action::\"v\"", "Group::\"g1\"", "{}");
    struct cedar_answer first = ask(&question, policies, shared->entities);
    size_t reasons = first.reason_count;
    size_t errors = first.error_count;
    size_t differences = 0;
    for (int i = 0; i < DECISIONS; i++) {
        struct cedar_answer answer = ask(&question, policies, shared->entities);
        differences += answer.reason_count != reasons || answer.error_count != errors;
        if (i % 64 == 0) {
            cedar_policies_unref(cedar_policies_ref(policies));
        }
    }
    question_free(&question);
    cedar_policies_unref(policies);
    return (void *)(uintptr_t)(differences + (reasons == 0));
}

TEST(test_many_threads_decide_with_one_set)
{
    struct buf text = {0};
    struct random random = random_seeded(4711);
    for (int i = 0; i < 200; i++) {
        write_policy(&random, &text);
    }
    struct shared shared = {.policies = policies_of(buf_string(&text)),
                            .entities = entities_of(family)};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        cedar_policies_ref(shared.policies);
        assert_int_equal(pthread_create(&threads[i], NULL, decide_often, &shared), 0);
    }
    cedar_policies_unref(shared.policies); /* One of the threads is the last to let go. */
    for (int i = 0; i < THREADS; i++) {
        void *differences = NULL;
        assert_int_equal(pthread_join(threads[i], &differences), 0);
        assert_null(differences);
    }
    cedar_entities_free(shared.entities);
    buf_fini(&text);
}

/* ---- Stack ---------------------------------------------------------------------------------- */

/* Sanitizers make frames several times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES ((size_t)1 << 20)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_BYTES ((size_t)1 << 20)
#endif
#endif
#ifndef STACK_BYTES
#define STACK_BYTES ((size_t)256 << 10)
#endif

static void repeat(struct buf *ret_text, const char *text, int count)
{
    for (int i = 0; i < count; i++) {
        buf_append_string(ret_text, text);
    }
}

/** Parse and decide something that is nested as deep as is allowed. */
static void *go_deep(void *argument)
{
    static const struct {
        const char *open, *inner, *close;
    } shapes[] = {
        {"(", "true", ")"},
        {"[", "1", "]"},
        {"{a: ", "1", "}"},
        {"!(", "context.a", ")"},
        {"[].contains(", "1", ")"},
        {"if true then true else ", "true", ""},
        {"", "context", ".a"},
        {"ip(", "\"::1\"", ")"},
        {"principal is U in (", "action", ")"},
    };
    (void)argument;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct buf text = {0};
        int depth = CEDAR_LIMIT_DEPTH - 2;
        buf_append_string(&text, "permit(principal, action, resource) when { ");
        repeat(&text, shapes[i].open, depth);
        buf_append_string(&text, shapes[i].inner);
        repeat(&text, shapes[i].close, depth);
        buf_append_string(&text, " };");
        struct cedar_policies *policies = policies_of(buf_string(&text));
        struct cedar_question question = plain_question("{}");
        ask(&question, policies, NULL);
        question_free(&question);
        cedar_policies_unref(policies);
        buf_fini(&text);
    }
    return NULL;
}

TEST(test_a_stack_of_256_kib_is_enough)
{
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, go_deep, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}
