// SPDX-License-Identifier: Apache-2.0
/*
 * The rule in POSIX form at the end of a zone file: which offset applies after the changes that the
 * file lists ("CET-1CEST,M3.5.0,M10.5.0/3"). Pure; any thread.
 */
#pragma once

#include "base/time/zone_span.h"

#include <stdbool.h>

enum zone_day_kind { DAY_MONTH, DAY_JULIAN, DAY_ZERO };

/** When a period begins: a day of the year and a time of that day. */
struct zone_rule_date {
    enum zone_day_kind kind;
    int month, week, weekday; /**< DAY_MONTH */
    int day;                  /**< of the year */
    int seconds;
};

struct zone_rule {
    struct zone_moment standard;
    struct zone_moment summer;
    bool has_summer;
    struct zone_rule_date to_summer;
    struct zone_rule_date to_standard;
};

/** @return false when the text is not such a rule */
bool zone_rule_parse(const char *text, struct zone_rule *ret_rule);

/** What applies at a moment, from which change on, and until which. */
void zone_rule_span(const struct zone_rule *rule, int64_t unix_seconds, struct zone_span *ret_span);
