// SPDX-License-Identifier: Apache-2.0
/* Days by the offset of a zone at a moment. */
#include "agent/budget/period.h"

#include "base/clock.h"
#include "os/zone.h"

#define DAY_S INT64_C(86400)
/** 1970-01-05 was a Monday. */
#define FIRST_MONDAY 4
/** No zone is farther from UTC than this. */
#define OFFSET_MAX_S (27 * INT64_C(3600))

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

int64_t period_week_begin(int64_t day)
{
    return floor_div(day - FIRST_MONDAY, 7) * 7 + FIRST_MONDAY;
}

static bool day_of_second(const char *zone, int64_t second, int64_t *ret_day)
{
    struct zone_moment moment;
    if (!zone_find(zone, second, &moment)) {
        return false;
    }
    *ret_day = floor_div(second + moment.offset_seconds, DAY_S);
    return true;
}

bool period_day(const char *zone, int64_t now_ns, int64_t *ret_day)
{
    return day_of_second(zone, floor_div(now_ns, NS_PER_S), ret_day);
}

int64_t period_begin_ns(const char *zone, int64_t day)
{
    int64_t before = day * DAY_S - OFFSET_MAX_S; /* it is not yet this day here, */
    int64_t within = day * DAY_S + OFFSET_MAX_S; /* and here it is, or was */
    while (within - before > 1) {
        int64_t middle = before + (within - before) / 2;
        int64_t found;
        if (!day_of_second(zone, middle, &found)) {
            return day * DAY_S * NS_PER_S;
        }
        if (found < day) {
            before = middle;
        } else {
            within = middle;
        }
    }
    return within * NS_PER_S;
}
