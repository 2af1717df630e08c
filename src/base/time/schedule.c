// SPDX-License-Identifier: Apache-2.0
/* Sets of bits, and the first member of them from a place on. */
#include "base/time/schedule.h"

#include "base/ascii.h"
#include "base/time/calendar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MINUTE_SECONDS 60
#define DAY_SECONDS    86400
#define DAY_MINUTES    1440
#define ALL_HOURS      0xFFFFFFU
/** Larger jumps of the local time are corrections (cronie). */
#define JUMP_MAX_SECONDS (3 * 3600)
/**
 * Two leap days on the same weekday can be 40 years apart: in this time each date that exists has
 * come.
 */
#define YEARS_SEARCHED 41

/* --- reading --- */

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

enum field_index { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const struct cron_field {
    int low, high;
    int count;                /* values that differ: weekday 7 is 0 */
    const char *const *names; /* instead of numbers from `low` on, or NULL */
    const char *problem;
} fields[FIELD_COUNT] = {
    [MINUTE] = {0, 59, 60, NULL, "the minute (first field) is wrong; 0 to 59"},
    [HOUR] = {0, 23, 24, NULL, "the hour (second field) is wrong; 0 to 23"},
    [DAY] = {1, 31, 31, NULL, "the day (third field) is wrong; 1 to 31 or l"},
    [MONTH] = {1, 12, 12, months, "the month (fourth field) is wrong; 1 to 12 or jan to dec"},
    [WEEKDAY] = {0, 7, 7, weekdays, "the weekday (fifth field) is wrong; 0 to 7 or sun to sat"},
};

static const struct {
    const char *name;
    const char *fields;
} macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* One field while it is read. */
struct field_reader {
    const struct cron_field *field;
    const char *at;
    uint64_t bits;
    bool has_last_day;
};

static bool take_digits(const char **at, int *ret_number)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 4) {
        return false;
    }
    *ret_number = (int)strtol(*at, NULL, 10);
    *at += digits;
    return true;
}

/** A number or a name. */
static bool take_value(struct field_reader *reader, int *ret_value)
{
    const struct cron_field *field = reader->field;
    for (int i = 0; field->names != NULL && field->names[i] != NULL; i++) {
        if (strncasecmp(reader->at, field->names[i], 3) == 0) {
            reader->at += 3;
            *ret_value = field->low + i;
            return true;
        }
    }
    return take_digits(&reader->at, ret_value) && *ret_value >= field->low &&
           *ret_value <= field->high;
}

/** Add each `step`-th value from `low` to `high`; past the last value it continues at the first. */
static void add_range(struct field_reader *reader, int low, int high, int step)
{
    const struct cron_field *field = reader->field;
    int distance = high >= low ? high - low : high - low + field->count;
    for (int i = 0; i <= distance; i += step) {
        reader->bits |= UINT64_C(1) << (field->low + (low - field->low + i) % field->count);
    }
}

/** A star, a value or a range, perhaps with a step: one item of a list. */
static bool take_item(struct field_reader *reader)
{
    const struct cron_field *field = reader->field;
    int low = field->low;
    int high = field->low + field->count - 1;
    int step = 1;
    bool is_day = field == &fields[DAY];
    if (is_day && (*reader->at == 'l' || *reader->at == 'L')) {
        reader->at++;
        reader->has_last_day = true;
        return true;
    }
    if (*reader->at == '*' || (*reader->at == '?' && (is_day || field == &fields[WEEKDAY]))) {
        reader->at++;
    } else {
        if (!take_value(reader, &low)) {
            return false;
        }
        if (*reader->at == '-') {
            reader->at++;
            if (!take_value(reader, &high)) {
                return false;
            }
        } else if (*reader->at != '/') {
            high = low;
        }
    }
    if (*reader->at == '/') {
        reader->at++;
        if (!take_digits(&reader->at, &step) || step == 0) {
            return false;
        }
    }
    add_range(reader, low, high, step);
    return true;
}

static bool take_field(struct field_reader *reader)
{
    do {
        if (!take_item(reader)) {
            return false;
        }
    } while (*reader->at++ == ',');
    reader->at--;
    return *reader->at == '\0' || ascii_is_space(*reader->at);
}

static void keep_field(struct schedule *schedule, const struct field_reader *reader)
{
    switch ((enum field_index)(reader->field - fields)) {
    case MINUTE:
        schedule->minutes = reader->bits;
        break;
    case HOUR:
        schedule->hours = (uint32_t)reader->bits;
        break;
    case DAY:
        schedule->days = (uint32_t)reader->bits;
        schedule->has_last_day = reader->has_last_day;
        break;
    case MONTH:
        schedule->months = (uint16_t)reader->bits;
        break;
    case WEEKDAY:
        schedule->weekdays = (uint8_t)reader->bits;
        break;
    case FIELD_COUNT:
        break;
    }
}

static const char *parse_fields(const char *text, struct schedule *schedule)
{
    struct field_reader reader = {.at = text + strspn(text, " \t")};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (*reader.at == '\0') {
            return "it has fewer than five fields";
        }
        reader.field = &fields[i];
        reader.bits = 0;
        bool is_any = *reader.at == '*' || *reader.at == '?';
        schedule->takes_both |= is_any && (i == DAY || i == WEEKDAY);
        if (!take_field(&reader)) {
            return fields[i].problem;
        }
        keep_field(schedule, &reader);
        reader.at += strspn(reader.at, " \t");
    }
    return *reader.at == '\0' ? NULL : "it has more than five fields";
}

/** The five fields of a name; of another text the text itself. NULL: there is no such name. */
static const char *expand_macro(const char *text)
{
    if (text[0] != '@') {
        return text;
    }
    size_t len = strcspn(text, " \t");
    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        bool is_alone = text[len + strspn(text + len, " \t")] == '\0';
        if (is_alone && strlen(macros[i].name) == len &&
            strncasecmp(text, macros[i].name, len) == 0) {
            return macros[i].fields;
        }
    }
    return NULL;
}

const char *schedule_parse(const char *text, struct schedule *ret_schedule)
{
    struct schedule schedule = {0};
    int64_t unused;
    const char *expanded = expand_macro(text + strspn(text, " \t"));
    if (expanded == NULL) {
        return "this name is not known; @hourly, @daily, @weekly, @monthly or @yearly";
    }
    const char *problem = parse_fields(expanded, &schedule);
    if (problem == NULL && !schedule_next(&schedule, NULL, 0, &unused)) {
        problem = "it is never due: no month it names has such a day";
    }
    if (problem == NULL) {
        *ret_schedule = schedule;
    }
    return problem;
}

/* --- the local calendar --- */

/** The days of a month that fit, as bits 1 to 31. */
static uint32_t days_of_month(const struct schedule *schedule, int64_t year, int month)
{
    int last = calendar_month_days(year, month);
    uint32_t days = schedule->days | (schedule->has_last_day ? 1U << last : 0);
    uint32_t by_weekday = 0;
    int weekday = calendar_weekday(calendar_days(year, month, 1));
    for (int day = 1; day <= last; day++, weekday = (weekday + 1) % 7) {
        by_weekday |= (uint32_t)(schedule->weekdays >> weekday & 1) << day;
    }
    days = schedule->takes_both ? days & by_weekday : days | by_weekday;
    return days & (uint32_t)((UINT64_C(1) << (last + 1)) - 1);
}

/** First minute of the day, from one on, that fits; DAY_MINUTES when there is none. */
static int minute_of_day(const struct schedule *schedule, int from)
{
    for (int hour = from / 60, minute = from % 60; hour < 24; hour++, minute = 0) {
        uint64_t rest = schedule->minutes >> minute;
        if ((schedule->hours >> hour & 1) != 0 && rest != 0) {
            return hour * 60 + minute + __builtin_ctzll(rest);
        }
    }
    return DAY_MINUTES;
}

/** Whole division that rounds down. */
static int64_t divide_down(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/**
 * First local time, from one on, that fits.
 * @param from local seconds, a whole minute
 */
static bool next_local(const struct schedule *schedule, int64_t from, int64_t *ret_local)
{
    int64_t year;
    int month;
    int day;
    int64_t first_day = divide_down(from, DAY_SECONDS);
    calendar_date(first_day, &year, &month, &day);
    int minute = minute_of_day(schedule, (int)((from - first_day * DAY_SECONDS) / MINUTE_SECONDS));
    if (minute == DAY_MINUTES) {
        day++; /* perhaps past the end of the month, where no day fits */
        minute = minute_of_day(schedule, 0);
    }
    for (int64_t end = year + YEARS_SEARCHED; year <= end; day = 1) {
        uint32_t rest = (schedule->months >> month & 1) != 0
                            ? (uint32_t)((uint64_t)days_of_month(schedule, year, month) >> day)
                            : 0;
        if (rest != 0) {
            int ahead = __builtin_ctz(rest);
            minute = ahead > 0 ? minute_of_day(schedule, 0) : minute;
            *ret_local = calendar_days(year, month, day + ahead) * DAY_SECONDS +
                         (int64_t)minute * MINUTE_SECONDS;
            return true;
        }
        minute = minute_of_day(schedule, 0);
        year += month / 12;
        month = month % 12 + 1;
    }
    return false;
}

/* --- zones --- */

static int64_t round_up_to_minute(int64_t seconds)
{
    return divide_down(seconds + MINUTE_SECONDS - 1, MINUTE_SECONDS) * MINUTE_SECONDS;
}

/**
 * How far the local time jumps from one offset to the next, where a schedule of times of day makes
 * up for it; 0 where the new time simply applies.
 */
static int64_t jump_between(const struct schedule *schedule, const struct zone_span *from,
                            const struct zone_span *to)
{
    int64_t jump = (int64_t)to->moment.offset_seconds - from->moment.offset_seconds;
    bool is_correction = jump > JUMP_MAX_SECONDS || jump < -JUMP_MAX_SECONDS;
    return schedule->hours == ALL_HOURS || is_correction ? 0 : jump;
}

/**
 * The first local time that counts at a moment: with the beginning of a span come the times that
 * the jump skipped; those that it repeats are over.
 */
static int64_t local_begin(const struct schedule *schedule, const struct zone *zone,
                           const struct zone_span *span, int64_t from)
{
    int64_t local = from + span->moment.offset_seconds;
    if (span->begin <= CALENDAR_FIRST_SECOND) {
        return round_up_to_minute(local);
    }
    struct zone_span before;
    zone_span_at(zone, span->begin - 1, &before);
    int64_t jump = jump_between(schedule, &before, span);
    int64_t repeated_end = span->begin + before.moment.offset_seconds;
    if (jump > 0 && from == span->begin) {
        local -= jump;
    } else if (jump < 0 && local < repeated_end) {
        local = repeated_end;
    }
    return round_up_to_minute(local);
}

bool schedule_next(const struct schedule *schedule, const struct zone *zone, int64_t after_seconds,
                   int64_t *ret_seconds)
{
    struct zone_span span;
    int64_t from = after_seconds < CALENDAR_FIRST_SECOND ? CALENDAR_FIRST_SECOND : after_seconds;
    for (from += from < INT64_MAX ? 1 : 0; from < CALENDAR_LAST_SECOND; from = span.end) {
        int64_t local;
        zone_span_at(zone, from, &span);
        if (!next_local(schedule, local_begin(schedule, zone, &span, from), &local)) {
            return false;
        }
        int64_t due = local - span.moment.offset_seconds;
        due = due < from ? from : due; /* it was skipped */
        if (due < span.end) {
            *ret_seconds = due;
            return due <= CALENDAR_LAST_SECOND;
        }
    }
    return false;
}
