// SPDX-License-Identifier: Apache-2.0
/* Cron triggers: on time, after downtime, with jitter, with clocks that jump. */
#include "../source_world.h"

/** The world begins at 2027-01-15T08:00:00Z. */
#define BEGIN    INT64_C(1800000000)
#define MINUTE_S 60
#define HOUR_S   3600
#define DAY_S    86400

#define TEST_CRON(name) TEST_WITH(name, make_source_world, end_source_world)

static void open_cron(struct source_world *world, const char *schedule, const char *more)
{
    struct rondo_error err = {0};
    char config[400];
    snprintf(config, sizeof(config),
             "{\"type\":\"cron\",\"schedule\":\"%s\",\"prompt\":\"tick\",\"timezone\":\"UTC\"%s}",
             schedule, more);
    if (source_world_open(world, config, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void advance_to(struct source_world *world, int64_t seconds)
{
    source_world_advance(world, (BEGIN + seconds) * NS_PER_S);
}

/** The next request that waits, started and ended. */
static struct start_request next_request(struct source_world *world)
{
    struct start_request request = {0};
    assert_string_equal(world_next(world->intake, &request), "tick");
    assert_int_equal(intake_started(world->intake->intake, &request, NULL), 0);
    intake_ended(world->intake->intake, request.id);
    return request;
}

static void expect_context(struct source_world *world, const char *part)
{
    struct start_request request = next_request(world);
    if (strstr(request.context, part) == NULL) {
        fail_msg("%s", request.context);
    }
    start_request_fini(&request);
}

TEST_CRON(a_trigger_starts_a_run_at_each_of_its_times)
{
    struct source_world *world = *state;
    open_cron(world, "*/10 * * * *", "");
    advance_to(world, 9 * MINUTE_S);
    assert_int_equal(source_world_run_all(world), 0);
    advance_to(world, 10 * MINUTE_S);
    expect_context(world, "\"scheduled_for\":\"2027-01-15T08:10:00.000Z\"");
    advance_to(world, 20 * MINUTE_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(it_is_woken_only_for_what_is_due)
{
    struct source_world *world = *state;
    open_cron(world, "0 12 * * *", "");
    for (int64_t day = 1; day <= 3; day++) {
        assert_int_equal(source_world_advance(world, (BEGIN + day * DAY_S) * NS_PER_S), 1);
        assert_int_equal(source_world_run_all(world), 1);
    }
}

TEST_CRON(while_its_run_executes_it_is_woken_once_and_then_when_that_has_ended)
{
    struct source_world *world = *state;
    open_cron(world, "0 12 * * *", "");
    assert_int_equal(source_world_advance(world, (BEGIN + 30 * DAY_S) * NS_PER_S), 2);
    assert_int_equal(source_world_run_all(world), 1);
    assert_int_equal(source_world_advance(world, (BEGIN + 30 * DAY_S) * NS_PER_S), 1);
    expect_context(world, "\"missed\":28");
}

TEST_CRON(after_downtime_one_run_makes_up_for_all)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", "");
    world->intake->now_ns += INT64_C(5) * HOUR_S * NS_PER_S;
    source_world_restart(world);
    advance_to(world, 5 * HOUR_S);
    expect_context(world, "\"missed\":4");
    assert_int_equal(source_world_run_all(world), 0);
}

TEST_CRON(after_downtime_each_missed_time_can_get_its_run)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", ",\"catch_up\":\"all\",\"overlap\":true");
    world->intake->now_ns += INT64_C(3) * HOUR_S * NS_PER_S;
    source_world_restart(world);
    advance_to(world, 3 * HOUR_S);
    expect_context(world, "T09:00:00");
    expect_context(world, "T10:00:00");
    expect_context(world, "T11:00:00");
    assert_int_equal(source_world_run_all(world), 0);
}

TEST_CRON(after_downtime_missed_times_can_be_skipped_and_are_recorded)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", ",\"catch_up\":\"none\"");
    world->intake->now_ns += (INT64_C(3) * HOUR_S + 120) * NS_PER_S;
    source_world_restart(world);
    advance_to(world, 3 * HOUR_S + 120);
    assert_int_equal(source_world_run_all(world), 0);
    assert_int_equal(world->intake->last.kind, REFUSAL_LATE);
    assert_string_equal(world->intake->last.reason, "3 times passed and are skipped");
    advance_to(world, 4 * HOUR_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(a_trigger_that_was_never_due_before_the_restart_has_missed_its_time_too)
{
    struct source_world *world = *state;
    open_cron(world, "0 12 * * *", "");
    world->intake->now_ns += INT64_C(10) * HOUR_S * NS_PER_S;
    source_world_restart(world);
    advance_to(world, 10 * HOUR_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(a_restart_repeats_nothing)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", "");
    for (int hour = 1; hour <= 5; hour++) {
        advance_to(world, (int64_t)hour * HOUR_S);
        source_world_restart(world);
        advance_to(world, (int64_t)hour * HOUR_S + 5);
        assert_int_equal(source_world_run_all(world), 1);
    }
}

TEST_CRON(a_trigger_does_not_overlap_itself)
{
    struct source_world *world = *state;
    struct start_request request = {0};
    open_cron(world, "*/5 * * * *", "");
    advance_to(world, 5 * MINUTE_S);
    world_next(world->intake, &request);
    assert_int_equal(intake_started(world->intake->intake, &request, NULL), 0);
    advance_to(world, 17 * MINUTE_S);
    assert_int_equal(intake_state(world->intake->intake).waiting, 0);
    intake_ended(world->intake->intake, request.id);
    start_request_fini(&request);
    advance_to(world, 17 * MINUTE_S + 2);
    expect_context(world, "T08:15:00");
    assert_int_equal(source_world_run_all(world), 0);
}

TEST_CRON(a_run_that_still_waits_after_a_restart_is_not_overlapped)
{
    struct source_world *world = *state;
    open_cron(world, "*/5 * * * *", "");
    advance_to(world, 5 * MINUTE_S);
    source_world_restart(world);
    advance_to(world, 11 * MINUTE_S);
    assert_int_equal(intake_state(world->intake->intake).waiting, 1);
}

TEST_CRON(a_trigger_may_overlap_itself_when_asked)
{
    struct source_world *world = *state;
    open_cron(world, "*/5 * * * *", ",\"overlap\":true");
    advance_to(world, 15 * MINUTE_S);
    assert_int_equal(intake_state(world->intake->intake).waiting, 3);
}

TEST_CRON(with_a_full_queue_a_time_waits_and_is_not_lost)
{
    struct source_world *world = *state;
    open_cron(world, "*/5 * * * *", ",\"overlap\":true,\"catch_up\":\"all\"");
    advance_to(world, 26 * MINUTE_S);
    assert_int_equal(intake_state(world->intake->intake).waiting, 4); /* one could start */
    assert_int_equal(source_world_run_all(world), 4);
    advance_to(world, 27 * MINUTE_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(jitter_is_within_its_bound_and_the_same_after_a_restart)
{
    struct source_world *world = *state;
    bool differs = false;
    int64_t first = -1;
    open_cron(world, "0 * * * *", ",\"jitter_seconds\":600");
    for (int hour = 1; hour <= 8; hour++) {
        int64_t due = world->source->type->next_due(world->source) / NS_PER_S;
        int64_t late = due - BEGIN - (int64_t)hour * HOUR_S;
        assert_in_range(late, 0, 600);
        source_world_restart(world);
        assert_int_equal(world->source->type->next_due(world->source) / NS_PER_S, due);
        first = first < 0 ? late : first;
        differs |= late != first;
        advance_to(world, due - BEGIN);
        assert_int_equal(source_world_run_all(world), 1);
    }
    assert_true(differs);
}

TEST_CRON(a_clock_that_is_set_back_repeats_nothing)
{
    struct source_world *world = *state;
    open_cron(world, "*/10 * * * *", "");
    for (int64_t passed = 600; passed <= HOUR_S; passed += 600) {
        advance_to(world, passed);
        assert_int_equal(source_world_run_all(world), 1);
    }
    world->intake->now_ns -= INT64_C(1800) * NS_PER_S;
    advance_to(world, HOUR_S + 60);
    assert_int_equal(source_world_run_all(world), 0);
    advance_to(world, HOUR_S + 10 * MINUTE_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(a_clock_that_was_a_year_ahead_does_not_stop_the_trigger)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", "");
    world->intake->now_ns += INT64_C(365) * DAY_S * NS_PER_S;
    advance_to(world, INT64_C(365) * DAY_S);
    assert_int_equal(source_world_run_all(world), 1);
    world->intake->now_ns = BEGIN * NS_PER_S;
    advance_to(world, HOUR_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_CRON(what_cannot_work_is_said_when_it_is_opened)
{
    struct source_world *world = *state;
    struct rondo_error err = {0};
    assert_int_equal(source_world_open(world, "{\"type\":\"cron\",\"schedule\":\"nope\"}", &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "minute"));
    assert_int_equal(source_world_open(world,
                                       "{\"type\":\"cron\",\"schedule\":\"@daily\","
                                       "\"timezone\":\"Mars/Base\"}",
                                       &err),
                     RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "Mars/Base"));
}

/** Ten years of days, with a restart each fortnight: each day one run. */
TEST_CRON(ten_years_have_a_run_for_each_day)
{
    struct source_world *world = *state;
    unsigned runs = 0;
    open_cron(world, "30 2 * * *", "");
    for (int64_t day = 1; day <= 3650; day++) {
        advance_to(world, day * DAY_S);
        runs += source_world_run_all(world);
        if (day % 14 == 0) {
            source_world_restart(world);
        }
    }
    assert_int_equal(runs, 3650);
}

/* ---- Several daemons with the role ---------------------------------------------------------- */

static unsigned runs_of_both(struct source_world *first, struct source_world *second,
                             int64_t seconds)
{
    advance_to(first, seconds);
    advance_to(second, seconds);
    return source_world_run_all(first) + source_world_run_all(second);
}

TEST_CRON(of_two_daemons_one_starts_the_run_of_a_time)
{
    struct source_world *world = *state;
    open_cron(world, "* * * * *", "");
    struct source_world *second = source_world_beside(world);
    for (int64_t minute = 1; minute <= 60; minute++) {
        struct source_world *early = minute % 2 == 0 ? world : second;
        struct source_world *late = minute % 2 == 0 ? second : world;
        assert_int_equal(runs_of_both(early, late, minute * MINUTE_S), 1);
    }
    source_world_end_beside(second);
}

TEST_CRON(a_daemon_that_was_frozen_finds_that_another_one_had_the_times)
{
    struct source_world *world = *state;
    open_cron(world, "0 * * * *", ",\"catch_up\":\"none\"");
    struct source_world *second = source_world_beside(world);
    for (int64_t hour = 1; hour <= 5; hour++) {
        advance_to(second, hour * HOUR_S);
        assert_int_equal(source_world_run_all(second), 1);
    }
    advance_to(world, 5 * HOUR_S + 600);
    assert_int_equal(source_world_run_all(world), 0);
    assert_int_equal(world->intake->notices, 0); /* None of them was missed. */
    assert_int_equal(runs_of_both(world, second, 6 * HOUR_S), 1);
    source_world_end_beside(second);
}

TEST_CRON(a_daemon_that_is_left_alone_continues)
{
    struct source_world *world = *state;
    open_cron(world, "* * * * *", "");
    struct source_world *second = source_world_beside(world);
    assert_int_equal(runs_of_both(world, second, MINUTE_S), 1);
    source_world_end_beside(second);
    for (int64_t minute = 2; minute <= 4; minute++) {
        advance_to(world, minute * MINUTE_S);
        assert_int_equal(source_world_run_all(world), 1);
    }
}

TEST_CRON(a_trigger_does_not_overlap_the_run_of_another_daemon)
{
    struct source_world *world = *state;
    open_cron(world, "*/5 * * * *", "");
    struct source_world *second = source_world_beside(world);
    advance_to(second, 5 * MINUTE_S); /* Its run waits. */
    advance_to(world, 16 * MINUTE_S);
    assert_int_equal(source_world_run_all(world), 0);
    assert_int_equal(source_world_run_all(second), 1);
    advance_to(world, 17 * MINUTE_S);
    expect_context(world, "\"missed\":1");
    source_world_end_beside(second);
}

TEST_CRON(two_daemons_that_begin_at_once_begin_at_the_same_mark)
{
    struct source_world *world = *state;
    char *mark = NULL;
    char *other = NULL;
    struct intake *intake = world->intake->intake;
    assert_int_equal(intake_begin_mark(intake, "fixer/x", "{\"seen\":1}", &mark, NULL), 0);
    assert_int_equal(intake_begin_mark(intake, "fixer/x", "{\"seen\":2}", &other, NULL), 0);
    assert_string_equal(mark, "{\"seen\":1}");
    assert_string_equal(other, mark);
    free(mark);
    free(other);
}
