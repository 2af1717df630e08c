// SPDX-License-Identifier: Apache-2.0
/*
 * Days of the Gregorian calendar, extended to all years (ISO 8601). gmtime() and timegm() ask the
 * time zone and accept dates that do not exist. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** 0001-01-02T00:00:00Z and 9999-12-30T23:59:59Z: a day of room on both ends, for offsets. */
#define CALENDAR_FIRST_SECOND INT64_C(-62135510400)
#define CALENDAR_LAST_SECOND  INT64_C(253402214399)

bool calendar_is_leap(int64_t year);
/** @param month from 1 */
int calendar_month_days(int64_t year, int month);
/** Days from 1970-01-01 to a date. @param month, day from 1 */
int64_t calendar_days(int64_t year, int month, int day);
/** The date that is so many days after 1970-01-01. */
void calendar_date(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
/** 0 = Sunday. @param days from 1970-01-01 */
int calendar_weekday(int64_t days);

/** English names; the abbreviation is the first three letters. @param month from 1 */
const char *calendar_month_name(int month);
/** @param weekday 0 = Sunday */
const char *calendar_weekday_name(int weekday);

/** Bytes of calendar_format_header, the NUL included. */
#define CALENDAR_HEADER_SIZE 80

/**
 * A time in UTC as headers of mail and HTTP have it (RFC 5322, 3.3; RFC 9110, 5.6.7), without its
 * zone: "Sun, 06 Nov 1994 08:49:37".
 * @param unix_seconds from CALENDAR_FIRST_SECOND to CALENDAR_LAST_SECOND
 */
void calendar_format_header(int64_t unix_seconds, char ret_text[CALENDAR_HEADER_SIZE]);
