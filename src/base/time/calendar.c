// SPDX-License-Identifier: Apache-2.0
/* A year is counted from March, so that a leap day is its last day; 400 years have the same days.
 */
#include "base/time/calendar.h"

#include <inttypes.h>
#include <stdio.h>

#define DAY_SECONDS       86400
#define DAYS_OF_400_YEARS 146097
/** From 0000-03-01 to 1970-01-01. */
#define EPOCH_DAY 719468

static int64_t floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

bool calendar_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int calendar_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && calendar_is_leap(year) ? 1 : 0);
}

int64_t calendar_days(int64_t year, int month, int day)
{
    int64_t from_march = year - (month < 3 ? 1 : 0);
    int64_t era = floor_divide(from_march, 400);
    int64_t year_of_era = from_march - era * 400;
    int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * DAYS_OF_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - EPOCH_DAY;
}

void calendar_date(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t era = floor_divide(days + EPOCH_DAY, DAYS_OF_400_YEARS);
    int64_t day_of_era = days + EPOCH_DAY - era * DAYS_OF_400_YEARS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = (int)(day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100));
    int month = (5 * day_of_year + 2) / 153; /* from March */
    *ret_day = day_of_year - (153 * month + 2) / 5 + 1;
    *ret_month = month < 10 ? month + 3 : month - 9;
    *ret_year = era * 400 + year_of_era + (*ret_month < 3 ? 1 : 0);
}

int calendar_weekday(int64_t days)
{
    return (int)(days + 4 - floor_divide(days + 4, 7) * 7); /* 1970-01-01 was a Thursday */
}

const char *calendar_month_name(int month)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    return names[month - 1];
}

const char *calendar_weekday_name(int weekday)
{
    static const char *const names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
    return names[weekday];
}

void calendar_format_header(int64_t unix_seconds, char ret_text[CALENDAR_HEADER_SIZE])
{
    int64_t days = floor_divide(unix_seconds, DAY_SECONDS);
    int second = (int)(unix_seconds - days * DAY_SECONDS);
    int64_t year;
    int month;
    int day;
    calendar_date(days, &year, &month, &day);
    snprintf(ret_text, CALENDAR_HEADER_SIZE, "%.3s, %02d %.3s %04" PRId64 " %02d:%02d:%02d",
             calendar_weekday_name(calendar_weekday(days)), day, calendar_month_name(month), year,
             second / 3600, second / 60 % 60, second % 60);
}
