// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar's datetime: signed 64-bit milliseconds since the Unix epoch, in the proleptic Gregorian
 * calendar without leap seconds. Pure; any thread.
 */
#include "policy/cedar/value/extension.h"

#include "base/time/calendar.h"
#include "policy/cedar/value/extension_text.h"

#include <inttypes.h>
#include <stdio.h>

#define MS_PER_SECOND 1000
#define MS_PER_MINUTE (60 * MS_PER_SECOND)
#define MS_PER_HOUR   (60 * MS_PER_MINUTE)
#define MS_PER_DAY    (24 * MS_PER_HOUR)

/** Step over exactly `width` digits that make a number in [low, high]. */
static bool take_field(struct extension_text *rest, int width, int low, int high, int *ret_field)
{
    int field = 0;
    for (int i = 0; i < width; i++) {
        if (!extension_text_has_digit(rest)) {
            return false;
        }
        field = field * 10 + extension_text_digit(rest);
    }
    *ret_field = field;
    return field >= low && field <= high;
}

/** `YYYY-MM-DD`. */
static bool take_date(struct extension_text *rest, int64_t *ret_ms)
{
    int year = 0;
    int month = 0;
    int day = 0;
    if (!take_field(rest, 4, 0, 9999, &year) || !extension_text_take(rest, '-') ||
        !take_field(rest, 2, 1, 12, &month) || !extension_text_take(rest, '-') ||
        !take_field(rest, 2, 1, calendar_month_days(year, month), &day)) {
        return false;
    }
    *ret_ms = calendar_days(year, month, day) * MS_PER_DAY;
    return true;
}

/** `Thh:mm:ss[.SSS]`; a leap second is refused, as which minutes had one cannot be computed. */
static bool take_time(struct extension_text *rest, int64_t *ret_ms)
{
    int hour = 0;
    int minute = 0;
    int second = 0;
    int ms = 0;
    if (!extension_text_take(rest, 'T') || !take_field(rest, 2, 0, 23, &hour) ||
        !extension_text_take(rest, ':') || !take_field(rest, 2, 0, 59, &minute) ||
        !extension_text_take(rest, ':') || !take_field(rest, 2, 0, 59, &second)) {
        return false;
    }
    if (extension_text_take(rest, '.') && !take_field(rest, 3, 0, 999, &ms)) {
        return false;
    }
    *ret_ms = hour * MS_PER_HOUR + minute * MS_PER_MINUTE + second * MS_PER_SECOND + ms;
    return true;
}

/** `Z` or `(+|-)hhmm`. @param ret_ms what local time is ahead of UTC */
static bool take_offset(struct extension_text *rest, int64_t *ret_ms)
{
    int hour = 0;
    int minute = 0;
    *ret_ms = 0;
    if (extension_text_take(rest, 'Z')) {
        return true;
    }
    bool is_behind = extension_text_take(rest, '-');
    if ((!is_behind && !extension_text_take(rest, '+')) || !take_field(rest, 2, 0, 23, &hour) ||
        !take_field(rest, 2, 0, 59, &minute)) {
        return false;
    }
    int64_t offset = hour * MS_PER_HOUR + minute * MS_PER_MINUTE;
    *ret_ms = is_behind ? -offset : offset;
    return true;
}

bool cedar_datetime_parse(const char *text, size_t len, int64_t *ret_ms)
{
    struct extension_text rest = {.bytes = text, .len = len};
    int64_t date = 0;
    int64_t time = 0;
    int64_t offset = 0;
    if (!take_date(&rest, &date)) {
        return false;
    }
    if (!extension_text_is_at_end(&rest) &&
        (!take_time(&rest, &time) || !take_offset(&rest, &offset) ||
         !extension_text_is_at_end(&rest))) {
        return false;
    }
    *ret_ms = date + time - offset; /* Far from overflow: years have four digits. */
    return true;
}

/** The beginning of the day in days since the epoch, rounded down also before it. */
static int64_t floor_day(int64_t ms)
{
    return ms / MS_PER_DAY - (ms % MS_PER_DAY < 0 ? 1 : 0);
}

void cedar_datetime_format(int64_t ms, char *ret_text)
{
    int64_t year = 0;
    int month = 0;
    int day = 0;
    calendar_date(floor_day(ms), &year, &month, &day);
    if (year < 0 || year > 9999) {
        snprintf(ret_text, CEDAR_EXTENSION_TEXT_SIZE, "%" PRId64 "ms since 1970", ms);
        return;
    }
    int time = (int)cedar_datetime_to_time(ms);
    int len = snprintf(ret_text, CEDAR_EXTENSION_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d",
                       (int)year, month, day, time / MS_PER_HOUR, time / MS_PER_MINUTE % 60,
                       time / MS_PER_SECOND % 60);
    if (time % MS_PER_SECOND != 0) {
        len += snprintf(ret_text + len, CEDAR_EXTENSION_TEXT_SIZE - (size_t)len, ".%03d",
                        time % MS_PER_SECOND);
    }
    ret_text[len] = 'Z';
    ret_text[len + 1] = '\0';
}

bool cedar_datetime_to_date(int64_t ms, int64_t *ret_ms)
{
    int64_t date = 0;
    if (__builtin_sub_overflow(ms, cedar_datetime_to_time(ms), &date)) {
        return false;
    }
    *ret_ms = date;
    return true;
}

int64_t cedar_datetime_to_time(int64_t ms)
{
    int64_t time = ms % MS_PER_DAY;
    return time < 0 ? time + MS_PER_DAY : time;
}
