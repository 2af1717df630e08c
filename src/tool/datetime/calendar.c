// SPDX-License-Identifier: Apache-2.0
/* Calendar arithmetic, and the ISO forms. */
#include "tool/datetime/calendar.h"

#include "base/ascii.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_SECONDS 86400

void calendar_from_unix(int64_t unix_seconds, struct calendar_time *ret_time)
{
    int64_t days = unix_seconds / DAY_SECONDS;
    int64_t rest = unix_seconds % DAY_SECONDS;
    if (rest < 0) {
        days--;
        rest += DAY_SECONDS;
    }
    *ret_time = (struct calendar_time){
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
    };
    calendar_date(days, &ret_time->year, &ret_time->month, &ret_time->day);
}

void calendar_format_iso(const struct calendar_time *time, char ret_text[CALENDAR_ISO_SIZE])
{
    char fraction[16] = "";
    char offset[24] = "";
    if (time->microsecond != 0) {
        snprintf(fraction, sizeof(fraction), ".%06d", time->microsecond);
    }
    if (time->has_offset) {
        int32_t seconds = abs(time->offset_seconds);
        int len = snprintf(offset, sizeof(offset), "%c%02d:%02d",
                           time->offset_seconds < 0 ? '-' : '+', seconds / 3600, seconds / 60 % 60);
        if (seconds % 60 != 0) {
            snprintf(offset + len, sizeof(offset) - (size_t)len, ":%02d", seconds % 60);
        }
    }
    snprintf(ret_text, CALENDAR_ISO_SIZE, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d%s%s", time->year,
             time->month, time->day, time->hour, time->minute, time->second, fraction, offset);
}

/* --- reading the ISO forms --- */

/** Exactly `count` digits. */
static bool take_digits(const char **at, int count, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (!ascii_is_digit((*at)[i])) {
            return false;
        }
        number = number * 10 + ((*at)[i] - '0');
    }
    *at += count;
    *ret_number = number;
    return true;
}

static bool take_byte(const char **at, char wanted)
{
    if (**at != wanted) {
        return false;
    }
    (*at)++;
    return true;
}

/** After "W": the week, and the day if given. */
static bool take_week_date(const char **at, int year, bool is_extended, struct calendar_time *time)
{
    int week = 0;
    int day = 1;
    if (year < 2 || year > 9998 || !take_digits(at, 2, &week) || week < 1 || week > 53) {
        return false;
    }
    bool has_day = is_extended ? take_byte(at, '-') : ascii_is_digit(**at);
    if (has_day && (!take_digits(at, 1, &day) || day < 1 || day > 7)) {
        return false;
    }
    /* January 4th lies in week 1, whose first day is a Monday. */
    int64_t fourth = calendar_days(year, 1, 4);
    int64_t monday = fourth - (calendar_weekday(fourth) + 6) % 7;
    int64_t days = monday + (week - 1) * 7;
    struct calendar_time thursday;
    calendar_from_unix((days + 3) * DAY_SECONDS, &thursday);
    if (thursday.year != year) {
        return false; /* the year has 52 weeks */
    }
    calendar_from_unix((days + day - 1) * DAY_SECONDS, time);
    return true;
}

static bool take_date(const char **at, struct calendar_time *time)
{
    int year = 0;
    if (!take_digits(at, 4, &year) || year < 1) {
        return false;
    }
    bool is_extended = take_byte(at, '-');
    if (take_byte(at, 'W')) {
        return take_week_date(at, year, is_extended, time);
    }
    *time = (struct calendar_time){.year = year};
    return take_digits(at, 2, &time->month) && (!is_extended || take_byte(at, '-')) &&
           take_digits(at, 2, &time->day) && time->month >= 1 && time->month <= 12 &&
           time->day >= 1 && time->day <= calendar_month_days(year, time->month);
}

/** Digits after the point; those beyond microseconds are dropped. */
static bool take_fraction(const char **at, int *ret_microsecond)
{
    int digits = 0;
    int number = 0;
    for (; ascii_is_digit(**at); (*at)++) {
        if (digits < 6) {
            number = number * 10 + (**at - '0');
            digits++;
        }
    }
    for (int i = digits; i < 6; i++) {
        number *= 10;
    }
    *ret_microsecond = number;
    return digits > 0;
}

/** Hours, minutes, seconds: later ones may be missing, and are then 0. */
static bool take_clock(const char **at, struct calendar_time *time)
{
    if (!take_digits(at, 2, &time->hour)) {
        return false;
    }
    bool is_extended = **at == ':';
    int *const rest[] = {&time->minute, &time->second};
    for (size_t i = 0; i < 2; i++) {
        bool has_more = is_extended ? take_byte(at, ':') : ascii_is_digit(**at);
        if (!has_more) {
            return true;
        }
        if (!take_digits(at, 2, rest[i])) {
            return false;
        }
    }
    return (**at != '.' && **at != ',') || ((*at)++, take_fraction(at, &time->microsecond));
}

static bool take_offset(const char **at, struct calendar_time *time)
{
    if (**at == '\0') {
        return true;
    }
    time->has_offset = true;
    if (take_byte(at, 'Z')) {
        return true;
    }
    int sign = **at == '-' ? -1 : 1;
    struct calendar_time offset = {0};
    if ((!take_byte(at, '-') && !take_byte(at, '+')) || !take_clock(at, &offset) ||
        offset.hour > 23 || offset.minute > 59 || offset.second > 59) {
        return false;
    }
    time->offset_seconds = sign * (offset.hour * 3600 + offset.minute * 60 + offset.second);
    return true;
}

bool calendar_parse_iso(const char *text, struct calendar_time *ret_time)
{
    struct calendar_time time = {0};
    const char *at = text;
    if (!take_date(&at, &time)) {
        return false;
    }
    if (*at != '\0') {
        at++;
        while (((unsigned char)*at & 0xC0) == 0x80) {
            at++; /* the separator may be any one character */
        }
        if (!take_clock(&at, &time) || time.hour > 23 || time.minute > 59 || time.second > 59 ||
            !take_offset(&at, &time)) {
            return false;
        }
    }
    *ret_time = time;
    return *at == '\0';
}
