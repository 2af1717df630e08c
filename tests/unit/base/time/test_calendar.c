// SPDX-License-Identifier: Apache-2.0
/* The days of the calendar. */
#include "base/time/calendar.h"
#include "support/test.h"

TEST(every_day_is_the_one_after_the_day_before)
{
    int64_t days = calendar_days(-401, 1, 1);
    int weekday = calendar_weekday(days);
    for (int64_t year = -401; year <= 10000; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= calendar_month_days(year, month); day++, days++) {
                int64_t year_again;
                int month_again;
                int day_again;
                calendar_date(days, &year_again, &month_again, &day_again);
                if (calendar_days(year, month, day) != days || year_again != year ||
                    month_again != month || day_again != day || calendar_weekday(days) != weekday) {
                    fail_msg("%lld-%d-%d", (long long)year, month, day);
                }
                weekday = (weekday + 1) % 7;
            }
        }
    }
}

TEST(known_days_are_where_they_belong)
{
    assert_int_equal(calendar_days(1970, 1, 1), 0);
    assert_int_equal(calendar_days(2000, 3, 1), 11017);
    assert_int_equal(calendar_days(1, 1, 1), -719162);
    assert_int_equal(calendar_weekday(0), 4);
    assert_true(calendar_is_leap(2000));
    assert_false(calendar_is_leap(1900));
    assert_int_equal(calendar_month_days(2024, 2), 29);
}

/* Cedar's times reach 292 million years. */
TEST(days_far_away_come_back)
{
    static const int64_t far[] = {INT64_MIN / 86400000, INT64_MAX / 86400000};
    for (int i = 0; i < 2; i++) {
        int64_t year;
        int month;
        int day;
        calendar_date(far[i], &year, &month, &day);
        assert_int_equal(calendar_days(year, month, day), far[i]);
    }
}

TEST(a_header_has_the_time_in_utc)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37"},
        {0, "Thu, 01 Jan 1970 00:00:00"},
        {-1, "Wed, 31 Dec 1969 23:59:59"},
        {1709251199, "Thu, 29 Feb 2024 23:59:59"},
        {CALENDAR_FIRST_SECOND, "Tue, 02 Jan 0001 00:00:00"},
        {CALENDAR_LAST_SECOND, "Thu, 30 Dec 9999 23:59:59"},
    };
    char text[CALENDAR_HEADER_SIZE];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        calendar_format_header(cases[i].seconds, text);
        assert_string_equal(text, cases[i].text);
    }
}
