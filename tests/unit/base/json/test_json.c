// SPDX-License-Identifier: Apache-2.0
#include "base/json/json.h"

#include "../cases.h"
#include "base/buf.h"
#include "base/limits.h"

#include <json-c/json.h>
#include <string.h>

static int parse(const char *text)
{
    auto_json struct json_object *value = NULL;
    struct rondo_error err;
    return json_parse(text, strlen(text), &value, &err);
}

static void every_kind_of_value_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",    "[]",   "0",      "-1.5e3",  "\"a\"",       "true",
        "false", "null", " {} \n", "[1,[2]]", "\"\\u00e9\"", "{\"a\":{\"b\":null}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(parse(texts[i]), 0);
    }
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",        " ",        "{",       "}",        "[1,]",     "{\"a\":}", "{a:1}",
        "{'a':1}", "nul",      "{} {}",   "1 2",      "\"\xff\"", "\"",       "{\"a\":1,}",
        "NaN",     "Infinity", "// c\n1", "\"\x01\"", "[1] x",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (parse(texts[i]) != RONDO_ERR_INVALID) {
            fail_msg("accepted: %s", texts[i]);
        }
    }
}

static int parse_nested(unsigned depth)
{
    auto_buf struct buf text = {0};
    for (unsigned i = 0; i < depth; i++) {
        buf_append(&text, "[", 1);
    }
    for (unsigned i = 0; i < depth; i++) {
        buf_append(&text, "]", 1);
    }
    return parse(buf_string(&text));
}

static void nesting_is_limited(void **state)
{
    (void)state;
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH - 1), 0);
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH + 1), RONDO_ERR_INVALID);
    assert_int_equal(parse_nested(100000), RONDO_ERR_INVALID);
}

static void members_of_the_wrong_type_count_as_missing(void **state)
{
    (void)state;
    auto_json struct json_object *value = NULL;
    const char *text = "{\"n\":5,\"t\":\"x\",\"b\":true}";
    assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
    assert_int_equal(json_get_int(value, "n", 1), 5);
    assert_int_equal(json_get_int(value, "t", 1), 1);
    assert_string_equal(json_get_string(value, "t", "-"), "x");
    assert_string_equal(json_get_string(value, "n", "-"), "-");
    assert_true(json_get_bool(value, "b", false));
    assert_false(json_get_bool(value, "missing", false));
}

static void written_values_are_json(void **state)
{
    (void)state;
    auto_buf struct buf buf = {0};
    struct json_writer writer = json_writer(&buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "text", "a\"b\\c\n\t\x01/\xc3\xa9");
    json_write_string(&writer, "none", NULL);
    json_write_int(&writer, "low", INT64_MIN);
    json_begin_array(&writer, "list");
    json_write_bool(&writer, NULL, true);
    json_write_raw(&writer, NULL, "{\"x\":1}");
    json_begin_array(&writer, NULL);
    json_end_array(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    assert_string_equal(buf_string(&buf),
                        "{\"text\":\"a\\\"b\\\\c\\n\\t\\u0001/\xc3\xa9\",\"none\":null,"
                        "\"low\":-9223372036854775808,\"list\":[true,{\"x\":1},[]]}");
    assert_int_equal(parse(buf_string(&buf)), 0);
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    auto_buf struct buf buf = {0};
    struct json_writer writer = json_writer(&buf);
    json_write_string_len(&writer, NULL, "a\xff\xc3\0b\xe2\x82", 7);
    assert_string_equal(buf_string(&buf),
                        "\"a\xef\xbf\xbd\xef\xbf\xbd\\u0000b\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_int_equal(parse(buf_string(&buf)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_read),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(members_of_the_wrong_type_count_as_missing),
        cmocka_unit_test(written_values_are_json),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
