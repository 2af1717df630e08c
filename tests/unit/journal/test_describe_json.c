// SPDX-License-Identifier: Apache-2.0
#include "journal/describe.h"

#include "base/buf.h"
#include "store/store.h"
#include "support/test.h"

#include <string.h>

static const char expected[] =
    "{\"run_id\":\"01900000-0000-7000-8000-00000000000a\",\"seq\":3,\"position\":17,"
    "\"time\":\"2023-11-14T22:13:20.000Z\",\"type\":\"test.event\",\"category\":\"run\","
    "\"level\":\"info\",\"text\":\"test.event (of a newer version)\",\"data\":{\"a\":1}}";

TEST(an_event_is_one_object_with_its_place)
{
    auto_buf struct buf out = {0};
    const struct store_event event = {
        .run_id = "01900000-0000-7000-8000-00000000000a",
        .position = 17,
        .seq = 3,
        .time_ns = INT64_C(1700000000000000000),
        .type = "test.event",
        .data = "{\"a\":1}",
        .data_len = 7,
    };
    event_json_stored(&event, &out);
    assert_string_equal(buf_string(&out), expected);
}

TEST(an_event_that_was_read_is_the_same_object_on_a_line)
{
    auto_buf struct buf out = {0};
    const struct journal_entry entry = {
        .run_id = "01900000-0000-7000-8000-00000000000a",
        .position = 17,
        .data = "{\"a\":1}",
        .type_name = "test.event",
        .event = {.seq = 3, .time_ns = INT64_C(1700000000000000000)},
    };
    event_json(&entry, &out);
    assert_int_equal(out.len, sizeof(expected));
    assert_memory_equal(out.data, expected, sizeof(expected) - 1);
    assert_int_equal(out.data[out.len - 1], '\n');
}

TEST(a_known_event_has_its_sentence)
{
    auto_buf struct buf out = {0};
    static const char data[] = "{\"number\":4,\"message\":\"bad \\u001b[31mdigest\"}";
    const struct store_event event = {
        .run_id = "01900000-0000-7000-8000-00000000000a",
        .position = 17,
        .seq = 3,
        .time_ns = INT64_C(1700000000000000000),
        .type = "checkpoint.corrupt",
        .data = data,
        .data_len = sizeof(data) - 1,
    };
    event_json_stored(&event, &out);
    assert_non_null(strstr(buf_string(&out),
                           "\"category\":\"checkpoint\",\"level\":\"warning\",\"text\":"
                           "\"checkpoint 4 is damaged and was not used: bad digest\",\"data\":{"));
}

TEST(a_damaged_event_is_served_as_it_is)
{
    auto_buf struct buf out = {0};
    const struct store_event event = {
        .run_id = "01900000-0000-7000-8000-00000000000a",
        .type = "note",
        .data = "{\"name\":5}",
        .data_len = 10,
    };
    event_json_stored(&event, &out);
    assert_non_null(strstr(buf_string(&out), "\"data\":{\"name\":5}"));
    assert_non_null(strstr(buf_string(&out), "\"text\":\"note (cannot be read)\""));
}
