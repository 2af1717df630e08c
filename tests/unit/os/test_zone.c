// SPDX-License-Identifier: Apache-2.0
/* Time zones: the files of this machine, their changes, spans without a change. */
#include "os/zone.h"

#include "base/buf.h"
#include "base/time/calendar.h"
#include "os/file.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct zone_case {
    const char *zone;
    int64_t unix_seconds;
    int32_t offset_seconds;
    const char *name;
};

/** Around changes of the clock: of the past from the table, of the future from the rule. */
TEST(zones_know_their_changes)
{
    static const struct zone_case samples[] = {
        {"Europe/Berlin", 1774745999, 3600, "CET"},
        {"Europe/Berlin", 1774746000, 7200, "CEST"},
        {"Europe/Berlin", 4109878800, 7200, "CEST"},
        {"Europe/Berlin", 4109878799, 3600, "CET"},
        {"America/New_York", 0, -18000, "EST"},
        {"America/New_York", 4118000000, -14400, "EDT"},
        {"America/New_York", 4102444800, -18000, "EST"},
        {"Australia/Sydney", 4102444800, 39600, "AEDT"},
        {"Australia/Sydney", 4118000000, 36000, "AEST"},
        {"Asia/Kathmandu", 4102444800, 20700, "+0545"},
        {"Etc/GMT+5", 0, -18000, "-05"},
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct zone_moment moment;
        char path[128];
        snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", samples[i].zone);
        if (!file_exists(path)) {
            print_message("no zone files here\n");
            skip();
        }
        assert_true(zone_find(samples[i].zone, samples[i].unix_seconds, &moment));
        assert_int_equal(moment.offset_seconds, samples[i].offset_seconds);
        assert_string_equal(moment.name, samples[i].name);
    }
}

TEST(a_zone_file_that_is_cut_is_none)
{
    struct buf bytes = {0};
    struct zone *zone;
    if (file_read("/usr/share/zoneinfo/Europe/Berlin", ZONE_FILE_MAX_BYTES, &bytes, NULL) != 0) {
        print_message("no zone files here\n");
        skip();
    }
    for (size_t len = 0; len < bytes.len; len++) {
        char *copy = malloc(len + 1);
        memcpy(copy, bytes.data, len);
        zone_free(zone_parse(copy, len));
        free(copy);
    }
    assert_null(zone_parse(bytes.data, 100));
    zone = zone_parse(bytes.data, bytes.len);
    assert_non_null(zone);
    zone_free(zone);
    buf_fini(&bytes);
}

TEST(spans_follow_one_another_and_only_there_the_offset_changes)
{
    static const char *const names[] = {"Europe/Berlin", "America/New_York", "Asia/Kathmandu",
                                        "Africa/Casablanca", "Australia/Lord_Howe"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct zone *zone;
        struct zone_span span;
        if (!zone_load(names[i], &zone)) {
            print_message("no zone files here\n");
            skip();
        }
        for (int64_t at = 0; at < INT64_C(6000000000); at = span.end) {
            struct zone_span last;
            zone_span_at(zone, at, &span);
            assert_true(span.begin <= at && span.end > at);
            if (span.end == INT64_MAX) {
                break;
            }
            zone_span_at(zone, span.end - 1, &last);
            assert_int_equal(last.begin, span.begin);
            assert_int_equal(last.end, span.end);
            assert_int_equal(last.moment.offset_seconds, span.moment.offset_seconds);
        }
        zone_free(zone);
    }
}

TEST(utc_has_no_file_and_no_change)
{
    struct zone *zone = (struct zone *)&zone;
    struct zone_span span;
    assert_true(zone_load("UTC", &zone));
    assert_null(zone);
    zone_span_at(zone, 0, &span);
    assert_int_equal(span.moment.offset_seconds, 0);
    assert_int_equal(span.end, INT64_MAX);
}
