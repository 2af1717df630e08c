// SPDX-License-Identifier: Apache-2.0
/*
 * Cron schedules: minute, hour, day, month, weekday, or a name such as "@daily". Pure; a schedule
 * does not change, so any thread may read it.
 *
 * Fields are those of crontab(5): "*", numbers, names of months and weekdays, ranges, steps, lists,
 * and as day also "l", the last one of the month. A range may pass the end ("22-2", "fri-mon"). If
 * neither day nor weekday begins with "*" or is "?", a date that fits one of them is enough.
 *
 * Where the local time jumps, a schedule behaves as in cronie (cron(8)). One that is due in every
 * hour of the day counts the time that passes. Any other is due once at each local time: a time
 * that the clock skips is due where the clock arrives, one that is repeated only at its first
 * occurrence. A jump of more than three hours is a correction, with which nothing is made up for.
 */
#pragma once

#include "base/time/zone.h"

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    uint64_t minutes; /**< bit 0 to 59 */
    uint32_t hours;   /**< bit 0 to 23 */
    uint32_t days;    /**< bit 1 to 31 */
    uint16_t months;  /**< bit 1 to 12 */
    uint8_t weekdays; /**< bit 0 to 6, from Sunday */
    bool has_last_day;
    bool takes_both; /**< a date must fit both day and weekday; else one of them */
};

/** @return NULL, or what is wrong with the text: a static sentence */
const char *schedule_parse(const char *text, struct schedule *ret_schedule);

/**
 * The first time after a moment at which the schedule is due.
 * @param zone NULL = UTC
 * @return false when there is none before the year 9999
 */
bool schedule_next(const struct schedule *schedule, const struct zone *zone, int64_t after_seconds,
                   int64_t *ret_seconds);
