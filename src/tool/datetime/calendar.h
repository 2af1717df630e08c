// SPDX-License-Identifier: Apache-2.0
/* Dates of the years 1 to 9999, as Python reads and writes them. Pure. */
#pragma once

#include "base/time/calendar.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A date and a time of day, with an offset from UTC or without. */
struct calendar_time {
    int64_t year;
    int month, day; /**< from 1 */
    int hour, minute, second;
    int microsecond;
    bool has_offset;
    int32_t offset_seconds;
};

/** Date and time of a second of the epoch. The offset is cleared. */
void calendar_from_unix(int64_t unix_seconds, struct calendar_time *ret_time);

/** Bytes of calendar_format_iso, the NUL included. */
#define CALENDAR_ISO_SIZE 48

/** As datetime.isoformat: fraction and offset only where there are any. */
void calendar_format_iso(const struct calendar_time *time, char ret_text[CALENDAR_ISO_SIZE]);

/**
 * As datetime.fromisoformat (Python 3.11): extended and basic form, week dates, any one character
 * between date and time, a comma or point before the fraction.
 */
bool calendar_parse_iso(const char *text, struct calendar_time *ret_time);

/**
 * As datetime.strptime, in the C locale: %a %A %b %B %c %d %f %H %I %j %m %M %p %S %w %x %X %y %Y
 * %z %Z %%. @return false when the text does not fit, or the format has another directive
 */
bool calendar_parse_format(const char *text, const char *format, struct calendar_time *ret_time);
