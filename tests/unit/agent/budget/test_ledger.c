// SPDX-License-Identifier: Apache-2.0
/* The arithmetic of budgets, and days of time zones. */
#include "agent/budget/budget.h"
#include "agent/budget/period.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** 2026-11-23, a Monday. */
#define MONDAY 20780

static const struct budget_limits daily = {.limits = {[BUDGET_DAY_TOKENS] = 100}};

static int ledger_up(void **state)
{
    *state = memory_new_zero(1, sizeof(struct budget_ledger));
    return 0;
}

static int ledger_down(void **state)
{
    free(*state);
    return 0;
}

#define LEDGER_TEST(name) TEST_WITH(name, ledger_up, ledger_down)

static struct ledger_request request_of(const char *run_id, uint64_t number, int64_t day,
                                        int64_t tokens)
{
    struct ledger_request request = {
        .epoch = 1, .number = number, .day = day, .reserved = {.tokens = tokens}};
    snprintf(request.run_id, sizeof(request.run_id), "%s", run_id);
    return request;
}

static enum budget_verdict reserve(struct budget_ledger *ledger, const char *run_id,
                                   uint64_t number, int64_t day, int64_t tokens)
{
    struct ledger_request request = request_of(run_id, number, day, tokens);
    return ledger_reserve(ledger, &daily, &request);
}

static void settle(struct budget_ledger *ledger, const char *run_id, uint64_t number,
                   int64_t tokens)
{
    ledger_settle(ledger, run_id, number, (struct budget_amount){.tokens = tokens});
}

LEDGER_TEST(a_request_counts_what_it_used_and_not_what_it_reserved)
{
    struct budget_ledger *ledger = *state;
    assert_int_equal(reserve(ledger, "a", 1, MONDAY, 60), BUDGET_FREE);
    assert_int_equal(ledger_reserved(ledger, BUDGET_DAY_TOKENS, MONDAY, NULL), 60);
    settle(ledger, "a", 1, 20);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 20);
    assert_int_equal(ledger_used(ledger, BUDGET_LIFE_TOKENS, MONDAY), 20);
    assert_int_equal(ledger->request_count, 0);
}

LEDGER_TEST(a_request_is_settled_once)
{
    struct budget_ledger *ledger = *state;
    reserve(ledger, "a", 1, MONDAY, 60);
    settle(ledger, "a", 1, 20);
    settle(ledger, "a", 1, 20);
    settle(ledger, "b", 1, 20);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 20);
}

LEDGER_TEST(a_repeated_request_replaces_the_one_that_was_cut_off)
{
    struct budget_ledger *ledger = *state;
    reserve(ledger, "a", 1, MONDAY, 60);
    assert_int_equal(reserve(ledger, "a", 2, MONDAY, 70), BUDGET_FREE);
    assert_int_equal(ledger_reserved(ledger, BUDGET_DAY_TOKENS, MONDAY, NULL), 70);
    settle(ledger, "a", 1, 20); /* of the first one: too late */
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 0);
    settle(ledger, "a", 2, 30);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 30);
}

LEDGER_TEST(requests_under_way_cannot_reserve_more_than_is_left_and_one_request)
{
    struct budget_ledger *ledger = *state;
    assert_int_equal(reserve(ledger, "a", 1, MONDAY, 60), BUDGET_FREE);
    assert_int_equal(reserve(ledger, "b", 1, MONDAY, 60), BUDGET_FREE);
    assert_int_equal(reserve(ledger, "c", 1, MONDAY, 1), BUDGET_RESERVED);
    settle(ledger, "a", 1, 10);
    assert_int_equal(reserve(ledger, "c", 1, MONDAY, 60), BUDGET_FREE);
    settle(ledger, "b", 1, 60);
    settle(ledger, "c", 1, 60);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 130);
    assert_int_equal(reserve(ledger, "d", 1, MONDAY, 1), BUDGET_EXHAUSTED);
}

LEDGER_TEST(the_last_token_of_a_budget_can_be_used)
{
    struct budget_ledger *ledger = *state;
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = 99});
    assert_int_equal(reserve(ledger, "a", 1, MONDAY, 5), BUDGET_FREE);
    settle(ledger, "a", 1, 1);
    assert_int_equal(reserve(ledger, "a", 2, MONDAY, 5), BUDGET_EXHAUSTED);
}

LEDGER_TEST(a_reply_counts_for_the_day_of_its_request)
{
    struct budget_ledger *ledger = *state;
    reserve(ledger, "a", 1, MONDAY, 60);
    assert_int_equal(reserve(ledger, "b", 1, MONDAY + 1, 90), BUDGET_FREE);
    settle(ledger, "a", 1, 20);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), 20);
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY + 1), 0);
}

LEDGER_TEST(a_clock_that_jumps_to_another_year_and_back_gives_no_second_budget)
{
    struct budget_ledger *ledger = *state;
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = 100});
    for (int i = 0; i < 3; i++) {
        ledger_add(ledger, MONDAY + 1000, (struct budget_amount){.tokens = 7});
        ledger_add(ledger, MONDAY - 1000, (struct budget_amount){.tokens = 7});
        assert_int_equal(reserve(ledger, "a", 1, MONDAY, 1), BUDGET_EXHAUSTED);
    }
}

LEDGER_TEST(days_that_are_too_many_are_forgotten_from_the_far_end)
{
    struct budget_ledger *ledger = *state;
    ledger_add(ledger, MONDAY + 5000, (struct budget_amount){.tokens = 1});
    for (int64_t day = MONDAY; day < MONDAY + 30; day++) {
        ledger_add(ledger, day, (struct budget_amount){.tokens = 1});
    }
    assert_int_equal(ledger->day_count, LEDGER_DAYS);
    for (int64_t day = MONDAY + 30 - LEDGER_DAYS; day < MONDAY + 30; day++) {
        assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, day), 1);
    }
    assert_int_equal(ledger_used(ledger, BUDGET_LIFE_TOKENS, 0), 31);
}

LEDGER_TEST(weeks_are_from_monday_to_sunday)
{
    struct budget_ledger *ledger = *state;
    for (int64_t day = MONDAY - 1; day <= MONDAY + 7; day++) {
        ledger_add(ledger, day, (struct budget_amount){.cost_micro = 1});
    }
    assert_int_equal(ledger_used(ledger, BUDGET_WEEK_COST, MONDAY), 7);
    assert_int_equal(ledger_used(ledger, BUDGET_WEEK_COST, MONDAY + 6), 7);
    assert_int_equal(ledger_used(ledger, BUDGET_WEEK_COST, MONDAY + 7), 1);
    assert_int_equal(ledger_used(ledger, BUDGET_LIFE_COST, MONDAY), 9);
    assert_int_equal(period_week_begin(-1), -3); /* 1969-12-29 */
}

LEDGER_TEST(a_limit_is_warned_of_at_four_fifths_once_for_each_period_and_value)
{
    struct budget_ledger *ledger = *state;
    struct budget_limits limits = daily;
    struct budget_amount none = {0};
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = 79});
    assert_false(ledger_is_near(ledger, &limits, BUDGET_DAY_TOKENS, MONDAY, none));
    assert_true(ledger_is_near(ledger, &limits, BUDGET_DAY_TOKENS, MONDAY,
                               (struct budget_amount){.tokens = 1}));
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = 1});
    ledger_note_warned(ledger, &limits, BUDGET_DAY_TOKENS, MONDAY);
    assert_false(ledger_is_near(ledger, &limits, BUDGET_DAY_TOKENS, MONDAY, none));
    limits.limits[BUDGET_DAY_TOKENS] = 90;
    assert_true(ledger_is_near(ledger, &limits, BUDGET_DAY_TOKENS, MONDAY, none));
    ledger_add(ledger, MONDAY + 1, (struct budget_amount){.tokens = 80});
    assert_true(ledger_is_near(ledger, &daily, BUDGET_DAY_TOKENS, MONDAY + 1, none));
    assert_false(ledger_is_near(ledger, &daily, BUDGET_LIFE_TOKENS, MONDAY + 1, none));
}

LEDGER_TEST(sums_stay_at_their_largest_value)
{
    struct budget_ledger *ledger = *state;
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = INT64_MAX});
    ledger_add(ledger, MONDAY, (struct budget_amount){.tokens = 5});
    assert_int_equal(ledger_used(ledger, BUDGET_DAY_TOKENS, MONDAY), INT64_MAX);
    assert_int_equal(reserve(ledger, "a", 1, MONDAY, INT64_MAX), BUDGET_EXHAUSTED);
}

LEDGER_TEST(a_ledger_has_room_for_so_many_requests)
{
    struct budget_ledger *ledger = *state;
    char run_id[16];
    for (int i = 0; i < LIMIT_BUDGET_REQUESTS; i++) {
        snprintf(run_id, sizeof(run_id), "run-%d", i);
        assert_int_equal(reserve(ledger, run_id, 1, MONDAY, 0), BUDGET_FREE);
        ledger->requests[i].reserved.cost_micro = 1;
    }
    assert_int_equal(reserve(ledger, "more", 1, MONDAY, 0), BUDGET_RESERVED);
    ledger->requests[7].reserved.cost_micro = 0; /* its process was found dead */
    assert_int_equal(reserve(ledger, "more", 1, MONDAY, 0), BUDGET_FREE);
    assert_int_equal(ledger->request_count, LIMIT_BUDGET_REQUESTS);
}

LEDGER_TEST(what_is_written_is_read)
{
    struct budget_ledger *ledger = *state;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    reserve(ledger, "a", 1, MONDAY, 60);
    ledger_add(ledger, MONDAY - 1, (struct budget_amount){.tokens = 3, .cost_micro = 4});
    ledger_note_warned(ledger, &daily, BUDGET_DAY_TOKENS, MONDAY);
    ledger_write(ledger, &first);
    assert_int_equal(ledger_read(first.data, first.len, ledger, NULL), 0);
    ledger_write(ledger, &second);
    assert_string_equal(buf_string(&first), buf_string(&second));
}

LEDGER_TEST(another_format_is_refused)
{
    static const char *const texts[] = {"{\"format\":2}", "{}", "[]", "{\"format\":1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_not_equal(ledger_read(texts[i], strlen(texts[i]), *state, NULL), 0);
    }
}

/* ---- Days ----------------------------------------------------------------------------------- */

#define HOUR_S INT64_C(3600)

static int64_t day_at(const char *zone, int64_t second)
{
    int64_t day = 0;
    assert_true(period_day(zone, second * NS_PER_S, &day));
    return day;
}

TEST(a_day_begins_at_midnight_in_its_zone)
{
    int64_t midnight = MONDAY * 24 * HOUR_S;
    assert_int_equal(day_at("UTC", midnight), MONDAY);
    assert_int_equal(day_at("UTC", midnight - 1), MONDAY - 1);
    assert_int_equal(day_at("Europe/Berlin", midnight - HOUR_S), MONDAY);
    assert_int_equal(day_at("Europe/Berlin", midnight - HOUR_S - 1), MONDAY - 1);
    assert_int_equal(period_begin_ns("Asia/Kolkata", MONDAY) / NS_PER_S,
                     midnight - 11 * HOUR_S / 2);
    assert_int_equal(period_begin_ns("Pacific/Kiritimati", MONDAY) / NS_PER_S,
                     midnight - 14 * HOUR_S);
}

TEST(days_with_a_clock_change_have_23_and_25_hours)
{
    int64_t spring = 20541; /* 2026-03-29 */
    int64_t autumn = 20751; /* 2026-10-25 */
    const char *zone = "Europe/Berlin";
    assert_int_equal(period_begin_ns(zone, spring + 1) - period_begin_ns(zone, spring),
                     23 * HOUR_S * NS_PER_S);
    assert_int_equal(period_begin_ns(zone, autumn + 1) - period_begin_ns(zone, autumn),
                     25 * HOUR_S * NS_PER_S);
}

TEST(a_day_whose_midnight_is_skipped_begins_later)
{
    int64_t day = 17839; /* 2018-11-04: in Brazil clocks went from 0:00 to 1:00 */
    const char *zone = "America/Sao_Paulo";
    int64_t begin = period_begin_ns(zone, day) / NS_PER_S;
    assert_int_equal(day_at(zone, begin), day);
    assert_int_equal(day_at(zone, begin - 1), day - 1);
    assert_int_equal(begin, day * 24 * HOUR_S + 3 * HOUR_S);
}

TEST(each_day_of_two_years_begins_after_the_one_before)
{
    static const char *const zones[] = {"UTC", "America/New_York", "Australia/Lord_Howe",
                                        "Africa/Casablanca", "America/Sao_Paulo"};
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        int64_t before = period_begin_ns(zones[i], MONDAY) / NS_PER_S;
        for (int64_t day = MONDAY + 1; day < MONDAY + 730; day++) {
            int64_t begin = period_begin_ns(zones[i], day) / NS_PER_S;
            assert_true(begin - before >= 23 * HOUR_S && begin - before <= 25 * HOUR_S);
            assert_int_equal(day_at(zones[i], begin), day);
            assert_int_equal(day_at(zones[i], begin - 1), day - 1);
            before = begin;
        }
    }
}

TEST(a_zone_that_is_not_there_has_no_days)
{
    int64_t day;
    assert_false(period_day("Europe/Nowhere", 0, &day));
}
