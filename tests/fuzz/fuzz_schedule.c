// SPDX-License-Identifier: Apache-2.0
/*
 * Cron schedules, in UTC or in the zone whose file follows the first line. Each next time is later,
 * and from just before it one comes to it again.
 */
#include "fuzz.h"

#include "base/time/calendar.h"
#include "base/time/schedule.h"

#include <string.h>

static void check_times(const struct schedule *schedule, const struct zone *zone, int64_t after)
{
    for (int i = 0; i < 4; i++) {
        int64_t due;
        int64_t again;
        if (!schedule_next(schedule, zone, after, &due)) {
            return;
        }
        FUZZ_CHECK(due > after && due <= CALENDAR_LAST_SECOND);
        FUZZ_CHECK(schedule_next(schedule, zone, due - 1, &again) && again == due);
        after = due;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t moments[] = {INT64_MIN, -5000000000, 0, 1774745999, 5000000000, INT64_MAX};
    char *text = fuzz_bytes(data, size);
    char *line_end = strchr(text, '\n');
    struct zone *zone = NULL;
    struct schedule schedule;
    if (line_end != NULL) {
        *line_end = '\0';
        zone = zone_parse(line_end + 1, size - (size_t)(line_end + 1 - text));
    }
    if (schedule_parse(text, &schedule) == NULL) {
        for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
            check_times(&schedule, zone, moments[i]);
        }
    }
    zone_free(zone);
    free(text);
    return 0;
}
