// SPDX-License-Identifier: Apache-2.0
/* TZif files and POSIX rules. */
#include "tool/datetime/zone.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "os/file.h"
#include "tool/datetime/calendar.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 44
#define NAME_MAX_LEN 64
#define DAY_SECONDS  86400

/* Bytes of a file that are read front to back. */
struct tzfile_reader {
    const unsigned char *at;
    const unsigned char *end;
};

/* --- the file --- */

struct tzfile_counts {
    uint32_t ut, standard, leap, time, type, chars;
};

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_i64(const unsigned char *at)
{
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static size_t bytes_left(const struct tzfile_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static bool read_header(struct tzfile_reader *reader, struct tzfile_counts *ret_counts)
{
    const unsigned char *at = reader->at;
    if (bytes_left(reader) < HEADER_BYTES || memcmp(at, "TZif", 4) != 0) {
        return false;
    }
    *ret_counts = (struct tzfile_counts){read_u32(at + 20), read_u32(at + 24), read_u32(at + 28),
                                         read_u32(at + 32), read_u32(at + 36), read_u32(at + 40)};
    reader->at += HEADER_BYTES;
    return true;
}

/** Bytes of the data block after a header. */
static uint64_t block_bytes(const struct tzfile_counts *counts, unsigned time_bytes)
{
    return (uint64_t)counts->time * (time_bytes + 1) + (uint64_t)counts->type * 6 + counts->chars +
           (uint64_t)counts->leap * (time_bytes + 4) + counts->standard + counts->ut;
}

/** The local time type at a moment, or SIZE_MAX when the rule at the end decides. */
static size_t find_type(const struct tzfile_counts *counts, const unsigned char *times,
                        int64_t unix_seconds)
{
    const unsigned char *types = times + (size_t)counts->time * 8;
    size_t low = 0;
    size_t high = counts->time;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (read_i64(times + middle * 8) <= unix_seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == counts->time) {
        return SIZE_MAX;
    }
    return low == 0 ? 0 : types[low - 1];
}

static bool take_type(const struct tzfile_counts *counts, const unsigned char *times, size_t type,
                      struct zone_moment *ret_moment)
{
    const unsigned char *records = times + (size_t)counts->time * 9;
    const unsigned char *names = records + (size_t)counts->type * 6;
    if (type >= counts->type || records[type * 6 + 5] >= counts->chars) {
        return false;
    }
    const unsigned char *name = names + records[type * 6 + 5];
    size_t room = (size_t)(names + counts->chars - name);
    ret_moment->offset_seconds = (int32_t)read_u32(records + type * 6);
    snprintf(ret_moment->name, sizeof(ret_moment->name), "%.*s",
             (int)strnlen((const char *)name, room), (const char *)name);
    return ret_moment->offset_seconds > -DAY_SECONDS && ret_moment->offset_seconds < DAY_SECONDS;
}

/* --- the rule at the end --- */

enum day_kind { DAY_MONTH, DAY_JULIAN, DAY_ZERO };

/* When a period begins: a day of the year and a time of that day. */
struct rule_date {
    enum day_kind kind;
    int month, week, weekday; /* DAY_MONTH */
    int day;                  /* of the year */
    int seconds;
};

struct rule {
    struct zone_moment standard;
    struct zone_moment summer;
    bool has_summer;
    struct rule_date to_summer;
    struct rule_date to_standard;
};

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

static bool take_change(const char **at, struct rule_date *change)
{
    *change = (struct rule_date){.seconds = 2 * 3600};
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

static bool parse_rule(const char *at, struct rule *ret_rule)
{
    struct rule rule = {0};
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
static int64_t change_day(const struct rule_date *change, int64_t year)
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
static int64_t change_moment(const struct rule_date *change, int64_t year, int32_t offset_before)
{
    return change_day(change, year) * DAY_SECONDS + change->seconds - offset_before;
}

static void apply_rule(const struct rule *rule, int64_t unix_seconds,
                       struct zone_moment *ret_moment)
{
    if (!rule->has_summer) {
        *ret_moment = rule->standard;
        return;
    }
    struct calendar_time local;
    calendar_from_unix(unix_seconds + rule->standard.offset_seconds, &local);
    int64_t begin = change_moment(&rule->to_summer, local.year, rule->standard.offset_seconds);
    int64_t end = change_moment(&rule->to_standard, local.year, rule->summer.offset_seconds);
    bool is_summer = begin < end ? unix_seconds >= begin && unix_seconds < end
                                 : unix_seconds >= begin || unix_seconds < end;
    *ret_moment = is_summer ? rule->summer : rule->standard;
}

/** Read the line after the data. @return false when there is none, or it is empty */
static bool read_rule(const struct tzfile_reader *reader, struct rule *ret_rule)
{
    char text[128];
    size_t left = bytes_left(reader);
    if (left < 3 || reader->at[0] != '\n') {
        return false;
    }
    const unsigned char *line = reader->at + 1;
    const unsigned char *end = memchr(line, '\n', left - 1);
    if (end == NULL || end == line || (size_t)(end - line) >= sizeof(text)) {
        return false;
    }
    memcpy(text, line, (size_t)(end - line));
    text[end - line] = '\0';
    return parse_rule(text, ret_rule);
}

/* --- both --- */

bool zone_read(const char *bytes, size_t len, int64_t unix_seconds, struct zone_moment *ret_moment)
{
    struct tzfile_reader reader = {(const unsigned char *)bytes,
                                   (const unsigned char *)bytes + len};
    struct tzfile_counts counts;
    if (unix_seconds < CALENDAR_FIRST_SECOND || unix_seconds > CALENDAR_LAST_SECOND ||
        !read_header(&reader, &counts) || bytes[4] < '2' ||
        block_bytes(&counts, 4) > bytes_left(&reader)) {
        return false;
    }
    reader.at += block_bytes(&counts, 4); /* the old form, in 32 bits */
    if (!read_header(&reader, &counts) || block_bytes(&counts, 8) > bytes_left(&reader)) {
        return false;
    }
    const unsigned char *times = reader.at;
    reader.at += block_bytes(&counts, 8);
    size_t type = find_type(&counts, times, unix_seconds);
    struct rule rule;
    if (type == SIZE_MAX && read_rule(&reader, &rule)) {
        apply_rule(&rule, unix_seconds, ret_moment);
        return true;
    }
    if (type == SIZE_MAX) {
        type = counts.time == 0 ? 0 : times[(size_t)counts.time * 9 - 1];
    }
    return take_type(&counts, times, type, ret_moment);
}

/** Names such as "Europe/Berlin", "Etc/GMT+5"; nothing that leads out of the folder. */
static bool is_zone_name(const char *zone)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_+-/";
    size_t len = strlen(zone);
    return len > 0 && len <= NAME_MAX_LEN && zone[0] != '/' && zone[len - 1] != '/' &&
           strspn(zone, letters) == len;
}

bool zone_find(const char *zone, int64_t unix_seconds, struct zone_moment *ret_moment)
{
    static const char *const folders[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                          "/usr/share/lib/zoneinfo", "/etc/zoneinfo"};
    if (strcmp(zone, "UTC") == 0) {
        *ret_moment = (struct zone_moment){.name = "UTC"};
        return true;
    }
    if (!is_zone_name(zone)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[PATH_MAX];
        auto_buf struct buf bytes = {0};
        snprintf(path, sizeof(path), "%s/%s", folders[i], zone);
        /* opens: the system's time zones */
        if (file_read(path, ZONE_FILE_MAX_BYTES, &bytes, NULL) == 0 &&
            zone_read(buf_string(&bytes), bytes.len, unix_seconds, ret_moment)) {
            return true;
        }
    }
    return false;
}
