// SPDX-License-Identifier: Apache-2.0
/* Tool type "datetime": what time it is, in any zone, and reading dates. */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/zone.h"
#include "tool/datetime/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct datetime {
    const struct tool_surroundings *around;
    const char *default_zone;
};

/** "2026-02-20T14:03:05+01:00 (Friday, February 20, 2026 02:03:05 PM CET)" */
static void write_moment(int64_t unix_seconds, const struct zone_moment *moment, struct buf *text)
{
    char iso[CALENDAR_ISO_SIZE];
    struct calendar_time time;
    calendar_from_unix(unix_seconds + moment->offset_seconds, &time);
    time.has_offset = true;
    time.offset_seconds = moment->offset_seconds;
    calendar_format_iso(&time, iso);
    int weekday = calendar_weekday(calendar_days(time.year, time.month, time.day));
    buf_printf(text, "%s (%s, %s %02d, %" PRId64 " %02d:%02d:%02d %s %s)", iso,
               calendar_weekday_name(weekday), calendar_month_name(time.month), time.day, time.year,
               time.hour % 12 == 0 ? 12 : time.hour % 12, time.minute, time.second,
               time.hour < 12 ? "AM" : "PM", moment->name);
}

static void run_current_time(const struct tool *tool, const struct tool_call *call,
                             struct tool_result *ret_result)
{
    const struct datetime *datetime = tool->context;
    const struct clock *clock = datetime->around->clock;
    const char *zone = json_get_string(call->arguments, "timezone", "");
    if (*zone == '\0') {
        zone = datetime->default_zone;
    }
    struct zone_moment moment;
    int64_t now = clock_now(clock == NULL ? clock_system() : clock) / NS_PER_S;
    if (!zone_find(zone, now, &moment)) {
        tool_fail(ret_result,
                  "Error: invalid timezone '%.64s' (an IANA name is needed, such as "
                  "UTC or Europe/Berlin)",
                  zone);
        return;
    }
    write_moment(now, &moment, &ret_result->text);
}

static void run_parse_date(const struct tool *tool, const struct tool_call *call,
                           struct tool_result *ret_result)
{
    (void)tool;
    const char *text = json_get_string(call->arguments, "text", "");
    const char *format = json_get_string(call->arguments, "format", "");
    struct calendar_time time;
    char iso[CALENDAR_ISO_SIZE];
    bool is_read = *format == '\0' ? calendar_parse_iso(text, &time)
                                   : calendar_parse_format(text, format, &time);
    if (!is_read && *format == '\0') {
        tool_fail(ret_result,
                  "Error: could not parse '%.200s' — use ISO 8601 format (e.g. "
                  "2024-01-15T10:30:00), or give the format",
                  text);
    } else if (!is_read) {
        tool_fail(ret_result,
                  "Error: could not parse '%.200s' by the format '%.200s' — use ISO 8601 format "
                  "(e.g. 2024-01-15T10:30:00), or a format of strptime that fits",
                  text, format);
    } else {
        calendar_format_iso(&time, iso);
        buf_append_string(&ret_result->text, iso);
    }
}

static const struct tool_function functions[] = {
    {
        .name = "current_time",
        .description = "Tell the current date and time.",
        .schema = "{\"type\":\"object\",\"properties\":{\"timezone\":{\"type\":\"string\","
                  "\"description\":\"IANA name such as Europe/Berlin; empty = the default\","
                  "\"default\":\"\"}},\"additionalProperties\":false}",
        .run = run_current_time,
        .is_pure = true,
        .is_idempotent = true,
        .is_concurrent = true,
        .is_read_only = true,
    },
    {
        .name = "parse_date",
        .description = "Read a date or time and write it in ISO 8601.",
        .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
                  "\"description\":\"The date\"},\"format\":{\"type\":\"string\",\"description\":"
                  "\"Format of strptime such as %d.%m.%Y; empty = ISO 8601\",\"default\":\"\"}},"
                  "\"required\":[\"text\"],\"additionalProperties\":false}",
        .run = run_parse_date,
        .is_pure = true,
        .is_idempotent = true,
        .is_concurrent = true,
        .is_read_only = true,
    },
};

static int open_datetime(struct toolbox *toolbox, struct json_object *config,
                         struct rondo_error *err)
{
    struct datetime *datetime = memory_new_zero(1, sizeof(*datetime));
    toolbox_own(toolbox, datetime, free);
    datetime->around = toolbox_surroundings(toolbox);
    datetime->default_zone = json_get_string(config, "default_timezone", "UTC");
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(functions) / sizeof(functions[0]); i++) {
        r = toolbox_add_function(toolbox, datetime_tool_type.name, &functions[i], datetime, err);
    }
    return r;
}

const struct tool_type datetime_tool_type = {.name = "datetime", .open = open_datetime};
