// SPDX-License-Identifier: Apache-2.0
/* POSIX rules of summer time. */
#include "base/time/zone_rule.h"

#include "base/ascii.h"
#include "base/time/calendar.h"

#include <stdio.h>
#include <string.h>

#define DAY_SECONDS 86400

static bool take_byte(const char **at, char wanted)
{
    if (**at != wanted) {
        return false;
    }
    (*at)++;
    return true;
}

static bool take_number(const char **at, int low, int high, int *ret_number)
{
    int number = 0;
    int digits = 0;
    for (; ascii_is_digit(**at) && digits < 4; (*at)++, digits++) {
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return digits > 0 && number >= low && number <= high;
}

/** Hours, and minutes and seconds if given. */
static bool take_time(const char **at, int max_hours, int *ret_seconds)
{
    bool is_negative = take_byte(at, '-');
    int hours = 0;
    int minutes = 0;
    int seconds = 0;
    if (!is_negative) {
        take_byte(at, '+');
    }
    bool is_good = take_number(at, 0, max_hours, &hours);
    if (is_good && take_byte(at, ':')) {
        is_good = take_number(at, 0, 59, &minutes) &&
                  (!take_byte(at, ':') || take_number(at, 0, 59, &seconds));
    }
    *ret_seconds = (hours * 60 + minutes) * 60 + seconds;
    *ret_seconds *= is_negative ? -1 : 1;
    return is_good;
}

static bool take_name(const char **at, struct zone_moment *moment)
{
    const char *start = *at;
    const char *end;
    if (*start == '<') {
        start++;
        end = strchr(start, '>');
        *at = end == NULL ? start : end + 1;
    } else {
        end = start;
        while (ascii_is_letter(*end)) {
            end++;
        }
        *at = end;
    }
    if (end == NULL || end - start < 3 || end - start >= (int)sizeof(moment->name)) {
        return false;
    }
    snprintf(moment->name, sizeof(moment->name), "%.*s", (int)(end - start), start);
    return true;
}

static bool take_change(const char **at, struct zone_rule_date *change)
{
    *change = (struct zone_rule_date){.seconds = 2 * 3600};
    bool is_good;
    if (take_byte(at, ',') && take_byte(at, 'M')) {
        is_good = take_number(at, 1, 12, &change->month) && take_byte(at, '.') &&
                  take_number(at, 1, 5, &change->week) && take_byte(at, '.') &&
                  take_number(at, 0, 6, &change->weekday);
    } else if (take_byte(at, 'J')) {
        change->kind = DAY_JULIAN;
        is_good = take_number(at, 1, 365, &change->day);
    } else {
        change->kind = DAY_ZERO;
        is_good = take_number(at, 0, 365, &change->day);
    }
    return is_good && (!take_byte(at, '/') || take_time(at, 167, &change->seconds));
}

bool zone_rule_parse(const char *at, struct zone_rule *ret_rule)
{
    struct zone_rule rule = {0};
    int seconds = 0;
    if (!take_name(&at, &rule.standard) || !take_time(&at, 24, &seconds)) {
        return false;
    }
    rule.standard.offset_seconds = -seconds; /* POSIX counts west of UTC */
    if (*at != '\0') {
        rule.has_summer = true;
        seconds -= 3600;
        if (!take_name(&at, &rule.summer) || (*at != ',' && !take_time(&at, 24, &seconds)) ||
            !take_change(&at, &rule.to_summer) || !take_change(&at, &rule.to_standard)) {
            return false;
        }
        rule.summer.offset_seconds = -seconds;
    }
    *ret_rule = rule;
    return *at == '\0';
}

/** Day, counted from 1970-01-01, on which a period begins in a year. */
static int64_t change_day(const struct zone_rule_date *change, int64_t year)
{
    int64_t new_year = calendar_days(year, 1, 1);
    if (change->kind == DAY_ZERO) {
        return new_year + change->day;
    }
    if (change->kind == DAY_JULIAN) {
        return new_year + change->day - (change->day < 60 || !calendar_is_leap(year) ? 1 : 0);
    }
    int64_t first = calendar_days(year, change->month, 1);
    int ahead = (change->weekday - calendar_weekday(first) + 7) % 7;
    int day = 1 + ahead + (change->week - 1) * 7;
    while (day > calendar_month_days(year, change->month)) {
        day -= 7;
    }
    return first + day - 1;
}

/** Second of the epoch; the change is told in the local time that holds before it. */
static int64_t change_moment(const struct zone_rule_date *change, int64_t year,
                             int32_t offset_before)
{
    return change_day(change, year) * DAY_SECONDS + change->seconds - offset_before;
}

/* A rule can move a change by a week into another year. */
#define YEARS_AROUND 2

/** Take a change into account: the span begins at the last one that was, ends at the next one. */
static void narrow(int64_t change, const struct zone_moment *after, int64_t unix_seconds,
                   struct zone_span *span)
{
    if (change <= unix_seconds && change >= span->begin) {
        span->begin = change;
        span->moment = *after;
    } else if (change > unix_seconds && change < span->end) {
        span->end = change;
    }
}

void zone_rule_span(const struct zone_rule *rule, int64_t unix_seconds, struct zone_span *ret_span)
{
    *ret_span = (struct zone_span){.begin = INT64_MIN, .end = INT64_MAX, .moment = rule->standard};
    if (!rule->has_summer) {
        return;
    }
    int64_t year;
    int month;
    int day;
    calendar_date(unix_seconds / DAY_SECONDS, &year, &month, &day);
    for (int64_t i = year - YEARS_AROUND; i <= year + YEARS_AROUND; i++) {
        narrow(change_moment(&rule->to_summer, i, rule->standard.offset_seconds), &rule->summer,
               unix_seconds, ret_span);
        narrow(change_moment(&rule->to_standard, i, rule->summer.offset_seconds), &rule->standard,
               unix_seconds, ret_span);
    }
}
