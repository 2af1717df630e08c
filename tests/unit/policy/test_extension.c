// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/value/extension.h"

#include "base/random.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS       INT64_C(86400000)
#define RANDOM_CASES 100000

/** Bytes with a length, as a text of a policy may hold a NUL. */
struct sized_text {
    const char *bytes;
    size_t len;
};

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

struct number_case {
    const char *text;
    int64_t number;
};

typedef bool number_parse(const char *text, size_t len, int64_t *ret_number);
typedef void number_format(int64_t number, char *ret_text);

/** The bytes in memory of exactly that size, so that the address sanitizer sees a read past it. */
static char *exact_copy(const char *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return copy;
}

static void assert_numbers(number_parse *parse, const struct number_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t number = 7;
        size_t len = strlen(cases[i].text);
        char *copy = exact_copy(cases[i].text, len);
        if (!parse(copy, len, &number)) {
            fail_msg("'%s' was refused", cases[i].text);
        }
        free(copy);
        assert_int_equal(number, cases[i].number);
    }
}

static void assert_numbers_refused(number_parse *parse, const struct sized_text *texts,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t number = 7;
        char *copy = exact_copy(texts[i].bytes, texts[i].len);
        if (parse(copy, texts[i].len, &number)) {
            fail_msg("'%s' was taken", texts[i].bytes);
        }
        free(copy);
        assert_int_equal(number, 7);
    }
}

static void assert_written(number_format *format, const struct number_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[CEDAR_EXTENSION_TEXT_SIZE];
        format(cases[i].number, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void assert_reads_back(number_parse *parse, number_format *format, int64_t number)
{
    char text[CEDAR_EXTENSION_TEXT_SIZE];
    int64_t again = 0;
    format(number, text);
    if (!parse(text, strlen(text), &again)) {
        fail_msg("'%s' does not read back", text);
    }
    assert_int_equal(again, number);
}

/** A number of any magnitude; plain random bits would hardly ever be small. */
static int64_t random_number(struct random *random)
{
    int64_t number = (int64_t)(random_u64(random) >> (1 + random_below(random, 62)));
    return random_below(random, 2) == 0 ? number : -number;
}

TEST(decimals_are_read_as_ten_thousandths)
{
    static const struct number_case cases[] = {
        {"0.0", 0},
        {"-0.0", 0},
        {"1.0", 10000},
        {"1.5", 15000},
        {"1.05", 10500},
        {"1.005", 10050},
        {"1.0005", 10005},
        {"-1.0005", -10005},
        {"-0.0001", -1},
        {"0007.25", 72500},
        {"000000000000000000000000000000001.0", 10000},
        {"922337203685477.5807", INT64_MAX},
        {"-922337203685477.5808", INT64_MIN},
    };
    assert_numbers(cedar_decimal_parse, cases, COUNT(cases));
}

TEST(what_is_no_decimal_is_refused)
{
    static const struct sized_text texts[] = {
        TEXT(""),        TEXT("-"),       TEXT("1"),     TEXT("1."),    TEXT(".5"),
        TEXT("-.5"),     TEXT("."),       TEXT("-."),    TEXT("--1.0"), TEXT("+1.0"),
        TEXT(" 1.0"),    TEXT("1.0 "),    TEXT("1.0\n"), TEXT("1,0"),   TEXT("1.0.0"),
        TEXT("1.-5"),    TEXT("1e3.0"),   TEXT("0x1.0"), TEXT("1_0.0"), TEXT("1.0\0"),
        TEXT("1\0.0"),   TEXT("\0001.0"), TEXT("1.5f"),  TEXT("inf"),   TEXT("\u0663.5"),
        TEXT("1.0-"),    TEXT("- 1.0"),   TEXT("1 .0"),  TEXT("1. 0"),  TEXT("1..0"),
        TEXT("1.00000"), TEXT("1.12345"),
    };
    assert_numbers_refused(cedar_decimal_parse, texts, COUNT(texts));
}

TEST(decimals_out_of_range_are_refused)
{
    static const struct sized_text texts[] = {
        TEXT("922337203685477.5808"),   TEXT("-922337203685477.5809"),
        TEXT("922337203685477.6"),      TEXT("-922337203685477.6"),
        TEXT("922337203685478.0"),      TEXT("-922337203685478.0"),
        TEXT("9223372036854775807.0"),  TEXT("9223372036854775808.0"),
        TEXT("99999999999999999999.0"),
    };
    assert_numbers_refused(cedar_decimal_parse, texts, COUNT(texts));
}

TEST(decimals_are_written_in_their_shortest_form)
{
    static const struct number_case cases[] = {
        {"0.0", 0},
        {"1.0", 10000},
        {"-1.5", -15000},
        {"0.0001", 1},
        {"-0.0001", -1},
        {"1.01", 10100},
        {"1.001", 10010},
        {"100.0", 1000000},
        {"922337203685477.5807", INT64_MAX},
        {"-922337203685477.5808", INT64_MIN},
    };
    assert_written(cedar_decimal_format, cases, COUNT(cases));
}

TEST(decimals_read_back_as_written)
{
    struct random random = random_seeded(1);
    for (int i = 0; i < RANDOM_CASES; i++) {
        assert_reads_back(cedar_decimal_parse, cedar_decimal_format, random_number(&random));
    }
}

TEST(durations_are_read_as_milliseconds)
{
    static const struct number_case cases[] = {
        {"1ms", 1},
        {"1s", 1000},
        {"1m", 60000},
        {"1h", 3600000},
        {"1d", DAY_MS},
        {"0d", 0},
        {"-0ms", 0},
        {"1d2h3m4s5ms", 93784005},
        {"-1d2h3m4s5ms", -93784005},
        {"1d5ms", DAY_MS + 5},
        {"1m1ms", 60001},
        {"1m1s", 61000},
        {"100h", 360000000},
        {"007s", 7000},
        {"00000000000000000000000000001s", 1000},
    };
    assert_numbers(cedar_duration_parse, cases, COUNT(cases));
}

TEST(durations_are_read_up_to_both_ends)
{
    static const struct number_case cases[] = {
        {"9223372036854775807ms", INT64_MAX},
        {"-9223372036854775808ms", INT64_MIN},
        {"106751991167d7h12m55s807ms", INT64_MAX},
        {"-106751991167d7h12m55s808ms", INT64_MIN},
        {"106751991167d", 106751991167 * DAY_MS},
        {"2562047788015h", 2562047788015 * 3600000},
        {"153722867280912m", 153722867280912 * 60000},
        {"9223372036854775s", 9223372036854775 * 1000},
    };
    assert_numbers(cedar_duration_parse, cases, COUNT(cases));
}

TEST(what_is_no_duration_is_refused)
{
    static const struct sized_text texts[] = {
        TEXT(""),       TEXT("-"),      TEXT("1"),       TEXT("d"),      TEXT("ms"),
        TEXT("-d"),     TEXT("1x"),     TEXT("1D"),      TEXT("1MS"),    TEXT("1mS"),
        TEXT("1msec"),  TEXT("1sm"),    TEXT("1dd"),     TEXT("1d1d"),   TEXT("1h1d"),
        TEXT("1ms1s"),  TEXT("1s1m"),   TEXT("1ms1m"),   TEXT("1m1h"),   TEXT("1ms1ms"),
        TEXT("1d 2h"),  TEXT(" 1d"),    TEXT("1d "),     TEXT("1 d"),    TEXT("1d2"),
        TEXT("1d-2h"),  TEXT("--1d"),   TEXT("+1d"),     TEXT("- 1d"),   TEXT("1.5h"),
        TEXT("1d\0"),   TEXT("1\0d"),   TEXT("\0001d"),  TEXT("1d\n"),   TEXT("1d2h3m4s5ms6"),
        TEXT("1s5m5s"), TEXT("1d0x1h"), TEXT("\u0661d"), TEXT("1d2hms"), TEXT("1ms2"),
    };
    assert_numbers_refused(cedar_duration_parse, texts, COUNT(texts));
}

TEST(durations_out_of_range_are_refused)
{
    static const struct sized_text texts[] = {
        TEXT("9223372036854775808ms"),
        TEXT("-9223372036854775809ms"),
        TEXT("18446744073709551616ms"),
        TEXT("99999999999999999999ms"),
        TEXT("106751991167d7h12m55s808ms"),
        TEXT("-106751991167d7h12m55s809ms"),
        TEXT("106751991168d"),
        TEXT("-106751991168d"),
        TEXT("2562047788016h"),
        TEXT("153722867280913m"),
        TEXT("9223372036854776s"),
        TEXT("-9223372036854776s"),
        TEXT("0d9223372036854775807ms1s"),
        TEXT("1s9223372036854775807ms"),
        TEXT("-1s9223372036854775808ms"),
        TEXT("1d9223372036854775808ms"),
    };
    assert_numbers_refused(cedar_duration_parse, texts, COUNT(texts));
}

TEST(durations_are_written_without_empty_parts)
{
    static const struct number_case cases[] = {
        {"0ms", 0},
        {"1ms", 1},
        {"-1ms", -1},
        {"1d2h3m4s5ms", 93784005},
        {"-1d2h3m4s5ms", -93784005},
        {"1d", DAY_MS},
        {"1d1ms", DAY_MS + 1},
        {"23h59m59s999ms", DAY_MS - 1},
        {"106751991167d7h12m55s807ms", INT64_MAX},
        {"-106751991167d7h12m55s808ms", INT64_MIN},
    };
    assert_written(cedar_duration_format, cases, COUNT(cases));
}

TEST(durations_read_back_as_written)
{
    struct random random = random_seeded(2);
    for (int i = 0; i < RANDOM_CASES; i++) {
        assert_reads_back(cedar_duration_parse, cedar_duration_format, random_number(&random));
    }
}

TEST(dates_are_read_as_their_midnight)
{
    static const struct number_case cases[] = {
        {"1970-01-01", 0},
        {"1970-01-02", DAY_MS},
        {"1969-12-31", -DAY_MS},
        {"2024-10-15", INT64_C(1728950400000)},
        {"2000-03-01", INT64_C(951868800000)},
        {"0000-01-01", INT64_C(-62167219200000)},
        {"9999-12-31", INT64_C(253402214400000)},
    };
    assert_numbers(cedar_datetime_parse, cases, COUNT(cases));
}

TEST(times_are_read_and_offsets_subtracted)
{
    static const struct number_case cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000Z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1970-01-01T23:59:59.999Z", DAY_MS - 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1970-01-01T00:00:00+0000", 0},
        {"1970-01-01T00:00:00-0000", 0},
        {"1970-01-01T00:00:00+0100", -3600000},
        {"1970-01-01T00:00:00-0100", 3600000},
        {"1970-01-01T00:00:00+2359", -86340000},
        {"1970-01-01T00:00:00-2359", 86340000},
        {"2024-10-15T11:38:02.101+1134", INT64_C(1728950642101)},
        {"2024-10-15T11:38:02.101-1134", INT64_C(1729033922101)},
        {"0000-01-01T00:00:00+2359", INT64_C(-62167305540000)},
        {"9999-12-31T23:59:59.999-2359", INT64_C(253402387139999)},
    };
    assert_numbers(cedar_datetime_parse, cases, COUNT(cases));
}

TEST(what_is_no_date_is_refused)
{
    static const struct sized_text texts[] = {
        TEXT(""),
        TEXT("-"),
        TEXT("2024"),
        TEXT("2024-10"),
        TEXT("2024-10-"),
        TEXT("2024-10-1"),
        TEXT("2024-1-15"),
        TEXT("24-10-15"),
        TEXT("02024-10-15"),
        TEXT("10000-01-01"),
        TEXT("-001-01-01"),
        TEXT("-2024-10-15"),
        TEXT("+2024-10-15"),
        TEXT("20241015"),
        TEXT("2024/10/15"),
        TEXT("2024-10-150"),
        TEXT("2024-10-15 "),
        TEXT(" 2024-10-15"),
        TEXT("2024-10-15Z"),
        TEXT("2024-10-15T"),
        TEXT("2024-1 -15"),
        TEXT("2024-+1-15"),
        TEXT("2024-0a-15"),
        TEXT("2024-10-15\0"),
        TEXT("2024\0-1-15"),
        TEXT("2024-10-15\n"),
        TEXT("2024-10-15+0000"),
    };
    assert_numbers_refused(cedar_datetime_parse, texts, COUNT(texts));
}

TEST(days_that_no_calendar_has_are_refused)
{
    static const struct sized_text texts[] = {
        TEXT("2024-00-01"), TEXT("2024-13-01"), TEXT("2024-99-01"), TEXT("2024-01-00"),
        TEXT("2024-01-32"), TEXT("2024-02-30"), TEXT("2024-03-32"), TEXT("2024-04-31"),
        TEXT("2024-05-32"), TEXT("2024-06-31"), TEXT("2024-07-32"), TEXT("2024-08-32"),
        TEXT("2024-09-31"), TEXT("2024-10-32"), TEXT("2024-11-31"), TEXT("2024-12-32"),
        TEXT("2023-02-29"), TEXT("1900-02-29"), TEXT("2100-02-29"), TEXT("0100-02-29"),
        TEXT("0001-02-29"), TEXT("9999-02-29"), TEXT("2024-01-99"),
    };
    assert_numbers_refused(cedar_datetime_parse, texts, COUNT(texts));
}

TEST(leap_years_have_their_day)
{
    static const struct number_case cases[] = {
        {"2024-02-29", INT64_C(1709164800000)},   {"2000-02-29", INT64_C(951782400000)},
        {"1600-02-29", INT64_C(-11670998400000)}, {"0000-02-29", INT64_C(-62162121600000)},
        {"2400-02-29", INT64_C(13574563200000)},  {"9996-02-29", INT64_C(253281168000000)},
    };
    assert_numbers(cedar_datetime_parse, cases, COUNT(cases));
}

TEST(what_is_no_time_is_refused)
{
    static const struct sized_text texts[] = {
        TEXT("2024-10-15T11:38:02"),    TEXT("2024-10-15T11:38:02ZZ"),
        TEXT("2024-10-15T11:38Z"),      TEXT("2024-10-15T11Z"),
        TEXT("2024-10-15TZ"),           TEXT("2024-10-15t11:38:02Z"),
        TEXT("2024-10-15 11:38:02Z"),   TEXT("2024-10-15T11:38:02z"),
        TEXT("2024-10-15T24:00:00Z"),   TEXT("2024-10-15T11:60:02Z"),
        TEXT("2024-10-15T11:38:60Z"),   TEXT("2016-12-31T23:59:60Z"),
        TEXT("2024-10-15T1:38:02Z"),    TEXT("2024-10-15T011:38:02Z"),
        TEXT("2024-10-15T11:38:2Z"),    TEXT("2024-10-15T11:38:002Z"),
        TEXT("2024-10-15T-1:38:02Z"),   TEXT("2024-10-15T11:38:02Z "),
        TEXT("2024-10-15T11:38:02Z\0"), TEXT("2024-10-15T11:38:02 Z"),
    };
    assert_numbers_refused(cedar_datetime_parse, texts, COUNT(texts));
}

TEST(bad_fractions_and_offsets_are_refused)
{
    static const struct sized_text texts[] = {
        TEXT("2024-10-15T11:38:02.Z"),     TEXT("2024-10-15T11:38:02.1Z"),
        TEXT("2024-10-15T11:38:02.12Z"),   TEXT("2024-10-15T11:38:02.1234Z"),
        TEXT("2024-10-15T11:38:02,123Z"),  TEXT("2024-10-15T11:38:02.123"),
        TEXT("2024-10-15T11:38:02.-12Z"),  TEXT("2024-10-15T11:38:02.12 Z"),
        TEXT("2024-10-15T11:38:02+2400"),  TEXT("2024-10-15T11:38:02-2400"),
        TEXT("2024-10-15T11:38:02+0060"),  TEXT("2024-10-15T11:38:02-0060"),
        TEXT("2024-10-15T11:38:02+01:00"), TEXT("2024-10-15T11:38:02+01"),
        TEXT("2024-10-15T11:38:02+010"),   TEXT("2024-10-15T11:38:02+01000"),
        TEXT("2024-10-15T11:38:02+"),      TEXT("2024-10-15T11:38:02+-100"),
        TEXT("2024-10-15T11:38:02-+100"),  TEXT("2024-10-15T11:38:02Z+0100"),
        TEXT("2024-10-15T11:38:02+0100Z"), TEXT("2024-10-15T11:38:02 +0100"),
    };
    assert_numbers_refused(cedar_datetime_parse, texts, COUNT(texts));
}

TEST(datetimes_are_written_in_utc)
{
    static const struct number_case cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1969-12-31T00:00:00Z", -DAY_MS},
        {"2024-02-29T12:34:56.078Z", INT64_C(1709210096078)},
        {"0000-01-01T00:00:00Z", INT64_C(-62167219200000)},
        {"0000-02-29T00:00:00Z", INT64_C(-62162121600000)},
        {"0000-12-31T00:00:00Z", INT64_C(-62135683200000)},
        {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
    };
    assert_written(cedar_datetime_format, cases, COUNT(cases));
}

TEST(datetimes_of_other_years_are_written_as_a_number)
{
    static const struct number_case cases[] = {
        {"-62167219200001ms since 1970", INT64_C(-62167219200001)},
        {"253402300800000ms since 1970", INT64_C(253402300800000)},
        {"9223372036854775807ms since 1970", INT64_MAX},
        {"-9223372036854775808ms since 1970", INT64_MIN},
    };
    assert_written(cedar_datetime_format, cases, COUNT(cases));
}

TEST(every_day_of_ten_thousand_years_reads_back)
{
    for (int64_t day = -719528; day < 3652425 - 719528; day++) {
        assert_reads_back(cedar_datetime_parse, cedar_datetime_format, day * DAY_MS);
    }
}

TEST(datetimes_read_back_as_written)
{
    struct random random = random_seeded(3);
    for (int i = 0; i < RANDOM_CASES; i++) {
        int64_t since_zero = (int64_t)random_below(&random, (uint64_t)(3652425 * DAY_MS));
        assert_reads_back(cedar_datetime_parse, cedar_datetime_format,
                          since_zero - 719528 * DAY_MS);
    }
}

TEST(the_day_begins_before_the_time_also_before_1970)
{
    static const struct {
        int64_t ms, date, time;
    } cases[] = {
        {0, 0, 0},
        {1, 0, 1},
        {DAY_MS - 1, 0, DAY_MS - 1},
        {DAY_MS, DAY_MS, 0},
        {-1, -DAY_MS, DAY_MS - 1},
        {-DAY_MS, -DAY_MS, 0},
        {-DAY_MS - 1, -2 * DAY_MS, DAY_MS - 1},
        {INT64_MAX, 106751991167 * DAY_MS, 25975807},
        {-106751991167 * DAY_MS, -106751991167 * DAY_MS, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t date = 7;
        assert_true(cedar_datetime_to_date(cases[i].ms, &date));
        assert_int_equal(date, cases[i].date);
        assert_int_equal(cedar_datetime_to_time(cases[i].ms), cases[i].time);
    }
}

TEST(a_day_that_began_before_the_smallest_time_is_an_overflow)
{
    static const int64_t cases[] = {INT64_MIN, INT64_MIN + 1, -106751991167 * DAY_MS - 1};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t date = 7;
        assert_false(cedar_datetime_to_date(cases[i], &date));
        assert_int_equal(date, 7);
    }
    assert_int_equal(cedar_datetime_to_time(INT64_MIN), 60424192);
}

TEST(date_and_time_add_up)
{
    struct random random = random_seeded(4);
    for (int i = 0; i < RANDOM_CASES; i++) {
        int64_t ms = random_number(&random);
        int64_t time = cedar_datetime_to_time(ms);
        int64_t date = 0;
        assert_in_range(time, 0, DAY_MS - 1);
        if (cedar_datetime_to_date(ms, &date)) {
            assert_int_equal(date % DAY_MS, 0);
            assert_int_equal(date + time, ms);
        }
    }
}

TEST(no_text_at_all_is_refused)
{
    int64_t number = 7;
    assert_false(cedar_decimal_parse(NULL, 0, &number));
    assert_false(cedar_duration_parse(NULL, 0, &number));
    assert_false(cedar_datetime_parse(NULL, 0, &number));
}
