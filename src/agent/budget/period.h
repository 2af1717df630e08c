// SPDX-License-Identifier: Apache-2.0
/* Days of a time zone as numbers, from 1970-01-01. No state; any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Weeks begin on Monday. */
int64_t period_week_begin(int64_t day);

/** The day that it is in a zone. @return false when this machine has no such zone */
bool period_day(const char *zone, int64_t now_ns, int64_t *ret_day);

/**
 * When a day begins in a zone: its first second, also where the clock is set forward at midnight.
 * @return wall clock, ns; of a zone that is not there, as in UTC
 */
int64_t period_begin_ns(const char *zone, int64_t day);
