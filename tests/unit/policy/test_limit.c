// SPDX-License-Identifier: Apache-2.0
/*
 * Finding limits: shapes of policies with their limit, and policies by chance
 * whose limit the authorizer knows by trying every value.
 */
#include "policy/limit.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/random.h"
#include "policy/cedar/entities.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERMIT "permit (principal, action, resource);\n"
#define FORBID "forbid (principal, action, resource) "

enum { ITERATION, TOKENS, COST, ELAPSED, INPUT, ATTRIBUTE_COUNT };
static const char *const names[ATTRIBUTE_COUNT] = {"iteration", "tokens", "cost_usd", "elapsed_s",
                                                   "input"};
static const char *const input_names[] = {"iteration"};

static const char entities_json[] =
    "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},\"parents\":[],"
    "\"attrs\":{\"max_iterations\":250,\"max_cost_usd\":{\"__extn\":{\"fn\":\"decimal\","
    "\"arg\":\"7.5\"}}},\"tags\":{\"iterations\":60}}]";

/** Policies, and a request to ask them about. */
struct limit_world {
    struct cedar_policies *policies;
    struct cedar_entities *entities;
    struct cedar_uid *agent, *action, *run;
    struct cedar_context *context, *input;
    struct cedar_evaluator *evaluator;
    struct cedar_request request;
};

static void set(void *context, enum run_limit counter, int64_t value)
{
    static const size_t attributes[] = {ITERATION, TOKENS, COST, ELAPSED};
    struct limit_world *world = context;
    bool is_cost = counter == RUN_LIMIT_COST;
    cedar_context_set(world->context, attributes[counter],
                      is_cost ? cedar_decimal(value) : cedar_long(value));
    if (counter == RUN_LIMIT_ITERATIONS) {
        cedar_context_set(world->input, 0, cedar_long(value));
    }
}

static struct limit_world make(const char *text)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    if (cedar_builder_add(builder, "t.cedar", text, strlen(text), NULL, &err) < 0) {
        fail_msg("%s\n%s", err.message, text);
    }
    struct limit_world world = {
        .policies = cedar_builder_finish(builder),
        .entities = cedar_entities_parse(entities_json, strlen(entities_json), NULL, &err),
        .agent = cedar_uid_new("Agent", "a", NULL),
        .action = cedar_uid_new("Action", "iterate", NULL),
        .run = cedar_uid_new("Run", "r", NULL),
        .context = cedar_context_new(names, ATTRIBUTE_COUNT),
        .input = cedar_context_new(input_names, 1),
        .evaluator = cedar_evaluator_new(),
    };
    assert_non_null(world.entities);
    cedar_context_set(world.context, INPUT, cedar_object(CEDAR_RECORD, &world.input->record));
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        set(&world, i, 0);
    }
    world.request = (struct cedar_request){.principal = world.agent,
                                           .action = world.action,
                                           .resource = world.run,
                                           .context = world.context,
                                           .entities = world.entities};
    return world;
}

static void discard(struct limit_world *world)
{
    cedar_policies_unref(world->policies);
    cedar_entities_free(world->entities);
    cedar_uid_free(world->agent);
    cedar_uid_free(world->action);
    cedar_uid_free(world->run);
    cedar_context_free(world->context);
    cedar_context_free(world->input);
    cedar_evaluator_free(world->evaluator);
}

static struct policy_limit find_in(struct limit_world *world, enum run_limit counter, int64_t from,
                                   const uint32_t *only)
{
    struct limit_search search = {
        .evaluator = world->evaluator,
        .policies = world->policies,
        .request = &world->request,
        .set = set,
        .context = world,
        .only = only,
    };
    return limit_find(&search, counter, from, from);
}

static struct policy_limit find_from(const char *text, enum run_limit counter, int64_t from)
{
    struct limit_world world = make(text);
    struct policy_limit limit = find_in(&world, counter, from, NULL);
    discard(&world);
    return limit;
}

static struct policy_limit find(const char *text)
{
    return find_from(text, RUN_LIMIT_ITERATIONS, 0);
}

#define NONE (-1)

/** A row of a table: the text, and the first value that is denied. */
struct limit_row {
    const char *text;
    int64_t value; /* or NONE */
};

static void expect(const struct limit_row *rows, size_t count, enum run_limit counter,
                   bool is_estimated)
{
    for (size_t i = 0; i < count; i++) {
        struct policy_limit limit = find_from(rows[i].text, counter, 0);
        bool is_right = limit.is_known ? limit.limit == limit_from_cedar(counter, rows[i].value)
                                       : rows[i].value == NONE;
        if (!is_right || limit.is_estimated != is_estimated) {
            fail_msg("%s\ngives %d %lld%s", rows[i].text, limit.is_known, (long long)limit.limit,
                     limit.is_estimated ? " estimated" : "");
        }
    }
}

TEST(comparisons_give_the_exact_number)
{
    static const struct limit_row rows[] = {
        {PERMIT FORBID "when { context.iteration >= 100 };", 100},
        {PERMIT FORBID "when { context.iteration > 100 };", 101},
        {PERMIT FORBID "when { context.iteration == 100 };", 100},
        {PERMIT FORBID "when { 100 <= context.iteration };", 100},
        {PERMIT FORBID "when { 100 < context.iteration };", 101},
        {PERMIT FORBID "unless { context.iteration < 100 };", 100},
        {PERMIT FORBID "unless { context.iteration <= 100 };", 101},
        {PERMIT FORBID "unless { context has iteration && context.iteration < 100 };", 100},
        {PERMIT FORBID "unless { context.iteration != 100 };", 100},
        {PERMIT FORBID "when { !(context.iteration < 100) };", 100},
        {PERMIT FORBID "when { (context.iteration >= 100) == true };", 100},
        {PERMIT FORBID "when { if context.iteration < 7 then false else true };", 7},
        {PERMIT FORBID "when { context.input.iteration >= 30 };", 30},
        {PERMIT FORBID "when { context.iteration >= 100 - 1 };", 99},
        {PERMIT FORBID "when { context.iteration >= principal.max_iterations };", 250},
        {PERMIT FORBID "when { context.iteration >= principal.max_iterations - 50 };", 200},
        {PERMIT FORBID "when { context.iteration >= principal.getTag(\"iterations\") };", 60},
        {PERMIT FORBID "when { context.iteration > -1 };", 0},
        {PERMIT FORBID "when { context.iteration >= 9223372036854775807 };", INT64_MAX},
        {PERMIT FORBID "when { context.iteration > 9223372036854775807 };", NONE},
        {PERMIT, NONE},
        {"", 0},
    };
    expect(rows, COUNT(rows), RUN_LIMIT_ITERATIONS, false);
}

TEST(permits_with_an_upper_bound_are_limits)
{
    static const struct limit_row rows[] = {
        {"permit (principal, action, resource) when { context.iteration < 50 };", 50},
        {"permit (principal, action, resource)\n"
         "when { context.iteration <= principal.max_iterations };",
         251},
        {"permit (principal, action, resource) when { context.iteration < 50 };\n"
         "permit (principal, action, resource) when { context.iteration < 80 };",
         80},
    };
    expect(rows, COUNT(rows), RUN_LIMIT_ITERATIONS, false);
    assert_int_equal(find(rows[0].text).policy, -1);
}

TEST(windows_are_not_missed)
{
    static const struct limit_row rows[] = {
        {PERMIT FORBID "when { 10 < context.iteration && context.iteration < 20 };\n" FORBID
                       "unless { 75 > context.iteration };",
         11},
        {PERMIT FORBID "when { context.iteration == 7 || context.iteration == 3 };", 3},
        {PERMIT FORBID "when { context.iteration > 4 && context.iteration < 6 };", 5},
        {PERMIT FORBID "when { context.iteration > 4 && context.iteration < 5 };", NONE},
    };
    expect(rows, COUNT(rows), RUN_LIMIT_ITERATIONS, false);
}

TEST(what_has_nothing_to_do_with_the_counter_does_not_matter)
{
    static const struct limit_row rows[] = {
        {PERMIT FORBID "when { context.tokens >= 5 };", NONE},
        {PERMIT FORBID "when { context.input has iteration && false };", NONE},
        {PERMIT FORBID "when { context.input has other && context.input.other > 5 };", NONE},
        {PERMIT FORBID "when { context has input.iteration && context.tokens > 5 };", NONE},
        {PERMIT FORBID "when { context.iteration == \"100\" };", NONE},
        {PERMIT FORBID "when { context.iteration >= principal.no_such };", NONE},
        {PERMIT "forbid (principal == Agent::\"b\", action, resource)\n"
                "when { context.iteration >= 5 };",
         NONE},
        {PERMIT "forbid (principal, action == Action::\"verify\", resource)\n"
                "when { context.iteration >= 5 };",
         NONE},
    };
    expect(rows, COUNT(rows), RUN_LIMIT_ITERATIONS, false);
}

TEST(other_uses_of_the_counter_are_estimated)
{
    static const struct limit_row rows[] = {
        {PERMIT FORBID "when { context.iteration * 2 + 1 > 300 };", 150},
        {PERMIT FORBID "when { context.iteration + 1 > context.iteration &&\n"
                       "context.iteration >= 12 };",
         12},
        {PERMIT FORBID "when { context.iteration >= context.iteration };", 0},
        {PERMIT FORBID "unless { [0, 1, 2, 3].contains(context.iteration) };", 4},
        {PERMIT FORBID "when { if context == {} then false else context.iteration >= 9 };", 9},
        {PERMIT FORBID "unless { [context].contains(context) && context.iteration < 9 };", 9},
        {PERMIT FORBID "when { context.input == {\"iteration\": 1} };", 1},
        {PERMIT FORBID "when { {\"a\": {\"b\": context.iteration}}.a.b >= 5 };", 5},
        {PERMIT FORBID "when { {\"a\": {\"b\": {\"c\": context}}}.a.b.c.iteration >= 5 };", 5},
        {PERMIT FORBID "when { (if context.iteration < 5 then {\"a\": {}} else\n"
                       "{\"a\": {\"b\": 1}}).a has b };",
         5},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        /* Denied at once is no estimate. */
        expect(&rows[i], 1, RUN_LIMIT_ITERATIONS, rows[i].value > 0);
    }
}

TEST(an_estimate_ends_somewhere)
{
    struct policy_limit limit = find(PERMIT FORBID "when { context.iteration + 0 < 0 };");
    assert_false(limit.is_known);
    assert_true(limit.is_estimated);
    assert_int_equal(limit.policy, -1);
    limit = find_from(PERMIT FORBID "when { context.tokens + 0 < 0 };", RUN_LIMIT_TOKENS,
                      INT64_C(1) << 60);
    assert_false(limit.is_known);
}

TEST(money_is_compared_both_ways_round)
{
    static const struct limit_row rows[] = {
        {PERMIT FORBID "when { context.cost_usd.greaterThanOrEqual(decimal(\"5.0\")) };", 50000},
        {PERMIT FORBID "when { context.cost_usd.greaterThan(decimal(\"5.0\")) };", 50001},
        {PERMIT FORBID "when { decimal(\"5.0\").lessThanOrEqual(context.cost_usd) };", 50000},
        {PERMIT FORBID "when { decimal(\"5.0\").lessThan(context.cost_usd) };", 50001},
        {PERMIT FORBID "unless { context.cost_usd.lessThan(decimal(\"5.00\")) };", 50000},
        {PERMIT FORBID "unless { decimal(\"5.0\").greaterThan(context.cost_usd) };", 50000},
        {PERMIT FORBID "when { context.cost_usd == decimal(\"0.1\") };", 1000},
        {PERMIT FORBID "when { context.cost_usd.greaterThanOrEqual(principal.max_cost_usd) };",
         75000},
        {PERMIT FORBID "when { context.cost_usd.greaterThan(decimal(\"0.0000\")) };", 1},
        {PERMIT FORBID "when { context.iteration > 5 };", NONE},
    };
    expect(rows, COUNT(rows), RUN_LIMIT_COST, false);
}

TEST(tokens_and_time_have_limits_of_their_own)
{
    static const char text[] = PERMIT FORBID
        "when { context.tokens >= 9000 || context.elapsed_s > 60 || context.iteration >= 7 };";
    assert_int_equal(find_from(text, RUN_LIMIT_ITERATIONS, 0).limit, 7);
    assert_int_equal(find_from(text, RUN_LIMIT_TOKENS, 0).limit, 9000);
    assert_int_equal(find_from(text, RUN_LIMIT_TIME, 0).limit, 61 * NS_PER_S);
    assert_false(find_from(text, RUN_LIMIT_COST, 0).is_known);
}

TEST(counters_have_names)
{
    assert_string_equal(run_limit_name(RUN_LIMIT_ITERATIONS), "iterations");
    assert_string_equal(run_limit_name(RUN_LIMIT_TOKENS), "tokens");
    assert_string_equal(run_limit_name(RUN_LIMIT_COST), "cost");
    assert_string_equal(run_limit_name(RUN_LIMIT_TIME), "time");
}

TEST(the_search_begins_where_it_is_told)
{
    static const char window[] =
        PERMIT FORBID "when { 10 < context.iteration && context.iteration < 20 };";
    assert_int_equal(find_from(window, RUN_LIMIT_ITERATIONS, 10).limit, 11);
    assert_int_equal(find_from(window, RUN_LIMIT_ITERATIONS, 15).limit, 15);
    assert_false(find_from(window, RUN_LIMIT_ITERATIONS, 20).is_known);
}

TEST(the_counter_is_where_it_is_reported_afterwards)
{
    struct limit_world world = make(PERMIT FORBID "when { context.iteration == 42 };");
    struct limit_search search = {.evaluator = world.evaluator,
                                  .policies = world.policies,
                                  .request = &world.request,
                                  .set = set,
                                  .context = &world};
    assert_int_equal(limit_find(&search, RUN_LIMIT_ITERATIONS, 0, 42).limit, 42);
    struct cedar_answer answer;
    cedar_authorize(world.evaluator, world.policies, &world.request, &answer);
    assert_false(answer.is_allowed);
    limit_find(&search, RUN_LIMIT_ITERATIONS, 0, 41);
    cedar_authorize(world.evaluator, world.policies, &world.request, &answer);
    assert_true(answer.is_allowed);
    discard(&world);
}

TEST(the_first_forbid_that_denies_is_named)
{
    static const char text[] = PERMIT FORBID "when { context.iteration >= 9 };\n" FORBID
                                             "when { context.iteration >= 5 };\n" FORBID
                                             "when { context.iteration >= 5 };";
    assert_int_equal(find(text).policy, 2);
    assert_int_equal(find(PERMIT FORBID "when { context.iteration * 2 >= 10 };").policy, 1);
    assert_int_equal(find(PERMIT).policy, -1);
}

TEST(one_forbid_can_be_asked_about_alone)
{
    struct limit_world world = make(PERMIT FORBID "when { context.tokens >= 0 };\n" FORBID
                                                  "when { context.iteration >= 5 };\n" FORBID
                                                  "when { context.iteration * 2 >= 14 };");
    assert_int_equal(find_in(&world, RUN_LIMIT_ITERATIONS, 0, NULL).limit, 0);
    static const uint32_t second = 2;
    struct policy_limit limit = find_in(&world, RUN_LIMIT_ITERATIONS, 0, &second);
    assert_int_equal(limit.limit, 5);
    assert_int_equal(limit.policy, 2);
    static const uint32_t third = 3;
    assert_int_equal(find_in(&world, RUN_LIMIT_ITERATIONS, 0, &third).limit, 7);
    discard(&world);
}

/** `count` comparisons that deny nothing below 1000, each of which gives two points. */
static void add_comparisons(struct buf *text, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        buf_printf(text, FORBID "when { context.iteration == %u };\n", 1000 + 2 * i);
    }
}

TEST(as_many_points_as_there_may_be_are_exact)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT FORBID "when { context.iteration >= 77 };\n");
    add_comparisons(&text, LIMIT_POINTS / 2 - 1);
    struct policy_limit limit = find(buf_string(&text));
    assert_int_equal(limit.limit, 77);
    assert_false(limit.is_estimated);
}

TEST(more_points_are_estimated_and_still_right)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT);
    add_comparisons(&text, LIMIT_POINTS / 2);
    buf_append_string(&text, FORBID "when { context.iteration >= 77 };\n");
    struct policy_limit limit = find(buf_string(&text));
    assert_int_equal(limit.limit, 77);
    assert_true(limit.is_estimated);
}

TEST(a_long_path_takes_no_time)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT FORBID "when { principal");
    for (unsigned i = 0; i < 150; i++) {
        buf_append_string(&text, ".a");
    }
    buf_append_string(&text, " == 1 || context.iteration >= 6 };");
    assert_false(find(buf_string(&text)).is_known); /* The path fails first. */
    assert_int_equal(
        find(PERMIT FORBID "when { context.iteration >= 6 || principal.a.a == 1 };").limit, 6);
}

TEST(limits_are_found_among_many_policies)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, PERMIT);
    for (unsigned i = 0; i < 50; i++) {
        buf_printf(&text,
                   "forbid (principal == Agent::\"a%u\", action, resource)\n"
                   "when { context.iteration >= 2 };\n",
                   i);
    }
    buf_append_string(&text, "forbid (principal == Agent::\"a\", action, resource)\n"
                             "when { context.iteration >= 8 };\n");
    struct policy_limit limit = find(buf_string(&text));
    assert_int_equal(limit.limit, 8);
    assert_int_equal(limit.policy, 51);
}

TEST(policies_that_mention_a_counter_are_known)
{
    struct limit_world world =
        make(FORBID "when { context.iteration > 5 };\n" FORBID
                    "unless { context.input.iteration < 5 };\n" FORBID
                    "when { context == {} };\n" FORBID "when { context.tokens > 5 };\n" PERMIT);
    static const bool iterations[] = {true, true, true, false, false};
    static const bool tokens[] = {false, false, true, true, false};
    for (size_t i = 0; i < COUNT(iterations); i++) {
        assert_int_equal((limit_counters(world.policies, i) & 1U << RUN_LIMIT_ITERATIONS) != 0,
                         iterations[i]);
        assert_int_equal((limit_counters(world.policies, i) & 1U << RUN_LIMIT_TOKENS) != 0,
                         tokens[i]);
    }
    discard(&world);
}

/* ---- By chance ------------------------------------------------------------------------------ */

#define LARGEST 300

static void write_comparison(struct random *random, struct buf *text)
{
    static const char *const operators[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const counters[] = {"context.iteration", "context.input.iteration"};
    static const char *const others[] = {"principal.max_iterations",
                                         "principal.getTag(\"iterations\")", "context.tokens",
                                         "principal.no_such", "\"text\""};
    const char *counter = counters[random_below(random, 4) == 0];
    const char *operator= operators[random_below(random, COUNT(operators))];
    char other[64];
    if (random_below(random, 5) > 0) {
        snprintf(other, sizeof(other), "%d", (int)random_below(random, LARGEST) - 10);
    } else {
        snprintf(other, sizeof(other), "%s", others[random_below(random, COUNT(others))]);
    }
    if (random_below(random, 8) == 0) {
        buf_printf(text, "(context.tokens > %u)", (unsigned)random_below(random, 100));
    } else if (random_below(random, 2) == 0) {
        buf_printf(text, "(%s %s %s)", counter, operator, other);
    } else {
        buf_printf(text, "(%s %s %s)", other, operator, counter);
    }
}

static void write_condition(struct random *random, struct buf *text, unsigned depth)
{
    uint64_t kind = depth == 0 ? 9 : random_below(random, 6);
    if (kind < 2) {
        buf_append_string(text, "(");
        write_condition(random, text, depth - 1);
        buf_append_string(text, kind == 0 ? " && " : " || ");
        write_condition(random, text, depth - 1);
        buf_append_string(text, ")");
    } else if (kind == 2) {
        buf_append_string(text, "!");
        write_condition(random, text, depth - 1);
    } else if (kind == 3) {
        buf_append_string(text, "(if ");
        write_condition(random, text, depth - 1);
        buf_append_string(text, " then ");
        write_condition(random, text, depth - 1);
        buf_append_string(text, " else ");
        write_condition(random, text, depth - 1);
        buf_append_string(text, ")");
    } else {
        write_comparison(random, text);
    }
}

static void write_policies(struct random *random, struct buf *text)
{
    uint64_t count = 1 + random_below(random, 4);
    if (random_below(random, 4) > 0) {
        buf_append_string(text, PERMIT);
    }
    for (uint64_t i = 0; i < count; i++) {
        buf_printf(text, "%s (principal, action, resource) %s { ",
                   random_below(random, 3) == 0 ? "permit" : "forbid",
                   random_below(random, 2) == 0 ? "when" : "unless");
        write_condition(random, text, 3);
        buf_append_string(text, " };\n");
    }
}

/** The first denied value, by asking about each. */
static int64_t first_denied(struct limit_world *world)
{
    for (int64_t i = 0; i <= LARGEST; i++) {
        struct cedar_answer answer;
        set(world, RUN_LIMIT_ITERATIONS, i);
        cedar_authorize(world->evaluator, world->policies, &world->request, &answer);
        if (!answer.is_allowed) {
            return i;
        }
    }
    return NONE;
}

TEST(chance_finds_no_policies_whose_limit_is_wrong)
{
    struct random random = random_seeded(2026);
    for (unsigned round = 0; round < 3000; round++) {
        auto_buf struct buf text = {0};
        write_policies(&random, &text);
        struct limit_world world = make(buf_string(&text));
        set(&world, RUN_LIMIT_TOKENS, (int64_t)random_below(&random, 100));
        struct policy_limit limit = find_in(&world, RUN_LIMIT_ITERATIONS, 0, NULL);
        int64_t expected = first_denied(&world);
        int64_t found = limit.is_known ? limit.limit : NONE;
        if (limit.is_estimated || found != expected) {
            fail_msg("%s\ngives %lld%s, but it is %lld", buf_string(&text), (long long)found,
                     limit.is_estimated ? " estimated" : "", (long long)expected);
        }
        discard(&world);
    }
}
