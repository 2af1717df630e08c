// SPDX-License-Identifier: Apache-2.0
/* Dates, formats and zone files. A date that was read is written in a form that gives it again. */
#include "../fuzz.h"

#include "base/time/calendar.h"
#include "base/time/zone.h"
#include "tool/datetime/calendar.h"

#include <string.h>

static void check_time(const struct calendar_time *time)
{
    char iso[CALENDAR_ISO_SIZE];
    char again[CALENDAR_ISO_SIZE];
    struct calendar_time copy;
    FUZZ_CHECK(time->month >= 1 && time->month <= 12);
    FUZZ_CHECK(time->day >= 1 && time->day <= calendar_month_days(time->year, time->month));
    calendar_format_iso(time, iso);
    FUZZ_CHECK(calendar_parse_iso(iso, &copy));
    calendar_format_iso(&copy, again);
    FUZZ_CHECK(strcmp(iso, again) == 0);
}

static void check_zone(const char *bytes, size_t size)
{
    static const int64_t moments[] = {CALENDAR_FIRST_SECOND, -5000000000, 0, 1771592585, 5000000000,
                                      CALENDAR_LAST_SECOND};
    struct zone *zone = zone_parse(bytes, size);
    for (size_t i = 0; zone != NULL && i < sizeof(moments) / sizeof(moments[0]); i++) {
        struct zone_span span;
        zone_span_at(zone, moments[i], &span);
        FUZZ_CHECK(span.begin <= moments[i] && span.end > moments[i]);
        FUZZ_CHECK(span.moment.offset_seconds > -200000 && span.moment.offset_seconds < 200000);
        FUZZ_CHECK(memchr(span.moment.name, '\0', sizeof(span.moment.name)) != NULL);
    }
    zone_free(zone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_bytes(data, size);
    check_zone(bytes, size);
    free(bytes);
    char *text = fuzz_text(data, size);
    char *format = strchr(text, '\n');
    struct calendar_time time;
    if (format != NULL) {
        *format++ = '\0';
        if (calendar_parse_format(text, format, &time)) {
            check_time(&time);
        }
    }
    if (calendar_parse_iso(text, &time)) {
        check_time(&time);
    }
    free(text);
    return 0;
}
