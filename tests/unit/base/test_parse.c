// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include "base/clock.h"
#include "base/limits.h"
#include "rondo/error.h"
#include "support/test.h"

#include <math.h>

TEST(whole_numbers_are_read_within_their_range)
{
    int64_t number = 7;
    struct rondo_error err;
    assert_int_equal(parse_int("10", 1, 10, &number, &err), 0);
    assert_int_equal(number, 10);
    assert_int_equal(parse_int("-3", -5, 10, &number, &err), 0);
    assert_int_equal(number, -3);
}

TEST(what_is_no_whole_number_in_range_is_refused)
{
    static const char *const texts[] = {"",   "x", "1x",  " 1",  "1 ",
                                        "11", "0", "1.5", "0x1", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t number = 7;
        struct rondo_error err;
        assert_int_equal(parse_int(texts[i], 1, 10, &number, &err), RONDO_ERR_INVALID);
        assert_int_equal(number, 7);
    }
}

TEST(durations_are_read_in_all_units)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"90", 90 * NS_PER_S},    {"250ms", 250 * NS_PER_MS},  {"1.5s", 1500 * NS_PER_MS},
        {"30s", 30 * NS_PER_S},   {"5m", 300 * NS_PER_S},      {"2h", 7200 * NS_PER_S},
        {"1d", 86400 * NS_PER_S}, {"1h30m", 5400 * NS_PER_S},  {"0", 0},
        {"0.001", NS_PER_MS},     {"366d", LIMIT_DURATION_NS}, {"1m0.5s", 60500 * NS_PER_MS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = -1;
        assert_int_equal(parse_duration(cases[i].text, &ns, NULL), 0);
        assert_int_equal(ns, cases[i].ns);
    }
}

TEST(bad_durations_are_refused)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", RONDO_ERR_INVALID},
        {"-1s", RONDO_ERR_INVALID},
        {"s", RONDO_ERR_INVALID},
        {"5 m", RONDO_ERR_INVALID},
        {"1.2345s", RONDO_ERR_INVALID},
        {"1h30", RONDO_ERR_INVALID},
        {"5y", RONDO_ERR_INVALID},
        {"1..5s", RONDO_ERR_INVALID},
        {"366d1ms", RONDO_ERR_LIMIT},
        {"367d", RONDO_ERR_LIMIT},
        {"9999999999999999999d", RONDO_ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 7;
        assert_int_equal(parse_duration(cases[i].text, &ns, NULL), cases[i].code);
        assert_int_equal(ns, 7);
    }
}

TEST(money_is_read_exactly)
{
    int64_t micro = 7;
    assert_int_equal(parse_money("5", &micro, NULL), 0);
    assert_int_equal(micro, 5000000);
    assert_int_equal(parse_money("0.000001", &micro, NULL), 0);
    assert_int_equal(micro, 1);
    assert_int_equal(parse_money("0.0000001", &micro, NULL), RONDO_ERR_INVALID);
    assert_int_equal(parse_money("5 EUR", &micro, NULL), RONDO_ERR_INVALID);
    assert_int_equal(parse_money("9999999999999999", &micro, NULL), RONDO_ERR_INVALID);
}

TEST(durations_are_shown_for_people)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {340 * NS_PER_MS, "340 ms"},
        {NS_PER_S, "1.0 s"},
        {4250 * NS_PER_MS, "4.2 s"},
        {60 * NS_PER_S, "1m 00s"},
        {185 * NS_PER_S, "3m 05s"},
        {7800 * NS_PER_S, "2h 10m"},
        {INT64_MAX, "2562047h 47m"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(cases[i].ns, text);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(seconds_of_any_size_become_a_duration)
{
    static const struct {
        double seconds;
        int64_t ns;
    } cases[] = {
        {0, 0},
        {-1, 0},
        {-HUGE_VAL, 0},
        {NAN, 0},
        {0.25, 250 * NS_PER_MS},
        {90, 90 * NS_PER_S},
        {(double)(LIMIT_DURATION_NS / NS_PER_S) - 1, LIMIT_DURATION_NS - NS_PER_S},
        {(double)(LIMIT_DURATION_NS / NS_PER_S), LIMIT_DURATION_NS},
        {(double)(LIMIT_DURATION_NS / NS_PER_S) + 0.5, LIMIT_DURATION_NS},
        {HUGE_VAL, LIMIT_DURATION_NS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(duration_from_seconds(cases[i].seconds), cases[i].ns);
    }
}
