// SPDX-License-Identifier: Apache-2.0
/* Heartbeat triggers: intervals, open items, active hours. */
#include "../source_world.h"
#include "os/file_folder.h"

#include <sys/stat.h>
#include <unistd.h>

/** The world begins at 2027-01-15T08:00:00Z. */
#define BEGIN  INT64_C(1800000000)
#define HOUR_S 3600

static int make_folder(void **state)
{
    make_source_world(state);
    struct source_world *world = *state;
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-heartbeat-XXXXXX");
    return mkdtemp(world->folder) == NULL;
}

static int remove_folder(void **state)
{
    struct source_world *world = *state;
    file_remove_tree(world->folder, NULL);
    return end_source_world(state);
}

#define TEST_BEAT(name) TEST_WITH(name, make_folder, remove_folder)

static void write_list(struct source_world *world, const char *bytes, size_t len)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/list.md", world->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void write_text(struct source_world *world, const char *text)
{
    write_list(world, text, strlen(text));
}

static void open_heartbeat(struct source_world *world, const char *more)
{
    struct rondo_error err = {0};
    char config[400];
    snprintf(config, sizeof(config),
             "{\"type\":\"heartbeat\",\"file\":\"list.md\",\"interval_seconds\":3600,"
             "\"prompt_prefix\":\"Look:\",\"active_hours\":null,\"timezone\":\"UTC\"%s}",
             more);
    if (source_world_open(world, config, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static unsigned runs_until(struct source_world *world, int64_t seconds)
{
    source_world_advance(world, (BEGIN + seconds) * NS_PER_S);
    return source_world_run_all(world);
}

TEST_BEAT(the_first_beat_comes_after_one_interval_with_the_list)
{
    struct source_world *world = *state;
    struct start_request request = {0};
    write_text(world, "# Today\n- [x] rest\n  - [ ] work\n- [ ] more\n");
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, HOUR_S - 1), 0);
    source_world_advance(world, (BEGIN + HOUR_S) * NS_PER_S);
    assert_string_equal(world_next(world->intake, &request),
                        "Look:\n\n# Today\n- [x] rest\n  - [ ] work\n- [ ] more\n");
    assert_non_null(strstr(request.context, "\"item_count\":2"));
    assert_non_null(strstr(request.context, "\"interval_seconds\":3600"));
    start_request_fini(&request);
}

TEST_BEAT(without_open_items_nothing_starts)
{
    struct source_world *world = *state;
    write_text(world, "- [x] done\n* [ ] not an item\n");
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, 3 * HOUR_S), 0);
    write_text(world, "- [ ] new\n");
    assert_int_equal(runs_until(world, 4 * HOUR_S), 1);
}

TEST_BEAT(a_list_that_cannot_be_used_is_logged)
{
    struct source_world *world = *state;
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, HOUR_S), 0);
    assert_non_null(strstr(world->line, "list.md"));
    write_list(world, "- [ ] a\0b", 9);
    assert_int_equal(runs_until(world, 2 * HOUR_S), 0);
    assert_non_null(strstr(world->line, "UTF-8"));
    write_list(world, "- [ ] \xff", 7);
    world->line[0] = '\0';
    assert_int_equal(runs_until(world, 3 * HOUR_S), 0);
    assert_non_null(strstr(world->line, "UTF-8"));
}

TEST_BEAT(a_list_that_cannot_be_used_is_shown_until_it_can)
{
    struct source_world *world = *state;
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, HOUR_S), 0);
    assert_non_null(strstr(world->source->type->problem(world->source), "list.md"));
    write_text(world, "- [ ] new\n");
    assert_int_equal(runs_until(world, 2 * HOUR_S), 1);
    assert_string_equal(world->source->type->problem(world->source), "");
}

TEST_BEAT(a_list_has_a_largest_size)
{
    struct source_world *world = *state;
    size_t size = LIMIT_HEARTBEAT_BYTES;
    char *bytes = malloc(size + 1);
    memset(bytes, 'x', size + 1);
    memcpy(bytes, "- [ ] ", 6);
    write_list(world, bytes, size);
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, HOUR_S), 1);
    write_list(world, bytes, size + 1);
    assert_int_equal(runs_until(world, 2 * HOUR_S), 0);
    assert_non_null(strstr(world->line, "list.md"));
    free(bytes);
}

TEST_BEAT(a_link_in_the_folder_is_not_followed)
{
    struct source_world *world = *state;
    char path[256];
    snprintf(path, sizeof(path), "%s/list.md", world->folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    open_heartbeat(world, "");
    assert_int_equal(runs_until(world, HOUR_S), 0);
    assert_non_null(strstr(world->line, "list.md"));
}

TEST_BEAT(beats_outside_of_the_active_hours_are_left_out)
{
    struct source_world *world = *state;
    unsigned runs = 0;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, ",\"active_hours\":[9,11]");
    for (int hour = 1; hour <= 48; hour++) {
        runs += runs_until(world, (int64_t)hour * HOUR_S);
    }
    assert_int_equal(runs, 4); /* 9 and 10 o'clock of two days */
}

TEST_BEAT(active_hours_may_pass_midnight)
{
    struct source_world *world = *state;
    unsigned runs = 0;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, ",\"active_hours\":[22,2]");
    for (int hour = 1; hour <= 48; hour++) {
        runs += runs_until(world, (int64_t)hour * HOUR_S);
    }
    assert_int_equal(runs, 8);
}

TEST_BEAT(outside_of_the_active_hours_nothing_wakes_it)
{
    struct source_world *world = *state;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, ",\"interval_seconds\":60,\"active_hours\":[20,21]");
    assert_int_equal(source_world_advance(world, (BEGIN + 11 * HOUR_S) * NS_PER_S), 0);
}

TEST_BEAT(hours_that_no_beat_meets_are_never_due)
{
    struct source_world *world = *state;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, ",\"interval_seconds\":86400,\"active_hours\":[9,10]");
    assert_true(world->source->type->next_due(world->source) == SOURCE_NEVER);
}

TEST_BEAT(after_downtime_there_is_one_beat_and_then_the_old_rhythm)
{
    struct source_world *world = *state;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, "");
    world->intake->now_ns += (INT64_C(5) * HOUR_S + 600) * NS_PER_S;
    source_world_restart(world);
    assert_int_equal(runs_until(world, 5 * HOUR_S + 600), 1);
    assert_int_equal(runs_until(world, 6 * HOUR_S - 1), 0);
    assert_int_equal(runs_until(world, 6 * HOUR_S), 1);
}

TEST_BEAT(a_beat_during_its_run_is_left_out)
{
    struct source_world *world = *state;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, "");
    source_world_advance(world, (BEGIN + 3 * HOUR_S) * NS_PER_S);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_BEAT(of_two_daemons_one_has_a_beat)
{
    struct source_world *world = *state;
    write_text(world, "- [ ] work\n");
    open_heartbeat(world, "");
    struct source_world *second = source_world_beside(world);
    for (int hour = 1; hour <= 6; hour++) {
        unsigned runs = runs_until(second, hour * HOUR_S);
        assert_int_equal(runs + runs_until(world, hour * HOUR_S), 1);
    }
    source_world_end_beside(second);
}
