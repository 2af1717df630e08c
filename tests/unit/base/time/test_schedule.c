// SPDX-License-Identifier: Apache-2.0
/* Cron schedules: what is read, when they are due, jumps of the local time. */
#include "base/clock.h"
#include "base/time/calendar.h"
#include "base/time/schedule.h"
#include "os/zone.h"
#include "support/sanitizer.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_SECONDS INT64_C(86400)

static struct schedule parsed(const char *text)
{
    struct schedule schedule = {0};
    const char *problem = schedule_parse(text, &schedule);
    if (problem != NULL) {
        fail_msg("%s: %s", text, problem);
    }
    return schedule;
}

/** Loads a zone, or skips the test where the machine has none. */
static struct zone *needed_zone(const char *name)
{
    struct zone *zone = NULL;
    if (!zone_load(name, &zone)) {
        print_message("no zone files here\n");
        skip();
    }
    return zone;
}

/** "2026-02-28T09:00" in UTC. */
static int64_t at(const char *text)
{
    int year;
    int month;
    int day;
    int hour;
    int minute;
    assert_int_equal(sscanf(text, "%d-%d-%dT%d:%d", &year, &month, &day, &hour, &minute), 5);
    return calendar_days(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60;
}

static void expect_next(const char *text, const struct zone *zone, const char *after,
                        const char *expected)
{
    struct schedule schedule = parsed(text);
    int64_t due = 0;
    assert_true(schedule_next(&schedule, zone, at(after), &due));
    if (due != at(expected)) {
        fail_msg("%s after %s: %+" PRId64 " s from %s", text, after, due - at(expected), expected);
    }
}

struct next_case {
    const char *text, *after, *expected;
};

TEST(fields_names_ranges_and_steps_are_read)
{
    static const struct next_case cases[] = {
        {"* * * * *", "2026-01-01T00:00", "2026-01-01T00:01"},
        {"*/15 * * * *", "2026-01-01T00:00", "2026-01-01T00:15"},
        {"0 9 * * 1", "2026-01-01T00:00", "2026-01-05T09:00"},
        {"0 9 * * mon-fri", "2026-01-02T09:00", "2026-01-05T09:00"},
        {"0 0 1 jan,Jul *", "2026-01-01T00:00", "2026-07-01T00:00"},
        {"5/20 8-10/2 * * *", "2026-01-01T08:05", "2026-01-01T08:25"},
        {"5/20 8-10/2 * * *", "2026-01-01T08:45", "2026-01-01T10:05"},
        {"0 22-2 * * *", "2026-01-01T02:00", "2026-01-01T22:00"},
        {"0 12 * * fri-mon", "2026-01-05T12:00", "2026-01-09T12:00"},
        {"0 12 * * sat-sun", "2026-01-03T12:00", "2026-01-04T12:00"},
        {"0 12 * * 6-7", "2026-01-03T12:00", "2026-01-04T12:00"},
        {"0 12 * * 7", "2026-01-01T00:00", "2026-01-04T12:00"},
        {"0 12 l * *", "2026-02-01T00:00", "2026-02-28T12:00"},
        {"0 12 l * ?", "2028-02-01T00:00", "2028-02-29T12:00"},
        {"  0   12\t1 * *  ", "2026-01-01T12:00", "2026-02-01T12:00"},
        {"@hourly", "2026-01-01T00:00", "2026-01-01T01:00"},
        {"@daily", "2026-01-01T00:00", "2026-01-02T00:00"},
        {"@midnight", "2026-01-01T00:00", "2026-01-02T00:00"},
        {"@weekly", "2026-01-01T00:00", "2026-01-04T00:00"},
        {"@Monthly ", "2026-01-01T00:00", "2026-02-01T00:00"},
        {"@yearly", "2026-01-01T00:00", "2027-01-01T00:00"},
        {"@annually", "2026-01-01T00:00", "2027-01-01T00:00"},
        {"0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"},
        {"0 0 29 2 */7", "2088-03-01T00:00", "2128-02-29T00:00"},
        {"59 23 31 12 *", "2026-12-31T23:58", "2026-12-31T23:59"},
        {"0 0 31 * *", "2026-01-31T00:00", "2026-03-31T00:00"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_next(cases[i].text, NULL, cases[i].after, cases[i].expected);
    }
}

TEST(with_day_and_weekday_one_of_them_is_enough)
{
    expect_next("0 0 13 * 5", NULL, "2026-01-02T00:00", "2026-01-09T00:00");
    expect_next("0 0 13 * 5", NULL, "2026-01-09T00:00", "2026-01-13T00:00");
    /* A day that begins with a star limits the weekday, as in cronie. */
    expect_next("0 0 */2 * 5", NULL, "2026-01-02T00:00", "2026-01-09T00:00");
    expect_next("0 0 13 * *", NULL, "2026-01-02T00:00", "2026-01-13T00:00");
}

TEST(a_time_within_a_minute_is_after_its_beginning)
{
    struct schedule schedule = parsed("* * * * *");
    int64_t due;
    assert_true(schedule_next(&schedule, NULL, at("2026-01-01T00:00") + 59, &due));
    assert_int_equal(due, at("2026-01-01T00:01"));
    assert_true(schedule_next(&schedule, NULL, at("2026-01-01T00:00") - 1, &due));
    assert_int_equal(due, at("2026-01-01T00:00"));
}

TEST(from_just_before_a_jump_a_skipped_time_is_due_at_it)
{
    struct zone *zone = needed_zone("Europe/Berlin");
    struct schedule schedule = parsed("30 2 * * *");
    int64_t due;
    assert_true(schedule_next(&schedule, zone, at("2026-03-29T01:00") - 1, &due));
    assert_int_equal(due, at("2026-03-29T01:00"));
    zone_free(zone);
}

struct problem_case {
    const char *text, *problem;
};

TEST(what_is_no_schedule_is_refused_with_its_field)
{
    static const struct problem_case cases[] = {
        {"", "fewer"},
        {"* * * *", "fewer"},
        {"* * * * * *", "more"},
        {"60 * * * *", "first"},
        {"* 24 * * *", "second"},
        {"* * 0 * *", "third"},
        {"* * 32 * *", "third"},
        {"* * * 13 *", "fourth"},
        {"* * * 0 *", "fourth"},
        {"* * * foo *", "fourth"},
        {"* * * * 8", "fifth"},
        {"* * * * mond", "fifth"},
        {"*/0 * * * *", "first"},
        {"1, * * * *", "first"},
        {"1- * * * *", "first"},
        {"-1 * * * *", "first"},
        {"? * * * *", "first"},
        {"00001 * * * *", "first"},
        {"* * ll * *", "third"},
        {"@reboot", "@hourly"},
        {"@dailyx", "@hourly"},
        {"@daily *", "@hourly"},
        {"@", "@hourly"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schedule schedule;
        const char *problem = schedule_parse(cases[i].text, &schedule);
        assert_non_null(problem);
        if (strstr(problem, cases[i].problem) == NULL) {
            fail_msg("%s: %s", cases[i].text, problem);
        }
    }
}

TEST(a_date_that_no_year_has_is_refused)
{
    static const char *const texts[] = {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 sep ?"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct schedule schedule;
        assert_non_null(strstr(schedule_parse(texts[i], &schedule), "never due"));
    }
    parsed("0 0 29 2 *");
    parsed("0 0 30 2 1"); /* or on Mondays */
}

/* Berlin: 2026-03-29 02:00 is 03:00; 2026-10-25 03:00 is 02:00 again. */
TEST(a_skipped_local_time_is_due_where_the_clock_arrives)
{
    struct zone *zone = needed_zone("Europe/Berlin");
    expect_next("30 2 * * *", zone, "2026-03-28T01:30", "2026-03-29T01:00");
    expect_next("30 2 * * *", zone, "2026-03-29T01:00", "2026-03-30T00:30");
    expect_next("0,30 2 * * *", zone, "2026-03-29T01:00", "2026-03-30T00:00");
    expect_next("0 3 * * *", zone, "2026-03-28T02:00", "2026-03-29T01:00");
    expect_next("0 */2 * * *", zone, "2026-03-28T23:00", "2026-03-29T01:00");
    expect_next("*/30 * * * *", zone, "2026-03-29T00:30", "2026-03-29T01:00");
    zone_free(zone);
}

TEST(a_repeated_local_time_is_due_once)
{
    struct zone *zone = needed_zone("Europe/Berlin");
    expect_next("30 2 * * *", zone, "2026-10-24T00:30", "2026-10-25T00:30");
    expect_next("30 2 * * *", zone, "2026-10-25T00:30", "2026-10-26T01:30");
    expect_next("0 3 * * *", zone, "2026-10-25T00:30", "2026-10-25T02:00");
    expect_next("*/30 * * * *", zone, "2026-10-25T00:30", "2026-10-25T01:00");
    expect_next("@hourly", zone, "2026-10-25T00:00", "2026-10-25T01:00");
    zone_free(zone);
}

/* Samoa had no 30 December 2011. */
TEST(a_jump_of_a_day_is_a_correction)
{
    struct zone *zone = needed_zone("Pacific/Apia");
    expect_next("0 12 * * *", zone, "2011-12-29T22:00", "2011-12-30T22:00");
    zone_free(zone);
}

TEST(the_far_ends_of_time_have_no_next)
{
    struct schedule schedule = parsed("0 0 1 1 *");
    int64_t due = 0;
    assert_true(schedule_next(&schedule, NULL, INT64_MIN, &due));
    assert_false(schedule_next(&schedule, NULL, CALENDAR_LAST_SECOND - 1, &due));
    assert_false(schedule_next(&schedule, NULL, INT64_MAX, &due));
}

/* --- ten years against a model that counts minutes, as cronie does --- */

/* A schedule as the model sees it: for each value of a field whether it is named. */
struct minute_model {
    char text[64];
    bool fits[5][60];
    bool is_day_free, is_weekday_free, is_each_hour;
    int64_t reached; /* local minute up to which times of day have had their turn */
};

static const int field_low[] = {0, 0, 1, 1, 0};
static const int field_high[] = {59, 23, 31, 12, 6};

/** Append a random field and note what fits. */
static void make_field(struct minute_model *model, int field, unsigned *seed, unsigned freedom)
{
    int span = field_high[field] - field_low[field] + 1;
    int low = field_low[field] + rand_r(seed) % span;
    int step = 1 + rand_r(seed) % (span / 2);
    int high = low + rand_r(seed) % (field_high[field] - low + 1);
    char part[48];
    switch ((unsigned)rand_r(seed) % freedom) {
    case 0:
        snprintf(part, sizeof(part), "%d ", low);
        step = 60;
        break;
    case 1:
        snprintf(part, sizeof(part), "%d-%d/%d ", low, high, step);
        break;
    case 2:
        snprintf(part, sizeof(part), "*/%d ", step);
        low = field_low[field];
        high = field_high[field];
        break;
    default:
        snprintf(part, sizeof(part), "* ");
        low = field_low[field];
        high = field_high[field];
        step = 1;
        break;
    }
    for (int value = low; value <= (step == 60 ? low : high); value += step) {
        model->fits[field][value] = true;
    }
    strncat(model->text, part, sizeof(model->text) - strlen(model->text) - 1);
}

static void make_model(struct minute_model *model, unsigned seed)
{
    static const unsigned freedom[] = {3, 4, 6, 7, 6};
    memset(model, 0, sizeof(*model));
    for (int field = 0; field < 5; field++) {
        size_t before = strlen(model->text);
        make_field(model, field, &seed, freedom[field]);
        bool is_free = model->text[before] == '*';
        model->is_day_free |= field == 2 && is_free;
        model->is_weekday_free |= field == 4 && is_free;
    }
    model->is_each_hour = true;
    for (int hour = 0; hour < 24; hour++) {
        model->is_each_hour &= model->fits[1][hour];
    }
}

static bool model_fits(const struct minute_model *model, const struct tm *local)
{
    bool is_day = model->fits[2][local->tm_mday];
    bool is_weekday = model->fits[4][local->tm_wday];
    bool is_date =
        model->is_day_free || model->is_weekday_free ? is_day && is_weekday : is_day || is_weekday;
    return model->fits[0][local->tm_min] && model->fits[1][local->tm_hour] &&
           model->fits[3][local->tm_mon + 1] && is_date;
}

/** Whether a schedule is due in this minute. @param local it, and the minutes since the epoch */
static bool model_step(struct minute_model *model, const struct tm *local, int64_t local_minute)
{
    int64_t ahead = local_minute - model->reached;
    bool is_due = false;
    if (model->is_each_hour || ahead == 1 || ahead > 180 || ahead < -180) {
        is_due = model_fits(model, local);
        model->reached = local_minute;
    } else if (ahead > 1) {
        for (; model->reached < local_minute; model->reached++) {
            time_t minute = (model->reached + 1) * 60;
            struct tm skipped;
            gmtime_r(&minute, &skipped);
            is_due |= model_fits(model, &skipped);
        }
    }
    return is_due;
}

#define MODELS 8

static void compare_years(const char *zone_name, int first_year, int years, unsigned seed)
{
    struct zone *zone = needed_zone(zone_name);
    static struct minute_model models[MODELS];
    struct schedule schedules[MODELS];
    int64_t due[MODELS] = {0};
    int64_t begin = calendar_days(first_year, 1, 1) * DAY_SECONDS;
    int64_t end = calendar_days(first_year + years, 1, 1) * DAY_SECONDS;
    setenv("TZ", zone_name, 1);
    tzset();
    struct tm local;
    time_t now = begin - 60;
    localtime_r(&now, &local);
    for (size_t i = 0; i < MODELS; i++) {
        do {
            make_model(&models[i], seed += 7);
        } while (schedule_parse(models[i].text, &schedules[i]) != NULL);
        models[i].reached = (now + local.tm_gmtoff) / 60;
        assert_true(schedule_next(&schedules[i], zone, begin - 1, &due[i]));
    }
    for (now = begin; now < end; now += 60) {
        localtime_r(&now, &local);
        for (size_t i = 0; i < MODELS; i++) {
            bool is_due = model_step(&models[i], &local, (now + local.tm_gmtoff) / 60);
            if (is_due != (due[i] == now)) {
                fail_msg("%s in %s: %s at %s", models[i].text, zone_name,
                         is_due ? "not due" : "due", asctime(&local));
            }
            if (is_due) {
                schedule_next(&schedules[i], zone, now, &due[i]);
            }
        }
    }
    zone_free(zone);
}

TEST(ten_years_are_those_of_a_model_that_counts_minutes)
{
    compare_years("Europe/Berlin", 2024, HAS_SANITIZER ? 2 : 10, 1);
}

TEST(years_of_other_zones_are_those_of_the_model)
{
    compare_years("Australia/Lord_Howe", 2030, 1, 2); /* half an hour of summer time */
    compare_years("America/New_York", 2037, 2, 3);    /* from the table to the rule */
    compare_years("Africa/Casablanca", 2026, 1, 4);   /* no summer time in Ramadan */
    compare_years("Pacific/Apia", 2011, 1, 5);        /* a day left out */
    compare_years("Europe/Dublin", 2045, 1, 6);       /* a negative summer time */
}
