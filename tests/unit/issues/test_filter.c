// SPDX-License-Identifier: Apache-2.0
#include "issues/filter.h"

#include "base/clock.h"
#include "base/limits.h"
#include "support/test.h"

#include <string.h>

#define NOW       INT64_C(1700000000000000000)
#define HOUR      (3600 * NS_PER_S)
#define LIST(...) ((char *[]){__VA_ARGS__, NULL})

static const char *const wanted[] = {"code", NULL};

static const struct issue_filter plain = {
    .labels = wanted,
    .prefix = "rondo:",
    .login = "Bot",
    .least_trust = FORGE_MEMBER,
};

/** An issue that may be worked on, but for what a test changes. */
static struct forge_issue issue_of(int64_t number, char **labels)
{
    return (struct forge_issue){.number = number,
                                .is_open = true,
                                .labels = labels,
                                .author_trust = FORGE_MEMBER,
                                .created_ns = NOW - HOUR};
}

TEST(each_reason_not_to_work_on_an_issue_is_told)
{
    static char *code[] = {"code", NULL};
    const struct {
        enum issue_verdict verdict;
        char **labels;
        char **assignees;
        enum forge_trust less_trust;
        bool is_closed, is_pull, is_locked;
    } cases[] = {
        {ISSUE_ELIGIBLE, .labels = code},
        {ISSUE_CLOSED, .labels = code, .is_closed = true},
        {ISSUE_IS_PULL, .labels = code, .is_pull = true},
        {ISSUE_LOCKED, .labels = code, .is_locked = true},
        {ISSUE_LABELS_MISSING, .labels = NULL},
        {ISSUE_LABELS_MISSING, .labels = LIST("other")},
        {ISSUE_LABELS_MISSING, .labels = LIST("codec", "cod")},
        {ISSUE_ELIGIBLE, .labels = LIST("CODE", "other")},
        {ISSUE_EXCLUDED, .labels = LIST("code", "blocked")},
        {ISSUE_EXCLUDED, .labels = LIST("code", "WontFix")},
        {ISSUE_EXCLUDED, .labels = LIST("code", "hitl")},
        {ISSUE_HAS_STATE, .labels = LIST("code", "rondo:assigned")},
        {ISSUE_HAS_STATE, .labels = LIST("code", "rondo:in-progress")},
        {ISSUE_HAS_STATE, .labels = LIST("code", "Rondo:Blocked")},
        {ISSUE_HAS_STATE, .labels = LIST("code", "rondo:retry-later")},
        {ISSUE_HAS_STATE, .labels = LIST("code", "rondo:done")},
        {ISSUE_ELIGIBLE, .labels = LIST("code", "rondo:ready", "assigned")},
        {ISSUE_ASSIGNED, .labels = code, .assignees = LIST("ann")},
        {ISSUE_ASSIGNED, .labels = code, .assignees = LIST("bot", "ann")},
        {ISSUE_ELIGIBLE, .labels = code, .assignees = LIST("bot")},
        {ISSUE_UNTRUSTED, .labels = code, .less_trust = 1},
        {ISSUE_UNTRUSTED, .labels = code, .less_trust = 2},
        {ISSUE_UNTRUSTED, .labels = LIST("code", "rondo:assigned"), .less_trust = 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct forge_issue issue = issue_of(1, cases[i].labels);
        issue.assignees = cases[i].assignees;
        issue.author_trust -= cases[i].less_trust;
        issue.is_open = !cases[i].is_closed;
        issue.is_pull = cases[i].is_pull;
        issue.is_locked = cases[i].is_locked;
        enum issue_verdict verdict = issue_judge(&plain, &issue, NOW);
        if (verdict != cases[i].verdict) {
            fail_msg("case %zu: %s", i, issue_verdict_text(verdict));
        }
    }
}

TEST(every_verdict_has_a_text)
{
    for (enum issue_verdict i = ISSUE_ELIGIBLE; i < ISSUE_VERDICT_COUNT; i++) {
        assert_true(strlen(issue_verdict_text(i)) > 3);
    }
}

TEST(all_labels_are_needed_and_at_least_one)
{
    static const char *const two[] = {"code", "task", NULL};
    static const char *const none[] = {NULL};
    struct issue_filter filter = plain;
    filter.labels = two;
    struct forge_issue one = issue_of(1, LIST("code"));
    struct forge_issue both = issue_of(1, LIST("task", "x", "code"));
    assert_int_equal(issue_judge(&filter, &one, NOW), ISSUE_LABELS_MISSING);
    assert_int_equal(issue_judge(&filter, &both, NOW), ISSUE_ELIGIBLE);
    filter.labels = none;
    assert_int_equal(issue_judge(&filter, &one, NOW), ISSUE_LABELS_MISSING);
}

TEST(options_of_the_filter_count)
{
    static const char *const own[] = {"later", NULL};
    struct issue_filter filter = plain;
    struct forge_issue issue = issue_of(1, LIST("code", "blocked"));
    issue.assignees = LIST("ann");
    filter.excluded = own;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ASSIGNED);
    filter.takes_assigned = true;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ELIGIBLE);
    filter.excluded = NULL;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_EXCLUDED);
}

TEST(without_a_login_no_assigned_issue_is_free)
{
    struct issue_filter filter = plain;
    struct forge_issue issue = issue_of(1, LIST("code"));
    issue.assignees = LIST("bot");
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ELIGIBLE);
    filter.login = NULL;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ASSIGNED);
}

TEST(strangers_can_be_trusted)
{
    struct issue_filter filter = plain;
    struct forge_issue issue = issue_of(1, LIST("code"));
    issue.author_trust = FORGE_STRANGER;
    filter.least_trust = FORGE_CONTRIBUTOR;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_UNTRUSTED);
    filter.least_trust = FORGE_STRANGER;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ELIGIBLE);
}

TEST(an_issue_is_too_old_after_its_age_and_not_at_it)
{
    struct issue_filter filter = plain;
    struct forge_issue issue = issue_of(1, LIST("code"));
    filter.most_age_ns = HOUR;
    assert_int_equal(issue_judge(&filter, &issue, NOW), ISSUE_ELIGIBLE);
    assert_int_equal(issue_judge(&filter, &issue, NOW + 1), ISSUE_TOO_OLD);
}

TEST(issues_are_ordered_by_priority_and_then_by_age)
{
    struct forge_issue items[] = {
        issue_of(9, LIST("code")), issue_of(8, LIST("code", "P9")), issue_of(7, LIST("p1")),
        issue_of(3, NULL),         issue_of(6, LIST("P5", "P0")),   issue_of(5, LIST("P1", "code")),
        issue_of(4, LIST("P10")),
    };
    static const int64_t order[] = {6, 5, 7, 8, 3, 4, 9};
    struct forge_issues issues = {.items = items, .count = COUNT(items)};
    issue_sort(&plain, &issues);
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_int_equal(items[i].number, order[i]);
    }
    struct forge_issues none = {0};
    issue_sort(&plain, &none);
}

TEST(other_priorities_can_be_named)
{
    static const char *const own[] = {"now", "soon", NULL};
    struct issue_filter filter = plain;
    filter.priorities = own;
    struct forge_issue items[] = {
        issue_of(1, LIST("P0")),
        issue_of(2, LIST("soon")),
        issue_of(3, LIST("Now")),
    };
    struct forge_issues issues = {.items = items, .count = COUNT(items)};
    issue_sort(&filter, &issues);
    assert_int_equal(items[0].number, 3);
    assert_int_equal(items[1].number, 2);
}

/* ---- Cool-down ------------------------------------------------------------------------------ */

TEST(an_issue_cools_until_its_time_and_no_other_does)
{
    struct issue_cooling *cooling = NULL;
    assert_false(issue_cooling_has(cooling, 1, NOW));
    issue_cooling_add(&cooling, 1, NOW + 10);
    issue_cooling_add(&cooling, 2, NOW + 5);
    assert_true(issue_cooling_has(cooling, 1, NOW + 9));
    assert_false(issue_cooling_has(cooling, 1, NOW + 10));
    assert_true(issue_cooling_has(cooling, 2, NOW + 4));
    assert_false(issue_cooling_has(cooling, 2, NOW + 5));
    assert_false(issue_cooling_has(cooling, 3, NOW));
    issue_cooling_add(&cooling, 2, NOW + 20);
    assert_true(issue_cooling_has(cooling, 2, NOW + 19));
    issue_cooling_free(cooling);
    issue_cooling_free(NULL);
}

TEST(of_too_many_cooling_issues_the_one_that_is_free_first_is_forgotten)
{
    struct issue_cooling *cooling = NULL;
    for (int64_t i = 1; i <= LIMIT_ISSUES_COOLING; i++) {
        issue_cooling_add(&cooling, i, NOW + i);
    }
    assert_true(issue_cooling_has(cooling, 1, NOW));
    issue_cooling_add(&cooling, LIMIT_ISSUES_COOLING + 1, NOW + 1);
    assert_false(issue_cooling_has(cooling, 1, NOW));
    assert_true(issue_cooling_has(cooling, 2, NOW));
    assert_true(issue_cooling_has(cooling, LIMIT_ISSUES_COOLING + 1, NOW));
    issue_cooling_free(cooling);
}

/* ---- Rates ---------------------------------------------------------------------------------- */

TEST(polls_come_every_30_seconds_and_slow_down_to_5_minutes)
{
    static const int64_t seconds[] = {30, 30, 60, 120, 240, 300, 300};
    struct random random = random_seeded(7);
    for (uint64_t idle = 0; idle < COUNT(seconds); idle++) {
        int64_t longest = 0;
        int64_t shortest = INT64_MAX;
        for (int i = 0; i < 200; i++) {
            int64_t ns = issue_poll_ns(idle, 30 * NS_PER_S, 300 * NS_PER_S, 0, &random);
            longest = ns > longest ? ns : longest;
            shortest = ns < shortest ? ns : shortest;
        }
        int64_t ns = seconds[idle] * NS_PER_S;
        assert_in_range(longest, ns - ns / 100, ns);
        assert_in_range(shortest, ns - ns / 10, ns - ns / 10 + ns / 100);
    }
    int64_t ns = issue_poll_ns(UINT64_MAX, 30 * NS_PER_S, 300 * NS_PER_S, 0, &random);
    assert_in_range(ns, 270 * NS_PER_S, 300 * NS_PER_S);
    assert_int_equal(issue_poll_ns(5, 1, 1, 0, &random), 1);
}

TEST(the_forge_may_demand_a_longer_wait)
{
    struct random random = random_seeded(7);
    assert_int_equal(issue_poll_ns(1, 30 * NS_PER_S, 300 * NS_PER_S, 60 * NS_PER_S, &random),
                     60 * NS_PER_S);
}

TEST(no_more_starts_are_in_any_hour_than_allowed)
{
    struct issue_window window = {0};
    for (int64_t i = 0; i < 10; i++) {
        assert_int_equal(issue_window_next(&window, 10, HOUR, NOW + i), NOW + i);
        issue_window_add(&window, NOW + i);
    }
    assert_int_equal(issue_window_next(&window, 10, HOUR, NOW + 100), NOW + HOUR);
    assert_true(issue_window_next(&window, 10, HOUR, NOW + HOUR) <= NOW + HOUR);
    issue_window_add(&window, NOW + HOUR);
    assert_int_equal(issue_window_next(&window, 10, HOUR, NOW + HOUR), NOW + 1 + HOUR);
    assert_int_equal(issue_window_next(&window, 0, HOUR, NOW + 100), NOW + 100);
    issue_window_fini(&window);
}

TEST(the_window_slides_over_its_ring)
{
    struct issue_window window = {0};
    int64_t now_ns = NOW;
    for (size_t i = 0; i < 3 * ISSUE_WINDOW_MOST + 7; i++) {
        now_ns++;
        issue_window_add(&window, now_ns);
    }
    assert_int_equal(issue_window_next(&window, ISSUE_WINDOW_MOST, HOUR, now_ns),
                     now_ns - (ISSUE_WINDOW_MOST - 1) + HOUR);
    assert_int_equal(issue_window_next(&window, 1, HOUR, now_ns), now_ns + HOUR);
    issue_window_fini(&window);
}

TEST(a_clock_that_is_set_back_blocks_no_longer_than_the_window)
{
    struct issue_window window = {0};
    issue_window_add(&window, NOW);
    assert_int_equal(issue_window_next(&window, 1, HOUR, NOW - 50 * HOUR), NOW - 49 * HOUR);
    issue_window_fini(&window);
}

TEST(a_circuit_opens_after_failures_in_a_row_for_longer_each_time)
{
    struct issue_circuit circuit = {0};
    int64_t now_ns = NOW;
    issue_circuit_failed(&circuit, 3, NS_PER_S, now_ns);
    issue_circuit_failed(&circuit, 3, NS_PER_S, now_ns);
    assert_true(issue_circuit_lets(&circuit, now_ns));
    for (int64_t i = 1; i < 10; i++) {
        int64_t wait_ns = (int64_t)(UINT64_C(1) << (i < 7 ? i - 1 : 6)) * NS_PER_S;
        issue_circuit_failed(&circuit, 3, NS_PER_S, now_ns);
        issue_circuit_failed(&circuit, 3, NS_PER_S, now_ns); /* began before: not counted */
        assert_false(issue_circuit_lets(&circuit, now_ns + wait_ns - 1));
        assert_true(issue_circuit_lets(&circuit, now_ns + wait_ns));
        now_ns += wait_ns;
    }
}

TEST(a_success_closes_a_circuit)
{
    struct issue_circuit circuit = {0};
    issue_circuit_failed(&circuit, 2, NS_PER_S, NOW);
    issue_circuit_worked(&circuit);
    issue_circuit_failed(&circuit, 2, NS_PER_S, NOW);
    assert_true(issue_circuit_lets(&circuit, NOW));
    issue_circuit_failed(&circuit, 2, NS_PER_S, NOW);
    assert_false(issue_circuit_lets(&circuit, NOW));
    issue_circuit_worked(&circuit);
    assert_true(issue_circuit_lets(&circuit, NOW));
}
