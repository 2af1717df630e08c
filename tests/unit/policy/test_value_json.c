// SPDX-License-Identifier: Apache-2.0
/* Values of every kind, written as JSON and read back as what they were. */
#include "policy/cedar/value/value_json.h"

#include "base/buf.h"
#include "policy/cedar/json.h"
#include "support/test.h"

#include <string.h>

static struct cedar_value read_value(struct arena *arena, const char *text, size_t len)
{
    struct rondo_error err = {0};
    struct json_reader json = {
        .text = text, .len = len, CEDAR_JSON_LIMITS, .arena = arena, .err = &err};
    struct cedar_value value = cedar_bool(false);
    if (cedar_json_value(&json, &value) < 0) {
        fail_msg("%s\n%.*s", err.message, (int)len, text);
    }
    json_reader_fini(&json);
    return value;
}

static void expect_same(const char *text, const char *expected)
{
    struct arena arena = {0};
    auto_buf struct buf written = {0};
    struct json_writer writer = json_writer(&written);
    struct cedar_value value = read_value(&arena, text, strlen(text));
    cedar_value_write_json(value, NULL, &writer);
    if (expected != NULL) {
        assert_string_equal(buf_string(&written), expected);
    }
    struct cedar_value again = read_value(&arena, written.data, written.len);
    if (!cedar_value_equals(value, again)) {
        fail_msg("%s\nbecomes %s", text, buf_string(&written));
    }
    arena_fini(&arena);
}

TEST(plain_values_are_written_as_they_were)
{
    static const char *const texts[] = {
        "true",
        "false",
        "0",
        "-9223372036854775808",
        "9223372036854775807",
        "\"\"",
        "\"a \\\"b\\\" \\\\ \\u0000 c\"",
        "[]",
        "{}",
        "{\"__entity\":{\"type\":\"A::B\",\"id\":\"x\\u0000y\"}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_same(texts[i], texts[i]);
    }
}

TEST(extension_values_are_calls)
{
    expect_same("{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.50\"}}",
                "{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.5\"}}");
    static const char *const texts[] = {
        "{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"-922337203685477.5808\"}}",
        "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"10.1.2.3/8\"}}",
        "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\"}}",
        "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"ffff:1:2:3:4:5:6:7/127\"}}",
        "{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"2024-02-29T23:59:59.999+0130\"}}",
        "{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"0001-01-01\"}}",
        "{\"__extn\":{\"fn\":\"duration\",\"arg\":\"-1d2h3m4s5ms\"}}",
        "{\"__extn\":{\"fn\":\"duration\",\"arg\":\"-9223372036854775808ms\"}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_same(texts[i], NULL);
    }
}

TEST(values_hold_values)
{
    expect_same("{\"a\":[1,\"x\",{\"b\":{\"__entity\":{\"type\":\"T\",\"id\":\"i\"}}},[]],"
                "\"c\":{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::\"}},\"\":true}",
                NULL);
}

TEST(a_value_may_be_a_member)
{
    auto_buf struct buf written = {0};
    struct json_writer writer = json_writer(&written);
    json_begin_object(&writer, NULL);
    cedar_value_write_json(cedar_long(7), "n", &writer);
    cedar_value_write_json(cedar_decimal(5), "d", &writer);
    json_end_object(&writer);
    assert_string_equal(buf_string(&written),
                        "{\"n\":7,\"d\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"0.0005\"}}}");
}
