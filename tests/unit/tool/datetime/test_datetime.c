// SPDX-License-Identifier: Apache-2.0
/* Dates: the calendar, zones, ISO forms, formats, and the tools over them. */
#include "../tool_world.h"

#include "tool/datetime/calendar.h"

static int64_t fixed_now(const struct clock *clock)
{
    return *(const int64_t *)clock->context;
}

static int64_t real_monotonic(const struct clock *clock)
{
    (void)clock;
    return clock_monotonic(clock_system());
}

WORLD_TEST(the_time_is_told_in_a_zone)
{
    struct tool_world *world = *state;
    int64_t now = INT64_C(1771592585) * NS_PER_S + 5; /* 2026-02-20T13:03:05Z */
    const struct clock clock = {
        .now_ns = fixed_now, .monotonic_ns = real_monotonic, .context = &now};
    world->around.clock = &clock;
    world_open(world, "{\"type\":\"datetime\",\"default_timezone\":\"Europe/Berlin\"}");
    world_expect(world, "current_time", "{\"timezone\":\"UTC\"}",
                 "2026-02-20T13:03:05+00:00 (Friday, February 20, 2026 01:03:05 PM UTC)");
    if (!file_exists("/usr/share/zoneinfo/Europe/Berlin")) {
        print_message("no zone files here\n");
        skip();
    }
    world_expect(world, "current_time", "",
                 "2026-02-20T14:03:05+01:00 (Friday, February 20, 2026 02:03:05 PM CET)");
    world_expect(world, "current_time", "{\"timezone\":\"Asia/Kolkata\"}",
                 "2026-02-20T18:33:05+05:30 (Friday, February 20, 2026 06:33:05 PM IST)");
}

WORLD_TEST(a_zone_that_is_none_is_told)
{
    static const char *const zones[] = {"Mars/Base",     "../../../etc/passwd", "/etc/localtime",
                                        "Europe/../UTC", "posixrules\\n",       "Europe"};
    world_open(*state, "{\"type\":\"datetime\"}");
    for (size_t i = 0; i < COUNT(zones); i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"timezone\":\"%s\"}", zones[i]);
        world_expect_error(*state, "current_time", arguments, "Error: invalid timezone '");
    }
}

TEST(the_calendar_goes_there_and_back)
{
    for (int64_t days = calendar_days(1, 1, 2); days < calendar_days(9999, 12, 30); days += 17) {
        struct calendar_time time;
        calendar_from_unix(days * 86400 + 86399, &time);
        assert_int_equal(calendar_days(time.year, time.month, time.day), days);
        assert_int_equal(time.hour * 3600 + time.minute * 60 + time.second, 86399);
    }
    struct calendar_time time;
    calendar_from_unix(-1, &time);
    assert_int_equal(time.year, 1969);
    assert_int_equal(time.second, 59);
}

struct datetime_case {
    const char *text;
    const char *format;
    const char *iso; /* NULL = refused */
};

static const struct datetime_case readings[] = {
    {"2024-01-15", "", "2024-01-15T00:00:00"},
    {"2024-01-15T10:30:00", "", "2024-01-15T10:30:00"},
    {"2024-01-15 10:30", "", "2024-01-15T10:30:00"},
    {"2024-01-15T10", "", "2024-01-15T10:00:00"},
    {"20240115T103000", "", "2024-01-15T10:30:00"},
    {"2024-01-15T10:30:00Z", "", "2024-01-15T10:30:00+00:00"},
    {"2024-01-15T10:30:00+05:30", "", "2024-01-15T10:30:00+05:30"},
    {"2024-01-15T10:30:00-0330", "", "2024-01-15T10:30:00-03:30"},
    {"2024-01-15T10:30:00.5", "", "2024-01-15T10:30:00.500000"},
    {"2024-01-15T10:30:00,123456789", "", "2024-01-15T10:30:00.123456"},
    {"2024-W03-1", "", "2024-01-15T00:00:00"},
    {"2024W031", "", "2024-01-15T00:00:00"},
    {"2020-W53-7", "", "2021-01-03T00:00:00"},
    {"2021-W53-1", "", NULL},
    {"2024-02-29", "", "2024-02-29T00:00:00"},
    {"2023-02-29", "", NULL},
    {"2024-13-01", "", NULL},
    {"2024-1-5", "", NULL},
    {"2024-01-15T24:00:00", "", NULL},
    {"2024-01-15T", "", NULL},
    {"2024-01-15T10:30:00 ", "", NULL},
    {"", "", NULL},
    {"tomorrow", "", NULL},
    {"0000-01-01", "", NULL},
    {"15.01.2024", "%d.%m.%Y", "2024-01-15T00:00:00"},
    {"5.1.2024", "%d.%m.%Y", "2024-01-05T00:00:00"},
    {"Jan 5, 2024", "%b %d, %Y", "2024-01-05T00:00:00"},
    {"january 5 2024", "%B %d %Y", "2024-01-05T00:00:00"},
    {"Monday 15 January 2024", "%A %d %B %Y", "2024-01-15T00:00:00"},
    {"01/02/24 03:04:05 PM", "%x %I:%M:%S %p", "2024-01-02T15:04:05"},
    {"12:30 AM", "%I:%M %p", "1900-01-01T00:30:00"},
    {"12:30 PM", "%I:%M %p", "1900-01-01T12:30:00"},
    {"2024 060", "%Y %j", "2024-02-29T00:00:00"},
    {"2023 366", "%Y %j", NULL},
    {"20240115", "%Y%m%d", "2024-01-15T00:00:00"},
    {"1.5", "%S.%f", "1900-01-01T00:00:01.500000"},
    {"10:00 +0100", "%H:%M %z", "1900-01-01T10:00:00+01:00"},
    {"10:00 UTC", "%H:%M %Z", "1900-01-01T10:00:00"},
    {"69", "%y", "1969-01-01T00:00:00"},
    {"68", "%y", "2068-01-01T00:00:00"},
    {"Mon Jan 15 10:30:00 2024", "%c", "2024-01-15T10:30:00"},
    {"100% 5", "100%% %d", "1900-01-05T00:00:00"},
    {"31.02.2024", "%d.%m.%Y", NULL},
    {"1 2", "%d", NULL},
    {"1", "%Q", NULL},
    {"1", "%", NULL},
    {"a", "%%", NULL},
    {"", "%%", NULL},
};

WORLD_TEST(dates_are_read)
{
    world_open(*state, "{\"type\":\"datetime\"}");
    for (size_t i = 0; i < COUNT(readings); i++) {
        char arguments[256];
        snprintf(arguments, sizeof(arguments), "{\"text\":\"%s\",\"format\":\"%s\"}",
                 readings[i].text, readings[i].format);
        struct tool_result result = world_call(*state, "parse_date", arguments);
        const char *got = result.is_error ? NULL : buf_string(&result.text);
        if ((got == NULL) != (readings[i].iso == NULL) ||
            (got != NULL && strcmp(got, readings[i].iso) != 0)) {
            fail_msg("%s gives %s", arguments, buf_string(&result.text));
        }
        tool_result_fini(&result);
    }
}
