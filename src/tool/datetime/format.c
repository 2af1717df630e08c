// SPDX-License-Identifier: Apache-2.0
/* Reading dates by a format, as Python's strptime does in the C locale. */
#include "tool/datetime/calendar.h"

#include "base/ascii.h"

#include <string.h>
#include <strings.h>

#define DAY_SECONDS 86400

/* What was read so far. */
struct datetime_reading {
    const char *at;
    struct calendar_time time;
    int hour12; /* 1 to 12; 0 = not given */
    int is_pm;  /* -1 = not given */
    int year_day;
    bool has_date; /* month or day */
    unsigned depth;
};

static bool read_format(struct datetime_reading *reading, const char *format);

/** As many digits as allowed and fit in the range, at least `least`. */
static bool take_range(struct datetime_reading *reading, int least, int most, int low, int high,
                       int *ret_number)
{
    int best = 0;
    int best_len = 0;
    int number = 0;
    for (int i = 0; i < most && ascii_is_digit(reading->at[i]); i++) {
        number = number * 10 + (reading->at[i] - '0');
        if (i + 1 >= least && number >= low && number <= high) {
            best = number;
            best_len = i + 1;
        }
    }
    reading->at += best_len;
    *ret_number = best;
    return best_len > 0;
}

/** One of `count` names, or its first three letters. @return its number, or -1 */
static int take_name(struct datetime_reading *reading, bool is_short, int first, int count,
                     const char *(*name_of)(int number))
{
    for (int i = first; i < first + count; i++) {
        const char *name = name_of(i);
        size_t len = is_short ? 3 : strlen(name);
        if (strncasecmp(reading->at, name, len) == 0) {
            reading->at += len;
            return i;
        }
    }
    return -1;
}

static bool take_fraction(struct datetime_reading *reading)
{
    int digits = 0;
    reading->time.microsecond = 0;
    for (; digits < 6 && ascii_is_digit(*reading->at); digits++) {
        reading->time.microsecond = reading->time.microsecond * 10 + (*reading->at++ - '0');
    }
    for (int i = digits; i < 6; i++) {
        reading->time.microsecond *= 10;
    }
    return digits > 0;
}

/** "Z", "+0100", "+01:00", with seconds if given. */
static bool take_offset(struct datetime_reading *reading)
{
    int hours = 0;
    int minutes = 0;
    int seconds = 0;
    reading->time.has_offset = true;
    if (*reading->at == 'Z') {
        reading->at++;
        reading->time.offset_seconds = 0;
        return true;
    }
    int sign = *reading->at == '-' ? -1 : 1;
    if (*reading->at != '-' && *reading->at != '+') {
        return false;
    }
    reading->at++;
    if (!take_range(reading, 2, 2, 0, 23, &hours)) {
        return false;
    }
    bool has_colon = *reading->at == ':';
    reading->at += has_colon ? 1 : 0;
    if (!take_range(reading, 2, 2, 0, 59, &minutes)) {
        return false;
    }
    if (has_colon ? *reading->at == ':' : ascii_is_digit(*reading->at)) {
        reading->at += has_colon ? 1 : 0;
        if (!take_range(reading, 2, 2, 0, 59, &seconds)) {
            return false;
        }
    }
    reading->time.offset_seconds = sign * ((hours * 60 + minutes) * 60 + seconds);
    return true;
}

/** Names of the two zones that every Python knows. */
static bool take_zone(struct datetime_reading *reading)
{
    if (strncasecmp(reading->at, "UTC", 3) == 0 || strncasecmp(reading->at, "GMT", 3) == 0) {
        reading->at += 3;
        return true;
    }
    return false;
}

static bool take_year2(struct datetime_reading *reading)
{
    int year = 0;
    if (!take_range(reading, 2, 2, 0, 99, &year)) {
        return false;
    }
    reading->time.year = year + (year < 69 ? 2000 : 1900);
    return true;
}

static bool take_year4(struct datetime_reading *reading)
{
    int year = 0;
    if (!take_range(reading, 4, 4, 1, 9999, &year)) {
        return false;
    }
    reading->time.year = year;
    return true;
}

static bool take_month(struct datetime_reading *reading, bool is_short)
{
    int month = take_name(reading, is_short, 1, 12, calendar_month_name);
    if (month < 0) {
        return false;
    }
    reading->time.month = month;
    reading->has_date = true;
    return true;
}

static bool take_half(struct datetime_reading *reading)
{
    if (strncasecmp(reading->at, "AM", 2) != 0 && strncasecmp(reading->at, "PM", 2) != 0) {
        return false;
    }
    reading->is_pm = *reading->at == 'P' || *reading->at == 'p';
    reading->at += 2;
    return true;
}

/** A format that is short for others, such as %X. They do not nest. */
static bool take_composed(struct datetime_reading *reading, const char *format)
{
    reading->depth++;
    bool is_good = reading->depth == 1 && read_format(reading, format);
    reading->depth--;
    return is_good;
}

static bool take_directive(struct datetime_reading *reading, char directive)
{
    struct calendar_time *time = &reading->time;
    int ignored = 0;
    switch (directive) {
    case 'a':
    case 'A':
        return take_name(reading, directive == 'a', 0, 7, calendar_weekday_name) >= 0;
    case 'b':
    case 'B':
        return take_month(reading, directive == 'b');
    case 'c':
        return take_composed(reading, "%a %b %d %H:%M:%S %Y");
    case 'd':
        reading->has_date = true;
        return take_range(reading, 1, 2, 1, 31, &time->day);
    case 'f':
        return take_fraction(reading);
    case 'H':
        return take_range(reading, 1, 2, 0, 23, &time->hour);
    case 'I':
        return take_range(reading, 1, 2, 1, 12, &reading->hour12);
    case 'j':
        return take_range(reading, 1, 3, 1, 366, &reading->year_day);
    case 'm':
        reading->has_date = true;
        return take_range(reading, 1, 2, 1, 12, &time->month);
    case 'M':
        return take_range(reading, 1, 2, 0, 59, &time->minute);
    case 'p':
        return take_half(reading);
    case 'S':
        return take_range(reading, 1, 2, 0, 61, &time->second) && time->second < 60;
    case 'w':
        return take_range(reading, 1, 1, 0, 6, &ignored);
    case 'x':
        return take_composed(reading, "%m/%d/%y");
    case 'X':
        return take_composed(reading, "%H:%M:%S");
    case 'y':
        return take_year2(reading);
    case 'Y':
        return take_year4(reading);
    case 'z':
        return take_offset(reading);
    case 'Z':
        return take_zone(reading);
    case '%':
        return *reading->at++ == '%';
    default:
        return false;
    }
}

static bool take_blanks(struct datetime_reading *reading)
{
    if (!ascii_is_space(*reading->at)) {
        return false;
    }
    while (ascii_is_space(*reading->at)) {
        reading->at++;
    }
    return true;
}

static bool read_format(struct datetime_reading *reading, const char *format)
{
    while (*format != '\0') {
        if (*format == '%') {
            if (format[1] == '\0' || !take_directive(reading, format[1])) {
                return false;
            }
            format += 2;
        } else if (ascii_is_space(*format)) {
            if (!take_blanks(reading)) {
                return false;
            }
            format += strspn(format, " \t\n\v\f\r");
        } else if (*reading->at != '\0' && ascii_lower(*format) == ascii_lower(*reading->at)) {
            format++;
            reading->at++;
        } else {
            return false;
        }
    }
    return true;
}

static void settle_hour(struct datetime_reading *reading)
{
    if (reading->hour12 > 0) {
        reading->time.hour = reading->hour12 % 12 + (reading->is_pm == 1 ? 12 : 0);
    }
}

static bool settle_year_day(struct datetime_reading *reading)
{
    struct calendar_time *time = &reading->time;
    if (reading->year_day == 0 || reading->has_date) {
        return true;
    }
    struct calendar_time date;
    int64_t days = calendar_days(time->year, 1, 1) + reading->year_day - 1;
    calendar_from_unix(days * DAY_SECONDS, &date);
    if (date.year != time->year) {
        return false;
    }
    time->month = date.month;
    time->day = date.day;
    return true;
}

bool calendar_parse_format(const char *text, const char *format, struct calendar_time *ret_time)
{
    struct datetime_reading reading = {
        .at = text,
        .time = {.year = 1900, .month = 1, .day = 1},
        .is_pm = -1,
    };
    if (!read_format(&reading, format) || *reading.at != '\0' || !settle_year_day(&reading) ||
        reading.time.day > calendar_month_days(reading.time.year, reading.time.month)) {
        return false;
    }
    settle_hour(&reading);
    *ret_time = reading.time;
    return true;
}
