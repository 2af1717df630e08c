// SPDX-License-Identifier: Apache-2.0
/* Next times of triggers. */
#include "cli/commands/role_times.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/time/schedule.h"
#include "os/zone.h"
#include "tool/datetime/calendar.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES_SHOWN 5

/** "2026-11-23T09:00+01:00" */
static void append_time(const struct zone *zone, int64_t unix_seconds, struct buf *text)
{
    struct zone_span span;
    struct calendar_time time;
    zone_span_at(zone, unix_seconds, &span);
    int32_t offset = span.moment.offset_seconds;
    calendar_from_unix(unix_seconds + offset, &time);
    buf_printf(text, "%04d-%02d-%02dT%02d:%02d%c%02d:%02d", (int)time.year, time.month, time.day,
               time.hour, time.minute, offset < 0 ? '-' : '+', abs(offset) / 3600,
               abs(offset) / 60 % 60);
}

static void append_times(const struct schedule *schedule, const struct zone *zone,
                         int64_t now_seconds, struct buf *text)
{
    int64_t due = now_seconds;
    for (int i = 0; i < TIMES_SHOWN && schedule_next(schedule, zone, due, &due); i++) {
        buf_append_string(text, i == 0 ? "" : ", ");
        append_time(zone, due, text);
    }
}

static void append_cron(struct json_object *trigger, int64_t now_seconds, struct buf *text)
{
    const char *expression = json_get_string(trigger, "schedule", "");
    const char *name = json_get_string(trigger, "timezone", "UTC");
    struct zone *zone = NULL;
    struct schedule schedule;
    buf_printf(text, "%s (%s): ", expression, name);
    const char *problem = schedule_parse(expression, &schedule);
    if (problem != NULL) {
        buf_printf(text, "never; %s", problem);
    } else if (!zone_load(name, &zone)) {
        buf_append_string(text, "never; this machine has no such time zone");
    } else {
        append_times(&schedule, zone, now_seconds, text);
        zone_free(zone);
    }
}

void role_times_add(struct json_object *triggers, int64_t now_seconds, struct fields *fields)
{
    size_t count = json_length(triggers);
    const char *label = "next";
    for (size_t i = 0; i < count; i++) {
        struct json_object *trigger = json_object_array_get_idx(triggers, i);
        if (strcmp(json_get_string(trigger, "type", ""), "cron") == 0) {
            auto_buf struct buf text = {0};
            append_cron(trigger, now_seconds, &text);
            fields_add(fields, label, buf_string(&text));
            label = "";
        }
    }
}
